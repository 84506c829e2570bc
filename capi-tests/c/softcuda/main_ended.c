/*
 * A process whose main thread has ended by pthread_exit, of which only softcuda's threads are left: SIGTERM ends it. A child of a process that
 * uses the driver has no such threads, and ends with its last one.
 */
#include "objects.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

static pid_t ended_of(pid_t child, int *status) {
  pid_t ended = 0;
  int i;
  for (i = 0; i < 1000 && ended == 0; i++, poll(NULL, 0, 10)) ended = waitpid(child, status, WNOHANG);
  if (ended == 0) kill(child, SIGKILL);
  return ended;
}

static void children_end(void) {
  struct objects all = open_objects();
  int status = -1;
  pid_t child = fork();
  if (child == 0) pthread_exit(NULL);
  CHECK(ended_of(child, &status) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  close_objects(&all);
}

int main(void) {
  int status = -1;
  pid_t child;
  check_begin();
  child = fork();
  if (child == 0) {
    struct objects all;
    alarm(0);
    all = open_objects();
    CHECK_OK(cushim_event_record(all.event, all.stream));
    if (check_failures != 0) exit(1);
    pthread_exit(NULL);
  }
  poll(NULL, 0, 500);
  CHECK(waitpid(child, &status, WNOHANG) == 0);
  CHECK(kill(child, SIGTERM) == 0);
  CHECK(ended_of(child, &status) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  children_end();
  return check_done();
}
