/*
 * The first call of a thread, and its first error, when the process has no memory for anybody, the C library included, which ends the
 * process where it cannot list the destructor of a thread-local. The program's allocator stands in front of the C library's.
 */
#include "objects.h"

#include <pthread.h>

static struct objects all;

#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static __thread int is_short, refused;

static int fails(void) { return is_short && ++refused; }

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  if (fails()) return 12; /* ENOMEM */
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? 12 : 0;
}

static void *fails_at_once(void *nothing) {
  cushim_status status;
  int32_t same = 7;
  const char *message;
  (void)nothing;
  is_short = 1;
  status = (cushim_stream_synchronize)(NULL);
  is_short = 0;
  message = (cushim_last_error_message)();
  CHECK(refused > 0);
  CHECK(status == CUSHIM_ERROR_STREAM_REQUIRED || status == CUSHIM_ERROR_OUT_OF_MEMORY);
  CHECK(strlen(message) > 0);
  CHECK_OK(cushim_same(all.stream, all.stream, &same));
  return NULL;
}

static void *succeeds_at_first(void *nothing) {
  cushim_status status[2];
  int32_t same = 7;
  (void)nothing;
  is_short = 1;
  status[0] = (cushim_same)(all.stream, all.event, &same);
  status[1] = (cushim_event_destroy)((cushim_event)NOT_NULL);
  is_short = 0;
  CHECK(status[0] == CUSHIM_SUCCESS && same == 0);
  CHECK(status[1] == CUSHIM_ERROR_INVALID_HANDLE || status[1] == CUSHIM_ERROR_OUT_OF_MEMORY);
  CHECK(strlen((cushim_last_error_message)()) > 0);
  return NULL;
}

/* A thread that uses the library in the destructor of a key of its own, too, after the library's or before it. */
static pthread_key_t keys[2];

static void at_the_end(void *value) {
  int32_t same = 7;
  (void)value;
  CHECK_OK(cushim_same(all.stream, all.stream, &same));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(NULL));
}

static void *ends(void *nothing) {
  CHECK(pthread_setspecific(keys[0], &keys) == 0 && pthread_setspecific(keys[1], &keys) == 0);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(NULL));
  return nothing;
}

static void in_a_thread(void *(*body)(void *)) {
  pthread_t thread;
  if (!CHECK(pthread_create(&thread, NULL, body, NULL) == 0)) exit(1);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
  int i;
  check_begin();
  CHECK(pthread_key_create(&keys[0], at_the_end) == 0);
  all = open_objects();
  CHECK(pthread_key_create(&keys[1], at_the_end) == 0);
  in_a_thread(fails_at_once);
  in_a_thread(succeeds_at_first);
  for (i = 0; i < 10; i++) in_a_thread(ends);
  close_objects(&all);
  return check_done();
}
#else
int main(void) { return check_done(); }
#endif
