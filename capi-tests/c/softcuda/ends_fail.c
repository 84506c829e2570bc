/*
 * The driver fails to end a capture, and captures all the same: so does the builder, until it is ended, closed or destroyed with success. No
 * stream of the program's stays under capture behind a builder that says it is closed.
 */
#include "../common/builders.h"

static struct control control;

enum { FAILURE = 2, LOST = 710 };

static void fails(const char *which, int status) {
  char fault[64];
  snprintf(fault, sizeof fault, "cuStreamEndCapture%s=%d", which, status);
  control.calls_reset();
  CHECK(control.fault_set(fault) == 0);
}

static void succeeds(void) { control.fault_clear(); }

static int state_of(cushim_builder builder) {
  int32_t state = -1;
  CHECK_OK(cushim_builder_get_state(builder, &state, NULL));
  return state;
}

static int is_captured(cushim_stream stream) {
  CUstream native = NULL;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_STATUS(CUDA_SUCCESS, table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuStreamIsCapturing_10000(native, &status));
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void works_at_once(cushim_stream stream, uint32_t number) {
  CHECK(!is_captured(stream));
  set_in(stream, 5, number);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(number_at(slot(5)) == number);
  CHECK_OK(cushim_context_synchronize(all.context));
}

static cushim_builder begun_on(cushim_stream stream) {
  cushim_builder builder = NULL;
  CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  return builder;
}

static void ended_again(int status) {
  cushim_stream stream = new_stream(all.context), joined = new_stream(all.context);
  cushim_builder builder = begun_on(stream);
  cushim_graph graph = (cushim_graph)NOT_NULL;
  set_in(stream, 0, 4);
  CHECK_OK(cushim_stream_wait_stream(joined, stream));
  append_in(joined, 0, 2);
  CHECK_OK(cushim_stream_wait_stream(stream, joined));
  fails("#1", status);
  CHECK_STATUS(status, cushim_builder_end(builder, &graph));
  CHECK_CONTAINS(last_message(), "The capture goes on: end it again");
  succeeds();
  CHECK(graph == NULL && state_of(builder) == CUSHIM_BUILDER_CAPTURING && is_captured(stream));
  append_in(stream, 0, 3);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK(state_of(builder) == CUSHIM_BUILDER_ENDED);
  works_at_once(stream, 9);
  works_at_once(joined, 8);
  CHECK(result_of(graph) == 423);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(joined));
  CHECK_OK(cushim_stream_destroy(stream));
}

static void closed_afterwards(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_builder builder = begun_on(stream);
  cushim_graph graph = NULL;
  set_in(stream, 0, 4);
  fails("#1", FAILURE);
  CHECK_STATUS(FAILURE, cushim_builder_end(builder, &graph));
  succeeds();
  CHECK_OK(cushim_builder_close(builder));
  CHECK(state_of(builder) == CUSHIM_BUILDER_CLOSED);
  works_at_once(stream, 9);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(stream));
}

/* One failure is nothing to a builder that is given up; if the driver never ends it, the builder is not closed. */
static void close_fails(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_builder builder = begun_on(stream);
  fails("#1", FAILURE);
  CHECK_OK(cushim_builder_close(builder));
  succeeds();
  works_at_once(stream, 7);
  CHECK_OK(cushim_builder_destroy(builder));
  builder = begun_on(stream);
  fails("", FAILURE);
  CHECK_STATUS(FAILURE, cushim_builder_close(builder));
  CHECK(state_of(builder) == CUSHIM_BUILDER_CAPTURING);
  succeeds();
  set_in(stream, 0, 4);
  CHECK_OK(cushim_builder_close(builder));
  works_at_once(stream, 8);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(stream));
}

/* A builder that is gone nobody can close: the library goes on trying. */
static void destroy_fails(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_builder builder = begun_on(stream);
  int i;
  set_in(stream, 0, 4);
  fails("", FAILURE);
  CHECK_STATUS(FAILURE, cushim_builder_destroy(builder));
  CHECK(is_captured(stream));
  succeeds();
  for (i = 0; i < 2000 && is_captured(stream); i++) pause_shortly();
  flush_callbacks();
  works_at_once(stream, 6);
  CHECK_OK(cushim_stream_destroy(stream));
}

/* A body goes on as the graph around it does. */
static void of_a_body(void) {
  cushim_builder builder = begun(), body = NULL;
  cushim_graph graph = NULL;
  cushim_condition condition = condition_of(builder, 1);
  set_in(cushim_builder_stream(builder), 0, 4);
  CHECK_OK(cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &body));
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 2);
  fails("#1", FAILURE);
  CHECK_STATUS(FAILURE, cushim_builder_end(body, NULL));
  CHECK(state_of(body) == CUSHIM_BUILDER_CAPTURING);
  succeeds();
  fails("", FAILURE);
  CHECK_STATUS(FAILURE, cushim_builder_close(body));
  CHECK_STATUS(FAILURE, cushim_builder_close(builder));
  CHECK(state_of(body) == CUSHIM_BUILDER_CAPTURING && state_of(builder) == CUSHIM_BUILDER_CAPTURING);
  succeeds();
  append(body, 0, 3);
  CHECK_OK(cushim_builder_end(body, NULL));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK(result_of(graph) == 423);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

static void of_a_recapture(void) {
  cushim_builder builder = begun();
  cushim_graph graph = NULL;
  int i;
  append(builder, 0, 4);
  CHECK_OK(cushim_builder_end(builder, &graph));
  for (i = 0; i < 2; i++) {
    CHECK_OK(cushim_builder_destroy(builder));
    builder = new_builder();
    CHECK_OK(cushim_builder_recapture(builder, graph));
    append(builder, 0, 5);
    fails("#1", FAILURE);
    CHECK_STATUS(FAILURE, cushim_builder_end(builder, NULL));
    CHECK(state_of(builder) == CUSHIM_BUILDER_CAPTURING);
    succeeds();
    CHECK_OK(cushim_builder_end(builder, NULL));
    CHECK(result_of(graph) == 5);
  }
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The error of a lost context is no end either; nothing else can be done in that context. */
static void of_a_lost_context(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_builder builder = begun_on(stream);
  CUstream native = NULL;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK_OK(cushim_stream_native(stream, &native));
  fails("#1", LOST);
  CHECK_STATUS(LOST, cushim_builder_end(builder, NULL));
  CHECK(state_of(builder) == CUSHIM_BUILDER_CAPTURING);
  succeeds();
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_STATUS(CUDA_SUCCESS, table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuStreamIsCapturing_10000(native, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK_OK(cushim_stream_destroy(stream));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  if (!find_control(&control)) return check_done();
  ended_again(FAILURE);
  closed_afterwards();
  close_fails();
  destroy_fails();
  if (version >= 12030) of_a_body();
  if (version >= 13030) of_a_recapture();
  of_a_lost_context();
  return check_done();
}
