// Streams: order of work. Part of cushim.hpp.
#ifndef CUSHIM_STREAM_HPP
#define CUSHIM_STREAM_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// How a stream is created. Zeros are the defaults.
struct stream_options {
  // In the range of context_ref::stream_priorities; a smaller number is a higher priority.
  std::int32_t priority = 0;
  // The stream and the legacy default stream wait for each other.
  bool blocking = false;
};

// What the driver should know of a copy. Zeros are the defaults.
struct copy_attributes {
  cushim_source_access source_access = CUSHIM_SOURCE_IN_STREAM_ORDER;
  // It should run beside kernels, even if it takes longer then.
  bool overlap_with_compute = false;
  // Where the source is, and where the destination is or should be; unset if that is not known.
  location source_hint, destination_hint;

  [[nodiscard]] cushim_copy_attributes raw() const noexcept {
    return {source_access, overlap_with_compute ? static_cast<std::uint32_t>(CUSHIM_COPY_OVERLAP_WITH_COMPUTE) : 0,
            *source_hint.get(), *destination_hint.get()};
  }
};

// One copy of a batch.
struct copy_item {
  endpoint to, from;
  std::size_t bytes;
};

// One of several memory operations: waits for a value in memory, or writes one.
class memory_operation {
 public:
  // Wait until the value in memory is as the flags say, CU_STREAM_WAIT_VALUE_*.
  [[nodiscard]] static memory_operation wait_32(endpoint at, std::uint32_t value,
                                                CUstreamWaitValue_flags how = CU_STREAM_WAIT_VALUE_GEQ) {
    return {CUSHIM_MEMORY_WAIT_32, static_cast<std::uint32_t>(how), at, value};
  }
  [[nodiscard]] static memory_operation wait_64(endpoint at, std::uint64_t value,
                                                CUstreamWaitValue_flags how = CU_STREAM_WAIT_VALUE_GEQ) {
    return {CUSHIM_MEMORY_WAIT_64, static_cast<std::uint32_t>(how), at, value};
  }
  // Write a value.
  [[nodiscard]] static memory_operation write_32(endpoint at, std::uint32_t value) {
    return {CUSHIM_MEMORY_WRITE_32, 0, at, value};
  }
  [[nodiscard]] static memory_operation write_64(endpoint at, std::uint64_t value) {
    return {CUSHIM_MEMORY_WRITE_64, 0, at, value};
  }
  // Any, as cushim.h has them.
  memory_operation(cushim_memory_action action, std::uint32_t flags, endpoint at, std::uint64_t value) noexcept
      : action_(action), flags_(flags), at_(at), value_(value) {}

  [[nodiscard]] cushim_memory_operation raw() const noexcept { return {action_, flags_, *at_.get(), value_}; }
  // The owner of the endpoint belongs to the library now.
  void taken() const noexcept { at_.taken(); }

 private:
  cushim_memory_action action_;
  std::uint32_t flags_;
  endpoint at_;
  std::uint64_t value_;
};

namespace detail {

// Passes operations to a function as an array of the structs of cushim.h, and their number.
template <class Call>
cushim_status with_raw(const items<memory_operation> &operations, Call call) {
  std::vector<cushim_memory_operation> raw;
  raw.reserve(operations.size());
  for (std::size_t i = 0; i < operations.size(); i++) raw.push_back(operations.data()[i].raw());
  const cushim_status status = call(raw.data(), raw.size());
  for (std::size_t i = 0; status == CUSHIM_SUCCESS && i < operations.size(); i++) operations.data()[i].taken();
  return status;
}

} // namespace detail

// Ends what made a stream current, on the thread that did. Can be moved; empty afterwards.
class [[nodiscard]] current_stream {
 public:
  explicit current_stream(bool is_pushed) noexcept : is_pushed_(is_pushed) {}
  current_stream(current_stream &&other) noexcept : is_pushed_(std::exchange(other.is_pushed_, false)) {}
  current_stream &operator=(current_stream &&) = delete;
  ~current_stream() {
    if (is_pushed_) static_cast<void>(cushim_stream_pop_current(nullptr));
  }

 private:
  bool is_pushed_;
};

// A stream. `native` is a CUstream, and so a cudaStream_t and what cuda::stream_ref is made from.
class stream_ref : public detail::transfers<cushim_stream, cushim_stream_copy, cushim_stream_copy_3d,
                                            cushim_stream_fill, cushim_stream_fill_2d> {
 public:
  constexpr stream_ref() noexcept = default;
  constexpr stream_ref(cushim_stream handle) noexcept : transfers(handle) {}
  stream_ref(std::nullptr_t) = delete;

  // Stands for whatever stream is current on the thread that makes a call.
  [[nodiscard]] static stream_ref current() noexcept { return cushim_stream_current(); }
  // The stream that is current on this thread.
  [[nodiscard]] static result<stream_ref> get_current() {
    return detail::ask<stream_ref, cushim_stream>(cushim_stream_get_current);
  }
  // Makes it the current stream of this thread until what is returned ends.
  [[nodiscard]] result<current_stream> make_current() const {
    const cushim_status status = cushim_stream_push_current(get());
    return detail::give(status, current_stream(status == CUSHIM_SUCCESS));
  }

  // Waits until all work in the stream is done.
  result<void> sync() const { return detail::done(cushim_stream_synchronize(get())); }
  // Waits for that; false if the time is over first.
  template <class Rep, class Period>
  [[nodiscard]] result<bool> sync_for(std::chrono::duration<Rep, Period> timeout) const {
    return detail::ask<bool, std::int32_t>(cushim_stream_synchronize_within, get(), detail::nanoseconds(timeout));
  }
  // Whether all work in the stream is done.
  [[nodiscard]] result<bool> is_done() const { return detail::ask<bool, std::int32_t>(cushim_stream_query, get()); }
  // Makes later work in the stream wait: for what an event last recorded, or for the work that is in another stream
  // now.
  result<void> wait(event_ref event) const { return detail::done(cushim_stream_wait_event(get(), event.get())); }
  result<void> wait(stream_ref other) const { return detail::done(cushim_stream_wait_stream(get(), other.get())); }
  // Makes it wait for what is recorded outside of a capture.
  result<void> wait_external(event_ref event) const {
    return detail::done(cushim_stream_wait_event_external(get(), event.get()));
  }
  // A new event, recorded in the stream.
  [[nodiscard]] result<event> record_event(const event_options &options = {}) const {
    return recorded<event>(options.raw());
  }
  [[nodiscard]] result<timed_event> record_timed_event() const {
    cushim_event_options options = cushim_options_of<cushim_event_options>();
    options.flags = static_cast<std::uint32_t>(CUSHIM_EVENT_TIMING);
    return recorded<timed_event>(options);
  }

  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_stream_get_context, get());
  }
  [[nodiscard]] result<device_ref> device() const {
    cushim_context context = nullptr;
    cushim_device device = nullptr;
    cushim_status status = cushim_stream_get_context(get(), &context);
    if (status == CUSHIM_SUCCESS) status = cushim_context_get_device(context, &device);
    return detail::give(status, device_ref(device));
  }
  [[nodiscard]] result<cushim_stream_kind> kind() const {
    return detail::ask<cushim_stream_kind>(cushim_stream_get_kind, get());
  }
  [[nodiscard]] result<CUstream> native() const { return detail::ask<CUstream>(cushim_stream_native, get()); }
  // Flags are cushim_stream_flags.
  [[nodiscard]] result<std::uint32_t> flags() const {
    return detail::ask<std::uint32_t>(cushim_stream_get_flags, get());
  }
  [[nodiscard]] result<std::int32_t> priority() const {
    return detail::ask<std::int32_t>(cushim_stream_get_priority, get());
  }
  [[nodiscard]] result<std::uint64_t> id() const { return detail::ask<std::uint64_t>(cushim_stream_get_id, get()); }
  // An attribute: its number, with the bytes of a CUlaunchAttributeValue.
  [[nodiscard]] result<cushim_launch_attribute> get_attribute(CUlaunchAttributeID id) const {
    return detail::ask<cushim_launch_attribute>(cushim_stream_get_attribute, get(), id);
  }
  result<void> set_attribute(const cushim_launch_attribute &attribute) const {
    return detail::done(cushim_stream_set_attribute(get(), &attribute));
  }
  result<void> copy_attributes_from(stream_ref source) const {
    return detail::done(cushim_stream_copy_attributes(get(), source.get()));
  }

  // Memory without an owner, from the device's current pool, allocated and freed in stream order. Buffers free
  // themselves.
  [[nodiscard]] result<address> allocate(std::size_t bytes) const {
    return detail::ask<address>(cushim_stream_allocate, get(), bytes);
  }
  result<void> free(address pointer) const { return detail::done(cushim_stream_free(get(), pointer)); }

  // Has a function called, by a thread of the driver's, after the work that is in the stream now; later work waits
  // for it. The callable is moved or copied, kept, and destroyed after the last call, on a thread of the library's
  // own. In a stream that is being captured the graph calls it at each launch.
  //
  // It may hardly call the library (cushim_stream_launch_host_function says what), must wait for nothing that waits
  // for the stream, and an exception that leaves it ends the program.
  template <class Function>
  result<void> launch_host_function(Function &&function) const {
    return detail::done(detail::keep(
        std::forward<Function>(function),
        [this](auto call, const void *bytes, std::size_t size) {
          return cushim_stream_launch_host_function_bytes(get(), call, bytes, size);
        },
        [this](auto call, void *data, const cushim_owner *owner) {
          return cushim_stream_launch_host_function(get(), call, data, owner);
        }));
  }
  // The same for what can be called once only, such as a callable that fulfils a promise or gives a unique_ptr away:
  // it is called as an rvalue and destroyed right after. Where the stream is being captured, the first launch calls
  // it, and later ones do nothing.
  template <class Function>
  result<void> launch_host_function_once(Function &&function) const {
    static_assert(std::is_invocable_v<std::decay_t<Function>>, "a host function is called without arguments");
    return launch_host_function(detail::once<std::decay_t<Function>>(std::forward<Function>(function)));
  }

  // A copy with what the driver should know of it.
  result<void> copy_with_attributes(endpoint to, endpoint from, std::size_t bytes,
                                    const copy_attributes &attributes) const {
    const cushim_copy_attributes raw = attributes.raw();
    return detail::done(
        detail::taken_if(cushim_stream_copy_with_attributes(get(), to.get(), from.get(), bytes, &raw), to, from));
  }
  // Several copies, which are not ordered among each other, each with its attributes, or all with one.
  result<void> copy_batch(detail::items<copy_item> copies,
                          detail::items<copy_attributes> attributes = copy_attributes(),
                          batch_options options = {}) const {
    std::vector<cushim_copy> raw;
    std::vector<cushim_copy_attributes> raw_attributes;
    raw.reserve(copies.size());
    raw_attributes.reserve(attributes.size());
    for (std::size_t i = 0; i < copies.size(); i++) {
      const copy_item &item = copies.data()[i];
      raw.push_back({*item.to.get(), *item.from.get(), item.bytes});
    }
    for (std::size_t i = 0; i < attributes.size(); i++) raw_attributes.push_back(attributes.data()[i].raw());
    const cushim_batch_options batch = options.raw();
    const cushim_status status =
        cushim_stream_copy_batch(get(), raw.data(), raw.size(), raw_attributes.data(), raw_attributes.size(), &batch);
    if (status == CUSHIM_SUCCESS) {
      for (std::size_t i = 0; i < copies.size(); i++) copies.data()[i].to.taken(), copies.data()[i].from.taken();
    }
    return detail::done(status);
  }
  // Waits for values in memory and writes such, one after the other.
  result<void> memory_operations(detail::items<memory_operation> operations) const {
    return detail::done(detail::with_raw(operations, [this](const cushim_memory_operation *raw, std::size_t count) {
      return cushim_stream_memory_operations(get(), raw, count);
    }));
  }

  // Who uses a whole allocation of managed memory from then on: this stream alone, all streams, or the host.
  result<void> attach(range memory, cushim_attachment attachment) const {
    return detail::done(cushim_stream_attach(get(), memory.get(), attachment));
  }
  // Moves a range of managed memory to a location. Its contents stay.
  result<void> prefetch(range memory, location to) const {
    return detail::done(cushim_stream_prefetch(get(), memory.get(), to.get()));
  }
  // Several, each to its location or all to one.
  result<void> prefetch_batch(detail::items<range> ranges, detail::items<location> to,
                              batch_options options = {}) const {
    const cushim_batch_options batch = options.raw();
    return detail::done(
        cushim_stream_prefetch_batch(get(), detail::raw(ranges), ranges.size(), detail::raw(to), to.size(), &batch));
  }
  // Discards the contents of a range of managed memory; CUDA 13.0.
  result<void> discard(range memory) const { return detail::done(cushim_stream_discard(get(), memory.get())); }
  result<void> discard_batch(detail::items<range> ranges, batch_options options = {}) const {
    const cushim_batch_options batch = options.raw();
    return detail::done(cushim_stream_discard_batch(get(), detail::raw(ranges), ranges.size(), &batch));
  }
  // Discards the contents, and moves the memory.
  result<void> discard_prefetch(range memory, location to) const {
    return detail::done(cushim_stream_discard_prefetch(get(), memory.get(), to.get()));
  }
  result<void> discard_prefetch_batch(detail::items<range> ranges, detail::items<location> to,
                                      batch_options options = {}) const {
    const cushim_batch_options batch = options.raw();
    return detail::done(cushim_stream_discard_prefetch_batch(get(), detail::raw(ranges), ranges.size(),
                                                             detail::raw(to), to.size(), &batch));
  }

 private:
  template <class Event>
  [[nodiscard]] result<Event> recorded(const cushim_event_options &options) const {
    cushim_context context = nullptr;
    cushim_event handle = nullptr;
    cushim_status status = cushim_stream_get_context(get(), &context);
    if (status == CUSHIM_SUCCESS) status = cushim_event_create(context, &options, &handle);
    Event event(handle);
    if (status == CUSHIM_SUCCESS) status = cushim_event_record(handle, get());
    return detail::give(status, std::move(event));
  }
};

namespace detail {

// What gives a native stream: a CUstream, and so a cudaStream_t; or anything whose `get` does, as cuda::stream_ref.
inline CUstream native_stream(CUstream native) noexcept { return native; }
template <class Stream,
          class = std::enable_if_t<std::is_same_v<decltype(std::declval<const Stream &>().get()), CUstream>>>
CUstream native_stream(const Stream &stream) {
  return stream.get();
}

} // namespace detail

// It is created non-blocking, unlike by cuStreamCreate.
class [[nodiscard]] stream : public detail::owning<stream, stream_ref, cushim_stream_destroy, cushim_stream_ref> {
 public:
  using owning::owning;
#if CUSHIM_HPP_THROWS
  explicit stream(context_ref context, const stream_options &options = {}) : stream(create(context, options)) {}
#endif

  [[nodiscard]] static result<stream> create(context_ref context, const stream_options &options = {}) {
    cushim_stream_options raw = cushim_options_of<cushim_stream_options>();
    raw.priority = options.priority;
    raw.flags = options.blocking ? static_cast<std::uint32_t>(CUSHIM_STREAM_BLOCKING) : 0;
    return detail::ask<stream, cushim_stream>(cushim_stream_create, context.get(), &raw);
  }
  // A stream that was created elsewhere, which cushim destroys from now on.
  [[nodiscard]] static result<stream> from_native_handle(context_ref context, CUstream native) {
    return detail::ask<stream, cushim_stream>(cushim_stream_wrap, context.get(), native, CUSHIM_OWNED);
  }
  // A stream that was created elsewhere and outlives this: a CUstream, a cudaStream_t, a cuda::stream_ref.
  template <class Stream>
  [[nodiscard]] static result<stream> wrap(context_ref context, const Stream &native) {
    return detail::ask<stream, cushim_stream>(cushim_stream_wrap, context.get(), detail::native_stream(native),
                                              CUSHIM_BORROWED);
  }
};

inline result<void> event_ref::record(stream_ref stream) const {
  return detail::done(cushim_event_record(get(), stream.get()));
}
inline result<void> event_ref::record_external(stream_ref stream) const {
  return detail::done(cushim_event_record_external(get(), stream.get()));
}

inline result<stream_ref> context_ref::legacy_stream() const {
  return detail::ask<stream_ref, cushim_stream>(cushim_context_get_legacy_stream, get());
}
inline result<stream_ref> context_ref::per_thread_stream() const {
  return detail::ask<stream_ref, cushim_stream>(cushim_context_get_per_thread_stream, get());
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_STREAM_HPP
