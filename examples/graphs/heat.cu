// The kernels of heat.c and heat.cpp in CUDA C++.

// The driver's own, since 12.3: nothing has to be linked.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long condition, unsigned value);

// One step of the heat: to = from + (left - 2 from + right) / 4; both ends stay as they are.
extern "C" __global__ void step(float *to, const float *from, unsigned cells) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, last = cells - 1;
  if (i > last) return;
  const float here = from[i];
  to[i] = i == 0 || i == last ? here : here + (from[i - 1] + from[i + 1] - here * 2) * 0.25f;
}

// Whether it goes on. One thread looks at all cells, which are few. It counts the rounds, and goes on while a cell changes and rounds are left.
extern "C" __global__ void judge(unsigned long long condition, const float *now, const float *before, unsigned *rounds, unsigned most,
                                 unsigned cells, float tolerance) {
  float most_change = 0;
  for (unsigned i = 0; i < cells; i++) most_change = fmaxf(most_change, fabsf(now[i] - before[i]));
  *rounds += 1;
  cudaGraphSetConditional(condition, most_change > tolerance && *rounds < most);
}
