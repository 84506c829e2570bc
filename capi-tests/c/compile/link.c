/*
 * CUDA C++ compiled by a real NVRTC and linked: to LTO IR and PTX, and on a GPU to cubins, by a real nvJitLink and by the driver; that the code
 * runs, and what is said where something is missing. CUSHIM_NVRTC and CUSHIM_NVJITLINK name both, or they are found. CHECK_LINKER is the CUDA
 * version that the linker is to be of; CHECK_REFUSED is what is said of a linker that does not do.
 */
#include "busy.h"

#include <stddef.h>

static struct objects all;

static const char kernel_source[] =
    "extern __device__ float factor;\n"
    "__device__ float scaled(float number);\n"
    "template <class T> __global__ void scale(T *numbers, unsigned count) {\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < count) numbers[i] = scaled(numbers[i]) + factor;\n"
    "}\n";
static const char function_source[] =
    "__device__ float factor = 3;\n"
    "__device__ float scaled(float number) { return number * factor; }\n";

enum { COUNT = 1000, THREADS = 128 };

static cushim_program compiled(const char *text, const char *name, int kind) {
  static const char *const expressions[] = {"scale<float>"}, *const options[] = {"-rdc=true"};
  cushim_compile_options it = CUSHIM_OPTIONS(cushim_compile_options);
  cushim_program program = NULL;
  it.kind = kind;
  it.name = name;
  it.options = options;
  it.option_count = kind != CUSHIM_CODE_LTO_IR;
  it.name_expressions = text == kernel_source ? expressions : NULL;
  it.name_expression_count = text == kernel_source;
  if (!CHECK_OK(cushim_program_compile(all.device, text, &it, &program))) exit(check_done());
  return program;
}

static cushim_program_properties properties_of(cushim_program program) {
  cushim_program_properties properties = CUSHIM_OPTIONS(cushim_program_properties);
  CHECK_OK(cushim_program_get_properties(program, &properties));
  return properties;
}

static void copy(cushim_endpoint to, cushim_endpoint from, size_t bytes) { CHECK_OK(cushim_stream_copy(all.stream, &to, &from, bytes)); }

/* Runs the kernel of the program, and looks at every number. */
static void runs(cushim_program program) {
  static float numbers[COUNT];
  const uint32_t count = COUNT;
  cushim_library library = NULL;
  cushim_kernel kernel = NULL;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_arg args[2];
  uint64_t memory = 0;
  size_t i, wrong = 0;
  CHECK_OK(cushim_library_load_program(all.context, program, NULL, &library));
  CHECK_OK(cushim_kernel_create(library, "scale<float>", &kernel));
  for (i = 0; i < COUNT; i++) numbers[i] = (float)i;
  CHECK_OK(cushim_context_allocate(all.context, sizeof numbers, &memory));
  copy(cushim_endpoint_device(memory), cushim_endpoint_host(numbers), sizeof numbers);
  args[0].kind = args[1].kind = CUSHIM_ARG_BYTES;
  args[0].size = sizeof memory;
  args[0].value = &memory;
  args[1].size = sizeof count;
  args[1].value = &count;
  config.grid.x = (COUNT + THREADS - 1) / THREADS;
  config.block.x = THREADS;
  CHECK_OK(cushim_kernel_launch(kernel, all.stream, &config, args, 2));
  copy(cushim_endpoint_host(numbers), cushim_endpoint_device(memory), sizeof numbers);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  for (i = 0; i < COUNT; i++) wrong += numbers[i] != (float)i * 3 + 3;
  CHECK(wrong == 0);
  CHECK_OK(cushim_context_free(all.context, memory));
  CHECK_OK(cushim_kernel_destroy(kernel));
  CHECK_OK(cushim_library_destroy(library));
}

/* Both in these forms: they become one, which runs. */
static void links(int kernel, int function) {
  static const char *const options[] = {"-lineinfo"};
  cushim_link_options it = CUSHIM_OPTIONS(cushim_link_options);
  cushim_program programs[2], linked = NULL;
  char line[256];
  programs[0] = compiled(kernel_source, "kernel.cu", kernel);
  programs[1] = compiled(function_source, "function.cu", function);
  it.name = "both";
  it.options = options;
  it.option_count = kernel == CUSHIM_CODE_LTO_IR;
  if (CHECK_OK(cushim_program_link(all.context, programs, 2, &it, &linked))) {
    CHECK_OK(cushim_describe(linked, line, sizeof line, NULL));
    fprintf(stderr, "%s\n", line);
    CHECK(properties_of(linked).kind == (is_software(all.driver) && kernel == function && kernel == CUSHIM_CODE_LTO_IR ? CUSHIM_CODE_PTX : CUSHIM_CODE_CUBIN));
    runs(linked);
    CHECK_OK(cushim_program_destroy(linked));
  }
  CHECK_OK(cushim_program_destroy(programs[0]));
  CHECK_OK(cushim_program_destroy(programs[1]));
}

/* The kernel alone calls what is not there: it is refused, and where the linker's log has its name, so has the error. */
static void mistakes(void) {
  static const int kinds[] = {CUSHIM_CODE_LTO_IR, CUSHIM_CODE_PTX};
  static const char *const unknown[] = {"--no-such-option"};
  size_t i;
  for (i = 0; i < 2; i++) {
    cushim_link_options options = CUSHIM_OPTIONS(cushim_link_options);
    cushim_program program = compiled(kernel_source, "kernel.cu", kinds[i]), none = (cushim_program)NOT_NULL;
    CHECK(cushim_program_link(all.context, &program, 1, NULL, &none) != CUSHIM_SUCCESS);
    CHECK(none == NULL);
    fprintf(stderr, "%s\n", last_message());
    CHECK(strstr(last_message(), "scaled") != NULL || strstr(last_message(), "factor") != NULL || strstr(last_message(), "standard error") != NULL);
    CHECK(last_detail()->driver_log[0] != 0);
    options.options = unknown;
    options.option_count = 1;
    if (kinds[i] == CUSHIM_CODE_LTO_IR) {
      CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_program_link(all.context, &program, 1, &options, &none));
      CHECK_CONTAINS(last_message(), "no-such-option");
    }
    CHECK_OK(cushim_program_destroy(program));
  }
}

/* A linker that does not do for what the compiler makes. */
static void is_refused(const char *says) {
  cushim_program program = compiled(function_source, "function.cu", CUSHIM_CODE_LTO_IR), none = (cushim_program)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_program_link(all.context, &program, 1, NULL, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), says);
  CHECK_OK(cushim_program_destroy(program));
}

int main(void) {
  uint32_t version = 0;
  char path[512];
  check_begin();
  alarm(240);
  all = open_objects();
  if (getenv("CHECK_REFUSED") != NULL) {
    is_refused(getenv("CHECK_REFUSED"));
  } else if (cushim_driver_find_linker(all.driver, &version, path, sizeof path, NULL) == CUSHIM_SUCCESS) {
    fprintf(stderr, "nvJitLink %u in %s\n", version, path);
    if (getenv("CHECK_LINKER") != NULL) CHECK(version == (uint32_t)given_number("CHECK_LINKER"));
    links(CUSHIM_CODE_LTO_IR, CUSHIM_CODE_LTO_IR);
    links(CUSHIM_CODE_PTX, CUSHIM_CODE_PTX);
    links(CUSHIM_CODE_LTO_IR, CUSHIM_CODE_PTX);
    if (!is_software(all.driver)) links(CUSHIM_CODE_CUBIN, CUSHIM_CODE_CUBIN);
    mistakes();
  } else {
    /* The driver links. */
    fprintf(stderr, "%s\n", last_message());
    links(CUSHIM_CODE_PTX, CUSHIM_CODE_PTX);
    if (!is_software(all.driver)) links(CUSHIM_CODE_CUBIN, CUSHIM_CODE_CUBIN);
    is_refused("pip install");
  }
  close_objects(&all);
  return check_done();
}
