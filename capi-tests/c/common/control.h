/* What can be asked of softcuda, where that is the driver; see softcuda.h. */
#ifndef CONTROL_H
#define CONTROL_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct control {
  size_t (*live_objects)(void);
  int64_t (*live)(const char *kind);
  int (*dump)(int fd);
  int (*fault_set)(const char *text);
  void (*fault_clear)(void);
  uint64_t (*fault_hits)(void);
  void (*calls_reset)(void);
  int64_t (*call_count)(const char *name);
  int (*trace_start)(const char *path);
  void (*trace_stop)(void);
};

/* The control functions; false if another driver is in use. Good once a driver is open. */
static inline int find_control(struct control *control) {
  void *library = dlopen("libsoftcuda.so", RTLD_NOW | RTLD_NOLOAD), *found[10];
  static const char *const names[] = {"softcuda_live_objects", "softcuda_dump",        "softcuda_fault_set", "softcuda_fault_clear",
                                      "softcuda_fault_hits",   "softcuda_calls_reset", "softcuda_call_count",
                                      "softcuda_trace_start",  "softcuda_trace_stop",  "softcuda_live"};
  size_t i;
  if (library == NULL) return 0;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if ((found[i] = dlsym(library, names[i])) == NULL) return 0;
  }
  /* A pointer to a function is not cast from one to an object. */
  memcpy(&control->live_objects, &found[0], sizeof found[0]);
  memcpy(&control->dump, &found[1], sizeof found[0]);
  memcpy(&control->fault_set, &found[2], sizeof found[0]);
  memcpy(&control->fault_clear, &found[3], sizeof found[0]);
  memcpy(&control->fault_hits, &found[4], sizeof found[0]);
  memcpy(&control->calls_reset, &found[5], sizeof found[0]);
  memcpy(&control->call_count, &found[6], sizeof found[0]);
  memcpy(&control->trace_start, &found[7], sizeof found[0]);
  memcpy(&control->trace_stop, &found[8], sizeof found[0]);
  memcpy(&control->live, &found[9], sizeof found[0]);
  return 1;
}

#endif
