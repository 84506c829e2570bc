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
  CHECK_OK(cushim_buffer_create(resource, BYTES, all.stream, &buffer));
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

static cushim_status count_free(void *user, uint64_t pointer, size_t bytes, cushim_stream stream) {
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
  functions.deallocate = count_free;
  CHECK_OK(cushim_resource_create_custom(all.driver, &functions, &resource));
  CHECK_OK(cushim_buffer_create(resource, 16 + 96, NULL, &buffer));
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
  options.flags = 2;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  options.flags = 0;
  options.shape = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_dlpack(buffer, &options, &none));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK(freed == 0);
  tensor->deleter(tensor);
  CHECK(freed == 1);
}

static int deleted;

static void count_delete(DLManagedTensorVersioned *tensor) {
  (void)tensor;
  __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

static void refused(DLManagedTensorVersioned *tensor, const char *why) {
  cushim_buffer buffer = (cushim_buffer)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_import_dlpack(all.driver, tensor, NULL, &buffer));
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
  CHECK_OK(cushim_buffer_import_dlpack(all.driver, &tensor, &read_only, &buffer));
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
    CHECK_OK(cushim_buffer_import_dlpack(all.driver, exported, NULL, &buffer));
    CHECK_OK(cushim_buffer_get_pointer(all.buffer, &pointer));
    CHECK_OK(cushim_buffer_get_pointer(buffer, &again));
    CHECK(pointer == again);
    CHECK_OK(cushim_buffer_destroy(buffer));
    flush_callbacks();
  }
}

int main(void) {
  check_begin();
  all = open_objects();
  holds();
  imports();
  if (!is_none(all.driver)) devices();
  close_objects(&all);
  return check_done();
}
