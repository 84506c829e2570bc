// How many steps it takes to leave. The operations are named, so that none are fused.
extern "C" __global__ void mandelbrot(int width, int height, int limit, unsigned short *steps) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
  if (px >= width || py >= height) return;
  float cx = __fsub_rn(__fdiv_rn(__fmul_rn(3.0f, px), width), 2.0f);
  float cy = __fsub_rn(__fdiv_rn(__fmul_rn(2.0f, py), height), 1.0f);
  float x = 0, y = 0;
  while (n < limit) {
    float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
    if (__fadd_rn(xx, yy) > 4.0f) break;
    y = __fmaf_rn(__fadd_rn(x, x), y, cy);
    x = __fadd_rn(__fsub_rn(xx, yy), cx);
    n++;
  }
  steps[py * width + px] = n;
}

extern "C" __global__ void mandelbrot_double(int width, int height, int limit, unsigned short *steps) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
  if (px >= width || py >= height) return;
  double cx = __dsub_rn(__ddiv_rn(__dmul_rn(3.0, px), width), 2.0);
  double cy = __dsub_rn(__ddiv_rn(__dmul_rn(2.0, py), height), 1.0);
  double x = 0, y = 0;
  while (n < limit) {
    double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
    if (__dadd_rn(xx, yy) > 4.0) break;
    y = __fma_rn(__dadd_rn(x, x), y, cy);
    x = __dadd_rn(__dsub_rn(xx, yy), cx);
    n++;
  }
  steps[py * width + px] = n;
}
