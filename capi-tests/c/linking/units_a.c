/* Two translation units of one program, both with the familiar names. */
#define CUSHIM_CUDA_NAMES
#include "check.h"

int version_seen_by_b(void);
const cushim_driver_table *table_seen_by_b(void);

int main(void) {
  int version = 0;
  check_begin();
  CHECK_OK(cuDriverGetVersion(&version));
  CHECK(version == given_number("CHECK_VERSION"));
  CHECK(version_seen_by_b() == version);
  CHECK(table_seen_by_b() == cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM));
  return check_done();
}
