/* A plug-in with its own copy of the library; see copies.c. */
#include "plug_in.h"

#include <string.h>

cushim_status plug_in_open(cushim_driver *driver) { return cushim_driver_open(NULL, driver); }

cushim_status plug_in_destroy(cushim_driver driver) { return cushim_driver_destroy(driver); }

cushim_status plug_in_table(cushim_driver driver, const cushim_driver_table **table) {
  return cushim_driver_get_table(driver, CUSHIM_TABLE_LEGACY_STREAM, table);
}

cushim_status plug_in_last_error(cushim_error_detail *detail) { return cushim_last_error(detail); }
