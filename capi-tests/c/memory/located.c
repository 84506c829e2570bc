/* Pools by the location and the kind of their memory: the one from the start, the current one, a new one; and which one is current. */
#include "objects.h"
#include "resources.h"

static struct objects all;
static int version;

#define REFUSED(call) CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call)

static cushim_status pool_at(cushim_location place, int32_t memory, int32_t choice, cushim_resource *resource) {
  *resource = (cushim_resource)NOT_NULL;
  return cushim_resource_create_location_pool(all.device, &place, memory, choice, resource);
}

static cushim_resource new_pool_at(cushim_location place, int32_t memory, int32_t choice) {
  cushim_resource resource = NULL;
  CHECK_OK(pool_at(place, memory, choice, &resource));
  return resource;
}

static CUmemoryPool native_of(cushim_resource resource) {
  CUmemoryPool native = NULL;
  CHECK_OK(cushim_resource_native(resource, &native));
  return native;
}

static int kind_of(cushim_resource resource) {
  int32_t kind = -1;
  CHECK_OK(cushim_resource_get_kind(resource, &kind));
  return kind;
}

static void memory_comes_and_goes(cushim_resource resource) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(resource, all.stream, 4096, &buffer));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 7, 4096));
  CHECK(last_byte(all.stream, cushim_buffer_pointer(buffer), 4096) == 7);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* The pool that is current for a place, by its native handle. */
static CUmemoryPool current_at(cushim_location place, int32_t memory) {
  cushim_resource current = new_pool_at(place, memory, CUSHIM_POOL_CURRENT);
  const CUmemoryPool native = native_of(current);
  CHECK_OK(cushim_resource_destroy(current));
  return native;
}

static void at(cushim_location place, int32_t memory, int kind) {
  cushim_resource start = new_pool_at(place, memory, CUSHIM_POOL_DEFAULT), own = new_pool_at(place, memory, CUSHIM_POOL_OWN);
  CHECK(kind_of(start) == kind && kind_of(own) == kind);
  CHECK(native_of(own) != native_of(start) && current_at(place, memory) == native_of(start));
  memory_comes_and_goes(start);
  memory_comes_and_goes(own);
  CHECK_OK(cushim_device_set_location_pool(all.device, &place, memory, own));
  CHECK(current_at(place, memory) == native_of(own));
  CHECK_OK(cushim_device_set_location_pool(all.device, &place, memory, NULL));
  CHECK(current_at(place, memory) == native_of(start));
  CHECK_OK(cushim_device_set_location_pool(all.device, &place, memory, own));
  CHECK_OK(cushim_resource_destroy(own)); /* the one from the start follows */
  CHECK(current_at(place, memory) == native_of(start));
  CHECK_OK(cushim_resource_destroy(start));
}

static void refusals(void) {
  cushim_location nowhere = {CUSHIM_LOCATION_UNSET, 0}, far = cushim_location_device(99), own = cushim_location_device(0);
  cushim_resource resource = NULL, plain = NULL;
  REFUSED(pool_at(nowhere, CUSHIM_POOL_PINNED, CUSHIM_POOL_DEFAULT, &resource));
  CHECK(resource == NULL);
  REFUSED(pool_at(own, 0, CUSHIM_POOL_DEFAULT, &resource));
  CHECK_CONTAINS(last_message(), "CUSHIM_POOL_MANAGED");
  REFUSED(pool_at(own, CUSHIM_POOL_PINNED, 9, &resource));
  CHECK_CONTAINS(last_message(), "choice is 9");
  CHECK(pool_at(far, CUSHIM_POOL_PINNED, CUSHIM_POOL_DEFAULT, &resource) != CUSHIM_SUCCESS);
  REFUSED(cushim_resource_create_location_pool(all.device, NULL, CUSHIM_POOL_PINNED, CUSHIM_POOL_DEFAULT, &resource));
  REFUSED(cushim_device_set_location_pool(all.device, &nowhere, CUSHIM_POOL_PINNED, NULL));
  REFUSED(cushim_device_set_location_pool(all.device, &own, 3, NULL));
  if (is_none(all.driver)) return;
  CHECK_OK(cushim_resource_create_device(all.context, &plain));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_set_location_pool(all.device, &own, CUSHIM_POOL_PINNED, plain));
  CHECK_CONTAINS(last_message(), "is no pool");
  CHECK_OK(cushim_resource_destroy(plain));
}

/* What 13.2 tells of a pool beside its numbers. */
static void attributes(void) {
  cushim_resource pool = NULL;
  cushim_device_pool_options options;
  uint64_t value = 77;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.choice = CUSHIM_POOL_OWN;
  options.handle_types = 1;
  options.max_size = version < 12020 ? 0 : 64 << 20;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  if (version < 13020) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_get_attribute(pool, CUSHIM_POOL_MAX_SIZE, &value));
    CHECK(value == 0);
    CHECK_CONTAINS(last_message(), "13.2");
    CHECK_OK(cushim_resource_destroy(pool));
    return;
  }
#define ATTRIBUTE(which, expected) CHECK_OK(cushim_resource_get_attribute(pool, which, &value)); CHECK(value == (expected))
  ATTRIBUTE(CUSHIM_POOL_ALLOCATION_TYPE, CUSHIM_POOL_PINNED);
  ATTRIBUTE(CUSHIM_POOL_HANDLE_TYPES, 1);
  ATTRIBUTE(CUSHIM_POOL_LOCATION_KIND, CUSHIM_LOCATION_DEVICE);
  ATTRIBUTE(CUSHIM_POOL_LOCATION_ID, 0);
  ATTRIBUTE(CUSHIM_POOL_MAX_SIZE, 64 << 20);
  ATTRIBUTE(CUSHIM_POOL_HARDWARE_DECOMPRESSION, 0);
  REFUSED(cushim_resource_set_attribute(pool, CUSHIM_POOL_MAX_SIZE, 1));
  CHECK_CONTAINS(last_message(), "can only be read");
  CHECK_OK(cushim_resource_destroy(pool));
}

int main(void) {
  cushim_location host = cushim_location_host(), node = cushim_location_host_numa(0), own = cushim_location_device(0);
  cushim_resource resource = NULL;
  check_begin();
  all = open_objects();
  version = getenv("CHECK_VERSION") == NULL ? 0 : atoi(getenv("CHECK_VERSION"));
  refusals();
  if (!is_none(all.driver)) {
    at(own, CUSHIM_POOL_PINNED, CUSHIM_RESOURCE_DEVICE_POOL);
    attributes();
    if (version < 13000) {
      CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, pool_at(host, CUSHIM_POOL_PINNED, CUSHIM_POOL_DEFAULT, &resource));
      CHECK_CONTAINS(last_message(), "13.0");
      CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_set_location_pool(all.device, &own, CUSHIM_POOL_MANAGED, NULL));
    } else {
      at(host, CUSHIM_POOL_PINNED, CUSHIM_RESOURCE_PINNED_POOL);
      at(node, CUSHIM_POOL_PINNED, CUSHIM_RESOURCE_PINNED_POOL);
      at(own, CUSHIM_POOL_MANAGED, CUSHIM_RESOURCE_MANAGED_POOL);
      resource = new_pool_at(host, CUSHIM_POOL_PINNED, CUSHIM_POOL_OWN);
      CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_device_set_location_pool(all.device, &own, CUSHIM_POOL_PINNED, resource));
      CHECK_OK(cushim_resource_destroy(resource));
    }
  }
  close_objects(&all);
  return check_done();
}
