/*
 * Failures of the driver: a destroy answers for the release inside it, and an error after which nothing works is remembered.
 * The driver has to fail: the first event that is destroyed with 999, the second stream that is queried with 700 for ever.
 */
#include "resources.h"

static struct objects all;

static void failing_release(void) {
  cushim_event event = new_event(all.context, 0), other;
  uint64_t errors = 99;
  CHECK_OK(cushim_set_label(event, "copied"));
  CHECK_OK(cushim_event_ref(event, &other));
  CHECK_OK(cushim_event_destroy(event)); /* releases nothing */
  CHECK_STATUS(CUDA_ERROR_UNKNOWN, cushim_event_destroy(other));
  CHECK(strcmp(last_detail()->driver_function, "cuEventDestroy") == 0);
  CHECK(strcmp(last_detail()->object, "event \"copied\"") == 0 && strcmp(last_detail()->label, "copied") == 0);
  /* The handle is destroyed all the same, and nobody is told twice. */
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_event_destroy(other));
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &errors));
  CHECK(errors == 0);
}

static const char code[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry nothing() { ret; }\n";

/* What belongs to the context goes with the process: whatever is destroyed or freed then is released without an error. */
static void lost(void) {
  cushim_stream stream = all.stream, default_stream;
  cushim_buffer pooled = NULL, plain = NULL;
  cushim_resource pool;
  uint64_t in_stream = 0, without = 0, of_pool = 0;
  void *host = NULL;
  static unsigned char registered[BYTES] __attribute__((aligned(4096)));
  cushim_status status = -1;
  int32_t done = -1;
  CHECK_OK(cushim_library_load(all.context, code, sizeof code, NULL, &all.library));
  CHECK_OK(cushim_kernel_create(all.library, "nothing", &all.kernel));
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, stream, BYTES, &pooled));
  CHECK_OK(cushim_context_allocate(all.context, BYTES, &without));
  CHECK_OK(cushim_stream_allocate(stream, BYTES, &in_stream));
  CHECK_OK(cushim_resource_allocate(pool, stream, BYTES, &of_pool));
  CHECK_OK(cushim_context_allocate_host(all.context, BYTES, 0, &host));
  CHECK_OK(cushim_context_register_host(all.context, registered, BYTES, 0));
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &default_stream));
  CHECK_OK(cushim_buffer_create_copy(pooled, stream, &plain));

  CHECK_OK(cushim_stream_query(stream, &done));
  CHECK_OK(cushim_context_get_lost(all.context, &status));
  CHECK(status == 0);
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_stream_query(stream, &done));
  CHECK(done == 0);
  CHECK_CONTAINS(last_message(), "nothing works in this context any more");
  CHECK_OK(cushim_context_get_lost(all.context, &status));
  CHECK(status == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_stream_synchronize(stream));
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_stream_synchronize(default_stream));
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_event_record(all.event, stream));

  CHECK_OK(cushim_stream_free(stream, in_stream));
  CHECK_OK(cushim_context_free(all.context, without));
  CHECK_OK(cushim_resource_free(pool, stream, of_pool, BYTES));
  CHECK_OK(cushim_context_free_host(all.context, host));
  CHECK_OK(cushim_context_unregister_host(all.context, registered));
  CHECK_OK(cushim_buffer_destroy(plain));
  CHECK_OK(cushim_buffer_destroy_on(pooled, stream));
  close_objects(&all);
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_stream_destroy(stream));
}

int main(void) {
  check_begin();
  all = open_objects();
  failing_release();
  lost();
  return check_done();
}
