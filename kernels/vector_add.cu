// One element a thread.
extern "C" __global__ void vector_add(int n, const float *a, const float *b, float *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

// As many elements as it takes, whatever the grid.
extern "C" __global__ void vector_add_strided(int n, const double *a, const double *b, double *sum) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum[i] = a[i] + b[i];
}

// A whole vector register of numbers at a time.
extern "C" __global__ void vector_add_four(int n, const int4 *a, const int4 *b, int4 *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int4 x = a[i], y = b[i];
  sum[i] = make_int4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
