// The CUDA runtime and cushim in one program: a kernel that the runtime launches and one that cushim loads from a fatbin
// work on the same memory, in the same stream, of the same context. ./build makes it; it needs a GPU to run.
#include <cuda_runtime.h>
#include <cushim.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "add.fatbin.h"  // add_fatbin, made by ./build from add.cu

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "runtime: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  std::fprintf(stderr, "cushim: %s\n", cushim_last_error_message());
  std::exit(1);
}

__global__ void count_up(float *numbers, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = i;
}

// What cushim holds: the driver that the runtime opened, the context that it uses, its stream, and the fatbin's kernel.
struct Shim {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_kernel add;

  Shim(int ordinal, cudaStream_t runtime_stream) {
    check(cushim_driver_open(nullptr, &driver));
    check(cushim_driver_get_device(driver, ordinal, &device));
    // The runtime works in the device's primary context.
    check(cushim_context_retain_primary(device, &context));
    // cudaStream_t and CUstream are the same pointer. The runtime's stream stays the runtime's to destroy.
    check(cushim_stream_wrap(context, runtime_stream, CUSHIM_BORROWED, &stream));
    check(cushim_library_load(context, add_fatbin, sizeof add_fatbin, nullptr, &library));
    check(cushim_kernel_create(library, "add", &add));
  }

  ~Shim() {
    check(cushim_kernel_destroy(add));
    check(cushim_library_destroy(library));
    check(cushim_stream_destroy(stream));
    check(cushim_context_destroy(context));
    check(cushim_driver_destroy(driver));
  }

  void launch_add(unsigned blocks, unsigned threads, float *numbers, float value, unsigned count) {
    cushim_arg args[] = {
        {CUSHIM_ARG_BYTES, sizeof numbers, &numbers},
        {CUSHIM_ARG_BYTES, sizeof value, &value},
        {CUSHIM_ARG_BYTES, sizeof count, &count},
    };
    cushim_launch_config config = {};
    config.struct_size = sizeof config;
    config.grid.x = blocks;
    config.block.x = threads;
    check(cushim_kernel_launch(add, stream, &config, args, 3));
  }
};

int main() {
  const unsigned count = 1000000, threads = 256, blocks = (count + threads - 1) / threads;
  const float value = 0.5f;
  std::vector<float> result(count);
  cudaStream_t stream;
  float *numbers;

  check(cudaSetDevice(0));
  check(cudaStreamCreate(&stream));
  check(cudaMalloc(&numbers, count * sizeof *numbers));
  {
    Shim shim(0, stream);
    // Nothing here waits: the stream keeps the three in order.
    count_up<<<blocks, threads, 0, stream>>>(numbers, count);
    check(cudaGetLastError());
    shim.launch_add(blocks, threads, numbers, value, count);
    check(cudaMemcpyAsync(result.data(), numbers, count * sizeof *numbers, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
  }

  // What cushim let go of the runtime still has.
  check(cudaFree(numbers));
  check(cudaStreamDestroy(stream));

  unsigned wrong = 0;
  for (unsigned i = 0; i < count; i++) wrong += result[i] != i + value;
  std::printf("%u numbers, %u wrong: counted by the runtime's kernel, raised by the fatbin's\n", count, wrong);
  return wrong != 0;
}
