/*
 * Failures of the driver: a destroy answers for the release inside it, and an error after which nothing works is remembered.
 * The driver has to fail: the first event that is destroyed with 999, the second stream that is queried with 700 for ever.
 */
#include "objects.h"

static struct objects all;

static void failing_release(void) {
  cushim_event event = new_event(all.context, 0), claim;
  uint64_t errors = 99;
  CHECK_OK(cushim_event_set_label(event, "copied"));
  CHECK_OK(cushim_event_ref(event, &claim));
  CHECK_OK(cushim_event_destroy(event)); /* releases nothing */
  CHECK_STATUS(CUDA_ERROR_UNKNOWN, cushim_event_destroy(claim));
  CHECK(strcmp(last_detail()->function, "cuEventDestroy") == 0);
  CHECK(strcmp(last_detail()->object, "event \"copied\"") == 0 && strcmp(last_detail()->label, "copied") == 0);
  /* The claim has ended all the same, and nobody is told twice. */
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_event_destroy(claim));
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &errors));
  CHECK(errors == 0);
}

static void lost(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_status status = -1;
  int32_t done = -1;
  CHECK_OK(cushim_stream_query(stream, &done));
  CHECK_OK(cushim_context_get_lost(all.context, &status));
  CHECK(status == 0);
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_stream_query(stream, &done));
  CHECK(done == 0);
  CHECK_CONTAINS(last_message(), "Nothing in this context works any more");
  CHECK_OK(cushim_context_get_lost(all.context, &status));
  CHECK(status == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_stream_synchronize(stream));
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_stream_destroy(stream));
}

int main(void) {
  check_begin();
  all = open_context();
  failing_release();
  lost();
  return check_done();
}
