// pipeline.c in C++: a pipeline with three lanes. A function on the host makes numbers, each lane takes a third of them to the device,
// works on them and brings them back, where another function sums them up while the other lanes still work; a last one adds the sums. It is
// captured from streams that fork and join, and launched once for each batch. It prints the same with every driver; CUSHIM_DRIVER=software
// needs no GPU.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>

namespace {

constexpr std::uint32_t lanes = 3, count = 256, threads = 64, batches = 5; // `count` numbers in each lane

// numbers[i] = numbers[i] * factor + i, modulo 2^32.
constexpr char ptx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry work(.param .u64 numbers, .param .u32 factor) {
  .reg .u32 %block, %threads, %i, %factor, %number;
  .reg .u64 %numbers, %offset;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  ld.param.u64 %numbers, [numbers];
  ld.param.u32 %factor, [factor];
  mul.wide.u32 %offset, %i, 4;
  add.u64 %numbers, %numbers, %offset;
  ld.global.u32 %number, [%numbers];
  mad.lo.u32 %number, %number, %factor, %i;
  st.global.u32 [%numbers], %number;
  ret;
}
)";

// What a lane works on. `numbers` is page-locked, so that copies need not wait.
struct lane {
  std::uint32_t *numbers;
  std::uint32_t factor, sum;
};

// What the functions on the host share. Each keeps it, and so does the graph, until nothing can call them any more.
struct pipeline {
  std::array<lane, lanes> work;
  std::uint32_t batch = 0, total = 0;
};

std::uint32_t number_of(std::uint32_t batch, std::uint32_t lane, std::uint32_t i) { return batch * 7919 + lane * 104729 + i * 31; }

// There, work, back, and what came back is summed up.
void work_in(cushim::stream_ref stream, cushim::kernel_ref kernel, cushim::buffer_ref buffer, const std::shared_ptr<pipeline> &shared,
             std::size_t which) {
  const lane &mine = shared->work[which];
  const auto host = cushim::endpoint::host(mine.numbers).caller_keeps(); // each launch reads and writes the numbers of that time
  stream.copy(buffer, host, count * 4);
  kernel.launch(stream, {count / threads, threads}, buffer, mine.factor);
  stream.copy(host, buffer, count * 4);
  stream.launch_host_function([shared, which] {
    lane &done = shared->work[which];
    done.sum = 0;
    for (std::uint32_t i = 0; i < count; i++) done.sum += done.numbers[i];
  });
}

cushim::graph capture(cushim::context_ref context, cushim::kernel_ref kernel, const std::vector<cushim::buffer> &buffers,
                      const std::shared_ptr<pipeline> &shared) {
  const cushim::builder builder{context};
  builder.begin();
  builder.stream().launch_host_function([shared] {
    shared->batch++;
    for (std::uint32_t which = 0; which < lanes; which++)
      for (std::uint32_t i = 0; i < count; i++) shared->work[which].numbers[i] = number_of(shared->batch, which, i);
  });

  // The forks begin after what was captured by now. The builder goes on beside them: it is the first lane.
  const std::vector<cushim::builder> forks = builder.fork(lanes - 1);
  forks[0].set_label("second lane"); // a fork that is not joined is named in the error
  forks[1].set_label("third lane");
  work_in(builder.stream(), kernel, buffers[0], shared, 0);
  for (std::size_t i = 0; i < forks.size(); i++) work_in(forks[i].stream(), kernel, buffers[i + 1], shared, i + 1);

  // What comes next comes after all lanes.
  builder.join(forks);
  builder.stream().launch_host_function([shared] {
    for (const lane &one : shared->work) shared->total += one.sum;
  });
  cushim::graph graph = builder.end();
  graph.set_label("pipeline");
  return graph;
}

std::uint32_t on_the_host() {
  std::uint32_t total = 0;
  for (std::uint32_t batch = 1; batch <= batches; batch++)
    for (std::uint32_t which = 0; which < lanes; which++)
      for (std::uint32_t i = 0; i < count; i++) total += number_of(batch, which, i) * (which + 3) + i;
  return total;
}

int run(const char *json) {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};
  cushim::library library = cushim::library::load(context, kernels(context, ptx));
  cushim::kernel kernel = library.get_kernel("work");
  const auto page = context.allocate_host<std::uint32_t>(lanes * count);
  auto shared = std::make_shared<pipeline>();
  std::vector<cushim::buffer> buffers;
  for (std::uint32_t i = 0; i < lanes; i++) {
    buffers.push_back(device.allocate(stream, count * 4));
    shared->work[i] = {page.data() + i * count, i + 3, 0};
  }
  stream.sync();

  cushim::graph graph = capture(context, kernel, buffers, shared);
  if (json != nullptr) graph.write_json(json, CUSHIM_JSON_WITHOUT_ADDRESSES);
  cushim::exec exec = graph.instantiate();
  graph.destroy();
  buffers.clear();
  kernel.destroy();
  library.destroy();
  for (std::uint32_t i = 0; i < batches; i++) exec.launch(stream); // one batch after the other
  stream.sync();

  const bool was_kept = shared.use_count() > 1;
  exec.destroy(); // the functions are destroyed soon, on a thread of the library's
  std::printf("%u batches of %u numbers; the sum is %u, on the host %u\n", shared->batch, lanes * count, shared->total, on_the_host());
  std::printf("kept while the graph is there: %s\n", was_kept ? "yes" : "no");
  return shared->total != on_the_host() || !was_kept;
}

} // namespace

int main(int argc, char **argv) {
  const std::string option = argc > 1 ? argv[1] : "";
  if (argc != 1 && !(argc == 3 && option == "--json")) {
    std::printf(
        "usage: pipeline [--json FILE]\n\nWorks on batches of numbers in three lanes, by a graph that is captured once. With --json it "
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
