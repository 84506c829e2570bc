/* A set-uid program: the environment is its user's, who has fewer rights, and is not believed. */
#include "check.h"

#include <sys/auxv.h>

int main(void) {
  cushim_driver driver = NULL;
  cushim_status status;
  check_begin();
  CHECK(getauxval(AT_SECURE) != 0);
  CHECK(getenv("CUSHIM_DRIVER") != NULL);
  status = cushim_driver_open(NULL, &driver);
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
