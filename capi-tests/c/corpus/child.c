#include "child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static size_t image;

void child_of(size_t index) { image = index; }

pid_t child_start(const char *const *arguments, int *from) {
  char *given[8] = {(char *)(uintptr_t)"kernels"};
  posix_spawn_file_actions_t actions;
  int ends[2], i;
  pid_t child = -1;
  for (i = 0; arguments[i] != NULL; i++) given[i + 1] = (char *)(uintptr_t)arguments[i];
  if (pipe(ends) != 0) abort();
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, given, environ) != 0) abort();
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  *from = ends[0];
  return child;
}

char *child_prints(struct run *run, const char *kernel) {
  enum { MOST = 1 << 16 };
  char number[32], *text = calloc(MOST, 1);
  const char *arguments[] = {"--one", number, kernel, NULL};
  size_t length = 0;
  ssize_t more;
  int from, status = 0;
  pid_t child;
  snprintf(number, sizeof number, "%zu", image);
  child = child_start(arguments, &from);
  while (length < MOST - 1 && (more = read(from, text + length, MOST - 1 - length)) > 0) length += (size_t)more;
  close(from);
  waitpid(child, &status, 0);
  if (status != 0) fail(run, "%s: the process ended with status %d and printed: %.400s", kernel, status, text);
  return text;
}

static void launch_fault(struct run *run, const char *kernel) {
  /* Nothing lies there. At 1 << 40 something does on a GPU: a kernel may write there (measured). */
  uint64_t memory = put(run, NULL, 256), nowhere = (uint64_t)1 << 46, null = 0;
  int n = 6, far = 1 << 18; /* 1 MiB; from 16 MiB on a GPU says ILLEGAL_INSTRUCTION */
  if (strcmp(kernel, "fault_assert") == 0 || strcmp(kernel, "fault_trap") == 0) LAUNCH(run, kernel, line(2, 33), ARG(n));
  else if (strcmp(kernel, "fault_bounds") == 0) LAUNCH(run, kernel, line(1, 1), ARG(nowhere));
  else if (strcmp(kernel, "fault_read") == 0) LAUNCH(run, kernel, line(1, 1), ARG(nowhere), ARG(memory));
  else if (strcmp(kernel, "fault_misaligned") == 0) LAUNCH(run, kernel, line(1, 1), ARG(memory));
  else if (strcmp(kernel, "fault_null") == 0) LAUNCH(run, kernel, line(1, 1), ARG(null));
  else LAUNCH(run, kernel, line(1, 4), ARG(far), ARG(memory));
}

void child_runs(struct run *run, const char *kernel) {
  if (strncmp(kernel, "fault_", 6) != 0) {
    launch(run, kernel, strcmp(kernel, "prints") == 0 ? line(1, 1) : line(3, 40), NULL, 0);
    if (finish(run) != CUSHIM_SUCCESS) printf("%s\n", run->failure);
    return;
  }
  launch_fault(run, kernel);
  if (run->failure[0] != 0) printf("%s\n", run->failure);
  /* It stays: the second time is no better. */
  printf("%d ", (int)cushim_stream_synchronize(run->stream));
  printf("%d\n", (int)cushim_stream_synchronize(run->stream));
}
