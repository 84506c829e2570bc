// decoder.c in C++: a decoder's loop. Each step has a new input buffer, one more position in the cache, and writes to the other of two
// output buffers. The work of a step is captured once; afterwards the exec is told only what is new: `rebind` exchanges a buffer,
// `set_parameter` the length. The same work is done in a plain stream, too, and the results are compared. CUSHIM_DRIVER=software needs no
// GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>

namespace {

constexpr std::uint32_t steps = 24, layers = 8, width = 32;
constexpr std::size_t row_bytes = width * sizeof(std::uint32_t), cache_bytes = steps * row_bytes;

// A layer appends the row to its cache, and mixes all rows of the cache into it: of integers, so that results are exact.
constexpr char ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry attend(.param .u64 row, .param .u64 cache, .param .u32 length) {
  .reg .pred %more;
  .reg .u32 %i, %width, %t, %length, %mine, %cached, %sum;
  .reg .u64 %row, %cache, %offset, %stride;
  mov.u32 %i, %tid.x;
  mov.u32 %width, %ntid.x;
  ld.param.u64 %row, [row];
  ld.param.u64 %cache, [cache];
  ld.param.u32 %length, [length];
  mul.wide.u32 %offset, %i, 4;
  mul.wide.u32 %stride, %width, 4;
  add.u64 %row, %row, %offset;
  add.u64 %cache, %cache, %offset;
  ld.global.u32 %mine, [%row];
  cvt.u64.u32 %offset, %length; // cache[length] = row
  mad.lo.u64 %offset, %offset, %stride, %cache;
  st.global.u32 [%offset], %mine;
  mov.u32 %sum, 0;
  mov.u32 %t, 0;
next: // for all rows up to that one
  ld.global.u32 %cached, [%cache];
  mad.lo.u32 %sum, %sum, 31, %cached;
  add.u64 %cache, %cache, %stride;
  add.u32 %t, %t, 1;
  setp.le.u32 %more, %t, %length;
  @%more bra next;
  mad.lo.u32 %mine, %mine, 5, %sum;
  st.global.u32 [%row], %mine;
  ret;
}
)";

struct decoder {
  cushim::device_ref device;
  cushim::context context = cushim::context::retain_primary(device);
  cushim::stream stream{context};
  cushim::library library = cushim::library::load(context, kernels(context, ptx));
  cushim::kernel attend = library.get_kernel("attend");
  cushim::buffer row = device.allocate(stream, row_bytes), caches = device.allocate(stream, layers *cache_bytes);
  cushim::buffer outputs[2] = {device.allocate(stream, row_bytes), device.allocate(stream, row_bytes)};
  cushim::buffer results = device.allocate(stream, steps *row_bytes); // the output of every step
};

// What a step begins with: a buffer that nobody has seen before.
cushim::buffer new_input(const decoder &decoder, std::uint32_t step) {
  cushim::buffer input = decoder.device.allocate(decoder.stream, row_bytes);
  decoder.stream.fill<std::uint32_t>(input, step * 2654435761u + 1);
  return input;
}

// The work of a step, enqueued in any stream. `length` is a parameter: in a plain stream that is just its value; in a stream that is
// captured all arguments of this name can be changed at once afterwards.
void enqueue_step(const decoder &decoder, cushim::stream_ref stream, cushim::buffer_ref input, cushim::buffer_ref output,
                  std::uint32_t length) {
  stream.copy(decoder.row, input, row_bytes);
  for (std::uint32_t layer = 0; layer < layers; layer++) {
    decoder.attend.launch(stream, {1, width}, decoder.row, decoder.caches.at(layer * cache_bytes), cushim::parameter("length", length));
  }
  stream.copy(output, decoder.row, row_bytes);
}

// The other work of a step, the same in both versions: somebody reads the output.
void keep_output(const decoder &decoder, cushim::buffer_ref output, std::uint32_t step) {
  decoder.stream.copy(decoder.results.at(step * row_bytes), output, row_bytes);
}

void decode_in_stream(const decoder &decoder) {
  for (std::uint32_t step = 0; step < steps; step++) {
    const cushim::buffer input = new_input(decoder, step);
    enqueue_step(decoder, decoder.stream, input, decoder.outputs[step % 2], step);
    keep_output(decoder, decoder.outputs[step % 2], step);
  } // the input is freed in stream order: after the work
}

void decode_by_graph(const decoder &decoder, cushim::exec_ref exec, cushim::buffer &input) {
  for (std::uint32_t step = 0; step < steps; step++) {
    cushim::buffer next = new_input(decoder, step);
    const cushim::buffer_ref output = decoder.outputs[step % 2];
    exec.rebind(input, next);
    exec.rebind(decoder.outputs[(step + 1) % 2], output); // no node has it in step 0, which is no error
    exec.set_parameter("length", step);
    exec.launch(decoder.stream);
    keep_output(decoder, output, step);
    input = std::move(next); // launches that are not done keep the old one as long as they need it
  }
  // The next round begins with output 0 again.
  exec.rebind(decoder.outputs[(steps - 1) % 2], decoder.outputs[0]);
}

std::vector<std::uint32_t> read_results(const decoder &decoder) {
  std::vector<std::uint32_t> numbers(steps * width);
  decoder.stream.copy(numbers, decoder.results);
  decoder.stream.sync();
  return numbers;
}

double microseconds_per_step(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count() / steps;
}

int run(const char *json) {
  const cushim::driver driver = cushim::driver::open();
  const decoder decoder{driver.get_device(0)};
  cushim::buffer input = new_input(decoder, 0);
  // The step as a graph. It keeps buffers and kernel, so what it uses cannot go before it.
  cushim::graph graph =
      cushim::capture(decoder.context, [&](cushim::stream_ref stream) { enqueue_step(decoder, stream, input, decoder.outputs[0], 0); });
  graph.set_label("step");
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  const cushim::exec exec = graph.instantiate();
  graph.destroy(); // the exec needs it no more

  using clock = std::chrono::steady_clock;
  std::vector<std::uint32_t> plain, replayed;
  clock::time_point times[3];
  for (int round = 0; round < 2; round++) { // the first round pays for what is done once
    times[0] = clock::now();
    decode_in_stream(decoder);
    plain = read_results(decoder);
    times[1] = clock::now();
    decode_by_graph(decoder, exec, input);
    replayed = read_results(decoder);
    times[2] = clock::now();
  }
  const bool is_equal = plain == replayed;
  std::printf("%u steps of %u layers; the last number is %u, and all are %s\n", steps, layers, replayed.back(),
              is_equal ? "equal" : "NOT equal");
  std::printf("microseconds per step: %.1f in the stream, %.1f by the graph\n", microseconds_per_step(times[1] - times[0]),
              microseconds_per_step(times[2] - times[1]));
  return !is_equal;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: decoder [--json FILE]\n\nDoes the steps of a decoder in a stream, and by a graph that is captured once. With --json it "
        "writes the graph to\n"
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
