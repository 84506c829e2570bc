/* CUDA writes a buffer of OpenGL in each of several frames; nothing is copied. Here OpenGL reads what it would draw. */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

#include "opengl_context.h"

enum { VERTICES = 1024, FRAMES = 3 };

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", cushim_status_name(status), cushim_last_error_message());
  exit(1);
}

int main(void) {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_graphics graphics;
  const char *missing;
  unsigned vertices = 0;
  uint32_t frame;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));

  missing = open_opengl(0);
  if (missing != NULL) {
    printf("skipped: %s\n", missing);
    return 0;
  }
  gl.gen_buffers(1, &vertices);
  gl.bind_buffer(GL_ARRAY_BUFFER, vertices);
  gl.buffer_data(GL_ARRAY_BUFFER, VERTICES * 4, NULL, GL_DYNAMIC_DRAW);

  /* Once, with the OpenGL context current. */
  check(cushim_graphics_register_gl_buffer(context, vertices, CUSHIM_GRAPHICS_WRITE_DISCARD, &graphics));
  check(cushim_set_label(graphics, "vertices"));

  for (frame = 1; frame <= FRAMES; frame++) {
    cushim_buffer buffer;
    cushim_endpoint place;
    uint32_t last = 0;
    check(cushim_graphics_map(graphics, stream, &buffer));
    place = cushim_endpoint_buffer(buffer, 0);
    check(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(frame), VERTICES)); /* a kernel takes the buffer as well */
    check(cushim_buffer_destroy(buffer)); /* in the order of the stream, OpenGL has it again */
    gl.get_buffer_sub_data(GL_ARRAY_BUFFER, (VERTICES - 1) * 4, 4, &last);
    printf("frame %u: OpenGL has %u\n", (unsigned)frame, (unsigned)last);
  }

  check(cushim_graphics_destroy(graphics)); /* before OpenGL's own objects */
  gl.delete_buffers(1, &vertices);
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return 0;
}
