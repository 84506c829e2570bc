// The kernels of bisection.c and bisection.cpp in CUDA C++.

// The driver's own, since 12.3: nothing has to be linked.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long condition, unsigned value);

// What the kernels work on: the ends of the interval, its middle, and the function there.
struct numbers {
  double low, high, x, f;
};

// The middle and the function there; the condition says whether it is positive.
extern "C" __global__ void halve(unsigned long long condition, numbers *numbers) {
  const double x = (numbers->low + numbers->high) * 0.5;
  numbers->x = x;
  numbers->f = x * x * x - x - 2;
  cudaGraphSetConditional(condition, numbers->f > 0);
}

// The condition says whether the interval is wider than that.
extern "C" __global__ void judge(unsigned long long condition, const numbers *numbers, double width) {
  cudaGraphSetConditional(condition, numbers->high - numbers->low > width);
}

// The condition says whether the function is nearly zero in the middle.
extern "C" __global__ void inspect(unsigned long long condition, const numbers *numbers, double width) {
  cudaGraphSetConditional(condition, fabs(numbers->f) < width);
}
