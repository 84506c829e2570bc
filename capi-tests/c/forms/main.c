/*
 * What forms of PTX instructions make of chosen operands, on whatever driver is there. One line for each form of
 * kernels/forms.txt: a checksum of all results or, where a GPU approximates, the results themselves.
 */
#include "../corpus/run.h"
#include "table.h"

#include <stdarg.h>
#include <unistd.h>

enum { BLOCK = 32, OPERAND_BYTES = 32, RESULT_BYTES = 16, PLACE_BYTES = 16 };

struct session {
  struct run run;
  uint64_t operands, results, places;
  uint64_t (*values)[4];
  const char *filter;
  size_t first;
  int list, ptx, bits;
};

static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...) {
  size_t length = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(text + length, size - length, format, arguments) >= (int)(size - length)) abort();
  va_end(arguments);
}

/* A kernel of the form alone: a thread for each case. */
static void compose(const struct form *form, char *text, size_t size) {
  static const char operand_names[] = "abc", result_names[] = "de";
  size_t i;
  snprintf(text, size,
           ".version 8.4\n.target sm_90\n.address_size 64\n"
           ".visible .entry form(.param .u64 operands, .param .u64 results, .param .u64 places) {\n"
           "  .shared .align 16 .b8 shared[%d];\n"
           "  .reg .pred %%p, %%q, %%r;\n  .reg .b16 %%h<2>;\n  .reg .b32 %%i, %%s, %%x, %%y, %%z, %%lane;\n"
           "  .reg .b64 %%operands, %%results, %%m, %%n, %%w<2>;\n"
           "  mov.u32 %%lane, %%laneid;\n  mov.u32 %%i, %%ctaid.x;\n  mad.lo.u32 %%i, %%i, %d, %%lane;\n"
           "  ld.param.u64 %%operands, [operands];\n  mad.wide.u32 %%operands, %%i, %d, %%operands;\n"
           "  ld.param.u64 %%results, [results];\n  mad.wide.u32 %%results, %%i, %d, %%results;\n"
           "  ld.param.u64 %%m, [places];\n  mad.wide.u32 %%m, %%i, %d, %%m;\n"
           "  mov.u32 %%s, shared;\n  mad.lo.u32 %%s, %%lane, %d, %%s;\n"
           "  cvt.u64.u32 %%n, %%s;\n  cvta.shared.u64 %%n, %%n;\n",
           BLOCK * PLACE_BYTES, BLOCK, OPERAND_BYTES, RESULT_BYTES, PLACE_BYTES, PLACE_BYTES);
  for (i = 0; i < form->operand_count; i++)
    append(text, size, "  .reg .b%zu %%%c;\n  ld.global.b%zu %%%c, [%%operands+%zu];\n", form->operands[i]->bytes * 8,
           operand_names[i], form->operands[i]->bytes * 8, operand_names[i], i * 8);
  for (i = 0; i < form->result_count; i++)
    append(text, size, "  .reg .b%zu %%%c;\n  mov.b%zu %%%c, 0;\n", form->results[i]->bytes * 8, result_names[i],
           form->results[i]->bytes * 8, result_names[i]);
  append(text, size, "  %s\n", form->text);
  for (i = 0; i < form->result_count; i++)
    append(text, size, "  st.global.b%zu [%%results+%zu], %%%c;\n", form->results[i]->bytes * 8, i * 8, result_names[i]);
  append(text, size, "  ret;\n}\n");
}

static void add(uint64_t *checksum, uint64_t value, size_t bytes) {
  for (; bytes > 0; bytes--, value >>= 8) *checksum = (*checksum ^ (value & 0xff)) * 0x100000001b3u; /* FNV-1a */
}

static void report(struct session *session, const struct form *form, size_t count) {
  const uint64_t(*results)[2] = got(&session->run, session->results, count * RESULT_BYTES);
  uint64_t checksum = 0xcbf29ce484222325u;
  size_t at, i;
  printf("%s\t", form->text);
  if (form->bound[0] != 0) printf("near %s %s", form->results[0]->name, form->bound);
  else if (session->bits) printf("bits");
  for (at = 0; at < count; at++)
    for (i = 0; i < form->result_count; i++) {
      if (session->bits || form->bound[0] != 0) printf(" %llx", (unsigned long long)results[at][i]);
      else add(&checksum, results[at][i], form->results[i]->bytes);
    }
  if (!session->bits && form->bound[0] == 0) printf("%016llx", (unsigned long long)checksum);
  printf("\n");
}

static void run_form(struct session *session, const struct form *form) {
  static char text[8192];
  struct run *run = &session->run;
  size_t count = fill_cases(session->values, form->operands, form->operand_count, form->bound[0] != 0);
  compose(form, text, sizeof text);
  if (cushim_library_load(run->context, text, strlen(text) + 1, NULL, &run->library) != CUSHIM_SUCCESS) {
    printf("%s\trefused\n", form->text);
    return;
  }
  static const uint64_t zeros[MOST_CASES][4];
  overwrite(run, session->operands, session->values, count * OPERAND_BYTES);
  overwrite(run, session->results, zeros, count * RESULT_BYTES);
  overwrite(run, session->places, zeros, count * PLACE_BYTES);
  LAUNCH(run, "form", line((uint32_t)(count / BLOCK), BLOCK), ARG(session->operands), ARG(session->results),
         ARG(session->places));
  finish(run);
  if (run->failure[0] == 0) report(session, form, count);
  cushim_library_destroy(run->library);
  while (run->copy_count > 0) free(run->copies[--run->copy_count]);
}

/* No context survives a fault: a new process goes on behind the form. */
static void go_on(const struct session *session, size_t next) {
  char number[32];
  char *arguments[] = {"forms", "--first", number, session->bits ? "--bits" : "--checksums", NULL, NULL, NULL};
  snprintf(number, sizeof number, "%zu", next);
  if (session->filter != NULL) arguments[4] = "--filter", arguments[5] = (char *)(uintptr_t)session->filter;
  execv("/proc/self/exe", arguments);
  perror("forms");
  exit(2);
}

static void each(const struct form *form, size_t number, void *user) {
  static char text[8192];
  struct session *session = user;
  if (number < session->first || (session->filter != NULL && strstr(form->text, session->filter) == NULL)) return;
  if (session->list) {
    puts(form->text);
  } else if (session->ptx) {
    compose(form, text, sizeof text);
    fputs(text, stdout);
  } else {
    run_form(session, form);
    if (session->run.failure[0] != 0) printf("%s\tfails %s\n", form->text, session->run.failure);
    fflush(stdout);
    if (session->run.failure[0] != 0) go_on(session, number + 1);
  }
}

static int usage(int status) {
  fputs("usage: forms [--list | --ptx] [--bits] [--filter TEXT] [--first N]\n\n"
        "Runs every form of a PTX instruction that kernels/forms.txt lists, with chosen operands.\n\n"
        "  --list         says which there are, and runs none\n"
        "  --ptx          prints the kernel of each, and runs none\n"
        "  --bits         prints every result, not a checksum of them\n"
        "  --filter TEXT  only forms that contain this\n"
        "  --first N      only from the form of this number on\n\n"
        "CUSHIM_DRIVER says on which driver.\n",
        status == 0 ? stdout : stderr);
  return status;
}

int main(int count, char **arguments) {
  static struct session session;
  int i;
  for (i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--help") == 0) return usage(0);
    else if (strcmp(arguments[i], "--list") == 0) session.list = 1;
    else if (strcmp(arguments[i], "--ptx") == 0) session.ptx = 1;
    else if (strcmp(arguments[i], "--bits") == 0) session.bits = 1;
    else if (strcmp(arguments[i], "--checksums") == 0) session.bits = 0;
    else if (strcmp(arguments[i], "--filter") == 0 && i + 1 < count) session.filter = arguments[++i];
    else if (strcmp(arguments[i], "--first") == 0 && i + 1 < count) session.first = (size_t)atol(arguments[++i]);
    else return usage(2);
  }
  session.values = calloc(MOST_CASES, sizeof *session.values);
  if (!session.list && !session.ptx) {
    open_device(&session.run);
    session.operands = put(&session.run, NULL, MOST_CASES * OPERAND_BYTES);
    session.results = put(&session.run, NULL, MOST_CASES * RESULT_BYTES);
    session.places = put(&session.run, NULL, MOST_CASES * PLACE_BYTES);
  }
  for_each_form(each, &session);
  free(session.values);
  return 0;
}
