/*
 * Memory of several kinds as one type: a buffer frees itself, in the order of its stream.
 *
 * Without a GPU: CUSHIM_DRIVER=software ./buffers
 */
#include <cushim.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1 << 20 };

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, cushim_last_error_message());
  return 1;
}

/* Fills one buffer, and copies it to the other. */
static cushim_status fill_and_copy(cushim_stream stream, cushim_buffer to, cushim_buffer from) {
  const cushim_endpoint source = cushim_endpoint_buffer(from, 0), destination = cushim_endpoint_buffer(to, 0);
  cushim_status status = cushim_stream_fill(stream, &source, CUSHIM_VALUE_8(42), BYTES);
  return status ? status : cushim_stream_copy(stream, &destination, &source, BYTES);
}

/* Fills device memory, and brings it to page-locked memory, where the host reads it. */
static int through_the_device(cushim_device device, cushim_resource pinned, cushim_stream stream) {
  cushim_buffer on_device = NULL, on_host = NULL;
  uint64_t address = 0;
  int status = 1;
  if (cushim_buffer_create_default(device, stream, BYTES, &on_device) || cushim_buffer_create(pinned, stream, BYTES, &on_host)) {
    failed("allocation");
  } else if (fill_and_copy(stream, on_host, on_device) || cushim_stream_synchronize(stream) ||
             cushim_buffer_get_pointer(on_host, &address)) {
    failed("work");
  } else {
    printf("the last byte is %d\n", ((const unsigned char *)(uintptr_t)address)[BYTES - 1]);
    status = 0;
  }
  /* In the order of the stream; nothing waits. */
  if (cushim_buffer_destroy(on_host) || cushim_buffer_destroy(on_device)) status = failed("free");
  return status;
}

int main(void) {
  cushim_driver driver = NULL;
  cushim_device device = NULL; /* borrowed */
  cushim_context context = NULL;
  cushim_stream stream = NULL;
  cushim_resource pinned = NULL;
  int status;
  if (cushim_driver_open(NULL, &driver) || cushim_driver_get_device(driver, 0, &device) ||
      cushim_context_retain_primary(device, &context) || cushim_stream_create(context, NULL, &stream) ||
      cushim_resource_create_pinned(context, NULL, &pinned)) {
    status = failed("start");
  } else {
    status = through_the_device(device, pinned, stream);
  }
  if (stream != NULL && cushim_stream_synchronize(stream)) status = failed("end");
  cushim_resource_destroy(pinned);
  cushim_stream_destroy(stream);
  cushim_context_destroy(context);
  cushim_driver_destroy(driver);
  return status;
}
