/* A program that uses the familiar names only, and forks. */
#define CUSHIM_CUDA_NAMES
#include "check.h"

#include <sys/wait.h>

int main(void) {
  int version = 0, status = 0;
  pid_t child;
  check_begin();
  CHECK_OK(cuInit(0));
  child = fork();
  if (child == 0) {
    alarm(30);
    _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuDriverGetVersion(&version) == CUDA_ERROR_NOT_FOUND ? 0 : 1);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(cuDriverGetVersion(&version));
  return check_done();
}
