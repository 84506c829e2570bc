/* A set-uid program: the environment is its user's, who has fewer rights, and is not believed. */
#include "check.h"

#include <fcntl.h>
#include <sys/auxv.h>

/* Opens a driver and answers whether that wrote to stderr. */
static int is_logged(cushim_driver *driver, cushim_status *status) {
  int written[2], before = dup(STDERR_FILENO);
  char byte;
  if (!CHECK(pipe(written) == 0) || !CHECK(fcntl(written[0], F_SETFL, O_NONBLOCK) == 0)) exit(1);
  dup2(written[1], STDERR_FILENO);
  *status = cushim_driver_open(NULL, driver);
  dup2(before, STDERR_FILENO);
  return read(written[0], &byte, 1) == 1;
}

int main(void) {
  cushim_driver driver = NULL;
  cushim_status status;
  check_begin();
  CHECK(getauxval(AT_SECURE) != 0);
  CHECK(getenv("CUSHIM_DRIVER") != NULL);
  CHECK(getenv("CUSHIM_LOG") != NULL);
  CHECK(!is_logged(&driver, &status));
  if (status == CUSHIM_SUCCESS) {
    /* This machine's driver, and not the "none" of the environment. */
    CHECK(info_of(driver).kind != CUSHIM_DRIVER_KIND_NONE);
    CHECK_OK(cushim_driver_destroy(driver));
  } else {
    CHECK(status == CUSHIM_ERROR_DRIVER_NOT_FOUND || status == CUSHIM_ERROR_DRIVER_UNUSABLE);
    CHECK_CONTAINS(last_message(), "libcuda.so.1");
    /* Nobody is told to set what is not read. */
    CHECK(strstr(last_message(), "CUSHIM_DRIVER") == NULL);
  }
  return check_done();
}
