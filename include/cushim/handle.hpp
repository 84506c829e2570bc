// Handles: what all classes of objects have in common. Part of cushim.hpp.
#ifndef CUSHIM_HANDLE_HPP
#define CUSHIM_HANDLE_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

class driver;
class driver_ref;
class device_ref;
class context;
class context_ref;
class event;
class event_ref;
class timed_event;
class stream;
class stream_ref;
class resource;
class resource_ref;
class buffer;
class buffer_ref;
class library;
class library_ref;
class kernel;
class kernel_ref;
class graph;
class graph_ref;
class node_ref;
class condition_ref;
class exec;
class exec_ref;
class builder;
class builder_ref;

// A device pointer: the address of memory that a device reaches. The same as a CUdeviceptr.
using address = std::uint64_t;

// What another process needs to find an event, a pool or memory: plain bytes, to be sent as they are.
using descriptor = std::array<unsigned char, CUSHIM_DESCRIPTOR_BYTES>;

namespace detail {

// A number for each object, whichever handle of it is asked; 0 of an empty handle. A destroyed one has none left: it
// stands for itself, with a number that no object has.
[[nodiscard]] inline std::uint64_t number_of(const void *handle) noexcept {
  std::uint64_t number = 0;
  if (handle != nullptr && cushim_get_identity(handle, &number) != CUSHIM_SUCCESS) {
    number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  }
  return number;
}

// A handle that is not owned. Two are equal if they name the same object, whoever owns it. Their order and their
// std::hash are those of the objects, so that handles are keys of maps; keep the object while it is one.
template <class Handle>
class ref {
 public:
  using handle_type = Handle;

  // The handle for functions of cushim.h; NULL if this is empty.
  [[nodiscard]] constexpr Handle get() const noexcept { return handle_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }

  // Names the object in messages; `set_label(nullptr)` takes the name away.
  result<void> set_label(c_string label) const { return done(cushim_set_label(handle_, label.get())); }
  [[nodiscard]] result<std::string> label() const {
    return ask_text(cushim_get_label, static_cast<const void *>(handle_));
  }
  // One line about the object, such as `stream "copy"`.
  [[nodiscard]] result<std::string> describe() const {
    return ask_text(cushim_describe, static_cast<const void *>(handle_));
  }

  // A number that each handle of the object has, and no other object ever; 0 if this is empty.
  [[nodiscard]] std::uint64_t identity() const noexcept { return number_of(handle_); }

  friend bool operator==(const ref &a, const ref &b) noexcept {
    return a.handle_ == b.handle_ || (a && b && a.identity() == b.identity());
  }
  friend bool operator!=(const ref &a, const ref &b) noexcept { return !(a == b); }
  friend constexpr bool operator==(const ref &a, std::nullptr_t) noexcept { return a.handle_ == nullptr; }
  friend constexpr bool operator!=(const ref &a, std::nullptr_t) noexcept { return a.handle_ != nullptr; }
  friend constexpr bool operator==(std::nullptr_t, const ref &a) noexcept { return a.handle_ == nullptr; }
  friend constexpr bool operator!=(std::nullptr_t, const ref &a) noexcept { return a.handle_ != nullptr; }
  friend bool operator<(const ref &a, const ref &b) noexcept { return a.identity() < b.identity(); }

 protected:
  constexpr ref() noexcept = default;
  constexpr explicit ref(Handle handle) noexcept : handle_(handle) {}
  ref(const ref &) noexcept = default;
  ref &operator=(const ref &) noexcept = default;
  ~ref() = default;

  Handle handle_ = nullptr;
};

// A handle that is owned: what Self, which derives from it, is beside a Ref.
template <class Self, class Ref, cushim_status (*Destroy)(typename Ref::handle_type),
          cushim_status (*Reference)(typename Ref::handle_type, typename Ref::handle_type *)>
class owning : public Ref {
 public:
  using ref_type = Ref;
  using typename Ref::handle_type;

  // Empty.
  owning() noexcept = default;
  // Takes over an owning handle.
  explicit owning(handle_type owned) noexcept : Ref(owned) {}
  owning(owning &&other) noexcept : Ref(other.release()) {}
  owning &operator=(owning &&other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  owning(const owning &) = delete;
  owning &operator=(const owning &) = delete;

  // One more owner of the object.
  [[nodiscard]] static result<Self> share(Ref object) { return ask<Self, handle_type>(Reference, object.get()); }

  // Gives up the ownership: whoever gets the handle destroys it.
  [[nodiscard]] handle_type release() noexcept { return std::exchange(this->handle_, nullptr); }

  // Destroys the handle, and says whether that succeeded. It is empty afterwards, or, where cushim.h says that
  // nothing is destroyed if it fails, as it was.
  result<void> destroy() { return ended(Destroy(this->handle_)); }

  // Destroys the handle, whatever comes of it, and takes over another one.
  void reset(handle_type owned = nullptr) noexcept {
    const handle_type before = std::exchange(this->handle_, owned);
    if (before != nullptr) static_cast<void>(Destroy(before));
  }

  friend void swap(owning &a, owning &b) noexcept { std::swap(a.handle_, b.handle_); }

 protected:
  // It never throws: failures are those of `destroy`.
  ~owning() { reset(); }

  // After a call that destroys the handle.
  result<void> ended(cushim_status status) {
    if (status == CUSHIM_SUCCESS || !is_valid()) this->handle_ = nullptr;
    return done(status);
  }

 private:
  // Whether the handle outlived a failure to destroy it.
  [[nodiscard]] bool is_valid() const noexcept {
    char line[16];
    return cushim_describe(this->handle_, line, sizeof line, nullptr) == CUSHIM_SUCCESS &&
           std::strncmp(line, "destroyed", 9) != 0 && std::strncmp(line, "not a handle", 12) != 0;
  }
};

// What std::hash is of a handle, owned or not.
template <class Object>
struct handle_hash {
  [[nodiscard]] std::size_t operator()(const Object &object) const noexcept {
    return std::hash<std::uint64_t>()(object.identity());
  }
};

} // namespace detail

// Whether two handles, of any kind, name the same object: two owners of one stream do.
template <class A, class B>
[[nodiscard]] result<bool> same(const A &a, const B &b) {
  return detail::ask<bool, std::int32_t>(cushim_same, static_cast<const void *>(a.get()),
                                         static_cast<const void *>(b.get()));
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#define CUSHIM_HPP_HASH(name) \
  template <>                 \
  struct std::hash<cushim::name> : cushim::detail::handle_hash<cushim::name> {};
CUSHIM_HPP_HASH(driver)
CUSHIM_HPP_HASH(driver_ref)
CUSHIM_HPP_HASH(device_ref)
CUSHIM_HPP_HASH(context)
CUSHIM_HPP_HASH(context_ref)
CUSHIM_HPP_HASH(event)
CUSHIM_HPP_HASH(event_ref)
CUSHIM_HPP_HASH(timed_event)
CUSHIM_HPP_HASH(stream)
CUSHIM_HPP_HASH(stream_ref)
CUSHIM_HPP_HASH(resource)
CUSHIM_HPP_HASH(resource_ref)
CUSHIM_HPP_HASH(buffer)
CUSHIM_HPP_HASH(buffer_ref)
CUSHIM_HPP_HASH(library)
CUSHIM_HPP_HASH(library_ref)
CUSHIM_HPP_HASH(kernel)
CUSHIM_HPP_HASH(kernel_ref)
CUSHIM_HPP_HASH(graph)
CUSHIM_HPP_HASH(graph_ref)
CUSHIM_HPP_HASH(node_ref)
CUSHIM_HPP_HASH(condition_ref)
CUSHIM_HPP_HASH(exec)
CUSHIM_HPP_HASH(exec_ref)
CUSHIM_HPP_HASH(builder)
CUSHIM_HPP_HASH(builder_ref)
#undef CUSHIM_HPP_HASH

#endif // CUSHIM_HANDLE_HPP
