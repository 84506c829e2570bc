// compile.c in C++: saxpy.cpp with its kernel in CUDA C++, which is compiled when the program runs.
#include <cushim.hpp>

#include <cstdio>
#include <numeric>

namespace {

constexpr char source[] = R"(
template <class T> __global__ void saxpy(unsigned n, T a, const T *x, T *y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

constexpr std::uint32_t n = 100000, threads = 256;

int run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};

  cushim::compile_options options;
  options.name = "saxpy.cu";
  options.name_expressions = {"saxpy<float>"};
  const cushim::program program = cushim::program::compile(device, source, options);
  const cushim::library library = cushim::library::load(context, program);
  const auto saxpy = library.get_typed_kernel<std::uint32_t, float, cushim::address, cushim::address>("saxpy<float>");

  const float a = 2;
  std::vector<float> x(n), y(n, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);

  const cushim::buffer device_x = device.allocate(stream, n * sizeof(float)), device_y = device.allocate(stream, n * sizeof(float));
  stream.copy(device_x, x);
  stream.copy(device_y, y);
  saxpy.launch(stream, {(n + threads - 1) / threads, threads}, n, a, device_x, device_y);
  stream.copy(y, device_y);
  stream.sync();

  unsigned wrong = 0;
  for (std::uint32_t i = 0; i < n; i++) wrong += y[i] != a * x[i] + 1.0f;
  std::printf("%u numbers, %u wrong; the last is %.1f\n", n, wrong, static_cast<double>(y[n - 1]));
  return wrong != 0;
}

} // namespace

int main() {
  try {
    return run();
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n%s", error.what(), error.driver_log());
    return 1;
  }
}
