/*
 * Every function with each of the driver's calls that it makes failing in turn: alone, and in such a way that the context
 * is lost. The failure is reported once, nothing is left of the call, and without the fault the same call then does what
 * it did before; a lost context is survived.
 *
 * Runs on softcuda only. Each function has a process of its own, for a device whose context was lost is lost to the process.
 */
#include "../sweep/sweep.h"

#include "control.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_CALLS = 64, BY_FAULT = CUDA_ERROR_OUT_OF_MEMORY, LOST = CUDA_ERROR_ILLEGAL_ADDRESS };

/* What the processes find out together. */
struct counts {
  int calls[SWEPT], pairs, checks;
  char names[SWEPT][MOST_CALLS][48]; /* of the driver's functions that the calls are of */
};
static struct counts *counts;

static struct control control;

static const struct swept *function; /* the one that is tried */
static int ordinal;                  /* of the call that fails */

/* The driver's function that fails. */
static const char *failing(void) { return ordinal == 0 ? "nothing" : counts->names[function - swept][ordinal - 1]; }

/* A check that says what failed where. */
static int holds(int passed, const char *what, int number) {
  char line[200];
  snprintf(line, sizeof line, "%s, %s fails (call %d): %s (%d)", function->name, failing(), ordinal, what, number);
  return check_that(passed, __FILE__, __LINE__, line);
}

/* Failures that a fault causes in what follows a call: they are counted and not shown. */
static int failures_before;

static void expect_failures(void) {
  failures_before = check_failures;
  check_failures = CHECK_SHOWN;
}

static int expected_failures(void) {
  const int found = check_failures - CHECK_SHOWN;
  check_failures = failures_before;
  return found;
}

static uint64_t unreported(void) {
  uint64_t count = 0;
  CHECK_OK(cushim_driver_get_unreported_errors(fixture.driver, &count));
  return count;
}

static void set_fault(const char *kind) {
  char fault[64];
  snprintf(fault, sizeof fault, "*#%d=%s", ordinal, kind);
  CHECK(control.fault_set(fault) == 0);
}

/* The functions that a trace names, without those that only tell about the driver, which no fault meets. */
static void read_names(FILE *trace) {
  char text[2048];
  int count = 0;
  while (count < MOST_CALLS && fgets(text, sizeof text, trace) != NULL) {
    const char *name = strstr(text, "\"function\":\"");
    if (name == NULL || strstr(name, "GetProcAddress") || strstr(name, "GetError") || strstr(name, "DriverGetVersion")) continue;
    sscanf(name + strlen("\"function\":\""), "%47[^\"]", counts->names[function - swept][count++]);
  }
  counts->calls[function - swept] = count;
}

/*
 * Functions of a builder that captures. That which forks it gives several owning handles, which the generated calls do not
 * destroy: graph_faults has it.
 */
static int is_of_captures(void) {
  static const char *const names[] = {"cushim_builder_end",   "cushim_builder_get_tail",         "cushim_builder_get_graph",
                                      "cushim_builder_add_child", "cushim_builder_create_condition", "cushim_builder_add_conditional"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(function->name, names[i]) == 0) return 1;
  }
  return 0;
}

static void release_nothing(void *data) { (void)data; }

/* The thread that makes releases sets its capture mode when there is first something to release: that is no call of the function's. */
static void have_something_released(void) {
  const cushim_owner owner = {NULL, release_nothing};
  cushim_buffer buffer = NULL;
  int32_t is_done = 0;
  if (fixture.driver == NULL) return;
  CHECK_OK(cushim_buffer_wrap(fixture.driver, NULL, 4096, 16, NULL, &owner, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_flush_callbacks(2000000000u, &is_done));
  CHECK(is_done == 1);
}

static void prepare(void) {
  set_up_everything_for(function->name);
  have_something_released();
  if (is_of_captures() && fixture.builder != NULL) CHECK_OK(cushim_builder_begin(fixture.builder));
}

/* What the call answers when nothing fails, and which calls of the driver it makes. */
static cushim_status without_fault(void) {
  char path[] = "/tmp/every-fault-XXXXXX";
  const int descriptor = mkstemp(path);
  FILE *trace = descriptor < 0 ? NULL : fdopen(descriptor, "r");
  cushim_status status;
  prepare();
  control.calls_reset();
  CHECK(trace != NULL && control.trace_start(path) == 0);
  status = function->call(-1, NULL);
  control.trace_stop();
  if (trace != NULL) read_names(trace);
  CHECK(control.call_count("*") == counts->calls[function - swept]);
  tear_down();
  if (trace != NULL) fclose(trace);
  unlink(path);
  return status;
}

/*
 * The number of a context is a help where there is one, and so is the mode in which a release spares captures, whether kernels update
 * a node that is recaptured, and whether memory that the driver refuses is virtual: that they cannot be had is nothing to report.
 */
static int is_optional(void) {
  return strcmp(failing(), "cuCtxGetId") == 0 || strcmp(failing(), "cuThreadExchangeStreamCaptureMode") == 0 ||
         strcmp(failing(), "cuGraphKernelNodeGetAttribute") == 0 || strcmp(failing(), "cuMemRetainAllocationHandle") == 0;
}

/* A release that the driver refuses leaves the driver with what it is of. */
static int is_release(void) {
  static const char *const parts[] = {"Destroy", "Release", "Free", "Unregister", "Unload"};
  size_t i;
  for (i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(failing(), parts[i]) != NULL) return 1;
  }
  return 0;
}

/*
 * After a refusal the driver is asked what is wrong, and need not answer. What the library would then blame on an argument has the driver's own
 * status if nobody can tell.
 */
static int need_not_tell(cushim_status usual) {
  return usual > 0 || (usual == CUSHIM_ERROR_INVALID_ARGUMENT && strcmp(failing(), "cuPointerGetAttributes") == 0);
}

static int is_not_told(cushim_status usual, cushim_status status) {
  return status == CUDA_ERROR_INVALID_VALUE && usual == CUSHIM_ERROR_INVALID_ARGUMENT && need_not_tell(usual);
}

/* What graphs keep the driver lets go of on a thread of its own: how many objects there are when that has been done. */
static size_t settled(void) {
  const struct timespec pause = {0, 1000000};
  size_t last = 0, now = control.live_objects();
  int i, done, same = 0;
  for (i = 0; i < 200 && same < 5; i++) {
    CHECK_OK(cushim_flush_callbacks(1000000000u, &done));
    nanosleep(&pause, NULL);
    last = now;
    now = control.live_objects();
    same = now == last ? same + 1 : 0;
  }
  return now;
}

/* A graph or an exec that the driver refuses to destroy goes on keeping what its nodes use. */
static int keeps_on(void) { return strcmp(failing(), "cuGraphDestroy") == 0 || strcmp(failing(), "cuGraphExecDestroy") == 0; }

/* An exec whose context was reset stays with the driver, which crashes when it is destroyed. */
static int is_reset(void) { return strcmp(function->name, "cushim_device_reset_primary_context") == 0; }

/* Memory of the device's pool outlives its context, and nothing frees what the call gives. */
static int leaves_memory(void) { return strcmp(function->name, "cushim_stream_allocate") == 0; }

static void with_fault(cushim_status usual) {
  const size_t before = settled();
  size_t left;
  int is_expected;
  cushim_status status;
  uint64_t quiet;
  int reports;
  prepare();
  quiet = unreported();
  set_fault("2");
  expect_failures();
  status = function->call(-1, NULL);
  reports = expected_failures();
  control.fault_clear();
  holds(control.fault_hits() == 1, "calls that failed", (int)control.fault_hits());
  quiet = unreported() - quiet;
  reports += (status != usual) + (int)quiet;
  holds(reports == 1 || (reports == 0 && (is_optional() || need_not_tell(usual))), "reports", reports);
  holds(status == usual || status == BY_FAULT || is_not_told(usual, status), "it answers", status);
  if (status != CUSHIM_SUCCESS && status != usual) CHECK(last_detail()->status == status);
  if (status == BY_FAULT) {
    status = function->call(-1, NULL);
    holds(status == usual, "once more it answers", status);
  }
  tear_down();
  left = settled() - before;
  is_expected = left == 0 || (left == 1 && (is_release() || leaves_memory())) || keeps_on() || is_reset();
  if (!holds(is_expected, "objects left behind", (int)left)) control.dump(STDERR_FILENO);
}

/* Whether the function releases something. */
static int releases(void) {
  const int adds = strstr(function->name, "_add_") != NULL;
  return strstr(function->name, "_destroy") || (strstr(function->name, "_free") && !adds) || strstr(function->name, "_deallocate") ||
         strstr(function->name, "_unregister");
}

/* A capture ends with its context, whether its end answers or not: then there is none to end. */
static cushim_status after_loss(cushim_status usual) {
  return strcmp(failing(), "cuStreamEndCapture") == 0 ? CUSHIM_ERROR_INVALID_ARGUMENT : usual;
}

/* Nothing works any more; but what is released is, and every owning handle ends once. */
static void with_lost_context(cushim_status usual) {
  cushim_status status;
  struct objects held;
  prepare();
  held = fixture;
  set_fault("700/sticky");
  expect_failures();
  status = function->call(-1, NULL);
  expected_failures();
  holds(status == usual || status == LOST || is_not_told(usual, status) || (status == CUSHIM_SUCCESS && releases()), "it answers", status);
  if (status == LOST) {
    holds(!releases(), "a release that fails", status);
    expect_failures();
    status = function->call(-1, NULL);
    expected_failures();
    holds(status == after_loss(usual) || status == LOST, "once more it answers", status);
  }
  expect_failures();
  tear_down();
  expected_failures();
  holds(cushim_stream_destroy(held.stream) == CUSHIM_ERROR_ALREADY_DESTROYED, "the stream's handle has not ended", 0);
  holds(cushim_event_destroy(held.event) == CUSHIM_ERROR_ALREADY_DESTROYED, "the event's handle has not ended", 0);
  holds(cushim_context_destroy(held.context) == CUSHIM_ERROR_ALREADY_DESTROYED, "the context's handle has not ended", 0);
}

/* Does the work in a process of its own. */
static void apart(void (*work)(void)) {
  int status = 0;
  pid_t child;
  fflush(NULL);
  child = fork();
  if (child == 0) {
    cushim_driver driver;
    check_begin();
    check_count = check_failures = 0;
    /* What is opened last and for good is not what is tried. */
    driver = open_driver();
    if (CHECK(find_control(&control))) work();
    CHECK_OK(cushim_driver_destroy(driver));
    __atomic_add_fetch(&counts->checks, check_count, __ATOMIC_RELAXED);
    fflush(NULL);
    _exit(check_failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  holds(WIFEXITED(status) && WEXITSTATUS(status) == 0, "how its process ended", status);
}

static void one_after_the_other(void) {
  const cushim_status usual = without_fault();
  const int calls = counts->calls[function - swept];
  CHECK(calls <= MOST_CALLS);
  for (ordinal = 1; ordinal <= calls; ordinal++) with_fault(usual);
  counts->pairs += calls;
}

static void lost(void) {
  with_lost_context(without_fault());
}

int main(void) {
  int i;
  void *shared = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  counts = (struct counts *)shared;
  for (i = 0; i < SWEPT; i++) {
    function = &swept[i];
    ordinal = 0;
    apart(one_after_the_other);
    for (ordinal = 1; ordinal <= counts->calls[i]; ordinal++, counts->pairs++) apart(lost);
  }
  printf("%d pairs of a function and a call of the driver that fails\n", counts->pairs);
  check_count += counts->checks;
  return check_done();
}
