/* Handles: whatever is passed for one is an answer with a sentence, never a crash. */
#include "check.h"

#include <stdint.h>

#define NOT_NULL ((void *)(uintptr_t)0x1234)

/* No function takes the value for a driver, and each sets its out-parameter to NULL. */
static void refused_by_all(cushim_driver value, const char *words) {
  const cushim_driver_table *table = (const cushim_driver_table *)NOT_NULL;
  void *function = NOT_NULL;
  cushim_driver_info info;
  cushim_candidate candidate;
  cushim_symbol symbol;
  info.struct_size = sizeof info;
  candidate.struct_size = sizeof candidate;
  symbol.struct_size = sizeof symbol;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_get_table(value, CUSHIM_TABLE_LEGACY_STREAM, &table));
  CHECK(table == NULL);
  CHECK_CONTAINS(last_message(), words);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_lookup(value, "cuInit", 2000, 0, &function));
  CHECK(function == NULL);
  CHECK_CONTAINS(last_message(), words);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_get_info(value, &info));
  CHECK_CONTAINS(last_message(), words);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_get_candidate(value, 0, &candidate));
  CHECK_CONTAINS(last_message(), words);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_get_symbol(value, 0, 0, &symbol));
  CHECK_CONTAINS(last_message(), words);
}

static void null(void) {
  CHECK_OK(cushim_driver_destroy(NULL));
  refused_by_all(NULL, "NULL");
}

static void destroyed(void) {
  cushim_driver first = open_driver(), second = open_driver();
  CHECK_OK(cushim_driver_destroy(first));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_driver_destroy(first));
  CHECK_CONTAINS(last_message(), "destroyed");
  refused_by_all(first, "destroyed");
  /* One holder's mistake does not end another's claim. */
  CHECK(info_of(second).version == given_number("CHECK_VERSION"));
  CHECK_OK(cushim_driver_destroy(second));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_driver_destroy(second));
}

/* A token stays stale, however often its place was used again. */
static void stale(void) {
  cushim_driver first = open_driver();
  int i;
  CHECK_OK(cushim_driver_destroy(first));
  for (i = 0; i < 5000; i++) {
    cushim_driver next = open_driver();
    if (next == first) CHECK(!"a token was issued twice");
    CHECK_OK(cushim_driver_destroy(next));
  }
  refused_by_all(first, "destroyed");
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_driver_destroy(first));
}

static void refused(uintptr_t value) {
  refused_by_all((cushim_driver)value, "a driver is needed");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_driver_destroy((cushim_driver)value));
  CHECK_CONTAINS(last_message(), "a driver is needed");
}

/* Near a token there are others that were issued before, and are destroyed. */
static void refused_or_destroyed(uintptr_t value) {
  cushim_status status = cushim_driver_destroy((cushim_driver)value);
  CHECK(status == CUSHIM_ERROR_INVALID_HANDLE || status == CUSHIM_ERROR_ALREADY_DESTROYED);
  refused_by_all((cushim_driver)value, "a driver is needed");
}

static void garbage(void) {
  cushim_driver driver = open_driver();
  uintptr_t value = (uintptr_t)driver;
  char *heap = (char *)malloc(16);
  int bit;
  refused(1);
  refused(2);
  refused(0x10);
  refused(UINTPTR_MAX);
  refused(UINTPTR_MAX / 2);
  refused((uintptr_t)&driver);
  refused((uintptr_t)heap);
  refused((uintptr_t)"text");
  for (bit = 0; bit < 64; bit++) refused_or_destroyed(value ^ (uintptr_t)1 << bit);
  CHECK(info_of(driver).version == given_number("CHECK_VERSION"));
  CHECK_OK(cushim_driver_destroy(driver));
  free(heap);
}

static void many(void) {
  enum { COUNT = 3000 };
  static cushim_driver drivers[COUNT];
  int i;
  for (i = 0; i < COUNT; i++) drivers[i] = open_driver();
  for (i = 0; i < COUNT; i += 2) CHECK_OK(cushim_driver_destroy(drivers[i]));
  for (i = 1; i < COUNT; i += 2) CHECK(info_of(drivers[i]).version == given_number("CHECK_VERSION"));
  for (i = 1; i < COUNT; i += 2) CHECK_OK(cushim_driver_destroy(drivers[i]));
}

int main(void) {
  check_begin();
  null();
  destroyed();
  stale();
  garbage();
  many();
  return check_done();
}
