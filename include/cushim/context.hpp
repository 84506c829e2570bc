// Contexts, and memory that is allocated in them. Part of cushim.hpp.
#ifndef CUSHIM_CONTEXT_HPP
#define CUSHIM_CONTEXT_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

template <class T>
class host_array;

// The range of priorities of streams. A smaller number is a higher priority.
struct stream_priorities {
  std::int32_t least, greatest;
};

// Free and total bytes of a device.
struct memory_info {
  std::size_t free, total;
};

// An allocation.
struct address_range {
  address start;
  std::size_t bytes;
};

// Pops what was pushed, where it ends: on the thread that pushed it. Can be moved; empty afterwards.
class [[nodiscard]] current_context {
 public:
  explicit current_context(driver_ref driver) noexcept : driver_(driver) {}
  current_context(current_context &&other) noexcept : driver_(std::exchange(other.driver_, driver_ref())) {}
  current_context &operator=(current_context &&) = delete;
  ~current_context() {
    cushim_context popped = nullptr;
    if (driver_) static_cast<void>(cushim_context_pop(driver_.get(), &popped, nullptr));
  }

 private:
  driver_ref driver_;
};

// A context. Its copies and memsets are synchronous.
class context_ref : public detail::transfers<cushim_context, cushim_context_copy, cushim_context_copy_3d,
                                             cushim_context_fill, cushim_context_fill_2d> {
 public:
  constexpr context_ref() noexcept = default;
  constexpr context_ref(cushim_context handle) noexcept : transfers(handle) {}
  context_ref(std::nullptr_t) = delete;

  [[nodiscard]] result<device_ref> device() const {
    return detail::ask<device_ref, cushim_device>(cushim_context_get_device, get());
  }
  [[nodiscard]] result<cushim_context_kind> kind() const {
    return detail::ask<cushim_context_kind>(cushim_context_get_kind, get());
  }
  [[nodiscard]] result<CUcontext> native() const { return detail::ask<CUcontext>(cushim_context_native, get()); }
  // The error that has made the context unusable, as far as is known; CUSHIM_SUCCESS if there is none.
  [[nodiscard]] result<cushim_status> lost() const {
    return detail::ask<cushim_status>(cushim_context_get_lost, get());
  }
  [[nodiscard]] result<std::uint64_t> id() const { return detail::ask<std::uint64_t>(cushim_context_get_id, get()); }
  [[nodiscard]] result<std::uint32_t> flags() const {
    return detail::ask<std::uint32_t>(cushim_context_get_flags, get());
  }
  [[nodiscard]] result<cushim::stream_priorities> stream_priorities() const {
    cushim::stream_priorities range{};
    const cushim_status status = cushim_context_get_stream_priorities(get(), &range.least, &range.greatest);
    return detail::give(status, std::move(range));
  }
  [[nodiscard]] result<std::size_t> get_limit(CUlimit limit) const {
    return detail::ask<std::size_t>(cushim_context_get_limit, get(), limit);
  }
  result<void> set_limit(CUlimit limit, std::size_t value) const {
    return detail::done(cushim_context_set_limit(get(), limit, value));
  }
  // Waits until all work in the context is done.
  result<void> sync() const { return detail::done(cushim_context_synchronize(get())); }

  // For other users of CUDA on this thread: nothing here needs a current context. `make_current` pushes it, and pops
  // when what it returns ends.
  result<void> set_current() const { return detail::done(cushim_context_set_current(get())); }
  result<void> push() const { return detail::done(cushim_context_push(get())); }
  [[nodiscard]] result<current_context> make_current() const {
    cushim_device device = nullptr;
    cushim_driver driver = nullptr;
    cushim_status status = cushim_context_get_device(get(), &device);
    if (status == CUSHIM_SUCCESS) status = cushim_device_get_driver(device, &driver);
    if (status == CUSHIM_SUCCESS) status = cushim_context_push(get());
    return detail::give(status, current_context(status == CUSHIM_SUCCESS ? driver_ref(driver) : driver_ref()));
  }

  result<void> enable_peer_access(context_ref peer) const {
    return detail::done(cushim_context_enable_peer_access(get(), peer.get()));
  }
  result<void> disable_peer_access(context_ref peer) const {
    return detail::done(cushim_context_disable_peer_access(get(), peer.get()));
  }

  // The default streams; valid as long as the context.
  [[nodiscard]] result<stream_ref> legacy_stream() const;
  [[nodiscard]] result<stream_ref> per_thread_stream() const;

  // Memory without an owner: what `allocate` returns is freed by `free`. Buffers free themselves.
  [[nodiscard]] result<address> allocate(std::size_t bytes) const {
    return detail::ask<address>(cushim_context_allocate, get(), bytes);
  }
  result<void> free(address pointer) const { return detail::done(cushim_context_free(get(), pointer)); }
  // An array in page-locked host memory, which frees itself; the elements are undefined. Flags are cushim_host_flags.
  template <class T>
  [[nodiscard]] result<host_array<T>> allocate_host(std::size_t count, std::uint32_t flags = 0) const;
  // Page-locks memory of the process until `unregister_host`. Flags are cushim_register_flags.
  result<void> register_host(void *pointer, std::size_t bytes, std::uint32_t flags = 0) const {
    return detail::done(cushim_context_register_host(get(), pointer, bytes, flags));
  }
  result<void> unregister_host(void *pointer) const {
    return detail::done(cushim_context_unregister_host(get(), pointer));
  }
  // The address by which the device reaches page-locked or registered memory.
  [[nodiscard]] result<address> get_device_pointer(void *pointer) const {
    return detail::ask<address>(cushim_context_get_device_pointer, get(), pointer);
  }

  [[nodiscard]] result<cushim::memory_info> memory_info() const {
    cushim::memory_info info{};
    const cushim_status status = cushim_context_get_memory_info(get(), &info.free, &info.total);
    return detail::give(status, std::move(info));
  }
  // Waits until what other devices have written by GPUDirect RDMA is visible.
  result<void> flush_direct_writes(cushim_flush_scope scope = CUSHIM_FLUSH_TO_OWNER) const {
    return detail::done(cushim_context_flush_direct_writes(get(), scope));
  }
  // What the driver knows about an address.
  [[nodiscard]] result<cushim_pointer_attributes> get_pointer_attributes(address pointer) const {
    return detail::ask_struct<cushim_pointer_attributes>(cushim_context_get_pointer_attributes, get(), pointer);
  }
  // The allocation in which an address lies.
  [[nodiscard]] result<address_range> get_address_range(address pointer) const {
    address_range range{};
    const cushim_status status = cushim_context_get_address_range(get(), pointer, &range.start, &range.bytes);
    return detail::give(status, std::move(range));
  }

  // Advice on managed memory: on one range, or on several, each with its location or all with one. Only advice about
  // a location takes any.
  result<void> advise(detail::items<range> ranges, CUmem_advise advice, detail::items<location> locations) const {
    return detail::done(cushim_context_advise_batch(get(), detail::raw(ranges), ranges.size(), advice,
                                                    detail::raw(locations), locations.size()));
  }
  result<void> advise(detail::items<range> ranges, CUmem_advise advice) const {
    return detail::done(cushim_context_advise_batch(get(), detail::raw(ranges), ranges.size(), advice, nullptr, 0));
  }
};

class [[nodiscard]] context
    : public detail::owning<context, context_ref, cushim_context_destroy, cushim_context_ref> {
 public:
  using owning::owning;

  // The primary context, which all users of CUDA in the process share: the same object each time.
  [[nodiscard]] static result<context> retain_primary(device_ref device) {
    return detail::ask<context, cushim_context>(cushim_context_retain_primary, device.get());
  }
  // A context of its own, which is not made current. Flags are CU_CTX_….
  [[nodiscard]] static result<context> create(device_ref device, std::uint32_t flags = 0) {
    cushim_context_options options = cushim_options_of<cushim_context_options>();
    options.flags = flags;
    return detail::ask<context, cushim_context>(cushim_context_create, device.get(), &options);
  }
  // A context that was created elsewhere: from now on cushim's to destroy, or only borrowed.
  [[nodiscard]] static result<context> from_native_handle(device_ref device, CUcontext native) {
    return detail::ask<context, cushim_context>(cushim_context_wrap, device.get(), native, CUSHIM_OWNED);
  }
  [[nodiscard]] static result<context> wrap(device_ref device, CUcontext native) {
    return detail::ask<context, cushim_context>(cushim_context_wrap, device.get(), native, CUSHIM_BORROWED);
  }
  // The context of a green context; CUDA 12.4.
  [[nodiscard]] static result<context> wrap_green(device_ref device, CUgreenCtx native,
                                                  cushim_ownership ownership = CUSHIM_BORROWED) {
    return detail::ask<context, cushim_context>(cushim_context_wrap_green, device.get(), native, ownership);
  }
};

// An array in page-locked host memory: it can be moved, and frees itself, which waits for the work in the context.
template <class T>
class [[nodiscard]] host_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "devices copy its elements as bytes");

 public:
  using value_type = T;
  using iterator = T *;

  host_array() noexcept = default;
  // Takes over memory of cushim_context_allocate_host.
  host_array(context owned, T *data, std::size_t size) noexcept
      : context_(std::move(owned)), data_(data), size_(size) {}
  host_array(host_array &&other) noexcept
      : context_(std::move(other.context_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  host_array &operator=(host_array &&other) noexcept {
    if (this != &other) {
      free();
      context_ = std::move(other.context_);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  host_array(const host_array &) = delete;
  host_array &operator=(const host_array &) = delete;
  ~host_array() { free(); }

  [[nodiscard]] T *data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T *begin() const noexcept { return data_; }
  [[nodiscard]] T *end() const noexcept { return data_ + size_; }
  [[nodiscard]] T &operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  void free() noexcept {
    if (data_ != nullptr) static_cast<void>(cushim_context_free_host(context_.get(), data_));
    data_ = nullptr;
  }

  context context_;
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
result<host_array<T>> context_ref::allocate_host(std::size_t count, std::uint32_t flags) const {
  void *data = nullptr;
  cushim_context owned = nullptr;
  cushim_status status = cushim_context_ref(get(), &owned);
  context keeper(owned);
  if (status == CUSHIM_SUCCESS) {
    const std::size_t bytes =
        count <= static_cast<std::size_t>(-1) / sizeof(T) ? count * sizeof(T) : static_cast<std::size_t>(-1);
    status = cushim_context_allocate_host(get(), bytes, flags, &data);
  }
  return detail::give(status,
                      host_array<T>(std::move(keeper), static_cast<T *>(data), status == CUSHIM_SUCCESS ? count : 0));
}

namespace detail {
template <class Self>
Self endpoint_base<Self>::in(context_ref context) const noexcept {
  Self changed = self();
  changed.raw_.context = context.get();
  return changed;
}
} // namespace detail

inline result<context_ref> driver_ref::current_context() const {
  cushim_context current = nullptr;
  const cushim_status status = cushim_context_get_current(get(), &current, nullptr);
  return detail::give(status, context_ref(current));
}

inline location::location(device_ref device) {
  std::int32_t ordinal = 0;
  if (cushim_device_get_ordinal(device.get(), &ordinal) == CUSHIM_SUCCESS) raw_ = {CUSHIM_LOCATION_DEVICE, ordinal};
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_CONTEXT_HPP
