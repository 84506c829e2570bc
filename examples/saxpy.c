/* y = a x + y on a device: loads a kernel from PTX, launches it in a stream, and checks what comes back. */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {\n"
    "  .reg .pred %beyond;\n"
    "  .reg .u32 %n, %block, %threads, %thread, %i;\n"
    "  .reg .f32 %a, %xi, %yi;\n"
    "  .reg .u64 %x, %y, %offset;\n"
    "  ld.param.u32 %n, [n];\n"
    "  ld.param.f32 %a, [a];\n"
    "  ld.param.u64 %x, [x];\n"
    "  ld.param.u64 %y, [y];\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %thread;\n"
    "  setp.ge.u32 %beyond, %i, %n;\n"
    "  @%beyond bra done;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %x, %x, %offset;\n"
    "  add.u64 %y, %y, %offset;\n"
    "  ld.global.f32 %xi, [%x];\n"
    "  ld.global.f32 %yi, [%y];\n"
    "  fma.rn.f32 %yi, %a, %xi, %yi;\n"
    "  st.global.f32 [%y], %yi;\n"
    "done:\n"
    "  ret;\n"
    "}\n";

enum { N = 100000, THREADS = 256 };
static float x[N], y[N];

static void check(cushim_status status, const char *what) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, cushim_last_error_message());
  exit(1);
}

static cushim_endpoint host(void *address) {
  cushim_endpoint place = {0};
  place.kind = CUSHIM_ENDPOINT_HOST;
  place.address = (uint64_t)(uintptr_t)address;
  return place;
}

static cushim_endpoint device(uint64_t pointer) {
  cushim_endpoint place = {0};
  place.kind = CUSHIM_ENDPOINT_DEVICE;
  place.address = pointer;
  return place;
}

static void copy(cushim_stream stream, cushim_endpoint to, cushim_endpoint from, size_t bytes) {
  check(cushim_stream_copy(stream, &to, &from, bytes), "copy");
}

static cushim_arg bytes(const void *value, uint32_t size) {
  cushim_arg arg = {CUSHIM_ARG_BYTES, 0, NULL};
  arg.size = size;
  arg.value = value;
  return arg;
}

int main(void) {
  cushim_driver driver;
  cushim_device gpu;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_kernel saxpy;
  uint64_t device_x, device_y;
  uint32_t i, n = N, wrong = 0;
  float a = 2.0f;
  cushim_launch_config config = {0};
  cushim_arg args[4];

  for (i = 0; i < n; i++) x[i] = (float)i, y[i] = 1.0f;

  check(cushim_driver_open(NULL, &driver), "driver");
  check(cushim_driver_get_device(driver, 0, &gpu), "device");
  check(cushim_context_retain_primary(gpu, &context), "context");
  check(cushim_stream_create(context, NULL, &stream), "stream");
  check(cushim_library_load(context, ptx, sizeof ptx, NULL, &library), "library");
  check(cushim_kernel_create(library, "saxpy", &saxpy), "kernel");

  check(cushim_stream_allocate(stream, sizeof x, &device_x), "x");
  check(cushim_stream_allocate(stream, sizeof y, &device_y), "y");
  copy(stream, device(device_x), host(x), sizeof x);
  copy(stream, device(device_y), host(y), sizeof y);

  args[0] = bytes(&n, sizeof n);
  args[1] = bytes(&a, sizeof a);
  args[2] = bytes(&device_x, sizeof device_x);
  args[3] = bytes(&device_y, sizeof device_y);
  config.struct_size = sizeof config;
  config.grid.x = (n + THREADS - 1) / THREADS;
  config.block.x = THREADS;
  check(cushim_kernel_launch(saxpy, stream, &config, args, 4), "launch");

  copy(stream, host(y), device(device_y), sizeof y);
  check(cushim_stream_free(stream, device_x), "free");
  check(cushim_stream_free(stream, device_y), "free");
  check(cushim_stream_synchronize(stream), "wait");

  for (i = 0; i < n; i++) wrong += y[i] != a * (float)i + 1.0f;
  printf("%u numbers, %u wrong; the last is %.1f\n", n, wrong, y[n - 1]);

  check(cushim_kernel_destroy(saxpy), "kernel");
  check(cushim_library_destroy(library), "library");
  check(cushim_stream_destroy(stream), "stream");
  check(cushim_context_destroy(context), "context");
  check(cushim_driver_destroy(driver), "driver");
  return wrong != 0;
}
