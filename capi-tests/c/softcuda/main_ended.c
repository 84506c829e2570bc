/* A process whose main thread has ended by pthread_exit, of which only softcuda's threads are left: SIGTERM ends it. */
#include "objects.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

int main(void) {
  int status = -1, i;
  pid_t child, ended = 0;
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
  for (i = 0; i < 1000 && ended == 0; i++, poll(NULL, 0, 10)) ended = waitpid(child, &status, WNOHANG);
  CHECK(ended == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  if (ended == 0) kill(child, SIGKILL);
  return check_done();
}
