/* A graph as text: JSON, which is the same for graphs that were built in the same way, and DOT. */
#include "conditions.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char *read_file(const char *path) {
  static char text[65536];
  FILE *file = fopen(path, "r");
  size_t bytes = 0;
  if (CHECK(file != NULL)) {
    bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
  }
  text[bytes] = 0;
  return text;
}

static char path[] = "/tmp/graphs-text-XXXXXX";

/* Brackets are closed in the order in which they were opened, outside of strings. */
static int is_balanced(const char *text) {
  char open[256];
  int depth = 0, in_string = 0;
  for (; *text != 0; text++) {
    if (in_string) {
      if (*text == '\\' && text[1] != 0) text++;
      else if (*text == '"') in_string = 0;
    } else if (*text == '"') {
      in_string = 1;
    } else if (*text == '{' || *text == '[') {
      if (depth == 256) return 0;
      open[depth++] = *text;
    } else if (*text == '}' || *text == ']') {
      if (depth == 0 || open[--depth] != (*text == '}' ? '{' : '[')) return 0;
    }
  }
  return depth == 0 && !in_string;
}

static cushim_graph make(void) {
  cushim_graph graph = new_graph(), child = new_graph(), body = NULL;
  cushim_node first = add_number(graph, NULL, 0, 4), second = add_append(graph, first, 0, 2), in_child;
  CHECK_OK(cushim_set_label(graph, "whole"));
  CHECK_OK(cushim_set_label(first, "a \"quoted\" label\n"));
  CHECK_OK(cushim_graph_add_event_record(graph, &second, 1, all.event, NULL));
  in_child = add_append(child, NULL, 1, 1);
  CHECK_OK(cushim_set_label(in_child, "inside"));
  CHECK_OK(cushim_graph_add_child(graph, &second, 1, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  if (version >= 12030) {
    add_conditional(graph, first, new_condition(graph, 1), CUSHIM_CONDITIONAL_WHILE, 1, &body);
    add_append(body, NULL, 2, 1);
  }
  CHECK_OK(cushim_graph_destroy(child));
  return graph;
}

static void json(void) {
  cushim_graph graph = make(), twin = make();
  char first[65536];
  CHECK_OK(cushim_graph_write_json(graph, path, CUSHIM_JSON_WITHOUT_ADDRESSES));
  strcpy(first, read_file(path));
  CHECK(is_balanced(first) && strlen(first) > 100);
  CHECK_CONTAINS(first, "\"kind\": \"root\"");
  CHECK_CONTAINS(first, "\"label\": \"whole\"");
  CHECK_CONTAINS(first, "a \\\"quoted\\\" label\\u000a");
  CHECK_CONTAINS(first, "\"type\": \"memset node\"");
  CHECK_CONTAINS(first, "\"inside\"");
  CHECK_CONTAINS(first, "{\"from\": 0, \"to\": 1,");
  if (version >= 12030) CHECK_CONTAINS(first, "\"conditional\": \"while\"");
  CHECK_OK(cushim_graph_write_json(twin, path, CUSHIM_JSON_WITHOUT_ADDRESSES));
  CHECK(strcmp(first, read_file(path)) == 0);
  CHECK_OK(cushim_graph_write_json(graph, path, 0));
  CHECK(is_balanced(read_file(path)) && strcmp(first, read_file(path)) != 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_json(graph, "/nonexistent/graph.json", 0));
  CHECK_CONTAINS(last_message(), "/nonexistent/graph.json");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_json(graph, path, 64));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_json(graph, NULL, 0));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
}

static void dot(void) {
  cushim_graph graph = make();
  uint32_t flag;
  CHECK_OK(cushim_graph_write_dot(graph, path, 0));
  CHECK_CONTAINS(read_file(path), "digraph");
  CHECK_CONTAINS(read_file(path), "->");
  for (flag = 1; flag <= CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS; flag <<= 1) {
    if (flag == 2) continue; /* for the runtime only */
    CHECK_OK(cushim_graph_write_dot(graph, path, flag));
  }
  CHECK_STATUS(CUDA_ERROR_OPERATING_SYSTEM, cushim_graph_write_dot(graph, "/nonexistent/graph.dot", 0));
  CHECK_CONTAINS(last_message(), "/nonexistent/graph.dot");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_dot(graph, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_dot(graph, path, 1u << 31));
  CHECK_CONTAINS(last_message(), "flags is 0x80000000");
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Opening a pipe that nobody reads would wait; one that is read is written. */
static void pipes(void) {
  cushim_graph graph = make();
  static char text[65536];
  char pipe[512];
  int reader;
  snprintf(pipe, sizeof pipe, "%s.pipe", path);
  if (!CHECK(mkfifo(pipe, 0600) == 0)) return;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_json(graph, pipe, 0));
  CHECK_CONTAINS(last_message(), "it is a pipe that nobody reads");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_write_dot(graph, pipe, 0));
  CHECK_CONTAINS(last_message(), "it is a pipe that nobody reads");
  reader = open(pipe, O_RDONLY | O_NONBLOCK);
  if (CHECK(reader >= 0)) {
    CHECK_OK(cushim_graph_write_json(graph, pipe, 0));
    CHECK(read(reader, text, sizeof text - 1) > 100 && text[0] == '{');
    CHECK_OK(cushim_graph_write_dot(graph, pipe, 0));
    CHECK(read(reader, text, sizeof text - 1) > 10 && strncmp(text, "digraph", 7) == 0);
    close(reader);
  }
  unlink(pipe);
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    const int made = mkstemp(path);
    CHECK(made >= 0);
    close(made);
    json();
    dot();
    pipes();
    unlink(path);
  }
  return close_graphs();
}
