/*
 * Every function of a builder in every state that a builder of each kind can be in: what goes, what is refused with which words, and in
 * which state the builder is then. What was captured before stays as it was: where the capture still runs it ends, and its graph works.
 */
#include "builders.h"

/* A builder of each kind in each of its states. */
enum {
  PRIMARY_NEW,
  PRIMARY_CAPTURING,
  PRIMARY_ENDED,
  PRIMARY_CLOSED,
  FORK_CAPTURING,
  FORK_JOINED,
  FORK_LOST, /* the builder that it was forked from was closed */
  BODY_NEW,
  BODY_CAPTURING,
  BODY_ENDED,
  BODY_CLOSED,
  SUBJECTS
};

static const struct {
  const char *name, *words;
  cushim_builder_kind kind;
  cushim_builder_state state;
} subjects[SUBJECTS] = {
    {"primary, not started", "was not begun", CUSHIM_BUILDER_PRIMARY, CUSHIM_BUILDER_NOT_STARTED},
    {"primary, capturing", "is capturing", CUSHIM_BUILDER_PRIMARY, CUSHIM_BUILDER_CAPTURING},
    {"primary, ended", "has ended", CUSHIM_BUILDER_PRIMARY, CUSHIM_BUILDER_ENDED},
    {"primary, closed", "is closed", CUSHIM_BUILDER_PRIMARY, CUSHIM_BUILDER_CLOSED},
    {"fork, capturing", "is capturing", CUSHIM_BUILDER_FORKED, CUSHIM_BUILDER_CAPTURING},
    {"fork, joined", "is closed", CUSHIM_BUILDER_FORKED, CUSHIM_BUILDER_CLOSED},
    {"fork, lost", "is closed", CUSHIM_BUILDER_FORKED, CUSHIM_BUILDER_CLOSED},
    {"body, not started", "was not begun", CUSHIM_BUILDER_BODY, CUSHIM_BUILDER_NOT_STARTED},
    {"body, capturing", "is capturing", CUSHIM_BUILDER_BODY, CUSHIM_BUILDER_CAPTURING},
    {"body, ended", "has ended", CUSHIM_BUILDER_BODY, CUSHIM_BUILDER_ENDED},
    {"body, closed", "is closed", CUSHIM_BUILDER_BODY, CUSHIM_BUILDER_CLOSED},
};

/* The builder that is asked, the one whose capture it is part of, and what it is asked with. */
struct scene {
  cushim_builder it, primary, sibling;
  cushim_condition condition;
  cushim_graph graph, other;
};

static cushim_builder fork_of(cushim_builder builder) {
  cushim_builder fork = NULL;
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  return fork;
}

static cushim_builder body_of(cushim_builder builder) {
  cushim_builder body = NULL;
  CHECK_OK(cushim_builder_add_conditional(builder, condition_of(builder, 1), CUSHIM_CONDITIONAL_IF, 1, NULL, &body));
  return body;
}

static struct scene scene_of(int subject) {
  struct scene scene = {NULL, NULL, NULL, NULL, NULL, NULL};
  const int is_body = subjects[subject].kind == CUSHIM_BUILDER_BODY;
  scene.other = new_graph();
  scene.primary = new_builder();
  if (subject != PRIMARY_NEW) {
    CHECK_OK(cushim_builder_begin(scene.primary));
    append(scene.primary, 0, 1);
  }
  if (subjects[subject].kind == CUSHIM_BUILDER_PRIMARY) CHECK_OK(cushim_builder_ref(scene.primary, &scene.it));
  if (subjects[subject].kind == CUSHIM_BUILDER_FORKED) scene.it = fork_of(scene.primary);
  if (is_body) scene.it = body_of(scene.primary);
  if (is_body && subject != BODY_NEW) {
    CHECK_OK(cushim_builder_begin(scene.it));
    append(scene.it, 0, 2);
  }
  if (subjects[subject].state == CUSHIM_BUILDER_CAPTURING && version >= 12030) scene.condition = condition_of(scene.primary, 0);
  if (subject == PRIMARY_ENDED || subject == BODY_ENDED) CHECK_OK(cushim_builder_end(scene.it, &scene.graph));
  if (subject == PRIMARY_CLOSED || subject == BODY_CLOSED) CHECK_OK(cushim_builder_close(scene.it));
  if (subject == FORK_JOINED) CHECK_OK(cushim_builder_join(scene.primary, &scene.it, 1));
  if (subject == FORK_LOST) CHECK_OK(cushim_builder_close(scene.primary));
  if (subjects[subject].state == CUSHIM_BUILDER_CAPTURING) scene.sibling = fork_of(scene.it);
  return scene;
}

static cushim_builder_state state_of(cushim_builder builder) {
  cushim_builder_state state = CUSHIM_BUILDER_CLOSED;
  CHECK_OK(cushim_builder_get_state(builder, &state, NULL));
  return state;
}

static void join_if_captures(cushim_builder builder, cushim_builder fork) {
  if (fork == NULL || state_of(fork) != CUSHIM_BUILDER_CAPTURING) return;
  CHECK_OK(cushim_builder_join(builder, &fork, 1));
}

/* Ends what still captures; the first digit that the graph leaves is of the kernel that was captured first. */
static void finish(struct scene *scene, int subject) {
  cushim_graph graph = NULL;
  if (state_of(scene->it) == CUSHIM_BUILDER_CAPTURING) join_if_captures(scene->it, scene->sibling);
  if (subjects[subject].kind == CUSHIM_BUILDER_BODY && state_of(scene->it) == CUSHIM_BUILDER_CAPTURING)
    CHECK_OK(cushim_builder_end(scene->it, NULL));
  if (subjects[subject].kind == CUSHIM_BUILDER_FORKED && state_of(scene->primary) == CUSHIM_BUILDER_CAPTURING)
    join_if_captures(scene->primary, scene->it);
  if (state_of(scene->primary) == CUSHIM_BUILDER_CAPTURING) CHECK_OK(cushim_builder_end(scene->primary, &graph));
  if (subject != PRIMARY_NEW && graph != NULL) {
    uint32_t result = result_of(graph);
    while (result >= 10) result /= 10;
    CHECK(result == 1);
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(scene->graph));
  CHECK_OK(cushim_graph_destroy(scene->other));
  CHECK_OK(cushim_builder_destroy(scene->sibling));
  CHECK_OK(cushim_builder_destroy(scene->it));
  CHECK_OK(cushim_builder_destroy(scene->primary));
}

/* The functions. */
static cushim_status begin(struct scene *scene) { return cushim_builder_begin(scene->it); }

static cushim_status end(struct scene *scene) {
  if (scene->sibling != NULL) CHECK_OK(cushim_builder_join(scene->it, &scene->sibling, 1));
  return cushim_builder_end(scene->it, &scene->graph);
}

static cushim_status end_unjoined(struct scene *scene) {
  if (scene->sibling != NULL) append(scene->sibling, 1, 1);
  return cushim_builder_end(scene->it, NULL);
}

static cushim_status get_stream(struct scene *scene) { return cushim_builder_stream(scene->it) != NULL ? 0 : CUSHIM_ERROR_INVALID_HANDLE; }

static cushim_status get_state(struct scene *scene) { return cushim_builder_get_state(scene->it, NULL, NULL); }

static cushim_status get_context(struct scene *scene) {
  cushim_context context = NULL;
  return cushim_builder_get_context(scene->it, &context);
}

static cushim_status get_graph(struct scene *scene) {
  cushim_graph graph = (cushim_graph)NOT_NULL;
  cushim_status status = cushim_builder_get_graph(scene->it, &graph);
  CHECK((status == 0) == (graph != NULL));
  return status;
}

/* As the source of another's child graph and of an update: it has to have a graph for that. */
static cushim_status be_embedded(struct scene *scene) {
  cushim_graph graph = NULL;
  cushim_builder other;
  cushim_status status = cushim_builder_get_graph(scene->it, &graph);
  if (status != 0) return status;
  other = begun();
  status = cushim_builder_add_child(other, graph, CUSHIM_CHILD_CLONE, NULL);
  CHECK_OK(cushim_builder_destroy(other));
  return status;
}

static cushim_status get_tail(struct scene *scene) {
  size_t count = 9;
  cushim_status status = cushim_builder_get_tail(scene->it, NULL, 0, &count);
  CHECK(count == (status == 0));
  return status;
}

static cushim_status fork_one(struct scene *scene) {
  cushim_builder fork = (cushim_builder)NOT_NULL;
  cushim_status status = cushim_builder_fork(scene->it, &fork, 1);
  CHECK((status == 0) == (fork != NULL));
  CHECK_OK(cushim_builder_destroy(fork));
  return status;
}

static cushim_status fork_none(struct scene *scene) { return cushim_builder_fork(scene->it, NULL, 0); }

static cushim_status join(struct scene *scene) {
  cushim_builder other = scene->sibling != NULL ? scene->sibling : scene->it;
  return cushim_builder_join(scene->it, &other, 1);
}

static cushim_status join_none(struct scene *scene) { return cushim_builder_join(scene->it, &scene->sibling, 0); }

static cushim_status join_itself(struct scene *scene) { return cushim_builder_join(scene->it, &scene->it, 1); }

static cushim_status embed(struct scene *scene) { return cushim_builder_add_child(scene->it, scene->other, CUSHIM_CHILD_CLONE, NULL); }

static cushim_status create_condition(struct scene *scene) {
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  cushim_condition condition = NULL;
  return cushim_builder_create_condition(scene->it, &options, &condition);
}

static cushim_status add_condition_node(struct scene *scene) {
  cushim_graph graph = new_graph();
  cushim_condition condition = scene->condition != NULL ? scene->condition : new_condition(graph, 0);
  cushim_builder body = NULL;
  cushim_status status = cushim_builder_add_conditional(scene->it, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &body);
  CHECK((status == 0) == (body != NULL));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_graph_destroy(graph));
  return status;
}

static cushim_status set_label(struct scene *scene) { return cushim_set_label(scene->it, "a name"); }

static cushim_status take_reference(struct scene *scene) {
  cushim_builder reference = NULL;
  cushim_status status = cushim_builder_ref(scene->it, &reference);
  CHECK_OK(cushim_builder_destroy(reference));
  return status;
}

static cushim_status close_twice(struct scene *scene) {
  CHECK_OK(cushim_builder_close(scene->it));
  return cushim_builder_close(scene->it);
}

/*
 * One row for each function, one column for each subject: "." goes, "s" is refused with the words for the state, "f" with those for a
 * forked builder, "n" with those for the arguments, "j" with those for what is not joined, "h" is a stale handle with the words for the
 * state, "c" is what the driver does not do with the body of a conditional node.
 */
static const struct {
  const char *name;
  cushim_status (*call)(struct scene *);
  const char *answers, *words;
  int since;
  cushim_builder_state then; /* where it goes; 0: as before */
} calls[] = {
    /*                              primary fork body */
    {"begin", begin,                ".sss" "sss" ".sss", NULL, 0, CUSHIM_BUILDER_CAPTURING},
    {"end", end,                    "s.ss" "fff" "s.ss", NULL, 0, CUSHIM_BUILDER_ENDED},
    {"end, unjoined", end_unjoined, "sjss" "fff" "sjss", NULL, 0, (cushim_builder_state)0},
    {"stream", get_stream,          "h.hh" ".hh" "h.hh", NULL, 0, (cushim_builder_state)0},
    {"get_state", get_state,        "...." "..." "....", NULL, 0, (cushim_builder_state)0},
    {"get_context", get_context,    "...." "..." "....", NULL, 0, (cushim_builder_state)0},
    {"get_graph", get_graph,        "ss.s" "fff" ".s.s", NULL, 0, (cushim_builder_state)0},
    {"be embedded", be_embedded,    "ss.s" "fff" "cscs", NULL, 0, (cushim_builder_state)0},
    {"get_tail", get_tail,          "s.ss" ".ss" "s.ss", NULL, 0, (cushim_builder_state)0},
    {"fork", fork_one,              "s.ss" ".ss" "s.ss", NULL, 0, (cushim_builder_state)0},
    {"fork, none", fork_none,       "snss" "nss" "snss", "fewer than two", 0, (cushim_builder_state)0},
    {"join", join,                  "s.ss" ".ss" "s.ss", NULL, 0, (cushim_builder_state)0},
    {"join, none", join_none,       "snss" "nss" "snss", "at least one", 0, (cushim_builder_state)0},
    {"join, itself", join_itself,   "snss" "nss" "snss", "is the one to join into", 0, (cushim_builder_state)0},
    {"embed", embed,                "s.ss" ".ss" "s.ss", NULL, 0, (cushim_builder_state)0},
    {"create_condition", create_condition, "s.ss" ".ss" "s.ss", NULL, 12030, (cushim_builder_state)0},
    {"add_conditional", add_condition_node, "s.ss" ".ss" "s.ss", NULL, 12030, (cushim_builder_state)0},
    {"set_label", set_label,        "...." "..." "....", NULL, 0, (cushim_builder_state)0},
    {"ref", take_reference,         "...." "..." "....", NULL, 0, (cushim_builder_state)0},
    {"close", close_twice,          "...." "..." "....", NULL, 0, CUSHIM_BUILDER_CLOSED},
};

static cushim_status status_of(char answer) {
  switch (answer) {
    case '.': return CUSHIM_SUCCESS;
    case 'h': return CUSHIM_ERROR_INVALID_HANDLE;
    case 'c': return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUSHIM_ERROR_INVALID_ARGUMENT;
  }
}

static const char *words_of(char answer, size_t row, int subject) {
  switch (answer) {
    case 'f': return "was forked";
    case 'j': return "joined";
    case 'n': return calls[row].words;
    case 'c': return "conditional nodes";
    default: return subjects[subject].words;
  }
}

static void answers(size_t row, int subject) {
  const char answer = calls[row].answers[subject];
  struct scene scene = scene_of(subject);
  const cushim_status status = calls[row].call(&scene), expected = status_of(answer);
  cushim_builder_kind kind = CUSHIM_BUILDER_PRIMARY;
  cushim_builder_state state = CUSHIM_BUILDER_CLOSED;
  if (status != expected) fprintf(stderr, "%s of a builder (%s):\n", calls[row].name, subjects[subject].name);
  CHECK_STATUS(expected, status);
  if (status != CUSHIM_SUCCESS) CHECK_CONTAINS(last_message(), words_of(answer, row, subject));
  CHECK_OK(cushim_builder_get_state(scene.it, &state, &kind));
  CHECK(state == (status == CUSHIM_SUCCESS && calls[row].then != 0 ? calls[row].then : subjects[subject].state));
  CHECK(kind == subjects[subject].kind);
  if (calls[row].call == end_unjoined && scene.sibling != NULL) join_if_captures(scene.it, scene.sibling);
  finish(&scene, subject);
}

int main(void) {
  check_begin();
  size_t row;
  int subject;
  if (!open_graphs()) return close_graphs();
  for (row = 0; row < sizeof calls / sizeof *calls; row++) {
    if (version < calls[row].since) continue;
    for (subject = 0; subject < SUBJECTS; subject++) {
      if (version >= 12030 || subjects[subject].kind != CUSHIM_BUILDER_BODY) answers(row, subject);
    }
  }
  return close_graphs();
}
