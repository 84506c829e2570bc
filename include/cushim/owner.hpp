// Owners and callables: what the library keeps for a program until nothing uses it any more. Part of cushim.hpp.
#ifndef CUSHIM_OWNER_HPP
#define CUSHIM_OWNER_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

#include <atomic>

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// Something that is kept alive for as long as the library uses what it stands for: `owner::of(std::move(vector))`. A
// call that takes an owner empties it if it succeeds, and leaves it as it is if it fails; one that was passed by
// value is released then. What is kept is destroyed on a thread of the library's own, soon after the last use
// (flush_callbacks waits for that); its destructor must not throw.
class owner {
 public:
  // Keeps nothing.
  owner() noexcept = default;
  // What cushim.h takes. A `release` that is NULL makes `data` an item of `drain`.
  explicit owner(cushim_owner raw) noexcept : raw_(raw), keeps_(true) {}
  // Keeps an object, which is moved: a smart pointer, a container, a guard.
  template <class Object>
  [[nodiscard]] static owner of(Object object) {
    return owner({new Object(std::move(object)), [](void *data) { delete static_cast<Object *>(data); }});
  }

  owner(owner &&other) noexcept : raw_(other.raw_), keeps_(std::exchange(other.keeps_, false)) {}
  owner &operator=(owner &&other) noexcept {
    if (this != &other) {
      release_here();
      raw_ = other.raw_;
      keeps_ = std::exchange(other.keeps_, false);
    }
    return *this;
  }
  owner(const owner &) = delete;
  owner &operator=(const owner &) = delete;
  // What no call has taken is released on this thread.
  ~owner() { release_here(); }

  [[nodiscard]] explicit operator bool() const noexcept { return keeps_; }
  // For functions of cushim.h; NULL if it keeps nothing. Call `taken` after one has succeeded.
  [[nodiscard]] const cushim_owner *get() const noexcept { return keeps_ ? &raw_ : nullptr; }
  void taken() noexcept { keeps_ = false; }

 private:
  void release_here() noexcept {
    if (std::exchange(keeps_, false) && raw_.release != nullptr) raw_.release(raw_.data);
  }

  cushim_owner raw_{nullptr, nullptr};
  bool keeps_ = false;
};

// Waits until what is due for release is released, and the log callback has been called for all lines until now.
// False if the time is over first. Not in a release or a log callback.
template <class Rep, class Period>
[[nodiscard]] result<bool> flush_callbacks(std::chrono::duration<Rep, Period> timeout) {
  return detail::ask<bool, std::int32_t>(cushim_flush_callbacks, detail::nanoseconds(timeout));
}
// Waits without a limit.
inline result<void> flush_callbacks() {
  std::int32_t all = 0;
  return detail::done(cushim_flush_callbacks(UINT64_MAX, &all));
}

// How many releases were leaked, because functions of the program ended the threads that make them.
[[nodiscard]] inline result<std::uint64_t> get_leaked_releases() {
  return detail::ask<std::uint64_t, std::uint64_t>(cushim_get_leaked_releases);
}

namespace detail {

// Nothing that is thrown may reach the driver's thread: the program ends then.
template <class Function>
void call(void *data) noexcept {
  (*static_cast<Function *>(data))();
}

// Whether a copy of its bytes is as good as the callable: then nothing is allocated, and nothing is to be released.
template <class Function>
inline constexpr bool is_bytes = std::is_trivially_copyable_v<Function> && alignof(Function) <= 16;

// Passes a callable to a function that keeps it: to `with_bytes(function, bytes, size)` or `with_owner(function,
// data, owner)`.
template <class Function, class WithBytes, class WithOwner>
cushim_status keep(Function &&callable, WithBytes with_bytes, WithOwner with_owner) {
  using kept = std::decay_t<Function>;
  static_assert(std::is_invocable_v<kept &>, "a host function is called without arguments");
  if constexpr (is_bytes<kept>) {
    const kept copy(std::forward<Function>(callable));
    return with_bytes(call<kept>, static_cast<const void *>(&copy), sizeof copy);
  } else {
    owner keeper = owner::of(kept(std::forward<Function>(callable)));
    const cushim_status status = with_owner(call<kept>, keeper.get()->data, keeper.get());
    if (status == CUSHIM_SUCCESS) keeper.taken();
    return status;
  }
}

// A callable that is called once, as an rvalue, and gone afterwards.
template <class Function>
class once {
 public:
  template <class Callable>
  explicit once(Callable &&callable) : function_(std::forward<Callable>(callable)) {}
  once(once &&other) noexcept(std::is_nothrow_move_constructible_v<Function>)
      : function_(std::move(other.function_)) {}

  void operator()() {
    if (was_called_.exchange(true)) return;
    std::move (*function_)();
    function_.reset();
  }

 private:
  std::optional<Function> function_;
  std::atomic<bool> was_called_{false};
};

} // namespace detail
} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_OWNER_HPP
