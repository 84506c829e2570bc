/*
 * Memory of a capture that branches: what a branch may still use is not given to another, be it known as a buffer or by its address alone; and
 * what outlives its branch is freed in the one that goes on.
 */
#include "builders.h"

enum { COUNT = BYTES / 4, NODES = 64 };

/* How a branch comes to be beside the capture's own stream. */
enum way { FORK, EVENT, WAYS };

/* A capture with one branch. */
struct branched {
  cushim_builder builder, fork;
  cushim_stream own, beside;
};

static cushim_resource new_graph_memory(void) {
  cushim_resource resource = NULL;
  CHECK_OK(cushim_resource_create_graph(all.device, &resource));
  return resource;
}

static cushim_resource new_arena(void) {
  cushim_resource arena = NULL;
  CHECK_OK(cushim_resource_create_arena(all.context, 64 * BYTES, &arena));
  return arena;
}

/* A stream that the program captures by the driver's own calls, and has to end by itself. */
static CUstream of_others;

/* The buffer, if there is one, is freed in that capture. */
static void give_up(cushim_buffer buffer) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CUgraph graph = NULL;
  if (buffer != NULL) CHECK_OK(cushim_buffer_destroy(buffer));
  if (of_others != NULL) cu->cuStreamEndCapture_10000(of_others, &graph);
  if (graph != NULL) cu->cuGraphDestroy_10000(graph);
  exit(1);
}

static cushim_buffer piece(cushim_resource resource, cushim_stream stream) {
  cushim_buffer buffer = NULL;
  if (!CHECK_OK(cushim_buffer_create(resource, stream, BYTES, &buffer))) give_up(NULL);
  return buffer;
}

static void put(uint64_t to, cushim_stream stream, uint32_t number) {
  cushim_endpoint place = cushim_endpoint_device(to);
  CHECK_OK(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(number), COUNT));
}

static void put_in(cushim_buffer buffer, cushim_stream stream, uint32_t number) {
  cushim_endpoint place = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(number), COUNT));
}

static void fetch(uint64_t from, cushim_stream stream, int index) {
  cushim_endpoint to = cushim_endpoint_device(slot(index)), place = cushim_endpoint_device(from);
  CHECK_OK(cushim_stream_copy(stream, &to, &place, 4));
}

static struct branched captures(void) {
  struct branched it = {begun(), NULL, NULL, NULL};
  it.own = cushim_builder_stream(it.builder);
  return it;
}

static void branches(struct branched *it, enum way way) {
  if (way == FORK) {
    CHECK_OK(cushim_builder_fork(it->builder, &it->fork, 1));
    it->beside = cushim_builder_stream(it->fork);
  } else {
    it->beside = new_stream(all.context);
    CHECK_OK(cushim_stream_wait_stream(it->beside, it->own));
  }
}

/* The same at once, after a node. */
static struct branched branched(enum way way) {
  struct branched it = captures();
  set_in(it.own, 9, 1);
  branches(&it, way);
  return it;
}

static void join(struct branched *it) {
  if (it->fork != NULL) {
    CHECK_OK(cushim_builder_join(it->builder, &it->fork, 1));
    CHECK_OK(cushim_builder_destroy(it->fork));
  } else {
    CHECK_OK(cushim_stream_wait_stream(it->own, it->beside));
    CHECK_OK(cushim_stream_destroy(it->beside));
  }
}

static cushim_graph ended(struct branched *it) {
  cushim_graph graph = NULL;
  if (!CHECK_OK(cushim_builder_end(it->builder, &graph))) exit(1);
  CHECK_OK(cushim_builder_destroy(it->builder));
  return graph;
}

/* The nodes of a graph, and which comes after which. */
static cushim_node nodes[NODES];
static size_t listed;
static int leads[NODES][NODES];

static int index_of(cushim_node node) {
  size_t i;
  for (i = 0; i < listed; i++)
    if (is_same(nodes[i], node)) return (int)i;
  CHECK(0);
  return 0;
}

static void look_at(cushim_graph graph) {
  cushim_edge edges[4 * NODES];
  size_t edge_count = 0, i, j, k;
  memset(leads, 0, sizeof leads);
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, NODES, &listed));
  CHECK_OK(cushim_graph_get_edges(graph, edges, 4 * NODES, &edge_count));
  for (i = 0; i < edge_count; i++) leads[index_of(edges[i].from_node)][index_of(edges[i].to_node)] = 1;
  for (k = 0; k < listed; k++)
    for (i = 0; i < listed; i++)
      for (j = 0; j < listed; j++) leads[i][j] |= leads[i][k] && leads[k][j];
}

/* The first node of this type; the next ones, with a place to begin. */
static int next_of(int type, int from) {
  int i;
  for (i = from; i < (int)listed; i++)
    if (type_of(nodes[i]) == type) return i;
  CHECK(0);
  return 0;
}

/* The node that frees the address, behind so many others that do: a driver gives it again to what comes behind a free. */
static int later_free_of(uint64_t pointer, int others) {
  int i;
  for (i = 0; i < (int)listed; i++) {
    uint64_t freed = 0;
    if (type_of(nodes[i]) != CUSHIM_NODE_FREE) continue;
    CHECK_OK(cushim_node_get_free(nodes[i], &freed));
    if (freed == pointer && others-- == 0) return i;
  }
  CHECK(0);
  return 0;
}

static int free_of(uint64_t pointer) {
  return later_free_of(pointer, 0);
}

/* What the graph leaves in these numbers, in two launches. */
static void leaves(cushim_graph graph, int index, uint32_t number) {
  int i;
  for (i = 0; i < 2; i++) {
    result_of(graph);
    CHECK(number_at(slot(index)) == number);
  }
}

/* The node that frees comes after what a branch does with the address; the builder's own work waits for neither before the join. */
static void freed_after_all(enum way way) {
  cushim_resource resource = new_graph_memory();
  struct branched it = captures();
  cushim_buffer buffer, other;
  cushim_graph graph;
  uint64_t pointer;
  int freed, copied, appended;
  buffer = piece(resource, it.own);
  pointer = cushim_buffer_pointer(buffer);
  put_in(buffer, it.own, 5);
  branches(&it, way);
  append_in(it.beside, 3, 1);
  fetch(pointer, it.beside, 0);
  CHECK_OK(cushim_buffer_destroy(buffer));
  append_in(it.own, 4, 1);
  join(&it);
  other = piece(resource, it.own);
  put_in(other, it.own, 6);
  fetch(cushim_buffer_pointer(other), it.own, 1);
  CHECK_OK(cushim_buffer_destroy(other));
  graph = ended(&it);
  look_at(graph);
  freed = free_of(pointer), copied = next_of(CUSHIM_NODE_COPY, 0), appended = next_of(CUSHIM_NODE_KERNEL, next_of(CUSHIM_NODE_KERNEL, 0) + 1);
  CHECK(leads[copied][freed]);
  CHECK(!leads[freed][appended] && !leads[copied][appended] && !leads[appended][copied]);
  CHECK(leads[freed][next_of(CUSHIM_NODE_ALLOCATION, next_of(CUSHIM_NODE_ALLOCATION, 0) + 1)]);
  leaves(graph, 0, 5);
  leaves(graph, 1, 6);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* What nobody joins is missed all the same, though a node that frees comes after it. */
static void not_joined(void) {
  cushim_resource resource = new_graph_memory();
  struct branched it = branched(FORK);
  cushim_buffer buffer = piece(resource, it.own);
  cushim_graph graph = (cushim_graph)NOT_NULL;
  put_in(buffer, it.own, 5);
  append_in(it.beside, 3, 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(it.builder, &graph));
  CHECK_CONTAINS(last_message(), "cannot end before what was forked from it is joined");
  CHECK(graph == NULL);
  join(&it);
  graph = ended(&it);
  leaves(graph, 3, 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* Memory of a branch that was joined is freed where that was joined; `named` says so. */
static void outlives_its_branch(enum way way, int is_named) {
  cushim_resource resource = new_graph_memory();
  struct branched it = branched(way);
  cushim_buffer buffer = piece(resource, it.beside);
  uint64_t pointer = cushim_buffer_pointer(buffer);
  cushim_graph graph;
  int freed, copied;
  put_in(buffer, it.beside, 7);
  join(&it);
  fetch(pointer, it.own, 0);
  CHECK_OK(is_named ? cushim_buffer_destroy_on(buffer, it.own) : cushim_buffer_destroy(buffer));
  set_in(it.own, 1, 8);
  graph = ended(&it);
  look_at(graph);
  freed = free_of(pointer), copied = next_of(CUSHIM_NODE_COPY, 0);
  CHECK(leads[copied][freed] && leads[freed][(int)listed - 1]);
  leaves(graph, 0, 7);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* The same in the branch: it goes on there. */
static void freed_in_its_branch(enum way way) {
  cushim_resource resource = new_graph_memory();
  struct branched it = branched(way);
  cushim_buffer buffer = piece(resource, it.beside), again;
  uint64_t pointer = cushim_buffer_pointer(buffer);
  cushim_graph graph;
  put_in(buffer, it.beside, 7);
  CHECK_OK(cushim_buffer_destroy(buffer));
  again = piece(resource, it.beside);
  put_in(again, it.beside, 8);
  fetch(cushim_buffer_pointer(again), it.beside, 0);
  CHECK_OK(cushim_buffer_destroy(again));
  join(&it);
  graph = ended(&it);
  look_at(graph);
  CHECK(leads[free_of(pointer)][next_of(CUSHIM_NODE_ALLOCATION, next_of(CUSHIM_NODE_ALLOCATION, 0) + 1)]);
  leaves(graph, 0, 8);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* A part of an arena that a branch may use is given out again after the join, and not before. */
static void arena_waits(enum way way) {
  cushim_resource arena = new_arena();
  struct branched it = captures();
  cushim_buffer first, second, third;
  cushim_graph graph;
  uint64_t pointer;
  first = piece(arena, it.own);
  pointer = cushim_buffer_pointer(first);
  put_in(first, it.own, 5);
  branches(&it, way);
  append_in(it.beside, 3, 1);
  fetch(pointer, it.beside, 0);
  CHECK_OK(cushim_buffer_destroy(first));
  second = piece(arena, it.own);
  CHECK(cushim_buffer_pointer(second) != pointer);
  put_in(second, it.own, 6);
  join(&it);
  third = piece(arena, it.own);
  CHECK(cushim_buffer_pointer(third) == pointer);
  put_in(third, it.own, 7);
  graph = ended(&it);
  leaves(graph, 0, 5);
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_destroy(third));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(arena));
}

/* A branch that is captured after another has its own part again, for the other did nothing since it was given that. */
static void arena_in_turn(enum way way) {
  cushim_resource arena = new_arena();
  struct branched it = branched(way);
  cushim_buffer buffer;
  uint64_t own, beside;
  cushim_graph graph;
  int i;
  buffer = piece(arena, it.own);
  own = cushim_buffer_pointer(buffer);
  for (i = 0; i < 3; i++) {
    put_in(buffer, it.own, 1);
    CHECK_OK(cushim_buffer_destroy(buffer));
    buffer = piece(arena, it.own);
    CHECK(cushim_buffer_pointer(buffer) == own);
  }
  CHECK_OK(cushim_buffer_destroy(buffer));
  buffer = piece(arena, it.beside);
  beside = cushim_buffer_pointer(buffer);
  CHECK(beside != own);
  for (i = 0; i < 3; i++) {
    put_in(buffer, it.beside, 2);
    CHECK_OK(cushim_buffer_destroy(buffer));
    buffer = piece(arena, it.beside);
    CHECK(cushim_buffer_pointer(buffer) == beside);
  }
  CHECK_OK(cushim_buffer_destroy(buffer));
  join(&it);
  graph = ended(&it);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(arena));
}

/* A join of what a branch had done before says nothing of what it does afterwards. */
static void arena_after_an_earlier_join(void) {
  cushim_resource arena = new_arena();
  struct branched it = branched(EVENT);
  cushim_buffer first = piece(arena, it.own), second, third;
  uint64_t pointer = cushim_buffer_pointer(first);
  cushim_graph graph;
  put_in(first, it.own, 5);
  append_in(it.beside, 3, 1);
  CHECK_OK(cushim_stream_wait_stream(it.own, it.beside));
  CHECK_OK(cushim_stream_wait_stream(it.beside, it.own));
  fetch(pointer, it.beside, 0);
  CHECK_OK(cushim_buffer_destroy(first));
  second = piece(arena, it.own);
  CHECK(cushim_buffer_pointer(second) != pointer);
  CHECK_OK(cushim_stream_wait_stream(it.own, it.beside));
  third = piece(arena, it.own);
  CHECK(cushim_buffer_pointer(third) == pointer);
  join(&it);
  graph = ended(&it);
  leaves(graph, 0, 5);
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_destroy(third));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(arena));
}

/* A branch that others have made, by the driver's own calls. */
struct strange {
  const cushim_driver_table *cu;
  CUstream stream;
  CUevent event;
};

static struct strange strange_after(cushim_stream own, cushim_buffer buffer) {
  struct strange it = {table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM), NULL, NULL};
  CUstream native = NULL;
  CHECK_OK(cushim_context_set_current(all.context));
  if (!CHECK_STATUS(CUDA_SUCCESS, it.cu->cuStreamCreate_2000(&it.stream, CU_STREAM_NON_BLOCKING))) give_up(buffer);
  PROGRAMS_OWN(it.stream);
  if (!CHECK_STATUS(CUDA_SUCCESS, it.cu->cuEventCreate_2000(&it.event, CU_EVENT_DISABLE_TIMING))) give_up(buffer);
  PROGRAMS_OWN(it.event);
  CHECK_OK(cushim_stream_native(own, &native));
  CHECK_STATUS(CUDA_SUCCESS, it.cu->cuEventRecord_2000(it.event, native));
  CHECK_STATUS(CUDA_SUCCESS, it.cu->cuStreamWaitEvent_3020(it.stream, it.event, 0));
  return it;
}

static void strange_joins(struct strange *it, cushim_stream own) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(own, &native));
  CHECK_STATUS(CUDA_SUCCESS, it->cu->cuEventRecord_2000(it->event, it->stream));
  CHECK_STATUS(CUDA_SUCCESS, it->cu->cuStreamWaitEvent_3020(native, it->event, 0));
}

static void strange_ends(struct strange *it) {
  CHECK_STATUS(CUDA_SUCCESS, it->cu->cuEventDestroy_4000(it->event));
  CHECK_STATUS(CUDA_SUCCESS, it->cu->cuStreamDestroy_4000(it->stream));
}

/* Nobody knows of it but the driver. What it may use is not given out again, and is freed after it. */
static void beside_others(int is_arena) {
  cushim_resource resource = is_arena ? new_arena() : new_graph_memory();
  struct branched it = captures();
  cushim_stream own = it.own;
  cushim_buffer first = piece(resource, own), second, third;
  uint64_t pointer = cushim_buffer_pointer(first);
  struct strange strange;
  cushim_graph graph;
  put_in(first, own, 5);
  strange = strange_after(own, first);
  CHECK_STATUS(CUDA_SUCCESS, strange.cu->cuMemcpyDtoDAsync_3020(slot(0), pointer, 4, strange.stream));
  CHECK_OK(cushim_buffer_destroy(first));
  second = piece(resource, own);
  CHECK(!is_arena || cushim_buffer_pointer(second) != pointer);
  put_in(second, own, 6);
  strange_joins(&strange, own);
  third = piece(resource, own);
  CHECK(!is_arena || cushim_buffer_pointer(third) != pointer);
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_destroy(third));
  graph = ended(&it);
  if (!is_arena) {
    look_at(graph);
    CHECK(leads[next_of(CUSHIM_NODE_COPY, 0)][free_of(pointer)]);
  }
  leaves(graph, 0, 5);
  strange_ends(&strange);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* In a capture of somebody else's the library sees the driver's graph only. */
static void in_a_capture_of_others(int is_arena) {
  cushim_resource resource = is_arena ? new_arena() : new_graph_memory();
  cushim_stream own = new_stream(all.context);
  struct strange strange;
  CUgraph taken = NULL;
  cushim_graph graph = NULL;
  cushim_buffer first, second;
  uint64_t pointer;
  int again;
  CHECK_OK(cushim_stream_native(own, &of_others));
  CHECK_OK(cushim_context_set_current(all.context));
  CHECK_STATUS(CUDA_SUCCESS, table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)
                                 ->cuStreamBeginCapture_10010(of_others, CU_STREAM_CAPTURE_MODE_RELAXED));
  first = piece(resource, own);
  pointer = cushim_buffer_pointer(first);
  put_in(first, own, 4);
  CHECK_OK(cushim_buffer_destroy(first));
  first = piece(resource, own);
  again = cushim_buffer_pointer(first) == pointer;
  CHECK(!is_arena || again);
  pointer = cushim_buffer_pointer(first);
  put_in(first, own, 5);
  strange = strange_after(own, first);
  CHECK_STATUS(CUDA_SUCCESS, strange.cu->cuMemcpyDtoDAsync_3020(slot(0), pointer, 4, strange.stream));
  CHECK_OK(cushim_buffer_destroy(first));
  second = piece(resource, own);
  CHECK(!is_arena || cushim_buffer_pointer(second) != pointer);
  put(cushim_buffer_pointer(second), own, 6);
  CHECK_OK(cushim_buffer_destroy(second));
  strange_joins(&strange, own);
  CHECK_STATUS(CUDA_SUCCESS, strange.cu->cuStreamEndCapture_10000(of_others, &taken));
  of_others = NULL;
  CHECK_OK(cushim_graph_wrap(all.context, taken, CUSHIM_OWNED, &graph));
  if (!is_arena) {
    look_at(graph);
    CHECK(leads[next_of(CUSHIM_NODE_COPY, 0)][later_free_of(pointer, again)]);
  }
  leaves(graph, 0, 5);
  strange_ends(&strange);
  CHECK_OK(cushim_stream_destroy(own));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

int main(void) {
  int way, i;
  check_begin();
  if (!open_graphs()) return close_graphs();
  for (way = 0; way < WAYS; way++) {
    freed_after_all((enum way)way);
    outlives_its_branch((enum way)way, 0);
    outlives_its_branch((enum way)way, 1);
    freed_in_its_branch((enum way)way);
    arena_waits((enum way)way);
    arena_in_turn((enum way)way);
  }
  not_joined();
  arena_after_an_earlier_join();
  for (i = 0; i < 2; i++) {
    beside_others(i);
    in_a_capture_of_others(i);
  }
  return close_graphs();
}
