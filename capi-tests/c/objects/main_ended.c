/*
 * A process whose main thread has ended by pthread_exit: SIGTERM ends it, although only threads of the library and of the driver are
 * left. As long as a thread of the program's takes the signal, or waits for it, it is that one's.
 */
#include "objects.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

static struct objects all;

static void wait_ms(int ms) { poll(NULL, 0, ms); }

static void count_release(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST); }

/* The library's thread is there. */
static void begin(void) {
  static int released;
  const cushim_owner owner = {&released, count_release};
  cushim_buffer buffer;
  int32_t done = 0;
  all = open_objects();
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 4096, 4096, NULL, &owner, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_flush_callbacks(10000000000ull, &done));
  CHECK(done == 1 && released == 1);
  if (check_failures != 0) exit(1);
}

/* By nothing but the main thread. */
static void main_alone(void) {
  begin();
  pthread_exit(NULL);
}

static void *uses(void *nothing) {
  (void)nothing;
  begin();
  wait_ms(200);
  return NULL;
}

/* By a thread that is there longer. */
static void a_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, uses, NULL) != 0) exit(1);
  pthread_exit(NULL);
}

static void *takes_it(void *set) {
  int signal = 0;
  while (sigwait((const sigset_t *)set, &signal) != 0 || signal != SIGTERM) {
  }
  _exit(7);
}

/* A thread of the program's waits for the signal, which is blocked in all of them. */
static void one_that_waits(void) {
  static sigset_t set;
  pthread_t thread;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0 || pthread_create(&thread, NULL, takes_it, &set) != 0) exit(1);
  begin();
  pthread_exit(NULL);
}

/* What the program wants done is done. */
static void handles_it(int signal) { _exit(signal == SIGTERM ? 8 : 1); }

static void a_handler(void) {
  signal(SIGTERM, handles_it);
  begin();
  pthread_exit(NULL);
}

/* How a child ends that is told to. */
static int end_of(void (*body)(void)) {
  int status = -1, i;
  const pid_t child = fork();
  pid_t ended = 0;
  if (child == 0) {
    alarm(0);
    body();
    exit(1);
  }
  wait_ms(700);
  CHECK(waitpid(child, &status, WNOHANG) == 0);
  CHECK(kill(child, SIGTERM) == 0);
  for (i = 0; i < 1000 && ended == 0; i++, wait_ms(10)) ended = waitpid(child, &status, WNOHANG);
  if (ended == child) return status;
  kill(child, SIGKILL);
  CHECK(waitpid(child, &status, 0) == child);
  return -1;
}

int main(void) {
  int status;
  check_begin();
  status = end_of(main_alone);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  status = end_of(a_thread);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  status = end_of(one_that_waits);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  status = end_of(a_handler);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 8);
  return check_done();
}
