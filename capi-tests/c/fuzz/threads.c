/*
 * Random calls of the functions of graphs, nodes, execs and builders, and of what a graph can capture, on several threads at a time:
 * `threads [--shared] [ROUNDS [SEED [THREADS]]]`. With --shared they enqueue in each other's streams, too.
 *
 * The threads share their handles, so that one destroys, moves or ends what others use. No call may crash, stand still or answer
 * CUSHIM_ERROR_INTERNAL, and a failed call gives no handle. At the end of each round everything is destroyed; then every stream and
 * the context synchronise, so nothing captures any more, and every owner was released once if its call had succeeded, and never if
 * it had failed. The seed decides what each thread calls, the machine what comes first: a failure says the seed, and need not come again, except
 * with one thread.
 */
#include "threads/actions.h"

#include <pthread.h>

enum { CALLS = 400, REMEMBERED = 12 };

/* What a thread called last, for who looks at a failure. */
struct thread {
  pthread_t thread;
  struct drawer drawer;
  struct {
    const char *name;
    cushim_status status;
  } last[REMEMBERED];
};

static struct thread threads[MOST_THREADS];

static void *call_at_random(void *data) {
  struct thread *const thread = (struct thread *)data;
  int i;
  for (i = 0; i < CALLS; i++) {
    const uint32_t drawn = below(&thread->drawer, ACTIONS);
    thread->last[i % REMEMBERED].name = actions[drawn].name;
    thread->last[i % REMEMBERED].status = 0;
    thread->last[i % REMEMBERED].status = actions[drawn].run(&thread->drawer);
    if (thread->last[i % REMEMBERED].status == CUSHIM_ERROR_INTERNAL) CHECK_STATUS(CUSHIM_SUCCESS, CUSHIM_ERROR_INTERNAL);
  }
  return NULL;
}

static void begin_round(uint64_t seed) {
  int i;
  for (i = 0; i < thread_count; i++) own_streams[i] = new_stream(all.context);
  for (i = 0; i < GIVEN_STREAMS; i++) given_streams[i] = new_stream(all.context);
  CHECK_OK(cushim_resource_create_graph(all.device, &graph_memory));
  CHECK_OK(cushim_resource_create_arena(all.context, 4096, &arena));
  CHECK_OK(cushim_resource_create_device_pool(all.device, NULL, &pool));
  for (i = 0; i < thread_count; i++) {
    threads[i].drawer.number = i;
    threads[i].drawer.state = (seed * MOST_THREADS + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    CHECK(pthread_create(&threads[i].thread, NULL, call_at_random, &threads[i]) == 0);
  }
}

static void end_stream(cushim_stream stream) {
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
}

/* Nothing is left that captures, and nothing that anybody keeps. */
static void end_round(void) {
  static const enum kind order[KINDS] = {BUILDERS, STREAMS, NODES, CONDITIONS, EXECS, GRAPHS, BUFFERS, EVENTS};
  int i;
  uint32_t place;
  int32_t done = 0;
  for (i = 0; i < KINDS; i++) {
    for (place = 0; place < PLACES; place++) CHECK(exchange(order[i], place, NULL) != CUSHIM_ERROR_INTERNAL);
  }
  CHECK_OK(cushim_context_synchronize(all.context));
  for (i = 0; i < thread_count; i++) end_stream(own_streams[i]);
  for (i = 0; i < GIVEN_STREAMS; i++) end_stream(given_streams[i]);
  CHECK_OK(cushim_resource_destroy(graph_memory));
  CHECK_OK(cushim_resource_destroy(arena));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_flush_callbacks(30000000000ull, &done));
  CHECK(done == 1);
  check_owners();
}

static void show_calls(void) {
  int i, call;
  for (i = 0; i < thread_count; i++) {
    fprintf(stderr, "  thread %d:", i);
    for (call = CALLS; call < CALLS + REMEMBERED; call++) {
      fprintf(stderr, " %s %d,", threads[i].last[call % REMEMBERED].name, (int)threads[i].last[call % REMEMBERED].status);
    }
    fprintf(stderr, "\n");
  }
}

static void show_frames(int number) {
  (void)number;
#ifdef __GLIBC__
  {
    void *frames[CHECK_FRAMES];
    backtrace_symbols_fd(frames, backtrace(frames, CHECK_FRAMES), STDERR_FILENO);
  }
#endif
}

/* What each thread called last, and where it stands. */
static void hung(int number) {
  int i;
  signal(SIGUSR2, show_frames);
  show_calls();
  for (i = 0; i < thread_count; i++) {
    fprintf(stderr, "  thread %d stands here:\n", i);
    fflush(stderr);
    pthread_kill(threads[i].thread, SIGUSR2);
    usleep(200000);
  }
  check_died(number);
}

static void run_rounds(uint64_t rounds, uint64_t seed) {
  uint64_t round;
  int i;
  for (round = 0; round < rounds && check_failures == 0; round++) {
    alarm(CHECK_HANGS_AFTER);
    begin_round(seed + round);
    for (i = 0; i < thread_count; i++) CHECK(pthread_join(threads[i].thread, NULL) == 0);
    end_round();
  }
  if (check_failures == 0) return;
  fprintf(stderr, "  after threads %s1 %llu %d\n", is_shared ? "--shared " : "", (unsigned long long)(seed + round - 1), thread_count);
  show_calls();
}

int main(int count, char **arguments) {
  uint64_t rounds = 40, seed = 1;
  thread_count = 3;
  if (count > 1 && strcmp(arguments[1], "--shared") == 0) {
    is_shared = 1;
    count--;
    arguments++;
  }
  if (count > 1) rounds = strtoull(arguments[1], NULL, 10);
  if (count > 2) seed = strtoull(arguments[2], NULL, 10);
  if (count > 3) thread_count = atoi(arguments[3]);
  if (thread_count < 1 || thread_count > MOST_THREADS) return 2;
  check_begin();
  signal(SIGALRM, hung);
  if (!open_graphs()) return close_graphs();
  if (version >= 12030) open_conditions();
  run_rounds(rounds, seed);
  if (check_failures != 0) return check_done(); /* what is left may keep the driver from ending */
  if (version >= 12030) close_conditions();
  return close_graphs();
}
