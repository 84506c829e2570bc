/*
 * Work that only enqueues, done twice: directly in a stream, and captured from one and launched. The list below names it; all that it
 * leaves in device memory, in page-locked memory and with functions on the host is the same both times.
 */
#include "builders.h"

enum { WORDS = 64 };

/* What work leaves behind, besides `memory`. */
static uint32_t *page; /* page-locked */
static uint32_t calls; /* of functions on the host */
static cushim_stream side;
static cushim_event marks[2], others[2];

struct traces {
  uint32_t numbers[NUMBERS], page[WORDS], calls;
};

static void clear_traces(void) {
  clear_memory();
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_stream_synchronize(side));
  memset(page, 0, WORDS * 4);
  calls = 0;
}

static struct traces traces_now(void) {
  struct traces traces;
  cushim_endpoint to = cushim_endpoint_host(traces.numbers), from = cushim_endpoint_device(memory);
  memset(&traces, 0, sizeof traces);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, sizeof traces.numbers));
  memcpy(traces.page, page, sizeof traces.page);
  traces.calls = calls;
  return traces;
}

static cushim_endpoint pinned(int index) {
  cushim_endpoint place = cushim_endpoint_host(page + index);
  place.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  return place;
}

static void copy_in(cushim_stream stream, cushim_endpoint to, cushim_endpoint from, size_t bytes) {
  CHECK_OK(cushim_stream_copy(stream, &to, &from, bytes));
}

/* The work. */
static void kernels(cushim_stream stream) {
  uint32_t digit;
  for (digit = 1; digit <= 5; digit++) append_in(stream, (int)digit % 2, digit);
}

static void packed(cushim_stream stream) {
  struct {
    uint64_t to;
    uint32_t digit;
  } block;
  memset(&block, 0, sizeof block);
  block.to = slot(3);
  for (block.digit = 1; block.digit <= 3; block.digit++) CHECK_OK(cushim_kernel_launch_packed(all.kernel, stream, NULL, &block, 12));
}

static void fills(cushim_stream stream) {
  cushim_endpoint to = cushim_endpoint_device(slot(0));
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_8(0xa5), 7));
  to = cushim_endpoint_device(slot(8));
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_16(0x1234), 5));
  to = cushim_endpoint_device(slot(16));
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(0x89abcdef), 9));
  to = cushim_endpoint_device(slot(32));
  CHECK_OK(cushim_stream_fill_2d(stream, &to, 64, CUSHIM_VALUE_8(0x77), 9, 3));
  CHECK_OK(cushim_stream_fill_2d(stream, &to, 128, CUSHIM_VALUE_16(0x1111), 3, 2)); /* over it */
}

static void copies(cushim_stream stream) {
  static const uint32_t source[] = {11, 22, 33, 44};
  cushim_endpoint from = cushim_endpoint_host(source);
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  copy_in(stream, cushim_endpoint_device(slot(4)), from, sizeof source);
  copy_in(stream, cushim_endpoint_device(slot(9)), cushim_endpoint_device(slot(5)), 8);
  copy_in(stream, pinned(0), cushim_endpoint_device(slot(4)), 32);
  copy_in(stream, cushim_endpoint_device(slot(20)), pinned(0), 32);
  copy_in(stream, pinned(16), pinned(1), 12);
  copy_in(stream, cushim_endpoint_device(slot(40)), cushim_endpoint_device(slot(4)), 0);
}

static void boxes(cushim_stream stream) {
  cushim_region to, from;
  const cushim_extent extent = {12, 3, 2};
  int i;
  memset(&to, 0, sizeof to);
  memset(&from, 0, sizeof from);
  for (i = 0; i < 8; i++) set_in(stream, i * 5, 100 + (uint32_t)i);
  from.endpoint = cushim_endpoint_device(slot(0));
  from.pitch = 20;
  from.rows = 3;
  from.x = 4;
  to.endpoint = cushim_endpoint_device(slot(64));
  to.pitch = 32;
  to.rows = 4;
  CHECK_OK(cushim_stream_copy_3d(stream, &to, &from, &extent));
}

/* Tells the order of functions and kernels. */
static void note(void *data) {
  (void)data;
  calls = calls * 10 + page[0] % 10;
}

static void note_bytes(void *data) { calls = calls * 100 + *(const uint32_t *)data; }

static void host_functions(cushim_stream stream) {
  uint32_t digit, number = 42;
  for (digit = 1; digit <= 3; digit++) {
    append_in(stream, 0, digit);
    copy_in(stream, pinned(0), cushim_endpoint_device(slot(0)), 4);
    CHECK_OK(cushim_stream_launch_host_function(stream, note, NULL, NULL));
  }
  CHECK_OK(cushim_stream_launch_host_function_bytes(stream, note_bytes, &number, sizeof number));
}

static void owners(cushim_stream stream) {
  static int releases;
  cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(2, &owner);
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  const uint32_t digit = 6;
  memset(&pointer, 0, sizeof pointer);
  args[0] = owned_arg(&pointer, slot(2), &releases);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(5), 1));
  CHECK_OK(cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
}

/* Another stream beside it, and back: by streams, and by events. */
static void forks(cushim_stream stream) {
  append_in(stream, 0, 1);
  CHECK_OK(cushim_stream_wait_stream(side, stream));
  append_in(side, 1, 2);
  append_in(stream, 2, 3);
  CHECK_OK(cushim_stream_wait_stream(stream, side));
  copy_in(stream, cushim_endpoint_device(slot(5)), cushim_endpoint_device(slot(0)), 12);
  CHECK_OK(cushim_event_record(marks[0], stream));
  CHECK_OK(cushim_stream_wait_event(side, marks[0]));
  append_in(side, 5, 7);
  CHECK_OK(cushim_event_record(marks[1], side));
  append_in(stream, 6, 8);
  CHECK_OK(cushim_stream_wait_event(stream, marks[1]));
  append_in(stream, 5, 9);
}

static void events(cushim_stream stream) {
  CHECK_OK(cushim_stream_wait_event_external(stream, others[0]));
  append_in(stream, 0, 4);
  CHECK_OK(cushim_event_record_external(others[1], stream));
  append_in(stream, 0, 5);
}

static void memory_comes_and_goes(cushim_stream stream) {
  uint64_t pointer = 0;
  cushim_endpoint there;
  CHECK_OK(cushim_stream_allocate(stream, 256, &pointer));
  there = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_stream_fill(stream, &there, CUSHIM_VALUE_8(0x5a), 64));
  copy_in(stream, cushim_endpoint_device(slot(10)), there, 64);
  CHECK_OK(cushim_stream_free(stream, pointer));
}

static void values(cushim_stream stream) {
  cushim_memory_operation operations[3];
  memset(operations, 0, sizeof operations);
  operations[0].action = CUSHIM_MEMORY_WRITE_32;
  operations[0].at = cushim_endpoint_device(slot(0));
  operations[0].value = 99;
  operations[1].action = CUSHIM_MEMORY_WAIT_32;
  operations[1].flags = CU_STREAM_WAIT_VALUE_EQ;
  operations[1].at = cushim_endpoint_device(slot(0));
  operations[1].value = 99;
  operations[2].action = CUSHIM_MEMORY_WRITE_64;
  operations[2].at = cushim_endpoint_device(slot(2));
  operations[2].value = 0x100000005;
  CHECK_OK(cushim_stream_memory_operations(stream, operations, 3));
  append_in(stream, 0, 1);
}

/* All at once, after each other. */
static void everything(cushim_stream stream) {
  kernels(stream);
  copies(stream);
  forks(stream);
  host_functions(stream);
  fills(stream);
}

/* The list: what it is called, what it does, and since which driver it can be captured. */
static const struct {
  const char *name;
  void (*enqueue)(cushim_stream stream);
  int since;
} list[] = {
    {"kernels", kernels, 0},
    {"packed arguments", packed, 0},
    {"fills", fills, 0},
    {"copies", copies, 0},
    {"boxes", boxes, 0},
    {"functions on the host", host_functions, 0},
    {"owners", owners, 0},
    {"forks and joins", forks, 0},
    {"events of others", events, 0},
    {"memory that comes and goes", memory_comes_and_goes, 0},
    {"values in memory", values, 11070},
    {"everything", everything, 0},
};

enum mode { DIRECTLY, CAPTURED };

static struct traces done(void (*enqueue)(cushim_stream stream), enum mode mode) {
  cushim_builder builder;
  cushim_graph graph = NULL;
  cushim_exec exec;
  clear_traces();
  if (mode == DIRECTLY) {
    enqueue(all.stream);
    CHECK_OK(cushim_stream_synchronize(all.stream));
    return traces_now();
  }
  builder = begun();
  enqueue(cushim_builder_stream(builder));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  run(exec);
  clear_traces(); /* what the first launch left changes nothing */
  run(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  return traces_now();
}

int main(void) {
  struct traces nothing, directly, captured;
  void *host = NULL;
  size_t i;
  if (!open_graphs()) return close_graphs();
  if (!CHECK_OK(cushim_context_allocate_host(all.context, WORDS * 4, 0, &host))) return 1;
  memset(&nothing, 0, sizeof nothing);
  page = (uint32_t *)host;
  side = new_stream(all.context);
  for (i = 0; i < 2; i++) {
    marks[i] = new_event(all.context, 0);
    others[i] = new_event(all.context, 0);
    CHECK_OK(cushim_event_record(others[i], side));
  }
  for (i = 0; i < sizeof list / sizeof *list; i++) {
    if (version < list[i].since) continue;
    directly = done(list[i].enqueue, DIRECTLY);
    captured = done(list[i].enqueue, CAPTURED);
    if (memcmp(&directly, &captured, sizeof directly) != 0) fprintf(stderr, "%s:\n", list[i].name);
    CHECK(memcmp(&directly, &captured, sizeof directly) == 0);
    CHECK(memcmp(&directly, &nothing, sizeof directly) != 0);
  }
  for (i = 0; i < 2; i++) {
    CHECK_OK(cushim_event_destroy(marks[i]));
    CHECK_OK(cushim_event_destroy(others[i]));
  }
  CHECK_OK(cushim_stream_destroy(side));
  CHECK_OK(cushim_context_free_host(all.context, host));
  return close_graphs();
}
