// What a call costs in C++: each function here is written twice, over cushim.h and over cushim.hpp, and has to become the same machine
// code. The test reads that; nothing runs it.
#include <cushim.hpp>

// What a program in C does where a call fails; the header throws.
[[noreturn, gnu::cold, gnu::noinline]] void failed(cushim_status status);

namespace {
inline void check(cushim_status status) {
  if (status != CUSHIM_SUCCESS) failed(status);
}
} // namespace

extern "C" {

void record_c(cushim_event event, cushim_stream stream) { check(cushim_event_record(event, stream)); }
void record_cpp(cushim::event_ref event, cushim::stream_ref stream) { event.record(stream); }

void wait_c(cushim_stream stream, cushim_event event) { check(cushim_stream_wait_event(stream, event)); }
void wait_cpp(cushim::stream_ref stream, cushim::event_ref event) { stream.wait(event); }

void launch_exec_c(cushim_exec exec, cushim_stream stream) { check(cushim_exec_launch(exec, stream)); }
void launch_exec_cpp(cushim::exec_ref exec, cushim::stream_ref stream) { exec.launch(stream); }

void launch_c(cushim_kernel kernel, cushim_stream stream, const cushim_launch_config *config, std::uint32_t n, cushim_buffer buffer) {
  const cushim_arg args[] = {{CUSHIM_ARG_BYTES, sizeof n, &n}, {CUSHIM_ARG_BUFFER, 0, buffer}};
  check(cushim_kernel_launch(kernel, stream, config, args, 2));
}
void launch_cpp(cushim::kernel_ref kernel, cushim::stream_ref stream, const cushim::launch_config &config, std::uint32_t n,
                cushim::buffer_ref buffer) {
  kernel.launch(stream, config, n, buffer);
}

} // extern "C"
