/*
 * CUDA C++ compiled by a real NVRTC, which CUSHIM_NVRTC names or which is found: templates, headers, names, the log, the disk, and that the
 * code runs. CHECK_COMPILER is the CUDA version that it is to be of; without it any will do.
 */
#include "busy.h"

#include <stddef.h>
#include <sys/wait.h>

static struct objects all;

static const char source[] =
    "#include \"factor.h\"\n"
    "namespace parts {\n"
    "__device__ float offset = 0.5f;\n"
    "template <class T, int Threads> __global__ void scale(T *to, const T *from, unsigned count) {\n"
    "  __shared__ T part[Threads];\n"
    "  const unsigned i = blockIdx.x * Threads + threadIdx.x;\n"
    "  if (i < count) part[threadIdx.x] = from[i];\n"
    "  __syncthreads();\n"
    "  if (i < count) to[i] = part[threadIdx.x] * FACTOR + (T)offset;\n"
    "}\n"
    "}\n";

enum { COUNT = 1000, THREADS = 128 };
static const char kernel_name[] = "parts::scale<float, 128>", variable_name[] = "&parts::offset";

static cushim_compile_options scale_options(void) {
  static const cushim_compile_header header = {"factor.h", "#define FACTOR 3\n"};
  static const char *const options[] = {"--std=c++17", "-lineinfo"}, *const names[] = {"parts::scale<float, 128>", "&parts::offset"};
  cushim_compile_options it = CUSHIM_OPTIONS(cushim_compile_options);
  it.name = "scale.cu";
  it.options = options;
  it.option_count = 2;
  it.headers = &header;
  it.header_count = 1;
  it.name_expressions = names;
  it.name_expression_count = 2;
  return it;
}

static cushim_program compiled(const char *text, const cushim_compile_options *options) {
  cushim_program program = NULL;
  if (!CHECK_OK(cushim_program_compile(all.device, text, options, &program))) exit(check_done());
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
  static float numbers[COUNT], scaled[COUNT];
  const float offset = 0.25f;
  const uint32_t count = COUNT;
  cushim_library library = NULL;
  cushim_kernel kernel = NULL;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_arg args[3];
  uint64_t memory[2] = {0, 0}, variable = 0;
  size_t bytes = 0, i, wrong = 0;
  CHECK_OK(cushim_library_load_program(all.context, program, NULL, &library));
  CHECK_OK(cushim_kernel_create(library, kernel_name, &kernel));
  CHECK_OK(cushim_library_get_global(library, variable_name, &variable, &bytes));
  CHECK(bytes == sizeof offset);
  for (i = 0; i < COUNT; i++) numbers[i] = (float)i;
  for (i = 0; i < 2; i++) CHECK_OK(cushim_context_allocate(all.context, sizeof numbers, &memory[i]));
  copy(cushim_endpoint_device(memory[1]), cushim_endpoint_host(numbers), sizeof numbers);
  copy(cushim_endpoint_device(variable), cushim_endpoint_host((void *)(uintptr_t)&offset), sizeof offset);
  for (i = 0; i < 2; i++) args[i].kind = CUSHIM_ARG_BYTES, args[i].size = 8, args[i].value = &memory[i];
  args[2].kind = CUSHIM_ARG_BYTES;
  args[2].size = sizeof count;
  args[2].value = &count;
  config.grid.x = (COUNT + THREADS - 1) / THREADS;
  config.block.x = THREADS;
  CHECK_OK(cushim_kernel_launch(kernel, all.stream, &config, args, 3));
  copy(cushim_endpoint_host(scaled), cushim_endpoint_device(memory[0]), sizeof scaled);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  for (i = 0; i < COUNT; i++) wrong += scaled[i] != (float)i * 3 + offset;
  CHECK(wrong == 0);
  for (i = 0; i < 2; i++) CHECK_OK(cushim_context_free(all.context, memory[i]));
  CHECK_OK(cushim_kernel_destroy(kernel));
  CHECK_OK(cushim_library_destroy(library));
}

/* In the form that is best, and as PTX; the second time from disk. */
static void code(void) {
  cushim_compile_options options = scale_options();
  int round;
  for (round = 0; round < 4; round++) {
    cushim_program program;
    cushim_program_properties properties;
    char line[256];
    options.kind = round < 2 ? CUSHIM_CODE_DEFAULT : CUSHIM_CODE_PTX;
    program = compiled(source, &options);
    properties = properties_of(program);
    CHECK_OK(cushim_describe(program, line, sizeof line, NULL));
    fprintf(stderr, "%s%s\n", line, properties.was_cached ? ", from disk" : "");
    CHECK(properties.kind == (round >= 2 || is_software(all.driver) ? CUSHIM_CODE_PTX : CUSHIM_CODE_CUBIN));
    /* Where the form is the same, so is the entry on disk. */
    CHECK(properties.was_cached == (round == 1 || round == 3 || (round == 2 && is_software(all.driver))));
    if (getenv("CHECK_COMPILER") != NULL) CHECK(properties.compiler_version == (uint32_t)given_number("CHECK_COMPILER"));
    runs(program);
    CHECK_OK(cushim_program_destroy(program));
  }
}

static void mistakes(void) {
  static const char *const unknown[] = {"--no-such-option"};
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  cushim_program none = (cushim_program)NOT_NULL, program;
  char log[512];
  options.name = "wrong.cu";
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_program_compile(all.device, "__global__ void k(int *p) {\n  *p = missing;\n}\n", &options, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), "wrong.cu(2)");
  CHECK_CONTAINS(last_message(), "missing");
  CHECK_CONTAINS(last_detail()->driver_log, "1 error detected");
  program = compiled("__global__ void k(int *p) { int unused; }\n", &options);
  CHECK_OK(cushim_program_get_log(program, log, sizeof log, NULL));
  CHECK_CONTAINS(log, "wrong.cu(1): warning");
  CHECK_OK(cushim_program_destroy(program));
  options.options = unknown;
  options.option_count = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_program_compile(all.device, "", &options, &none));
  CHECK_CONTAINS(last_message(), "INVALID_OPTION");
  CHECK_CONTAINS(last_detail()->driver_log, "no-such-option");
}

/* Several processes that compile the same, with one folder. */
static void processes(const char *program) {
  enum { CHILDREN = 4 };
  pid_t children[CHILDREN];
  int i, status;
  for (i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      execl(program, program, "child", (char *)NULL);
      _exit(127);
    }
  }
  for (i = 0; i < CHILDREN; i++) {
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

int main(int argc, char **argv) {
  char folder[] = "/tmp/cushim-cache-XXXXXX", command[64];
  check_begin();
  alarm(240);
  if (argc == 1) {
    CHECK(mkdtemp(folder) != NULL);
    setenv("CUSHIM_CACHE", folder, 1);
  }
  all = open_objects();
  if (argc == 1) {
    code();
    mistakes();
    snprintf(command, sizeof command, "rm -r %s/*", folder);
    CHECK(system(command) == 0);
    processes(argv[0]);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
  } else {
    const cushim_compile_options options = scale_options();
    cushim_program program = compiled(source, &options);
    runs(program);
    CHECK_OK(cushim_program_destroy(program));
  }
  close_objects(&all);
  return check_done();
}
