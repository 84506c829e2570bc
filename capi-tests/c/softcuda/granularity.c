/*
 * Virtual memory of a driver that recommends larger units than the least that work, as driver 580 on an H100 does not: a getter of the program's
 * own answers for softcuda. Sizes are multiples of what was asked for, and offsets of the least.
 */
#include "objects.h"
#include "resources.h"

#define MIB ((size_t)1 << 20)
#define LEAST (2 * MIB)
#define RECOMMENDED (8 * MIB)

enum { SIZE = CUSHIM_DESCRIPTOR_BYTES, MOST = 2 };

static const cushim_driver_table *real;

static CUresult CUSHIM_CUDAAPI granularity(size_t *bytes, const CUmemAllocationProp *asked, CUmemAllocationGranularity_flags which) {
  const CUresult result = real->cuMemGetAllocationGranularity_10020(bytes, asked, which);
  if (result == CUDA_SUCCESS) CHECK(*bytes == LEAST);
  if (result == CUDA_SUCCESS && which == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) *bytes = RECOMMENDED;
  return result;
}

static int get(void *user, const char *symbol, void **address, int of, uint64_t flags, int *found) {
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  void (*own)(void) = (void (*)(void))granularity;
  CUresult result;
  (void)user;
  if (strcmp(symbol, "cuMemGetAllocationGranularity") == 0) {
    memcpy(address, &own, sizeof own);
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  result = real->cuGetProcAddress_12000(symbol, address, of, flags, &query);
  *found = (int)query;
  return (int)result;
}

static struct objects all;
static cushim_virtual_options least;

static cushim_resource space_of(const cushim_virtual_options *options) {
  cushim_resource space = NULL;
  CHECK_OK(cushim_resource_create_virtual(all.device, options, &space));
  return space;
}

static size_t size_of(cushim_allocation allocation) {
  size_t bytes = 0;
  CHECK_OK(cushim_allocation_get_size(allocation, &bytes));
  return bytes;
}

static cushim_allocation allocate(const cushim_virtual_options *options) {
  cushim_allocation allocation = NULL;
  CHECK_OK(cushim_allocation_create(all.device, 1, options, &allocation));
  return allocation;
}

static cushim_reservation reserve(const cushim_virtual_options *options, size_t expected) {
  cushim_reservation range = NULL;
  size_t bytes = 0;
  CHECK_OK(cushim_reservation_create(all.device, 1, options, &range));
  CHECK_OK(cushim_reservation_get_size(range, &bytes));
  CHECK(bytes == expected);
  return range;
}

/* What was asked for is what sizes are multiples of. */
static void sizes(void) {
  cushim_resource large = space_of(NULL), small = space_of(&least);
  cushim_buffer of_large = NULL, of_small = NULL;
  cushim_allocation of_eight = allocate(NULL), of_two = allocate(&least);
  uint64_t pointer = 0;
  CHECK_OK(cushim_buffer_create(large, all.stream, 1, &of_large));
  CHECK_OK(cushim_buffer_create(small, all.stream, 1, &of_small));
  CHECK(cushim_buffer_size(of_large) == RECOMMENDED && cushim_buffer_size(of_small) == LEAST);
  CHECK(size_of(of_eight) == RECOMMENDED && size_of(of_two) == LEAST);
  CHECK_OK(cushim_resource_allocate(large, NULL, 1, &pointer));
  CHECK_OK(cushim_resource_free(large, NULL, pointer, 1));
  CHECK_OK(cushim_allocation_destroy(of_eight));
  CHECK_OK(cushim_allocation_destroy(of_two));
  CHECK_OK(cushim_buffer_destroy(of_large));
  CHECK_OK(cushim_buffer_destroy(of_small));
  CHECK_OK(cushim_resource_destroy(large));
  CHECK_OK(cushim_resource_destroy(small));
}

/* A buffer that grows in smaller units than its resource has. */
static void grown(void) {
  cushim_resource space = space_of(NULL);
  cushim_buffer first = NULL, second = NULL, third = NULL;
  CHECK_OK(cushim_buffer_create(space, all.stream, 1, &first));
  CHECK_OK(cushim_buffer_grow(first, RECOMMENDED + 1, &least, &second));
  CHECK(cushim_buffer_size(second) == RECOMMENDED + LEAST);
  CHECK_OK(cushim_buffer_grow(second, RECOMMENDED + LEAST + 1, NULL, &third));
  CHECK(cushim_buffer_size(third) == 2 * RECOMMENDED + LEAST);
  CHECK_OK(fill_buffer(all.stream, third, 0, 5, cushim_buffer_size(third)));
  CHECK(last_byte(all.stream, cushim_buffer_pointer(third), cushim_buffer_size(third)) == 5);
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_sleep(third, all.stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  CHECK_OK(cushim_buffer_wake(third, all.stream));
  CHECK(last_byte(all.stream, cushim_buffer_pointer(third), cushim_buffer_size(third)) == 5);
  CHECK_OK(cushim_buffer_destroy(third));
  CHECK_OK(cushim_resource_destroy(space));
}

/* The driver maps at multiples of the least. */
static void mapped(void) {
  cushim_reservation large = reserve(NULL, RECOMMENDED), small = reserve(&least, LEAST);
  cushim_allocation of_two = allocate(&least), of_eight = allocate(NULL);
  CHECK_OK(cushim_reservation_map(large, LEAST, of_two));
  CHECK_OK(cushim_reservation_unmap(large, NULL, LEAST, LEAST));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_map(large, MIB, of_two));
  CHECK_CONTAINS(last_message(), "multiples of 2097152 bytes");
  CHECK_OK(cushim_reservation_map(large, 0, of_eight));
  CHECK_OK(cushim_reservation_map(small, 0, of_two));
  CHECK_OK(cushim_reservation_destroy(large));
  CHECK_OK(cushim_reservation_destroy(small));
  CHECK_OK(cushim_allocation_destroy(of_two));
  CHECK_OK(cushim_allocation_destroy(of_eight));
}

/* Whoever imports need not know in which units the memory was created. */
static void imported(void) {
  cushim_virtual_options to_share = least;
  cushim_resource space, large = space_of(NULL);
  cushim_buffer first = NULL, second = NULL, again = NULL;
  cushim_allocation one, same = NULL;
  unsigned char bytes[MOST * SIZE];
  int32_t files[MOST];
  int i;
  to_share.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  space = space_of(&to_share);
  one = allocate(&to_share);
  CHECK_OK(cushim_allocation_export(one, bytes, SIZE, files));
  CHECK_OK(cushim_allocation_import(all.device, NULL, bytes, SIZE, files[0], &same));
  CHECK(size_of(same) == LEAST);
  CHECK_OK(cushim_allocation_destroy(same));
  CHECK_OK(cushim_allocation_destroy(one));
  CHECK(close(files[0]) == 0);
  CHECK_OK(cushim_buffer_create(space, all.stream, 1, &first));
  CHECK_OK(cushim_buffer_grow(first, 2 * LEAST, NULL, &second));
  CHECK_OK(cushim_buffer_export_parts(second, bytes, sizeof bytes, files, MOST));
  CHECK_OK(cushim_buffer_import_parts(large, all.stream, bytes, sizeof bytes, files, MOST, &again));
  CHECK(cushim_buffer_size(again) == 2 * LEAST);
  CHECK_OK(cushim_buffer_destroy(again));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  for (i = 0; i < MOST; i++) CHECK(close(files[i]) == 0);
  CHECK_OK(cushim_resource_destroy(space));
  CHECK_OK(cushim_resource_destroy(large));
}

int main(void) {
  cushim_driver_options with_getter = CUSHIM_OPTIONS(cushim_driver_options);
  uint64_t unreported = 7;
  cushim_driver driver;
  check_begin();
  driver = open_driver();
  real = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  with_getter.getter = get;
  CHECK_OK(cushim_driver_open(&with_getter, &all.driver));
  all.device = first_device(all.driver);
  all.context = primary_context(all.device);
  all.stream = new_stream(all.context);
  least = CUSHIM_OPTIONS(cushim_virtual_options);
  least.flags = CUSHIM_VIRTUAL_LEAST_GRANULARITY;
  sizes();
  grown();
  mapped();
  imported();
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &unreported));
  CHECK(unreported == 0);
  close_objects(&all);
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
