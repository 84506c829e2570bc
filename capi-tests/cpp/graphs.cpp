// Graphs that are built by hand: nodes of each type, edges, conditions, execs, changes.
#include <cushim.hpp>

#include "traces.hpp"

#include <algorithm>

using namespace std::chrono_literals;

// The parts of a node, as in a std::tuple.
static_assert(std::tuple_size_v<cushim::body_node> == 2 && std::tuple_size_v<const cushim::if_else_node> == 3);
static_assert(std::is_same_v<std::tuple_element_t<0, cushim::switch_node>, cushim::node_ref>);
static_assert(std::is_same_v<std::tuple_element_t<1, cushim::switch_node>, std::vector<cushim::graph_ref>>);
static_assert(std::is_same_v<std::tuple_element_t<1, const cushim::allocation_node>, const cushim::address>);

namespace {

traces all;

void orders() {
  const cushim::graph graph{all.context};
  const auto first = graph.add_kernel(all.append, {}, all.numbers, 1u);
  const auto second = graph.after(first).add_kernel(all.append, {}, all.numbers, 2u);
  const auto beside = graph.after(first).add_empty();
  const auto third = graph.after(second, beside).add_kernel(all.append, {}, all.numbers, 3u);
  CHECK(graph.nodes().size() == 4 && graph.edges().size() == 4 && all.result_of(graph) == 123);
  CHECK(third.type() == CUSHIM_NODE_KERNEL && beside.type() == CUSHIM_NODE_EMPTY && same(third.graph(), graph) && !graph.parent());
  CHECK(third.dependencies().size() == 2 && first.dependents().size() == 2 && same(graph.context(), all.context));

  graph.remove_edges({{second, third}});
  third.set_dependencies({first});
  second.set_dependencies({third});
  CHECK(all.result_of(graph) == 132);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, graph.add_edges({{second, first}})); // a cycle
  const auto fourth = graph.after(std::vector<cushim::node_ref>{second, beside}).add_kernel(all.append, {}, all.numbers, 4u);
  CHECK(all.result_of(graph) == 1324);

  const cushim::graph clone = graph.clone();
  fourth.find_in(clone).remove();
  CHECK(all.result_of(clone) == 132 && all.result_of(graph) == 1324);
  fourth.remove();
  CHECK(all.result_of(graph) == 132 && fourth.type() == CUSHIM_NODE_KERNEL);
  CHECK_FAILS(CUSHIM_ERROR_ALREADY_DESTROYED, fourth.remove());
  CHECK(same(cushim::graph::wrap(all.context, graph.native()), graph));
}

void nodes() {
  const cushim::graph graph{all.context};
  const cushim::event event{all.context};
  const cushim::timed_event begun{all.context}, ended{all.context};
  const auto result = all.context.allocate_host<std::uint32_t>(4);
  std::vector<std::uint32_t> source = {5, 6, 7, 8};
  int calls = 0;
  auto counted = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = counted;

  const auto start = graph.add_event_record(begun);
  const auto copied = graph.after(start).add_copy(all.numbers, cushim::host_source(source).keep_bytes());
  const auto filled = graph.after(copied).add_fill<std::uint16_t>(all.numbers.at(4), 0xffff, 1);
  const auto rows = graph.after(filled).add_fill_2d<std::uint8_t>(all.numbers.at(8), 4, 1, 2, 2);
  const auto memory = graph.after(rows).add_allocation(16);
  const auto [memory_node, memory_pointer] = memory;
  CHECK(memory_node == memory && memory_pointer == memory.pointer);
  const auto there = graph.after(memory).add_copy(cushim::endpoint::device(memory.pointer), all.numbers, 16);
  const auto back = graph.after(there).add_copy(cushim::host_target(result).caller_keeps(), cushim::endpoint::device(memory.pointer));
  const auto freed = graph.after(back).add_free(memory.pointer);
  const auto end = graph.after(freed).add_event_record(ended);
  const auto waited = graph.after(end).add_event_wait(event);
  const auto called = graph.after(waited).add_host_function([&calls, counted] { calls += *counted; });
  counted.reset();
  source.assign(4, 0);                                                             // the graph has a copy
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, graph.add_copy(all.numbers, source)); // memory that nobody keeps
  CHECK(memory.get_allocation().facts.bytes == 16 && freed.get_free() == memory.pointer && same(end.get_event(), ended));
  CHECK(filled.get_fill().value_size == 2 && there.get_copy().extent.width == 16 && called.get_host_function().function != nullptr);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, filled.get_copy());

  {
    const cushim::exec exec = graph.instantiate();
    exec.upload(all.stream);
    exec.launch(all.stream);
    exec.launch(all.stream);
    all.stream.sync();
    CHECK(calls == 2 && ended - begun >= 0ns && all.device.graph_memory().reserved > 0);
    CHECK(result[0] == 5 && result[1] == 0xffff && result[2] == 0x0101 && result[3] == 0x0101);
  }
  all.device.trim_graph_memory();
  CHECK(!seen.expired());
}

void changes() {
  const cushim::graph graph{all.context};
  const auto kernel = graph.add_kernel(all.append, {}, all.numbers, 1u);
  const auto fill = graph.after(kernel).add_fill<std::uint32_t>(all.numbers.at(4), 1, 1);
  const auto copy = graph.after(fill).add_copy(all.numbers.at(8), all.numbers.at(4), 4);
  int which = 0;
  const auto function = graph.after(copy).add_host_function([&which] { which = 1; });
  const cushim::exec exec = graph.instantiate();
  CHECK(same(exec.graph(), graph) && exec.flags() == 0 && kernel.get_kernel().arg_count == 2);

  // In one exec.
  exec.at(kernel).set_arguments(all.numbers, 2u);
  exec.at(fill).set_fill_value<std::uint32_t>(9);
  exec.at(function).set_host_function([&which] { which = 2; });
  CHECK(all.result_of(exec) == 2 && all.number(2) == 9 && which == 2);
  const cushim::node_arguments arguments = exec.at(kernel).get_arguments();
  CHECK(arguments.args.size() == 2 && arguments.args[0].kind == CUSHIM_ARG_BUFFER && arguments.args[1].size == 4);
  CHECK(*static_cast<const std::uint32_t *>(arguments.args[1].value) == 2 && fill.get_fill().value == 1);
  if (check::version() >= 11060) {
    exec.at(kernel).set_enabled(false);
    CHECK(!exec.at(kernel).is_enabled() && all.result_of(exec) == 0);
    exec.at(kernel).set_enabled(true);
  }

  // In the graph, which the exec then takes over.
  kernel.set_argument(1, 3u);
  fill.set_fill<std::uint32_t>(all.numbers.at(4), 8, 1);
  copy.set_copy_target(all.numbers.at(12));
  CHECK(all.result_of(exec) == 2);
  exec.update(graph);
  CHECK(all.result_of(exec) == 3 && all.number(3) == 8 && all.number(2) == 0);
  kernel.set_kernel(all.append, {}, all.numbers, 4u);
  kernel.set_config({1, 1});
  CHECK(all.result_of(graph) == 4);

  const cushim::graph other{all.context};
  const auto blamed = other.add_empty();
  cushim::exec_result why;
  CHECK_FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, exec.update(other, &why));
  CHECK(why.reason != 0 && (why.node == blamed || !why.node) && all.result_of(exec) == 3);
}

void rebinding() {
  const cushim::buffer other = all.device.allocate(all.stream, 64);
  all.stream.fill<std::uint32_t>(other, 0);
  const cushim::graph graph{all.context};
  const auto first = graph.add_kernel(all.append, {}, all.numbers, cushim::parameter("digit", 1u));
  graph.after(first).add_kernel(all.append, {}, all.numbers, cushim::parameter("digit", 1u));
  const cushim::exec exec = graph.instantiate();
  CHECK(exec.set_parameter("digit", 5u) == 2 && all.result_of(exec) == 55);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, exec.set_parameter("digit", std::uint64_t{5}));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, exec.set_parameter("no such", 5u));
  CHECK(exec.rebind(all.numbers, other) == 2 && all.result_of(exec) == 0);
  std::uint32_t there = 0;
  all.stream.copy(cushim::endpoint::host(&there), other, 4);
  all.stream.sync();
  CHECK(there == 55);
}

void children() {
  const cushim::graph inner{all.context}, graph{all.context};
  inner.add_kernel(all.append, {}, all.numbers, 7u);
  const auto child = graph.add_child(inner);
  const auto again = graph.after(child).add_child(inner);
  const auto [node, part] = again;
  CHECK(node == again && part == again.inner);
  CHECK(child.graphs().size() == 1 && child.graphs()[0] == child.inner && child.inner.parent() == child && all.result_of(graph) == 77);
  again.inner.nodes()[0].set_argument(1, 8u);
  CHECK(all.result_of(graph) == 78);
  const cushim::exec exec = graph.instantiate();
  exec.at(child).set_child(again.inner);
  CHECK(all.result_of(exec) == 88);
}

void conditions() {
  const cushim::graph graph{all.context};
  if (check::version() < 12030) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, graph.create_condition(1));
    return;
  }
  const cushim::library library = cushim::library::load(all.context, condition_code);
  const cushim::kernel countdown = library.get_kernel("countdown");
  const cushim::condition_ref more = graph.create_condition(1), once = graph.create_condition(1), never = graph.create_condition(0);
  CHECK(more.native() != once.native());
  const auto start = graph.add_fill<std::uint32_t>(all.numbers.at(4), 3, 1);
  const auto loop = graph.after(start).add_while(more);
  const auto step = loop.body.add_kernel(all.append, {}, all.numbers, 1u);
  loop.body.after(step).add_kernel(countdown, {}, more, all.numbers.at(4));
  auto [yes, yes_body] = graph.after(loop).add_if(once);
  yes_body.add_kernel(all.append, {}, all.numbers, 2u);
  const auto no = graph.after(yes).add_if(never);
  no.body.add_kernel(all.append, {}, all.numbers, 3u);
  CHECK(loop.condition() == more && loop.type() == CUSHIM_NODE_CONDITIONAL && loop.body.parent() == loop);
  CHECK(all.result_of(graph) == 1112);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, graph.add_if(once)); // it has a node
  const cushim::condition_ref which = graph.create_condition(1), either = graph.create_condition(0);
  if (check::version() < 12080) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, graph.after(no).add_switch(which, 3));
    return;
  }
  const auto chosen = graph.after(no).add_switch(which, 3);
  for (std::uint32_t i = 0; i < 3; i++) chosen.bodies[i].add_kernel(all.append, {}, all.numbers, 4 + i);
  const auto sides = graph.after(chosen).add_if_else(either);
  const auto &[sides_node, then_body, else_body] = sides;
  then_body.add_kernel(all.append, {}, all.numbers, 8u);
  else_body.add_kernel(all.append, {}, all.numbers, 9u);
  CHECK(sides_node == sides && all.result_of(graph) == 111259);
  auto &&[last, bodies] = graph.after(sides_node).add_switch(graph.create_condition(1), 2);
  for (const cushim::graph_ref body : bodies) body.add_kernel(all.append, {}, all.numbers, 6u);
  CHECK(last.type() == CUSHIM_NODE_CONDITIONAL && bodies.size() == 2 && all.result_of(graph) == 1112596);
}

void run() {
  if (!all.open()) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, cushim::graph(all.context));
    return;
  }
  orders();
  nodes();
  changes();
  rebinding();
  children();
  conditions();
}

} // namespace

int main() { return check::program(run); }
