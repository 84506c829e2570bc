/*
 * Nodes are found in a clone while another thread removes them from the original: each is found, or was removed. A third thread clones
 * something else, for which the others wait on the way.
 */
#include "graphs.h"

#include <pthread.h>

enum { NODES = 48, ROUNDS = 150 };

static cushim_node nodes[NODES];
static cushim_graph clone_of_all;
static pthread_barrier_t together;
static int found_count, removed_count, is_over;

static void *find_all(void *unused) {
  int round, i;
  for (round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&together);
    for (i = 0; i < NODES; i++) {
      cushim_node found = NULL;
      const cushim_status status = cushim_node_find_in(nodes[i], clone_of_all, &found);
      /* The driver is never asked for a node that is not there any more: it would say INVALID_VALUE, or crash. */
      CHECK(status == CUSHIM_SUCCESS || status == CUSHIM_ERROR_INVALID_HANDLE);
      CHECK((found != NULL) == (status == CUSHIM_SUCCESS));
      if (status == CUSHIM_SUCCESS) found_count++;
      else removed_count++;
    }
    pthread_barrier_wait(&together);
  }
  return unused;
}

static void *clone_another(void *graph) {
  while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
    cushim_graph clone = NULL;
    CHECK_OK(cushim_graph_clone((cushim_graph)graph, &clone));
    CHECK_OK(cushim_graph_destroy(clone));
  }
  return NULL;
}

static void remove_all(cushim_graph graph) {
  int i;
  pthread_barrier_wait(&together);
  for (i = 0; i < NODES; i++) CHECK_OK(cushim_node_remove(nodes[i]));
  pthread_barrier_wait(&together);
  CHECK_OK(cushim_graph_destroy(clone_of_all));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    pthread_t other, third;
    cushim_graph another = new_graph();
    int round, i;
    for (i = 0; i < NODES; i++) add_empty(another, NULL);
    CHECK(pthread_barrier_init(&together, NULL, 2) == 0);
    CHECK(pthread_create(&other, NULL, find_all, NULL) == 0);
    CHECK(pthread_create(&third, NULL, clone_another, another) == 0);
    for (round = 0; round < ROUNDS; round++) {
      cushim_graph graph = new_graph();
      for (i = 0; i < NODES; i++) nodes[i] = add_empty(graph, NULL);
      CHECK_OK(cushim_graph_clone(graph, &clone_of_all));
      remove_all(graph);
    }
    CHECK(pthread_join(other, NULL) == 0);
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    CHECK(pthread_join(third, NULL) == 0);
    CHECK_OK(cushim_graph_destroy(another));
    CHECK(found_count + removed_count == NODES * ROUNDS);
    pthread_barrier_destroy(&together);
  }
  return close_graphs();
}
