// managed.c in C++: managed memory, moved to the device before work there needs it, and back before the host does. It prints the same with
// every driver that lets host and device use such memory at the same time; CUSHIM_DRIVER=software needs no GPU.
#include <cushim.hpp>

#include <algorithm>
#include <cstdio>

namespace {

constexpr std::size_t blocks = 4, bytes = 1 << 20;

// What the driver says: where the block was moved to last.
const char *whereabouts(const cushim::managed_memory &block) {
  switch (block.last_prefetch_location().kind()) {
    case CUSHIM_LOCATION_DEVICE: return "to the device";
    case CUSHIM_LOCATION_HOST: return "to the host";
    default: return "nowhere";
  }
}

void run() {
  using cushim::location;
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  if (!device.supports("concurrent-managed-access")) {
    std::printf("this device moves managed memory as it likes\n");
    return;
  }
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context}; // no stream is ever chosen by default
  const cushim::resource resource = cushim::resource::managed(context);
  const cushim::buffer buffer = resource.allocate(blocks * bytes);
  const auto memory = buffer.host<const std::uint8_t>(); // the host reads it where it is

  std::vector<cushim::range> parts; // of a buffer; memory of any other allocator is a range, too
  for (std::size_t i = 0; i < blocks; i++) parts.emplace_back(buffer, i * bytes, bytes);
  const cushim::managed_memory first{context, parts[0]}, last{context, parts[blocks - 1]};

  // The last block is a table that everybody reads; the others stay on the device, where the host reaches them.
  last.set_read_mostly(true);
  context.advise(std::vector(parts.begin(), parts.end() - 1), CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location(device));
  first.accessed_by().assign(location::host());

  // One call on a driver of CUDA 13, a loop on older ones.
  stream.prefetch_batch(parts, location(device));
  for (std::size_t i = 0; i < blocks; i++) {
    stream.fill<std::uint8_t>(buffer.at(i * bytes), static_cast<std::uint8_t>(10 + i), bytes);
  }
  stream.sync();
  std::printf("block 0 was moved %s\n", whereabouts(first));
  first.prefetch(stream, location::host());
  stream.sync();
  std::printf("block 0 was moved %s\n", whereabouts(first));
  for (std::size_t i = 0; i < blocks; i++) {
    const auto found = std::count(memory.begin() + i * bytes, memory.begin() + (i + 1) * bytes, 10 + i);
    std::printf("%td bytes of block %zu are %zu\n", found, i, 10 + i);
  }

  // A mistake is an exception with a sentence, not a crash.
  parts[1] = cushim::range(buffer, blocks * bytes, bytes);
  try {
    stream.prefetch_batch(parts, location::host());
  } catch (const cushim::error &error) {
    std::printf("block %zu past the end: refused, the others stay where they were moved: %s\n", error.item().value(),
                whereabouts({context, parts[2]}));
  }
}

} // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
