// ordered.c in C++: fills device memory in one stream, and copies it to the host in another as soon as it is full. It prints the same with
// every driver; CUSHIM_DRIVER=software needs no GPU.
#include <cushim.hpp>

#include <algorithm>
#include <cstdio>

namespace {

constexpr std::size_t count = 1 << 20;
constexpr std::uint32_t value = 42;

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::resource memory = cushim::resource::device(context);
  const cushim::buffer buffer = memory.allocate(count * sizeof value);
  const auto host = context.allocate_host<std::uint32_t>(count); // page-locked

  cushim::stream filling{context};
  const cushim::stream copying{context};
  filling.set_label("filling"); // messages say it
  copying.set_label("copying");

  // Nothing here waits; the second stream does, for the first.
  const cushim::timed_event begun = filling.record_timed_event();
  filling.fill<std::uint32_t>(buffer, value);
  const cushim::timed_event filled = filling.record_timed_event();
  copying.wait(filled);
  copying.copy(host, buffer);
  const cushim::timed_event copied = copying.record_timed_event();

  copied.sync();
  const auto right = std::count(host.begin(), host.end(), value);
  std::printf("%td of %zu values are %u\n", right, count, value);

  const std::chrono::nanoseconds filling_took = filled - begun, copying_took = copied - filled;
  std::printf("filled, then copied: %s\n", filling_took.count() >= 0 && copying_took.count() >= 0 ? "yes" : "no");

  // A mistake is an exception with a sentence, not a crash.
  const cushim::stream_ref stale = filling;
  filling.destroy();
  try {
    stale.sync();
  } catch (const cushim::error &error) {
    std::printf("%s\n", error.what());
  }
} // Everything is destroyed here, in whatever order; what is still needed stays.

} // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what()); // whatever went wrong, the library has a sentence for it
    return 1;
  }
}
