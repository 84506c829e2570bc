// The kernel of stencil.c and stencil.cpp in CUDA C++.

// to = the mean of the four neighbours in from; the rim stays as it is. One thread for each cell.
extern "C" __global__ void step(float *to, const float *from, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * width + x;
  const bool is_rim = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  to[i] = is_rim ? from[i] : (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]) * 0.25f;
}
