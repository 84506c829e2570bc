/*
 * Every function with a bad argument in each place: handles that are NULL, stale, of another library, of another kind and
 * no handles at all, pointers that are NULL or misaligned, and counts that no array has. Then every function inside a host function, and in the child of a fork.
 *
 * Argument 1 may be a plug-in with a copy of the library of its own.
 */
#include "sweep.h"

#include "plug_in.h"

#include <dlfcn.h>
#include <sys/wait.h>

static cushim_context other; /* than that of the fixture */

/*
 * Code for the functions that do not work on it, and the primary context, which it keeps alive: to make both anew for
 * every function takes a GPU a minute.
 */
static struct objects kept;

/* That of the driver; 0 of "none". */
static int version(void) {
  const char *text = getenv("CHECK_VERSION");
  return text != NULL ? atoi(text) : 0;
}

static void *of_fixture(const char *kind) {
#define OF_KIND(name) \
  if (strcmp(kind, #name) == 0) return (void *)fixture.name;
  FOR_EACH_KIND(OF_KIND)
#undef OF_KIND
  return (void *)fixture.driver; /* any */
}

static int takes(const struct swept *function, const char *kind) {
  int i;
  for (i = 0; i < function->parameter_count; i++) {
    if (function->parameters[i].kind != NULL && strcmp(function->parameters[i].kind, kind) == 0) return 1;
  }
  return 0;
}

/* Whether it requires a handle of a kind that this driver does not have: then some other argument is always bad, too. */
static int lacks(const struct swept *function) {
  int i;
  for (i = 0; i < function->parameter_count; i++) {
    const struct swept_parameter *it = &function->parameters[i];
    if (it->kind != NULL && (it->role == ENDED || !it->nullable) && of_fixture(it->kind) == NULL) return 1;
  }
  return 0;
}

/* Whether nothing is destroyed, as it lacks what it is to destroy. */
static int destroys_nothing(const struct swept *function) {
  return function->parameter_count == 1 && function->parameters[0].role == ENDED && lacks(function);
}

/* Nothing was tried to find no driver. */
static int is_swept(const struct swept *function) { return version() != 0 || !is(function, "cushim_driver_get_candidate"); }

static void keep_code(void) {
  fixture = open_context();
  set_up_code();
  kept = fixture;
}

static void drop_code(void) {
  close_objects(&kept);
  memset(&kept, 0, sizeof kept);
}

/* As set_up; a function that does not work on code shares what is kept. */
static void set_up_for(const struct swept *function) {
  const int works_on_code = strstr(function->name, "_library_") != NULL || strstr(function->name, "_kernel_") != NULL;
  set_up_objects();
  if (takes(function, "library") || takes(function, "kernel") || works_on_code || kept.library == NULL) {
    set_up_code();
  } else {
    CHECK_OK(cushim_library_ref(kept.library, &fixture.library));
    CHECK_OK(cushim_kernel_ref(kept.kernel, &fixture.kernel));
  }
  set_up_graph(function->name);
}

/* Whether no arguments that are the same for all functions are good for it. */
static int has_no_good_arguments(const struct swept *function) {
  return is(function, "cushim_context_wrap_green") /* none to be had */ ||
         (is(function, "cushim_event_wrap") && version() == 0) || /* nor a native event of "none" */
         is(function, "cushim_graph_add_child") || is(function, "cushim_exec_set_child") || /* a graph is no child of its own */
         is(function, "cushim_node_copy_attributes") || /* one of two nodes here is no kernel */
         is(function, "cushim_resource_get_arena_bytes") || /* no resource here is an arena */
         is(function, "cushim_event_export") || is(function, "cushim_resource_export") || /* not created for export */
         is(function, "cushim_event_import") || is(function, "cushim_resource_import") || /* these bytes are no descriptor */
         is(function, "cushim_buffer_export") || is(function, "cushim_buffer_import") || is(function, "cushim_buffer_open") ||
         strncmp(function->name, "cushim_graphics_", strlen("cushim_graphics_")) == 0 || /* of OpenGL, which softcuda has not */
         is(function, "cushim_allocation_export") || is(function, "cushim_allocation_import") ||
         is(function, "cushim_buffer_export_parts") || is(function, "cushim_buffer_import_parts") ||
         is(function, "cushim_buffer_export_dma_buf") || is(function, "cushim_context_flush_direct_writes") || /* nor what softcuda has */
         is(function, "cushim_buffer_get_part_count") || /* the buffer here is of a pool */
         (is(function, "cushim_program_get_name") && getenv("CUSHIM_NVRTC") == NULL) || /* a real compiler knows no such name */
         (is(function, "cushim_program_link") && (getenv("CUSHIM_NVRTC") == NULL || version() == 0)) || /* nor is there a program to link */
         is(function, "cushim_exec_set_parameter") || /* whose kernel has a parameter without a name */
         strncmp(function->name, "cushim_builder_", strlen("cushim_builder_")) == 0; /* which depend on what it did before */
}

/* Says which call it was where a check failed. */
static void expect(const struct swept *function, int slot, const char *what, cushim_status expected, cushim_status got) {
  char line[160];
  if (got == CUSHIM_ERROR_INVALID_HANDLE && lacks(function)) return;
  /* The driver found it out: the memory here is the program's own, which no device reaches. */
  if (expected == CUSHIM_SUCCESS && got == CUSHIM_ERROR_INVALID_ARGUMENT && last_detail()->driver_code != 0) return;
  snprintf(line, sizeof line, "%s, %s: %s", function->name, slot < 0 ? "as it is" : function->parameters[slot].name, what);
  check_status(expected, got, __FILE__, __LINE__, line);
}

/* Whether the function is there to change which context is current. */
static int changes_current(const struct swept *function) {
  return is(function, "cushim_context_push") || is(function, "cushim_context_pop") ||
         is(function, "cushim_context_set_current") || is(function, "cushim_context_clear_current");
}

static CUcontext current_context(void) {
  cushim_context context;
  CUcontext native = NULL;
  CHECK_OK(cushim_context_get_current(fixture.driver, &context, &native));
  return native;
}

/*
 * With good arguments no function finds fault with one: what the other parts of this program find is what they put in. And
 * whatever comes of the call, the context that is current stays current; it is another one than that of the objects.
 */
static void with_good_arguments(const struct swept *function) {
  /* It ends what is kept. */
  const int resets = is(function, "cushim_device_reset_primary_context");
  cushim_status status;
  CUcontext current;
  if (has_no_good_arguments(function)) return;
  if (resets) drop_code();
  set_up_for(function);
  if (lacks(function)) {
    tear_down();
    return;
  }
  CHECK_OK(cushim_context_push(other));
  current = current_context();
  CHECK(current != NULL && current != native_context());
  status = function->call(-1, NULL);
  if (!changes_current(function) && !CHECK(current_context() == current)) check_more("after ", function->name);
  if (status == CUSHIM_ERROR_INVALID_ARGUMENT || status == CUSHIM_ERROR_INVALID_HANDLE ||
      status == CUSHIM_ERROR_STREAM_REQUIRED || status == CUSHIM_ERROR_ALREADY_DESTROYED || status == CUSHIM_ERROR_INTERNAL) {
    expect(function, -1, "good arguments", CUSHIM_SUCCESS, status);
  }
  tear_down();
  if (resets) keep_code();
}

/* Handles of all kinds but one. */
struct bad_handle {
  const char *what;
  void *value;
  int stale;
};

static void with_bad_handles(const struct swept *function, int slot, const struct bad_handle *bad, int count) {
  const struct swept_parameter *parameter = &function->parameters[slot];
  const int ends = parameter->role == ENDED;
  cushim_status on_null = CUSHIM_ERROR_INVALID_HANDLE, status;
  int i;
  if (strcmp(parameter->kind, "stream") == 0) on_null = CUSHIM_ERROR_STREAM_REQUIRED;
  if (parameter->nullable) on_null = CUSHIM_SUCCESS;
  status = function->call(slot, NULL);
  /* NULL is as good as a handle where the driver lacks what it takes, or finds fault with the rest. */
  if (!parameter->nullable || (status != CUSHIM_ERROR_UNSUPPORTED && status < 0 && !has_no_good_arguments(function))) {
    expect(function, slot, "NULL", on_null, status);
  }
  for (i = 0; i < count; i++) {
    const int fits = strstr(bad[i].what, parameter->kind) != NULL; /* "stale stream" for a stream */
    cushim_status expected = CUSHIM_ERROR_INVALID_HANDLE;
    if (bad[i].value == NULL) continue; /* of a kind that "none" does not have */
    if (ends && fits && bad[i].stale) expected = CUSHIM_ERROR_ALREADY_DESTROYED;
    if (strcmp(parameter->kind, "any") == 0 && parameter->nullable) expected = CUSHIM_SUCCESS;
    expect(function, slot, bad[i].what, expected, function->call(slot, bad[i].value));
  }
}

static void with_other_kinds(const struct swept *function, int slot) {
  const char *kind = function->parameters[slot].kind;
#define OF_FIXTURE(kind) {#kind, (void *)fixture.kind, 0},
  const struct bad_handle all[] = {FOR_EACH_KIND(OF_FIXTURE)};
  size_t i;
  if (strcmp(kind, "any") == 0) return;
  for (i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(all[i].what, kind) == 0 || all[i].value == NULL) continue;
    expect(function, slot, all[i].what, CUSHIM_ERROR_INVALID_HANDLE, function->call(slot, all[i].value));
  }
}

static void with_null(const struct swept *function, int slot) {
  const struct swept_parameter *parameter = &function->parameters[slot];
  cushim_status status = function->call(slot, NULL);
  if (parameter->role == ROOM || !parameter->nullable) {
    expect(function, slot, "NULL", CUSHIM_ERROR_INVALID_ARGUMENT, status);
    if (status == CUSHIM_ERROR_INVALID_ARGUMENT) CHECK_CONTAINS(last_message(), parameter->name);
  } else if (status == CUSHIM_ERROR_INVALID_ARGUMENT && !has_no_good_arguments(function)) {
    expect(function, slot, "NULL, which it accepts", CUSHIM_SUCCESS, status);
  }
}

/* A pointer that no variable of the type has is refused, and nothing is read or written there. */
static void with_misaligned(const struct swept *function, int slot) {
  static unsigned char room[4096] __attribute__((aligned(64)));
  const struct swept_parameter *parameter = &function->parameters[slot];
  unsigned char untouched[sizeof room];
  cushim_status status;
  if (parameter->alignment == 1) return;
  memset(room, 0xee, sizeof room);
  memset(untouched, 0xee, sizeof untouched);
  status = function->call(slot, room + parameter->alignment / 2);
  if (!CHECK(memcmp(room, untouched, sizeof room) == 0)) check_more("written where it is misaligned: ", function->name);
  /* Where a driver lacks what the function takes, that may be found first. */
  if (parameter->nullable && status == CUSHIM_ERROR_UNSUPPORTED) return;
  expect(function, slot, "misaligned", CUSHIM_ERROR_INVALID_ARGUMENT, status);
  if (status != CUSHIM_ERROR_INVALID_ARGUMENT || lacks(function)) return;
  CHECK_CONTAINS(last_message(), parameter->name);
  CHECK_CONTAINS(last_message(), "aligned");
}

/* No array has so many items, so none is read or written. */
static void with_huge_counts(const struct swept *function, int slot) {
  static const size_t huge[] = {SIZE_MAX, (size_t)1 << 63, (size_t)1 << 60, ((size_t)1 << 24) + 1};
  size_t i;
  if (is(function, "cushim_context_advise_batch") && slot == 5) return; /* this advice has no locations, and ignores their number */
  for (i = 0; i < sizeof huge / sizeof *huge; i++) {
    cushim_status status = function->call(slot, (void *)huge[i]);
    if (status == CUSHIM_ERROR_UNSUPPORTED) continue;
    expect(function, slot, "a huge count", CUSHIM_ERROR_INVALID_ARGUMENT, status);
  }
}

/* A driver's handle of the plug-in's own library. */
static cushim_driver foreign_driver(const char *path) {
  cushim_status (*open)(cushim_driver *);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
  cushim_driver driver = NULL;
  if (!CHECK(library != NULL) || !CHECK((symbol = dlsym(library, "plug_in_open")) != NULL)) exit(1);
  memcpy(&open, &symbol, sizeof open);
  CHECK(open(&driver) == CUSHIM_SUCCESS && driver != NULL);
  return driver;
}

/* The handle as another copy of the library would have made it. */
static void *foreign(const void *handle) { return (void *)((uintptr_t)handle ^ (uintptr_t)1 << 60); }

/* What is no living handle. A claim of each kind is made and ended for it. */
static int bad_handles(struct bad_handle *bad, const char *plug_in) {
  static int local;
  static void *heap;
#define STALE(kind) {"stale " #kind, (void *)one_more_##kind(), 1},
#define FOREIGN(kind) {"foreign " #kind, foreign(fixture.kind), 0},
#define END(kind) CHECK_OK(cushim_##kind##_destroy((cushim_##kind)(next++)->value));
  struct bad_handle all[] = {
      FOR_EACH_OWNED_KIND(STALE) FOR_EACH_KIND(FOREIGN)
      {"of another library", plug_in != NULL ? (void *)foreign_driver(plug_in) : foreign(fixture.driver), 0},
      {"1", (void *)(uintptr_t)1, 0},
      {"2", (void *)(uintptr_t)2, 0},
      {"0x10", (void *)(uintptr_t)0x10, 0},
      {"all ones", (void *)UINTPTR_MAX, 0},
      {"the address of a variable", (void *)&local, 0},
      {"memory of malloc", heap != NULL ? heap : (heap = malloc(16)), 0},
      {"a native context", (void *)native_context(), 0},
  };
  struct bad_handle *next = bad;
  memcpy(bad, all, sizeof all);
  FOR_EACH_OWNED_KIND(END)
  return (int)(sizeof all / sizeof *all);
}

static void with_bad_arguments(const struct swept *function, const char *plug_in) {
  struct bad_handle bad[64];
  int slot, count;
  set_up_for(function);
  count = bad_handles(bad, plug_in);
  for (slot = 0; slot < function->parameter_count; slot++) {
    switch (function->parameters[slot].role) {
    case VALUE: break;
    case HANDLE:
    case ENDED:
      with_bad_handles(function, slot, bad, count);
      with_other_kinds(function, slot);
      break;
    case COUNT: with_huge_counts(function, slot); break;
    case POINTER:
    case ROOM:
      with_null(function, slot);
      with_misaligned(function, slot);
      break;
    }
  }
  tear_down();
}

/* A borrowed handle is nobody's to destroy. */
static void with_borrowed_handles(void) {
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_driver driver;
  set_up();
  CHECK_OK(cushim_driver_get_device(fixture.driver, 0, &device));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_device_destroy(device));
  CHECK_CONTAINS(last_message(), "borrowed");
  CHECK_OK(cushim_device_get_driver(device, &driver));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_destroy(driver));
  CHECK_OK(cushim_stream_get_context(fixture.stream, &context));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_destroy(context));
  CHECK_OK(cushim_stream_get_current(&stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_destroy(cushim_stream_current()));
  tear_down();
}

static int swept_inside;

static void CUSHIM_CUDA_CB sweep_inside(void *data) {
  cushim_status status;
  int i;
  (void)data;
  for (i = 0; i < SWEPT; i++) {
    if (!swept[i].refuses_callback || !is_swept(&swept[i]) || destroys_nothing(&swept[i])) continue;
    status = swept[i].call(-1, NULL);
    expect(&swept[i], -1, "inside a host function", CUSHIM_ERROR_IN_CALLBACK, status);
    if (status == CUSHIM_ERROR_IN_CALLBACK) CHECK_CONTAINS(last_message(), "inside a");
    swept_inside++;
  }
}

static void inside_a_host_function(void) {
  set_up();
  none_is_destroyed = 1;
  CHECK_OK(cushim_stream_launch_host_function(fixture.stream, sweep_inside, NULL, NULL));
  CHECK_OK(cushim_stream_synchronize(fixture.stream));
  CHECK(swept_inside > 0);
  none_is_destroyed = 0;
  tear_down();
}

static void in_child_of_fork(void) {
  int status = 0, i;
  pid_t child;
  set_up();
  fflush(NULL);
  child = fork();
  if (child == 0) {
    alarm(30);
    check_failures = 0;
    for (i = 0; i < SWEPT; i++) {
      if (!swept[i].refuses_fork || !is_swept(&swept[i]) || destroys_nothing(&swept[i])) continue;
      expect(&swept[i], -1, "in the child of a fork", CUSHIM_ERROR_FORKED, swept[i].call(-1, NULL));
    }
    fflush(NULL);
    _exit(check_failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  tear_down();
}

int main(int argc, char **argv) {
  int i;
  check_begin();
  alarm(180); /* thousands of calls, and hundreds of set-ups */
  fixture = open_context();
  CHECK_OK(cushim_context_create(fixture.device, NULL, &other));
  CHECK_OK(cushim_context_destroy(fixture.context));
  CHECK_OK(cushim_driver_destroy(fixture.driver));
  keep_code();
  for (i = 0; i < SWEPT; i++) {
    if (!is_swept(&swept[i])) continue;
    with_good_arguments(&swept[i]);
    with_bad_arguments(&swept[i], argc > 1 ? argv[1] : NULL);
  }
  drop_code();
  with_borrowed_handles();
  inside_a_host_function();
  in_child_of_fork();
  CHECK_OK(cushim_context_destroy(other));
  return check_done();
}
