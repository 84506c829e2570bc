/*
 * Calls on threads with small stacks, as languages with many threads make them: each call on a thread of its own, with 32 KiB for it.
 * What each takes is printed, and is less where the library is optimised.
 */
#include "graphs.h"

#include <pthread.h>
#include <sys/mman.h>

enum {
  /* Of these, the program's thread-local variables lie on the stack, too. */
  STACK = 32 * 1024 + 2 * ((int)sizeof(cushim_error_detail) + 1024),
  GUARD = 128 * 1024,
  UNUSED = 0xa5
};

static cushim_exec graph_exec;

static void opens(void) {
  cushim_driver driver = open_driver();
  CHECK_OK(cushim_driver_destroy(driver));
}

static void opens_what_is_not_there(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver;
  options.driver = "/nonexistent/libcuda.so.1";
  CHECK_STATUS(CUSHIM_ERROR_DRIVER_UNUSABLE, cushim_driver_open(&options, &driver));
}

static void reads_its_last_error(void) {
  static cushim_error_detail detail; /* 9 KiB */
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(NULL));
  detail.struct_size = sizeof detail;
  CHECK_OK(cushim_last_error(&detail));
  CHECK_CONTAINS(detail.message, "stream");
  CHECK_CONTAINS(cushim_last_error_message(), "stream");
}

static void takes_its_last_error(void) {
  static cushim_error_detail detail;
  cushim_error error;
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(NULL));
  CHECK_OK(cushim_error_take(&error));
  detail.struct_size = sizeof detail;
  CHECK_OK(cushim_error_get_detail(error, &detail));
  CHECK_OK(cushim_error_destroy(error));
}

static void creates_and_destroys(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_event event = new_event(all.context, 0);
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_OK(cushim_stream_wait_event(stream, event));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(stream));
}

static void synchronizes(void) { CHECK_OK(cushim_stream_synchronize(all.stream)); }

static void launches(void) {
  uint32_t digit = 1;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(memory);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_kernel_launch(all.kernel, all.stream, NULL, args, 2));
}

static void copies(void) {
  cushim_endpoint to = cushim_endpoint_device(slot(1)), from = cushim_endpoint_device(slot(0));
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 4));
}

static void allocates(void) {
  cushim_buffer buffer;
  CHECK_OK(cushim_buffer_create_default(all.device, all.stream, 1024, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static void launches_a_graph(void) { CHECK_OK(cushim_exec_launch(graph_exec, all.stream)); }

static void builds_a_graph(void) {
  cushim_graph graph = new_graph();
  CHECK_OK(cushim_graph_destroy((add_append(graph, NULL, 0, 1), graph)));
}

static void captures(void) {
  cushim_builder builder;
  cushim_graph graph;
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(fill_bytes(cushim_builder_stream(builder), memory, 0, 4));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

static void *calls(void *function) {
  void (*call)(void);
  memcpy(&call, &function, sizeof call);
  call();
  return NULL;
}

/* Runs it on a thread with a small stack, below which nothing can be touched; says how much of that it took. */
static void run_small(const char *name, void (*call)(void)) {
  unsigned char *const ground = (unsigned char *)mmap(NULL, GUARD + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char *const stack = ground + GUARD;
  pthread_attr_t attributes;
  pthread_t thread;
  void *function;
  size_t unused = 0;
  if (!CHECK(ground != (unsigned char *)MAP_FAILED) || !CHECK(mprotect(stack, STACK, PROT_READ | PROT_WRITE) == 0)) exit(1);
  memset(stack, UNUSED, STACK);
  memcpy(&function, &call, sizeof function);
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, STACK) == 0);
  if (!CHECK(pthread_create(&thread, &attributes, calls, function) == 0)) exit(1);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
  while (unused < STACK && stack[unused] == UNUSED) unused++;
  printf("%s: %zu bytes\n", name, STACK - unused);
  CHECK(munmap(ground, GUARD + STACK) == 0);
}

#define RUN_SMALL(call) run_small(#call, call)

static void nothing(void) {}

int main(void) {
  cushim_graph graph;
  check_begin();
  RUN_SMALL(nothing);
  RUN_SMALL(opens);
  RUN_SMALL(opens_what_is_not_there);
  RUN_SMALL(reads_its_last_error);
  RUN_SMALL(takes_its_last_error);
  if (!open_graphs()) return close_graphs();
  graph = new_graph();
  add_append(graph, NULL, 0, 1);
  graph_exec = new_exec(graph);
  RUN_SMALL(creates_and_destroys);
  RUN_SMALL(launches);
  RUN_SMALL(copies);
  RUN_SMALL(allocates);
  RUN_SMALL(synchronizes);
  RUN_SMALL(builds_a_graph);
  RUN_SMALL(launches_a_graph);
  RUN_SMALL(captures);
  CHECK_OK(cushim_exec_destroy(graph_exec));
  CHECK_OK(cushim_graph_destroy(graph));
  return close_graphs();
}
