/* Devices by their UUID and their address on the PCI bus; MIG instances, on a driver that shows one. */
#include "objects.h"

static struct objects all;
static const cushim_driver_table *real;

/* "GPU-" or "MIG-", or nothing, and the UUID in the form of nvidia-smi. */
static const char *written(const char *prefix, const unsigned char *uuid) {
  static char text[64];
  size_t at = (size_t)snprintf(text, sizeof text, "%s", prefix);
  int i;
  for (i = 0; i < 16; i++) {
    const char *hyphen = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x", hyphen, uuid[i]);
  }
  return text;
}

static void by_uuid(void) {
  static const char *const wrong[] = {"", "GPU-", "0", "GPU-0123", "gpu-00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000"};
  unsigned char uuid[16];
  cushim_device device = NULL;
  size_t i;
  int32_t count = 0, ordinal;
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  for (ordinal = 0; ordinal < count; ordinal++) {
    cushim_device expected;
    CHECK_OK(cushim_driver_get_device(all.driver, ordinal, &expected));
    CHECK_OK(cushim_device_get_uuid(expected, uuid));
    CHECK_OK(cushim_driver_get_device_by_uuid(all.driver, written("GPU-", uuid), &device));
    CHECK(device == expected);
    CHECK_OK(cushim_driver_get_device_by_uuid(all.driver, written("", uuid), &device));
    CHECK(device == expected);
  }
  /* There is no MIG here: what is a GPU is no instance. */
  CHECK_STATUS(CUDA_ERROR_INVALID_DEVICE, cushim_driver_get_device_by_uuid(all.driver, written("MIG-", uuid), &device));
  CHECK(device == NULL);
  CHECK_CONTAINS(last_message(), written("MIG-", uuid));
  CHECK_CONTAINS(last_message(), written("GPU-", uuid));
  CHECK_CONTAINS(last_message(), "MIG instances");
  CHECK_CONTAINS(last_message(), "(device 0)");
  uuid[0] ^= 0xff;
  CHECK_STATUS(CUDA_ERROR_INVALID_DEVICE, cushim_driver_get_device_by_uuid(all.driver, written("GPU-", uuid), &device));
  CHECK_CONTAINS(last_message(), "CUDA_VISIBLE_DEVICES");
  CHECK_STATUS(CUDA_ERROR_INVALID_DEVICE, cushim_driver_get_device_by_uuid(all.driver, written("", uuid), &device));
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device_by_uuid(all.driver, wrong[i], &device));
    CHECK_CONTAINS(last_message(), "is no UUID");
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device_by_uuid(all.driver, NULL, &device));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device_by_uuid(all.driver, written("", uuid), NULL));
}

static void by_pci_bus_id(void) {
  static const char *const wrong[] = {"", "zz:00.0", "0000:00:00:0", "00000000000:00:00.0", "00:00.0 "};
  cushim_device device = NULL;
  char id[64], part[4];
  size_t needed = 0, i;
  int32_t count = 0, ordinal;
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  for (ordinal = 0; ordinal < count; ordinal++) {
    cushim_device expected;
    CHECK_OK(cushim_driver_get_device(all.driver, ordinal, &expected));
    CHECK_OK(cushim_device_get_pci_bus_id(expected, id, sizeof id, &needed));
    CHECK(strlen(id) == 12 && needed == 13 && id[4] == ':' && id[7] == ':' && id[10] == '.');
    CHECK_OK(cushim_driver_get_device_by_pci_bus_id(all.driver, id, &device));
    CHECK(device == expected);
    CHECK_OK(cushim_driver_get_device_by_pci_bus_id(all.driver, id + 5, &device)); /* without the domain */
    CHECK(device == expected);
  }
  CHECK_OK(cushim_device_get_pci_bus_id(all.device, part, sizeof part, NULL));
  CHECK(strcmp(part, "...") == 0);
  CHECK_STATUS(CUDA_ERROR_INVALID_DEVICE, cushim_driver_get_device_by_pci_bus_id(all.driver, "0000:ee:1f.7", &device));
  CHECK(device == NULL);
  CHECK_CONTAINS(last_message(), id);
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device_by_pci_bus_id(all.driver, wrong[i], &device));
    CHECK_CONTAINS(last_message(), "is no PCI bus id");
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_device_by_pci_bus_id(all.driver, NULL, &device));
}

/* What a driver says of a MIG instance: its own UUID by the newer function, and its GPU's by the older one. */
static CUresult CUSHIM_CUDAAPI uuid_of_instance(CUuuid *uuid, CUdevice device) {
  const CUresult result = real->cuDeviceGetUuid_9020(uuid, device);
  if (result == CUDA_SUCCESS && device == 0) uuid->bytes[15] = (char)0x7f;
  return result;
}

/* Hands out the real driver's functions, but for that one. */
static int get(void *user, const char *symbol, void **address, int of, uint64_t flags, int *found) {
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result;
  (void)user;
  if (CUSHIM_HAS(real, cuGetProcAddress_12000)) {
    result = real->cuGetProcAddress_12000(symbol, address, of, flags, &query);
  } else {
    result = real->cuGetProcAddress_11030(symbol, address, of, flags);
    if (result == CUDA_ERROR_NOT_FOUND) query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, result = CUDA_SUCCESS;
  }
  if (result == CUDA_SUCCESS && *address != NULL && strcmp(symbol, "cuDeviceGetUuid") == 0 && of >= 11040) {
    CUresult(CUSHIM_CUDAAPI * instances)(CUuuid *, CUdevice) = uuid_of_instance;
    memcpy(address, &instances, sizeof instances);
  }
  *found = (int)query;
  return (int)result;
}

static void mig_instances(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  unsigned char gpu[16], uuid[16];
  cushim_driver driver = NULL;
  cushim_device device = NULL, instance;
  CHECK_OK(cushim_driver_get_table(all.driver, CUSHIM_TABLE_LEGACY_STREAM, &real));
  CHECK_OK(cushim_device_get_uuid(all.device, gpu));
  options.getter = get;
  CHECK_OK(cushim_driver_open(&options, &driver));
  CHECK_OK(cushim_driver_get_device(driver, 0, &instance));
  CHECK_OK(cushim_device_get_uuid(instance, uuid));
  CHECK(memcmp(gpu, uuid, sizeof uuid) != 0);
  CHECK_OK(cushim_driver_get_device_by_uuid(driver, written("MIG-", uuid), &device));
  CHECK(device == instance);
  CHECK_OK(cushim_driver_get_device_by_uuid(driver, written("", uuid), &device));
  CHECK(device == instance);
  /* The GPU is its one instance that is shown. */
  CHECK_OK(cushim_driver_get_device_by_uuid(driver, written("GPU-", gpu), &device));
  CHECK(device == instance);
  CHECK_STATUS(CUDA_ERROR_INVALID_DEVICE, cushim_driver_get_device_by_uuid(driver, written("GPU-", uuid), &device));
  CHECK_STATUS(CUDA_ERROR_INVALID_DEVICE, cushim_driver_get_device_by_uuid(driver, written("MIG-", gpu), &device));
  CHECK_CONTAINS(last_message(), written("MIG-", uuid));
  CHECK_OK(cushim_driver_destroy(driver));
}

int main(void) {
  cushim_device device;
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED,
                 cushim_driver_get_device_by_uuid(all.driver, "GPU-00000000-0000-0000-0000-000000000000", &device));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_driver_get_device_by_pci_bus_id(all.driver, "0000:00:00.0", &device));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_get_pci_bus_id(all.device, NULL, 0, NULL));
  } else {
    by_uuid();
    by_pci_bus_id();
    mig_instances();
  }
  close_objects(&all);
  return check_done();
}
