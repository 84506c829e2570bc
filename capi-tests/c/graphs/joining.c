/*
 * A launch of a graph that waits for an event makes its stream part of the capture that has recorded the event (measured on driver 580): work
 * behind it would be captured, and never run. cushim refuses the launch, and the capture stays whole.
 */
#include "builders.h"

static cushim_event event;
static cushim_exec exec;

enum form { PLAIN, IN_A_CHILD, REMOVED_SINCE, FORMS };

/* An exec that waits for the event: the node stands in a child graph, or was removed from the graph since, if that is asked for. */
static cushim_exec waiting(int form) {
  const int in_child = form == IN_A_CHILD;
  cushim_graph graph = new_graph(), child = new_graph();
  cushim_node wait = NULL;
  CHECK_OK(cushim_graph_add_event_wait(in_child ? child : graph, NULL, 0, event, &wait));
  if (in_child) CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  exec = new_exec(graph);
  if (form == REMOVED_SINCE) CHECK_OK(cushim_node_remove(wait));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
  return exec;
}

static cushim_status launch(cushim_exec of) { return cushim_exec_launch(of, all.stream); }

static void is_refused(void) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, launch(exec));
  CHECK_CONTAINS(last_message(), "part of that capture");
  CHECK_CONTAINS(last_message(), "\"go\"");
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    int form;
    for (form = 0; form < FORMS; form++) {
      cushim_builder builder;
      cushim_graph graph = NULL;
      CHECK_OK(cushim_event_create(all.context, NULL, &event));
      CHECK_OK(cushim_set_label(event, "go"));
      waiting(form);
      CHECK_OK(launch(exec));
      builder = begun();
      CHECK_OK(cushim_event_record(event, cushim_builder_stream(builder)));
      is_refused();
      /* Nothing was lost, and the stream takes part in nothing. */
      CHECK_OK(cushim_stream_synchronize(all.stream));
      CHECK_OK(cushim_builder_end(builder, &graph));
      CHECK_OK(cushim_builder_destroy(builder));
      CHECK_OK(launch(exec));
      CHECK_OK(cushim_stream_synchronize(all.stream));
      /* Once more, with an exec that is made while the capture is under way; a record elsewhere ends it. */
      CHECK_OK(cushim_exec_destroy(exec));
      CHECK_OK(cushim_graph_destroy(graph));
      builder = begun();
      CHECK_OK(cushim_event_record(event, cushim_builder_stream(builder)));
      waiting(form);
      is_refused();
      CHECK_OK(cushim_event_record(event, all.stream));
      CHECK_OK(launch(exec));
      CHECK_OK(cushim_stream_synchronize(all.stream));
      CHECK_OK(cushim_builder_end(builder, &graph));
      CHECK_OK(cushim_graph_destroy(graph));
      CHECK_OK(cushim_exec_destroy(exec));
      CHECK_OK(cushim_event_destroy(event));
      CHECK_OK(cushim_builder_destroy(builder));
    }
  }
  return close_graphs();
}
