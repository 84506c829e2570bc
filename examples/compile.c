/* saxpy.c with its kernel in CUDA C++, which NVRTC compiles when the program runs: `pip install nvidia-cuda-nvrtc-cu12` has it. */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "template <class T> __global__ void saxpy(unsigned n, T a, const T *x, T *y) {\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

enum { N = 100000, THREADS = 256 };
static float x[N], y[N];

static void check(cushim_status status, const char *what) {
  static cushim_error_detail detail;
  if (status == CUSHIM_SUCCESS) return;
  detail.struct_size = sizeof detail;
  cushim_last_error(&detail);
  fprintf(stderr, "%s: %s\n%s", what, detail.message, detail.driver_log); /* the log has all that the compiler said */
  exit(1);
}

static void copy(cushim_stream stream, cushim_endpoint to, cushim_endpoint from) {
  check(cushim_stream_copy(stream, &to, &from, sizeof x), "copy");
}

int main(void) {
  static const char *const names[] = {"saxpy<float>"};
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_driver driver;
  cushim_device gpu;
  cushim_context context;
  cushim_stream stream;
  cushim_program program;
  cushim_library library;
  cushim_kernel saxpy;
  cushim_arg args[4];
  uint64_t device_x, device_y;
  uint32_t i, n = N, wrong = 0;
  float a = 2.0f;

  for (i = 0; i < n; i++) x[i] = (float)i, y[i] = 1.0f;

  check(cushim_driver_open(NULL, &driver), "driver");
  check(cushim_driver_get_device(driver, 0, &gpu), "device");
  check(cushim_context_retain_primary(gpu, &context), "context");
  check(cushim_stream_create(context, NULL, &stream), "stream");

  options.name = "saxpy.cu";
  options.name_expressions = names;
  options.name_expression_count = 1;
  check(cushim_program_compile(gpu, source, &options, &program), "compile");
  check(cushim_library_load_program(context, program, NULL, &library), "library");
  check(cushim_kernel_create(library, "saxpy<float>", &saxpy), "kernel");

  check(cushim_stream_allocate(stream, sizeof x, &device_x), "x");
  check(cushim_stream_allocate(stream, sizeof y, &device_y), "y");
  copy(stream, cushim_endpoint_device(device_x), cushim_endpoint_host(x));
  copy(stream, cushim_endpoint_device(device_y), cushim_endpoint_host(y));

  args[0] = CUSHIM_ARG(n);
  args[1] = CUSHIM_ARG(a);
  args[2] = CUSHIM_ARG(device_x);
  args[3] = CUSHIM_ARG(device_y);
  config.grid.x = (n + THREADS - 1) / THREADS;
  config.block.x = THREADS;
  check(cushim_kernel_launch(saxpy, stream, &config, args, 4), "launch");

  copy(stream, cushim_endpoint_host(y), cushim_endpoint_device(device_y));
  check(cushim_stream_free(stream, device_x), "free");
  check(cushim_stream_free(stream, device_y), "free");
  check(cushim_stream_synchronize(stream), "wait");

  for (i = 0; i < n; i++) wrong += y[i] != a * (float)i + 1.0f;
  printf("%u numbers, %u wrong; the last is %.1f\n", n, wrong, y[n - 1]);

  check(cushim_kernel_destroy(saxpy), "kernel");
  check(cushim_library_destroy(library), "library");
  check(cushim_program_destroy(program), "program");
  check(cushim_stream_destroy(stream), "stream");
  check(cushim_context_destroy(context), "context");
  check(cushim_driver_destroy(driver), "driver");
  return wrong != 0;
}
