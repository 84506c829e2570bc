/* The familiar names on a table of the program's own choice: a missing function is explained by that table's driver. */
#include "check.h"

static const cushim_driver_table *table;
#define CUSHIM_CUDA_TABLE table
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>

int main(void) {
  cushim_driver driver;
  int version = 0;
  check_begin();
  driver = open_driver();
  table = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  /* Whoever opens the default driver now says so. */
  CHECK(setenv("CUSHIM_DRIVER", "/nonexistent/libcuda.so.1", 1) == 0);
  CHECK_OK(cuDriverGetVersion(&version));
  CHECK(version == given_number("CHECK_VERSION"));
  if (version < 13000) {
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemDiscardBatchAsync(NULL, NULL, 0, 0, NULL));
    CHECK_CONTAINS(last_message(), "cuMemDiscardBatchAsync");
    CHECK_CONTAINS(last_message(), "13.0");
    CHECK(strstr(last_message(), "nonexistent") == NULL);
  }
  /* A table that no driver handed out. */
  table = NULL;
  CHECK_STATUS(CUDA_ERROR_NO_DEVICE, cuInit(0));
  CHECK_CONTAINS(last_message(), "cuInit");
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
