/* The operands that forms are given: for each kind, chosen values and then ones that look random. */
#ifndef FORMS_INPUTS_H
#define FORMS_INPUTS_H

#include <stddef.h>
#include <stdint.h>

struct kind {
  const char *name;
  size_t bytes;
  const uint64_t *chosen;
  size_t chosen_count;
  uint64_t (*random)(uint64_t *state);
};

/* NULL if there is none of this name. */
const struct kind *kind_named(const char *name);

/*
 * Fills `values[case][operand]`: all combinations of the first so many chosen values, then random ones. The number of
 * cases is a multiple of 32.
 */
size_t fill_cases(uint64_t (*values)[4], const struct kind *const *operands, size_t operand_count, int few);

enum { MOST_CASES = 2048 };

#endif
