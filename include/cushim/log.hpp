// The log, and items that a program drains instead of being called. Part of cushim.hpp.
#ifndef CUSHIM_LOG_HPP
#define CUSHIM_LOG_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// Passes every later line of the log to a callable, one at a time, on a thread of the library's own: `callable(level,
// target, message)`, whose texts are valid during the call. It is kept until another one takes its place. An
// exception that leaves it ends the program.
template <class Function>
result<void> set_log_callback(cushim_log_level level, Function &&callable) {
  using kept = std::decay_t<Function>;
  static_assert(std::is_invocable_v<kept &, cushim_log_level, const char *, const char *>,
                "a log callback takes level, target and message");
  owner keeper = owner::of(kept(std::forward<Function>(callable)));
  const auto call = [](void *user, cushim_log_level line_level, const char *target, const char *message) noexcept {
    (*static_cast<kept *>(user))(line_level, target, message);
  };
  const cushim_status status = cushim_log_set_callback(call, keeper.get()->data, keeper.get(), level);
  if (status == CUSHIM_SUCCESS) keeper.taken();
  return detail::done(status);
}
// The log goes to stderr again, by CUSHIM_LOG.
inline result<void> reset_log() {
  return detail::done(cushim_log_set_callback(nullptr, nullptr, nullptr, CUSHIM_LOG_OFF));
}
// Queues every later line of the log for `drain`.
inline result<void> set_log_pull(cushim_log_level level) { return detail::done(cushim_log_set_pull(level)); }

// Takes items out of the process's queue, the oldest first, at most so many. It never waits.
[[nodiscard]] inline result<std::vector<cushim_drain_item>> drain(std::size_t most = 64) {
  std::vector<cushim_drain_item> items(most);
  std::size_t count = 0;
  const cushim_status status = cushim_drain(items.data(), sizeof(cushim_drain_item), items.size(), &count);
  items.resize(status == CUSHIM_SUCCESS ? count : 0);
  return detail::give(status, std::move(items));
}
// A descriptor to wait on with poll: readable while there are items. It belongs to the library.
[[nodiscard]] inline result<std::int32_t> drain_fd() { return detail::ask<std::int32_t>(cushim_drain_fd); }

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_LOG_HPP
