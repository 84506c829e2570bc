/*
 * The child of a bare clone, which runs no hooks: locks of the allocator and of the loader may be held by threads that it does not
 * have. There every call answers CUSHIM_ERROR_FORKED, and says so, without an allocation and without a destructor of a thread-local,
 * which takes the loader's lock. The program's allocator stands in front of the C library's, and counts.
 */
#include "objects.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct objects all;

#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static int is_bare_child;

static void met(const char *what) {
  static const char text[] = " is called in the child\n";
  if (!is_bare_child) return;
  if (write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(8);
  _exit(7);
}

void *malloc(size_t size) { return met("malloc"), __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return met("calloc"), __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return met("realloc"), __libc_realloc(memory, size); }
void free(void *memory) { met("free"), __libc_free(memory); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  met("posix_memalign");
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? 12 : 0; /* ENOMEM */
}

/* Each answers, and stores nothing. */
static int answers(void) {
  cushim_error_detail detail;
  cushim_driver driver = (cushim_driver)NOT_NULL;
  cushim_stream stream = (cushim_stream)NOT_NULL;
  cushim_event event = (cushim_event)NOT_NULL;
  cushim_buffer buffer = (cushim_buffer)NOT_NULL;
  cushim_graph graph = (cushim_graph)NOT_NULL;
  cushim_endpoint place;
  int32_t done = 7;
  uint64_t count = 7;
  size_t items = 7;
  int failures = 0;
#define FORKED(call) failures += ((call) != CUSHIM_ERROR_FORKED)
  memset(&place, 0, sizeof place);
  memset(&detail, 0, sizeof detail);
  detail.struct_size = sizeof detail;
  FORKED((cushim_driver_open)(NULL, &driver));
  FORKED((cushim_stream_create)(all.context, NULL, &stream));
  FORKED((cushim_event_create)(all.context, NULL, &event));
  FORKED((cushim_event_record)(all.event, all.stream));
  FORKED((cushim_event_query)(all.event, &done));
  FORKED((cushim_event_synchronize)(all.event));
  FORKED((cushim_stream_query)(all.stream, &done));
  FORKED((cushim_stream_synchronize)(all.stream));
  FORKED((cushim_stream_wait_event)(all.stream, all.event));
  FORKED((cushim_stream_copy)(all.stream, &place, &place, 0));
  FORKED((cushim_buffer_create)(all.resource, NULL, 64, &buffer));
  FORKED((cushim_graph_create)(all.context, NULL, &graph));
  FORKED((cushim_context_synchronize)(all.context));
  FORKED((cushim_flush_callbacks)(1000, &done));
  FORKED((cushim_get_leaked_releases)(&count));
  FORKED((cushim_drain)(NULL, sizeof(cushim_drain_item), 0, &items));
  FORKED((cushim_stream_destroy)(all.stream));
  FORKED((cushim_event_destroy)(all.event));
  FORKED((cushim_buffer_destroy)(all.buffer));
  FORKED((cushim_context_destroy)(all.context));
  FORKED((cushim_driver_destroy)(all.driver));
  failures += driver != NULL || stream != NULL || event != NULL || buffer != NULL || graph != NULL || done != 0;
  failures += strstr((cushim_last_error_message)(), "forked") == NULL;
  failures += (cushim_last_error)(&detail) != CUSHIM_SUCCESS || detail.status != CUSHIM_ERROR_FORKED;
  failures += strstr(detail.message, "forked") == NULL;
  failures += strcmp((cushim_last_error_message)(), detail.message) != 0;
  return failures;
}

/* In a child without the hooks of `fork`. */
static void *in_a_child(void *nothing) {
  int status = -1;
  const long child = syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
  (void)nothing;
  if (child == 0) {
    is_bare_child = 1;
    _exit(answers() != 0);
  }
  CHECK(child > 0 && waitpid((pid_t)child, &status, 0) == (pid_t)child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  check_begin();
  all = open_objects();
  in_a_child(NULL); /* with an error of its own before */
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(NULL));
  in_a_child(NULL);
  /* By a thread that has not failed before, nor made any call. */
  if (!CHECK(pthread_create(&thread, NULL, in_a_child, NULL) == 0)) exit(1);
  CHECK(pthread_join(thread, NULL) == 0);
  close_objects(&all);
  return check_done();
}
#else
int main(void) { return check_done(); }
#endif
