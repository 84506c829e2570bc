// hybrid.c in C++: Euclid's algorithm for many pairs of numbers, by a graph of which one part is captured and the other built by hand. What
// goes straight on is captured from a stream: the pairs come, a loop runs, the results go. The body of the loop is filled node by node. It
// prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>

namespace {

constexpr std::uint32_t threads = 32;
constexpr std::size_t pair_count = 96;

constexpr char ptx[] = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
// (a, b) becomes (b, a mod b), unless b is 0. Counts the pairs that are not done.
.visible .entry step(.param .u64 pairs, .param .u64 left) {
  .reg .pred %done;
  .reg .u32 %block, %threads, %i, %a, %b, %rest;
  .reg .u64 %pairs, %left, %offset;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  ld.param.u64 %pairs, [pairs];
  ld.param.u64 %left, [left];
  mul.wide.u32 %offset, %i, 8;
  add.u64 %pairs, %pairs, %offset;
  ld.global.u32 %a, [%pairs];
  ld.global.u32 %b, [%pairs + 4];
  setp.eq.u32 %done, %b, 0;
  @%done bra end;
  rem.u32 %rest, %a, %b;
  st.global.u32 [%pairs], %b;
  st.global.u32 [%pairs + 4], %rest;
  setp.eq.u32 %done, %rest, 0;
  @%done bra end;
  red.global.add.u32 [%left], 1;
end:
  ret;
}
// Counts the rounds; there is another one while pairs are left. One thread.
.visible .entry judge(.param .u64 condition, .param .u64 left) {
  .reg .u32 %value, %rounds;
  .reg .u64 %condition, %left;
  ld.param.u64 %condition, [condition];
  ld.param.u64 %left, [left];
  ld.global.u32 %rounds, [%left + 4];
  add.u32 %rounds, %rounds, 1;
  st.global.u32 [%left + 4], %rounds;
  ld.global.u32 %value, [%left];
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

struct pair {
  std::uint32_t a, b;
};

// What is on the device: the pairs; how many are left to be done, and the number of rounds.
struct memory {
  cushim::buffer pairs, counts;
};

// By hand: three nodes, one after the other. The graph keeps the kernels.
void fill_body(cushim::graph_ref body, cushim::library_ref library, const memory &memory, cushim::condition_ref more) {
  const auto none_left = body.add_fill<std::uint32_t>(memory.counts, 0, 1);
  const auto stepped =
      body.after(none_left).add_kernel(library.get_kernel("step"), {pair_count / threads, threads}, memory.pairs, memory.counts);
  body.after(stepped).add_kernel(library.get_kernel("judge"), {}, more, memory.counts);
}

// Where the graph writes at each launch.
struct results {
  std::array<pair, pair_count> pairs;
  std::uint32_t rounds;
};

// Captured: the pairs come, the loop runs, the pairs and the number of rounds go.
cushim::graph build(cushim::context_ref context, cushim::library_ref library, const memory &memory,
                    const std::array<pair, pair_count> &pairs, results &results) {
  const cushim::builder builder{context};
  builder.begin();
  const cushim::stream_ref stream = builder.stream();
  const auto more = builder.create_condition(1);
  // The graph has a copy of the pairs, and begins with it at each launch.
  stream.copy(memory.pairs, cushim::host_source(pairs).keep_bytes());
  stream.fill<std::uint32_t>(memory.counts, 0);

  // The builder of a body that is never begun is only there for its graph.
  fill_body(builder.add_while(more).body.graph(), library, memory, more);

  // The capture goes on after the loop.
  stream.copy(cushim::host_target(results.pairs).caller_keeps(), memory.pairs);
  stream.copy(cushim::endpoint::host(&results.rounds).caller_keeps(), memory.counts.at(4), 4);
  cushim::graph graph = builder.end();
  graph.set_label("hybrid");
  return graph;
}

// The rounds that a pair takes; `result` is the greatest common divisor.
std::uint32_t on_the_host(pair pair, std::uint32_t &result) {
  std::uint32_t rounds = 0;
  for (; pair.b != 0; rounds++) pair = {pair.b, pair.a % pair.b};
  result = pair.a;
  return rounds;
}

int run(const char *json) {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};
  memory memory{device.allocate(stream, pair_count * sizeof(pair)), device.allocate(stream, 8)};
  const auto page = context.allocate_host<results>(1);
  std::array<pair, pair_count> pairs;
  for (std::uint32_t i = 0; i < pair_count; i++) pairs[i] = {1000003 * i + 12, 30030 * (i % 17 + 1)};

  cushim::library library = cushim::library::load(context, kernels(context, ptx));
  cushim::graph graph = build(context, library, memory, pairs, page[0]);
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  const cushim::exec exec = graph.instantiate();
  graph.destroy();
  library.destroy();
  memory = {};

  int wrong = 0;
  for (int launch = 1; launch <= 2; launch++) {
    std::uint32_t most = 0;
    exec.launch(stream);
    stream.sync();
    for (std::size_t i = 0; i < pair_count; i++) {
      std::uint32_t expected;
      const std::uint32_t took = on_the_host(pairs[i], expected);
      if (took > most) most = took;
      wrong += page[0].pairs[i].a != expected;
    }
    wrong += page[0].rounds != most;
    std::printf("launch %d: %u rounds, on the host %u; the last pair has %u; wrong so far: %d\n", launch, page[0].rounds, most,
                page[0].pairs[pair_count - 1].a, wrong);
  }
  return wrong != 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: hybrid [--json FILE]\n\nFinds greatest common divisors, by a graph that is captured but for the body of its loop. With "
        "--json it writes the graph to\n"
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
