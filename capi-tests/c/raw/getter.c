/* A getter of the program's own, as a new driver's and as an old one's: here it forwards to another driver. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

static struct forward {
  const cushim_driver_table *to;
  pthread_t thread;
  int calls;
  int silent; /* knows nothing */
} forward;

static int ask(void *user, const char *symbol, void **address, int version, uint64_t flags, int *found) {
  struct forward *forwarding = (struct forward *)user;
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult result;
  CHECK(symbol != NULL && address != NULL && found != NULL);
  CHECK(forwarding == &forward && pthread_equal(forwarding->thread, pthread_self()));
  forwarding->calls++;
  if (forwarding->silent) {
    *address = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
  }
  if (CUSHIM_HAS(forwarding->to, cuGetProcAddress_12000)) {
    result = forwarding->to->cuGetProcAddress_12000(symbol, address, version, flags, &query);
  } else {
    result = forwarding->to->cuGetProcAddress_11030(symbol, address, version, flags);
    query = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  *found = (int)query;
  return (int)result;
}

/* As drivers before 12.0: what is absent is an error, and the last parameter means nothing. */
static int ask_v1(void *user, const char *symbol, void **address, int version, uint64_t flags, int *unused) {
  int found = CU_GET_PROC_ADDRESS_SUCCESS;
  int result = ask(user, symbol, address, version, flags, &found);
  *unused = 12345;
  return result == CUDA_SUCCESS && found != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;
}

static cushim_driver_options with(cushim_driver_getter getter, uint32_t flags) {
  cushim_driver_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.getter = getter;
  options.getter_user = &forward;
  options.flags = flags;
  return options;
}

static void same_functions(cushim_driver original, const cushim_driver_options *options) {
  cushim_driver driver;
  cushim_driver_info info, expected = info_of(original);
  cushim_symbol symbol;
  cushim_candidate candidate;
  int calls = forward.calls, version = 0;
  if (!CHECK_OK(cushim_driver_open(options, &driver))) return;
  CHECK(forward.calls > calls);
  calls = forward.calls;

  info = info_of(driver);
  CHECK(info.kind == CUSHIM_DRIVER_KIND_CUSTOM && info.path[0] == '\0');
  CHECK(info.version == expected.version && info.symbol_count == expected.symbol_count);
  CHECK_CONTAINS(info.getter, "custom");
  CHECK(memcmp(table_of(driver, 0), table_of(original, 0), sizeof(cushim_driver_table)) == 0);
  CHECK(memcmp(table_of(driver, 1), table_of(original, 1), sizeof(cushim_driver_table)) == 0);
  CHECK_OK(table_of(driver, 0)->cuDriverGetVersion_2020(&version));
  CHECK(version == given_number("CHECK_VERSION"));

  symbol.struct_size = sizeof symbol;
  CHECK_OK(cushim_driver_get_symbol(driver, 1, 0, &symbol));
  CHECK(symbol.via != NULL && strcmp(symbol.via, "custom") == 0);
  CHECK(info.candidate_count == 1);
  candidate.struct_size = sizeof candidate;
  CHECK_OK(cushim_driver_get_candidate(driver, 0, &candidate));
  CHECK(candidate.error == NULL && strcmp(candidate.origin, "getter") == 0);
  CHECK(forward.calls == calls); /* it is asked while the driver is opened, and never again */
  CHECK_OK(cushim_driver_destroy(driver));
}

static void knows_nothing(const cushim_driver_options *options) {
  cushim_driver driver;
  forward.silent = 1;
  CHECK_STATUS(CUSHIM_ERROR_DRIVER_UNUSABLE, cushim_driver_open(options, &driver));
  CHECK(driver == NULL);
  CHECK_CONTAINS(last_message(), "cuDriverGetVersion");
  forward.silent = 0;
}

int main(void) {
  cushim_driver_options v2 = with(ask, 0), v1 = with(ask_v1, CUSHIM_DRIVER_GETTER_V1);
  cushim_driver original;
  check_begin();
  original = open_driver();
  forward.to = table_of(original, CUSHIM_TABLE_LEGACY_STREAM);
  forward.thread = pthread_self();
  same_functions(original, &v2);
  same_functions(original, &v1);
  knows_nothing(&v2);
  knows_nothing(&v1);
  CHECK_OK(cushim_driver_destroy(original));
  return check_done();
}
