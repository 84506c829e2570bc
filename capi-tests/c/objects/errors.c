/* Errors: what is in a detail, and errors as objects. */
#include "objects.h"

#include <pthread.h>

static struct objects all;

static cushim_error_detail detail_of(cushim_error error) {
  cushim_error_detail detail;
  memset(&detail, 0xee, sizeof detail);
  detail.struct_size = sizeof detail;
  CHECK_OK(cushim_error_get_detail(error, &detail));
  CHECK(detail.struct_size == sizeof detail);
  return detail;
}

/* Fails: a stream was destroyed. */
static void fail(void) {
  cushim_stream stream = new_stream(all.context);
  int32_t done;
  CHECK_OK(cushim_set_label(stream, "copy"));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_query(stream, &done));
}

static void detail(void) {
  fail();
  CHECK(last_detail()->status == CUSHIM_ERROR_INVALID_HANDLE && last_detail()->abi == 0);
  CHECK(last_detail()->item == -1 && last_detail()->driver_code == 0 && last_detail()->reserved == 0);
  CHECK(last_detail()->driver_code_name[0] == '\0' && last_detail()->driver_log[0] == '\0');
  CHECK(last_detail()->driver_function[0] == '\0');
  CHECK_CONTAINS(last_detail()->object, "destroyed stream \"copy\"");
  CHECK(strcmp(last_detail()->label, "copy") == 0);
  CHECK_CONTAINS(last_detail()->message, "destroyed");
  CHECK(strcmp(cushim_last_error_message(), last_detail()->message) == 0);
}

static void taking(void) {
  cushim_error error, second;
  fail();
  CHECK_OK(cushim_error_take(&error));
  CHECK(error != NULL && last_detail()->status == 0);
  CHECK_OK(cushim_error_take(&second));
  CHECK(second == NULL); /* there is no other */
  CHECK(detail_of(error).status == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK_CONTAINS(detail_of(error).message, "destroyed");
  fail();
  CHECK_OK(cushim_error_take(&second));
  CHECK(second != error && !is_same(second, error));
  CHECK_OK(cushim_error_destroy(second));
  CHECK_OK(cushim_error_ref(error, &second));
  CHECK_OK(cushim_error_destroy(error));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_error_destroy(error));
  CHECK(detail_of(second).status == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK_OK(cushim_error_destroy(second));
  CHECK_OK(cushim_error_destroy(NULL));
}

static void *reader(void *data) {
  cushim_error error = *(cushim_error *)data;
  CHECK(last_detail()->status == 0);
  CHECK(detail_of(error).status == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK(strcmp(detail_of(error).label, "copy") == 0);
  return NULL;
}

static void other_threads(void) {
  pthread_t threads[4];
  cushim_error error;
  int i;
  fail();
  CHECK_OK(cushim_error_take(&error));
  for (i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, reader, &error) == 0);
  for (i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(cushim_error_destroy(error));
}

/* Texts that a detail has no room for come out of the object as a whole. */
static void long_texts(void) {
  static char feature[6000], whole[8000];
  cushim_error error;
  int32_t yes;
  size_t needed = 0;
  char part[8];
  memset(feature, 'x', sizeof feature - 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_device_supports(all.device, feature, &yes));
  CHECK_CONTAINS(cushim_last_error_message(), feature);
  CHECK(strlen(last_detail()->message) == sizeof last_detail()->message - 1);
  CHECK_OK(cushim_error_take(&error));
  CHECK_OK(cushim_error_get_message(error, whole, sizeof whole, &needed));
  CHECK(needed == strlen(whole) + 1 && needed > sizeof feature);
  CHECK_CONTAINS(whole, feature);
  CHECK_OK(cushim_error_get_message(error, part, sizeof part, &needed));
  CHECK(needed == strlen(whole) + 1 && strlen(part) == sizeof part - 1);
  CHECK(strcmp(part + 4, "...") == 0);
  CHECK_OK(cushim_error_get_message(error, NULL, 0, &needed));
  CHECK(needed == strlen(whole) + 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_error_get_message(error, NULL, 8, &needed));
  CHECK(needed == 0);
  CHECK_OK(cushim_error_get_driver_log(error, whole, sizeof whole, &needed));
  CHECK(whole[0] == '\0' && needed == 1);
  CHECK_OK(cushim_error_destroy(error));
}

/* What is asked of any value never crashes, and says what the value is. */
static void descriptions(void) {
  cushim_stream stream = new_stream(all.context);
  cushim_context borrowed;
  char line[64];
  size_t needed = 0;
  CHECK(strcmp(description(NULL), "NULL") == 0);
  CHECK(strcmp(description((void *)(uintptr_t)0x10), "not a handle (0x10)") == 0);
  CHECK_OK(cushim_set_label(stream, "copy"));
  CHECK(strcmp(description(stream), "stream \"copy\"") == 0);
  CHECK_OK(cushim_stream_get_context(stream, &borrowed));
  CHECK_CONTAINS(description(borrowed), "(borrowed)");
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK(strcmp(description(stream), "destroyed stream \"copy\"") == 0);
  CHECK_OK(cushim_describe(stream, line, 8, &needed));
  CHECK(strcmp(line, "dest...") == 0 && needed == sizeof "destroyed stream \"copy\"");
}

int main(void) {
  check_begin();
  all = open_context();
  detail();
  taking();
  other_threads();
  long_texts();
  descriptions();
  CHECK_OK(cushim_context_destroy(all.context));
  CHECK_OK(cushim_driver_destroy(all.driver));
  return check_done();
}
