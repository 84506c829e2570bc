/* What can be asked of softcuda, where that is the driver. */
#ifndef FUZZ_SOFTCUDA_H
#define FUZZ_SOFTCUDA_H

#include "shared.h"

#include <dlfcn.h>

/* A control function of softcuda; NULL if another driver is in use. */
static void *softcuda_function(const char *name) {
  void *library = dlopen("libsoftcuda.so", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = library == NULL ? NULL : dlsym(library, name);
  if (library != NULL) dlclose(library);
  return symbol;
}

/* The driver has nothing left of what was made in it, soon: a function that waits in a stream keeps its context. */
static void check_nothing_lives(void) {
  static size_t (*live)(void);
  static int (*dump)(int);
  void *symbols[2];
  int milliseconds;
  if (live == NULL) {
    if ((symbols[0] = softcuda_function("softcuda_live_objects")) == NULL) return;
    if ((symbols[1] = softcuda_function("softcuda_dump")) == NULL) return;
    memcpy(&live, &symbols[0], sizeof live);
    memcpy(&dump, &symbols[1], sizeof dump);
  }
  for (milliseconds = 0; milliseconds < 3000; milliseconds++) {
    if (live() == 0) return;
    usleep(1000);
  }
  if (progress->alone != 1) dump(STDERR_FILENO);
  fail("something is left behind in the driver");
}

#endif
