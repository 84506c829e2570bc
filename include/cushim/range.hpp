// Ranges of managed memory, and locations: what advice and prefetches are about. Part of cushim.hpp.
#ifndef CUSHIM_RANGE_HPP
#define CUSHIM_RANGE_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// Where memory is, or should be. It has the layout of a cushim_location.
class location {
 public:
  // No location: what is returned where nothing is set. No call accepts it as a destination.
  constexpr location() noexcept = default;
  constexpr location(cushim_location raw) noexcept : raw_(raw) {}
  // Unset if the handle is not valid.
  location(device_ref device);

  [[nodiscard]] static constexpr location device(std::int32_t ordinal) noexcept {
    return {CUSHIM_LOCATION_DEVICE, ordinal};
  }
  [[nodiscard]] static constexpr location host() noexcept { return {CUSHIM_LOCATION_HOST, 0}; }
  // A NUMA node of the host, by the operating system's number; CUDA 12.2.
  [[nodiscard]] static constexpr location host_numa(std::int32_t node) noexcept {
    return {CUSHIM_LOCATION_HOST_NUMA, node};
  }
  // The NUMA node of the calling thread; CUDA 12.2.
  [[nodiscard]] static constexpr location host_numa_current() noexcept {
    return {CUSHIM_LOCATION_HOST_NUMA_CURRENT, 0};
  }

  [[nodiscard]] constexpr cushim_location_kind kind() const noexcept { return raw_.kind; }
  [[nodiscard]] constexpr std::int32_t id() const noexcept { return raw_.id; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return raw_.kind != CUSHIM_LOCATION_UNSET; }
  [[nodiscard]] constexpr const cushim_location *get() const noexcept { return &raw_; }

  friend constexpr bool operator==(location a, location b) noexcept {
    return a.raw_.kind == b.raw_.kind && a.raw_.id == b.raw_.id;
  }
  friend constexpr bool operator!=(location a, location b) noexcept { return !(a == b); }

 private:
  constexpr location(cushim_location_kind kind, std::int32_t id) noexcept : raw_{kind, id} {}

  cushim_location raw_{};
};

// A range of managed memory: a buffer or a part of one, or memory of any other allocator. It keeps nothing alive. It
// has the layout of a cushim_range.
class range {
 public:
  constexpr range(cushim_range raw) noexcept : raw_(raw) {}
  // A buffer from the offset on: so many bytes, or all.
  range(buffer_ref buffer, std::uint64_t offset = 0, std::size_t bytes = 0) noexcept;
  // So many bytes at an address.
  range(address pointer, std::size_t bytes) noexcept : raw_{CUSHIM_RANGE_POINTER, 0, pointer, 0, bytes} {}
  // The elements of a container in managed memory, or in pageable memory where the device reaches that.
  template <class Container, class = std::enable_if_t<detail::is_contiguous<const Container>>>
  explicit range(const Container &container) noexcept
      : range(reinterpret_cast<std::uintptr_t>(std::data(container)),
              std::size(container) * sizeof *std::data(container)) {}

  [[nodiscard]] constexpr const cushim_range *get() const noexcept { return &raw_; }

 private:
  cushim_range raw_;
};

static_assert(sizeof(location) == sizeof(cushim_location) && sizeof(range) == sizeof(cushim_range),
              "arrays of them are passed as arrays of the structs");

// Options of batches. Zeros are the defaults.
struct batch_options {
  // Fail with CUSHIM_ERROR_UNSUPPORTED if the driver has no call for several, instead of enqueuing the items one by
  // one.
  bool refuse_loop = false;

  [[nodiscard]] cushim_batch_options raw() const noexcept {
    cushim_batch_options options = cushim_options_of<cushim_batch_options>();
    options.flags = refuse_loop ? static_cast<std::uint32_t>(CUSHIM_BATCH_REFUSE_LOOP) : 0;
    return options;
  }
};

namespace detail {

// Items of a batch, in order: one, a container of them, or a list in braces.
template <class Item>
class items {
 public:
  items(const Item &item) noexcept : data_(&item), size_(1) {}
  items(std::initializer_list<Item> list) noexcept : data_(std::data(list)), size_(list.size()) {}
  template <class Container,
            class = std::enable_if_t<std::is_same_v<std::remove_cv_t<element_of<const Container>>, Item>>>
  items(const Container &container) noexcept : data_(std::data(container)), size_(std::size(container)) {}

  [[nodiscard]] const Item *data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  const Item *data_;
  std::size_t size_;
};

// As an array of the structs of cushim.h.
inline const cushim_range *raw(const items<range> &ranges) noexcept {
  return ranges.size() != 0 ? ranges.data()->get() : nullptr;
}
inline const cushim_location *raw(const items<location> &locations) noexcept {
  return locations.size() != 0 ? locations.data()->get() : nullptr;
}

} // namespace detail
} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_RANGE_HPP
