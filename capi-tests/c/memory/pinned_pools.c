/*
 * Pools of page-locked memory that processes share: on the NUMA node of the host that is the device's own, whatever the device; and
 * the memory in another process, which reads and writes it without the driver.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

#include <sys/syscall.h>

enum { WHOLE = 1 << 20, SIZE = CUSHIM_DESCRIPTOR_BYTES, FILES = 1, NODE_OF_ADDRESS = 3, UNKNOWN_NODE = -1 };

static struct objects all;

static cushim_resource shared_pool_in(cushim_context context) {
  cushim_pinned_options options = PINNED_OPTIONS;
  cushim_resource pool = NULL;
  options.handle_types = FILES;
  CHECK_OK(cushim_resource_create_pinned(context, &options, &pool));
  return pool;
}

static unsigned char *bytes_of(cushim_buffer buffer) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  return (unsigned char *)(uintptr_t)pointer;
}

/* The node on which the system has put the page, which is there; UNKNOWN_NODE if the system does not say. */
static int node_of_page(unsigned char *page) {
  int node = UNKNOWN_NODE;
#if defined SYS_get_mempolicy && defined SYS_move_pages
  void *pages[1];
  pages[0] = page;
  if (syscall(SYS_get_mempolicy, &node, NULL, 0ul, page, (unsigned long)NODE_OF_ADDRESS) == 0) return node;
  if (syscall(SYS_move_pages, 0, 1ul, pages, NULL, &node, 0) == 0 && node >= 0) return node;
#else
  (void)page;
#endif
  return UNKNOWN_NODE;
}

/* A driver tells where a pool is from 13.2 on, and the system where its pages are, unless that is not for the process to know. */
static void check_node(int32_t ordinal, cushim_resource pool, cushim_buffer buffer, int32_t expected) {
  uint64_t value = 0;
  int node, is_told = 0;
  bytes_of(buffer)[0] = 1;
  node = node_of_page(bytes_of(buffer));
  if (node != UNKNOWN_NODE) CHECK(node == expected);
  if (cushim_resource_get_attribute(pool, CUSHIM_POOL_LOCATION_KIND, &value) == CUSHIM_SUCCESS) {
    CHECK(value == CUSHIM_LOCATION_HOST_NUMA);
    CHECK_OK(cushim_resource_get_attribute(pool, CUSHIM_POOL_LOCATION_ID, &value));
    CHECK((int32_t)value == expected);
    is_told = 1;
  }
  printf("  device %d is at NUMA node %d; the pages are on node %d%s\n", (int)ordinal, (int)expected, node, is_told ? ", and the pool says so" : "");
}

static void is_on_the_node_of(int32_t ordinal) {
  cushim_device device = NULL;
  cushim_context context;
  cushim_stream stream;
  cushim_resource pool;
  cushim_buffer buffer = NULL;
  int32_t expected = UNKNOWN_NODE;
  CHECK_OK(cushim_driver_get_device(all.driver, ordinal, &device));
  CHECK_OK(cushim_device_get_attribute(device, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, &expected));
  CHECK(expected >= 0);
  context = primary_context(device);
  stream = new_stream(context);
  pool = shared_pool_in(context);
  CHECK_OK(cushim_buffer_create(pool, stream, WHOLE, &buffer));
  CHECK_OK(cushim_stream_synchronize(stream));
  check_node(ordinal, pool, buffer, expected);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
}

static int has_pools(void) {
  int32_t found = 0;
  CHECK_OK(cushim_device_supports(all.device, "host-memory-pools", &found));
  return found;
}

static void alone(void) {
  int32_t count = 0, ordinal;
  all = open_objects();
  if (has_pools()) {
    CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
    for (ordinal = 0; ordinal < count; ordinal++) is_on_the_node_of(ordinal);
  } else {
    cushim_pinned_options options = PINNED_OPTIONS;
    cushim_resource pool = NULL;
    options.handle_types = FILES;
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_pinned(all.context, &options, &pool));
    CHECK(pool == NULL);
  }
  close_objects(&all);
}

static void exports(void) {
  cushim_resource pool;
  cushim_buffer buffer = NULL;
  unsigned char handle[SIZE], contents[SIZE];
  int32_t file = -1;
  all = open_objects();
  pool = shared_pool_in(all.context);
  CHECK_OK(cushim_buffer_create(pool, all.stream, WHOLE, &buffer));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 7, WHOLE));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_buffer_export(buffer, contents, SIZE));
  CHECK_OK(cushim_resource_export(pool, handle, SIZE, &file));
  send_message(handle, SIZE, file);
  send_message(contents, SIZE, -1);
  CHECK(close(file) == 0);
  my_turn();
  CHECK(bytes_of(buffer)[0] == 77 && bytes_of(buffer)[WHOLE - 1] == 7);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_resource_destroy(pool));
  close_objects(&all);
}

static void imports(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL;
  cushim_memory_properties properties = CUSHIM_OPTIONS(cushim_memory_properties);
  unsigned char handle[SIZE], contents[SIZE];
  int file;
  all = open_objects();
  file = receive_message(handle, SIZE);
  receive_message(contents, SIZE);
  CHECK_OK(cushim_resource_import(all.device, handle, SIZE, file, &pool));
  CHECK(close(file) == 0);
  CHECK_OK(cushim_buffer_import(pool, all.stream, contents, SIZE, &buffer));
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.host_accessible == 1 && properties.device_accessible == 1);
  CHECK(bytes_of(buffer)[0] == 7 && bytes_of(buffer)[WHOLE - 1] == 7);
  bytes_of(buffer)[0] = 77;
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_resource_destroy(pool));
  close_objects(&all);
  your_turn();
}

static int shares_pages(cushim_driver driver) {
  (void)driver;
  all = open_objects();
  return has_pools();
}

int main(void) {
  check_begin();
  if (answers(is_none)) return check_done();
  if (answers(shares_pages)) in_two_processes(exports, imports, NOBODY);
  alone();
  return check_done();
}
