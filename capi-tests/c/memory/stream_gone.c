/*
 * Memory that is freed when a stream has done its work goes although the context of that stream was reset: nothing has to be
 * waited for, and nobody can say whether the stream is being captured.
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
  CHECK_OK(cushim_resource_create_synchronous(context, &resource));
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
  CHECK_OK(cushim_context_destroy(context));
  close_objects(&all);
  return check_done();
}
