// opengl.c in C++: CUDA writes a buffer of OpenGL in each of several frames, and nothing is copied.
#include <cushim.hpp>

#include <cstdio>

#include "opengl_context.h"

namespace {

constexpr std::size_t vertices = 1024;

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  const cushim::stream stream{context};
  if (const char *missing = open_opengl(0); missing != nullptr) {
    std::printf("skipped: %s\n", missing);
    return;
  }
  unsigned name = 0;
  gl.gen_buffers(1, &name);
  gl.bind_buffer(GL_ARRAY_BUFFER, name);
  gl.buffer_data(GL_ARRAY_BUFFER, vertices * sizeof(std::uint32_t), nullptr, GL_DYNAMIC_DRAW);
  {
    // Once, with the OpenGL context current.
    cushim::graphics graphics = cushim::graphics::gl_buffer(context, name, CUSHIM_GRAPHICS_WRITE_DISCARD);
    graphics.set_label("vertices");
    for (std::uint32_t frame = 1; frame <= 3; frame++) {
      {
        const cushim::buffer buffer = graphics.map(stream);
        stream.fill<std::uint32_t>(buffer, frame); // a kernel takes the buffer as well
      } // In the order of the stream, OpenGL has it again.
      std::uint32_t last = 0;
      gl.get_buffer_sub_data(GL_ARRAY_BUFFER, (vertices - 1) * sizeof last, sizeof last, &last);
      std::printf("frame %u: OpenGL has %u\n", frame, last);
    }
  } // The registration ends before OpenGL's own object.
  gl.delete_buffers(1, &name);
}

} // namespace

int main() {
  try {
    run();
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
