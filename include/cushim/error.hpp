// Errors: what a failed call says, and how the functions of this header return or throw it. Part of cushim.hpp.
#ifndef CUSHIM_ERROR_HPP
#define CUSHIM_ERROR_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// What went wrong in a call. Copies share the texts.
class error : public std::runtime_error {
 public:
  // The last error of the calling thread, of a call that has just returned `status`.
  explicit error(cushim_status status) : error(status, cushim_last_error_message()) {
    cushim_error_detail last = cushim_options_of<cushim_error_detail>();
    if (cushim_last_error(&last) != CUSHIM_SUCCESS) return;
    details_ = std::make_shared<const details>(details{last.driver_function, last.object, last.label, last.driver_log,
                                                       last.abi, static_cast<CUresult>(last.driver_code), last.item});
  }
  // An error of the program's own.
  error(cushim_status status, const std::string &message) : std::runtime_error(message), status_(status) {}

  // What the call returned: a CUSHIM_ERROR_…, which is negative, or the driver's CUresult.
  [[nodiscard]] cushim_status status() const noexcept { return status_; }
  // The name of the status, such as "CUSHIM_ERROR_UNSUPPORTED"; "" if it has none.
  [[nodiscard]] const char *name() const noexcept {
    const char *const name = cushim_status_name(status_);
    return name != nullptr ? name : "";
  }
  // What the driver returned; CUDA_SUCCESS if it was not called or is not at fault.
  [[nodiscard]] CUresult driver_result() const noexcept {
    return details_ != nullptr ? details_->driver_result : CUDA_SUCCESS;
  }
  // The function of the driver that the error is about, such as "cuMemPrefetchAsync", or "".
  [[nodiscard]] const char *function() const noexcept {
    return details_ != nullptr ? details_->function.c_str() : "";
  }
  // The number of its ABI, such as 12020; 0 if there is no function.
  [[nodiscard]] std::int32_t abi() const noexcept { return details_ != nullptr ? details_->abi : 0; }
  // Which item failed, from 0, if the call took several.
  [[nodiscard]] std::optional<std::size_t> item() const noexcept {
    if (details_ == nullptr || details_->item < 0) return std::nullopt;
    return static_cast<std::size_t>(details_->item);
  }
  // The object that the call was about, such as `stream "copy"`, and its label; "" if there is none.
  [[nodiscard]] const char *object() const noexcept { return details_ != nullptr ? details_->object.c_str() : ""; }
  [[nodiscard]] const char *label() const noexcept { return details_ != nullptr ? details_->label.c_str() : ""; }
  // What the driver logged during the call, one entry per line; a compiler's messages, for one.
  [[nodiscard]] const char *driver_log() const noexcept {
    return details_ != nullptr ? details_->driver_log.c_str() : "";
  }

 private:
  struct details {
    std::string function, object, label, driver_log;
    std::int32_t abi;
    CUresult driver_result;
    std::int64_t item;
  };

  cushim_status status_;
  std::shared_ptr<const details> details_;
};

// A value, or the error that came instead of it. Looking at the one that is not there ends the program, with the
// error's message.
template <class T>
class [[nodiscard]] expected {
 public:
  using value_type = T;
  using error_type = cushim::error;

  expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  expected(cushim::error failure) : content_(std::in_place_index<1>, std::move(failure)) {}

  [[nodiscard]] bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T &value() & { return *there(); }
  [[nodiscard]] const T &value() const & { return *there(); }
  [[nodiscard]] T &&value() && { return std::move(*there()); }
  [[nodiscard]] T &operator*() & { return *there(); }
  [[nodiscard]] const T &operator*() const & { return *there(); }
  [[nodiscard]] T &&operator*() && { return std::move(*there()); }
  [[nodiscard]] T *operator->() { return there(); }
  [[nodiscard]] const T *operator->() const { return there(); }
  template <class Other>
  [[nodiscard]] T value_or(Other &&other) && {
    return has_value() ? std::move(*there()) : static_cast<T>(std::forward<Other>(other));
  }
  template <class Other>
  [[nodiscard]] T value_or(Other &&other) const & {
    return has_value() ? *there() : static_cast<T>(std::forward<Other>(other));
  }

  [[nodiscard]] const cushim::error &error() const {
    if (has_value()) std::abort();
    return *std::get_if<1>(&content_);
  }

  // What `next` returns for the value, an expected of any type; or this error.
  template <class Next>
  auto and_then(Next &&next) && -> decltype(std::forward<Next>(next)(std::declval<T>())) {
    if (!has_value()) return *std::get_if<1>(&content_);
    return std::forward<Next>(next)(std::move(*there()));
  }

 private:
  T *there() { return const_cast<T *>(static_cast<const expected *>(this)->there()); }
  const T *there() const {
    const T *const value = std::get_if<0>(&content_);
    if (value == nullptr) {
      std::fprintf(stderr, "cushim: %s\n", std::get_if<1>(&content_)->what());
      std::abort();
    }
    return value;
  }

  std::variant<T, cushim::error> content_;
};

// Success, or an error.
template <>
class [[nodiscard]] expected<void> {
 public:
  using value_type = void;
  using error_type = cushim::error;

  expected() noexcept = default;
  expected(cushim::error failure) : error_(std::move(failure)) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (has_value()) return;
    std::fprintf(stderr, "cushim: %s\n", error_->what());
    std::abort();
  }
  [[nodiscard]] const cushim::error &error() const {
    if (has_value()) std::abort();
    return *error_;
  }
  template <class Next>
  auto and_then(Next &&next) const -> decltype(std::forward<Next>(next)()) {
    if (!has_value()) return *error_;
    return std::forward<Next>(next)();
  }

 private:
  std::optional<cushim::error> error_;
};

// What functions return that can fail.
#if CUSHIM_HPP_THROWS
template <class T>
using result = T;
#else
template <class T>
using result = expected<T>;
#endif

namespace detail {

#if defined(__GNUC__)
#define CUSHIM_HPP_COLD [[gnu::cold, gnu::noinline]]
#else
#define CUSHIM_HPP_COLD
#endif

#if CUSHIM_HPP_THROWS
[[noreturn]] CUSHIM_HPP_COLD inline void fail(cushim_status status) { throw error(status); }
#else
CUSHIM_HPP_COLD inline error fail(cushim_status status) { return error(status); }
#endif

#undef CUSHIM_HPP_COLD

// A failure that the library does not know of.
template <class T>
result<T> refuse(cushim_status status, const char *message) {
#if CUSHIM_HPP_THROWS
  throw error(status, message);
#else
  return error(status, message);
#endif
}

inline result<void> done(cushim_status status) {
#if CUSHIM_HPP_THROWS
  if (status != CUSHIM_SUCCESS) fail(status);
#else
  if (status != CUSHIM_SUCCESS) return fail(status);
  return {};
#endif
}

// Why a call has just failed that returns no status.
inline cushim_status last_status() {
  cushim_error_detail last = cushim_options_of<cushim_error_detail>();
  const cushim_status status = cushim_last_error(&last);
  if (status != CUSHIM_SUCCESS) return status;
  return last.status != CUSHIM_SUCCESS ? last.status : CUSHIM_ERROR_INTERNAL;
}

// The value, if the call that made it succeeded.
template <class T>
result<T> give(cushim_status status, T &&value) {
  static_assert(!std::is_reference_v<T>, "move what is to be given");
#if CUSHIM_HPP_THROWS
  if (status != CUSHIM_SUCCESS) fail(status);
#else
  if (status != CUSHIM_SUCCESS) return fail(status);
#endif
  return std::move(value);
}

// What a function writes to its last parameter, of type Raw, as a T.
template <class T, class Raw = T, class Function, class... Arguments>
result<T> ask(Function function, Arguments... arguments) {
  Raw value{};
  const cushim_status status = function(arguments..., &value);
  return give(status, static_cast<T>(value));
}

// The struct that a function fills in its last parameter.
template <class Struct, class Function, class... Arguments>
result<Struct> ask_struct(Function function, Arguments... arguments) {
  Struct value = cushim_options_of<Struct>();
  const cushim_status status = function(arguments..., &value);
  return give(status, Struct(value));
}

// The text that a function copies to a buffer.
template <class Function, class... Arguments>
result<std::string> ask_text(Function function, Arguments... arguments) {
  char some[256];
  std::size_t needed = 0;
  cushim_status status = function(arguments..., some, sizeof some, &needed);
  if (status != CUSHIM_SUCCESS || needed <= sizeof some) return give(status, std::string(some));
  std::string all(needed, '\0');
  status = function(arguments..., all.data(), all.size(), &needed);
  all.resize(std::strlen(all.c_str()));
  return give(status, std::move(all));
}

// The items that a function lists; others may add some between two calls of it.
template <class T, class Raw = T, class Function, class... Arguments>
result<std::vector<T>> ask_list(Function function, Arguments... arguments) {
  std::vector<Raw> items;
  std::size_t count = 0;
  cushim_status status;
  do {
    items.resize(count);
    status = function(arguments..., items.data(), items.size(), &count);
  } while (status == CUSHIM_SUCCESS && count > items.size());
  items.resize(status == CUSHIM_SUCCESS ? count : 0);
  if constexpr (std::is_same_v<T, Raw>) {
    return give(status, std::move(items));
  } else {
    return give(status, std::vector<T>(items.begin(), items.end()));
  }
}

// As many nanoseconds, or the most or fewest that there are.
template <class Rep, class Period>
std::uint64_t nanoseconds(std::chrono::duration<Rep, Period> time) noexcept {
  const double count = std::chrono::duration<double, std::nano>(time).count();
  if (!(count > 0)) return 0;
  return count < 1.8e19 ? static_cast<std::uint64_t>(count) : ~std::uint64_t{0};
}

// A text that ends with NUL.
class c_string {
 public:
  c_string(const char *text) noexcept : text_(text) {}
  c_string(const std::string &text) noexcept : text_(text.c_str()) {}
  [[nodiscard]] const char *get() const noexcept { return text_; }

 private:
  const char *text_;
};

} // namespace detail
} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_ERROR_HPP
