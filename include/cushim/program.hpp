// CUDA C++ that is compiled when the program runs. Part of cushim.hpp.
#ifndef CUSHIM_PROGRAM_HPP
#define CUSHIM_PROGRAM_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// A header that a source includes by its name.
struct compile_header {
  std::string name, text;
};

// How CUDA C++ is compiled. Empty members are the defaults.
struct compile_options {
  // What messages of the compiler call the source.
  std::string name;
  // Options of NVRTC's, such as "--std=c++17".
  std::vector<std::string> options;
  std::vector<compile_header> headers;
  // Kernels and variables as C++ names them, such as "scale<float>".
  std::vector<std::string> name_expressions;
  cushim_code_kind kind = CUSHIM_CODE_DEFAULT;
  // Neither take code from disk nor keep it there.
  bool uncached = false;
  // The path of the compiler, instead of the one that is found.
  std::string compiler;
};

// Code that is linked with programs: PTX, a cubin, a fatbin, LTO IR, an object of nvcc's, or a library of those.
struct link_code {
  // What messages call it.
  std::string name;
  const void *code = nullptr;
  std::size_t size = 0;
};

// How programs are linked. Empty members are the defaults.
struct link_options {
  // What messages call the result.
  std::string name;
  // Options of nvJitLink's, such as "-O3".
  std::vector<std::string> options;
  // Code that is linked besides the programs.
  std::vector<link_code> codes;
  cushim_code_kind kind = CUSHIM_CODE_DEFAULT;
  // The path of nvJitLink, instead of the one that is found.
  std::string linker;
};

// CUDA C++ that was compiled, or programs that were linked.
class program_ref : public detail::ref<cushim_program> {
 public:
  constexpr program_ref() noexcept = default;
  constexpr program_ref(cushim_program handle) noexcept : ref(handle) {}
  program_ref(std::nullptr_t) = delete;

  // In which form the code is, for which architecture, and by which compiler.
  [[nodiscard]] result<cushim_program_properties> properties() const {
    return detail::ask_struct<cushim_program_properties>(cushim_program_get_properties, get());
  }
  // PTX without a NUL, or the bytes of a cubin or of LTO IR.
  [[nodiscard]] result<std::vector<unsigned char>> code() const {
    std::vector<unsigned char> bytes;
    std::size_t needed = 0;
    cushim_status status = cushim_program_get_code(get(), nullptr, 0, &needed);
    bytes.resize(needed);
    if (status == CUSHIM_SUCCESS) status = cushim_program_get_code(get(), bytes.data(), bytes.size(), nullptr);
    return detail::give(status, std::move(bytes));
  }
  // What the compiler or the linker said: warnings.
  [[nodiscard]] result<std::string> log() const { return detail::ask_text(cushim_program_get_log, get()); }
  // What the code calls that which a name expression names. Libraries of the program know it by the expression, too.
  [[nodiscard]] result<std::string> name_of(detail::c_string expression) const {
    return detail::ask_text(cushim_program_get_name, get(), expression.get());
  }
};

// It belongs to no context; library::load loads it.
class [[nodiscard]] program
    : public detail::owning<program, program_ref, cushim_program_destroy, cushim_program_ref> {
 public:
  using owning::owning;

  // Compiles CUDA C++ for a device with NVRTC, or takes what was compiled before from disk. error::driver_log has what
  // the compiler says of a source with errors.
  [[nodiscard]] static result<program> compile(device_ref device, detail::c_string source,
                                               const compile_options &options = {}) {
    const std::vector<const char *> arguments = texts(options.options), names = texts(options.name_expressions);
    std::vector<cushim_compile_header> headers;
    for (const compile_header &header : options.headers)
      headers.push_back({header.name.c_str(), header.text.c_str()});
    cushim_compile_options raw = cushim_options_of<cushim_compile_options>();
    raw.kind = options.kind;
    if (options.uncached) raw.flags |= static_cast<std::uint32_t>(CUSHIM_COMPILE_UNCACHED);
    raw.name = text_or_null(options.name);
    raw.compiler = text_or_null(options.compiler);
    raw.options = arguments.data();
    raw.option_count = arguments.size();
    raw.headers = headers.data();
    raw.header_count = headers.size();
    raw.name_expressions = names.data();
    raw.name_expression_count = names.size();
    return detail::ask<program, cushim_program>(cushim_program_compile, device.get(), source.get(), &raw);
  }

  // Links programs to one, for the device of a context, with nvJitLink, or with the driver where that is not found and
  // there is no LTO IR. error::driver_log has what the linker says.
  [[nodiscard]] static result<program> link(context_ref context, const std::vector<program_ref> &programs,
                                            const link_options &options = {}) {
    const std::vector<const char *> arguments = texts(options.options);
    std::vector<cushim_program> handles;
    for (const program_ref &each : programs) handles.push_back(each.get());
    std::vector<cushim_link_code> codes;
    for (const link_code &code : options.codes) codes.push_back({code.code, code.size, code.name.c_str()});
    cushim_link_options raw = cushim_options_of<cushim_link_options>();
    raw.kind = options.kind;
    raw.name = text_or_null(options.name);
    raw.linker = text_or_null(options.linker);
    raw.options = arguments.data();
    raw.option_count = arguments.size();
    raw.codes = codes.data();
    raw.code_count = codes.size();
    return detail::ask<program, cushim_program>(cushim_program_link, context.get(), handles.data(), handles.size(),
                                                &raw);
  }

 private:
  static const char *text_or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }
  static std::vector<const char *> texts(const std::vector<std::string> &all) {
    std::vector<const char *> pointers;
    for (const std::string &text : all) pointers.push_back(text.c_str());
    return pointers;
  }
};

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_PROGRAM_HPP
