/* What error sentences say: the object by its label, names of the header, the reason; and what a failed call leaves behind. */
#include "busy.h"
#include "managed.h"

static struct objects all;
static int version;

/* The last error is about the object, and names it. */
static void names(const char *object) {
  CHECK_CONTAINS(last_message(), object);
  CHECK_CONTAINS(last_detail()->object, object);
}

static void events(void) {
  cushim_event start = new_event(all.context, CUSHIM_EVENT_TIMING), untimed = new_event(all.context, 0);
  struct busy busy;
  float milliseconds;
  CHECK_OK(cushim_set_label(start, "start"));
  CHECK_OK(cushim_set_label(untimed, "untimed"));
  CHECK_OK(cushim_set_label(all.event, "end"));
  CHECK_STATUS(CUSHIM_ERROR_NOT_RECORDED, cushim_event_elapsed(start, all.event, &milliseconds));
  CHECK_CONTAINS(last_message(), "event \"start\"");
  CHECK_STATUS(CUSHIM_ERROR_TIMING_DISABLED, cushim_event_elapsed(untimed, all.event, &milliseconds));
  CHECK_CONTAINS(last_message(), "event \"untimed\"");
  CHECK_OK(cushim_event_record(start, all.stream));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_event_record(all.event, all.stream));
  CHECK_STATUS(CUDA_ERROR_NOT_READY, cushim_event_elapsed(start, all.event, &milliseconds));
  names("event \"end\"");
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_event_destroy(start));
  CHECK_OK(cushim_event_destroy(untimed));
}

static void buffers(void) {
  cushim_resource resource;
  cushim_buffer buffer = NULL;
  cushim_endpoint weights, here;
  unsigned char bytes[512];
  CHECK_OK(cushim_device_get_resource(all.device, &resource));
  CHECK_OK(cushim_buffer_create(resource, all.stream, 256, &buffer));
  CHECK_OK(cushim_set_label(buffer, "weights"));
  weights = cushim_endpoint_buffer(buffer, 0);
  here = cushim_endpoint_host(bytes);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &weights, CUSHIM_VALUE_8(1), 257));
  CHECK_CONTAINS(last_message(), "buffer \"weights\"");
  CHECK(strstr(last_message(), "1 rows") == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &here, &weights, 257));
  CHECK_CONTAINS(last_message(), "buffer \"weights\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &weights, CUSHIM_VALUE_32(1), SIZE_MAX));
  CHECK(strstr(last_message(), "1 rows") == NULL);
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static void prefetches(void) {
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_range table;
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, HALF, &buffer));
  CHECK_OK(cushim_set_label(buffer, "table"));
  CHECK_OK(cushim_set_label(all.stream, "moving"));
  table = cushim_range_buffer(buffer, 0, 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_prefetch(all.stream, &table, &nowhere));
  table.offset = HALF;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_prefetch(all.stream, &table, &first));
  CHECK_CONTAINS(last_message(), "buffer \"table\"");
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* What is asked of a range, a set or an address names the labelled object, in the sentence and beside it. */
static void questions(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL;
  cushim_range of_buffer;
  cushim_range_attributes attributes;
  cushim_location set[2] = {{0, 0}, {0, 0}};
  size_t count = 0;
  uint64_t pointer = 0;
  size_t bytes = 0;
  memset(&attributes, 0, sizeof attributes);
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 4096, &buffer));
  CHECK_OK(cushim_set_label(buffer, "weights"));
  CHECK_OK(cushim_set_label(all.context, "main"));
  of_buffer = cushim_range_buffer(buffer, 0, 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_get_range_attributes(all.context, &of_buffer, &attributes));
  names("buffer \"weights\"");
  CHECK(strcmp(last_detail()->label, "weights") == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_get_accessed_by(all.context, &of_buffer, set, 2, &count));
  names("buffer \"weights\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_set_accessed_by(all.context, &of_buffer, NULL, 0));
  names("buffer \"weights\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_add_accessed_by(all.context, &of_buffer, &first, 1));
  names("buffer \"weights\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_advise(all.context, &of_buffer, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  names("buffer \"weights\"");
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_context_get_address_range(all.context, 0x1230, &pointer, &bytes));
  CHECK_CONTAINS(last_message(), "\"main\"");
  CHECK_CONTAINS(last_message(), "0x1230");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_get_device_pointer(all.context, set, &pointer));
  CHECK_CONTAINS(last_message(), "\"main\"");
  CHECK_CONTAINS(last_message(), "address 0x");
  CHECK_OK(cushim_set_label(all.context, NULL));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

/* Names of the header, not those of the library's inside. */
static void pools(void) {
  cushim_device_pool_options options;
  cushim_resource pool = NULL;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_set_attribute(pool, CUSHIM_POOL_USED_HIGH, 7));
  CHECK_CONTAINS(last_message(), "CUSHIM_POOL_USED_HIGH");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_set_attribute(pool, CUSHIM_POOL_USED_CURRENT, 0));
  CHECK_CONTAINS(last_message(), "CUSHIM_POOL_USED_CURRENT");
  CHECK_OK(cushim_resource_destroy(pool));
}

/* After a failure nothing of what the caller had in a struct is left. */
static void out_structs(void) {
  cushim_range_attributes attributes, zero;
  cushim_pointer_attributes pointer, nothing;
  cushim_range part = range(0x10, 64);
  memset(&attributes, 0x55, sizeof attributes);
  attributes.struct_size = sizeof attributes;
  memset(&zero, 0, sizeof zero);
  zero.struct_size = sizeof zero;
  CHECK(cushim_context_get_range_attributes(all.context, &part, &attributes) != CUSHIM_SUCCESS);
  CHECK(memcmp(&attributes, &zero, sizeof zero) == 0);
  memset(&attributes, 0x55, sizeof attributes);
  attributes.struct_size = sizeof attributes;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_get_range_attributes(NULL, &part, &attributes));
  CHECK(memcmp(&attributes, &zero, sizeof zero) == 0);
  memset(&pointer, 0x55, sizeof pointer);
  pointer.struct_size = sizeof pointer;
  memset(&nothing, 0, sizeof nothing);
  nothing.struct_size = sizeof nothing;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_get_pointer_attributes(NULL, 0x10, &pointer));
  CHECK(memcmp(&pointer, &nothing, sizeof nothing) == 0);
}

/* The value that stands for the current stream is no handle of it. */
static void current_stream(void) {
  int32_t same = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_destroy(cushim_stream_current()));
  CHECK_CONTAINS(last_message(), "pass the stream itself");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_set_label(cushim_stream_current(), "here"));
  CHECK_CONTAINS(last_message(), "pass the stream itself");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_same(all.stream, cushim_stream_current(), &same));
  CHECK_CONTAINS(last_message(), "pass the stream itself");
}

/* Where a driver says no more than that it does not like an argument. */
static void driver_arguments(void) {
  static char ordinary[8192];
  cushim_context_options options;
  cushim_context context = NULL;
  cushim_status status;
  int32_t attribute = 0;
  size_t limit = 0;
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_free_host(all.context, ordinary));
  CHECK_CONTAINS(last_message(), "No page-locked memory that can be freed this way starts at 0x");
  CHECK_STATUS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cushim_context_unregister_host(all.context, ordinary));
  CHECK_CONTAINS(last_message(), "No registered range starts at 0x");
  status = cushim_context_register_host(all.context, (void *)0x1000, 4096, 0);
  CHECK(status != CUSHIM_SUCCESS);
  if (status == CUDA_ERROR_INVALID_VALUE) CHECK_CONTAINS(last_message(), "0x1000 on is not memory of this process");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_device_get_attribute(all.device, (CUdevice_attribute)9999, &attribute));
  CHECK_CONTAINS(last_message(), "no attribute 9999");
  status = cushim_context_get_limit(all.context, (CUlimit)99, &limit);
  CHECK(status != CUSHIM_SUCCESS);
  CHECK_CONTAINS(last_message(), "no limit 99");
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = 0x7fffffff;
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_create(all.device, &options, &context));
  CHECK_CONTAINS(last_message(), "flags is 0x7fffffff");
}

/* A name that no driver has is not one of which the ABI is wrong. */
static void names_of_functions(void) {
  void *function = NULL;
  CHECK(cushim_loader_symbol(all.driver, "cuNope") == NULL);
  CHECK_CONTAINS(last_message(), "no function of the driver is exported as cuNope");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(all.driver, "cuNope", 2000, CUSHIM_TABLE_LEGACY_STREAM, &function));
  CHECK_CONTAINS(last_message(), "no function of the driver is called cuNope");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(all.driver, "cuInit", 1, CUSHIM_TABLE_LEGACY_STREAM, &function));
  CHECK_CONTAINS(last_message(), "it has 2000");
}

int main(void) {
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  if (version != 0) {
    events();
    buffers();
    prefetches();
    questions();
    pools();
    out_structs();
    current_stream();
    driver_arguments();
    names_of_functions();
  }
  close_objects(&all);
  return check_done();
}
