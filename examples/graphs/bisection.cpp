// bisection.c in C++: finds the root of x^3 - x - 2 by bisection, in one launch of a graph: a loop around an if-else, and an if behind it.
// It prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>
#include <cstring>

namespace {

// The kernels work on five numbers: the ends of the interval, its middle, the function there, and whether the root was found.
constexpr char ptx[] = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
// The middle and the function there; the condition says whether it is positive.
.visible .entry halve(.param .u64 condition, .param .u64 numbers) {
  .reg .pred %p;
  .reg .u32 %value;
  .reg .u64 %condition, %numbers;
  .reg .f64 %low, %high, %x, %f;
  ld.param.u64 %numbers, [numbers];
  ld.global.f64 %low, [%numbers];
  ld.global.f64 %high, [%numbers + 8];
  add.rn.f64 %x, %low, %high;
  mul.rn.f64 %x, %x, 0d3FE0000000000000; // 1/2
  mul.rn.f64 %f, %x, %x;
  mul.rn.f64 %f, %f, %x;
  sub.rn.f64 %f, %f, %x;
  sub.rn.f64 %f, %f, 0d4000000000000000; // 2
  st.global.f64 [%numbers + 16], %x;
  st.global.f64 [%numbers + 24], %f;
  setp.gt.f64 %p, %f, 0d0000000000000000;
  {
  .param .b64 handle;
  .param .b32 number;
  ld.param.u64 %condition, [condition];
  st.param.b64 [handle], %condition;
  selp.u32 %value, 1, 0, %p;
  st.param.b32 [number], %value;
  call.uni cudaGraphSetConditional, (handle, number);
  }
  ret;
}
// The condition says whether the interval is wider than that.
.visible .entry judge(.param .u64 condition, .param .u64 numbers, .param .f64 width) {
  .reg .pred %p;
  .reg .u32 %value;
  .reg .u64 %condition, %numbers;
  .reg .f64 %low, %high, %width;
  ld.param.u64 %numbers, [numbers];
  ld.param.f64 %width, [width];
  ld.global.f64 %low, [%numbers];
  ld.global.f64 %high, [%numbers + 8];
  sub.rn.f64 %high, %high, %low;
  setp.gt.f64 %p, %high, %width;
  {
  .param .b64 handle;
  .param .b32 number;
  ld.param.u64 %condition, [condition];
  st.param.b64 [handle], %condition;
  selp.u32 %value, 1, 0, %p;
  st.param.b32 [number], %value;
  call.uni cudaGraphSetConditional, (handle, number);
  }
  ret;
}
// The condition says whether the function is nearly zero in the middle.
.visible .entry inspect(.param .u64 condition, .param .u64 numbers, .param .f64 width) {
  .reg .pred %p;
  .reg .u32 %value;
  .reg .u64 %condition, %numbers;
  .reg .f64 %f, %width;
  ld.param.u64 %numbers, [numbers];
  ld.param.f64 %width, [width];
  ld.global.f64 %f, [%numbers + 24];
  abs.f64 %f, %f;
  setp.lt.f64 %p, %f, %width;
  {
  .param .b64 handle;
  .param .b32 number;
  ld.param.u64 %condition, [condition];
  st.param.b64 [handle], %condition;
  selp.u32 %value, 1, 0, %p;
  st.param.b32 [number], %value;
  call.uni cudaGraphSetConditional, (handle, number);
  }
  ret;
}
)";

// Adds a kernel that sets a condition, with its arguments.
template <class Place, class... Arguments>
cushim::node_ref add_setter(const Place &where, cushim::library_ref library, const char *name, const Arguments &...arguments) {
  const auto node = where.add_kernel(library.get_kernel(name), {}, arguments...); // the graph keeps the kernel
  node.set_label(name);
  return node;
}

// One number becomes another.
void add_move(cushim::graph_ref graph, cushim::address to, cushim::address from) {
  graph.add_copy(cushim::endpoint::device(to), cushim::endpoint::device(from), sizeof(double));
}

cushim::graph build(cushim::context_ref context, cushim::library_ref library, cushim::address numbers, double width, double accuracy) {
  cushim::graph graph{context};
  graph.set_label("bisection");
  const auto more = graph.create_condition(1), above = graph.create_condition(0), near = graph.create_condition(0);
  more.set_label("more");
  above.set_label("above");
  near.set_label("near");

  const auto loop = graph.add_while(more);
  const auto halved = add_setter(loop.body, library, "halve", above, numbers);
  const auto sides = loop.body.after(halved).add_if_else(above);
  add_move(sides.then_body, numbers + 8, numbers + 16); // too high: the middle is the upper end
  add_move(sides.else_body, numbers, numbers + 16);
  add_setter(loop.body.after(sides), library, "judge", more, numbers, width);

  const auto inspected = add_setter(graph.after(loop), library, "inspect", near, numbers, accuracy);
  const auto found = graph.after(inspected).add_if(near);
  found.body.add_fill<std::uint32_t>(cushim::endpoint::device(numbers + 32), 1, 1);
  return graph;
}

// The same on the host.
double on_the_host(double low, double high, double width) {
  double x;
  do {
    x = (low + high) * 0.5;
    if (x * x * x - x - 2 > 0) high = x;
    else low = x;
  } while (high - low > width);
  return x;
}

int run(const char *json) {
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  const cushim::stream stream{context};
  std::array<double, 5> numbers{1, 2};
  const double width = 1e-12;
  const cushim::buffer memory = cushim::resource::device(context).allocate(sizeof numbers);
  context.copy(memory, numbers);

  const cushim::library library = cushim::library::load(context, kernels(context, ptx));
  const cushim::graph graph = build(context, library, memory.pointer(), width, 1e-9);
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  const cushim::exec exec = graph.instantiate();
  exec.launch(stream);
  stream.sync();
  context.copy(numbers, memory);

  const double root = on_the_host(1, 2, width);
  std::uint32_t found;
  std::memcpy(&found, &numbers[4], sizeof found);
  const bool is_same = !(root < numbers[2]) && !(root > numbers[2]);
  std::printf("the root is %.9f; found: %s; on the host the same: %s\n", numbers[2], found != 0 ? "yes" : "no", is_same ? "yes" : "no");
  return !is_same || found == 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: bisection [--json FILE]\n\nFinds a root in a graph with a loop, an if-else and an if. With --json it writes the graph to\n"
        "FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && option == "--help" ? 0 : 2;
  }
  try {
    return run(argc == 3 ? argv[2] : nullptr);
  } catch (const cushim::error &error) {
    // What the driver lacks: functions, or the version of the code.
    if (error.status() == CUSHIM_ERROR_UNSUPPORTED || error.status() == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
      std::printf("an if-else in a graph needs a driver for CUDA 12.8 or newer\n");
      return 0;
    }
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
