/* What is destroyed while the process exits, after the driver has shut down: the driver's end counts as its release. */
#include "objects.h"

static struct objects all;
static uint64_t memory;
static void *host;

/* Runs after what libraries that were opened later do at the end. */
static void at_the_end(void) {
  cushim_stream current;
  int32_t done = -1;
  cushim_status status = cushim_stream_query(all.stream, &done);
  CHECK(status == CUSHIM_SUCCESS || status == CUDA_ERROR_DEINITIALIZED);
  CHECK(done == (status == CUSHIM_SUCCESS));
  /* What the library keeps for the thread is gone by now. */
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_get_current(&current));
  status = cushim_context_push(all.context);
  CHECK(status == CUSHIM_SUCCESS || status == CUDA_ERROR_DEINITIALIZED);
  CHECK_OK(cushim_context_free(all.context, memory));
  CHECK_OK(cushim_context_free_host(all.context, host));
  close_objects(&all);
  if (check_done() == 0) return;
  fflush(NULL);
  _exit(1);
}

/* Everything that the library keeps for a thread is in use. */
static void use_the_thread(void) {
  cushim_stream stream = new_stream(all.context), popped;
  cushim_context context;
  CHECK_OK(cushim_stream_push_current(stream));
  CHECK_OK(cushim_stream_pop_current(&popped));
  CHECK_OK(cushim_context_push(all.context));
  CHECK_OK(cushim_context_pop(all.driver, &context, NULL));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_pop_current(&popped));
}

int main(void) {
  cushim_stream leaked;
  check_begin();
  CHECK(atexit(at_the_end) == 0);
  all = open_objects();
  if (!is_none(all.driver)) {
    CHECK_OK(cushim_context_allocate(all.context, 256, &memory));
    CHECK_OK(cushim_context_allocate_host(all.context, 256, 0, &host));
  }
  use_the_thread();
  leaked = new_stream(all.context); /* nobody destroys it, and nobody minds */
  CHECK_OK(cushim_event_record(all.event, leaked));
  return check_failures != 0;
}
