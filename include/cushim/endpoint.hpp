// Endpoints: where copies and memsets read and write. Part of cushim.hpp.
#ifndef CUSHIM_ENDPOINT_HPP
#define CUSHIM_ENDPOINT_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

class endpoint;

namespace detail {

// What can be said of an endpoint. Each member returns an endpoint that has it; the original stays as it is.
template <class Self>
class endpoint_base {
 public:
  // Bytes further on.
  [[nodiscard]] Self at(std::uint64_t offset) const noexcept {
    Self changed = self();
    changed.raw_.offset += offset;
    return changed;
  }
  // The context of the memory, if it is a device's: a copy between two such endpoints needs no peer access.
  [[nodiscard]] Self in(context_ref context) const noexcept;
  // The source is host memory whose bytes are copied during the call: the memory need not last.
  [[nodiscard]] Self keep_bytes() const noexcept { return with(CUSHIM_ENDPOINT_KEEP_BYTES); }
  // The program keeps the memory for as long as a graph may use it.
  [[nodiscard]] Self caller_keeps() const noexcept { return with(CUSHIM_ENDPOINT_CALLER_KEEPS); }
  // The owner keeps the memory. The first call that uses the endpoint and succeeds takes it, and later ones get the
  // memory alone; the owner must outlive the endpoint, and stay where it is. Name an owner once in a call.
  [[nodiscard]] Self kept_by(owner &keeper) const noexcept {
    Self changed = self();
    changed.keeper_ = &keeper;
    return changed;
  }

  // For functions of cushim.h.
  [[nodiscard]] const cushim_endpoint *get() const noexcept {
    // What was taken meanwhile is not given again.
    if (keeper_ != nullptr) raw_.owner = keeper_->get();
    return &raw_;
  }
  // The owner belongs to the library now.
  void taken() const noexcept {
    if (keeper_ != nullptr) keeper_->taken();
  }

 protected:
  endpoint_base() noexcept = default;
  endpoint_base(cushim_endpoint_kind kind, std::uint64_t address) noexcept {
    raw_.kind = kind;
    raw_.address = address;
  }
  template <class Other>
  explicit endpoint_base(const endpoint_base<Other> &other) noexcept : raw_(other.raw_), keeper_(other.keeper_) {}
  ~endpoint_base() = default;
  endpoint_base(const endpoint_base &) noexcept = default;
  endpoint_base &operator=(const endpoint_base &) noexcept = default;

 private:
  template <class>
  friend class endpoint_base;

  [[nodiscard]] const Self &self() const noexcept { return static_cast<const Self &>(*this); }
  [[nodiscard]] Self with(cushim_endpoint_flags flag) const noexcept {
    Self changed = self();
    changed.raw_.flags |= static_cast<std::uint32_t>(flag);
    return changed;
  }

  mutable cushim_endpoint raw_{};
  owner *keeper_ = nullptr;
};

} // namespace detail

// Where an operation reads or writes: a buffer, which converts to it, or an address that says of what kind it is. It
// is a value, and keeps nothing alive.
class endpoint : public detail::endpoint_base<endpoint> {
 public:
  // The start of a buffer's memory, or bytes after it. Operations that would reach past its end are refused.
  endpoint(buffer_ref buffer, std::uint64_t offset = 0) noexcept;
  template <class Other>
  endpoint(const detail::endpoint_base<Other> &other) noexcept : endpoint_base(other) {}

  // Host memory of any kind.
  [[nodiscard]] static endpoint host(const void *pointer) noexcept { return {CUSHIM_ENDPOINT_HOST, pointer}; }
  // Device memory.
  [[nodiscard]] static endpoint device(address pointer) noexcept { return {CUSHIM_ENDPOINT_DEVICE, pointer}; }
  // An address of either kind; the driver is asked which.
  [[nodiscard]] static endpoint any(address pointer) noexcept { return {CUSHIM_ENDPOINT_AUTO, pointer}; }
  [[nodiscard]] static endpoint any(const void *pointer) noexcept { return {CUSHIM_ENDPOINT_AUTO, pointer}; }
  // An array of the driver's.
  [[nodiscard]] static endpoint array(CUarray array) noexcept { return {CUSHIM_ENDPOINT_ARRAY, array}; }

 private:
  endpoint(cushim_endpoint_kind kind, std::uint64_t start) noexcept : endpoint_base(kind, start) {}
  endpoint(cushim_endpoint_kind kind, const void *start) noexcept : endpoint_base(kind, reinterpret_cast<std::uintptr_t>(start)) {}
};

namespace detail {

template <class Container>
using element_of = std::remove_reference_t<decltype(*std::data(std::declval<Container &>()))>;

// Containers with contiguous elements that can be copied as bytes: arrays, std::array, vectors, spans, strings.
template <class Container, class = void>
inline constexpr bool is_contiguous = false;
template <class Container>
inline constexpr bool
    is_contiguous<Container, std::void_t<element_of<Container>, decltype(std::size(std::declval<Container &>()))>> =
        std::is_trivially_copyable_v<element_of<Container>> && !std::is_void_v<element_of<Container>>;

template <class Container, class = void>
inline constexpr bool is_writable = false;
template <class Container>
inline constexpr bool is_writable<Container, std::enable_if_t<is_contiguous<Container>>> =
    !std::is_const_v<element_of<Container>>;

// Whether the elements last longer than the argument: it is no temporary, or one whose elements are those of
// something else, as a span's, which is copied without them and writes to them when it is const.
template <class Argument>
inline constexpr bool lasts = std::is_copy_constructible_v<Argument> && is_writable<const Argument>;
template <class Container>
inline constexpr bool lasts<Container &> = true;

} // namespace detail

// The elements of a contiguous container in host memory as the source of a copy: all its bytes. The container
// converts to it.
class host_source : public detail::endpoint_base<host_source> {
 public:
  template <class Container, class = std::enable_if_t<detail::is_contiguous<const Container>>>
  host_source(const Container &container) noexcept
      : endpoint_base(CUSHIM_ENDPOINT_HOST, reinterpret_cast<std::uintptr_t>(std::data(container))),
        bytes_(std::size(container) * sizeof *std::data(container)) {}
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
};

// The elements of a contiguous container in host memory as the destination of a copy. A temporary must be a view,
// such as a span: the elements of another one are gone before they are written, or before anybody reads them.
class host_target : public detail::endpoint_base<host_target> {
 public:
  template <class Container, class = std::enable_if_t<detail::is_writable<std::remove_reference_t<Container>>>,
            std::enable_if_t<detail::lasts<Container>, int> = 0>
  host_target(Container &&container) noexcept
      : endpoint_base(CUSHIM_ENDPOINT_HOST, reinterpret_cast<std::uintptr_t>(std::data(container))),
        bytes_(std::size(container) * sizeof *std::data(container)) {}
  template <class Container, class = std::enable_if_t<detail::is_writable<std::remove_reference_t<Container>>>,
            std::enable_if_t<!detail::lasts<Container>, int> = 0>
  host_target(Container &&temporary) = delete;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
};

// The size of a box: bytes in a row, rows, slices.
struct extent {
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;

  [[nodiscard]] cushim_extent raw() const noexcept { return {width, height, depth}; }
};

// A box of memory: rows in a pitch, slices of rows.
struct region {
  region(endpoint start, std::size_t row_pitch = 0, std::size_t slice_rows = 0) noexcept
      : where(start), pitch(row_pitch), rows(slice_rows) {}

  // Where the memory starts, or the array.
  endpoint where;
  // Bytes before the box in each row, rows before it in each slice, and slices before it.
  std::size_t x = 0, y = 0, z = 0;
  // Bytes from row to row, and rows from slice to slice; 0 for those that end where the box ends.
  std::size_t pitch, rows;

  [[nodiscard]] cushim_region raw() const noexcept { return {*where.get(), x, y, z, pitch, rows}; }
};

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_ENDPOINT_HPP
