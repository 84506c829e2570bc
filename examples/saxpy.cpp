// saxpy.c in C++: y = a x + y on a device. Loads a kernel from PTX, launches it in a stream, and checks what comes back.
#include <cushim.hpp>

#include <cstdio>
#include <numeric>

namespace {

constexpr char ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {
  .reg .pred %beyond;
  .reg .u32 %n, %block, %threads, %thread, %i;
  .reg .f32 %a, %xi, %yi;
  .reg .u64 %x, %y, %offset;
  ld.param.u32 %n, [n];
  ld.param.f32 %a, [a];
  ld.param.u64 %x, [x];
  ld.param.u64 %y, [y];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  setp.ge.u32 %beyond, %i, %n;
  @%beyond bra done;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %x, %x, %offset;
  add.u64 %y, %y, %offset;
  ld.global.f32 %xi, [%x];
  ld.global.f32 %yi, [%y];
  fma.rn.f32 %yi, %a, %xi, %yi;
  st.global.f32 [%y], %yi;
done:
  ret;
}
)";

constexpr std::uint32_t n = 100000, threads = 256;

int run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};
  const cushim::library library = cushim::library::load(context, ptx);
  // The types of its parameters: the compiler counts and converts the arguments.
  const auto saxpy = library.get_typed_kernel<std::uint32_t, float, cushim::address, cushim::address>("saxpy");

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
