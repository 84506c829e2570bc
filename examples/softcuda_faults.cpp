// softcuda_faults.c in C++: tries a piece of a program with each of its driver calls failing in turn, on a machine that needs no GPU: every
// failure must be reported, and none may leave anything behind.
//
//   c++ -std=c++17 softcuda_faults.cpp -lcushim -lsoftcuda && CUSHIM_DRIVER=software ./a.out
#include <cushim.hpp>
#include <softcuda.h>

#include <cstdio>

namespace {

constexpr std::size_t size = 4096;

// The piece: two buffers, one filled and copied to the other. What an exception leaves is freed by the owners.
void fill_and_copy(cushim::context_ref context) {
  const cushim::resource memory = cushim::resource::device(context);
  const cushim::buffer from = memory.allocate(size), to = memory.allocate(size);
  context.fill<std::uint8_t>(from, 1);
  context.copy(to, from, size);
}

// Has the nth call of a function fail. Whether the piece said so, and left nothing behind.
bool try_with_fault(cushim::context_ref context, const std::string &function, std::int64_t n) {
  const std::string fault = function + "#" + std::to_string(n) + "=2";
  const std::size_t before = softcuda_live_objects();
  if (softcuda_fault_set(fault.c_str()) != 0) {
    std::fprintf(stderr, "%s\n", softcuda_message());
    return false;
  }
  cushim_status status = CUSHIM_SUCCESS;
  try {
    fill_and_copy(context);
  } catch (const cushim::error &error) {
    status = error.status();
  }
  softcuda_fault_clear();
  if (status != CUDA_ERROR_OUT_OF_MEMORY || softcuda_fault_hits() != 1) {
    std::fprintf(stderr, "%s: the failure got lost\n", fault.c_str());
    return false;
  }
  if (softcuda_live_objects() != before) {
    std::fprintf(stderr, "%s: something is left behind:\n", fault.c_str());
    softcuda_dump(2);
    return false;
  }
  return true;
}

int run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  fill_and_copy(context);
  int tried = 0, failures = 0;
  for (const char *const function : {"cuMemAlloc", "cuMemset*", "cuMemcpy*"}) {
    softcuda_calls_reset();
    fill_and_copy(context);
    const std::int64_t calls = softcuda_call_count(function);
    for (std::int64_t n = 1; n <= calls; n++, tried++) failures += try_with_fault(context, function, n) ? 0 : 1;
  }
  std::printf("%d faults, %d failures\n", tried, failures);
  return failures != 0;
}

} // namespace

int main() {
  try {
    return run();
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "without a fault: %s\n", error.what());
    return 1;
  }
}
