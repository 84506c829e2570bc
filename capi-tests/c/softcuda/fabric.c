/*
 * Memory for a fabric, on a driver whose device says that it has one: a getter of the program's own answers for softcuda, which has none.
 * Where the process has no IMEX channel, driver branch 580 refuses such memory with CUDA_ERROR_NOT_PERMITTED; where it has one, the memory
 * works, and is exported by its native handle.
 */
#include "objects.h"

enum { SIZE = CUSHIM_DESCRIPTOR_BYTES };

static const cushim_driver_table *real;
static int has_channel;

static CUresult CUSHIM_CUDAAPI attribute(int *value, CUdevice_attribute which, CUdevice device) {
  if (which != CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) return real->cuDeviceGetAttribute_2000(value, which, device);
  *value = 1;
  return CUDA_SUCCESS;
}

/* The same memory, for no fabric. */
static CUmemAllocationProp plain(const CUmemAllocationProp *asked) {
  CUmemAllocationProp properties = *asked;
  if (properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_FABRIC) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  return properties;
}

static CUresult CUSHIM_CUDAAPI granularity(size_t *bytes, const CUmemAllocationProp *asked, CUmemAllocationGranularity_flags which) {
  const CUmemAllocationProp properties = plain(asked);
  return real->cuMemGetAllocationGranularity_10020(bytes, &properties, which);
}

static CUresult CUSHIM_CUDAAPI create(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *asked, unsigned long long flags) {
  const CUmemAllocationProp properties = plain(asked);
  if (asked->requestedHandleTypes == CU_MEM_HANDLE_TYPE_FABRIC && !has_channel) return CUDA_ERROR_NOT_PERMITTED;
  return real->cuMemCreate_10020(handle, bytes, &properties, flags);
}

static int get(void *user, const char *symbol, void **address, int of, uint64_t flags, int *found) {
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result;
  (void)user;
#define OWN(name, function)                       \
  if (strcmp(symbol, name) == 0) {                \
    void (*own)(void) = (void (*)(void))function; \
    memcpy(address, &own, sizeof own);            \
    *found = CU_GET_PROC_ADDRESS_SUCCESS;         \
    return CUDA_SUCCESS;                          \
  }
  OWN("cuDeviceGetAttribute", attribute)
  OWN("cuMemGetAllocationGranularity", granularity)
  OWN("cuMemCreate", create)
#undef OWN
  result = real->cuGetProcAddress_12000(symbol, address, of, flags, &query);
  *found = (int)query;
  return (int)result;
}

/* What is no buffer yet is refused: a resource is nothing but a plan. */
static void without_channel(cushim_device device, cushim_resource resource, const cushim_virtual_options *options) {
  cushim_allocation allocation = (cushim_allocation)NOT_NULL;
  cushim_buffer buffer = (cushim_buffer)NOT_NULL;
  has_channel = 0;
  CHECK_STATUS(CUDA_ERROR_NOT_PERMITTED, cushim_allocation_create(device, 1, options, &allocation));
  CHECK(allocation == NULL);
  CHECK_CONTAINS(last_message(), "IMEX channel");
  CHECK_CONTAINS(last_message(), "CUSHIM_SHAREABLE_POSIX_FD");
  CHECK_STATUS(CUDA_ERROR_NOT_PERMITTED, cushim_buffer_create(resource, NULL, 1, &buffer));
  CHECK(buffer == NULL);
  CHECK_CONTAINS(last_message(), "IMEX channel");
}

static void with_channel(cushim_device device, cushim_resource resource, const cushim_virtual_options *options) {
  cushim_allocation allocation = NULL;
  cushim_buffer buffer = NULL;
  unsigned char descriptor[SIZE];
  int32_t file = 7;
  uint64_t native = 0;
  has_channel = 1;
  CHECK_OK(cushim_allocation_create(device, 1, options, &allocation));
  CHECK_OK(cushim_allocation_native(allocation, &native));
  CHECK(native != 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_allocation_export(allocation, descriptor, SIZE, &file));
  CHECK_CONTAINS(last_message(), "cushim_allocation_native");
  CHECK(file == 0 && descriptor[0] == 0);
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_buffer_create(resource, NULL, 1, &buffer));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export_parts(buffer, descriptor, SIZE, &file, 1));
  CHECK_CONTAINS(last_message(), "created for a fabric");
  CHECK_OK(cushim_buffer_destroy(buffer));
}

int main(void) {
  cushim_driver_options with_getter = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_virtual_options options = CUSHIM_OPTIONS(cushim_virtual_options);
  cushim_driver driver, opened = NULL;
  cushim_device device;
  cushim_resource resource = NULL;
  check_begin();
  driver = open_driver();
  real = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  with_getter.getter = get;
  CHECK_OK(cushim_driver_open(&with_getter, &opened));
  device = first_device(opened);
  options.shareable = CUSHIM_SHAREABLE_FABRIC;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_virtual(first_device(driver), &options, &resource));
  CHECK_CONTAINS(last_message(), "by fabric handle");
  CHECK_OK(cushim_resource_create_virtual(device, &options, &resource));
  without_channel(device, resource, &options);
  with_channel(device, resource, &options);
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_driver_destroy(opened));
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
