/* The other translation unit; see units_a.c. */
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>

int version_seen_by_b(void);
const cushim_driver_table *table_seen_by_b(void);

int version_seen_by_b(void) {
  int version = 0;
  return cuDriverGetVersion(&version) == CUDA_SUCCESS ? version : -1;
}

const cushim_driver_table *table_seen_by_b(void) { return cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM); }
