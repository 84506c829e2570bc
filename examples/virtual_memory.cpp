// virtual_memory.c in C++: a list that grows without being copied, and sleeps while somebody else needs the memory.
#include <cushim.hpp>

#include <cstdio>

namespace {

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};

  // Sizes are rounded up to what the device maps at once.
  const cushim::resource space = cushim::resource::virtual_memory(device);
  cushim::buffer list = space.allocate(stream, 1);
  const std::size_t half = list.size();
  stream.fill<std::uint32_t>(list, 1);

  // The new buffer begins with the memory of the old one.
  const cushim::buffer grown = list.grow(2 * half);
  list.destroy();
  stream.fill<std::uint32_t>(grown.at(half), 2, half / sizeof(std::uint32_t));

  // Asleep it has its addresses, and no memory.
  const cushim::memory_info before = context.memory_info();
  grown.sleep(stream, true);
  const cushim::memory_info asleep = context.memory_info();
  grown.wake(stream);
  const cushim::memory_info after = context.memory_info();

  std::uint32_t first = 0, last = 0;
  stream.copy(cushim::host_view<std::uint32_t>(&first, 1), grown.at(0));
  stream.copy(cushim::host_view<std::uint32_t>(&last, 1), grown.at(2 * half - sizeof last));
  stream.sync();
  std::printf("first %u, last %u\n", first, last);
  std::printf("asleep: %s\n", asleep.free > before.free ? "the memory was given back" : "nothing was given back");
  std::printf("awake: %s\n", after.free < asleep.free ? "it has memory again" : "it has none");
}

} // namespace

int main() {
  try {
    run();
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
