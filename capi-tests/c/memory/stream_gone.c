/*
 * Memory that is freed when a stream has done its work goes although the context of that stream was reset: nothing has to be
 * waited for, and nobody can say whether the stream is being captured. Memory of a pool outlives the context, and is freed all the same.
 * What is not freed, because the stream or the context that was named is gone and the memory is not, says so.
 */
#include "objects.h"

static struct objects all;

static cushim_resource managed_of(cushim_context context) {
  cushim_resource resource = NULL;
  cushim_managed_options options = CUSHIM_OPTIONS(cushim_managed_options);
  CHECK_OK(cushim_resource_create_managed(context, &options, &resource));
  return resource;
}

static cushim_resource synchronous_of(cushim_context context) {
  cushim_resource resource = NULL;
  CHECK_OK(cushim_resource_create_device(context, &resource));
  return resource;
}

/* The driver's own functions can be used with the stream, so that only the driver knows whether it is being captured. */
static cushim_stream shared_stream(void) {
  CUstream native = NULL;
  cushim_stream stream = new_stream(all.context);
  CHECK_OK(cushim_stream_native(stream, &native));
  return stream;
}

static cushim_buffer waiting_buffer(cushim_resource resource, cushim_stream stream) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(resource, stream, 64, &buffer));
  CHECK_OK(cushim_buffer_set_stream(buffer, stream));
  return buffer;
}

#define STILL_THERE(call)                                            \
  (CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, call), CHECK_CONTAINS(last_message(), "is still there, so it is not freed"))

static uint64_t allocated_in(cushim_stream stream) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_stream_allocate(stream, 4096, &pointer));
  return pointer;
}

static uint64_t used_of(cushim_resource pool) {
  uint64_t bytes = 0;
  CHECK_OK(cushim_resource_get_attribute(pool, CUSHIM_POOL_USED_CURRENT, &bytes));
  return bytes;
}

/* The reset may be made through cushim or behind its back; memory of a context that was not reset is not freed by the way. */
static void living(cushim_context mine, int by_others) {
  static char range[4096];
  cushim_device_pool_options options = CUSHIM_OPTIONS(cushim_device_pool_options);
  cushim_context reset = primary_context(all.device);
  cushim_stream gone = new_stream(reset), there = new_stream(mine), per_thread = NULL;
  cushim_resource pool = NULL;
  cushim_buffer stranded[4], moved = NULL;
  uint64_t lost = allocated_in(gone), living = allocated_in(there), wrapped = 0, plain = 0, before;
  void *host = NULL;
  int i;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  CHECK_OK(cushim_resource_allocate(pool, there, 4096, &wrapped));
  CHECK_OK(cushim_buffer_wrap(all.driver, gone, wrapped, 4096, pool, NULL, &stranded[0]));
  for (i = 1; i < 4; i++) CHECK_OK(cushim_buffer_create(pool, gone, 4096, &stranded[i]));
  CHECK_OK(cushim_buffer_set_stream(stranded[2], there)); /* in whose order it is freed */
  CHECK_OK(cushim_context_get_per_thread_stream(reset, &per_thread));
  CHECK_OK(cushim_buffer_set_stream(stranded[3], per_thread));
  CHECK_OK(cushim_buffer_create(pool, there, 4096, &moved));
  CHECK_OK(cushim_buffer_set_stream(moved, gone));
  CHECK_OK(cushim_context_allocate(mine, 4096, &plain));
  CHECK_OK(cushim_context_allocate_host(mine, 4096, 0, &host));
  CHECK_OK(cushim_context_register_host(mine, range, sizeof range, 0));
  CHECK_OK(cushim_stream_synchronize(gone));
  CHECK_OK(cushim_stream_synchronize(there));
  before = used_of(pool);
  if (by_others) CHECK_STATUS(CUDA_SUCCESS, table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuDevicePrimaryCtxReset_11000(0));
  else CHECK_OK(cushim_device_reset_primary_context(all.device));
  CHECK(used_of(pool) == before); /* a pool's memory is no context's (measured) */
  CHECK_OK(cushim_stream_free(gone, 0));
  /* Driver 580 may crash where it is given a stream of a context that is gone (measured): so first the context is asked. */
  STILL_THERE(cushim_context_free(reset, plain));
  STILL_THERE(cushim_stream_free(gone, living));
  STILL_THERE(cushim_stream_free(gone, lost));
  CHECK_OK(cushim_stream_free(there, lost));
  STILL_THERE(cushim_context_free_host(reset, host));
  STILL_THERE(cushim_context_unregister_host(reset, range));
  for (i = 0; i < 4; i++) CHECK_OK(cushim_buffer_destroy(stranded[i]));
  CHECK_OK(cushim_buffer_destroy(moved)); /* in its own context */
  CHECK_OK(cushim_stream_free(there, living));
  CHECK_OK(cushim_stream_synchronize(there));
  CHECK_OK(cushim_context_synchronize(mine));
  CHECK(before == 5 * 4096 && used_of(pool) == 0);
  CHECK_OK(cushim_context_free(mine, plain));
  CHECK_OK(cushim_context_free_host(mine, host));
  CHECK_OK(cushim_context_unregister_host(mine, range));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_stream_destroy(gone));
  CHECK_OK(cushim_stream_destroy(there));
  CHECK_OK(cushim_context_destroy(reset));
}

int main(void) {
  cushim_context context = NULL;
  cushim_resource resources[2];
  cushim_buffer buffers[2];
  cushim_stream stream;
  int i;
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    close_objects(&all);
    return check_done();
  }
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  stream = shared_stream();
  resources[0] = managed_of(context);
  resources[1] = synchronous_of(context);
  for (i = 0; i < 2; i++) buffers[i] = waiting_buffer(resources[i], stream);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_device_reset_primary_context(all.device));
  for (i = 0; i < 2; i++) {
    CHECK_OK(cushim_buffer_destroy(buffers[i]));
    CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_buffer_destroy(buffers[i]));
    CHECK_OK(cushim_resource_destroy(resources[i]));
  }
  CHECK_OK(cushim_stream_destroy(stream));
  living(context, 0);
  /* Before 12.0 nobody can be asked whether others reset a context, until a call in it fails. */
  if (given_number("CHECK_VERSION") >= 12000) living(context, 1);
  CHECK_OK(cushim_context_destroy(context));
  close_objects(&all);
  return check_done();
}
