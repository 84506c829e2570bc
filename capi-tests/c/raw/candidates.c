/* The libraries that were tried, and why each was refused. */
#include "check.h"

static cushim_driver open_as(const char *choice) {
  cushim_driver_options options;
  cushim_driver driver;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = choice;
  if (!CHECK_OK(cushim_driver_open(&options, &driver))) exit(1);
  return driver;
}

/* The last candidate is the one that was loaded, and each before it says why not. Returns the last. */
static cushim_candidate last_of(cushim_driver driver) {
  cushim_candidate candidate, none;
  size_t i, count = info_of(driver).candidate_count;
  memset(&candidate, 0, sizeof candidate);
  for (i = 0; i < count; i++) {
    candidate.struct_size = sizeof candidate;
    CHECK_OK(cushim_driver_get_candidate(driver, i, &candidate));
    CHECK(candidate.struct_size == sizeof candidate);
    CHECK(candidate.path != NULL && candidate.path[0] != '\0');
    CHECK(candidate.origin != NULL && candidate.origin[0] != '\0');
    CHECK((candidate.error == NULL) == (i + 1 == count));
  }
  none = candidate;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_candidate(driver, count, &none));
  CHECK_CONTAINS(last_message(), "index");
  CHECK(none.struct_size == sizeof none && none.path == NULL && none.origin == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_candidate(driver, (size_t)-1, &none));
  return candidate;
}

static void named(void) {
  const char *shell = getenv("CUSHIM_DRIVER");
  cushim_driver by_variable = open_as(NULL), by_option = open_as(shell), none = open_as("none");
  cushim_candidate candidate = last_of(by_variable);
  CHECK(info_of(by_variable).candidate_count == 1);
  CHECK(strcmp(candidate.path, shell) == 0 && strcmp(candidate.origin, "CUSHIM_DRIVER") == 0);
  candidate = last_of(by_option);
  CHECK(info_of(by_option).candidate_count == 1);
  CHECK(strcmp(candidate.path, shell) == 0 && strcmp(candidate.origin, "options") == 0);
  CHECK(info_of(none).candidate_count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_candidate(none, 0, &candidate));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_candidate(by_option, 0, NULL));
  candidate.struct_size = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_candidate(by_option, 0, &candidate));
  CHECK_OK(cushim_driver_destroy(by_variable));
  CHECK_OK(cushim_driver_destroy(by_option));
  CHECK_OK(cushim_driver_destroy(none));
}

/* "software" is looked for beside the library. */
static void software(void) {
  cushim_driver driver = open_as("software");
  cushim_candidate candidate = last_of(driver);
  CHECK(info_of(driver).kind == CUSHIM_DRIVER_KIND_SOFTWARE);
  CHECK_CONTAINS(candidate.path, "libsoftcuda");
  CHECK(strcmp(candidate.origin, "module") == 0);
  CHECK_OK(cushim_driver_destroy(driver));
}

int main(void) {
  check_begin();
  named();
  software();
  return check_done();
}
