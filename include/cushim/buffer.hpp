// Buffers: memory of any kind that frees itself. Part of cushim.hpp.
#ifndef CUSHIM_BUFFER_HPP
#define CUSHIM_BUFFER_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

class managed_memory;

// Elements in memory that the host reaches; it keeps nothing alive. std::span takes it.
template <class T>
class host_view {
 public:
  using value_type = std::remove_cv_t<T>;
  using iterator = T *;

  constexpr host_view() noexcept = default;
  constexpr host_view(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

  [[nodiscard]] constexpr T *data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr T *begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T *end() const noexcept { return data_ + size_; }
  [[nodiscard]] constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// A tensor of DLPack. Zeros are the defaults: one dimension of unsigned bytes.
struct dlpack_options {
  // A DLDataTypeCode (0 signed, 1 unsigned, 2 floating-point), and the bits of an element.
  std::int32_t code = 0, bits = 0, lanes = 0;
  // The elements in each dimension, in row-major order.
  std::vector<std::int64_t> shape;
  // Bytes before the first element.
  std::uint64_t offset = 0;
  bool read_only = false;
  // A DLManagedTensor instead of a DLManagedTensorVersioned.
  bool unversioned = false;
};

// A buffer. Where an operation takes an endpoint, it stands for its first byte.
class buffer_ref : public detail::ref<cushim_buffer> {
 public:
  constexpr buffer_ref() noexcept = default;
  constexpr buffer_ref(cushim_buffer handle) noexcept : ref(handle) {}
  buffer_ref(std::nullptr_t) = delete;

  // Where it starts; 0 if it has no bytes.
  [[nodiscard]] result<address> pointer() const { return detail::ask<address>(cushim_buffer_get_pointer, get()); }
  // Bytes.
  [[nodiscard]] result<std::size_t> size() const { return detail::ask<std::size_t>(cushim_buffer_get_size, get()); }
  // The endpoint so many bytes after its start.
  [[nodiscard]] endpoint at(std::uint64_t offset) const noexcept { return {*this, offset}; }
  // Its memory as elements, as many as fit; for memory that the host can access (CUSHIM_ERROR_INVALID_ARGUMENT
  // otherwise). The program orders its accesses with the work of devices.
  template <class T>
  [[nodiscard]] result<host_view<T>> host() const;
  [[nodiscard]] result<cushim_memory_properties> properties() const {
    return detail::ask_struct<cushim_memory_properties>(cushim_buffer_get_properties, get());
  }
  // The resource that frees it; empty if there is none.
  [[nodiscard]] result<resource_ref> resource() const {
    return detail::ask<resource_ref, cushim_resource>(cushim_buffer_get_resource, get());
  }
  // The context of the memory; empty if there is none.
  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_buffer_get_context, get());
  }
  // The stream in whose order it is freed; empty if there is none.
  [[nodiscard]] result<stream_ref> stream() const {
    return detail::ask<stream_ref, cushim_stream>(cushim_buffer_get_stream, get());
  }
  result<void> set_stream(stream_ref stream) const {
    return detail::done(cushim_buffer_set_stream(get(), stream.get()));
  }

  // A buffer of the same size from the same resource, with the same contents, in stream order.
  [[nodiscard]] result<buffer> copy(stream_ref stream) const;
  // A buffer of at least so many bytes that begins with this one's memory, which stays as it is; of virtual memory.
  [[nodiscard]] result<buffer> grow(std::size_t bytes) const;
  // The same with options of the added memory.
  [[nodiscard]] result<buffer> grow(std::size_t bytes, const virtual_options &options) const;
  // Gives the memory back to the driver, keeps the addresses, and the contents if that is asked; of virtual memory.
  result<void> sleep(stream_ref stream, bool keep_contents = false) const {
    const std::uint32_t flags = keep_contents ? static_cast<std::uint32_t>(CUSHIM_SLEEP_KEEP_CONTENTS) : 0;
    return detail::done(cushim_buffer_sleep(get(), stream.get(), flags));
  }
  // Gives it memory again.
  result<void> wake(stream_ref stream) const { return detail::done(cushim_buffer_wake(get(), stream.get())); }
  [[nodiscard]] result<bool> asleep() const {
    return detail::ask<bool, std::int32_t>(cushim_buffer_get_asleep, get());
  }
  // A dma-buf of whole pages of a device's memory, for drivers of other devices: a file descriptor; close it.
  [[nodiscard]] result<int> export_dma_buf(std::size_t offset, std::size_t bytes, std::uint32_t flags = 0) const {
    return detail::ask<int, std::int32_t>(cushim_buffer_export_dma_buf, get(), offset, bytes, flags);
  }
  // Whether synchronous copies and fills of the allocation always wait until they are done.
  result<void> set_sync_memops(bool on) const {
    return detail::done(cushim_buffer_set_sync_memops(get(), on ? 1 : 0));
  }
  [[nodiscard]] result<bool> sync_memops() const {
    return detail::ask<bool, std::int32_t>(cushim_buffer_get_sync_memops, get());
  }
  // Advice on a buffer of managed memory.
  [[nodiscard]] result<managed_memory> managed() const;
  // For buffer::from_descriptor, or open_descriptor, in another process; of a pool that was created for several, or
  // of a synchronous device resource.
  [[nodiscard]] result<descriptor> export_descriptor() const {
    descriptor bytes{};
    const cushim_status status = cushim_buffer_export(get(), bytes.data(), bytes.size());
    return detail::give(status, std::move(bytes));
  }
  // For buffer::from_parts in another process; of virtual memory that was created with CUSHIM_SHAREABLE_POSIX_FD. Close
  // the files once they are sent.
  [[nodiscard]] result<std::vector<exported_part>> export_parts() const {
    std::size_t count = 0;
    cushim_status status = cushim_buffer_get_part_count(get(), &count);
    std::vector<exported_part> parts(count); // room for all before there are files to be closed
    std::vector<unsigned char> bytes(count * CUSHIM_DESCRIPTOR_BYTES);
    std::vector<std::int32_t> files(count);
    if (status == CUSHIM_SUCCESS) {
      status = cushim_buffer_export_parts(get(), bytes.data(), bytes.size(), files.data(), count);
    }
    const unsigned char *from = bytes.data();
    for (std::size_t i = 0; status == CUSHIM_SUCCESS && i < count; ++i, from += CUSHIM_DESCRIPTOR_BYTES) {
      std::copy(from, from + CUSHIM_DESCRIPTOR_BYTES, parts[i].bytes.begin());
      parts[i].file = files[i];
    }
    return detail::give(status, std::move(parts));
  }
  // A tensor that keeps the buffer: a DLManagedTensorVersioned, or a DLManagedTensor, whose deleter is called once.
  [[nodiscard]] result<void *> export_dlpack(const dlpack_options &options = {}) const {
    cushim_dlpack_options raw = cushim_options_of<cushim_dlpack_options>();
    raw.code = options.code;
    raw.bits = options.bits;
    raw.lanes = options.lanes;
    raw.shape = options.shape.empty() ? nullptr : options.shape.data();
    raw.dimensions = options.shape.size();
    raw.offset = options.offset;
    if (options.read_only) raw.flags |= static_cast<std::uint32_t>(CUSHIM_DLPACK_READ_ONLY);
    if (options.unversioned) raw.flags |= static_cast<std::uint32_t>(CUSHIM_DLPACK_UNVERSIONED);
    return detail::ask<void *>(cushim_buffer_export_dlpack, get(), &raw);
  }
};

// The memory is freed when the last owner, and every graph and tensor that uses it, is gone: in the order of its
// stream, or synchronously if it is not stream-ordered.
class [[nodiscard]] buffer : public detail::owning<buffer, buffer_ref, cushim_buffer_destroy, cushim_buffer_ref> {
 public:
  using owning::owning;

  [[nodiscard]] static result<buffer> create(resource_ref resource, stream_ref stream, std::size_t bytes) {
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_create, resource.get(), stream.get(), bytes);
  }
  // A buffer of another process, which is trusted with the bytes, from its imported pool. The stream is the
  // deallocation stream at first.
  [[nodiscard]] static result<buffer> from_descriptor(resource_ref pool, stream_ref stream,
                                                      const descriptor &bytes) {
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_import, pool.get(), stream.get(), bytes.data(),
                                              bytes.size());
  }
  // A buffer of another process's virtual memory: all parts that it exported, in their order, or allocations. The
  // resource is one of virtual memory of the same location; the files stay the caller's.
  [[nodiscard]] static result<buffer> from_parts(resource_ref space, stream_ref stream,
                                                 const std::vector<exported_part> &parts) {
    std::vector<unsigned char> bytes;
    std::vector<std::int32_t> files;
    for (const exported_part &part : parts) {
      bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
      files.push_back(part.file);
    }
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_import_parts, space.get(), stream.get(), bytes.data(),
                                              bytes.size(), files.data(), files.size());
  }
  // The same for memory of cuMemAlloc, in a context of its device.
  [[nodiscard]] static result<buffer> open_descriptor(context_ref context, stream_ref stream,
                                                      const descriptor &bytes) {
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_open, context.get(), stream.get(), bytes.data(),
                                              bytes.size());
  }
  // Memory that was allocated elsewhere and outlives the buffer and the work that uses it.
  [[nodiscard]] static result<buffer> wrap(driver_ref driver, address pointer, std::size_t bytes) {
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_wrap, driver.get(), nullptr, pointer, bytes, nullptr,
                                              nullptr);
  }
  // Memory that was allocated elsewhere, with what keeps it.
  [[nodiscard]] static result<buffer> wrap(driver_ref driver, address pointer, std::size_t bytes, owner keeper) {
    cushim_buffer handle = nullptr;
    const cushim_status status =
        cushim_buffer_wrap(driver.get(), nullptr, pointer, bytes, nullptr, keeper.get(), &handle);
    if (status == CUSHIM_SUCCESS) keeper.taken();
    return detail::give(status, buffer(handle));
  }
  // Memory that was allocated elsewhere, which a resource frees.
  [[nodiscard]] static result<buffer> wrap(driver_ref driver, stream_ref stream, address pointer, std::size_t bytes,
                                           resource_ref resource) {
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_wrap, driver.get(), stream.get(), pointer, bytes,
                                              resource.get(), nullptr);
  }
  // A copy of a container in host memory, in stream order, from the resource of the stream's device. `take_back`
  // copies it back.
  [[nodiscard]] static result<buffer> scratch(stream_ref stream, host_source from) {
    const void *const data = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(from.get()->address));
    return detail::ask<buffer, cushim_buffer>(cushim_buffer_create_scratch, nullptr, stream.get(), data,
                                              from.bytes());
  }
  // The memory of a DLPack tensor: a DLManagedTensorVersioned, or a DLManagedTensor, which belongs to the buffer if
  // this succeeds. Whether nobody may write it is told if that is asked.
  [[nodiscard]] static result<buffer> import_dlpack(driver_ref driver, void *tensor, bool unversioned = false,
                                                    bool *is_read_only = nullptr) {
    cushim_buffer handle = nullptr;
    std::int32_t read_only = 0;
    const std::uint32_t flags = unversioned ? static_cast<std::uint32_t>(CUSHIM_DLPACK_UNVERSIONED) : 0;
    const cushim_status status = cushim_buffer_import_dlpack(driver.get(), tensor, flags, &handle, &read_only);
    if (is_read_only != nullptr) *is_read_only = read_only != 0;
    return detail::give(status, buffer(handle));
  }

  // Destroys the handle; the memory is freed after the work that is in this stream now.
  result<void> destroy_on(stream_ref stream) { return ended(cushim_buffer_destroy_on(get(), stream.get())); }
  // Copies the buffer to a container of its size, and destroys the handle, in stream order.
  result<void> take_back(stream_ref stream, host_target to) {
    void *const data = reinterpret_cast<void *>(static_cast<std::uintptr_t>(to.get()->address));
    return ended(cushim_buffer_destroy_scratch(get(), stream.get(), data));
  }
};

template <class T>
result<host_view<T>> buffer_ref::host() const {
  cushim_memory_properties properties = cushim_options_of<cushim_memory_properties>();
  std::uint64_t pointer = 0;
  std::size_t bytes = 0;
  cushim_status status = cushim_buffer_get_properties(get(), &properties);
  if (status == CUSHIM_SUCCESS && properties.host_accessible == 0) {
    return detail::refuse<host_view<T>>(CUSHIM_ERROR_INVALID_ARGUMENT,
                                        "the host cannot access this buffer's memory; copy it to host memory");
  }
  if (status == CUSHIM_SUCCESS) status = cushim_buffer_get_pointer(get(), &pointer);
  if (status == CUSHIM_SUCCESS) status = cushim_buffer_get_size(get(), &bytes);
  return detail::give(status,
                      host_view<T>(reinterpret_cast<T *>(static_cast<std::uintptr_t>(pointer)), bytes / sizeof(T)));
}

inline result<buffer> buffer_ref::grow(std::size_t bytes) const {
  return detail::ask<buffer, cushim_buffer>(cushim_buffer_grow, get(), bytes, nullptr);
}
inline result<buffer> buffer_ref::grow(std::size_t bytes, const virtual_options &options) const {
  const cushim_virtual_options raw = options.get();
  return detail::ask<buffer, cushim_buffer>(cushim_buffer_grow, get(), bytes, &raw);
}
inline result<buffer> buffer_ref::copy(stream_ref stream) const {
  return detail::ask<buffer, cushim_buffer>(cushim_buffer_create_copy, get(), stream.get());
}
inline result<buffer> resource_ref::allocate(stream_ref stream, std::size_t bytes) const {
  return buffer::create(*this, stream, bytes);
}
inline result<buffer> resource_ref::allocate(std::size_t bytes) const {
  return buffer::create(*this, stream_ref(), bytes);
}
inline result<buffer> device_ref::allocate(stream_ref stream, std::size_t bytes) const {
  return detail::ask<buffer, cushim_buffer>(cushim_buffer_create_default, get(), stream.get(), bytes);
}

inline endpoint::endpoint(buffer_ref buffer, std::uint64_t offset) noexcept
    : endpoint_base(CUSHIM_ENDPOINT_BUFFER, reinterpret_cast<std::uintptr_t>(buffer.get())) {
  *this = endpoint_base::at(offset);
}
inline range::range(buffer_ref buffer, std::uint64_t offset, std::size_t bytes) noexcept
    : raw_{CUSHIM_RANGE_BUFFER, 0, reinterpret_cast<std::uintptr_t>(buffer.get()), offset, bytes} {}

template <class Handle, cushim_status (*Copy)(Handle, const cushim_endpoint *, const cushim_endpoint *, std::size_t),
          cushim_status (*Copy3d)(Handle, const cushim_region *, const cushim_region *, const cushim_extent *),
          cushim_status (*Fill)(Handle, const cushim_endpoint *, const void *, std::size_t, std::size_t),
          cushim_status (*Fill2d)(Handle, const cushim_endpoint *, std::size_t, const void *, std::size_t, std::size_t,
                                  std::size_t)>
template <class Value>
result<void> detail::transfers<Handle, Copy, Copy3d, Fill, Fill2d>::fill(buffer_ref to, given_t<Value> value) const {
  std::size_t bytes = 0;
  const endpoint start = to;
  cushim_status status = cushim_buffer_get_size(to.get(), &bytes);
  if (status == CUSHIM_SUCCESS)
    status = Fill(this->get(), start.get(), value_of<Value>(value), sizeof(Value), bytes / sizeof(Value));
  return done(status);
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_BUFFER_HPP
