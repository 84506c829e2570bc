/*
 * CUDA C++ compiled at run time: what the compiler is told, what comes back, and what is refused. The compiler is one whose sources are PTX
 * (tests/fakes/nvrtc.c), which CUSHIM_NVRTC names; compile/real.c has a real one.
 */
#include "busy.h"

#include <stddef.h>
#include <sys/stat.h>

static struct objects all;

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 _Z10counter_7_ = 7;\n"
    ".visible .entry _Z11store_uint_(.param .u64 to) {\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %seven;\n"
    "  ld.param.u64 %to, [to];\n"
    "  mov.u32 %seven, 7;\n"
    "  st.global.u32 [%to], %seven;\n"
    "  ret;\n"
    "}\n";

static const char *const expressions[] = {"store<uint>", "counter<7>"};

static cushim_compile_options with_expressions(void) {
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  options.name = "store.cu";
  options.name_expressions = expressions;
  options.name_expression_count = 2;
  return options;
}

static cushim_program compiled(const cushim_compile_options *options) {
  cushim_program program = NULL;
  CHECK_OK(cushim_program_compile(all.device, ptx, options, &program));
  return program;
}

static cushim_program_properties properties_of(cushim_program program) {
  cushim_program_properties properties = CUSHIM_OPTIONS(cushim_program_properties);
  CHECK_OK(cushim_program_get_properties(program, &properties));
  return properties;
}

static void refused(cushim_status status, const char *source, const cushim_compile_options *options, const char *says) {
  cushim_program none = (cushim_program)NOT_NULL;
  CHECK_STATUS(status, cushim_program_compile(all.device, source, options, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), says);
}

/* From the source to a kernel that ran, by the names that the source has. */
static void a_kernel_runs(void) {
  const cushim_compile_options options = with_expressions();
  cushim_program program = compiled(&options);
  cushim_library library = NULL;
  cushim_kernel kernel = NULL, same = NULL;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_endpoint to, from;
  cushim_arg arg;
  uint64_t memory = 0, variable = 0;
  uint32_t number = 0;
  size_t bytes = 0;
  CHECK_OK(cushim_library_load_program(all.context, program, NULL, &library));
  CHECK_OK(cushim_program_destroy(program));
  CHECK_OK(cushim_kernel_create(library, "store<uint>", &kernel));
  CHECK_OK(cushim_kernel_create(library, "_Z11store_uint_", &same));
  CHECK(identity_of(kernel) == identity_of(same));
  CHECK_OK(cushim_library_get_global(library, "counter<7>", &variable, &bytes));
  CHECK(variable != 0 && bytes == 4);
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_kernel_create(library, "store<float>", &same));
  CHECK_OK(cushim_context_allocate(all.context, 4, &memory));
  to = cushim_endpoint_device(memory);
  arg.kind = CUSHIM_ARG_BYTES;
  arg.size = sizeof memory;
  arg.value = &memory;
  config.grid.x = config.block.x = 1;
  CHECK_OK(cushim_kernel_launch(kernel, all.stream, &config, &arg, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  from = to;
  to = cushim_endpoint_host(&number);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, sizeof number));
  CHECK(number == 7);
  CHECK_OK(cushim_context_free(all.context, memory));
  CHECK_OK(cushim_kernel_destroy(kernel));
  CHECK_OK(cushim_kernel_destroy(same));
  CHECK_OK(cushim_library_destroy(library));
}

static void what_it_tells(void) {
  cushim_compile_options options = with_expressions();
  const cushim_compile_header headers[] = {{"a.h", "//"}, {"b.h", "//"}};
  cushim_program program, more = NULL;
  cushim_program_properties properties;
  char text[256], code[sizeof ptx];
  uint32_t version = 0;
  size_t needed = 0;
  options.headers = headers;
  options.header_count = 2;
  program = compiled(&options);
  properties = properties_of(program);
  CHECK(properties.kind == CUSHIM_CODE_PTX && properties.size == sizeof ptx - 1);
  CHECK(properties.compiler_version == 11040 && properties.was_cached == 0 && properties.reserved == 0);
  CHECK(strncmp(properties.architecture, "compute_", 8) == 0);
  CHECK_OK(cushim_program_get_code(program, NULL, 0, &needed));
  CHECK(needed == sizeof ptx - 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_program_get_code(program, code, 10, &needed));
  CHECK_CONTAINS(last_message(), "room for 10 bytes");
  CHECK(needed == 0);
  memset(code, 0, sizeof code);
  CHECK_OK(cushim_program_get_code(program, code, sizeof code, NULL));
  CHECK(strcmp(code, ptx) == 0);
  CHECK_OK(cushim_program_get_log(program, text, sizeof text, &needed));
  CHECK(strcmp(text, "store.cu: warning: 2 headers") == 0 && needed == strlen(text) + 1);
  CHECK_OK(cushim_program_get_name(program, "counter<7>", text, sizeof text, NULL));
  CHECK(strcmp(text, "_Z10counter_7_") == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_program_get_name(program, "nothing", text, sizeof text, NULL));
  CHECK(text[0] == 0);
  CHECK_CONTAINS(last_message(), "store<uint>, counter<7>");
  CHECK_OK(cushim_describe(program, text, sizeof text, NULL));
  CHECK_CONTAINS(text, "program: PTX of store.cu for compute_");
  CHECK_CONTAINS(text, "by NVRTC 11.4");
  CHECK_OK(cushim_program_ref(program, &more));
  CHECK(identity_of(program) == identity_of(more));
  CHECK_OK(cushim_program_destroy(program));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_program_get_log(program, text, sizeof text, NULL));
  CHECK_OK(cushim_program_destroy(more));
  CHECK_OK(cushim_driver_find_compiler(all.driver, &version, text, sizeof text, &needed));
  CHECK(version == 11040 && needed > 1);
  CHECK_CONTAINS(text, "nvrtc");
  CHECK_OK(cushim_driver_find_compiler(all.driver, NULL, NULL, 0, NULL));
}

static void what_is_refused(void) {
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  const cushim_compile_header nameless = {NULL, "//"};
  const char *const nonsense[] = {"--nonsense"}, *const partial[] = {"--no-builtins"}, *const virtual_arch[] = {"-arch=compute_80"};
  const char *const null_text[] = {"-w", NULL};
  options.name = "wrong.cu";
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, "#error", &options, "found errors in wrong.cu: wrong.cu(1): error:");
  CHECK_CONTAINS(last_detail()->driver_log, "1 error detected");
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, "// caf\xe9\n", &options, "source is not UTF-8: byte 6");
  options.options = nonsense;
  options.option_count = 1;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "NVRTC_ERROR_INVALID_OPTION (5)");
  options.options = partial;
  refused(CUSHIM_ERROR_UNSUPPORTED, ptx, &options, "did not compile wrong.cu");
  options.options = null_text;
  options.option_count = 2;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "item 1: options");
  options.options = virtual_arch;
  options.option_count = 1;
  options.kind = CUSHIM_CODE_CUBIN;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "compute_80, for which there is PTX and no cubin");
  options.option_count = 0;
  options.kind = 4;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "kind is 4");
  options.kind = CUSHIM_CODE_DEFAULT;
  options.flags = 2;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "flags is 0x2");
  options.flags = 0;
  options.headers = &nameless;
  options.header_count = 1;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "header 0: its name");
  options.header_count = 0;
  options.compiler = "/nowhere/libnvrtc.so";
  refused(CUSHIM_ERROR_UNSUPPORTED, ptx, &options, "/nowhere/libnvrtc.so cannot be used as NVRTC");
}

/* The compiler's intermediate form is code, but none that a driver loads. */
static void lto_ir(void) {
  cushim_compile_options options = with_expressions();
  cushim_program program;
  cushim_library none = (cushim_library)NOT_NULL;
  unsigned char code[4096];
  size_t size = 0;
  options.kind = CUSHIM_CODE_LTO_IR;
  program = compiled(&options);
  CHECK(properties_of(program).kind == CUSHIM_CODE_LTO_IR);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load_program(all.context, program, NULL, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), "LTO IR of store.cu");
  CHECK_OK(cushim_program_get_code(program, code, sizeof code, &size));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, code, size, NULL, &none));
  CHECK_CONTAINS(last_message(), "LTO IR");
  CHECK_OK(cushim_program_destroy(program));
}

/* The second time it comes from disk; a file that was damaged is nobody's. */
static void cache(void) {
  char folder[] = "/tmp/cushim-cache-XXXXXX", command[128];
  cushim_compile_options options = with_expressions();
  int i;
  CHECK(mkdtemp(folder) != NULL);
  setenv("CUSHIM_CACHE", folder, 1);
  for (i = 0; i < 4; i++) {
    cushim_program program;
    options.flags = i == 2 ? CUSHIM_COMPILE_UNCACHED : 0;
    program = compiled(&options);
    CHECK(properties_of(program).was_cached == (i % 2 == 1));
    CHECK(properties_of(program).size == sizeof ptx - 1);
    CHECK_OK(cushim_program_destroy(program));
  }
  setenv("CUSHIM_CACHE", "off", 1);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

static void no_compiler(void) {
  char *before = strdup(getenv("CUSHIM_NVRTC"));
  char text[8];
  uint32_t version = 1;
  size_t needed = 1;
  setenv("CUSHIM_NVRTC", "/nowhere/libnvrtc.so", 1);
  refused(CUSHIM_ERROR_UNSUPPORTED, ptx, NULL, "name another library in CUSHIM_NVRTC");
  CHECK_CONTAINS(last_message(), "/nowhere/libnvrtc.so: ");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_driver_find_compiler(all.driver, &version, text, sizeof text, &needed));
  CHECK(version == 0 && needed == 0 && text[0] == 0);
  setenv("CUSHIM_NVRTC", before, 1);
  free(before);
}

int main(void) {
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    refused(CUSHIM_ERROR_UNSUPPORTED, ptx, NULL, "none");
    close_objects(&all);
    return check_done();
  }
  if (getenv("CUSHIM_NVRTC") != NULL) {
    a_kernel_runs();
    what_it_tells();
    what_is_refused();
    lto_ir();
    cache();
    no_compiler();
  }
  close_objects(&all);
  return check_done();
}
