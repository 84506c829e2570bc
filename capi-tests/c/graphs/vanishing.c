/*
 * A graph goes with the node around it, or is moved away, while other threads add to it, read it and copy it: each of their calls is
 * done or refused, and an owner is the library's exactly where the call succeeded.
 */
#include "conditions.h"

#include <pthread.h>

enum { THREADS = 2, ROUNDS = 4000, CALLS = 9 };

static cushim_graph target; /* NULL: there is none at the moment */
static cushim_condition its_condition;
static int over, taken, was_released;


static void nothing(void *data) { (void)data; }

static cushim_status add_one(cushim_graph graph, int call) {
  cushim_owner owner = {&was_released, count_release};
  cushim_endpoint to = cushim_endpoint_device(memory);
  cushim_owned_pointer pointer = {memory, {&was_released, count_release}};
  const uint32_t number = 1;
  cushim_arg args[2];
  cushim_node node = NULL;
  switch (call) {
    case 0: return cushim_graph_add_host_function(graph, NULL, 0, nothing, NULL, &owner, &node);
    case 1: to.owner = &owner; return cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &node);
    default:
      args[0] = cushim_arg_make(CUSHIM_ARG_OWNED, &pointer);
      args[1] = cushim_arg_make(CUSHIM_ARG_BYTES, &number);
      args[1].size = sizeof number;
      return cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 2, &node);
  }
}

static cushim_status look(cushim_graph graph, int call) {
  cushim_graph other = NULL;
  cushim_condition condition = NULL;
  cushim_arg args[2];
  const uint32_t value = 1;
  cushim_node node = NULL;
  size_t count;
  cushim_status status;
  switch (call) {
    case 3: return cushim_graph_get_nodes(graph, NULL, 0, &count);
    case 4: return cushim_graph_get_edges(graph, NULL, 0, &count);
    case 5:
      status = cushim_graph_clone(graph, &other);
      return other != NULL ? cushim_graph_destroy(other) : status;
    case 6: return cushim_graph_add_empty(graph, NULL, 0, &node);
    case 7: return version < 12030 ? CUSHIM_SUCCESS : cushim_condition_create(graph, NULL, &condition);
    default:
      condition = __atomic_load_n(&its_condition, __ATOMIC_SEQ_CST);
      if (condition == NULL) return CUSHIM_SUCCESS;
      args[0] = condition_arg(condition);
      args[1] = cushim_arg_make(CUSHIM_ARG_BYTES, &value);
      args[1].size = sizeof value;
      return cushim_graph_add_kernel(graph, NULL, 0, conditions.set, NULL, args, 2, &node);
  }
}

static void *use_it(void *data) {
  int call = 0;
  while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
    const cushim_graph graph = __atomic_load_n(&target, __ATOMIC_SEQ_CST);
    cushim_status status;
    if (graph == NULL) continue;
    call = (call + 1) % CALLS;
    status = call < 3 ? add_one(graph, call) : look(graph, call);
    if (status == CUSHIM_ERROR_INTERNAL) CHECK_STATUS(CUSHIM_SUCCESS, status);
    if (status == CUSHIM_SUCCESS && call < 3) __atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
  }
  return data;
}

static void show(cushim_graph graph, cushim_condition condition, int delay) {
  volatile int rest = delay;
  __atomic_store_n(&its_condition, condition, __ATOMIC_SEQ_CST);
  __atomic_store_n(&target, graph, __ATOMIC_SEQ_CST);
  while (rest > 0) rest--;
}

static cushim_condition condition_in(cushim_graph graph) { return version >= 12030 ? new_condition(graph, 0) : NULL; }

static void removed(int delay) {
  cushim_graph graph = new_graph(), empty = new_graph(), inner = NULL;
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, empty, CUSHIM_CHILD_CLONE, &node, &inner));
  show(inner, condition_in(inner), delay);
  CHECK_OK(cushim_node_remove(node));
  show(NULL, NULL, 0);
  CHECK_OK(cushim_graph_destroy(empty));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void moved(int delay) {
  cushim_graph graph = new_graph(), around = new_graph(), inner = NULL;
  cushim_node node = NULL;
  cushim_status status;
  show(graph, NULL, delay);
  status = cushim_graph_add_child(around, NULL, 0, graph, CUSHIM_CHILD_MOVE, &node, &inner);
  /* A condition that somebody created there keeps it where it is. */
  CHECK(status != CUSHIM_ERROR_INTERNAL);
  show(NULL, NULL, 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(around));
}

int main(void) {
  pthread_t threads[THREADS];
  int32_t done = 0;
  int i;
  check_begin();
  if (!open_graphs()) return close_graphs();
  if (version >= 12030) open_conditions();
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, use_it, NULL) == 0);
  for (i = 0; i < ROUNDS; i++) {
    if (version >= 12090 && i % 2 == 1) moved(i % 1500);
    else removed(i % 1500);
  }
  __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(cushim_flush_callbacks(20000000000ull, &done));
  CHECK(done == 1 && was_released == taken);
  if (version >= 12030) close_conditions();
  return close_graphs();
}
