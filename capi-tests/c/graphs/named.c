/*
 * A message about a graph that is captured names its builder, also while another thread destroys that: who writes the message must not be the
 * last to have the builder, whose end waits for the graph.
 */
#include "graphs.h"

#include <pthread.h>

enum { ROUNDS = 200 };

static cushim_node captured; /* NULL: none at present */
static int is_over;

static void nothing(void *data) { (void)data; }

static void *edit(void *data) {
  (void)data;
  while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
    const cushim_node node = __atomic_load_n(&captured, __ATOMIC_SEQ_CST);
    cushim_status status;
    if (node == NULL) continue;
    status = cushim_node_remove(node);
    if (status == CUDA_ERROR_ILLEGAL_STATE || status == CUSHIM_ERROR_ALREADY_DESTROYED) continue;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, status);
  }
  return NULL;
}

int main(void) {
  char label[256];
  pthread_t editors[2];
  int i;
  check_begin();
  if (!open_graphs()) return close_graphs();
  memset(label, 'b', sizeof label - 1);
  label[sizeof label - 1] = '\0';
  for (i = 0; i < 2; i++) CHECK(pthread_create(&editors[i], NULL, edit, NULL) == 0);
  for (i = 0; i < ROUNDS && check_failures == 0; i++) {
    cushim_builder builder = NULL;
    cushim_node node = NULL;
    size_t count = 0;
    CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
    CHECK_OK(cushim_set_label(builder, label));
    CHECK_OK(cushim_builder_begin(builder));
    CHECK_OK(cushim_stream_launch_host_function(cushim_builder_stream(builder), nothing, NULL, NULL));
    CHECK_OK(cushim_builder_get_tail(builder, &node, 1, &count));
    __atomic_store_n(&captured, node, __ATOMIC_SEQ_CST);
    if (i % 2 == 0) sched_yield();
    CHECK_OK(cushim_builder_destroy(builder));
    __atomic_store_n(&captured, NULL, __ATOMIC_SEQ_CST);
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
  for (i = 0; i < 2; i++) CHECK(pthread_join(editors[i], NULL) == 0);
  return close_graphs();
}
