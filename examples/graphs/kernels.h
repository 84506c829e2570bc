/*
 * Which kernels an example uses. They stand in it as PTX, so that it needs no compiler; its twin NAME.cu has the same in CUDA C++. With
 * EXAMPLE_KERNELS=NAME.cu in the environment NVRTC compiles those when the program runs, and they take the place of the others.
 */
#ifndef EXAMPLE_KERNELS_H
#define EXAMPLE_KERNELS_H

#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

/* Without multiply-adds, which round once: what the examples compute on the host rounds twice. As code that may yet be linked. */
static const char *const kernel_options[] = {"--fmad=false", "--relocatable-device-code=true"};

static inline void check_kernels(cushim_status status) {
  static cushim_error_detail detail;
  if (status == CUSHIM_SUCCESS) return;
  detail.struct_size = sizeof detail;
  cushim_last_error(&detail);
  fprintf(stderr, "%s\n%s", detail.message, detail.driver_log); /* the log has all that the compiler said */
  exit(1);
}

/* The text of a file, for free(). */
static inline char *text_of(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t length = 0, more;
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  do {
    text = realloc(text, length + 4097);
    if (text == NULL) abort();
    more = fread(text + length, 1, 4096, file);
    length += more;
  } while (more > 0);
  fclose(file);
  text[length] = '\0';
  return text;
}

/* The PTX that the program has, or that of its twin, which lasts as long as the process. */
static inline const char *kernels(cushim_context context, const char *ptx) {
  const char *path = getenv("EXAMPLE_KERNELS");
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  cushim_device device;
  cushim_program program;
  size_t length;
  char *source, *compiled;
  if (path == NULL) return ptx;

  source = text_of(path);
  options.name = path;
  options.kind = CUSHIM_CODE_PTX;
  options.options = kernel_options;
  options.option_count = sizeof kernel_options / sizeof *kernel_options;
  check_kernels(cushim_context_get_device(context, &device));
  check_kernels(cushim_program_compile(device, source, &options, &program));
  check_kernels(cushim_program_get_code(program, NULL, 0, &length));
  compiled = calloc(length + 1, 1);
  if (compiled == NULL) abort();
  check_kernels(cushim_program_get_code(program, compiled, length, NULL));
  check_kernels(cushim_program_destroy(program));
  free(source);
  return compiled;
}

#endif
