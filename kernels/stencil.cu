// Heat: one step in a plane whose rim stays. A block's part lies in shared memory, with a rim of its own.
extern "C" __global__ void stencil(int width, int height, float rate, const float *in, float *out) {
  __shared__ float part[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int dy = threadIdx.y; dy < 18; dy += 16)
    for (int dx = threadIdx.x; dx < 18; dx += 16) {
      int from_x = min(max((int)blockIdx.x * 16 + dx - 1, 0), width - 1);
      int from_y = min(max((int)blockIdx.y * 16 + dy - 1, 0), height - 1);
      part[dy][dx] = in[from_y * width + from_x];
    }
  __syncthreads();
  if (x >= width || y >= height) return;
  float (*here)[18] = &part[threadIdx.y + 1];
  int c = threadIdx.x + 1;
  bool rim = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  float around = here[-1][c] + here[1][c] + here[0][c - 1] + here[0][c + 1];
  out[y * width + x] = rim ? here[0][c] : fmaf(rate, fmaf(-4.0f, here[0][c], around), here[0][c]);
}

// Life: a cell lives on with two or three neighbours, and is born with three. The plane is a torus.
extern "C" __global__ void life(int width, int height, const unsigned char *in, unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, around = 0;
  if (x >= width || y >= height) return;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx != 0 || dy != 0) around += in[(y + dy + height) % height * width + (x + dx + width) % width];
  out[y * width + x] = around == 3 || (around == 2 && in[y * width + x]);
}
