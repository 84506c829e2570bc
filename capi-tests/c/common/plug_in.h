/* What a plug-in of copies.c exports. */
#ifndef PLUG_IN_H
#define PLUG_IN_H

#include <cushim_driver.h>

cushim_status plug_in_open(cushim_driver *driver);
cushim_status plug_in_destroy(cushim_driver driver);
cushim_status plug_in_table(cushim_driver driver, const cushim_driver_table **table);
cushim_status plug_in_last_error(cushim_error_detail *detail);

#endif
