/*
 * A process ends while graphs, execs, launches and callbacks are alive: with code 0, and soon. softcuda does not wait for what is in
 * flight, which driver 580 does (measured). Each way to end is a process of its own, which this program starts.
 */
#include "conditions.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* So few launches that a driver's queue holds them. */
enum { LAUNCHES = 30, LIMIT_MS = 30000, RELEASES = 1000 };

/* How long each launch takes: minutes for all, if nobody is to wait for them. */
static long pause_ms = 10;

static cushim_graph graph;
static cushim_exec exec;
static int count;

static void pause_for(long milliseconds) {
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static int begun;

static void take_long(void *data) {
  (void)data;
  __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
  pause_for(pause_ms);
}

/* A graph with an owner, a kernel, an event, memory of its own, and a function that is called back. */
static void build(void) {
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_owner owner = counted(&count);
  cushim_node node;
  uint64_t pointer = 0;
  graph = new_graph();
  node = add_append(graph, NULL, 0, 1);
  allocation.bytes = 1024;
  CHECK_OK(cushim_graph_add_allocation(graph, &node, 1, &allocation, &node, &pointer));
  CHECK_OK(cushim_graph_add_host_function(graph, &node, 1, take_long, NULL, &owner, &node));
  CHECK_OK(cushim_graph_add_event_record(graph, &node, 1, all.event, &node));
  CHECK_OK(cushim_graph_add_free(graph, &node, 1, pointer, &node));
  exec = new_exec(graph);
}

/* One launch runs, and waits in its callback; the others wait for it. */
static void launch_many(void) {
  int i;
  for (i = 0; i < LAUNCHES; i++) CHECK_OK(cushim_exec_launch(exec, all.stream));
  /* Where a call failed, perhaps nobody is called back. */
  while (check_failures == 0 && !__atomic_load_n(&begun, __ATOMIC_SEQ_CST)) pause_shortly();
}

/* Nobody destroys anything. */
static int from_main(void) {
  launch_many();
  return check_failures != 0;
}

static void *end_process(void *data) {
  launch_many();
  exit(check_failures != 0);
  return data;
}

static int from_a_thread(void) {
  pthread_t thread;
  if (!CHECK(pthread_create(&thread, NULL, end_process, NULL) == 0)) return 1;
  pthread_join(thread, NULL);
  return 1; /* the other one ends the process */
}

/* Threads go on launching and editing while the process ends. */
static void *go_on(void *data) {
  for (;;) {
    (void)cushim_exec_launch(exec, all.stream);
    (void)cushim_graph_add_empty(graph, NULL, 0, NULL);
  }
  return data;
}

static int beside_threads(void) {
  pthread_t thread;
  int i;
  for (i = 0; i < 2; i++) CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
  pause_for(20);
  return check_failures != 0;
}

/* A loop on the device that does not end by itself. */
static int in_a_loop(void) {
  cushim_graph loop = new_graph(), body = NULL;
  if (version < 12030) return 0;
  open_conditions();
  add_conditional(loop, NULL, new_condition(loop, 1), CUSHIM_CONDITIONAL_WHILE, 1, &body);
  add_append(body, NULL, 1, 1);
  CHECK_OK(cushim_exec_launch(new_exec(loop), all.stream));
  pause_for(20);
  return check_failures != 0;
}

/* The handles are destroyed, and their releases are due when the process ends. */
static int with_releases(void) {
  int i;
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  for (i = 0; i < RELEASES; i++) {
    cushim_graph other = new_graph();
    cushim_owner owner = counted(&count);
    CHECK_OK(cushim_graph_add_host_function(other, NULL, 0, take_long, NULL, &owner, NULL));
    CHECK_OK(cushim_graph_destroy(other));
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  return check_failures != 0;
}

static void destroy_all(void) {
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  close_objects(&all);
  if (check_failures == 0) return;
  fflush(NULL);
  _exit(1);
}

/* They are destroyed at the very end, perhaps after the driver has shut down. */
static int while_it_ends(void) {
  CHECK(atexit(destroy_all) == 0);
  launch_many();
  return check_failures != 0;
}

/* What is closed stays, because the driver calls it. */
static int closed(void) {
  Dl_info library;
  void *address, *opened;
  cushim_status (*function)(cushim_exec) = cushim_exec_destroy;
  memcpy(&address, &function, sizeof address);
  if (!CHECK(dladdr(address, &library) != 0)) return 1;
  opened = dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD); /* NULL if it is part of the program */
  if (opened != NULL) CHECK(dlclose(opened) == 0);
  launch_many();
  return check_failures != 0;
}

/* A child that calls nothing of the driver ends as it likes, and its parent goes on. */
static int forked(void) {
  int status = -1;
  pid_t child;
  launch_many();
  child = fork();
  if (child == 0) exit(cushim_exec_launch(exec, all.stream) == CUSHIM_ERROR_FORKED ? 0 : 1);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return check_failures != 0;
}

static const struct {
  const char *name;
  int (*run)(void);
} ways[] = {{"from main", from_main},          {"from a thread", from_a_thread}, {"beside threads", beside_threads},
            {"in a loop", in_a_loop},          {"with releases", with_releases}, {"while it ends", while_it_ends},
            {"closed", closed},                {"forked", forked}};
enum { WAYS = sizeof ways / sizeof *ways };

/* Starts this program again, and waits until it has ended. */
static void ends_well(const char *way) {
  char *arguments[3];
  char name[] = "exit", given[32], path[4096];
  /* By its path: where a tool runs this program, the link is the tool's own. */
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  int status = -1, waited = 0;
  pid_t ended = 0, child;
  if (!CHECK(length > 0)) return;
  path[length] = 0;
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1); /* it ends with everything alive, which is no leak */
  child = fork();
  snprintf(given, sizeof given, "%s", way);
  arguments[0] = name, arguments[1] = given, arguments[2] = NULL;
  if (child == 0) {
    execv(path, arguments);
    _exit(2);
  }
  while (waited < LIMIT_MS && (ended = waitpid(child, &status, WNOHANG)) == 0) {
    pause_for(5);
    waited += 5;
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  if (!CHECK(ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)) check_more("the process that ends: ", way);
}

int main(int argc, char **argv) {
  int i;
  check_begin();
  if (argc > 1) {
    for (i = 0; i < WAYS; i++) {
      if (strcmp(argv[1], ways[i].name) != 0) continue;
      if (!open_graphs()) return 0;
      if (is_software(all.driver)) pause_ms = 10000;
      build();
      return ways[i].run();
    }
    return 2;
  }
  for (i = 0; i < WAYS; i++) ends_well(ways[i].name);
  return check_done();
}
