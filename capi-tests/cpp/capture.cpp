// Captures: builders, forks, joins, conditional bodies, what is kept, what is given up.
#include <cushim.hpp>

#include "traces.hpp"

#include <atomic>
#include <thread>

using namespace std::chrono_literals;

namespace {

traces all;

void append(cushim::builder_ref builder, std::uint32_t digit) { all.append.launch(builder.stream(), {}, all.numbers, digit); }

void builders() {
  const cushim::builder builder{all.context};
  CHECK(builder.state() == CUSHIM_BUILDER_NOT_STARTED && builder.kind() == CUSHIM_BUILDER_PRIMARY);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_HANDLE, builder.stream());
  try {
    CHECK(builder.stream().get() == nullptr); // never comes here
  } catch (const cushim::error &error) {
    CHECK(std::string(error.what()).find("has no stream to capture") != std::string::npos);
  }
  builder.begin();
  append(builder, 1);
  CHECK(builder.tail().size() == 1 && same(builder.context(), all.context));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, builder.stream().sync()); // the capture stays valid
  builder.tail()[0].set_label("first");
  append(builder, 2);
  const cushim::graph graph = builder.end();
  CHECK(builder.state() == CUSHIM_BUILDER_ENDED && same(builder.graph(), graph) && graph.nodes().size() == 2);
  CHECK(graph.nodes()[0].label() == "first" && all.result_of(graph) == 12);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, builder.begin());

  // Of a stream of the program's; given up.
  const cushim::stream stream{all.context};
  {
    const cushim::builder captured = cushim::builder::create_on(stream);
    captured.begin();
    all.append.launch(stream, {}, all.numbers, 3u);
  }
  stream.sync();
  CHECK(stream.is_done());
}

void forks() {
  const cushim::builder builder{all.context};
  builder.begin();
  append(builder, 1);
  const std::vector<cushim::builder> others = builder.fork(2);
  const cushim::builder one = builder.fork();
  all.append.launch(others[0].stream(), {}, all.numbers.at(4), 2u);
  all.append.launch(others[1].stream(), {}, all.numbers.at(8), 3u);
  all.append.launch(one.stream(), {}, all.numbers.at(12), 4u);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, builder.end()); // they are to be joined
  builder.join(others);
  builder.join(one);
  CHECK(one.state() == CUSHIM_BUILDER_CLOSED && one.kind() == CUSHIM_BUILDER_FORKED);
  append(builder, 5);
  const cushim::graph graph = builder.end();
  CHECK(graph.nodes().size() == 5 && graph.nodes().back().dependencies().size() == 4);
  CHECK(all.result_of(graph) == 15 && all.number(1) == 2 && all.number(2) == 3 && all.number(3) == 4);

  // By events, as in any stream.
  const cushim::stream other{all.context};
  const cushim::graph by_events = cushim::capture(all.context, [&](cushim::stream_ref stream) {
    all.append.launch(stream, {}, all.numbers, 1u);
    const cushim::event forked{all.context}, joined{all.context};
    forked.record(stream);
    other.wait(forked);
    all.append.launch(other, {}, all.numbers.at(4), 2u);
    joined.record(other);
    stream.wait(joined);
    all.append.launch(stream, {}, all.numbers, 3u);
  });
  CHECK(all.result_of(by_events) == 13 && all.number(1) == 2);
}

void kept() {
  // What work names is kept; callables are called at each launch, those that can be called once at the first.
  std::atomic<int> calls{0}, once{0};
  auto counted = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = counted;
  std::uint32_t result[1] = {};
  cushim::buffer buffer = all.device.allocate(all.stream, 4);
  all.stream.fill<std::uint32_t>(buffer, 0);
  cushim::graph graph = cushim::capture(all.context, [&](cushim::stream_ref stream) {
    all.append.launch(stream, {}, buffer, 1u);
    stream.launch_host_function([counted, &calls] { calls += *counted; });
    stream.launch_host_function_once([kept = std::make_unique<int>(1), &once] { once += *kept; });
    stream.copy(cushim::host_target(result).caller_keeps(), buffer);
  });
  counted.reset();
  buffer.destroy();
  cushim::exec exec = graph.instantiate();
  graph.destroy();
  exec.launch(all.stream);
  exec.launch(all.stream);
  all.stream.sync();
  CHECK(calls == 2 && once == 1 && result[0] == 11 && !seen.expired());
  exec.destroy();
  // The driver says when it has let go.
  for (int i = 0; i < 10000 && !seen.expired(); i++) {
    cushim::flush_callbacks();
    std::this_thread::sleep_for(1ms);
  }
  CHECK(seen.expired());

  // An exception gives the capture up, and the context works on.
  struct stop {};
  bool is_stopped = false;
  try {
    const cushim::graph none = cushim::capture(all.context, [&](cushim::stream_ref stream) {
      all.append.launch(stream, {}, all.numbers, 1u);
      throw stop();
    });
  } catch (const stop &) {
    is_stopped = true;
  }
  all.context.sync();
  CHECK(is_stopped);
}

void embedded() {
  const cushim::graph inner =
      cushim::capture(all.context, [&](cushim::stream_ref stream) { all.append.launch(stream, {}, all.numbers, 7u); });
  const cushim::builder builder{all.context};
  builder.begin();
  append(builder, 1);
  const cushim::node_ref node = builder.add_child(inner);
  append(builder, 2);
  CHECK(node.type() == CUSHIM_NODE_CHILD && all.result_of(builder.end()) == 172);
}

void conditions() {
  const cushim::builder builder{all.context};
  builder.begin();
  if (check::version() < 12030) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, builder.create_condition(1));
    return;
  }
  const cushim::library library = cushim::library::load(all.context, condition_code);
  const cushim::kernel countdown = library.get_kernel("countdown");
  const cushim::condition_ref more = builder.create_condition(1), either = builder.create_condition(0), which = builder.create_condition(1);
  builder.stream().fill<std::uint32_t>(all.numbers.at(4), 3, 1);
  {
    const cushim::body_builder loop = builder.add_while(more);
    CHECK(loop.body.kind() == CUSHIM_BUILDER_BODY && loop.node.type() == CUSHIM_NODE_CONDITIONAL);
    loop.body.begin();
    append(loop.body, 1);
    countdown.launch(loop.body.stream(), {}, more, all.numbers.at(4));
    loop.body.finish();
  }
  append(builder, 2);
  std::uint32_t expected = 1112;
  if (check::version() >= 12080) {
    const cushim::if_else_builders sides = builder.add_if_else(either);
    sides.then_body.graph().add_kernel(all.append, {}, all.numbers, 3u); // by hand
    sides.else_body.begin();
    append(sides.else_body, 4);
    CHECK(sides.else_body.end().parent() == sides.node);
    const cushim::switch_builders chosen = builder.add_switch(which, 2);
    chosen.bodies[1].graph().add_kernel(all.append, {}, all.numbers, 6u);
    expected = 111246;
  }
  const cushim::graph graph = builder.end();
  CHECK(all.result_of(graph) == expected);
}

void run() {
  if (!all.open()) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, cushim::builder(all.context));
    return;
  }
  builders();
  forks();
  kept();
  embedded();
  conditions();
}

} // namespace

int main() { return check::program(run); }
