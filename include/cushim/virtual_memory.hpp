// Virtual memory for programs that manage addresses themselves. Part of cushim.hpp.
#ifndef CUSHIM_VIRTUAL_MEMORY_HPP
#define CUSHIM_VIRTUAL_MEMORY_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// Physical memory, which has no address until it is mapped in a reservation.
class allocation_ref : public detail::ref<cushim_allocation> {
 public:
  constexpr allocation_ref() noexcept = default;
  constexpr allocation_ref(cushim_allocation handle) noexcept : ref(handle) {}
  allocation_ref(std::nullptr_t) = delete;

  // Bytes.
  [[nodiscard]] result<std::size_t> size() const {
    return detail::ask<std::size_t>(cushim_allocation_get_size, get());
  }
  [[nodiscard]] result<cushim_location> where() const {
    return detail::ask<cushim_location>(cushim_allocation_get_location, get());
  }
  // For allocation::from_descriptor or buffer::from_parts in another process; of memory that was created with
  // CUSHIM_SHAREABLE_POSIX_FD. Close the file once it is sent.
  [[nodiscard]] result<exported_part> export_descriptor() const {
    exported_part part;
    std::int32_t file = 0;
    const cushim_status status = cushim_allocation_export(get(), part.bytes.data(), part.bytes.size(), &file);
    part.file = file;
    return detail::give(status, std::move(part));
  }
  // The CUmemGenericAllocationHandle.
  [[nodiscard]] result<std::uint64_t> native() const {
    return detail::ask<std::uint64_t>(cushim_allocation_native, get());
  }
};

class [[nodiscard]] allocation
    : public detail::owning<allocation, allocation_ref, cushim_allocation_destroy, cushim_allocation_ref> {
 public:
  using owning::owning;

  [[nodiscard]] static result<allocation> create(device_ref device, std::size_t bytes,
                                                 const virtual_options &options = {}) {
    const cushim_virtual_options raw = options.get();
    return detail::ask<allocation, cushim_allocation>(cushim_allocation_create, device.get(), bytes, &raw);
  }
  // Memory of another process; of the options, what may use it counts. The file stays the caller's.
  [[nodiscard]] static result<allocation> from_descriptor(device_ref device, const exported_part &part,
                                                          const virtual_options &options = {}) {
    const cushim_virtual_options raw = options.get();
    return detail::ask<allocation, cushim_allocation>(cushim_allocation_import, device.get(), &raw, part.bytes.data(),
                                                      part.bytes.size(), part.file);
  }
};

// A range of addresses, at which whole allocations are mapped.
class reservation_ref : public detail::ref<cushim_reservation> {
 public:
  constexpr reservation_ref() noexcept = default;
  constexpr reservation_ref(cushim_reservation handle) noexcept : ref(handle) {}
  reservation_ref(std::nullptr_t) = delete;

  [[nodiscard]] result<address> pointer() const {
    return detail::ask<address>(cushim_reservation_get_pointer, get());
  }
  // Bytes.
  [[nodiscard]] result<std::size_t> size() const {
    return detail::ask<std::size_t>(cushim_reservation_get_size, get());
  }
  // Maps all of an allocation so many bytes after the first address.
  result<void> map(std::size_t offset, allocation_ref memory) const {
    return detail::done(cushim_reservation_map(get(), offset, memory.get()));
  }
  // Unmaps whole mappings, after the stream has done its work.
  result<void> unmap(stream_ref stream, std::size_t offset, std::size_t bytes) const {
    return detail::done(cushim_reservation_unmap(get(), stream.get(), offset, bytes));
  }
  // The same of memory that no work uses any more.
  result<void> unmap(std::size_t offset, std::size_t bytes) const {
    return detail::done(cushim_reservation_unmap(get(), nullptr, offset, bytes));
  }
  // What a place may do with whole mappings.
  result<void> set_access(std::size_t offset, std::size_t bytes, location place, cushim_virtual_access access) const {
    return detail::done(cushim_reservation_set_access(get(), offset, bytes, place.get(), access));
  }
  [[nodiscard]] result<cushim_virtual_access> get_access(std::size_t offset, location place) const {
    return detail::ask<cushim_virtual_access>(cushim_reservation_get_access, get(), offset, place.get());
  }
};

class [[nodiscard]] reservation
    : public detail::owning<reservation, reservation_ref, cushim_reservation_destroy, cushim_reservation_ref> {
 public:
  using owning::owning;

  [[nodiscard]] static result<reservation> create(device_ref device, std::size_t bytes,
                                                  const virtual_options &options = {}) {
    const cushim_virtual_options raw = options.get();
    return detail::ask<reservation, cushim_reservation>(cushim_reservation_create, device.get(), bytes, &raw);
  }
};

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_VIRTUAL_MEMORY_HPP
