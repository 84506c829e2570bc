/* A table from an older library is shorter: nothing behind its end is read, and calls to what it lacks are answered. */
#include "check.h"

static cushim_driver_table older;

#define CUSHIM_CUDA_NAMES
#define CUSHIM_CUDA_TABLE (&older)
#include <cushim_driver.h>

int main(void) {
  const cushim_driver_table *table = &older, *none = NULL;
  cushim_driver driver;
  int version = 0;
  size_t end = offsetof(cushim_driver_table, cuDriverGetVersion_2020) + sizeof(void *);
  check_begin();
  driver = open_driver();
  older = *table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK(CUSHIM_HAS(table, cuDriverGetVersion_2020) && CUSHIM_HAS(table, cuMemAlloc_3020));

  /* Behind its end lies something else, which would crash whoever called it. */
  memset((char *)&older + end, 0xee, sizeof older - end);
  older.struct_size = end;
  CHECK(CUSHIM_HAS(table, cuDriverGetVersion_2020));
  CHECK(!CUSHIM_HAS(table, cuMemAlloc_3020) && !CUSHIM_HAS(table, cuGraphNodeSetParams_13040));
  older.struct_size = end - 1;
  CHECK(!CUSHIM_HAS(table, cuDriverGetVersion_2020));
  older.struct_size = 0;
  CHECK(!CUSHIM_HAS(table, cuArray3DCreate_2000));
  CHECK(!CUSHIM_HAS(none, cuInit_2000));

  older.struct_size = end;
  CHECK_OK(cuDriverGetVersion(&version));
  CHECK(version == given_number("CHECK_VERSION"));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemAlloc(NULL, 1));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemPrefetchAsync(0, 1, 0, NULL));
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
