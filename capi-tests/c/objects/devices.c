/* Devices: what they are called, what they have, and what they can do. */
#include "objects.h"

static struct objects all;
static int version; /* of the driver; 0 for "none" */

static void count_and_order(void) {
  int32_t count = -1, ordinal = -1, i;
  cushim_device device;
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  CHECK(count > 0);
  for (i = 0; i < count; i++) {
    CHECK_OK(cushim_driver_get_device(all.driver, i, &device));
    CHECK_OK(cushim_device_get_ordinal(device, &ordinal));
    CHECK(ordinal == i);
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device(all.driver, count, &device));
  CHECK(device == NULL);
  CHECK_CONTAINS(last_message(), "numbered from 0");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device(all.driver, -1, &device));
}

/* The borrowed handle is the same each time; a claim is another value for the same device. */
static void handles(void) {
  cushim_device again, claim;
  cushim_driver driver;
  CHECK_OK(cushim_driver_get_device(all.driver, 0, &again));
  CHECK(again == all.device);
  CHECK_OK(cushim_device_ref(all.device, &claim));
  CHECK(claim != all.device && is_same(claim, all.device));
  CHECK_OK(cushim_device_destroy(claim));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_device_destroy(claim));
  CHECK_OK(cushim_device_destroy(NULL));
  CHECK_OK(cushim_device_get_driver(all.device, &driver));
  CHECK(is_same(driver, all.driver));
  CHECK(info_of(driver).version == version);
}

static void names(void) {
  CUdevice native = -1;
  char name[256], part[8];
  size_t needed = 0;
  CHECK_OK(cushim_device_native(all.device, &native));
  CHECK(native == 0);
  CHECK_OK(cushim_device_get_name(all.device, name, sizeof name, &needed));
  CHECK(name[0] != '\0' && needed == strlen(name) + 1);
  CHECK_OK(cushim_device_get_name(all.device, part, sizeof part, NULL));
  CHECK(strncmp(part, name, 4) == 0 && strcmp(part + 4, "...") == 0);
  CHECK_OK(cushim_device_get_name(all.device, NULL, 0, &needed));
  CHECK(needed == strlen(name) + 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_device_get_name(all.device, NULL, 1, &needed));
}

static void labels(void) {
  char label[32];
  size_t needed = 99;
  CHECK_OK(cushim_get_label(all.device, label, sizeof label, &needed));
  CHECK(label[0] == '\0' && needed == 1);
  CHECK_OK(cushim_set_label(all.device, "left"));
  CHECK_OK(cushim_get_label(all.device, label, sizeof label, &needed));
  CHECK(strcmp(label, "left") == 0 && needed == 5);
  CHECK_CONTAINS(description(all.device), "left");
  CHECK_OK(cushim_set_label(all.device, NULL));
  CHECK_OK(cushim_get_label(all.device, label, sizeof label, NULL));
  CHECK(label[0] == '\0');
}

static void properties(void) {
  const cushim_status expected = version == 0 ? (cushim_status)CUSHIM_ERROR_UNSUPPORTED : 0;
  unsigned char uuid[16], zero[16] = {0};
  size_t bytes = 1;
  int32_t value = -1;
  CHECK_STATUS(expected, cushim_device_get_uuid(all.device, uuid));
  CHECK((memcmp(uuid, zero, sizeof uuid) == 0) == (version == 0));
  CHECK_STATUS(expected, cushim_device_get_total_memory(all.device, &bytes));
  CHECK((bytes == 0) == (version == 0));
  CHECK_OK(cushim_device_get_attribute(all.device, CU_DEVICE_ATTRIBUTE_WARP_SIZE, &value));
  CHECK(value == (version == 0 ? 0 : 32));
}

/* A refusal of the driver's says what it was about. */
static void unknown_attribute(void) {
  int32_t value = -1;
  if (version == 0) return; /* every attribute is 0 */
  CHECK_OK(cushim_set_label(all.device, "left"));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_device_get_attribute(all.device, 99999, &value));
  CHECK(value == 0);
  CHECK(last_detail()->driver_code == CUDA_ERROR_INVALID_VALUE && last_detail()->item == -1);
  CHECK(strcmp(last_detail()->driver_code_name, "CUDA_ERROR_INVALID_VALUE") == 0);
  CHECK(strcmp(last_detail()->driver_function, "cuDeviceGetAttribute") == 0 && last_detail()->abi == 2000);
  CHECK(strcmp(last_detail()->object, "device 0 \"left\"") == 0);
  CHECK(strcmp(last_detail()->label, "left") == 0);
  CHECK_OK(cushim_set_label(all.device, NULL));
}

/* Features that are the driver's alone. */
static void features_by_version(void) {
  static const struct { const char *name; int since; } known[] = {
      {"memory-locations", 12020},        {"batch-copy", 12080},      {"batch-prefetch", 13000}, {"memory-discard", 13000},
      {"libraries", 12000},               {"graph-edge-data", 12030}, {"green-contexts", 12040}, {"context-ids", 12000},
      {"graph-conditional-nodes", 12030}, {"stream-ids", 12000},      {"driver-logs", 12090},
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; i++) {
    int32_t yes = -1;
    CHECK_OK(cushim_device_supports(all.device, known[i].name, &yes));
    if (!CHECK(yes == (version >= known[i].since))) check_more(known[i].name, "");
  }
}

static void features(void) {
  int32_t yes = -1;
  size_t index = 0;
  for (; cushim_feature_name(index) != NULL; index++) {
    yes = -1;
    CHECK_OK(cushim_device_supports(all.device, cushim_feature_name(index), &yes));
    CHECK(yes == 0 || yes == 1);
    if (version == 0) CHECK(yes == 0);
  }
  CHECK(index >= 20);
  CHECK_OK(cushim_device_supports(all.device, "memory-pools", &yes));
  CHECK(yes == (version != 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_device_supports(all.device, "pools", &yes));
  CHECK_CONTAINS(last_message(), "memory-pools");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_device_supports(all.device, "", &yes));
}

static void peers(void) {
  cushim_driver_options options;
  cushim_driver none;
  cushim_status status;
  int32_t yes = -1;
  if (version == 0) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_can_access_peer(all.device, all.device, &yes));
    CHECK(yes == 0);
    return;
  }
  status = cushim_device_can_access_peer(all.device, all.device, &yes);
  CHECK(status == CUSHIM_SUCCESS || status == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(yes == 0); /* a device is no peer of its own */
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_device_can_access_peer(all.device, first_device(none), &yes));
  CHECK_CONTAINS(last_message(), "different drivers");
  CHECK(!is_same(none, all.driver) && !is_same(first_device(none), all.device));
  CHECK_OK(cushim_driver_destroy(none));
}

static void primary_state(void) {
  const cushim_status expected = version == 0 ? (cushim_status)CUSHIM_ERROR_UNSUPPORTED : 0;
  int32_t active = -1;
  uint32_t flags = 99;
  CHECK_STATUS(expected, cushim_device_get_primary_state(all.device, &active, &flags));
  CHECK(active == (version != 0) && flags == 0);
  CHECK_STATUS(expected, cushim_device_get_primary_state(all.device, &active, NULL));
}

/* A driver stays as long as a handle of it, and its devices stay after that. */
static void driver_handles(void) {
  cushim_driver driver = open_driver(), claim;
  CHECK_OK(cushim_driver_ref(driver, &claim));
  CHECK(claim != driver && is_same(claim, driver) && is_same(driver, all.driver));
  CHECK_OK(cushim_driver_destroy(driver));
  CHECK(info_of(claim).version == version);
  CHECK_OK(cushim_driver_destroy(claim));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_driver_destroy(claim));
  names();
}

/* Every handle of a driver shows its name, also one that is made later. */
static void driver_labels(void) {
  char label[32];
  size_t needed = 0;
  cushim_driver lent, again;
  cushim_stream stream;
  CHECK_OK(cushim_get_label(all.driver, label, sizeof label, &needed));
  CHECK(label[0] == '\0' && needed == 1);
  CHECK_OK(cushim_device_get_driver(all.device, &lent));
  CHECK_OK(cushim_set_label(all.driver, "the only one"));
  CHECK_OK(cushim_get_label(all.driver, label, sizeof label, &needed));
  CHECK(strcmp(label, "the only one") == 0 && needed == sizeof "the only one");
  CHECK_OK(cushim_get_label(lent, label, sizeof label, NULL));
  CHECK(strcmp(label, "the only one") == 0);
  again = open_driver();
  CHECK_CONTAINS(description(again), "driver \"the only one\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_ref((cushim_stream)(void *)again, &stream));
  CHECK_CONTAINS(last_message(), "this is the handle of a driver \"the only one\"");
  CHECK_OK(cushim_set_label(again, NULL));
  CHECK_OK(cushim_get_label(all.driver, label, sizeof label, NULL));
  CHECK(label[0] == '\0');
  CHECK_OK(cushim_driver_destroy(again));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_set_label(NULL, "x"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_get_label(NULL, label, sizeof label, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_get_label(all.driver, NULL, 5, NULL));
}

int main(void) {
  uint64_t errors = 99;
  check_begin();
  all = open_context();
  version = info_of(all.driver).version;
  count_and_order();
  handles();
  names();
  labels();
  properties();
  unknown_attribute();
  features_by_version();
  features();
  peers();
  primary_state();
  driver_handles();
  driver_labels();
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &errors));
  CHECK(errors == 0);
  CHECK_OK(cushim_context_destroy(all.context));
  CHECK_OK(cushim_driver_destroy(all.driver));
  return check_done();
}
