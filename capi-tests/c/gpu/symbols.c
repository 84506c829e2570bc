/* Every address that the table holds is that of the exported name which the catalogue gives its ABI. */
#define _GNU_SOURCE /* dlsym */
#include <cushim_driver.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  cushim_driver driver;
  cushim_driver_info info;
  void *library;
  size_t index, found = 0, other = 0;
  int kind;

  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (cushim_driver_open(NULL, &driver) != CUSHIM_SUCCESS || cushim_driver_get_info(driver, &info) != CUSHIM_SUCCESS ||
      (library = dlopen(info.path, RTLD_NOW | RTLD_LOCAL)) == NULL) {
    static cushim_error_detail detail;
    detail.struct_size = sizeof detail;
    cushim_last_error(&detail);
    fprintf(stderr, "%s\n", detail.message);
    return 1;
  }
  for (kind = CUSHIM_TABLE_LEGACY_STREAM; kind <= CUSHIM_TABLE_PER_THREAD_STREAM; kind++) {
    for (index = 0; index < cushim_symbol_count(); index++) {
      cushim_symbol symbol;
      memset(&symbol, 0, sizeof symbol);
      symbol.struct_size = sizeof symbol;
      if (cushim_driver_get_symbol(driver, index, kind, &symbol) != CUSHIM_SUCCESS) return 1;
      if (symbol.address == NULL) continue;
      found++;
      if (dlsym(library, symbol.exported) != symbol.address) {
        other++;
        printf("%s at %d: not %s\n", symbol.name, (int)symbol.abi, symbol.exported);
      }
    }
  }
  printf("%s: %lu addresses, %lu of another function\n", info.path, (unsigned long)found, (unsigned long)other);
  return other != 0 || found == 0;
}
