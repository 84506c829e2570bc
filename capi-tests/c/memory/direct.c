/*
 * Memory that other devices on the bus reach: dma-bufs of buffers, synchronous operations, flushes. What the device does not offer, by its
 * attributes, is refused; what it offers works.
 */
#include "objects.h"
#include "resources.h"

#include <sys/stat.h>

enum { PAGE = 4096, WHOLE = 1 << 21 };

static struct objects all;

#define REFUSED(call) CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call)

static int attribute(int which) {
  int32_t value = 0;
  if (cushim_device_get_attribute(all.device, (CUdevice_attribute)which, &value) != CUSHIM_SUCCESS) return 0;
  return value;
}

static cushim_buffer buffer_of(cushim_resource resource, size_t bytes) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(resource, all.stream, bytes, &buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  return buffer;
}

static void dma_bufs(cushim_buffer buffer, cushim_buffer on_host) {
  int32_t file = 7;
  cushim_status status;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_export_dma_buf(on_host, 0, PAGE, 0, &file));
  CHECK(file == 0);
  CHECK_CONTAINS(last_message(), "no memory of a device's own");
  REFUSED(cushim_buffer_export_dma_buf(buffer, 0, PAGE, 2, &file));
  REFUSED(cushim_buffer_export_dma_buf(buffer, 0, PAGE, 0, NULL));
  if (attribute(124) == 0) { /* DMA_BUF_SUPPORTED */
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_export_dma_buf(buffer, 0, WHOLE, 0, &file));
    CHECK_CONTAINS(last_message(), "DMA_BUF_SUPPORTED");
    return;
  }
  REFUSED(cushim_buffer_export_dma_buf(buffer, 0, 0, 0, &file));
  REFUSED(cushim_buffer_export_dma_buf(buffer, 0, WHOLE + PAGE, 0, &file));
  REFUSED(cushim_buffer_export_dma_buf(buffer, PAGE, WHOLE, 0, &file));
  REFUSED(cushim_buffer_export_dma_buf(buffer, PAGE, SIZE_MAX, 0, &file));
  REFUSED(cushim_buffer_export_dma_buf(buffer, 256, PAGE, 0, &file));
  CHECK_CONTAINS(last_message(), "multiples of 4096");
  REFUSED(cushim_buffer_export_dma_buf(buffer, 0, 100, 0, &file));
  CHECK(file == 0);
  status = cushim_buffer_export_dma_buf(buffer, 0, WHOLE, 0, &file);
  printf("dma-buf: %d %s\n", (int)status, status == 0 ? "" : last_message());
  if (status == CUSHIM_SUCCESS) CHECK(file > 0 && close(file) == 0);
}

static int is_synchronous(cushim_buffer buffer) {
  int32_t on = 7;
  CHECK_OK(cushim_buffer_get_sync_memops(buffer, &on));
  return on;
}

static void synchronous_operations(cushim_resource pool, cushim_resource plain, cushim_buffer on_host) {
  cushim_buffer buffer = buffer_of(plain, WHOLE), empty = buffer_of(pool, 0), shared, grows;
  cushim_resource managed = NULL, space = NULL;
  int32_t on = 7;
  CHECK(is_synchronous(buffer) == 0);
  CHECK_OK(cushim_buffer_set_sync_memops(buffer, 1));
  CHECK(is_synchronous(buffer) == 1);
  CHECK_OK(cushim_buffer_set_sync_memops(buffer, 0));
  CHECK(is_synchronous(buffer) == 0);
  REFUSED(cushim_buffer_set_sync_memops(buffer, 2));
  REFUSED(cushim_buffer_get_sync_memops(buffer, NULL));
  REFUSED(cushim_buffer_set_sync_memops(empty, 1));
  CHECK_CONTAINS(last_message(), "has no bytes");
  REFUSED(cushim_buffer_get_sync_memops(empty, &on));
  CHECK(on == 0);
  CHECK_OK(cushim_buffer_set_sync_memops(on_host, 1));
  CHECK(is_synchronous(on_host) == 1);
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &managed));
  CHECK(is_synchronous(shared = buffer_of(managed, WHOLE)) == 1); /* it has it from the start */
  CHECK_OK(cushim_buffer_set_sync_memops(shared, 0));
  CHECK(is_synchronous(shared) == 0);
  CHECK_OK(cushim_buffer_destroy(shared));
  CHECK_OK(cushim_resource_destroy(managed));
  CHECK_OK(cushim_resource_create_virtual(all.device, NULL, &space));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_buffer_set_sync_memops(grows = buffer_of(space, WHOLE), 1));
  CHECK_CONTAINS(last_message(), "Virtual memory cannot have it");
  CHECK(is_synchronous(grows) == 0);
  CHECK_OK(cushim_buffer_destroy(grows));
  CHECK_OK(cushim_resource_destroy(space));
  CHECK_OK(cushim_buffer_destroy(empty));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

/* A capture of this thread is not disturbed: the driver's function would invalidate it. */
static void beside_a_capture(cushim_resource plain) {
  cushim_buffer buffer = buffer_of(plain, WHOLE);
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  CHECK_OK(cushim_builder_create_on(all.stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_buffer_set_sync_memops(buffer, 1));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static void flushes(void) {
  REFUSED(cushim_context_flush_direct_writes(all.context, 0));
  CHECK_CONTAINS(last_message(), "CUSHIM_FLUSH_TO_OWNER");
  if ((attribute(117) & 1) == 0) { /* GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, by the host */
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_flush_direct_writes(all.context, CUSHIM_FLUSH_TO_OWNER));
    CHECK_CONTAINS(last_message(), "GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS");
    return;
  }
  CHECK_OK(cushim_context_flush_direct_writes(all.context, CUSHIM_FLUSH_TO_OWNER));
  CHECK_OK(cushim_context_flush_direct_writes(all.context, CUSHIM_FLUSH_TO_ALL_DEVICES));
}

int main(void) {
  cushim_resource plain = NULL, pinned = NULL;
  cushim_buffer buffer, on_host = NULL;
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_flush_direct_writes(all.context, CUSHIM_FLUSH_TO_OWNER));
    close_objects(&all);
    return check_done();
  }
  CHECK_OK(cushim_resource_create_device(all.context, &plain));
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &pinned));
  buffer = buffer_of(plain, WHOLE);
  on_host = buffer_of(pinned, WHOLE);
  dma_bufs(buffer, on_host);
  synchronous_operations(all.resource, plain, on_host);
  beside_a_capture(plain);
  flushes();
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_buffer_destroy(on_host));
  CHECK_OK(cushim_resource_destroy(plain));
  CHECK_OK(cushim_resource_destroy(pinned));
  close_objects(&all);
  return check_done();
}
