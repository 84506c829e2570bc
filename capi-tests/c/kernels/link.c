/*
 * Programs that are linked to one: by the driver's linker, by nvJitLink, and by both; names, logs, and what is refused. Compiler and linker
 * are those of tests/fakes, whose sources are PTX, which CUSHIM_NVRTC and CUSHIM_NVJITLINK name; compile/link.c has real ones.
 */
#include "busy.h"

#include <stddef.h>

static struct objects all;

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* Writes what another text makes of 5, by a name that an expression has. */
static const char kernel_text[] =
    HEAD
    ".extern .func (.param .u32 r) scaled(.param .u32 x);\n"
    ".extern .global .u32 factor;\n"
    ".visible .entry _Z9set_uint_(.param .u64 to) {\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %x, %y;\n"
    "  ld.param.u64 %to, [to];\n"
    "  mov.u32 %x, 5;\n"
    "  { .param .u32 i; .param .u32 o; st.param.u32 [i], %x; call (o), scaled, (i); ld.param.u32 %x, [o]; }\n"
    "  ld.global.u32 %y, [factor];\n"
    "  add.u32 %x, %x, %y;\n"
    "  st.global.u32 [%to], %x;\n"
    "  ret;\n"
    "}\n";

static const char function_text[] =
    HEAD
    ".visible .global .u32 factor = 3;\n"
    ".visible .func (.param .u32 r) scaled(.param .u32 x) {\n"
    "  .reg .u32 %a, %b;\n"
    "  ld.param.u32 %a, [x];\n"
    "  ld.global.u32 %b, [factor];\n"
    "  mul.lo.u32 %a, %a, %b;\n"
    "  st.param.u32 [r], %a;\n"
    "  ret;\n"
    "}\n";

enum { WRITTEN = 5 * 3 + 3 };

static cushim_program compiled(const char *text, const char *name, int kind) {
  static const char *const expressions[] = {"set<uint>"};
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  cushim_program program = NULL;
  options.kind = kind;
  options.name = name;
  options.name_expressions = text == kernel_text ? expressions : NULL;
  options.name_expression_count = text == kernel_text;
  CHECK_OK(cushim_program_compile(all.device, text, &options, &program));
  return program;
}

static cushim_program_properties properties_of(cushim_program program) {
  cushim_program_properties properties = CUSHIM_OPTIONS(cushim_program_properties);
  CHECK_OK(cushim_program_get_properties(program, &properties));
  return properties;
}

/* Loads what was linked, and looks at what its kernel writes. */
static void runs(cushim_program linked) {
  cushim_library library = NULL;
  cushim_kernel kernel = NULL;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_endpoint to, from;
  cushim_arg arg;
  uint64_t memory = 0;
  uint32_t number = 0;
  CHECK_OK(cushim_library_load_program(all.context, linked, NULL, &library));
  CHECK_OK(cushim_kernel_create(library, "set<uint>", &kernel));
  CHECK_OK(cushim_context_allocate(all.context, 4, &memory));
  arg.kind = CUSHIM_ARG_BYTES;
  arg.size = sizeof memory;
  arg.value = &memory;
  config.grid.x = config.block.x = 1;
  CHECK_OK(cushim_kernel_launch(kernel, all.stream, &config, &arg, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  from = cushim_endpoint_device(memory);
  to = cushim_endpoint_host(&number);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, sizeof number));
  CHECK(number == WRITTEN);
  CHECK_OK(cushim_context_free(all.context, memory));
  CHECK_OK(cushim_kernel_destroy(kernel));
  CHECK_OK(cushim_library_destroy(library));
}

/* Each program in each form; what comes of them, and by whom. */
static void forms(void) {
  static const struct {
    int kernel, function, asked, becomes;
    const char *by;
  } rows[] = {
      {CUSHIM_CODE_PTX, CUSHIM_CODE_PTX, CUSHIM_CODE_DEFAULT, CUSHIM_CODE_CUBIN, "by the linker of the driver for CUDA"},
      {CUSHIM_CODE_LTO_IR, CUSHIM_CODE_LTO_IR, CUSHIM_CODE_DEFAULT, CUSHIM_CODE_PTX, "by nvJitLink 11.4"},
      {CUSHIM_CODE_LTO_IR, CUSHIM_CODE_LTO_IR, CUSHIM_CODE_CUBIN, CUSHIM_CODE_CUBIN, "by nvJitLink 11.4"},
      {CUSHIM_CODE_LTO_IR, CUSHIM_CODE_PTX, CUSHIM_CODE_DEFAULT, CUSHIM_CODE_CUBIN, "by nvJitLink 11.4"},
      {CUSHIM_CODE_PTX, CUSHIM_CODE_LTO_IR, CUSHIM_CODE_CUBIN, CUSHIM_CODE_CUBIN, "by nvJitLink 11.4"},
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cushim_program programs[2], linked = NULL, again = NULL;
    cushim_link_options options = CUSHIM_OPTIONS(cushim_link_options);
    char line[256];
    programs[0] = compiled(kernel_text, "kernel.cu", rows[i].kernel);
    programs[1] = compiled(function_text, "function.cu", rows[i].function);
    options.kind = rows[i].asked;
    options.name = "both";
    CHECK_OK(cushim_program_link(all.context, programs, 2, &options, &linked));
    CHECK(properties_of(linked).kind == rows[i].becomes);
    CHECK(properties_of(linked).was_cached == 0);
    CHECK(strncmp(properties_of(linked).architecture, rows[i].becomes == CUSHIM_CODE_PTX ? "compute_" : "sm_", 3) == 0);
    CHECK_OK(cushim_describe(linked, line, sizeof line, NULL));
    CHECK_CONTAINS(line, " of both for ");
    CHECK_CONTAINS(line, rows[i].by);
    CHECK_OK(cushim_program_destroy(programs[0]));
    CHECK_OK(cushim_program_destroy(programs[1]));
    runs(linked);
    /* It is a program like any other. */
    CHECK_OK(cushim_program_link(all.context, &linked, 1, NULL, &again));
    runs(again);
    CHECK_OK(cushim_program_destroy(linked));
    CHECK_OK(cushim_program_destroy(again));
  }
}

/* Code that was not compiled here. */
static void codes(void) {
  const cushim_link_code code[] = {{function_text, sizeof function_text, "function.ptx"}};
  cushim_link_options options = CUSHIM_OPTIONS(cushim_link_options);
  cushim_program program = compiled(kernel_text, "kernel.cu", CUSHIM_CODE_PTX), linked = NULL;
  char text[64];
  options.codes = code;
  options.code_count = 1;
  CHECK_OK(cushim_program_link(all.context, &program, 1, &options, &linked));
  runs(linked);
  CHECK_OK(cushim_program_get_name(linked, "set<uint>", text, sizeof text, NULL));
  CHECK(strcmp(text, "_Z9set_uint_") == 0);
  CHECK_OK(cushim_program_destroy(linked));
  CHECK_OK(cushim_program_link(all.context, NULL, 0, &options, &linked));
  CHECK_OK(cushim_program_destroy(linked));
  CHECK_OK(cushim_program_destroy(program));
}

static void refused(cushim_status status, cushim_program program, const cushim_link_options *options, const char *says) {
  cushim_program none = (cushim_program)NOT_NULL;
  CHECK_STATUS(status, cushim_program_link(all.context, &program, program != NULL, options, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), says);
}

static void what_is_refused(void) {
  static const char *const nonsense[] = {"--nonsense"}, *const missing[] = {"--missing"}, *const twice[] = {"--twice"};
  cushim_link_code code = {function_text, sizeof function_text, "function.ptx"};
  cushim_link_options options = CUSHIM_OPTIONS(cushim_link_options);
  cushim_program ptx = compiled(kernel_text, "kernel.cu", CUSHIM_CODE_PTX), lto = compiled(kernel_text, "kernel.cu", CUSHIM_CODE_LTO_IR);
  options.name = "both";
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, NULL, &options, "both is not linked: there is no code to link");
  /* What softcuda's linker does not find; its log has it. */
  refused(CUDA_ERROR_INVALID_SOURCE, ptx, &options, "both is not linked: ");
  CHECK_CONTAINS(last_message(), "The linker says: ");
  CHECK(last_detail()->driver_log[0] != 0);
  refused(CUDA_ERROR_INVALID_SOURCE, lto, &options, "both is not linked: ");
  options.kind = CUSHIM_CODE_LTO_IR;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, lto, &options, "linking does not give LTO IR");
  options.kind = CUSHIM_CODE_PTX;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "PTX is linked of LTO IR only");
  options.kind = 9;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "kind is 9");
  options.kind = CUSHIM_CODE_DEFAULT;
  options.reserved = 1;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "reserved is 1");
  options.reserved = 0;
  options.codes = &code;
  options.code_count = 1;
  code.name = NULL;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "code 0: its name");
  code.name = "part.cubin";
  code.code = NULL;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "code 0: its code");
  code.size = 0;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "part.cubin is not linked: the image is empty");
  code.code = "\177ELF\2\1\1";
  code.size = 7;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "part.cubin is not linked: the image is cut off");
  code.code = "nonsense";
  code.size = 8;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, ptx, &options, "part.cubin is not linked: the image is no PTX");
  code.code = function_text;
  code.size = sizeof function_text;
  /* What nvJitLink says. */
  options.options = nonsense;
  options.option_count = 1;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, lto, &options, "NVJITLINK_ERROR_UNRECOGNIZED_OPTION (1): unrecognized option: --nonsense");
  options.options = missing;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, lto, &options, "Undefined reference to 'f' in 'a'");
  CHECK_CONTAINS(last_detail()->driver_log, "ERROR 9: finish");
  options.options = twice;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, lto, &options, "Multiple definition of 'f'");
  options.option_count = 0;
  options.linker = "/nowhere/libnvJitLink.so.12";
  refused(CUSHIM_ERROR_UNSUPPORTED, lto, &options, "/nowhere/libnvJitLink.so.12 cannot be used as nvJitLink");
  CHECK_OK(cushim_program_destroy(ptx));
  CHECK_OK(cushim_program_destroy(lto));
}

static void finds(void) {
  char *before = strdup(getenv("CUSHIM_NVJITLINK")), text[256];
  cushim_program lto = compiled(kernel_text, "kernel.cu", CUSHIM_CODE_LTO_IR);
  uint32_t version = 0;
  size_t needed = 0;
  CHECK_OK(cushim_driver_find_linker(all.driver, &version, text, sizeof text, &needed));
  CHECK(version == 11040 && needed > 1);
  CHECK_CONTAINS(text, "nvjitlink");
  CHECK_OK(cushim_driver_find_linker(all.driver, NULL, NULL, 0, NULL));
  setenv("CUSHIM_NVJITLINK", "/nowhere/libnvJitLink.so.12", 1);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_driver_find_linker(all.driver, &version, text, sizeof text, &needed));
  CHECK(version == 0 && needed == 0 && text[0] == 0);
  CHECK_CONTAINS(last_message(), "name another library in CUSHIM_NVJITLINK");
  refused(CUSHIM_ERROR_UNSUPPORTED, lto, NULL, "/nowhere/libnvJitLink.so.12: ");
  CHECK_CONTAINS(last_message(), "links code of CUDA 11.4");
  setenv("CUSHIM_NVJITLINK", before, 1);
  free(before);
  CHECK_OK(cushim_program_destroy(lto));
}

int main(void) {
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    cushim_link_options options = CUSHIM_OPTIONS(cushim_link_options);
    const cushim_link_code code = {function_text, sizeof function_text, "function.ptx"};
    options.codes = &code;
    options.code_count = 1;
    refused(CUSHIM_ERROR_UNSUPPORTED, NULL, &options, "none");
  } else if (getenv("CUSHIM_NVRTC") != NULL && getenv("CUSHIM_NVJITLINK") != NULL) {
    forms();
    codes();
    what_is_refused();
    finds();
  }
  close_objects(&all);
  return check_done();
}
