/* What a newcomer does wrong, and the sentence that says so. */
#include "busy.h"

#include <sys/wait.h>

static struct objects all;

static void says(const char *words) { CHECK_CONTAINS(last_message(), words); }

static void used_after_destroy(void) {
  cushim_stream stream = new_stream(all.context);
  int32_t done;
  CHECK_OK(cushim_set_label(stream, "upload"));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_query(stream, &done));
  says("a stream is needed, but this handle of a stream \"upload\" was destroyed");
  says("use it only until you destroy it");
  says("cushim_stream_ref");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_record(all.event, stream));
  says("upload");
}

static void destroyed_twice(void) {
  cushim_event event = new_event(all.context, 0);
  CHECK_OK(cushim_event_destroy(event));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_event_destroy(event));
  says("this handle of an event was destroyed before");
  says("destroy each handle once");
}

static void event_for_a_stream(void) {
  CHECK_OK(cushim_set_label(all.event, "copied"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize((cushim_stream)(void *)all.event));
  says("a stream is needed, but this is the handle of an event \"copied\"");
  says("without a cast");
  CHECK_OK(cushim_set_label(all.event, NULL));
}

static void address_of_a_handle(void) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize((cushim_stream)(void *)&all.stream));
  says("is not a handle");
  says("not the address of a variable");
}

static void native_for_a_handle(void) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(all.stream, &native));
  if (native == NULL) return; /* on "none" */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize((cushim_stream)(void *)native));
  says("is not a handle");
}

static void borrowed_destroyed(void) {
  cushim_context context;
  CHECK_OK(cushim_stream_get_context(all.stream, &context));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_destroy(context));
  says("borrowed and not to be destroyed");
  says("somebody else owns the object");
}

static void borrowed_kept(void) {
  cushim_context context, borrowed;
  cushim_stream stream;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  stream = new_stream(context);
  CHECK_OK(cushim_stream_get_context(stream, &borrowed));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_synchronize(borrowed));
  says("borrowed handle");
  says("take a reference of your own (cushim_context_ref)");
}

/* The context first, then what is in it: what is there goes on, and what is wanted of the context is refused. */
static void wrong_order(void) {
  cushim_driver driver = open_driver();
  cushim_device device;
  cushim_context context;
  cushim_stream stream, another = NOT_NULL;
  cushim_event event;
  CHECK_OK(cushim_context_create(first_device(driver), NULL, &context));
  stream = new_stream(context);
  event = new_event(context, 0);
  CHECK_OK(cushim_driver_destroy(driver));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_get_device(driver, 0, &device));
  says("a driver is needed, but this handle of a driver was destroyed");
  CHECK_OK(cushim_context_destroy(context));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_create(context, NULL, &another));
  CHECK(another == NULL);
  says("a context is needed, but this handle of a context was destroyed");
  says("cushim_context_ref");
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_record(event, stream));
  says("a stream is needed, but this handle of a stream was destroyed");
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_destroy(event));
}

/* The last error has what a destroyed handle was of, also as data. */
static void error_names_what_is_gone(void) {
  cushim_error_detail detail;
  cushim_stream stream = new_stream(all.context);
  CHECK_OK(cushim_set_label(stream, "upload"));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize(stream));
  memset(&detail, 0, sizeof detail);
  detail.struct_size = sizeof detail;
  CHECK_OK(cushim_last_error(&detail));
  CHECK(strcmp(detail.object, "destroyed stream \"upload\"") == 0 && strcmp(detail.label, "upload") == 0);
}

static void freed_twice(void) {
  uint64_t memory;
  if (is_none(all.driver)) return; /* which has no memory */
  CHECK_OK(cushim_context_allocate(all.context, 256, &memory));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_free(all.context, memory + 16));
  says("No memory that can be freed this way starts at");
  CHECK_OK(cushim_context_free(all.context, memory));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_free(all.context, memory));
  says("it was never allocated, or it was freed");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_free(all.stream, memory));
  says("it was never allocated, or it was freed");
}

static void no_stream(void) {
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_event_record(all.event, NULL));
  says("a stream is required, not NULL");
}

static void create_inside(void *data) {
  cushim_stream stream;
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, cushim_stream_create(all.context, NULL, &stream));
  says("inside a function that the driver called");
  says("notify another thread");
  (void)data;
}

static void called_from_a_host_function(void) {
  CHECK_OK(cushim_stream_launch_host_function(all.stream, create_inside, NULL, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* The child has every handle of the parent, and none of them works. */
static void used_after_fork(void) {
  int status = 0;
  pid_t child;
  fflush(NULL);
  child = fork();
  if (child == 0) {
    int32_t done = -1;
    alarm(30);
    check_failures = 0;
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_stream_query(all.stream, &done));
    CHECK(done == 0);
    says("forked after the library was used");
    says("exec");
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_stream_destroy(all.stream));
    fflush(NULL);
    _exit(check_failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* That the process is a child comes before where in it the call is made. */
static void CUSHIM_CUDA_CB fork_inside(void *data) {
  int *status = (int *)data;
  int32_t done;
  pid_t child;
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, cushim_stream_synchronize(all.stream));
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, cushim_flush_callbacks(0, &done));
  fflush(NULL);
  child = fork();
  if (child == 0) {
    alarm(30);
    _exit(cushim_stream_synchronize(all.stream) != CUSHIM_ERROR_FORKED ||
          cushim_flush_callbacks(0, &done) != CUSHIM_ERROR_FORKED || cushim_stream_destroy(all.stream) != CUSHIM_ERROR_FORKED);
  }
  if (child < 0 || waitpid(child, status, 0) != child) *status = -1;
}

static void forked_in_a_host_function(void) {
  static int status = -1; /* static: where the call below fails, the function may still run */
  CHECK_OK(cushim_stream_launch_host_function(all.stream, fork_inside, &status, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void used_after_reset(void) {
  cushim_stream stream = new_stream(all.context);
  int32_t done;
  if (is_none(all.driver)) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_reset_primary_context(all.device));
    says("cuDevicePrimaryCtxReset");
  } else {
    CHECK_OK(cushim_device_reset_primary_context(all.device));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_stream_query(stream, &done));
    says("stream is in primary context of device 0, which was destroyed or reset");
    says("What was created in it was destroyed with it");
    says("retain or create a context");
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_context_synchronize(all.context));
    says("primary context of device 0 was destroyed or reset");
  }
  CHECK_OK(cushim_stream_destroy(stream));
}

int main(void) {
  check_begin();
  all = open_objects();
  used_after_destroy();
  destroyed_twice();
  event_for_a_stream();
  address_of_a_handle();
  native_for_a_handle();
  borrowed_destroyed();
  borrowed_kept();
  wrong_order();
  error_names_what_is_gone();
  freed_twice();
  no_stream();
  called_from_a_host_function();
  used_after_fork();
  forked_in_a_host_function();
  used_after_reset();
  close_objects(&all);
  return check_done();
}
