// The kernels of device_update.c and device_update.cpp in CUDA C++. NVRTC declares what they call, since 12.4, where code may yet be linked;
// it is NVIDIA's, in the static library libcudadevrt.a of the CUDA toolkit.

// Gives a node as many blocks, and as its first argument the number, as `wish` says; then `wish` has the two results.
extern "C" __global__ void decide(cudaGraphDeviceNode_t node, unsigned *wish) {
  const unsigned blocks = wish[0];
  const cudaError_t first = cudaGraphKernelNodeSetParam(node, 0, &wish[1], sizeof wish[1]);
  const cudaError_t second = cudaGraphKernelNodeSetGridDim(node, dim3(blocks));
  wish[0] = first;
  wish[1] = second;
}

// Each thread adds the number to the total.
extern "C" __global__ void count(unsigned number, unsigned *total) { atomicAdd(total, number); }
