/* Opening a driver: the options, and what is known of a driver that was opened. */
#include "check.h"

#include <stdint.h>

#define NOT_NULL ((cushim_driver)(uintptr_t)0x1234)

static cushim_driver_options defaults(void) {
  cushim_driver_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  return options;
}

/* Opening fails with this status and these words, and leaves NULL. */
#define CHECK_REFUSED(status, options, words)                     \
  do {                                                            \
    cushim_driver refused = NOT_NULL;                             \
    CHECK_STATUS(status, cushim_driver_open(options, &refused));  \
    CHECK(refused == NULL);                                       \
    CHECK_CONTAINS(last_message(), words);                        \
  } while (0)

#define CHECK_OPENS(options)                              \
  do {                                                    \
    cushim_driver opened = NULL;                          \
    CHECK_OK(cushim_driver_open(options, &opened));       \
    CHECK(opened != NULL);                                \
    CHECK_OK(cushim_driver_destroy(opened));              \
  } while (0)

static void sizes(void) {
  struct { cushim_driver_options known; uint64_t unknown; } newer;
  struct { size_t struct_size; const char *driver; uint64_t not_ours; } older = {
    offsetof(cushim_driver_options, getter), "none", UINT64_MAX
  };
  cushim_driver_options options = defaults();

  CHECK_OPENS(NULL);
  CHECK_OPENS(&options);
  options.struct_size = 0;
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "struct_size");
  options.struct_size = sizeof(size_t) - 1;
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "struct_size");

  memset(&newer, 0, sizeof newer);
  newer.known.struct_size = sizeof newer;
  CHECK_OPENS(&newer.known);
  newer.unknown = 1;
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &newer.known, "struct_size");

  CHECK_OPENS((const cushim_driver_options *)(const void *)&older);
}

static int any_getter(void *user, const char *symbol, void **address, int version, uint64_t flags, int *found) {
  (void)user, (void)symbol, (void)address, (void)version, (void)flags, (void)found;
  return CUDA_ERROR_NOT_FOUND;
}

static void contradictions(void) {
  cushim_driver_options options = defaults();
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_open(&options, NULL));
  CHECK_CONTAINS(last_message(), "driver");
  options.flags = 0x40;
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "flags");
  options.flags = 0;
  options.reserved = 1;
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "reserved");
  options.reserved = 0;
  options.driver = "";
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "empty");
  options.driver = NULL;
  options.getter = any_getter;
  options.driver = "none";
  CHECK_REFUSED(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "getter");
}

static void no_driver(void) {
  cushim_driver_options options = defaults();
  cushim_driver driver;
  cushim_driver_info info;
  options.driver = "none";
  if (!CHECK_OK(cushim_driver_open(&options, &driver))) return;
  info = info_of(driver);
  CHECK(info.kind == CUSHIM_DRIVER_KIND_NONE);
  CHECK(info.version == 0 && info.symbol_count == 0 && info.candidate_count == 0);
  CHECK(info.path != NULL && info.path[0] == '\0');
  CHECK(info.older_than_supported == 0);
  CHECK(!CUSHIM_HAS(table_of(driver, CUSHIM_TABLE_LEGACY_STREAM), cuInit_2000));
  CHECK_OK(cushim_driver_destroy(driver));
}

/* An explicit choice that fails is the error, in the words of the loader. */
static void unusable(void) {
  cushim_driver_options options = defaults();
  options.driver = "/nonexistent/libcuda.so.1";
  CHECK_REFUSED(CUSHIM_ERROR_DRIVER_UNUSABLE, &options, "/nonexistent/libcuda.so.1");
  CHECK_CONTAINS(last_message(), "cannot open shared object file");
  options.driver = "/etc/passwd"; /* a text file on any Linux machine */
  CHECK_REFUSED(CUSHIM_ERROR_DRIVER_UNUSABLE, &options, "/etc/passwd");
  CHECK_CONTAINS(last_message(), "text file");
  CHECK_CONTAINS(last_message(), "invalid ELF header");
  options.driver = "/";
  CHECK_REFUSED(CUSHIM_ERROR_DRIVER_UNUSABLE, &options, "directory");
}

static void environment(void) {
  cushim_driver_options options = defaults();
  cushim_driver driver = NULL;
  cushim_status status;
  char *before = strdup(getenv("CUSHIM_DRIVER"));

  setenv("CUSHIM_DRIVER", "/nonexistent/from-the-environment.so", 1);
  CHECK_REFUSED(CUSHIM_ERROR_DRIVER_UNUSABLE, NULL, "/nonexistent/from-the-environment.so");
  CHECK_CONTAINS(last_message(), "CUSHIM_DRIVER");

  /* Told not to look there, it looks for this machine's driver, which may exist or not. */
  options.flags = CUSHIM_DRIVER_IGNORE_ENVIRONMENT;
  status = cushim_driver_open(&options, &driver);
  if (status == CUSHIM_SUCCESS) {
    CHECK(info_of(driver).kind != CUSHIM_DRIVER_KIND_SOFTWARE);
    CHECK_OK(cushim_driver_destroy(driver));
  } else {
    CHECK(status == CUSHIM_ERROR_DRIVER_NOT_FOUND || status == CUSHIM_ERROR_DRIVER_UNUSABLE);
    CHECK_CONTAINS(last_message(), "libcuda.so.1");
    CHECK(strstr(last_message(), "from-the-environment") == NULL);
  }

  /* The options go before the environment. */
  options = defaults();
  options.driver = before;
  CHECK_OPENS(&options);
  setenv("CUSHIM_DRIVER", before, 1);
  free(before);
}

static void information(void) {
  cushim_driver first = open_driver(), second = open_driver();
  cushim_driver_info info = info_of(first);
  struct { cushim_driver_info known; uint64_t beyond; } newer;

  CHECK(first != second);
  CHECK(table_of(first, CUSHIM_TABLE_LEGACY_STREAM) == table_of(second, CUSHIM_TABLE_LEGACY_STREAM));
  CHECK(info.struct_size == sizeof info);
  CHECK(info.version == given_number("CHECK_VERSION"));
  CHECK((info.kind == CUSHIM_DRIVER_KIND_SOFTWARE) == (strstr(info.path, "/libsoftcuda") != NULL));
  CHECK_CONTAINS(info.path, "/lib");
  CHECK_CONTAINS(info.getter, "cuGetProcAddress");
  CHECK((strstr(info.getter, "_v2") != NULL) == (info.version >= 12000));
  CHECK(info.candidate_count > 0);
  CHECK(info.symbol_count > 400 && info.symbol_count <= cushim_symbol_count());
  CHECK(info.older_than_supported == 0);

  /* The smaller of both structs is written. */
  memset(&newer, 0xee, sizeof newer);
  newer.known.struct_size = sizeof newer;
  CHECK_OK(cushim_driver_get_info(first, &newer.known));
  CHECK(newer.known.struct_size == sizeof newer.known && newer.beyond == UINT64_C(0xeeeeeeeeeeeeeeee));
  memset(&info, 0xee, sizeof info);
  info.struct_size = offsetof(cushim_driver_info, kind);
  CHECK_OK(cushim_driver_get_info(first, &info));
  CHECK(info.struct_size == offsetof(cushim_driver_info, kind));
  CHECK(info.version == given_number("CHECK_VERSION") && info.kind == (int32_t)0xeeeeeeee);
  info.struct_size = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_info(first, &info));
  CHECK_CONTAINS(last_message(), "struct_size");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_info(first, NULL));

  /* The other handle outlives the first. */
  CHECK_OK(cushim_driver_destroy(first));
  CHECK(info_of(second).version == given_number("CHECK_VERSION"));
  CHECK_OK(cushim_driver_destroy(second));
}

int main(void) {
  check_begin();
  sizes();
  contradictions();
  no_driver();
  unusable();
  environment();
  information();
  return check_done();
}
