/* An NVRTC for tests: its sources are PTX, which it hands out as it is. Of any other source it makes kernels that do nothing, one for each
 * name expression, and one more unless it is to be linked (-rdc=true, -dlto).
 * VERSION is 12080 for CUDA 12.8.
 *
 * FAKE_NVRTC_TRACE names a file to which each compilation appends its options, in a line. A source with "#error" has an error; the option
 * --nonsense is none; with --no-builtins a part of the compiler is missing. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

struct program {
  char *source, log[512], name[64], names[MOST][64], lowered[MOST][80];
  int count, lto, separate;
};

static const char ptx_head[] = ".version 7.0\n.target sm_70\n.address_size 64\n", nothing[] = ".visible .entry nothing() { ret; }\n";
static const char lto_ir[] = "\355CN\177 of ";

int nvrtcVersion(int *major, int *minor) {
  *major = VERSION / 1000;
  *minor = VERSION % 1000 / 10;
  return 0;
}

const char *nvrtcGetErrorString(int result) {
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : result == 5 ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR";
}

int nvrtcGetNumSupportedArchs(int *count) {
  *count = 3;
  return 0;
}

int nvrtcGetSupportedArchs(int *list) {
  list[0] = 70;
  list[1] = 80;
  list[2] = OLDEST_ONLY ? 200 : 90;
  if (OLDEST_ONLY) list[0] = list[1] = 199;
  return 0;
}

int nvrtcCreateProgram(struct program **program, const char *source, const char *name, int count, const char *const *headers,
                       const char *const *names) {
  (void)headers;
  (void)names;
  *program = calloc(1, sizeof **program);
  (*program)->source = strdup(source);
  snprintf((*program)->name, sizeof (*program)->name, "%s", name);
  snprintf((*program)->log, sizeof (*program)->log, "%s: warning: %d headers\n", name, count);
  return 0;
}

int nvrtcDestroyProgram(struct program **program) {
  free((*program)->source);
  free(*program);
  *program = NULL;
  return 0;
}

int nvrtcAddNameExpression(struct program *program, const char *expression) {
  if (program->count == MOST) return 1;
  snprintf(program->names[program->count], 64, "%s", expression);
  snprintf(program->lowered[program->count], 80, "_Z%zu%s", strlen(expression), expression);
  for (char *c = program->lowered[program->count]; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  program->count++;
  return 0;
}

static void make_kernels(struct program *program) {
  size_t size = sizeof ptx_head + sizeof nothing + MOST * 120, length;
  char *made = malloc(size);
  length = (size_t)snprintf(made, size, "%s%s", ptx_head, program->separate ? "" : nothing);
  for (int i = 0; i < program->count; i++) {
    length += (size_t)snprintf(made + length, size - length, ".visible .entry %s() { ret; }\n", program->lowered[i]);
  }
  free(program->source);
  program->source = made;
}

int nvrtcCompileProgram(struct program *program, int count, const char *const *options) {
  const char *trace = getenv("FAKE_NVRTC_TRACE");
  FILE *file = trace ? fopen(trace, "a") : NULL;
  if (file) {
    for (int i = 0; i < count; i++) fprintf(file, "%s ", options[i]);
    fputc('\n', file);
    fclose(file);
  }
  for (int i = 0; i < count; i++) {
    if (strcmp(options[i], "--nonsense") == 0) return 5;
    if (strcmp(options[i], "--no-builtins") == 0) return 7;
    if (strcmp(options[i], "-dlto") == 0) program->lto = program->separate = 1;
    if (strcmp(options[i], "-rdc=true") == 0) program->separate = 1;
  }
  if (!strstr(program->source, "#error")) {
    if (!strstr(program->source, ".version")) make_kernels(program);
    return 0;
  }
  snprintf(program->log, sizeof program->log, "%s(1): error: #error directive: it is wrong\n\n1 error detected.\n", program->name);
  return 6;
}

int nvrtcGetProgramLogSize(struct program *program, size_t *size) {
  *size = strlen(program->log) + 1;
  return 0;
}

int nvrtcGetProgramLog(struct program *program, char *log) {
  strcpy(log, program->log);
  return 0;
}

int nvrtcGetPTXSize(struct program *program, size_t *size) {
  *size = strlen(program->source) + 1;
  return 0;
}

int nvrtcGetPTX(struct program *program, char *text) {
  strcpy(text, program->source);
  return 0;
}

int nvrtcGetCUBINSize(struct program *program, size_t *size) {
  (void)program;
  *size = 0;
  return 0;
}

int nvrtcGetCUBIN(struct program *program, char *bytes) {
  (void)program;
  (void)bytes;
  return 0;
}

int nvrtcGetLTOIRSize(struct program *program, size_t *size) {
  *size = program->lto ? sizeof lto_ir - 1 + strlen(program->source) : 0;
  return 0;
}

int nvrtcGetLTOIR(struct program *program, char *bytes) {
  if (!program->lto) return 0;
  memcpy(bytes, lto_ir, sizeof lto_ir - 1);
  memcpy(bytes + sizeof lto_ir - 1, program->source, strlen(program->source));
  return 0;
}

int nvrtcGetLoweredName(struct program *program, const char *expression, const char **name) {
  for (int i = 0; i < program->count; i++)
    if (strcmp(program->names[i], expression) == 0) return *name = program->lowered[i], 0;
  return 10;
}
