/* Buffers as DLPack tensors and back. */
#include "resources.h"

#include "dlpack.h"

static struct objects all;

static DLManagedTensorVersioned *export_as(cushim_buffer buffer, const cushim_dlpack_options *options) {
  void *tensor = NULL;
  CHECK_OK(cushim_buffer_export_dlpack(buffer, options, &tensor));
  if (!CHECK(tensor != NULL)) exit(1);
  return (DLManagedTensorVersioned *)tensor;
}

static cushim_dlpack_options no_options(void) {
  cushim_dlpack_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  return options;
}

static void is_on(cushim_resource resource, int device_type) {
  DLManagedTensorVersioned *tensor;
  cushim_buffer buffer;
  uint64_t pointer = 0;
  CHECK_OK(cushim_buffer_create(resource, all.stream, BYTES, &buffer));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  tensor = export_as(buffer, NULL);
  CHECK(tensor->version.major == 1 && tensor->flags == 0 && tensor->deleter != NULL);
  CHECK(tensor->dl_tensor.device.device_type == device_type && tensor->dl_tensor.device.device_id == 0);
  CHECK((uint64_t)(uintptr_t)tensor->dl_tensor.data == pointer && tensor->dl_tensor.byte_offset == 0);
  CHECK(tensor->dl_tensor.ndim == 1 && tensor->dl_tensor.shape[0] == BYTES && tensor->dl_tensor.strides[0] == 1);
  CHECK(tensor->dl_tensor.dtype.code == kDLUInt && tensor->dl_tensor.dtype.bits == 8 && tensor->dl_tensor.dtype.lanes == 1);
  tensor->deleter(tensor);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* Each sort of memory is on the device that DLPack has for it. */
static void devices(void) {
  cushim_resource resource;
  CHECK_OK(cushim_resource_create_device_pool(all.device, NULL, &resource));
  is_on(resource, kDLCUDA);
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &resource));
  is_on(resource, kDLCUDAHost);
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &resource));
  is_on(resource, kDLCUDAManaged);
}

static int freed;

static cushim_status count_free(void *user, cushim_stream stream, uint64_t pointer, size_t bytes) {
  (void)user, (void)pointer, (void)bytes, (void)stream;
  freed++;
  return CUSHIM_SUCCESS;
}

/* The tensor holds the buffer, in the shape that was asked for. */
static void holds(void) {
  const int64_t shape[3] = {2, 3, 4};
  cushim_resource_functions functions;
  cushim_dlpack_options options = no_options();
  DLManagedTensorVersioned *tensor;
  cushim_resource resource;
  cushim_buffer buffer;
  void *none = NOT_NULL;
  memset(&functions, 0, sizeof functions);
  functions.struct_size = sizeof functions;
  functions.allocate = own_allocate;
  functions.free = count_free;
  CHECK_OK(cushim_resource_create_custom(all.driver, &functions, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, 16 + 96, &buffer));
  options.code = kDLFloat;
  options.bits = 32;
  options.shape = shape;
  options.dimensions = 3;
  options.offset = 16;
  options.flags = CUSHIM_DLPACK_READ_ONLY;
  tensor = export_as(buffer, &options);
  CHECK(tensor->flags == 1 && tensor->dl_tensor.device.device_type == kDLCPU && tensor->dl_tensor.byte_offset == 16);
  CHECK(tensor->dl_tensor.ndim == 3 && memcmp(tensor->dl_tensor.shape, shape, sizeof shape) == 0);
  CHECK(tensor->dl_tensor.strides[0] == 12 && tensor->dl_tensor.strides[1] == 4 && tensor->dl_tensor.strides[2] == 1);
  CHECK(tensor->dl_tensor.dtype.code == kDLFloat && tensor->dl_tensor.dtype.bits == 32);
  options.offset = 17;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), "does not fit");
  options.offset = 113;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  options.offset = 0;
  options.bits = 12;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  options.bits = 8;
  options.flags = 4;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  options.flags = CUSHIM_DLPACK_UNVERSIONED | CUSHIM_DLPACK_READ_ONLY;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  CHECK_CONTAINS(last_message(), "read-only");
  options.flags = 0;
  options.shape = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK(freed == 0);
  tensor->deleter(tensor);
  CHECK(freed == 1);
}

static cushim_status fail_to_free(void *user, cushim_stream stream, uint64_t pointer, size_t bytes) {
  (void)user, (void)pointer, (void)bytes;
  CHECK(stream != NULL);
  freed++;
  return CUSHIM_ERROR_INTERNAL;
}

static cushim_status in_stream_order(void *user, cushim_memory_properties *properties) {
  (void)user;
  properties->stream_ordered = 1;
  return CUSHIM_SUCCESS;
}

/* What the log said of a leak. */
static struct {
  char line[1024];
  int lines;
} leak;

static void hear_of_a_leak(void *user, int32_t level, const char *target, const char *message) {
  (void)user, (void)level;
  if (strcmp(target, "cushim") != 0 || strstr(message, "are leaked") == NULL) return;
  snprintf(leak.line, sizeof leak.line, "%s", message);
  leak.lines++;
}

/* A free that fails when nobody waits for its answer goes to the log, with all that is known, and is counted. */
static void leaks(void) {
  char expected[160];
  cushim_resource_functions functions;
  DLManagedTensorVersioned *tensor;
  cushim_resource resource;
  cushim_stream stream = new_stream(all.context);
  cushim_buffer buffer;
  CUstream native = NULL;
  uint64_t pointer = 0, before = 0, after = 0;
  memset(&functions, 0, sizeof functions);
  functions.struct_size = sizeof functions;
  functions.allocate = own_allocate;
  functions.free = fail_to_free;
  functions.properties = in_stream_order;
  CHECK_OK(cushim_resource_create_custom(all.driver, &functions, &resource));
  CHECK_OK(cushim_buffer_create(resource, stream, 64, &buffer));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  CHECK_OK(cushim_set_label(stream, "late"));
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &before));
  CHECK_OK(cushim_log_set_callback(hear_of_a_leak, NULL, NULL, CUSHIM_LOG_WARN));
  tensor = export_as(buffer, NULL);
  freed = 0;
  CHECK_OK(cushim_buffer_destroy(buffer)); /* the tensor holds it still */
  CHECK(freed == 0);
  tensor->deleter(tensor);
  flush_callbacks();
  CHECK(freed == 1 && leak.lines == 1);
  snprintf(expected, sizeof expected, "64 bytes of memory at 0x%llx are leaked", (unsigned long long)pointer);
  CHECK_CONTAINS(leak.line, expected);
  if (native == NULL) snprintf(expected, sizeof expected, "stream \"late\""); /* on "none" */
  else snprintf(expected, sizeof expected, "stream \"late\" (%p)", (void *)native);
  CHECK_CONTAINS(leak.line, expected);
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &after));
  CHECK(after == before + 1);
  /* Where a destroy can answer, it does, and nothing is logged or counted. */
  CHECK_OK(cushim_resource_create_custom(all.driver, &functions, &resource));
  CHECK_OK(cushim_buffer_create(resource, stream, 64, &buffer));
  CHECK_STATUS(CUSHIM_ERROR_INTERNAL, cushim_buffer_destroy(buffer));
  CHECK_CONTAINS(last_message(), "stream \"late\"");
  flush_callbacks();
  CHECK(freed == 2 && leak.lines == 1);
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &after));
  CHECK(after == before + 1);
  CHECK_OK(cushim_log_set_callback(NULL, NULL, NULL, 0));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_stream_destroy(stream));
}

static int deleted;

static void count_delete(DLManagedTensorVersioned *tensor) {
  (void)tensor;
  __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

static void refused(DLManagedTensorVersioned *tensor, const char *why) {
  cushim_buffer buffer = (cushim_buffer)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_import_dlpack(all.driver, tensor, 0, &buffer, NULL));
  CHECK_CONTAINS(last_message(), why);
  CHECK(buffer == NULL);
}

static void imports(void) {
  static float values[2][3];
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  DLManagedTensorVersioned tensor;
  cushim_buffer buffer;
  uint64_t pointer = 0;
  size_t bytes = 0;
  int32_t read_only = -1;
  memset(&tensor, 0, sizeof tensor);
  tensor.version.major = 1;
  tensor.version.minor = 3;
  tensor.deleter = count_delete;
  tensor.flags = 1;
  tensor.dl_tensor.data = values;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = 2;
  tensor.dl_tensor.dtype.code = kDLFloat;
  tensor.dl_tensor.dtype.bits = 32;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = shape;
  tensor.dl_tensor.strides = strides;
  strides[0] = 4;
  refused(&tensor, "not contiguous");
  strides[0] = 3;
  tensor.version.major = 2;
  refused(&tensor, "DLPack 2.3");
  tensor.version.major = 1;
  tensor.dl_tensor.device.device_type = 4;
  refused(&tensor, "type 4");
  tensor.dl_tensor.device.device_type = kDLCUDA;
  tensor.dl_tensor.device.device_id = 99;
  refused(&tensor, "99");
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = -1;
  refused(&tensor, "-1 dimensions");
  tensor.dl_tensor.ndim = 2;
  shape[0] = INT64_MAX;
  refused(&tensor, "no shape of any memory");
  shape[0] = 2;
  CHECK(deleted == 0);
  CHECK_OK(cushim_buffer_import_dlpack(all.driver, &tensor, 0, &buffer, &read_only));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  CHECK_OK(cushim_buffer_get_size(buffer, &bytes));
  CHECK(pointer == (uint64_t)(uintptr_t)values && bytes == sizeof values && read_only == 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
  flush_callbacks();
  CHECK(__atomic_load_n(&deleted, __ATOMIC_SEQ_CST) == 1);
  /* Out, and in again: the same memory. */
  {
    DLManagedTensorVersioned *exported = export_as(all.buffer, NULL);
    uint64_t again = 0;
    CHECK_OK(cushim_buffer_import_dlpack(all.driver, exported, 0, &buffer, NULL));
    CHECK_OK(cushim_buffer_get_pointer(all.buffer, &pointer));
    CHECK_OK(cushim_buffer_get_pointer(buffer, &again));
    CHECK(pointer == again);
    CHECK_OK(cushim_buffer_destroy(buffer));
    flush_callbacks();
  }
}

static void count_old_delete(DLManagedTensor *tensor) {
  (void)tensor;
  __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

/* As before DLPack 1: out, and in, and one of somebody else's. */
static void unversioned(void) {
  static int16_t values[8];
  int64_t shape[1] = {8};
  const int64_t wanted[2] = {4, 4};
  cushim_dlpack_options options = no_options();
  DLManagedTensor *exported, tensor;
  cushim_buffer buffer;
  void *place = NULL;
  uint64_t pointer = 0, again = 0;
  size_t bytes = 0;
  int32_t read_only = -1;
  options.flags = CUSHIM_DLPACK_UNVERSIONED;
  options.code = kDLInt;
  options.bits = 32;
  options.shape = wanted;
  options.dimensions = 2;
  CHECK_OK(cushim_buffer_get_pointer(all.buffer, &pointer));
  CHECK_OK(cushim_buffer_export_dlpack(all.buffer, &options, &place));
  exported = (DLManagedTensor *)place;
  if (!CHECK(exported != NULL)) exit(1);
  CHECK((uint64_t)(uintptr_t)exported->dl_tensor.data == pointer && exported->dl_tensor.ndim == 2);
  CHECK(exported->dl_tensor.shape[1] == 4 && exported->dl_tensor.strides[0] == 4 && exported->dl_tensor.dtype.bits == 32);
  exported->deleter(exported);
  CHECK_OK(cushim_buffer_export_dlpack(all.buffer, &options, &place));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_buffer_import_dlpack(all.driver, place, CUSHIM_DLPACK_READ_ONLY, &buffer, NULL));
  CHECK_OK(cushim_buffer_import_dlpack(all.driver, place, CUSHIM_DLPACK_UNVERSIONED, &buffer, &read_only));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &again));
  CHECK_OK(cushim_buffer_get_size(buffer, &bytes));
  CHECK(again == pointer && bytes == 64 && read_only == 0);
  CHECK_OK(cushim_buffer_destroy(buffer));

  memset(&tensor, 0, sizeof tensor);
  tensor.deleter = count_old_delete;
  tensor.dl_tensor.data = values;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = 1;
  tensor.dl_tensor.dtype.code = kDLInt;
  tensor.dl_tensor.dtype.bits = 16;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = shape;
  deleted = 0;
  CHECK_OK(cushim_buffer_import_dlpack(all.driver, &tensor, CUSHIM_DLPACK_UNVERSIONED, &buffer, NULL));
  CHECK_OK(cushim_buffer_get_size(buffer, &bytes));
  CHECK(bytes == sizeof values);
  CHECK_OK(cushim_buffer_destroy(buffer));
  flush_callbacks();
  CHECK(__atomic_load_n(&deleted, __ATOMIC_SEQ_CST) == 1);
}

int main(void) {
  check_begin();
  all = open_objects();
  holds();
  leaks();
  imports();
  unversioned();
  if (!is_none(all.driver)) devices();
  close_objects(&all);
  return check_done();
}
