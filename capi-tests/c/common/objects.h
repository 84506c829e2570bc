/* What the test programs of the objects share. Include it first. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "check.h"
#include "kinds.h"

#include <stdint.h>

/*
 * What a program makes by the driver's own functions is its own to release: a program that is swept for what it leaves when calls fail
 * includes claims.h before this, which notes it.
 */
#ifdef LEND_MEMORY
#define PROGRAMS_OWN(native) LEND_MEMORY((uintptr_t)(native))
#else
#define PROGRAMS_OWN(native) ((void)(native))
#endif

/* A pointer that points nowhere. */
#define NOT_NULL ((void *)(uintptr_t)0x1234)

/* One object of each kind, or NULL. The device is borrowed, and the resource the program's own. */
#define OBJECT(kind) cushim_##kind kind;
struct objects {
  FOR_EACH_KIND(OBJECT)
};
#undef OBJECT

static inline cushim_device first_device(cushim_driver driver) {
  cushim_device device;
  if (!CHECK_OK(cushim_driver_get_device(driver, 0, &device))) exit(1);
  return device;
}

static inline cushim_context primary_context(cushim_device device) {
  cushim_context context;
  if (!CHECK_OK(cushim_context_retain_primary(device, &context))) exit(1);
  return context;
}

static inline cushim_stream new_stream(cushim_context context) {
  cushim_stream stream;
  CHECK_OK(cushim_stream_create(context, NULL, &stream));
  return stream;
}

static inline cushim_event new_event(cushim_context context, unsigned flags) {
  cushim_event_options options;
  cushim_event event;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = flags;
  CHECK_OK(cushim_event_create(context, &options, &event));
  return event;
}

/* The last error of this thread, which is made if there is none. */
static inline cushim_error some_error(void) {
  cushim_error error;
  int32_t same;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_same(NULL, NULL, &same));
  CHECK_OK(cushim_error_take(&error));
  return error;
}

static unsigned char own_memory[4096] __attribute__((aligned(4096)));

static inline cushim_status own_allocate(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer) {
  (void)user, (void)stream;
  if (bytes > sizeof own_memory) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = (uint64_t)(uintptr_t)own_memory;
  return CUSHIM_SUCCESS;
}

static inline cushim_status own_deallocate(void *user, cushim_stream stream, uint64_t pointer, size_t bytes) {
  (void)user, (void)pointer, (void)bytes, (void)stream;
  return CUSHIM_SUCCESS;
}

static inline cushim_status own_properties(void *user, cushim_memory_properties *properties) {
  (void)user;
  properties->device_accessible = 1; /* so that a device takes it */
  return CUSHIM_SUCCESS;
}

/* A resource that works with every driver: it hands out the same memory of the program's again and again. */
static inline cushim_resource own_resource(cushim_driver driver) {
  cushim_resource_functions functions;
  cushim_resource resource;
  memset(&functions, 0, sizeof functions);
  functions.struct_size = sizeof functions;
  functions.allocate = own_allocate;
  functions.free = own_deallocate;
  functions.properties = own_properties;
  CHECK_OK(cushim_resource_create_custom(driver, &functions, &resource));
  return resource;
}

/* Driver, device and context; the rest is NULL. */
static inline struct objects open_context(void) {
  struct objects objects;
  memset(&objects, 0, sizeof objects);
  objects.driver = open_driver();
  objects.device = first_device(objects.driver);
  objects.context = primary_context(objects.device);
  return objects;
}

static inline struct objects open_objects(void) {
  struct objects objects = open_context();
  objects.stream = new_stream(objects.context);
  objects.event = new_event(objects.context, CUSHIM_EVENT_TIMING);
  objects.error = some_error();
  objects.resource = own_resource(objects.driver);
  CHECK_OK(cushim_buffer_create(objects.resource, NULL, 1024, &objects.buffer));
  return objects;
}

static inline void close_objects(struct objects *objects) {
#define DESTROY(kind) CHECK_OK(cushim_##kind##_destroy(objects->kind));
  objects->device = NULL;
  FOR_EACH_OWNED_KIND(DESTROY)
#undef DESTROY
}

static inline uint64_t identity_of(const void *handle) {
  uint64_t number = 0;
  CHECK_OK(cushim_get_identity(handle, &number));
  CHECK(number != 0);
  return number;
}

/* Whether both name one object; their numbers say the same. */
static inline int is_same(const void *a, const void *b) {
  int32_t same = -1;
  CHECK_OK(cushim_same(a, b, &same));
  CHECK(same == (identity_of(a) == identity_of(b)));
  return same;
}

/* One line on the handle. */
static inline const char *description(const void *handle) {
  static __thread char line[256];
  CHECK_OK(cushim_describe(handle, line, sizeof line, NULL));
  return line;
}

static inline const cushim_error_detail *last_detail(void) {
  static __thread cushim_error_detail detail;
  memset(&detail, 0, sizeof detail);
  detail.struct_size = sizeof detail;
  CHECK_OK(cushim_last_error(&detail));
  return &detail;
}

/* Sets bytes of device memory by its address, in stream order. */
static inline cushim_status fill_bytes(cushim_stream stream, uint64_t pointer, uint32_t value, size_t count) {
  cushim_endpoint to = cushim_endpoint_device(pointer);
  return cushim_stream_fill(stream, &to, CUSHIM_VALUE_8(value), count);
}

/* The same, synchronous. */
static inline cushim_status set_bytes(cushim_context context, uint64_t pointer, uint32_t value, size_t count) {
  cushim_endpoint to = cushim_endpoint_device(pointer);
  return cushim_context_fill(context, &to, CUSHIM_VALUE_8(value), count);
}

/* Whether this driver is "none": streams and events do nothing, and all else is absent. */
static inline int is_none(cushim_driver driver) { return info_of(driver).kind == CUSHIM_DRIVER_KIND_NONE; }
static inline int is_software(cushim_driver driver) { return info_of(driver).kind == CUSHIM_DRIVER_KIND_SOFTWARE; }

#endif
