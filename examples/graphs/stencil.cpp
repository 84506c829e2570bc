// stencil.c in C++: heat spreads in a plate. The steps of the solver are ordinary calls in a stream: they run once as they are, and once
// captured, which makes a graph of them. The graph is captured once and launched many times. It prints the same with every driver;
// CUSHIM_DRIVER=software needs no GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>

namespace {

constexpr std::uint32_t width = 64, height = 48, cells = width * height, threads = 16, steps = 4, launches = 50;
using plate = std::array<float, cells>;

// to = the mean of the four neighbours in from; the rim stays as it is. One thread for each cell.
constexpr char ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry step(.param .u64 to, .param .u64 from, .param .u32 width, .param .u32 height) {
  .reg .pred %rim;
  .reg .u32 %block, %threads, %x, %y, %width, %height, %last, %i, %row;
  .reg .u64 %to, %from, %offset, %above, %below;
  .reg .f32 %sum, %more;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %x, %tid.x;
  mad.lo.u32 %x, %block, %threads, %x;
  mov.u32 %block, %ctaid.y;
  mov.u32 %threads, %ntid.y;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %y, %block, %threads, %y;
  ld.param.u32 %width, [width];
  ld.param.u32 %height, [height];
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  mad.lo.u32 %i, %y, %width, %x;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %to, %to, %offset;
  add.u64 %from, %from, %offset;
  ld.global.f32 %sum, [%from];
  setp.eq.u32 %rim, %x, 0;
  @%rim bra store;
  setp.eq.u32 %rim, %y, 0;
  @%rim bra store;
  sub.u32 %last, %width, 1;
  setp.eq.u32 %rim, %x, %last;
  @%rim bra store;
  sub.u32 %last, %height, 1;
  setp.eq.u32 %rim, %y, %last;
  @%rim bra store;
  shl.b32 %row, %width, 2; // the bytes of a row
  cvt.u64.u32 %offset, %row;
  sub.u64 %above, %from, %offset;
  add.u64 %below, %from, %offset;
  ld.global.f32 %sum, [%from + -4];
  ld.global.f32 %more, [%from + 4];
  add.rn.f32 %sum, %sum, %more;
  ld.global.f32 %more, [%above];
  add.rn.f32 %sum, %sum, %more;
  ld.global.f32 %more, [%below];
  add.rn.f32 %sum, %sum, %more;
  mul.rn.f32 %sum, %sum, 0f3E800000; // 1/4
store:
  st.global.f32 [%to], %sum;
  ret;
}
)";

// An even number of steps, there and back, and a copy of the plate. It does not know whether the stream is captured.
void solve(cushim::stream_ref stream, cushim::kernel_ref step, cushim::buffer_ref now, cushim::buffer_ref next, float *result) {
  const cushim::launch_config config{{width / threads, height / threads}, {threads, threads}};
  for (std::uint32_t i = 0; i < steps; i += 2) {
    step.launch(stream, config, next, now, width, height);
    step.launch(stream, config, now, next, width, height);
  }
  // The page outlives the graph, which writes to it at each launch.
  stream.copy(cushim::endpoint::host(result).caller_keeps(), now, sizeof(plate));
}

// The same on the host, operation by operation: the results are equal to the last bit.
void on_the_host(plate &now, std::uint32_t count) {
  plate next = now;
  for (std::uint32_t i = 0; i < count; i++) {
    plate &to = i % 2 == 0 ? next : now;
    const plate &from = i % 2 == 0 ? now : next;
    for (std::size_t y = 1; y < height - 1; y++) {
      for (std::size_t x = 1; x < width - 1; x++) {
        const float *here = &from[y * width + x];
        const float beside = here[-1] + here[1], above = beside + *(here - width), all = above + here[width];
        to[y * width + x] = all * 0.25f;
      }
    }
  }
}

unsigned differing(const float *a, const plate &b) {
  unsigned count = 0;
  for (std::size_t i = 0; i < cells; i++) count += a[i] != b[i];
  return count;
}

int run(const char *json) {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};
  const auto page = context.allocate_host<float>(cells);
  cushim::library library = cushim::library::load(context, kernels(context, ptx));
  cushim::kernel step = library.get_kernel("step");
  cushim::buffer now = device.allocate(stream, sizeof(plate)), next = device.allocate(stream, sizeof(plate));
  plate start{};
  for (std::size_t x = 0; x < width; x++) start[x] = 100; // one side is hot, and stays hot
  stream.copy(now, start);

  // Directly: the driver is called for each step.
  solve(stream, step, now, next, page.data());
  stream.sync();
  on_the_host(start, steps);
  unsigned wrong = differing(page.data(), start);
  std::printf("%u steps, one call each: %u of %u cells differ from the host's\n", steps, wrong, cells);

  // As a graph: it goes on from there, with one call for each so many steps.
  cushim::graph graph = cushim::capture(context, [&](cushim::stream_ref captured) { solve(captured, step, now, next, page.data()); });
  graph.set_label("stencil");
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  const cushim::exec exec = graph.instantiate();
  // The graph keeps what it uses.
  graph.destroy();
  now.destroy();
  next.destroy();
  step.destroy();
  library.destroy();
  for (std::uint32_t i = 0; i < launches; i++) exec.launch(stream);
  stream.sync();
  on_the_host(start, steps * launches);
  const unsigned differ = differing(page.data(), start);
  std::printf("%u steps more in %u launches: %u cells differ; the middle has %.3f degrees\n", steps * launches, launches, differ,
              static_cast<double>(page[height / 2 * width + width / 2]));
  return wrong + differ != 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: stencil [--json FILE]\n\nSpreads heat in a plate, by a graph that is captured once. With --json it writes the graph to\n"
        "FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && option == "--help" ? 0 : 2;
  }
  try {
    return run(argc == 3 ? argv[2] : nullptr);
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
