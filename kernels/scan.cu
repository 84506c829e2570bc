// Running sums within blocks of 256, and each block's total.
extern "C" __global__ void scan_blocks(int n, const int *in, int *out, int *totals) {
  __shared__ int row[2][256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, now = 0;
  row[0][t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int distance = 1; distance < 256; distance *= 2) {
    row[1 - now][t] = row[now][t] + (t >= distance ? row[now][t - distance] : 0);
    now = 1 - now;
    __syncthreads();
  }
  if (i < n) out[i] = row[now][t];
  if (t == 255) totals[blockIdx.x] = row[now][t];
}

// The totals of up to 1024 blocks: shuffles within warps, then between them.
extern "C" __global__ void scan_totals(int n, int *totals) {
  __shared__ int warps[32];
  int t = threadIdx.x, lane = t % 32, x = t < n ? totals[t] : 0;
  for (int distance = 1; distance < 32; distance *= 2) {
    int below = __shfl_up_sync(0xffffffff, x, distance);
    if (lane >= distance) x += below;
  }
  if (lane == 31) warps[t / 32] = x;
  __syncthreads();
  if (t < 32) {
    int sum = warps[t];
    for (int distance = 1; distance < 32; distance *= 2) {
      int below = __shfl_up_sync(0xffffffff, sum, distance);
      if (lane >= distance) sum += below;
    }
    warps[t] = sum;
  }
  __syncthreads();
  if (t >= 32) x += warps[t / 32 - 1];
  if (t < n) totals[t] = x;
}

extern "C" __global__ void scan_add(int n, int *out, const int *totals) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += totals[blockIdx.x - 1];
}
