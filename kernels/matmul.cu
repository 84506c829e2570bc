// c = a b of n by n matrices, n divisible by 16, in tiles.
extern "C" __global__ void matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float left[16][16], right[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    left[y][x] = a[row * n + tile + x];
    right[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void matmul_double(int n, const double *a, const double *b, double *c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  double sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// Of bytes, into numbers of 32 bits; n divisible by 4, b transposed.
extern "C" __global__ void matmul_bytes(int n, const int *a, const int *b, int *c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, sum = 0;
  for (int k = 0; k < n / 4; k++)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a[row * (n / 4) + k]), "r"(b[column * (n / 4) + k]));
  c[row * n + column] = sum;
}
