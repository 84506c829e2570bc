// buffers.c in C++: memory of several kinds as one type. A buffer frees itself, in the order of its stream. This one does without
// exceptions: compiled with -fno-exceptions, or with CUSHIM_NO_EXCEPTIONS, functions return what they have or the error.
//
// Without a GPU: CUSHIM_DRIVER=software ./buffers
#define CUSHIM_NO_EXCEPTIONS
#include <cushim.hpp>

#include <cstdio>

namespace {

constexpr std::size_t bytes = 1 << 20;

int failed(const char *what, const cushim::error &error) {
  std::fprintf(stderr, "%s: %s\n", what, error.what());
  return 1;
}

// Fills device memory, and brings it to page-locked memory, where the host reads it.
int through_the_device(cushim::device_ref device, cushim::resource_ref pinned, cushim::stream_ref stream) {
  const auto on_device = device.allocate(stream, bytes);
  if (!on_device) return failed("allocation", on_device.error());
  const auto on_host = pinned.allocate(stream, bytes);
  if (!on_host) return failed("allocation", on_host.error());

  if (const auto filled = stream.fill<std::uint8_t>(*on_device, 42); !filled) return failed("memset", filled.error());
  if (const auto copied = stream.copy(*on_host, *on_device, bytes); !copied) return failed("copy", copied.error());
  if (const auto waited = stream.sync(); !waited) return failed("work", waited.error());
  const auto values = on_host->host<const std::uint8_t>();
  if (!values) return failed("host", values.error());
  std::printf("the last byte is %d\n", (*values)[bytes - 1]);
  return 0;
} // Both are freed in the order of the stream; nothing waits.

} // namespace

int main() {
  const auto driver = cushim::driver::open();
  if (!driver) return failed("driver", driver.error());
  const auto device = driver->get_device(0);
  if (!device) return failed("device", device.error());
  const auto context = cushim::context::retain_primary(*device);
  if (!context) return failed("context", context.error());
  const auto stream = cushim::stream::create(*context);
  if (!stream) return failed("stream", stream.error());
  const auto pinned = cushim::resource::pinned(*context);
  if (!pinned) return failed("pinned memory", pinned.error());
  const int status = through_the_device(*device, *pinned, *stream);
  if (const auto ended = stream->sync(); !ended) return failed("end", ended.error());
  return status;
}
