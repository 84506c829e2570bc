// Resources: where buffers come from. Part of cushim.hpp.
#ifndef CUSHIM_RESOURCE_HPP
#define CUSHIM_RESOURCE_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// A memory pool of a device. Zeros are the defaults: the current pool.
struct device_pool_options {
  cushim_pool_choice choice = CUSHIM_POOL_CURRENT;
  // How a new pool can be shared with other processes: CU_MEM_HANDLE_TYPE_*, combined.
  std::int32_t handle_types = 0;
  // The most bytes that a new pool can have; 0 for no limit. CUDA 12.2.
  std::size_t max_size = 0;
};

// Page-locked host memory. Zeros are the defaults.
struct pinned_options {
  cushim_pinned_form form = CUSHIM_PINNED_ANY;
  // Combines cushim_host_flags, for memory that does not come from a pool.
  std::uint32_t flags = 0;
  // A new pool, on the NUMA node; otherwise the host's pool.
  bool own_pool = false;
  std::int32_t numa_node = 0;
  std::size_t max_size = 0;
  std::int32_t handle_types = 0;
};

// Managed memory. Zeros are the defaults.
struct managed_options {
  // The memory is attached to the host at first.
  bool attach_host = false;
  // Where the memory of a new pool is at first; unset for no pool.
  location pool_location;
};

// Virtual memory. Zeros are the defaults.
struct virtual_options {
  // Unset for the device's own memory.
  cushim::location location;
  // Sizes are multiples of the least granularity, not of the recommended one.
  bool least_granularity = false;
  // Network adapters reach the memory by GPUDirect RDMA.
  bool gpu_direct_rdma = false;
  // How other processes can have the memory.
  cushim_shareable shareable = CUSHIM_SHAREABLE_NONE;
  // A power of two; 0 for the granularity.
  std::size_t alignment = 0;
  // Where the driver is asked to put the first addresses; 0 for any.
  address address_hint = 0;
  cushim_virtual_access access = CUSHIM_VIRTUAL_READ_WRITE, peer_access = CUSHIM_VIRTUAL_READ_WRITE;
  // Ordinals of other devices that use the memory.
  std::vector<std::int32_t> peers;

  // The options of the C interface, valid while these are.
  [[nodiscard]] cushim_virtual_options get() const {
    cushim_virtual_options raw = cushim_options_of<cushim_virtual_options>();
    raw.location = *location.get();
    if (least_granularity) raw.flags |= static_cast<std::uint32_t>(CUSHIM_VIRTUAL_LEAST_GRANULARITY);
    if (gpu_direct_rdma) raw.flags |= static_cast<std::uint32_t>(CUSHIM_VIRTUAL_GPU_DIRECT_RDMA);
    raw.shareable = shareable;
    raw.alignment = alignment;
    raw.address_hint = address_hint;
    raw.access = access;
    raw.peer_access = peer_access;
    raw.peers = peers.empty() ? nullptr : peers.data();
    raw.peer_count = peers.size();
    return raw;
  }
};

// What another process needs to import a pool: the bytes, and a file descriptor, which goes with them; close it then.
struct exported_pool {
  descriptor bytes{};
  int file = -1;
};

// The same of an allocation, and of each part of a buffer of virtual memory.
struct exported_part {
  descriptor bytes{};
  int file = -1;
};

// A source of memory.
class resource_ref : public detail::ref<cushim_resource> {
 public:
  constexpr resource_ref() noexcept = default;
  constexpr resource_ref(cushim_resource handle) noexcept : ref(handle) {}
  resource_ref(std::nullptr_t) = delete;

  // A buffer, allocated and freed in the order of the stream if the resource is stream-ordered; otherwise the stream
  // is ignored.
  [[nodiscard]] result<buffer> allocate(stream_ref stream, std::size_t bytes) const;
  // A buffer of a resource that is not stream-ordered.
  [[nodiscard]] result<buffer> allocate(std::size_t bytes) const;
  // Memory without an owner.
  [[nodiscard]] result<address> allocate_raw(stream_ref stream, std::size_t bytes) const {
    return detail::ask<address>(cushim_resource_allocate, get(), stream.get(), bytes);
  }
  result<void> free_raw(stream_ref stream, address pointer, std::size_t bytes) const {
    return detail::done(cushim_resource_free(get(), stream.get(), pointer, bytes));
  }

  [[nodiscard]] result<driver_ref> driver() const {
    return detail::ask<driver_ref, cushim_driver>(cushim_resource_get_driver, get());
  }
  [[nodiscard]] result<cushim_resource_kind> kind() const {
    return detail::ask<cushim_resource_kind>(cushim_resource_get_kind, get());
  }
  // Who can use the memory, and whether it is stream-ordered.
  [[nodiscard]] result<cushim_memory_properties> properties() const {
    return detail::ask_struct<cushim_memory_properties>(cushim_resource_get_properties, get());
  }
  // For resource::from_descriptor in another process; of a pool that was created for several.
  [[nodiscard]] result<exported_pool> export_descriptor() const {
    exported_pool pool;
    std::int32_t file = 0;
    const cushim_status status = cushim_resource_export(get(), pool.bytes.data(), pool.bytes.size(), &file);
    pool.file = file;
    return detail::give(status, std::move(pool));
  }
  // The memory pool; NULL if there is none.
  [[nodiscard]] result<CUmemoryPool> native() const {
    return detail::ask<CUmemoryPool>(cushim_resource_native, get());
  }

  [[nodiscard]] result<std::uint64_t> get_attribute(cushim_pool_attribute attribute) const {
    return detail::ask<std::uint64_t>(cushim_resource_get_attribute, get(), attribute);
  }
  result<void> set_attribute(cushim_pool_attribute attribute, std::uint64_t value) const {
    return detail::done(cushim_resource_set_attribute(get(), attribute, value));
  }
  // Releases unused memory of the pool, keeping at least so many bytes.
  result<void> trim(std::size_t bytes = 0) const { return detail::done(cushim_resource_trim(get(), bytes)); }
  // The other devices that can access the pool.
  [[nodiscard]] result<std::vector<device_ref>> peers() const {
    return detail::ask_list<device_ref, cushim_device>(cushim_resource_get_peers, get());
  }
  // These devices can access the pool, and no others.
  result<void> set_peers(const std::vector<device_ref> &devices) const {
    return change_peers(cushim_resource_set_peers, devices);
  }
  // These as well.
  result<void> add_peers(const std::vector<device_ref> &devices) const {
    return change_peers(cushim_resource_add_peers, devices);
  }
  // No longer these.
  result<void> remove_peers(const std::vector<device_ref> &devices) const {
    return change_peers(cushim_resource_remove_peers, devices);
  }
  // The most bytes that one capture needed of an arena by now.
  [[nodiscard]] result<std::size_t> arena_bytes() const {
    return detail::ask<std::size_t>(cushim_resource_get_arena_bytes, get());
  }

 private:
  result<void> change_peers(cushim_status (*change)(cushim_resource, const cushim_device *, std::size_t),
                                          const std::vector<device_ref> &devices) const {
    std::vector<cushim_device> raw;
    raw.reserve(devices.size());
    for (const device_ref device : devices) raw.push_back(device.get());
    return detail::done(change(get(), raw.data(), raw.size()));
  }
};

namespace detail {

// The functions of a resource whose memory an object of the program allocates. Failures are statuses there.
template <class Memory>
struct custom_resource {
  template <class Call>
  static cushim_status guarded(Call call) noexcept {
#if CUSHIM_HPP_THROWS
    try {
      call();
      return CUSHIM_SUCCESS;
    } catch (const error &failure) {
      return failure.status();
    } catch (const std::bad_alloc &) {
      return CUSHIM_ERROR_OUT_OF_MEMORY;
    } catch (...) {
      return CUDA_ERROR_UNKNOWN;
    }
#else
    const auto outcome = call();
    return outcome.has_value() ? CUSHIM_SUCCESS : outcome.error().status();
#endif
  }

  static cushim_status allocate(void *user, cushim_stream stream, std::size_t bytes,
                                std::uint64_t *pointer) noexcept {
    return guarded([&]() -> result<void> {
      result<address> memory = static_cast<Memory *>(user)->allocate(stream_ref(stream), bytes);
#if CUSHIM_HPP_THROWS
      *pointer = memory;
#else
      if (!memory) return memory.error();
      *pointer = *memory;
      return {};
#endif
    });
  }
  static cushim_status free(void *user, cushim_stream stream, std::uint64_t pointer,
                                  std::size_t bytes) noexcept {
    return guarded([&]() -> result<void> {
      return static_cast<Memory *>(user)->free(stream_ref(stream), pointer, bytes);
    });
  }
  static cushim_status properties(void *user, cushim_memory_properties *properties) noexcept {
    static_cast<Memory *>(user)->describe(*properties);
    return CUSHIM_SUCCESS;
  }
  static void destroy(void *user) noexcept { delete static_cast<Memory *>(user); }
};

} // namespace detail

// It is released when nothing uses it any more, its buffers included.
class [[nodiscard]] resource
    : public detail::owning<resource, resource_ref, cushim_resource_destroy, cushim_resource_ref> {
 public:
  using owning::owning;

  // A memory pool of a device; stream-ordered, except on a device without pools.
  [[nodiscard]] static result<resource> device_pool(device_ref device, const device_pool_options &options = {}) {
    cushim_device_pool_options raw = cushim_options_of<cushim_device_pool_options>();
    raw.choice = options.choice;
    raw.handle_types = options.handle_types;
    raw.max_size = options.max_size;
    return detail::ask<resource, cushim_resource>(cushim_resource_create_device_pool, device.get(), &raw);
  }
  // A pool of a location: the current one, that from the start, or a new one.
  [[nodiscard]] static result<resource> location_pool(device_ref device, location place, cushim_pool_memory memory,
                                                      cushim_pool_choice choice = CUSHIM_POOL_CURRENT) {
    return detail::ask<resource, cushim_resource>(cushim_resource_create_location_pool, device.get(), place.get(),
                                                  memory, choice);
  }
  // A pool of another process, from which its buffers are imported. The file stays the caller's.
  [[nodiscard]] static result<resource> from_descriptor(device_ref device, const descriptor &bytes, int file) {
    return detail::ask<resource, cushim_resource>(cushim_resource_import, device.get(), bytes.data(), bytes.size(),
                                                  file);
  }
  // A memory pool that was created elsewhere: borrowed unless the ownership says otherwise.
  [[nodiscard]] static result<resource> wrap_pool(device_ref device, CUmemoryPool native,
                                                  cushim_ownership ownership = CUSHIM_BORROWED) {
    return detail::ask<resource, cushim_resource>(cushim_resource_wrap_pool, device.get(), native, ownership);
  }
  // Page-locked host memory. Where it comes from a pool it is stream-ordered: pass a stream always.
  [[nodiscard]] static result<resource> pinned(context_ref context, const pinned_options &options = {}) {
    cushim_pinned_options raw = cushim_options_of<cushim_pinned_options>();
    raw.form = options.form;
    raw.flags = options.flags;
    raw.own_pool = options.own_pool ? 1 : 0;
    raw.numa_node = options.numa_node;
    raw.max_size = options.max_size;
    raw.handle_types = options.handle_types;
    return detail::ask<resource, cushim_resource>(cushim_resource_create_pinned, context.get(), &raw);
  }
  // Managed memory, synchronous unless the options ask for a pool.
  [[nodiscard]] static result<resource> managed(context_ref context, const managed_options &options = {}) {
    cushim_managed_options raw = cushim_options_of<cushim_managed_options>();
    raw.flags = options.attach_host ? static_cast<std::uint32_t>(CUSHIM_MANAGED_ATTACH_HOST) : 0;
    raw.pool_location = *options.pool_location.get();
    return detail::ask<resource, cushim_resource>(cushim_resource_create_managed, context.get(), &raw);
  }
  // Device memory that is allocated and freed synchronously.
  [[nodiscard]] static result<resource> device(context_ref context) {
    return detail::ask<resource, cushim_resource>(cushim_resource_create_device, context.get());
  }
  // Virtual memory, whose buffers grow and sleep.
  [[nodiscard]] static result<resource> virtual_memory(device_ref device, const virtual_options &options = {}) {
    const cushim_virtual_options raw = options.get();
    return detail::ask<resource, cushim_resource>(cushim_resource_create_virtual, device.get(), &raw);
  }
  // Memory of graphs, for streams under capture.
  [[nodiscard]] static result<resource> graph(device_ref device) {
    return detail::ask<resource, cushim_resource>(cushim_resource_create_graph, device.get());
  }
  // A block of device memory that graphs share; 0 bytes to measure how large it has to be.
  [[nodiscard]] static result<resource> arena(context_ref context, std::size_t bytes) {
    return detail::ask<resource, cushim_resource>(cushim_resource_create_arena, context.get(), bytes);
  }
  // Memory of an object of the program's, which is moved, and destroyed after the last buffer. It has, to be called
  // on any thread:
  //
  //   result<address> allocate(stream_ref stream, std::size_t bytes);
  //   result<void> free(stream_ref stream, address pointer, std::size_t bytes);
  //   void describe(cushim_memory_properties &properties) noexcept;  // host memory is described; change what differs
  //
  // The stream is empty if the resource is not stream-ordered and the caller gave none. What these throw becomes the
  // status of the call that led to it.
  template <class Memory>
  [[nodiscard]] static result<resource> custom(driver_ref driver, Memory memory) {
    using functions = detail::custom_resource<Memory>;
    auto kept = std::make_unique<Memory>(std::move(memory));
    cushim_resource_functions raw = cushim_options_of<cushim_resource_functions>();
    raw.user = kept.get();
    raw.allocate = functions::allocate;
    raw.free = functions::free;
    raw.properties = functions::properties;
    raw.destroy = functions::destroy;
    cushim_resource handle = nullptr;
    const cushim_status status = cushim_resource_create_custom(driver.get(), &raw, &handle);
    if (status == CUSHIM_SUCCESS) static_cast<void>(kept.release());
    return detail::give(status, resource(handle));
  }
};

inline result<resource_ref> device_ref::resource() const {
  return detail::ask<resource_ref, cushim_resource>(cushim_device_get_resource, get());
}
inline result<void> device_ref::set_location_pool(location place, cushim_pool_memory memory, resource_ref pool) const {
  return detail::done(cushim_device_set_location_pool(get(), place.get(), memory, pool.get()));
}
inline result<void> device_ref::set_resource(resource_ref resource) const {
  return detail::done(cushim_device_set_resource(get(), resource.get()));
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_RESOURCE_HPP
