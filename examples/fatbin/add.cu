// The kernel that the program carries as a fatbin, and loads itself.
extern "C" __global__ void add(float *numbers, float value, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] += value;
}
