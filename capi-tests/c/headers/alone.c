/* The header alone, twice, in every standard of C and C++: its types, the table, and no name of the driver's. */
#include <cushim_driver.h>
#include <cushim_driver.h>

#ifdef cuInit
#error "the familiar names are defined though nobody asked for them"
#endif

int cuInit(int mine);
int cuInit(int mine) { return mine; }

int has_advice(const cushim_driver_table *table);
int has_advice(const cushim_driver_table *table) {
  CUmemLocation location;
  cushim_driver_options options;
  cushim_driver driver = NULL;
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  options.struct_size = sizeof options;
  options.flags = CUSHIM_DRIVER_IGNORE_ENVIRONMENT;
  return (CUSHIM_HAS(table, cuMemAdvise_12020) || CUSHIM_HAS(table, cuMemAdvise_8000)) && driver == NULL &&
         location.type == CU_MEM_LOCATION_TYPE_DEVICE && options.flags != 0 && CUSHIM_ERROR_UNSUPPORTED < 0;
}
