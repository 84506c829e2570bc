#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forms.inc" /* forms_start[], forms_end[] */

struct walk {
  struct form form;
  size_t number;
  void (*each)(const struct form *form, size_t number, void *user);
  void *user;
};

static void wrong(const char *line) {
  fprintf(stderr, "forms.txt: %s\n", line);
  exit(2);
}

/* Reads names of kinds up to the end of the text. How many there are. */
static size_t kinds(char *text, const struct kind **found, size_t most) {
  size_t count = 0;
  char *word;
  for (word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    if (count == most || (found[count] = kind_named(word)) == NULL) wrong(word);
    count++;
  }
  return count;
}

/* [d e = a b c], or [d ~ a: KIND N]. */
static void begin_section(struct form *form, char *line) {
  char *middle = strpbrk(line, "=~"), *bound = strchr(line, ':'), *end = strchr(line, ']');
  if (middle == NULL || end == NULL || (*middle == '~') != (bound != NULL)) wrong(line);
  *end = 0;
  form->bound[0] = 0;
  if (bound != NULL) {
    snprintf(form->bound, sizeof form->bound, "%s", bound + 2);
    *bound = 0;
  }
  *middle = 0;
  form->result_count = kinds(line + 1, form->results, MOST_RESULTS);
  form->operand_count = kinds(middle + 1, form->operands, MOST_OPERANDS);
  if (form->result_count == 0) wrong(line);
}

/* Writes the rest of the line behind what is written out already, once for each choice of alternatives. */
static void expand(struct walk *walk, size_t length, const char *rest) {
  char *text = walk->form.text;
  for (; *rest != 0; rest++) {
    if (length + 1 >= sizeof walk->form.text) wrong(rest);
    if ((*rest == '{' || *rest == '}') && rest[1] == *rest) rest++; /* the brace itself */
    else if (*rest == '{') break;
    text[length++] = *rest;
  }
  if (*rest == 0) {
    text[length] = 0;
    walk->each(&walk->form, walk->number++, walk->user);
    return;
  }
  const char *end = strchr(rest, '}'), *from = rest + 1;
  if (end == NULL) wrong(rest);
  while (from <= end) {
    size_t size = strcspn(from, ",}");
    if (length + size >= sizeof walk->form.text) wrong(rest);
    memcpy(text + length, from, size);
    expand(walk, length + size, end + 1);
    from += size + 1;
  }
}

void for_each_form(void (*each)(const struct form *form, size_t number, void *user), void *user) {
  struct walk walk;
  const char *line = forms_start;
  memset(&walk, 0, sizeof walk);
  walk.each = each;
  walk.user = user;
  while (line < forms_end && *line != 0) {
    size_t size = strcspn(line, "\n");
    char copy[1024];
    if (size >= sizeof copy) wrong(line);
    memcpy(copy, line, size);
    copy[size] = 0;
    if (copy[0] == '[') begin_section(&walk.form, copy);
    else if (copy[0] != '#' && copy[0] != 0) expand(&walk, 0, copy);
    line += size + 1;
  }
}
