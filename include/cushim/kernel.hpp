// Libraries and kernels: code, and how it is launched. Part of cushim.hpp.
#ifndef CUSHIM_KERNEL_HPP
#define CUSHIM_KERNEL_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// How code is loaded, for PTX. Zeros are the defaults.
struct library_options {
  bool line_info = false;
  bool debug_info = false;
  bool verbose = false;
  // The most registers of a thread.
  std::uint32_t max_registers = 0;
  // Further options.
  std::vector<cushim_jit_option> jit_options;
};

// A variable of loaded code.
struct variable {
  address pointer;
  std::size_t bytes;
};

// What a launch configuration of the highest occupancy has.
struct block_suggestion {
  std::uint32_t threads, blocks;
};

// The offset and size of a parameter in a packed block.
struct parameter_layout {
  std::size_t offset, size;
};

// A kernel.
class kernel_ref : public detail::ref<cushim_kernel> {
 public:
  constexpr kernel_ref() noexcept = default;
  constexpr kernel_ref(cushim_kernel handle) noexcept : ref(handle) {}
  kernel_ref(std::nullptr_t) = delete;

  // Enqueues the kernel in a stream: `kernel.launch(stream, {blocks, threads}, n, 2.0f, buffer)`. Arguments are
  // values, whose types must be those of the parameters; buffers, endpoints and owned pointers, for pointers;
  // parameters with names; and, in a stream under capture, conditions. The driver compares their sizes from CUDA 12.4
  // on. typed_kernel converts values.
  template <class... Arguments>
  result<void> launch(stream_ref stream, const launch_config &config, const Arguments &...arguments) const {
    const detail::args<Arguments...> args{arguments...};
    return detail::done(detail::owners_taken_if(
        cushim_kernel_launch(get(), stream.get(), &config, args.data(), args.size()), arguments...));
  }
  // With all arguments in one block: a struct that is laid out like the parameters.
  template <class Block>
  result<void> launch_packed(stream_ref stream, const launch_config &config, const Block &block) const {
    static_assert(std::is_trivially_copyable_v<Block>, "kernels take bytes");
    return detail::done(cushim_kernel_launch_packed(get(), stream.get(), &config, &block, sizeof block));
  }

  [[nodiscard]] result<std::string> name() const { return detail::ask_text(cushim_kernel_get_name, get()); }
  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_kernel_get_context, get());
  }
  // Empty for a kernel that was wrapped without one.
  [[nodiscard]] result<library_ref> library() const;
  // The CUkernel; NULL for a kernel that is only a CUfunction.
  [[nodiscard]] result<CUkernel> native() const { return detail::ask<CUkernel>(cushim_kernel_native, get()); }
  [[nodiscard]] result<CUfunction> native_function() const {
    return detail::ask<CUfunction>(cushim_kernel_native_function, get());
  }

  [[nodiscard]] result<std::int32_t> get_attribute(CUfunction_attribute attribute) const {
    return detail::ask<std::int32_t>(cushim_kernel_get_attribute, get(), attribute);
  }
  result<void> set_attribute(CUfunction_attribute attribute, std::int32_t value) const {
    return detail::done(cushim_kernel_set_attribute(get(), attribute, value));
  }
  // Loads the code now, not at the first launch; CUDA 12.4.
  result<void> preload() const { return detail::done(cushim_kernel_preload(get())); }
  [[nodiscard]] result<std::size_t> parameter_count() const {
    return detail::ask<std::size_t>(cushim_kernel_get_parameter_count, get());
  }
  [[nodiscard]] result<parameter_layout> get_parameter(std::size_t index) const {
    parameter_layout layout{};
    const cushim_status status = cushim_kernel_get_parameter(get(), index, &layout.offset, &layout.size);
    return detail::give(status, std::move(layout));
  }

  // How many blocks one multiprocessor can run at the same time.
  [[nodiscard]] result<std::uint32_t> get_active_blocks(std::uint32_t threads, std::size_t shared_bytes = 0) const {
    return detail::ask<std::uint32_t>(cushim_kernel_get_active_blocks, get(), threads, shared_bytes);
  }
  // The block size with the highest occupancy, of at most `limit` threads (0: as many as the kernel can have).
  [[nodiscard]] result<block_suggestion> suggest_block_size(std::size_t shared_bytes = 0,
                                                            std::uint32_t limit = 0) const {
    block_suggestion found{};
    const cushim_status status =
        cushim_kernel_suggest_block_size(get(), shared_bytes, nullptr, nullptr, limit, &found.threads, &found.blocks);
    return detail::give(status, std::move(found));
  }
  // The same where the shared memory of a block depends on its threads: `shared_bytes(threads)`, which must not
  // throw.
  template <class Function,
            class = std::enable_if_t<std::is_invocable_r_v<std::size_t, const Function &, std::uint32_t>>>
  [[nodiscard]] result<block_suggestion> suggest_block_size(const Function &shared_bytes,
                                                            std::uint32_t limit = 0) const {
    block_suggestion found{};
    const auto call = [](void *data, std::uint32_t threads) noexcept -> std::size_t {
      return (**static_cast<const Function *const *>(data))(threads);
    };
    const Function *function = &shared_bytes;
    const cushim_status status =
        cushim_kernel_suggest_block_size(get(), 0, call, &function, limit, &found.threads, &found.blocks);
    return detail::give(status, std::move(found));
  }
  // The dynamic shared memory that a block can have if several run on one multiprocessor.
  [[nodiscard]] result<std::size_t> get_available_shared_memory(std::uint32_t blocks, std::uint32_t threads) const {
    return detail::ask<std::size_t>(cushim_kernel_get_available_shared_memory, get(), blocks, threads);
  }
  [[nodiscard]] result<std::uint32_t> get_largest_cluster(stream_ref stream, const launch_config &config) const {
    return detail::ask<std::uint32_t>(cushim_kernel_get_largest_cluster, get(), stream.get(), &config);
  }
  [[nodiscard]] result<std::uint32_t> get_active_clusters(stream_ref stream, const launch_config &config) const {
    return detail::ask<std::uint32_t>(cushim_kernel_get_active_clusters, get(), stream.get(), &config);
  }
};

// It keeps its library loaded.
class [[nodiscard]] kernel : public detail::owning<kernel, kernel_ref, cushim_kernel_destroy, cushim_kernel_ref> {
 public:
  using owning::owning;

  // A kernel of loaded code, by its name there.
  [[nodiscard]] static result<kernel> create(library_ref library, detail::c_string name);
  // A kernel that was loaded elsewhere; a cudaKernel_t or cudaFunction_t is the same. Its code must outlive it, or is
  // kept by a library or an owner.
  [[nodiscard]] static result<kernel> wrap(context_ref context, CUkernel native) {
    return detail::ask<kernel, cushim_kernel>(cushim_kernel_wrap, context.get(), native, nullptr, nullptr);
  }
  [[nodiscard]] static result<kernel> wrap(context_ref context, CUkernel native, library_ref library);
  [[nodiscard]] static result<kernel> wrap(context_ref context, CUkernel native, owner keeper) {
    cushim_kernel handle = nullptr;
    const cushim_status status = cushim_kernel_wrap(context.get(), native, nullptr, keeper.get(), &handle);
    if (status == CUSHIM_SUCCESS) keeper.taken();
    return detail::give(status, kernel(handle));
  }
  [[nodiscard]] static result<kernel> wrap(context_ref context, CUfunction native) {
    return detail::ask<kernel, cushim_kernel>(cushim_kernel_wrap_function, context.get(), native, nullptr, nullptr);
  }
  [[nodiscard]] static result<kernel> wrap(context_ref context, CUfunction native, library_ref library);
  [[nodiscard]] static result<kernel> wrap(context_ref context, CUfunction native, owner keeper) {
    cushim_kernel handle = nullptr;
    const cushim_status status = cushim_kernel_wrap_function(context.get(), native, nullptr, keeper.get(), &handle);
    if (status == CUSHIM_SUCCESS) keeper.taken();
    return detail::give(status, kernel(handle));
  }
};

// A kernel whose parameters have these types: arguments are counted and converted when the program is compiled,
// values with names (cushim::parameter) too; in streams, in graphs and in nodes that are set. Parameters that are
// pointers, or an address, take buffers and endpoints, too. It is no cushim::kernel, which could be exchanged with
// one of other parameters.
template <class... Parameters>
class [[nodiscard]] typed_kernel : public detail::owning<typed_kernel<Parameters...>, kernel_ref,
                                                         cushim_kernel_destroy, cushim_kernel_ref> {
 public:
  using detail::owning<typed_kernel, kernel_ref, cushim_kernel_destroy, cushim_kernel_ref>::owning;
  // Takes over a kernel that has such parameters.
  explicit typed_kernel(kernel &&untyped) noexcept : typed_kernel(untyped.release()) {}

  template <class... Arguments>
  result<void> launch(stream_ref stream, const launch_config &config, const Arguments &...arguments) const {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters), "an argument for each parameter");
    return kernel_ref::launch(stream, config, detail::as_parameter<Parameters>(arguments)...);
  }
};

// Loaded code.
class library_ref : public detail::ref<cushim_library> {
 public:
  constexpr library_ref() noexcept = default;
  constexpr library_ref(cushim_library handle) noexcept : ref(handle) {}
  library_ref(std::nullptr_t) = delete;

  // A kernel by its name.
  [[nodiscard]] result<kernel> get_kernel(detail::c_string name) const { return kernel::create(*this, name); }
  // With the types of its parameters: `get_typed_kernel<std::uint32_t, float, cushim::address>("scale")`.
  template <class... Parameters>
  [[nodiscard]] result<typed_kernel<Parameters...>> get_typed_kernel(detail::c_string name) const {
    return detail::ask<typed_kernel<Parameters...>, cushim_kernel>(cushim_kernel_create, get(), name.get());
  }
  // The names of its kernels; CUDA 12.4.
  [[nodiscard]] result<std::vector<std::string>> kernel_names() const {
    std::vector<std::string> names;
    std::size_t count = 0;
    cushim_status status = cushim_library_get_kernel_count(get(), &count);
    for (std::size_t i = 0; status == CUSHIM_SUCCESS && i < count; i++) {
      std::size_t needed = 0;
      status = cushim_library_get_kernel_name(get(), i, nullptr, 0, &needed);
      std::string name(needed, '\0');
      if (status == CUSHIM_SUCCESS)
        status = cushim_library_get_kernel_name(get(), i, name.data(), name.size(), &needed);
      name.resize(std::strlen(name.c_str()));
      names.push_back(std::move(name));
    }
    return detail::give(status, std::move(names));
  }
  [[nodiscard]] result<variable> get_global(detail::c_string name) const {
    return get_variable(cushim_library_get_global, name);
  }
  [[nodiscard]] result<variable> get_managed(detail::c_string name) const {
    return get_variable(cushim_library_get_managed, name);
  }

  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_library_get_context, get());
  }
  // The compiler's messages.
  [[nodiscard]] result<std::string> log() const { return detail::ask_text(cushim_library_get_log, get()); }
  // NULL before CUDA 12.0.
  [[nodiscard]] result<CUlibrary> native() const { return detail::ask<CUlibrary>(cushim_library_native, get()); }
  [[nodiscard]] result<CUmodule> native_module() const {
    return detail::ask<CUmodule>(cushim_library_native_module, get());
  }

 private:
  template <class Function>
  [[nodiscard]] result<variable> get_variable(Function function, detail::c_string name) const {
    variable found{};
    const cushim_status status = function(get(), name.get(), &found.pointer, &found.bytes);
    return detail::give(status, std::move(found));
  }
};

// The code is unloaded when nothing uses it any more, its kernels included.
class [[nodiscard]] library
    : public detail::owning<library, library_ref, cushim_library_destroy, cushim_library_ref> {
 public:
  using owning::owning;

  // Loads code: PTX, a cubin or a fatbin, in a container of bytes. PTX is compiled now; error::driver_log has the
  // compiler's messages.
  [[nodiscard]] static result<library> load(context_ref context, host_source image,
                                            const library_options &options = {}) {
    const void *const data = reinterpret_cast<const void *>(static_cast<std::uintptr_t>(image.get()->address));
    return load_bytes(context, data, image.bytes(), options);
  }
  // PTX at a pointer, which ends with NUL. An array is a container, and may hold any code.
  template <class Char, class = std::enable_if_t<std::is_same_v<std::remove_const_t<Char>, char>>>
  [[nodiscard]] static result<library> load(context_ref context, Char *const &ptx,
                                            const library_options &options = {}) {
    return load_bytes(context, ptx, ptx != nullptr ? std::strlen(ptx) : 0, options);
  }
  // CUDA C++ that was compiled. Name expressions name its kernels and variables, too.
  [[nodiscard]] static result<library> load(context_ref context, program_ref program,
                                            const library_options &options = {}) {
    const cushim_library_options raw = raw_of(options);
    return detail::ask<library, cushim_library>(cushim_library_load_program, context.get(), program.get(), &raw);
  }
  // From a file, whose path is in UTF-8.
  [[nodiscard]] static result<library> load_file(context_ref context, detail::c_string path,
                                                 const library_options &options = {}) {
    const cushim_library_options raw = raw_of(options);
    return detail::ask<library, cushim_library>(cushim_library_load_file, context.get(), path.get(), &raw);
  }

 private:
  [[nodiscard]] static result<library> load_bytes(context_ref context, const void *image, std::size_t bytes,
                                                  const library_options &options) {
    const cushim_library_options raw = raw_of(options);
    return detail::ask<library, cushim_library>(cushim_library_load, context.get(), image, bytes, &raw);
  }
  // It points into the options.
  [[nodiscard]] static cushim_library_options raw_of(const library_options &options) noexcept {
    cushim_library_options raw = cushim_options_of<cushim_library_options>();
    if (options.line_info) raw.flags |= static_cast<std::uint32_t>(CUSHIM_LIBRARY_LINE_INFO);
    if (options.debug_info) raw.flags |= static_cast<std::uint32_t>(CUSHIM_LIBRARY_DEBUG_INFO);
    if (options.verbose) raw.flags |= static_cast<std::uint32_t>(CUSHIM_LIBRARY_VERBOSE);
    raw.max_registers = options.max_registers;
    raw.jit_options = options.jit_options.empty() ? nullptr : options.jit_options.data();
    raw.jit_option_count = options.jit_options.size();
    return raw;
  }
};

inline result<library_ref> kernel_ref::library() const {
  return detail::ask<library_ref, cushim_library>(cushim_kernel_get_library, get());
}
inline result<kernel> kernel::create(library_ref library, detail::c_string name) {
  return detail::ask<kernel, cushim_kernel>(cushim_kernel_create, library.get(), name.get());
}
inline result<kernel> kernel::wrap(context_ref context, CUkernel native, library_ref library) {
  return detail::ask<kernel, cushim_kernel>(cushim_kernel_wrap, context.get(), native, library.get(), nullptr);
}
inline result<kernel> kernel::wrap(context_ref context, CUfunction native, library_ref library) {
  return detail::ask<kernel, cushim_kernel>(cushim_kernel_wrap_function, context.get(), native, library.get(),
                                            nullptr);
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_KERNEL_HPP
