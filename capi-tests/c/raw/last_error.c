/* The last error: one per thread, kept until the next failure, and cut where it does not fit. */
#include "check.h"

#include <pthread.h>

static cushim_error_detail detail;

static const cushim_error_detail *last(void) {
  memset(&detail, 0xee, sizeof detail);
  detail.struct_size = sizeof detail;
  CHECK_OK(cushim_last_error(&detail));
  CHECK(detail.struct_size == sizeof detail);
  return &detail;
}

static void fail(const char *path) {
  cushim_driver_options options;
  cushim_driver driver;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = path;
  CHECK_STATUS(CUSHIM_ERROR_DRIVER_UNUSABLE, cushim_driver_open(&options, &driver));
}

static void nothing_yet(void) {
  CHECK(last()->status == 0 && last()->abi == 0);
  CHECK(last()->driver_function[0] == '\0' && last()->message[0] == '\0');
  CHECK(cushim_last_error_message()[0] == '\0');
}

static void *other_thread(void *unused) {
  (void)unused;
  nothing_yet();
  fail("/nonexistent/other");
  CHECK_CONTAINS(last()->message, "/nonexistent/other");
  return NULL;
}

static void per_thread(void) {
  pthread_t thread;
  fail("/nonexistent/mine");
  CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_CONTAINS(last()->message, "/nonexistent/mine");
  CHECK(last()->status == CUSHIM_ERROR_DRIVER_UNUSABLE);
  CHECK(strcmp(cushim_last_error_message(), last()->message) == 0);
}

static void success_leaves_it(void) {
  cushim_driver driver = open_driver();
  CHECK_OK(cushim_driver_destroy(driver));
  CHECK_CONTAINS(last()->message, "/nonexistent/mine");
}

static void function_and_number(void) {
  cushim_driver_options options;
  cushim_driver none;
  void *function;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_driver_lookup(none, "cuMemPrefetchAsync", 12020, 0, &function));
  CHECK(last()->status == CUSHIM_ERROR_UNSUPPORTED && last()->abi == 12020);
  CHECK(strcmp(last()->driver_function, "cuMemPrefetchAsync") == 0);
  CHECK_OK(cushim_driver_destroy(none));
  fail("/nonexistent/mine");
  CHECK(last()->abi == 0 && last()->driver_function[0] == '\0');
}

static void cut(void) {
  static char path[6000];
  memset(path, 'x', sizeof path - 1);
  path[0] = '/';
  fail(path);
  CHECK(strlen(last()->message) == sizeof detail.message - 1);
  CHECK(strcmp(detail.message + sizeof detail.message - 4, "...") == 0);
}

static void sizes(void) {
  struct { cushim_error_detail known; unsigned char beyond[64]; } newer;
  fail("/nonexistent/mine");
  memset(&detail, 0xee, sizeof detail);
  detail.struct_size = offsetof(cushim_error_detail, driver_function);
  CHECK_OK(cushim_last_error(&detail));
  CHECK(detail.struct_size == offsetof(cushim_error_detail, driver_function));
  CHECK(detail.status == CUSHIM_ERROR_DRIVER_UNUSABLE && (unsigned char)detail.driver_function[0] == 0xee);

  memset(&newer, 0xee, sizeof newer);
  newer.known.struct_size = sizeof newer;
  CHECK_OK(cushim_last_error(&newer.known));
  CHECK(newer.known.struct_size == sizeof newer.known && newer.beyond[0] == 0xee);

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_last_error(NULL));
  CHECK_CONTAINS(last()->message, "detail");
  detail.struct_size = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_last_error(&detail));
  CHECK_CONTAINS(last()->message, "struct_size");
}

static void names_and_texts(void) {
  int status;
  CHECK(strcmp(cushim_status_name(0), "CUSHIM_SUCCESS") == 0);
  CHECK(strcmp(cushim_status_name(CUSHIM_ERROR_UNSUPPORTED), "CUSHIM_ERROR_UNSUPPORTED") == 0);
  CHECK(strcmp(cushim_status_name(CUDA_ERROR_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY") == 0);
  CHECK(strcmp(cushim_status_name(500), "CUDA_ERROR_NOT_FOUND") == 0);
  for (status = CUSHIM_ERROR_FORKED; status <= 0; status++) {
    CHECK_CONTAINS(cushim_status_name(status), "CUSHIM_");
    CHECK(cushim_status_string(status) != NULL && cushim_status_string(status)[0] != '\0');
  }
  CHECK(cushim_status_string(CUDA_ERROR_UNKNOWN) != NULL);
  CHECK(cushim_status_name(12345) == NULL && cushim_status_string(12345) == NULL);
  CHECK(cushim_status_name(-12345) == NULL && cushim_status_string(-12345) == NULL);
}

int main(void) {
  check_begin();
  nothing_yet();
  per_thread();
  success_leaves_it();
  function_and_number();
  cut();
  sizes();
  names_and_texts();
  return check_done();
}
