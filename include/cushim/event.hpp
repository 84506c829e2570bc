// Events. Part of cushim.hpp.
#ifndef CUSHIM_EVENT_HPP
#define CUSHIM_EVENT_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// How an event is created. Zeros are the defaults.
struct event_options {
  // A thread that waits for the event sleeps instead of spinning.
  bool blocking_sync = false;
  // Other processes can open the event.
  bool interprocess = false;

  [[nodiscard]] cushim_event_options raw() const noexcept {
    cushim_event_options options = cushim_options_of<cushim_event_options>();
    if (blocking_sync) options.flags |= static_cast<std::uint32_t>(CUSHIM_EVENT_BLOCKING_SYNC);
    if (interprocess) options.flags |= static_cast<std::uint32_t>(CUSHIM_EVENT_INTERPROCESS);
    return options;
  }
};

// An event. `native` is a CUevent, and so a cudaEvent_t.
class event_ref : public detail::ref<cushim_event> {
 public:
  constexpr event_ref() noexcept = default;
  constexpr event_ref(cushim_event handle) noexcept : ref(handle) {}
  event_ref(std::nullptr_t) = delete;

  // Records it in a stream: it is done when the work that is in the stream now is done.
  result<void> record(stream_ref stream) const;
  // The same for those outside of a capture: a node of the graph, which records it at each launch.
  result<void> record_external(stream_ref stream) const;
  // Whether what it last recorded is done; true if nothing was recorded.
  [[nodiscard]] result<bool> is_done() const { return detail::ask<bool, std::int32_t>(cushim_event_query, get()); }
  // Waits for that.
  result<void> sync() const { return detail::done(cushim_event_synchronize(get())); }
  // Waits for that; false if the time is over first.
  template <class Rep, class Period>
  [[nodiscard]] result<bool> sync_for(std::chrono::duration<Rep, Period> timeout) const {
    return detail::ask<bool, std::int32_t>(cushim_event_synchronize_within, get(), detail::nanoseconds(timeout));
  }
  // The time since another event; both measure time and are done. Resolution is about half a microsecond.
  [[nodiscard]] result<std::chrono::nanoseconds> elapsed_since(event_ref start) const {
    float milliseconds = 0;
    const cushim_status status = cushim_event_elapsed(start.get(), get(), &milliseconds);
    return detail::give(status,
                        std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6)));
  }

  // For event::from_descriptor in another process; of an event that was created for several.
  [[nodiscard]] result<descriptor> export_descriptor() const {
    descriptor bytes{};
    const cushim_status status = cushim_event_export(get(), bytes.data(), bytes.size());
    return detail::give(status, std::move(bytes));
  }

  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_event_get_context, get());
  }
  [[nodiscard]] result<CUevent> native() const { return detail::ask<CUevent>(cushim_event_native, get()); }
  // Flags are cushim_event_flags.
  [[nodiscard]] result<std::uint32_t> flags() const {
    return detail::ask<std::uint32_t>(cushim_event_get_flags, get());
  }
};

// It does not measure time; timed_event does.
class [[nodiscard]] event : public detail::owning<event, event_ref, cushim_event_destroy, cushim_event_ref> {
 public:
  using owning::owning;
#if CUSHIM_HPP_THROWS
  explicit event(context_ref context, const event_options &options = {}) : event(create(context, options)) {}
#endif

  [[nodiscard]] static result<event> create(context_ref context, const event_options &options = {}) {
    const cushim_event_options raw = options.raw();
    return detail::ask<event, cushim_event>(cushim_event_create, context.get(), &raw);
  }
  // An event of another process, which is trusted with the bytes.
  [[nodiscard]] static result<event> from_descriptor(context_ref context, const descriptor &bytes) {
    return detail::ask<event, cushim_event>(cushim_event_import, context.get(), bytes.data(), bytes.size());
  }
  // An event that was created elsewhere: from now on cushim's to destroy, or only borrowed. The options say how it
  // was created.
  [[nodiscard]] static result<event> from_native_handle(context_ref context, CUevent native,
                                                        const event_options &options = {}) {
    const cushim_event_options raw = options.raw();
    return detail::ask<event, cushim_event>(cushim_event_wrap, context.get(), native, CUSHIM_OWNED, &raw);
  }
  [[nodiscard]] static result<event> wrap(context_ref context, CUevent native, const event_options &options = {}) {
    const cushim_event_options raw = options.raw();
    return detail::ask<event, cushim_event>(cushim_event_wrap, context.get(), native, CUSHIM_BORROWED, &raw);
  }
};

// An event that measures time: `end - start` is how long the work between them took. It is no cushim::event, which
// could be exchanged with one that does not; a handle that it takes over, and an event that it shares, measure time.
class [[nodiscard]] timed_event
    : public detail::owning<timed_event, event_ref, cushim_event_destroy, cushim_event_ref> {
 public:
  using owning::owning;
#if CUSHIM_HPP_THROWS
  explicit timed_event(context_ref context, bool blocking_sync = false)
      : timed_event(create(context, blocking_sync)) {}
#endif

  [[nodiscard]] static result<timed_event> create(context_ref context, bool blocking_sync = false) {
    event_options options;
    options.blocking_sync = blocking_sync;
    const cushim_event_options raw = raw_of(options);
    return detail::ask<timed_event, cushim_event>(cushim_event_create, context.get(), &raw);
  }
  // An event that was created elsewhere and measures time, as those of cuEventCreate and cudaEventCreate do unless
  // they are told not to: from now on cushim's to destroy, or only borrowed. The options say how else it was created.
  [[nodiscard]] static result<timed_event> from_native_handle(context_ref context, CUevent native,
                                                              const event_options &options = {}) {
    const cushim_event_options raw = raw_of(options);
    return detail::ask<timed_event, cushim_event>(cushim_event_wrap, context.get(), native, CUSHIM_OWNED, &raw);
  }
  [[nodiscard]] static result<timed_event> wrap(context_ref context, CUevent native,
                                                const event_options &options = {}) {
    const cushim_event_options raw = raw_of(options);
    return detail::ask<timed_event, cushim_event>(cushim_event_wrap, context.get(), native, CUSHIM_BORROWED, &raw);
  }

  friend result<std::chrono::nanoseconds> operator-(const timed_event &end, const timed_event &start) {
    return end.elapsed_since(start);
  }

 private:
  [[nodiscard]] static cushim_event_options raw_of(const event_options &options) noexcept {
    cushim_event_options raw = options.raw();
    raw.flags |= static_cast<std::uint32_t>(CUSHIM_EVENT_TIMING);
    return raw;
  }
};

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_EVENT_HPP
