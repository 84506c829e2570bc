/* A program that loads the library by hand and closes it again; the argument is its path. */
#include "check.h"

#include <dlfcn.h>

typedef const char *(*name_function)(cushim_status status);

int main(int argc, char **argv) {
  name_function status_name;
  void *library, *address;
  check_begin();
  if (!CHECK(argc == 2)) return 2;
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!CHECK(library != NULL)) return 1;
  address = dlsym(library, "cushim_status_name");
  memcpy(&status_name, &address, sizeof status_name);
  CHECK(dlclose(library) == 0);
  CHECK(strcmp(status_name(CUSHIM_ERROR_UNSUPPORTED), "CUSHIM_ERROR_UNSUPPORTED") == 0);
  CHECK(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL);
  return check_done();
}
