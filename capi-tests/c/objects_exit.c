/* What is destroyed while the process exits, after the driver has shut down: the driver's end counts as its release. */
#include "objects.h"

static struct objects all;
static uint64_t memory;
static void *host;

/* Runs after what libraries that were opened later do at the end. */
static void at_the_end(void) {
  int32_t done = -1;
  cushim_status status = cushim_stream_query(all.stream, &done);
  CHECK(status == CUSHIM_SUCCESS || status == CUDA_ERROR_DEINITIALIZED);
  CHECK(done == (status == CUSHIM_SUCCESS));
  CHECK_OK(cushim_context_free(all.context, memory));
  CHECK_OK(cushim_context_free_host(all.context, host));
  close_objects(&all);
  if (check_done() == 0) return;
  fflush(NULL);
  _exit(1);
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
  leaked = new_stream(all.context); /* nobody destroys it, and nobody minds */
  CHECK_OK(cushim_event_record(all.event, leaked));
  return check_failures != 0;
}
