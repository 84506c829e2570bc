// switch.c in C++: a little machine. A graph reads one instruction after another from memory and does it, by a switch node in a loop.
// Another program is other memory; the graph stays. It prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>

namespace {

// The machine has four numbers: what is computed, the operand, where it reads next, and how many instructions there are.
constexpr char ptx[] = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
// Reads an instruction and its operand; one condition is which it is, the other whether there are more.
.visible .entry fetch(.param .u64 which, .param .u64 more, .param .u64 machine, .param .u64 program) {
  .reg .pred %p;
  .reg .u32 %at, %count, %value, %operand;
  .reg .u64 %machine, %program, %offset, %condition;
  ld.param.u64 %machine, [machine];
  ld.param.u64 %program, [program];
  ld.global.u32 %at, [%machine + 8];
  ld.global.u32 %count, [%machine + 12];
  mul.wide.u32 %offset, %at, 8;
  add.u64 %program, %program, %offset;
  ld.global.u32 %value, [%program];
  ld.global.u32 %operand, [%program + 4];
  st.global.u32 [%machine + 4], %operand;
  add.u32 %at, %at, 1;
  st.global.u32 [%machine + 8], %at;
  ld.param.u64 %condition, [which];
  {
  .param .b64 handle;
  .param .b32 number;
  st.param.b64 [handle], %condition;
  st.param.b32 [number], %value;
  call.uni cudaGraphSetConditional, (handle, number);
  }
  setp.lt.u32 %p, %at, %count;
  selp.u32 %value, 1, 0, %p;
  ld.param.u64 %condition, [more];
  {
  .param .b64 handle;
  .param .b32 number;
  st.param.b64 [handle], %condition;
  st.param.b32 [number], %value;
  call.uni cudaGraphSetConditional, (handle, number);
  }
  ret;
}
.visible .entry add(.param .u64 machine) {
  .reg .u32 %a, %b;
  .reg .u64 %machine;
  ld.param.u64 %machine, [machine];
  ld.global.u32 %a, [%machine];
  ld.global.u32 %b, [%machine + 4];
  add.u32 %a, %a, %b;
  st.global.u32 [%machine], %a;
  ret;
}
.visible .entry subtract(.param .u64 machine) {
  .reg .u32 %a, %b;
  .reg .u64 %machine;
  ld.param.u64 %machine, [machine];
  ld.global.u32 %a, [%machine];
  ld.global.u32 %b, [%machine + 4];
  sub.u32 %a, %a, %b;
  st.global.u32 [%machine], %a;
  ret;
}
.visible .entry multiply(.param .u64 machine) {
  .reg .u32 %a, %b;
  .reg .u64 %machine;
  ld.param.u64 %machine, [machine];
  ld.global.u32 %a, [%machine];
  ld.global.u32 %b, [%machine + 4];
  mul.lo.u32 %a, %a, %b;
  st.global.u32 [%machine], %a;
  ret;
}
)";

enum instruction_code : std::uint32_t { add, subtract, multiply, nothing = 99 }; // what is no instruction does nothing
constexpr const char *names[] = {"add", "subtract", "multiply"};

struct instruction {
  instruction_code which;
  std::uint32_t operand;
};
using listing = std::vector<instruction>;

cushim::graph build(cushim::context_ref context, cushim::library_ref library, cushim::address machine, cushim::address program) {
  cushim::graph graph{context};
  graph.set_label("machine");
  const auto more = graph.create_condition(1), which = graph.create_condition(nothing);
  const auto loop = graph.add_while(more);
  const auto fetched = loop.body.add_kernel(library.get_kernel("fetch"), {}, which, more, machine, program);
  fetched.set_label("fetch");
  const auto chosen = loop.body.after(fetched).add_switch(which, std::size(names));
  for (std::size_t i = 0; i < std::size(names); i++) {
    chosen.bodies[i].add_kernel(library.get_kernel(names[i]), {}, machine).set_label(names[i]); // the graph keeps the kernel
  }
  return graph;
}

std::uint32_t on_the_host(const listing &program) {
  std::uint32_t a = 0;
  for (const instruction &one : program) {
    switch (one.which) {
      case add: a += one.operand; break;
      case subtract: a -= one.operand; break;
      case multiply: a *= one.operand; break;
      case nothing: break;
    }
  }
  return a;
}

int run(const char *json) {
  const listing programs[] = {
      {{add, 5}, {multiply, 8}, {add, 2}},
      {{add, 100}, {nothing, 7}, {subtract, 1}, {multiply, 3}, {multiply, 3}, {subtract, 91}},
      {{nothing, 1}},
  };
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  const cushim::stream stream{context};
  const cushim::resource memory = cushim::resource::device(context);
  const cushim::buffer machine = memory.allocate(4 * sizeof(std::uint32_t)), instructions = memory.allocate(6 * sizeof(instruction));

  const cushim::library library = cushim::library::load(context, kernels(context, ptx));
  const cushim::graph graph = build(context, library, machine.pointer(), instructions.pointer());
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  const cushim::exec exec = graph.instantiate();
  int wrong = 0;
  for (const listing &program : programs) {
    const auto length = static_cast<std::uint32_t>(program.size());
    std::array<std::uint32_t, 4> numbers{0, 0, 0, length};
    context.copy(instructions, program);
    context.copy(machine, numbers);
    exec.launch(stream);
    stream.sync();
    context.copy(numbers, machine);
    std::printf("%u instructions: %u; on the host %u\n", length, numbers[0], on_the_host(program));
    wrong += numbers[0] != on_the_host(program);
  }
  return wrong != 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: switch [--json FILE]\n\nRuns small programs by a graph with a switch in a loop. With --json it writes the graph to\n"
        "FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && option == "--help" ? 0 : 2;
  }
  try {
    return run(argc == 3 ? argv[2] : nullptr);
  } catch (const cushim::error &error) {
    // What the driver lacks: functions, or the version of the code.
    if (error.status() == CUSHIM_ERROR_UNSUPPORTED || error.status() == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
      std::printf("a switch in a graph needs a driver for CUDA 12.8 or newer\n");
      return 0;
    }
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
