/*
 * NVIDIA's libraries on cushim's streams and memory: cuBLAS multiplies two matrices, and NCCL adds up what each device has. Both are found at
 * run time, so this program starts on any machine, and says what it did not find.
 *
 *   cc neighbours.c -lcushim -ldl -o neighbours
 *
 * They are built on the CUDA runtime, which works in the context that is current on the thread: push the one of the stream before calls
 * without a stream, as those that make a handle, and pass the native stream to the others.
 */
#include <cushim.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, COUNT = 1024, MOST_DEVICES = 16 };

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

/* What the libraries answer: 0 is success for both. */
static void check_library(const char *call, int answer) {
  if (answer == 0) return;
  fprintf(stderr, "%s answered %d\n", call, answer);
  exit(1);
}

static void *library_of(const char *const *names) {
  void *library = NULL;
  const char *const *name;
  for (name = names; *name != NULL && library == NULL; name++) library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) printf("no %s here\n", names[0]);
  return library;
}

/* Stores the address of a function where a pointer to one stands. */
static void function_of(void *library, const char *name, void *place) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  memcpy(place, &found, sizeof found);
}

/* A device's context, a stream of it, and memory with the same number everywhere. */
struct side {
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  CUstream native;
  cushim_buffer buffer;
  float *address;
};

static struct side open_side(cushim_driver driver, int32_t ordinal, size_t count, float value) {
  struct side side;
  cushim_resource pool = NULL;
  cushim_endpoint start;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  check(cushim_driver_get_device(driver, ordinal, &side.device));
  check(cushim_context_retain_primary(side.device, &side.context));
  check(cushim_stream_create(side.context, NULL, &side.stream));
  check(cushim_stream_native(side.stream, &side.native));
  check(cushim_device_get_resource(side.device, &pool));
  check(cushim_buffer_create(pool, side.stream, count * sizeof(float), &side.buffer));
  side.address = (float *)(uintptr_t)cushim_buffer_pointer(side.buffer);
  start = cushim_endpoint_buffer(side.buffer, 0);
  check(cushim_stream_fill(side.stream, &start, CUSHIM_VALUE_32(bits), count));
  return side;
}

static float first_of(const struct side *side) {
  float first = 0;
  cushim_endpoint from = cushim_endpoint_buffer(side->buffer, 0), to = cushim_endpoint_host(&first);
  check(cushim_stream_copy(side->stream, &to, &from, sizeof first));
  check(cushim_stream_synchronize(side->stream));
  return first;
}

static void close_side(const struct side *side) {
  check(cushim_buffer_destroy(side->buffer));
  check(cushim_stream_destroy(side->stream));
  check(cushim_context_destroy(side->context));
}

/* c = a * b, of matrices that are full of 1 and 2. */
static void multiply(cushim_driver driver) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL};
  int (*create)(void **), (*destroy)(void *), (*set_stream)(void *, CUstream);
  int (*sgemm)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
  void *library = library_of(names), *handle = NULL;
  const float one = 1, zero = 0;
  struct side a;
  cushim_buffer b = NULL, c = NULL;
  cushim_endpoint start;
  cushim_resource pool = NULL;
  cushim_context popped = NULL;
  const float two = 2;
  float first = 0;
  uint32_t bits;
  if (library == NULL) return;
  function_of(library, "cublasCreate_v2", &create);
  function_of(library, "cublasDestroy_v2", &destroy);
  function_of(library, "cublasSetStream_v2", &set_stream);
  function_of(library, "cublasSgemm_v2", &sgemm);
  a = open_side(driver, 0, SIDE * SIDE, 1);
  check(cushim_device_get_resource(a.device, &pool));
  check(cushim_buffer_create(pool, a.stream, SIDE * SIDE * sizeof(float), &b));
  check(cushim_buffer_create(pool, a.stream, SIDE * SIDE * sizeof(float), &c));
  memcpy(&bits, &two, sizeof bits);
  start = cushim_endpoint_buffer(b, 0);
  check(cushim_stream_fill(a.stream, &start, CUSHIM_VALUE_32(bits), SIDE * SIDE));
  check(cushim_context_push(a.context));
  check_library("cublasCreate", create(&handle));
  check_library("cublasSetStream", set_stream(handle, a.native));
  check_library("cublasSgemm", sgemm(handle, 0, 0, SIDE, SIDE, SIDE, &one, a.address, SIDE, (const float *)(uintptr_t)cushim_buffer_pointer(b),
                                     SIDE, &zero, (float *)(uintptr_t)cushim_buffer_pointer(c), SIDE));
  check(cushim_buffer_destroy(b)); /* in the stream's order: after the product */
  {
    cushim_endpoint from = cushim_endpoint_buffer(c, 0), to = cushim_endpoint_host(&first);
    check(cushim_stream_copy(a.stream, &to, &from, sizeof first));
    check(cushim_stream_synchronize(a.stream));
  }
  check_library("cublasDestroy", destroy(handle));
  check(cushim_context_pop(driver, &popped, NULL));
  check(cushim_buffer_destroy(c));
  close_side(&a);
  printf("cuBLAS: %d times 1 * 2 is %g\n", SIDE, (double)first);
  if (first != 2 * SIDE) exit(1);
}

/* Each device has its ordinal and 1, and afterwards the sum of all. */
static void add_up(cushim_driver driver) {
  static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
  enum { FLOATS = 7, SUM = 0 }; /* ncclFloat32, ncclSum */
  int (*init_all)(void **, int, const int *), (*destroy)(void *), (*group_start)(void), (*group_end)(void);
  int (*all_reduce)(const void *, void *, size_t, int, int, void *, CUstream);
  void *library = library_of(names), *communicators[MOST_DEVICES];
  struct side sides[MOST_DEVICES];
  int32_t count = 0, i;
  float expected = 0;
  if (library == NULL) return;
  function_of(library, "ncclCommInitAll", &init_all);
  function_of(library, "ncclCommDestroy", &destroy);
  function_of(library, "ncclGroupStart", &group_start);
  function_of(library, "ncclGroupEnd", &group_end);
  function_of(library, "ncclAllReduce", &all_reduce);
  check(cushim_driver_get_device_count(driver, &count));
  if (count > MOST_DEVICES) count = MOST_DEVICES;
  for (i = 0; i < count; i++) {
    sides[i] = open_side(driver, i, COUNT, (float)(i + 1));
    check(cushim_stream_synchronize(sides[i].stream));
    expected += (float)(i + 1);
  }
  check_library("ncclCommInitAll", init_all(communicators, count, NULL));
  check_library("ncclGroupStart", group_start());
  for (i = 0; i < count; i++) {
    check_library("ncclAllReduce", all_reduce(sides[i].address, sides[i].address, COUNT, FLOATS, SUM, communicators[i], sides[i].native));
  }
  check_library("ncclGroupEnd", group_end());
  for (i = 0; i < count; i++) {
    const float sum = first_of(&sides[i]);
    printf("NCCL: device %d of %d has the sum %g\n", (int)i, (int)count, (double)sum);
    if (sum != expected) exit(1);
  }
  for (i = 0; i < count; i++) check_library("ncclCommDestroy", destroy(communicators[i]));
  for (i = 0; i < count; i++) close_side(&sides[i]);
}

int main(void) {
  cushim_driver driver = NULL;
  check(cushim_driver_open(NULL, &driver));
  multiply(driver);
  add_up(driver);
  check(cushim_driver_destroy(driver));
  return 0;
}
