// As much shared memory as the launch gives: numbers go in at one end and come out at the other.
extern __shared__ unsigned char raw[];

extern "C" __global__ void dynamic_shared(int n, const int *in, int *out) {
  int *here = (int *)raw;
  for (int i = threadIdx.x; i < n; i += blockDim.x) here[n - 1 - i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = here[i];
}

// Several arrays in it, beside a fixed one.
extern "C" __global__ void dynamic_parts(int n, const double *in, double *out) {
  __shared__ int fixed[32];
  double *numbers = (double *)raw;
  short *places = (short *)(numbers + n);
  int t = threadIdx.x;
  numbers[t] = in[t];
  places[t] = (t * 7) % n;
  if (t < 32) fixed[t] = t;
  __syncthreads();
  out[t] = numbers[places[t]] + fixed[t % 32];
}

extern "C" __global__ void dynamic_size(unsigned *sizes) {
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(sizes[0]));
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(sizes[1]));
}
