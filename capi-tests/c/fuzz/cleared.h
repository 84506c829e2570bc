/* What a call that failed leaves where its results would be. */
#ifndef FUZZ_CLEARED_H
#define FUZZ_CLEARED_H

#include "shared.h"

static int is_zero(const unsigned char *bytes, size_t size) {
  size_t i;
  for (i = 0; i < size; i++) {
    if (bytes[i] != 0) return 0;
  }
  return 1;
}

/* Nothing. */
static void check_results(const struct fuzz_function *function, const uint64_t *arguments) {
  int i;
  for (i = 0; i < function->parameter_count; i++) {
    const struct fuzz_parameter *parameter = &function->parameters[i];
    const int is_result = parameter->role == PLACE || parameter->role == CLAIMED || parameter->role == LENT;
    const unsigned char *result = (const unsigned char *)(uintptr_t)arguments[i];
    uint64_t size = parameter->size, skipped = 0;
    /* What is filled on failure says why. */
    if (result == NULL || parameter->on_failure) continue;
    if (parameter->role == FILLED) {
      memcpy(&size, result, sizeof size);
      if (size > parameter->size) size = parameter->size; /* what the library does not know it leaves */
      skipped = sizeof size; /* struct_size stays */
    } else if (!is_result) {
      continue;
    }
    if (size > skipped && !is_zero(result + skipped, size - skipped)) fail("%s of a failed call is not cleared", parameter->name);
  }
}

#endif
