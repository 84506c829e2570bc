// Drivers and devices. Part of cushim.hpp.
#ifndef CUSHIM_DRIVER_HPP
#define CUSHIM_DRIVER_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// Which driver to open. Zeros are the defaults.
struct driver_options {
  // "auto", "software", "none" or the path of a library; NULL: what CUSHIM_DRIVER says, or else "auto".
  const char *driver = nullptr;
  // Do not read environment variables.
  bool ignore_environment = false;
  // Check before each launch of a graph that the memory which its nodes use is still there.
  bool check_graphs = false;
  // Finds the driver's functions instead of a library, with `getter_user` as its first argument.
  cushim_driver_getter getter = nullptr;
  void *getter_user = nullptr;
  // The getter behaves as before CUDA 12.0.
  bool getter_v1 = false;
};

// A compiler of CUDA C++ or a linker that is found for a driver: 12080 is NVRTC, or nvJitLink, of CUDA 12.8.
struct found_library {
  std::uint32_t version;
  std::string path;
};

// An open driver.
class driver_ref : public detail::ref<cushim_driver> {
 public:
  constexpr driver_ref() noexcept = default;
  constexpr driver_ref(cushim_driver handle) noexcept : ref(handle) {}
  driver_ref(std::nullptr_t) = delete;

  // Version, path, and how functions are found. Its texts are valid until the driver is destroyed.
  [[nodiscard]] result<cushim_driver_info> info() const {
    return detail::ask_struct<cushim_driver_info>(cushim_driver_get_info, get());
  }
  [[nodiscard]] result<std::int32_t> device_count() const {
    return detail::ask<std::int32_t>(cushim_driver_get_device_count, get());
  }
  // A device by its ordinal, from 0.
  [[nodiscard]] result<device_ref> get_device(std::int32_t ordinal) const;
  // "GPU-…" or "MIG-…", as nvidia-smi -L writes it.
  [[nodiscard]] result<device_ref> get_device_by_uuid(const std::string &uuid) const;
  // "0000:3b:00.0".
  [[nodiscard]] result<device_ref> get_device_by_pci_bus_id(const std::string &id) const;
  // All of them.
  [[nodiscard]] result<std::vector<device_ref>> devices() const;

  // The driver's own functions: one pointer for each ABI, NULL where the driver lacks it. Valid until the process
  // ends.
  [[nodiscard]] result<const cushim_driver_table *> table(cushim_table_kind kind = CUSHIM_TABLE_LEGACY_STREAM) const {
    return detail::ask<const cushim_driver_table *>(cushim_driver_get_table, get(), kind);
  }
  // One function of the driver's, by its name and the number of its ABI, or by its exported name.
  template <class Function>
  [[nodiscard]] result<Function *> lookup(detail::c_string name, std::int32_t abi = 0,
                                          cushim_table_kind kind = CUSHIM_TABLE_LEGACY_STREAM) const {
    static_assert(std::is_function_v<Function>, "lookup<CUresult(unsigned)>(\"cuInit\", 2000)");
    void *found = nullptr;
    const cushim_status status = cushim_driver_lookup(get(), name.get(), abi, kind, &found);
    return detail::give(status, reinterpret_cast<Function *>(found));
  }
  // The libraries that were tried, the last of which was opened.
  [[nodiscard]] result<cushim_candidate> get_candidate(std::size_t index) const {
    return detail::ask_struct<cushim_candidate>(cushim_driver_get_candidate, get(), index);
  }
  // One of `cushim_symbol_count` ABIs, and whether the driver has it.
  [[nodiscard]] result<cushim_symbol> get_symbol(std::size_t index,
                                                 cushim_table_kind kind = CUSHIM_TABLE_LEGACY_STREAM) const {
    return detail::ask_struct<cushim_symbol>(cushim_driver_get_symbol, get(), index, kind);
  }
  // Finds the compiler that program::compile uses; an error says what to install.
  [[nodiscard]] result<found_library> find_compiler() const {
    return find(cushim_driver_find_compiler);
  }
  // Finds the linker that program::link uses; an error says what to install.
  [[nodiscard]] result<found_library> find_linker() const { return find(cushim_driver_find_linker); }
  // How many releases that no call could report have failed.
  [[nodiscard]] result<std::uint64_t> unreported_errors() const {
    return detail::ask<std::uint64_t>(cushim_driver_get_unreported_errors, get());
  }

  // The context that is current on this thread; empty if there is none, or cushim does not own it.
  [[nodiscard]] result<context_ref> current_context() const;
  // Makes no context current on this thread.
  result<void> clear_current_context() const { return detail::done(cushim_context_clear_current(get())); }
  // Pops the current context of this thread.
  result<void> pop_context() const {
    cushim_context popped = nullptr;
    return detail::done(cushim_context_pop(get(), &popped, nullptr));
  }

 private:
  // A library by the function that finds it.
  template <class Find> [[nodiscard]] result<found_library> find(Find function) const {
    found_library found{};
    std::size_t needed = 0;
    cushim_status status = function(get(), &found.version, nullptr, 0, &needed);
    found.path.resize(needed);
    if (status == CUSHIM_SUCCESS) status = function(get(), nullptr, found.path.data(), found.path.size(), nullptr);
    found.path.resize(std::strlen(found.path.c_str()));
    return detail::give(status, std::move(found));
  }
};

class [[nodiscard]] driver : public detail::owning<driver, driver_ref, cushim_driver_destroy, cushim_driver_ref> {
 public:
  using owning::owning;

  // Finds and opens the driver. It does not call cuInit.
  [[nodiscard]] static result<driver> open(const driver_options &options = {}) {
    cushim_driver_options raw = cushim_options_of<cushim_driver_options>();
    raw.driver = options.driver;
    raw.getter = options.getter;
    raw.getter_user = options.getter_user;
    if (options.ignore_environment) raw.flags |= static_cast<std::uint32_t>(CUSHIM_DRIVER_IGNORE_ENVIRONMENT);
    if (options.check_graphs) raw.flags |= static_cast<std::uint32_t>(CUSHIM_DRIVER_CHECK_GRAPHS);
    if (options.getter_v1) raw.flags |= static_cast<std::uint32_t>(CUSHIM_DRIVER_GETTER_V1);
    return detail::ask<driver, cushim_driver>(cushim_driver_open, &raw);
  }
};

// A device. Nobody destroys it: it is valid until the process ends.
class device_ref : public detail::ref<cushim_device> {
 public:
  constexpr device_ref() noexcept = default;
  constexpr device_ref(cushim_device handle) noexcept : ref(handle) {}
  device_ref(std::nullptr_t) = delete;

  [[nodiscard]] result<driver_ref> driver() const {
    return detail::ask<driver_ref, cushim_driver>(cushim_device_get_driver, get());
  }
  [[nodiscard]] result<std::int32_t> ordinal() const {
    return detail::ask<std::int32_t>(cushim_device_get_ordinal, get());
  }
  [[nodiscard]] result<CUdevice> native() const { return detail::ask<CUdevice>(cushim_device_native, get()); }
  [[nodiscard]] result<std::string> name() const { return detail::ask_text(cushim_device_get_name, get()); }
  [[nodiscard]] result<std::array<std::uint8_t, 16>> uuid() const {
    std::array<std::uint8_t, 16> bytes{};
    const cushim_status status = cushim_device_get_uuid(get(), bytes.data());
    return detail::give(status, std::move(bytes));
  }
  [[nodiscard]] result<std::string> pci_bus_id() const {
    return detail::ask_text(cushim_device_get_pci_bus_id, get());
  }
  // Bytes.
  [[nodiscard]] result<std::size_t> total_memory() const {
    return detail::ask<std::size_t>(cushim_device_get_total_memory, get());
  }
  [[nodiscard]] result<std::int32_t> get_attribute(CUdevice_attribute attribute) const {
    return detail::ask<std::int32_t>(cushim_device_get_attribute, get(), attribute);
  }
  // Whether driver and device have a feature, such as "memory-pools"; cushim_device_supports lists them.
  [[nodiscard]] result<bool> supports(detail::c_string feature) const {
    return detail::ask<bool, std::int32_t>(cushim_device_supports, get(), feature.get());
  }
  [[nodiscard]] result<bool> can_access_peer(device_ref peer) const {
    return detail::ask<bool, std::int32_t>(cushim_device_can_access_peer, get(), peer.get());
  }

  // Whether any user in the process has retained the primary context.
  [[nodiscard]] result<bool> is_primary_active() const {
    std::int32_t active = 0;
    const cushim_status status = cushim_device_get_primary_state(get(), &active, nullptr);
    return detail::give(status, active != 0);
  }
  // Destroys everything in the primary context, for every user in the process.
  result<void> reset_primary_context() const { return detail::done(cushim_device_reset_primary_context(get())); }

  // The resource of the device; it is valid until another one is set.
  [[nodiscard]] result<resource_ref> resource() const;
  result<void> set_resource(resource_ref resource) const;
  // Back to that of the device's current pool.
  result<void> reset_resource() const { return detail::done(cushim_device_set_resource(get(), nullptr)); }
  // The pool from which everybody in the process allocates such memory there; without one that from the start.
  result<void> set_location_pool(location place, cushim_pool_memory memory, resource_ref pool) const;
  result<void> reset_location_pool(location place, cushim_pool_memory memory) const {
    return detail::done(cushim_device_set_location_pool(get(), place.get(), memory, nullptr));
  }
  // A buffer from that resource, allocated and freed in the order of the stream.
  [[nodiscard]] result<buffer> allocate(stream_ref stream, std::size_t bytes) const;

  // How much memory the graphs of the device have.
  [[nodiscard]] result<cushim_graph_memory> graph_memory() const {
    return detail::ask_struct<cushim_graph_memory>(cushim_device_get_graph_memory, get());
  }
  result<void> reset_graph_memory_peaks() const {
    return detail::done(cushim_device_reset_graph_memory_peaks(get()));
  }
  result<void> trim_graph_memory() const { return detail::done(cushim_device_trim_graph_memory(get())); }
};

inline result<device_ref> driver_ref::get_device(std::int32_t ordinal) const {
  return detail::ask<device_ref, cushim_device>(cushim_driver_get_device, get(), ordinal);
}

inline result<device_ref> driver_ref::get_device_by_uuid(const std::string &uuid) const {
  return detail::ask<device_ref, cushim_device>(cushim_driver_get_device_by_uuid, get(), uuid.c_str());
}

inline result<device_ref> driver_ref::get_device_by_pci_bus_id(const std::string &id) const {
  return detail::ask<device_ref, cushim_device>(cushim_driver_get_device_by_pci_bus_id, get(), id.c_str());
}

inline result<std::vector<device_ref>> driver_ref::devices() const {
  std::vector<device_ref> all;
  std::int32_t count = 0;
  cushim_status status = cushim_driver_get_device_count(get(), &count);
  for (std::int32_t ordinal = 0; status == CUSHIM_SUCCESS && ordinal < count; ordinal++) {
    cushim_device device = nullptr;
    status = cushim_driver_get_device(get(), ordinal, &device);
    all.emplace_back(device);
  }
  return detail::give(status, std::move(all));
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_DRIVER_HPP
