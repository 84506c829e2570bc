/*
 * Arenas, which give each capture the whole of one block: nothing is given out twice within a capture, whatever others do meanwhile.
 */
#include "builders.h"

static cushim_resource new_arena(size_t bytes) {
  cushim_resource arena = NULL;
  CHECK_OK(cushim_resource_create_arena(all.context, bytes, &arena));
  return arena;
}

static cushim_buffer piece(cushim_resource arena, cushim_stream stream, size_t bytes) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(arena, stream, bytes, &buffer));
  return buffer;
}

static void put(cushim_buffer buffer, cushim_stream stream, uint32_t number, size_t count) {
  cushim_endpoint to = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(number), count));
}

/* To the numbers of the program. */
static void fetch(cushim_buffer buffer, cushim_stream stream, int index) {
  cushim_endpoint to = cushim_endpoint_device(slot(index)), from = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_stream_copy(stream, &to, &from, 4));
}

/* Uses a piece in a capture of its own, and gives it back. */
static void another_capture(cushim_resource arena) {
  cushim_builder builder = begun();
  cushim_buffer buffer = piece(arena, cushim_builder_stream(builder), 512);
  put(buffer, cushim_builder_stream(builder), 9, 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* Many captures come and go while one is under way, which keeps what it has. */
static void many_beside(void) {
  cushim_resource arena = new_arena(16384);
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_buffer first = piece(arena, stream, 4096), second;
  int i;
  put(first, stream, 1, 1024);
  for (i = 0; i < 100; i++) another_capture(arena);
  second = piece(arena, stream, 4096);
  put(second, stream, 2, 1024);
  fetch(first, stream, 0);
  CHECK(cushim_buffer_pointer(second) >= cushim_buffer_pointer(first) + 4096);
  CHECK(captured(builder) == 1);
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_resource_destroy(arena));
}

/* A buffer of an earlier capture in the same stream is none of the later one, which has been given the same part. */
static void left_from_before(void) {
  cushim_resource arena = new_arena(4096);
  cushim_stream stream = new_stream(all.context);
  cushim_builder before = NULL, builder = NULL;
  cushim_buffer old, first, second;
  CHECK_OK(cushim_builder_create_on(stream, NULL, &before));
  CHECK_OK(cushim_builder_begin(before));
  old = piece(arena, stream, 512);
  put(old, stream, 7, 1);
  CHECK_OK(cushim_builder_end(before, NULL));
  CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  first = piece(arena, stream, 512);
  CHECK(cushim_buffer_pointer(first) == cushim_buffer_pointer(old));
  put(first, stream, 1, 1);
  CHECK_OK(cushim_buffer_destroy(old));
  second = piece(arena, stream, 512);
  CHECK(cushim_buffer_pointer(second) != cushim_buffer_pointer(first));
  put(second, stream, 2, 1);
  fetch(first, stream, 0);
  CHECK(captured(builder) == 1);
  /* What it gives back itself is given out again. */
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_builder_destroy(before));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_resource_destroy(arena));
}

/* Pieces are of whole units of 512 bytes, and so is the block. */
static void of_few_bytes(void) {
  cushim_resource arena = new_arena(1);
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_buffer buffer = piece(arena, stream, 512), more = (cushim_buffer)NOT_NULL;
  put(buffer, stream, 6, 128);
  fetch(buffer, stream, 0);
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_buffer_create(arena, stream, 1, &more));
  CHECK_CONTAINS(last_message(), "has 512 bytes, and this capture needs at least 1024");
  CHECK(more == NULL);
  CHECK_OK(cushim_buffer_destroy(buffer));
  buffer = piece(arena, stream, 1); /* what was given back */
  CHECK(captured(builder) == 6);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_resource_destroy(arena));
}

/* What is refused takes no room, however much was asked for. */
static void refused(void) {
  cushim_resource arena = new_arena(4096), measures = new_arena(0);
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_buffer first = piece(arena, stream, 1024), second, none = (cushim_buffer)NOT_NULL;
  size_t needed = 0;
  put(first, stream, 1, 256);
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_buffer_create(arena, stream, (size_t)-512, &none));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_buffer_create(arena, stream, (size_t)-1, &none));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_buffer_create(arena, stream, 8192, &none));
  CHECK_CONTAINS(last_message(), "needs at least 9216");
  CHECK(none == NULL);
  second = piece(arena, stream, 3072);
  put(second, stream, 2, 768);
  fetch(first, stream, 0);
  CHECK(cushim_buffer_pointer(second) == cushim_buffer_pointer(first) + 1024);
  CHECK_OK(cushim_resource_get_arena_bytes(arena, &needed));
  CHECK(needed == 4096);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create(measures, stream, (size_t)1 << 50, &none));
  CHECK_OK(cushim_buffer_destroy(piece(measures, stream, 512)));
  CHECK_OK(cushim_resource_get_arena_bytes(measures, &needed));
  CHECK(needed == 512);
  CHECK(captured(builder) == 1);
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_resource_destroy(arena));
  CHECK_OK(cushim_resource_destroy(measures));
}

static size_t memory_that_is_free(void) {
  size_t left = 0, all_of_it = 0;
  flush_callbacks();
  CHECK_OK(cushim_context_get_memory_info(all.context, &left, &all_of_it));
  return left;
}

/* A process that others begin on a GPU takes memory of every device for a moment. */
static int is_free_again(size_t bytes) {
  int i;
  for (i = 0; i < 1000 && memory_that_is_free() != bytes && !is_software(all.driver); i++) pause_shortly();
  return memory_that_is_free() == bytes;
}

/* Memory by whose address alone the graph uses it. */
static cushim_graph measured(cushim_resource measures, int keeps) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_buffer buffer = piece(measures, stream, 1 << 20);
  cushim_endpoint to = cushim_endpoint_device(cushim_buffer_pointer(buffer)), out = cushim_endpoint_device(slot(0));
  cushim_graph graph = NULL;
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(7), 256));
  CHECK_OK(cushim_stream_copy(stream, &out, &to, 4));
  CHECK_OK(cushim_buffer_destroy(buffer));
  if (keeps) CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return graph;
}

/* An arena that measures has no memory of its own: what it gave out goes with the last that may use it, and the arena can go before. */
static void measures_only(void) {
  cushim_resource measures = new_arena(0);
  cushim_graph graph, copy = NULL;
  cushim_exec exec;
  const size_t before = memory_that_is_free();
  int i;
  for (i = 0; i < 20; i++) {
    CHECK_OK(cushim_graph_destroy(measured(measures, 1)));
    measured(measures, 0);
    CHECK(is_free_again(before));
  }
  graph = measured(measures, 1);
  CHECK_OK(cushim_resource_destroy(measures));
  /* A GPU's driver takes memory in blocks of 2 MiB, of which this is a part. */
  if (is_software(all.driver)) CHECK(memory_that_is_free() < before);
  CHECK_OK(cushim_graph_clone(graph, &copy));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(result_of(copy) == 7);
  exec = new_exec(copy);
  CHECK_OK(cushim_graph_destroy(copy));
  if (is_software(all.driver)) CHECK(memory_that_is_free() < before);
  CHECK(result_of_exec(exec) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(is_free_again(before));
}

/* The same calls need as much as before when they are captured anew. */
static void recaptured(void) {
  cushim_resource arena = new_arena(4096);
  cushim_graph graph = NULL;
  uint64_t before = 0;
  uint32_t i;
  for (i = 0; i < 4; i++) {
    cushim_builder builder = new_builder();
    cushim_buffer buffer;
    cushim_stream stream;
    CHECK_OK(i == 0 ? cushim_builder_begin(builder) : cushim_builder_recapture(builder, graph));
    stream = cushim_builder_stream(builder);
    buffer = piece(arena, stream, 4096);
    CHECK(before == 0 || cushim_buffer_pointer(buffer) == before);
    before = cushim_buffer_pointer(buffer);
    put(buffer, stream, 5 + i, 1);
    fetch(buffer, stream, 0);
    CHECK_OK(cushim_buffer_destroy(buffer));
    CHECK_OK(cushim_builder_end(builder, i == 0 ? &graph : NULL));
    CHECK_OK(cushim_builder_destroy(builder));
    CHECK(result_of(graph) == 5 + i);
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(arena));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  many_beside();
  left_from_before();
  of_few_bytes();
  refused();
  measures_only();
  if (version >= 13030) recaptured();
  return close_graphs();
}
