/* Resources: what each is, memory straight from it, pools and their peers, and functions of the program's own. */
#include "busy.h"
#include "control.h"
#include "resources.h"

#include <poll.h>
#include <unistd.h>

static struct objects all;
static const cushim_driver_table *cu;
static int version;

static cushim_memory_properties properties_of(cushim_resource resource) {
  cushim_memory_properties properties;
  memset(&properties, 0xee, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_resource_get_properties(resource, &properties));
  CHECK(properties.struct_size == sizeof properties && properties.reserved == 0);
  return properties;
}

static int kind_of(cushim_resource resource) {
  int32_t kind = 0;
  CHECK_OK(cushim_resource_get_kind(resource, &kind));
  return kind;
}

static uint64_t attribute_of(cushim_resource resource, int32_t attribute) {
  uint64_t value = 77;
  CHECK_OK(cushim_resource_get_attribute(resource, attribute, &value));
  return value;
}

/* The bytes come and go, and nothing else takes the stream's place. */
static void memory_comes_and_goes(cushim_resource resource) {
  const int ordered = properties_of(resource).stream_ordered;
  const cushim_status without = ordered ? CUSHIM_ERROR_STREAM_REQUIRED : CUSHIM_SUCCESS;
  uint64_t pointer = 7;
  CHECK_STATUS(without, cushim_resource_allocate(resource, NULL, BYTES, &pointer));
  CHECK((pointer == 0) == ordered);
  if (!ordered) CHECK_OK(cushim_resource_free(resource, NULL, pointer, BYTES));
  CHECK_OK(cushim_resource_allocate(resource, all.stream, BYTES, &pointer));
  if (!CHECK(pointer != 0)) return;
  CHECK_OK(fill_bytes(all.stream, pointer, 0x5a, BYTES));
  CHECK(last_byte(all.stream, pointer, BYTES) == 0x5a);
  if (ordered) {
    CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_resource_free(resource, NULL, pointer, BYTES));
    CHECK_CONTAINS(last_message(), "stream-ordered");
  }
  CHECK_OK(cushim_resource_free(resource, all.stream, pointer, BYTES));
  pointer = 7;
  CHECK_OK(cushim_resource_allocate(resource, all.stream, 0, &pointer));
  CHECK(pointer == 0);
  CHECK_OK(cushim_resource_free(resource, all.stream, 0, 0));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_resource_allocate(resource, all.stream, (size_t)1 << 50, &pointer));
  CHECK(pointer == 0);
  CHECK_CONTAINS(last_message(), "1125899906842624 bytes");
}

/* The driver says no more than that it does not like the argument. */
static void wrong_frees(void) {
  cushim_resource pool = NULL, synchronous = NULL, managed = NULL;
  uint64_t pointer = 0;
  CHECK_OK(cushim_resource_create_device_pool(all.device, NULL, &pool));
  CHECK_OK(cushim_resource_create_device(all.context, &synchronous));
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &managed));
  CHECK_OK(cushim_resource_allocate(pool, all.stream, BYTES, &pointer));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_resource_free(pool, all.stream, pointer + 8, BYTES));
  CHECK_CONTAINS(last_message(), "it was never allocated, or it was freed");
  CHECK_OK(cushim_resource_free(pool, all.stream, pointer, BYTES));
  CHECK_OK(cushim_resource_allocate(synchronous, NULL, BYTES, &pointer));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_resource_free(synchronous, NULL, pointer + 8, BYTES));
  CHECK_CONTAINS(last_message(), "it was never allocated, or it was freed");
  CHECK_OK(cushim_resource_free(synchronous, NULL, pointer, BYTES));
  CHECK_OK(cushim_resource_allocate(managed, NULL, BYTES, &pointer));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_resource_free(pool, all.stream, pointer, BYTES));
  CHECK_CONTAINS(last_message(), "is managed: it is freed without a stream");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_stream_free(all.stream, pointer));
  CHECK_CONTAINS(last_message(), "is managed: it is freed without a stream");
  CHECK_OK(cushim_resource_free(managed, NULL, pointer, BYTES));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_resource_destroy(synchronous));
  CHECK_OK(cushim_resource_destroy(managed));
}

static void device_pools(void) {
  static const int32_t choices[] = {CUSHIM_POOL_CURRENT, CUSHIM_POOL_DEFAULT, CUSHIM_POOL_OWN};
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  CUmemoryPool native = NULL, current = NULL;
  cushim_resource resource;
  size_t i;
  for (i = 0; i < 3; i++) {
    options.choice = choices[i];
    CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &resource));
    CHECK(kind_of(resource) == CUSHIM_RESOURCE_DEVICE_POOL);
    CHECK(properties_of(resource).device == 0 && properties_of(resource).device_accessible == 1);
    CHECK(properties_of(resource).host_accessible == 0 && properties_of(resource).managed == 0);
    CHECK_OK(cushim_resource_native(resource, &native));
    CHECK_STATUS(CUDA_SUCCESS, cu->cuDeviceGetMemPool_11020(&current, 0));
    CHECK((native == current) == (choices[i] != CUSHIM_POOL_OWN));
    memory_comes_and_goes(resource);
    CHECK_OK(cushim_resource_destroy(resource));
  }
  options.choice = 3;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK(resource == NULL);
  options.choice = CUSHIM_POOL_OWN;
  options.handle_types = 16;
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK_CONTAINS(last_message(), "handle types 0x10");
  options.handle_types = 0;
  options.choice = CUSHIM_POOL_CURRENT;
  options.max_size = 1 << 20;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK_CONTAINS(last_message(), "shared");
}

/* A pool of one's own has a greatest size since driver 12.2; an older driver would ignore it, or take it for something else. */
static void a_limited_pool(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  options.choice = CUSHIM_POOL_OWN;
  options.max_size = SIZE_MAX; /* a driver may not come back */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK_CONTAINS(last_message(), "ask for less, or for 0, which is no limit");
  options.max_size = (size_t)1 << 47;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_device_pool(all.device, &options, &resource));
  options.max_size = 64 << 20;
  if (version < 12020) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_device_pool(all.device, &options, &resource));
    CHECK_CONTAINS(last_message(), "12.2");
    CHECK(resource == NULL);
    return;
  }
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create(resource, all.stream, 65 << 20, &buffer));
  CHECK_CONTAINS(last_message(), "68157440 bytes");
  CHECK_OK(cushim_buffer_create(resource, all.stream, 1 << 20, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* What somebody else created, borrowed and then given away. */
static void wrapped_pools(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource own, wrapped;
  CUmemoryPool native = NULL;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &own));
  CHECK_OK(cushim_resource_native(own, &native));
  CHECK_OK(cushim_resource_wrap_pool(all.device, native, CUSHIM_BORROWED, &wrapped));
  memory_comes_and_goes(wrapped);
  CHECK_OK(cushim_resource_destroy(wrapped));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_wrap_pool(all.device, native, CUSHIM_OWNED, &wrapped));
  CHECK(wrapped == NULL);
  CHECK_CONTAINS(last_message(), "owns this native handle already");
  memory_comes_and_goes(own);
  CHECK_OK(cushim_resource_destroy(own));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_wrap_pool(all.device, NULL, CUSHIM_BORROWED, &wrapped));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_wrap_pool(all.device, native, 2, &wrapped));
}

/* A pool that the program made and gives away: one resource owns it, and destroys it. */
static void given_pool(void) {
  const cushim_driver_table *table = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CUmemPoolProps properties;
  cushim_resource borrowed, owning, second;
  CUmemoryPool native = NULL;
  if (table->cuMemPoolCreate_11020 == NULL) return;
  memset(&properties, 0, sizeof properties);
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (table->cuMemPoolCreate_11020(&native, &properties) != CUDA_SUCCESS) return; /* a device without pools */
  CHECK_OK(cushim_resource_wrap_pool(all.device, native, CUSHIM_BORROWED, &borrowed));
  CHECK_OK(cushim_resource_wrap_pool(all.device, native, CUSHIM_OWNED, &owning));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_wrap_pool(all.device, native, CUSHIM_OWNED, &second));
  CHECK(second == NULL);
  memory_comes_and_goes(borrowed);
  CHECK_OK(cushim_resource_destroy(borrowed));
  memory_comes_and_goes(owning);
  CHECK_OK(cushim_resource_destroy(owning)); /* what lives at the end is a failure */
}

/* Another context, and a pool that comes and goes. */
static void another_pool(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_context context;
  cushim_resource pool;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_context_destroy(context));
}

enum late_free { NOTHING_LATE, LATE_IN_STREAM, LATE_AT_ONCE };

/* A pool whose handle is destroyed while memory of it is still to be freed by the stream, and by the program. */
static void a_pool_that_ends_late(enum late_free late) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource pool;
  cushim_buffer buffer;
  struct busy busy;
  uint64_t pointer = 0;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, BYTES, &buffer));
  if (late != NOTHING_LATE) CHECK_OK(cushim_resource_allocate(pool, all.stream, BYTES, &pointer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(pool));
  busy_end(&busy);
  if (late == LATE_IN_STREAM) CHECK_OK(cushim_stream_free(all.stream, pointer));
  if (late == LATE_AT_ONCE) CHECK_OK(cushim_context_free(all.context, pointer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  another_pool();
}

/* Driver 580 crashes where a pool is destroyed before its memory is free, and others follow. */
static void pools_end_when_their_memory_is_back(void) {
  struct control control;
  int i;
  a_pool_that_ends_late(NOTHING_LATE);
  a_pool_that_ends_late(LATE_IN_STREAM);
  a_pool_that_ends_late(LATE_AT_ONCE);
  if (!find_control(&control)) return;
  for (i = 0; i < 5000 && control.live("memory pool") > 0; i++) usleep(1000);
  CHECK(control.live("memory pool") == 0);
}

static void attributes(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource pool, synchronous;
  CUmemoryPool native = NULL;
  uint64_t pointer = 0, value = 7, others = 1 << 20;
  int attribute;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  for (attribute = 1; attribute <= 3; attribute++) {
    CHECK(attribute_of(pool, attribute) == 1);
    CHECK_OK(cushim_resource_set_attribute(pool, attribute, 0));
    CHECK(attribute_of(pool, attribute) == 0);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_set_attribute(pool, attribute, 2));
  }
  CHECK(attribute_of(pool, CUSHIM_POOL_RELEASE_THRESHOLD) == 0);
  CHECK_OK(cushim_resource_set_attribute(pool, CUSHIM_POOL_RELEASE_THRESHOLD, UINT64_MAX));
  CHECK(attribute_of(pool, CUSHIM_POOL_RELEASE_THRESHOLD) == UINT64_MAX);
  /* It is the driver that knows: what others set is read. */
  CHECK_OK(cushim_resource_native(pool, &native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemPoolSetAttribute_11020(native, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &others));
  CHECK(attribute_of(pool, CUSHIM_POOL_RELEASE_THRESHOLD) == others);
  CHECK_OK(cushim_resource_set_attribute(pool, CUSHIM_POOL_RELEASE_THRESHOLD, UINT64_MAX));
  CHECK_OK(cushim_resource_allocate(pool, all.stream, BYTES, &pointer));
  CHECK(attribute_of(pool, CUSHIM_POOL_USED_CURRENT) >= BYTES && attribute_of(pool, CUSHIM_POOL_USED_HIGH) >= BYTES);
  CHECK(attribute_of(pool, CUSHIM_POOL_RESERVED_CURRENT) >= BYTES);
  CHECK_OK(cushim_resource_free(pool, all.stream, pointer, BYTES));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(attribute_of(pool, CUSHIM_POOL_USED_CURRENT) == 0 && attribute_of(pool, CUSHIM_POOL_USED_HIGH) >= BYTES);
  CHECK(attribute_of(pool, CUSHIM_POOL_RESERVED_CURRENT) >= BYTES);
  CHECK_OK(cushim_resource_trim(pool, 0));
  CHECK(attribute_of(pool, CUSHIM_POOL_RESERVED_CURRENT) == 0);
  CHECK_OK(cushim_resource_set_attribute(pool, CUSHIM_POOL_USED_HIGH, 0));
  CHECK(attribute_of(pool, CUSHIM_POOL_USED_HIGH) == 0);
  CHECK_OK(cushim_resource_set_attribute(pool, CUSHIM_POOL_RESERVED_HIGH, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_set_attribute(pool, CUSHIM_POOL_USED_HIGH, 5));
  CHECK_CONTAINS(last_message(), "CUSHIM_POOL_USED_HIGH cannot be set to 5");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_set_attribute(pool, CUSHIM_POOL_RESERVED_CURRENT, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_get_attribute(pool, 15, &value));
  CHECK(value == 0);
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_resource_create_device(all.context, &synchronous));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_get_attribute(synchronous, 4, &value));
  CHECK_CONTAINS(last_message(), "is no pool");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_set_attribute(synchronous, 4, 1));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_trim(synchronous, 0));
  CHECK_OK(cushim_resource_destroy(synchronous));
}

/* All are checked before anything changes: the good one is not taken out either. */
static void one_bad_peer(cushim_resource pool, cushim_device good) {
  cushim_driver_options options;
  cushim_driver none;
  cushim_device two[2], found[8];
  size_t before = 0, after = 0;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  two[0] = good;
  two[1] = first_device(none);
  CHECK_OK(cushim_resource_get_peers(pool, found, 8, &before));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_resource_remove_peers(pool, two, 2));
  CHECK_CONTAINS(last_message(), "different drivers");
  CHECK(last_detail()->item == 1);
  CHECK_OK(cushim_resource_get_peers(pool, found, 8, &after));
  CHECK(before == after && is_same(found[0], good));
  CHECK_OK(cushim_driver_destroy(none));
}

/* The device itself is never a peer, and a set that is as wanted already costs no call. */
static void peers(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_device others[8], devices[8];
  cushim_resource pool;
  int32_t count = 0, reaches = 0;
  size_t found = 7, named = 0;
  int i;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  CHECK_OK(cushim_resource_get_peers(pool, NULL, 0, &found));
  CHECK(found == 0);
  CHECK_OK(cushim_resource_set_peers(pool, &all.device, 1));
  for (i = 1; i < count && i < 8; i++) {
    CHECK_OK(cushim_driver_get_device(all.driver, i, &others[named]));
    CHECK_OK(cushim_device_can_access_peer(others[named], all.device, &reaches));
    if (reaches) named++;
  }
  CHECK_OK(cushim_resource_add_peers(pool, others, named));
  CHECK_OK(cushim_resource_get_peers(pool, devices, 8, &found));
  CHECK(found == named);
  for (i = 0; i < (int)found; i++) CHECK(is_same(devices[i], others[i]));
  if (named > 0) one_bad_peer(pool, others[0]);
  CHECK_OK(cushim_resource_remove_peers(pool, others, named > 0 ? 1 : 0));
  CHECK_OK(cushim_resource_get_peers(pool, devices, 8, &found));
  CHECK(found == (named > 0 ? named - 1 : 0));
  CHECK_OK(cushim_resource_set_peers(pool, NULL, 0));
  CHECK_OK(cushim_resource_get_peers(pool, devices, 8, &found));
  CHECK(found == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_add_peers(pool, NULL, 1));
  CHECK(last_detail()->item == -1);
  devices[0] = all.device;
  devices[1] = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_resource_add_peers(pool, devices, 2));
  CHECK_CONTAINS(last_message(), "item 1: ");
  CHECK(last_detail()->item == 1);
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_get_peers(all.resource, devices, 8, &found));
  CHECK(found == 0);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_add_peers(all.resource, &all.device, 1));
}

static void pinned(void) {
  cushim_pinned_options options = PINNED_OPTIONS;
  cushim_resource resource;
  int32_t has_pools = -1;
  CHECK_OK(cushim_device_supports(all.device, "host-memory-pools", &has_pools));
  CHECK(has_pools == 0 || version >= 13000);
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &resource));
  CHECK(kind_of(resource) == (has_pools ? CUSHIM_RESOURCE_PINNED_POOL : CUSHIM_RESOURCE_PINNED));
  CHECK(properties_of(resource).device == -1 && properties_of(resource).host_accessible == 1);
  CHECK(properties_of(resource).device_accessible == 1 && properties_of(resource).stream_ordered == has_pools);
  memory_comes_and_goes(resource);
  CHECK_OK(cushim_resource_destroy(resource));
  options.form = CUSHIM_PINNED_SYNCHRONOUS;
  options.flags = CUSHIM_HOST_WRITE_COMBINED;
  CHECK_OK(cushim_resource_create_pinned(all.context, &options, &resource));
  CHECK(kind_of(resource) == CUSHIM_RESOURCE_PINNED && properties_of(resource).stream_ordered == 0);
  memory_comes_and_goes(resource);
  CHECK_OK(cushim_resource_destroy(resource));
  options.max_size = 1 << 20;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_pinned(all.context, &options, &resource));
  options.form = 3;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_pinned(all.context, &options, &resource));
  if (has_pools) {
    options = PINNED_OPTIONS;
    options.own_pool = 1; /* on node 0 */
    options.max_size = 64 << 20;
    CHECK_OK(cushim_resource_create_pinned(all.context, &options, &resource));
    CHECK(kind_of(resource) == CUSHIM_RESOURCE_PINNED_POOL && properties_of(resource).stream_ordered == 1);
    memory_comes_and_goes(resource);
    CHECK_OK(cushim_resource_destroy(resource));
    options.max_size = SIZE_MAX;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_pinned(all.context, &options, &resource));
    CHECK_CONTAINS(last_message(), "ask for less");
    return;
  }
  options.form = CUSHIM_PINNED_POOL;
  options.max_size = 0;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_pinned(all.context, &options, &resource));
  CHECK(resource == NULL);
  CHECK_CONTAINS(last_message(), "13.0");
}

static void managed_memory(void) {
  cushim_managed_options options = MANAGED_OPTIONS;
  cushim_resource resource;
  int32_t has_pools = -1;
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &resource));
  CHECK(kind_of(resource) == CUSHIM_RESOURCE_MANAGED && properties_of(resource).managed == 1);
  CHECK(properties_of(resource).host_accessible == 1 && properties_of(resource).device_accessible == 1);
  memory_comes_and_goes(resource);
  CHECK_OK(cushim_resource_destroy(resource));
  options.flags = 2;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_managed(all.context, &options, &resource));
  options.flags = CUSHIM_MANAGED_ATTACH_HOST;
  CHECK_OK(cushim_resource_create_managed(all.context, &options, &resource));
  CHECK_OK(cushim_resource_destroy(resource));
  options.pool_location.kind = CUSHIM_LOCATION_DEVICE;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_managed(all.context, &options, &resource));
  options.flags = 0;
  options.pool_location.id = 99;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_create_managed(all.context, &options, &resource));
  options.pool_location.id = 0;
  CHECK_OK(cushim_device_supports(all.device, "managed-memory-pools", &has_pools));
  if (!has_pools) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_managed(all.context, &options, &resource));
    CHECK_CONTAINS(last_message(), "13.0");
    return;
  }
  CHECK_OK(cushim_resource_create_managed(all.context, &options, &resource));
  CHECK(kind_of(resource) == CUSHIM_RESOURCE_MANAGED_POOL && properties_of(resource).stream_ordered == 1);
  memory_comes_and_goes(resource);
  CHECK_OK(cushim_resource_destroy(resource));
}

static void set_later(void *flag) {
  (void)poll(NULL, 0, 30); /* while the program waits */
  __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST);
}

/* Whether the work that the stream has is done; it takes a while. */
static int late_work(int *flag) {
  *flag = 0;
  CHECK_OK(cushim_stream_launch_host_function(all.stream, set_later, flag, NULL));
  return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

/* A free that is not stream-ordered waits for the stream that is named, and for none that is not good. */
static void waits_for_the_stream(cushim_resource resource) {
  static int flag;
  cushim_stream gone = new_stream(all.context);
  cushim_buffer buffer = NULL;
  uint64_t pointer = 0;
  CHECK_OK(cushim_stream_destroy(gone));
  CHECK_OK(cushim_resource_allocate(resource, NULL, BYTES, &pointer));
  CHECK(late_work(&flag) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_resource_free(resource, gone, pointer, BYTES));
  CHECK_OK(fill_bytes(all.stream, pointer, 1, BYTES)); /* it is still there */
  CHECK_OK(cushim_resource_free(resource, all.stream, pointer, BYTES));
  CHECK(__atomic_load_n(&flag, __ATOMIC_SEQ_CST) == 1);
  CHECK_OK(cushim_buffer_create(resource, NULL, BYTES, &buffer));
  CHECK(late_work(&flag) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_buffer_destroy_on(buffer, gone));
  CHECK_OK(cushim_buffer_destroy_on(buffer, all.stream));
  CHECK(__atomic_load_n(&flag, __ATOMIC_SEQ_CST) == 1);
}

static void synchronous(void) {
  cushim_resource resource, more;
  cushim_driver driver;
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK(kind_of(resource) == CUSHIM_RESOURCE_DEVICE && properties_of(resource).stream_ordered == 0);
  CHECK_OK(cushim_set_label(resource, "plain"));
  CHECK_CONTAINS(description(resource), "plain");
  CHECK_OK(cushim_resource_get_driver(resource, &driver));
  CHECK(is_same(driver, all.driver));
  memory_comes_and_goes(resource);
  waits_for_the_stream(resource);
  CHECK_OK(cushim_resource_ref(resource, &more));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_resource_destroy(resource));
  memory_comes_and_goes(more);
  CHECK_OK(cushim_resource_destroy(more));
}

/* A device's own resource, until it is told another. */
static void of_the_device(void) {
  const cushim_resource_functions nothing = {sizeof nothing, NULL, NULL, NULL, NULL, NULL};
  cushim_resource first, again;
  cushim_buffer buffer;
  uint64_t pointer = 0;
  CHECK_OK(cushim_device_get_resource(all.device, &first));
  CHECK_OK(cushim_device_get_resource(all.device, &again));
  CHECK(first == again && kind_of(first) == CUSHIM_RESOURCE_DEVICE_POOL);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_create_default(all.device, NULL, BYTES, &buffer));
  CHECK(buffer == NULL);
  CHECK_OK(cushim_buffer_create_default(all.device, all.stream, BYTES, &buffer));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  CHECK(pointer != 0);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create_default(all.device, all.stream, (size_t)1 << 50, &buffer));
  CHECK_OK(cushim_resource_create_device(all.context, &again));
  CHECK_OK(cushim_device_set_resource(all.device, again));
  CHECK_OK(cushim_resource_destroy(again));
  CHECK_OK(cushim_buffer_create_default(all.device, NULL, BYTES, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_create_custom(all.driver, &nothing, &again));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_device_set_resource(all.device, again));
  CHECK_CONTAINS(last_message(), "no device reaches");
  CHECK_OK(cushim_resource_destroy(again));
  CHECK_OK(cushim_device_set_resource(all.device, NULL));
}

/* The program's functions: each is called when it should be, once, and with what it should be. */
struct calls {
  int allocated, freed, destroyed, asked;
  int ordered, fails;
  uint64_t pointer;
  size_t bytes;
  int had_stream;
  cushim_buffer other; /* of the same resource, which a free asks about */
};

static cushim_status count_allocate(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer) {
  struct calls *calls = (struct calls *)user;
  calls->allocated++;
  calls->had_stream = stream != NULL;
  if (calls->fails) return calls->fails;
  *pointer = calls->pointer = (uint64_t)(uintptr_t)malloc(bytes);
  return CUSHIM_SUCCESS;
}

/* What a lock would not let through: the objects that the free is about, and the thread's own. */
static void no_lock_is_held(cushim_buffer other) {
  cushim_resource resource = NULL;
  cushim_buffer more = NULL;
  uint64_t count = 0;
  int32_t kind = 0;
  CHECK_OK(cushim_buffer_get_resource(other, &resource));
  CHECK_OK(cushim_resource_get_kind(resource, &kind));
  CHECK(kind == CUSHIM_RESOURCE_CUSTOM);
  CHECK_OK(cushim_buffer_ref(other, &more));
  CHECK_OK(cushim_buffer_set_stream(more, all.stream));
  CHECK_OK(cushim_buffer_destroy(more));
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &count));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static cushim_status count_deallocate(void *user, cushim_stream stream, uint64_t pointer, size_t bytes) {
  struct calls *calls = (struct calls *)user;
  calls->freed++;
  calls->had_stream = stream != NULL;
  calls->bytes = bytes;
  CHECK(pointer == calls->pointer);
  free((void *)(uintptr_t)pointer);
  if (calls->other != NULL) no_lock_is_held(calls->other);
  return calls->fails;
}

static cushim_status count_properties(void *user, cushim_memory_properties *properties) {
  struct calls *calls = (struct calls *)user;
  calls->asked++;
  CHECK(properties->device == -1 && properties->host_accessible == 1 && properties->device_accessible == 0);
  properties->stream_ordered = calls->ordered;
  return calls->fails;
}

static void count_destroy(void *user) { __atomic_add_fetch(&((struct calls *)user)->destroyed, 1, __ATOMIC_SEQ_CST); }

static cushim_status custom_resource(struct calls *calls, cushim_resource *resource) {
  cushim_resource_functions functions;
  memset(&functions, 0, sizeof functions);
  functions.struct_size = sizeof functions;
  functions.user = calls;
  functions.allocate = count_allocate;
  functions.free = count_deallocate;
  functions.properties = count_properties;
  functions.destroy = count_destroy;
  return cushim_resource_create_custom(all.driver, &functions, resource);
}

static void custom(void) {
  struct calls calls;
  cushim_resource resource;
  cushim_buffer buffer;
  uint64_t pointer = 0, unreported = 0, now = 0;
  memset(&calls, 0, sizeof calls);
  CHECK_OK(custom_resource(&calls, &resource));
  CHECK(calls.asked == 1 && kind_of(resource) == CUSHIM_RESOURCE_CUSTOM);
  CHECK_OK(cushim_resource_allocate(resource, NULL, 0, &pointer));
  CHECK(pointer == 0 && calls.allocated == 0);
  CHECK_OK(cushim_resource_allocate(resource, NULL, 64, &pointer));
  CHECK(pointer == calls.pointer && calls.allocated == 1 && !calls.had_stream);
  CHECK_OK(cushim_resource_free(resource, all.stream, pointer, 64));
  CHECK(calls.freed == 1 && calls.had_stream && calls.bytes == 64);
  calls.fails = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create(resource, NULL, 64, &buffer));
  CHECK(buffer == NULL);
  calls.fails = 0;
  /* Where no device reaches it, no stream sets it. */
  CHECK_OK(cushim_buffer_create(resource, NULL, 64, &buffer));
  if (version != 0) {
    const cushim_status filled = fill_buffer(all.stream, buffer, 0, 7, 64);
    CHECK(filled == CUSHIM_SUCCESS || filled == CUSHIM_ERROR_INVALID_ARGUMENT); /* some devices reach all memory */
    if (filled != CUSHIM_SUCCESS) CHECK_CONTAINS(last_message(), "set it on the host");
  }
  CHECK_OK(cushim_buffer_destroy(buffer));
  calls.freed = 1;
  /* The destroy that frees answers for it; a wrapped buffer goes with "no stream". */
  CHECK_OK(cushim_resource_allocate(resource, NULL, 64, &pointer));
  CHECK_OK(cushim_buffer_wrap(all.driver, all.stream, pointer, 64, resource, NULL, &buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK(calls.destroyed == 0);
  calls.fails = CUSHIM_ERROR_INTERNAL;
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &unreported));
  CHECK_STATUS(CUSHIM_ERROR_INTERNAL, cushim_buffer_destroy(buffer));
  CHECK_CONTAINS(last_message(), "64 bytes at 0x");
  CHECK(calls.freed == 2 && !calls.had_stream);
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &now));
  CHECK(now == unreported);
  flush_callbacks();
  CHECK(__atomic_load_n(&calls.destroyed, __ATOMIC_SEQ_CST) == 1);
  /* What fails at once is never destroyed. */
  calls.fails = CUSHIM_ERROR_UNSUPPORTED;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, custom_resource(&calls, &resource));
  CHECK(resource == NULL && calls.destroyed == 1);
}

/* A free may call the library, also about objects of its own resource. */
static void custom_without_locks(void) {
  struct calls calls;
  cushim_resource resource;
  cushim_buffer buffer;
  uint64_t of_other;
  memset(&calls, 0, sizeof calls);
  CHECK_OK(custom_resource(&calls, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, 64, &calls.other));
  of_other = calls.pointer;
  CHECK_OK(cushim_buffer_create(resource, NULL, 64, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(calls.freed == 1);
  buffer = calls.other;
  calls.other = NULL;
  calls.pointer = of_other;
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(calls.freed == 2);
  CHECK_OK(cushim_resource_destroy(resource));
  flush_callbacks();
}

/* A stream-ordered one is given the stream, and needs it. */
static void custom_in_stream_order(void) {
  struct calls calls;
  cushim_resource resource;
  cushim_buffer buffer;
  uint64_t pointer = 7;
  memset(&calls, 0, sizeof calls);
  calls.ordered = 1;
  CHECK_OK(custom_resource(&calls, &resource));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_resource_allocate(resource, NULL, 64, &pointer));
  CHECK(pointer == 0 && calls.allocated == 0);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_create(resource, NULL, 64, &buffer));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_wrap(all.driver, NULL, 64, 64, resource, NULL, &buffer));
  CHECK_OK(cushim_buffer_create(resource, all.stream, 64, &buffer));
  CHECK(calls.had_stream);
  calls.had_stream = 0;
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(calls.had_stream && calls.freed == 1);
  CHECK_OK(cushim_resource_destroy(resource));
  flush_callbacks();
  CHECK(calls.destroyed == 1);
}

/* What the functions may leave out. */
static void custom_without_functions(void) {
  cushim_resource_functions functions;
  cushim_resource resource;
  uint64_t pointer = 7;
  memset(&functions, 0, sizeof functions);
  functions.struct_size = sizeof functions;
  CHECK_OK(cushim_resource_create_custom(all.driver, &functions, &resource));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_allocate(resource, NULL, 64, &pointer));
  CHECK_CONTAINS(last_message(), "no allocate function");
  CHECK_OK(cushim_resource_free(resource, NULL, 64, 64));
  CHECK_OK(cushim_resource_destroy(resource));
}

int main(void) {
  check_begin();
  all = open_objects();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  version = info_of(all.driver).version;
  custom();
  custom_without_locks();
  custom_in_stream_order();
  custom_without_functions();
  if (version != 0) {
    device_pools();
    wrong_frees();
    a_limited_pool();
    wrapped_pools();
    given_pool();
    pools_end_when_their_memory_is_back();
    attributes();
    peers();
    pinned();
    managed_memory();
    synchronous();
    of_the_device();
  }
  close_objects(&all);
  return check_done();
}
