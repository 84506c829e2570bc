#include "run.h"

#include <stdarg.h>

static const char *message(void) {
  static cushim_error_detail detail;
  memset(&detail, 0, sizeof detail);
  detail.struct_size = sizeof detail;
  return cushim_last_error(&detail) == CUSHIM_SUCCESS ? detail.message : "no message";
}

static void must(cushim_status status, const char *what) {
  static cushim_error_detail detail;
  if (status == CUSHIM_SUCCESS) return;
  detail.struct_size = sizeof detail;
  cushim_last_error(&detail);
  fprintf(stderr, "%s: %d: %s\n", what, (int)status, detail.message);
  exit(2);
}

void open_device(struct run *run) {
  cushim_driver driver;
  memset(run, 0, sizeof *run);
  must(cushim_driver_open(NULL, &driver), "driver");
  must(cushim_driver_get_device(driver, 0, &run->device), "device");
  must(cushim_context_retain_primary(run->device, &run->context), "context");
  must(cushim_stream_create(run->context, NULL, &run->stream), "stream");
  run->is_captured = getenv("CORPUS_CAPTURED") != NULL;
}

void fail(struct run *run, const char *format, ...) {
  va_list arguments;
  if (run->failure[0] != 0) return;
  va_start(arguments, format);
  vsnprintf(run->failure, sizeof run->failure, format, arguments);
  va_end(arguments);
}

static void done(struct run *run, cushim_status status, const char *what) {
  if (status != CUSHIM_SUCCESS) fail(run, "%s: %d: %s", what, (int)status, message());
}

void overwrite(struct run *run, uint64_t pointer, const void *bytes, size_t size) {
  cushim_endpoint to = cushim_endpoint_device(pointer);
  cushim_endpoint from = cushim_endpoint_host(bytes);
  done(run, cushim_stream_copy(run->stream, &to, &from, size), "copy to the device");
  done(run, cushim_stream_synchronize(run->stream), "copy to the device");
}

uint64_t put(struct run *run, const void *bytes, size_t size) {
  uint64_t pointer = 0;
  void *zeros = NULL;
  if (run->memory_count == MOST_ALLOCATIONS) return fail(run, "too many allocations"), 0;
  done(run, cushim_context_allocate(run->context, size, &pointer), "allocate");
  run->memory[run->memory_count++] = pointer;
  if (bytes == NULL) bytes = zeros = calloc(size, 1);
  overwrite(run, pointer, bytes, size);
  free(zeros);
  return pointer;
}

void *got(struct run *run, uint64_t pointer, size_t size) {
  void *copy = calloc(size, 1);
  cushim_endpoint to = cushim_endpoint_host(copy);
  cushim_endpoint from = cushim_endpoint_device(pointer);
  if (run->copy_count == MOST_ALLOCATIONS) abort();
  run->copies[run->copy_count++] = copy;
  done(run, cushim_stream_copy(run->stream, &to, &from, size), "copy from the device");
  finish(run);
  return copy;
}

cushim_status finish(struct run *run) {
  cushim_status status = cushim_stream_synchronize(run->stream);
  done(run, status, "wait");
  return status;
}

uint64_t variable(struct run *run, const char *name, size_t size) {
  uint64_t pointer = 0;
  size_t bytes = 0;
  done(run, cushim_library_get_global(run->library, name, &pointer, &bytes), name);
  if (bytes != size) fail(run, "%s has %zu bytes, not %zu", name, bytes, size);
  return pointer;
}

/* More than 48 KiB must be asked for. */
static void allow_shared(struct run *run, cushim_kernel kernel, uint32_t bytes) {
  if (bytes <= 49152) return;
  done(run, cushim_kernel_set_attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int32_t)bytes),
       "shared memory");
}

/* The launch as a graph of its own, which is launched instead. */
static cushim_status launch_captured(struct run *run, cushim_kernel kernel, const cushim_launch_config *config,
                                     const cushim_arg *args, size_t count) {
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  cushim_exec exec = NULL;
  cushim_status status;
  must(cushim_builder_create(run->context, NULL, &builder), "builder");
  must(cushim_builder_begin(builder), "begin");
  status = cushim_kernel_launch(kernel, cushim_builder_stream(builder), config, args, count);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_end(builder, &graph);
  if (status == CUSHIM_SUCCESS) status = cushim_exec_create(graph, NULL, &exec, NULL);
  if (status == CUSHIM_SUCCESS) status = cushim_exec_launch(exec, run->stream);
  cushim_exec_destroy(exec);
  cushim_graph_destroy(graph);
  cushim_builder_destroy(builder);
  return status;
}

static cushim_status launch_directly(struct run *run, cushim_kernel kernel, const cushim_launch_config *config,
                                     const cushim_arg *args, size_t count) {
  return cushim_kernel_launch(kernel, run->stream, config, args, count);
}

void launch(struct run *run, const char *name, struct shape shape, const cushim_arg *args, size_t count) {
  cushim_kernel kernel = NULL;
  cushim_launch_config config;
  done(run, cushim_kernel_create(run->library, name, &kernel), name);
  if (kernel == NULL) return;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.grid = shape.grid;
  config.block = shape.block;
  config.shared_bytes = shape.shared_bytes;
  config.flags = shape.flags;
  allow_shared(run, kernel, shape.shared_bytes);
  done(run, (run->is_captured ? launch_captured : launch_directly)(run, kernel, &config, args, count), name);
  done(run, cushim_kernel_destroy(kernel), name);
}

/* FNV-1a. */
static void add_to_checksum(struct run *run, const void *bytes, size_t size) {
  const unsigned char *byte = bytes;
  size_t i;
  for (i = 0; i < size; i++) run->checksum = (run->checksum ^ byte[i]) * 0x100000001b3u;
}

static void hex(char *text, const unsigned char *bytes, size_t size) {
  while (size-- > 0) text += sprintf(text, "%02x", bytes[size]);
}

void same(struct run *run, const char *what, uint64_t pointer, const void *expected, size_t count, size_t each) {
  const unsigned char *is = got(run, pointer, count * each), *wanted = expected;
  char is_hex[80], wanted_hex[80];
  size_t i, wrong = 0, first = 0;
  add_to_checksum(run, is, count * each);
  for (i = count; i-- > 0;) {
    if (memcmp(is + i * each, wanted + i * each, each) != 0) wrong++, first = i;
  }
  if (wrong == 0) return;
  hex(is_hex, is + first * each, each > 32 ? 32 : each);
  hex(wanted_hex, wanted + first * each, each > 32 ? 32 : each);
  fail(run, "%s: %zu of %zu differ; [%zu] is 0x%s, not 0x%s", what, wrong, count, first, is_hex, wanted_hex);
}

static void near_one(struct run *run, const char *what, size_t i, double is, double expected, struct bound bound) {
  double allowed = fmax(bound.absolute, bound.relative * fabs(expected)), off = fabs(is - expected);
  if (is == expected || (isnan(is) && isnan(expected))) return;
  if (off <= allowed) {
    if (allowed > 0 && off / allowed > run->worst) run->worst = off / allowed;
    return;
  }
  fail(run, "%s: [%zu] is %.17g, not %.17g, off by %.3g where %.3g is allowed", what, i, is, expected, off, allowed);
}

void near_float(struct run *run, const char *what, uint64_t pointer, const double *expected, size_t count, struct bound bound) {
  const float *is = got(run, pointer, count * sizeof *is);
  size_t i;
  run->approximate = 1;
  add_to_checksum(run, is, count * sizeof *is);
  for (i = 0; i < count; i++) near_one(run, what, i, is[i], expected[i], bound);
}

void near_double(struct run *run, const char *what, uint64_t pointer, const double *expected, size_t count, struct bound bound) {
  const double *is = got(run, pointer, count * sizeof *is);
  size_t i;
  run->approximate = 1;
  add_to_checksum(run, is, count * sizeof *is);
  for (i = 0; i < count; i++) near_one(run, what, i, is[i], expected[i], bound);
}
