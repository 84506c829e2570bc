/* kernels/forms.txt: the forms that it lists, with each group of alternatives written out. */
#ifndef FORMS_TABLE_H
#define FORMS_TABLE_H

#include "inputs.h"

enum { MOST_OPERANDS = 3, MOST_RESULTS = 2 };

struct form {
  char text[512];
  const struct kind *results[MOST_RESULTS];
  const struct kind *operands[MOST_OPERANDS];
  size_t result_count, operand_count;
  char bound[32]; /* how far a GPU's result may be off, "ulp 2"; empty where it is exact */
};

/* Calls `each` with every form, in order, and its number. Ends the program if the table is no table. */
void for_each_form(void (*each)(const struct form *form, size_t number, void *user), void *user);

#endif
