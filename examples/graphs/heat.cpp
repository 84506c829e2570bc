// heat.c in C++: heat spreads in a rod. A graph allocates two rows of cells, steps from one to the other in a loop until hardly anything
// changes, and frees them; it is built once and launched once. It prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>

namespace {

constexpr std::uint32_t cells = 64, threads = 32, most_rounds = 2000;
constexpr float tolerance = 4e-3f;
using row = std::array<float, cells>;

// Two kernels: one step of the heat, and the question whether it goes on.
constexpr char ptx[] = R"(.version 8.3
.target sm_80
.address_size 64
// The driver's own: nothing has to be linked.
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
// to[i] = from[i] + (from[i - 1] - 2 from[i] + from[i + 1]) / 4; both ends stay as they are.
.visible .entry step(.param .u64 to, .param .u64 from, .param .u32 cells) {
  .reg .pred %end;
  .reg .u32 %block, %threads, %thread, %i, %last;
  .reg .u64 %to, %from, %offset;
  .reg .f32 %left, %here, %right;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  ld.param.u32 %last, [cells];
  sub.u32 %last, %last, 1;
  setp.gt.u32 %end, %i, %last;
  @%end bra done;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  mul.wide.u32 %offset, %i, 4;
  add.u64 %to, %to, %offset;
  add.u64 %from, %from, %offset;
  ld.global.f32 %here, [%from];
  setp.eq.u32 %end, %i, 0;
  @%end bra store;
  setp.eq.u32 %end, %i, %last;
  @%end bra store;
  ld.global.f32 %left, [%from + -4];
  ld.global.f32 %right, [%from + 4];
  add.rn.f32 %left, %left, %right;
  mul.rn.f32 %right, %here, 0f40000000; // 2
  sub.rn.f32 %left, %left, %right;
  mul.rn.f32 %left, %left, 0f3E800000; // 1/4
  add.rn.f32 %here, %here, %left;
store:
  st.global.f32 [%to], %here;
done:
  ret;
}
// One thread looks at all cells, which are few. It counts the rounds, and goes on while a cell changes and rounds are left.
.visible .entry judge(.param .u64 condition, .param .u64 now, .param .u64 before, .param .u64 rounds, .param .u32 most,
                      .param .u32 cells, .param .f32 tolerance) {
  .reg .pred %p, %more;
  .reg .u32 %i, %cells, %rounds, %most, %value;
  .reg .u64 %now, %before, %count, %condition;
  .reg .f32 %a, %b, %most_change, %tolerance;
  ld.param.u64 %now, [now];
  ld.param.u64 %before, [before];
  ld.param.u64 %count, [rounds];
  ld.param.u32 %cells, [cells];
  ld.param.u32 %most, [most];
  ld.param.f32 %tolerance, [tolerance];
  mov.f32 %most_change, 0f00000000;
  mov.u32 %i, 0;
next:
  ld.global.f32 %a, [%now];
  ld.global.f32 %b, [%before];
  sub.rn.f32 %a, %a, %b;
  abs.f32 %a, %a;
  max.f32 %most_change, %most_change, %a;
  add.u64 %now, %now, 4;
  add.u64 %before, %before, 4;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %cells;
  @%p bra next;
  ld.global.u32 %rounds, [%count];
  add.u32 %rounds, %rounds, 1;
  st.global.u32 [%count], %rounds;
  setp.lt.u32 %p, %rounds, %most;
  setp.gt.and.f32 %more, %most_change, %tolerance, %p;
  selp.u32 %value, 1, 0, %more;
  ld.param.u64 %condition, [condition];
  {
  .param .b64 handle;
  .param .b32 number;
  st.param.b64 [handle], %condition;
  st.param.b32 [number], %value;
  call.uni cudaGraphSetConditional, (handle, number);
  }
  ret;
}
)";

// The same on the host, operation by operation: the results are equal to the last bit.
std::uint32_t on_the_host(row &a) {
  row b = a;
  for (std::uint32_t rounds = 1;; rounds++) {
    const auto step = [](row &to, const row &from) {
      for (std::size_t i = 1; i + 1 < cells; i++) {
        const float sum = from[i - 1] + from[i + 1], twice = from[i] * 2, curve = sum - twice, quarter = curve * 0.25f;
        to[i] = from[i] + quarter;
      }
    };
    step(b, a);
    step(a, b);
    float most_change = 0;
    for (std::size_t i = 0; i < cells; i++) {
      const float change = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
      if (change > most_change) most_change = change;
    }
    if (rounds >= most_rounds || most_change <= tolerance) return rounds;
  }
}

struct result {
  float cells[::cells];
  std::uint32_t rounds;
};

// Everything that the program does on the device. The graph keeps what it uses: kernels may go as soon as it is built.
cushim::graph build(cushim::context_ref context, cushim::library_ref library, cushim::event_ref begun, cushim::event_ref ended,
                    const row &start, result &result, bool &called) {
  const cushim::kernel step = library.get_kernel("step"), judge = library.get_kernel("judge");
  const cushim::launch_config all_cells{cells / threads, threads};

  cushim::graph graph{context};
  graph.set_label("heat");
  const auto more = graph.create_condition(1);

  // Memory that is allocated when the graph is launched; the addresses are known now.
  const auto a = graph.add_allocation(sizeof(row));
  const auto b = graph.after(a).add_allocation(sizeof(row));
  const auto rounds = graph.after(b).add_allocation(sizeof(std::uint32_t));

  // The graph has a copy of the cells at the start.
  const auto filled = graph.after(rounds).add_copy(cushim::endpoint::device(a.pointer), cushim::host_source(start).keep_bytes());
  const auto zeroed = graph.after(rounds).add_fill<std::uint32_t>(cushim::endpoint::device(rounds.pointer), 0, 1);
  const auto ready = graph.after(filled, zeroed).add_event_record(begun);

  // A round: two steps, there and back, as a child graph; then the question whether there is another round.
  const auto loop = graph.after(ready).add_while(more);
  loop.set_label("until it is even");
  const cushim::graph steps{context};
  const auto there = steps.add_kernel(step, all_cells, b.pointer, a.pointer, cells);
  steps.after(there).add_kernel(step, all_cells, a.pointer, b.pointer, cells);
  const auto both = loop.body.add_child(steps);
  both.inner.set_label("there and back");
  loop.body.after(both).add_kernel(judge, {}, more, a.pointer, b.pointer, rounds.pointer, most_rounds, cells, tolerance);

  const auto over = graph.after(loop).add_event_record(ended);
  const auto cells_back =
      graph.after(over).add_copy(cushim::endpoint::host(result.cells).caller_keeps(), cushim::endpoint::device(a.pointer), sizeof(row));
  const auto rounds_back = graph.after(over).add_copy(cushim::endpoint::host(&result.rounds).caller_keeps(),
                                                      cushim::endpoint::device(rounds.pointer), sizeof result.rounds);
  const auto said = graph.after(cells_back, rounds_back).add_host_function([&called] { called = true; });
  for (const cushim::address pointer : {a.pointer, b.pointer, rounds.pointer}) graph.after(said).add_free(pointer);
  return graph;
}

int run(const char *json) {
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  const cushim::stream stream{context};
  const auto page = context.allocate_host<result>(1);
  result &result = page[0];
  row start{};
  for (std::size_t i = cells / 4; i < cells / 2; i++) start[i] = 100; // a hot part
  start[cells - 1] = 20;                                              // and a warm end, which stays warm
  const cushim::timed_event begun{context}, ended{context};
  bool called = false;

  cushim::library library = cushim::library::load(context, kernels(context, ptx));
  cushim::graph graph = build(context, library, begun, ended, start, result, called);
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  const cushim::exec exec = graph.instantiate();
  library.destroy();
  graph.destroy();
  exec.launch(stream);
  stream.sync();

  const std::chrono::nanoseconds took = ended - begun;
  const std::uint32_t rounds = on_the_host(start);
  unsigned wrong = 0;
  for (std::size_t i = 0; i < cells; i++) wrong += result.cells[i] != start[i];
  std::printf("%u rounds; on the host %u\n", result.rounds, rounds);
  std::printf("%u cells, %u differ from the host's; the middle has %.3f degrees\n", cells, wrong,
              static_cast<double>(result.cells[cells / 2]));
  std::printf("called back: %s; the loop took time: %s\n", called ? "yes" : "no", took.count() >= 0 ? "yes" : "no");
  return wrong != 0 || result.rounds != rounds;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: heat [--json FILE]\n\nSpreads heat in a rod, in a graph with a loop. With --json it writes the graph to\n"
        "FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && option == "--help" ? 0 : 2;
  }
  try {
    return run(argc == 3 ? argv[2] : nullptr);
  } catch (const cushim::error &error) {
    // What the driver lacks: functions, or the version of the code.
    if (error.status() == CUSHIM_ERROR_UNSUPPORTED || error.status() == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
      std::printf("a loop in a graph needs a driver for CUDA 12.3 or newer\n");
      return 0;
    }
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
