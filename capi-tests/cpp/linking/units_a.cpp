// Throws, and uses what the other unit has of the same names.
#include "units.hpp"

#include <cstdio>

cushim_status thrown(cushim_stream stream) {
  try {
    cushim::stream_ref(stream).sync();
  } catch (const cushim::error &error) {
    return error.status();
  }
  return -1000;
}

int main() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  cushim::stream stream{context};
  const cushim_stream handle = stream.get();
  int failures = thrown(handle) != -1000 || returned(handle) != -1000;
  stream.destroy();
  failures += thrown(handle) != CUSHIM_ERROR_INVALID_HANDLE || returned(handle) != CUSHIM_ERROR_INVALID_HANDLE;
  if (failures == 0) std::printf("2 checks passed\n");
  return failures;
}
