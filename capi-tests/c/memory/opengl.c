/*
 * Buffers and images of OpenGL: refused where the driver has none; and on a driver that has one of the program's own (opengl.h), who has them
 * when, and what is refused then. `gpu/opengl` asks a real one.
 */
#include "graphs.h"

#include "dlpack.h"
#include "opengl.h"

#include <sys/wait.h>
#include <unistd.h>

static int has_arrays;    /* softcuda has none */
static int loses_context; /* calls on what was in it crash driver 580, and older drivers do not tell */

/* What the driver of a GPU answers where there is no OpenGL is not known here. */
static void without_gl(void) {
  const cushim_status expected = is_none(all.driver) ? CUSHIM_ERROR_UNSUPPORTED : CUDA_ERROR_NOT_SUPPORTED;
  cushim_graphics graphics = (cushim_graphics)NOT_NULL;
  cushim_status status = cushim_graphics_register_gl_buffer(all.context, 1, 0, &graphics);
  CHECK(graphics == NULL && status != CUSHIM_SUCCESS);
  if (is_software(all.driver) || is_none(all.driver)) {
    CHECK_STATUS(expected, status);
    CHECK_CONTAINS(last_message(), "This driver has no OpenGL");
  }
  graphics = (cushim_graphics)NOT_NULL;
  status = cushim_graphics_register_gl_image(all.context, 1, GL_TEXTURE_2D, CUSHIM_GRAPHICS_SURFACE, &graphics);
  CHECK(graphics == NULL && status != CUSHIM_SUCCESS);
  if (is_software(all.driver) || is_none(all.driver)) CHECK_STATUS(expected, status);
}

/* The arguments are looked at before the driver is asked. */
static void arguments(void) {
  cushim_graphics graphics = (cushim_graphics)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_buffer(all.context, 0, 0, &graphics));
  CHECK_CONTAINS(last_message(), "0 names no buffer");
  CHECK(graphics == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_image(all.context, 0, GL_TEXTURE_2D, 0, &graphics));
  CHECK_CONTAINS(last_message(), "0 names no image");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_buffer(all.context, 1, CUSHIM_GRAPHICS_SURFACE, &graphics));
  CHECK_CONTAINS(last_message(), "for images");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_image(all.context, 1, GL_TEXTURE_2D, 3, &graphics));
  CHECK_CONTAINS(last_message(), "contradict each other");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_image(all.context, 1, GL_TEXTURE_2D, 16, &graphics));
  CHECK_CONTAINS(last_message(), "0x10");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_buffer(all.context, 1, 0, NULL));
}

static cushim_graphics buffer_number(unsigned name, const char *label) {
  cushim_graphics graphics = NULL;
  if (!CHECK_OK(cushim_graphics_register_gl_buffer(all.context, name, 0, &graphics))) exit(1);
  CHECK_OK(cushim_set_label(graphics, label));
  return graphics;
}

static cushim_buffer mapped_in(cushim_graphics graphics, cushim_stream stream) {
  cushim_buffer buffer = NULL;
  if (!CHECK_OK(cushim_graphics_map(graphics, stream, &buffer))) exit(1);
  return buffer;
}

static int is_mapped(cushim_graphics graphics) {
  int32_t mapped = -1;
  CHECK_OK(cushim_graphics_get_mapped(graphics, &mapped));
  return mapped;
}

static CUstream native_of(cushim_stream stream) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  return native;
}

/* What OpenGL has in a buffer, at its end. */
static unsigned gl_byte(unsigned name) { return last_byte(all.stream, gl.buffers[name - 1], GL_BYTES); }

static void in_turns(void) {
  cushim_graphics graphics = buffer_number(1, "vertices"), more = NULL;
  cushim_buffer buffer = NULL, again = (cushim_buffer)NOT_NULL;
  cushim_stream other = new_stream(all.context), stream = NULL;
  cushim_resource resource = (cushim_resource)NOT_NULL;
  cushim_memory_properties properties;
  CUgraphicsResource native = NULL;
  const int maps = gl.maps, unmaps = gl.unmaps, ends = gl.ends;
  CHECK_OK(cushim_graphics_native(graphics, &native));
  CHECK(native != NULL && !is_mapped(graphics));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_graphics_map(graphics, NULL, &again));
  CHECK(again == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_unmap(graphics, NULL));
  CHECK_CONTAINS(last_message(), "\"vertices\" is not mapped");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graphics_unmap(NULL, NULL));
  CHECK_CONTAINS(last_message(), "a graphics resource is needed");
  buffer = mapped_in(graphics, all.stream);
  CHECK(gl.maps == maps + 1 && gl.stream == native_of(all.stream) && is_mapped(graphics));
  CHECK(cushim_buffer_size(buffer) == GL_BYTES && cushim_buffer_pointer(buffer) == gl.buffers[0]);
  CHECK_OK(cushim_buffer_get_resource(buffer, &resource));
  CHECK(resource == NULL);
  CHECK_OK(cushim_buffer_get_stream(buffer, &stream));
  CHECK(is_same(stream, all.stream));
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.device_accessible && !properties.host_accessible && !properties.managed && properties.device == 0);
  again = (cushim_buffer)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map(graphics, other, &again));
  CHECK(again == NULL && gl.maps == maps + 1);
  CHECK_CONTAINS(last_message(), "\"vertices\" is mapped already");
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 7, GL_BYTES));
  /* Unmapped without a stream: in that of the map. */
  gl.stream = NULL;
  CHECK_OK(cushim_graphics_unmap(graphics, NULL));
  CHECK(gl.unmaps == unmaps + 1 && gl.stream == native_of(all.stream) && !is_mapped(graphics) && gl_byte(1) == 7);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_unmap(graphics, other));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(gl.unmaps == unmaps + 1);
  /* In another one. */
  buffer = mapped_in(graphics, all.stream);
  CHECK_OK(cushim_graphics_unmap(graphics, other));
  CHECK(gl.stream == native_of(other));
  /* The end of an earlier turn's buffer does not end a later one. */
  again = mapped_in(graphics, all.stream);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(is_mapped(graphics) && gl.unmaps == unmaps + 2);
  CHECK_OK(cushim_buffer_destroy(again));
  CHECK(!is_mapped(graphics) && gl.unmaps == unmaps + 3 && gl.stream == native_of(all.stream));
  CHECK_OK(cushim_buffer_destroy_on(mapped_in(graphics, all.stream), other));
  CHECK(!is_mapped(graphics) && gl.stream == native_of(other));
  /* The last handle of the resource may go first. */
  buffer = mapped_in(graphics, other);
  CHECK_OK(cushim_graphics_ref(graphics, &more));
  CHECK_OK(cushim_graphics_destroy(graphics));
  CHECK(is_mapped(more));
  CHECK_OK(cushim_graphics_destroy(more));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_graphics_destroy(more));
  CHECK_OK(fill_buffer(other, buffer, 0, 8, GL_BYTES));
  CHECK(gl.ends == ends);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_wait_stream(all.stream, other)); /* in which the bytes were written */
  CHECK(gl.ends == ends + 1 && gl.maps - maps == gl.unmaps - unmaps && gl_byte(1) == 8);
  CHECK_OK(cushim_stream_destroy(other));
}

/* What happens on a thread of the library's own happens soon. */
static void wait_for(const int *count, int expected) {
  int i;
  for (i = 0; i < 1000 && gl_count(count) < expected; i++) pause_shortly();
  flush_callbacks();
  CHECK(*count == expected);
}

/* Work with a buffer whose turn is over is refused, whatever it is. */
static void after_the_turn(void) {
  cushim_graphics graphics = buffer_number(2, "pixels");
  cushim_buffer buffer = mapped_in(graphics, all.stream), next;
  cushim_endpoint at = cushim_endpoint_buffer(buffer, 0), host;
  cushim_kernel add = kernel_of(all.library, "add");
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  cushim_exec exec;
  cushim_arg args[2];
  const uint32_t number = 5;
  const uint8_t value = 3;
  unsigned char byte = 0;
  size_t nodes = 0;
  void *tensor = NOT_NULL;
  const int unmaps = gl.unmaps, ends = gl.ends;
  host = cushim_endpoint_host(&byte);
  args[0] = cushim_arg_buffer(buffer);
  args[1] = CUSHIM_ARG(number);
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 0, GL_BYTES));
  CHECK_OK(cushim_kernel_launch(add, all.stream, NULL, args, 2));
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &at, &value, 1, GL_BYTES, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_graphics_unmap(graphics, NULL));
  CHECK(gl_byte(2) == 3);
#define REFUSED(call) (CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call), CHECK_CONTAINS(last_message(), "was unmapped"))
  REFUSED(fill_buffer(all.stream, buffer, 0, 1, 1));
  CHECK_CONTAINS(last_message(), "map graphics resource \"pixels\" again");
  REFUSED(cushim_stream_copy(all.stream, &host, &at, 1));
  REFUSED(cushim_context_copy(all.context, &host, &at, 1));
  REFUSED(cushim_kernel_launch(add, all.stream, NULL, args, 2));
  REFUSED(cushim_graph_add_fill(graph, NULL, 0, &at, &value, 1, 1, &node));
  REFUSED(cushim_exec_launch(exec, all.stream));
  REFUSED(cushim_buffer_export_dlpack(buffer, NULL, &tensor));
  if (!CHECK(tensor == NULL)) ((DLManagedTensorVersioned *)tensor)->deleter((DLManagedTensorVersioned *)tensor);
#undef REFUSED
  CHECK(cushim_buffer_size(buffer) == GL_BYTES);
  /* The next turn's buffer takes its place in the exec. */
  next = mapped_in(graphics, all.stream);
  CHECK_OK(cushim_exec_rebind(exec, buffer, next, &nodes));
  CHECK(nodes == 1);
  CHECK_OK(fill_buffer(all.stream, next, 0, 0, GL_BYTES));
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK(gl_byte(2) == 3);
  /* The exec has it, and so CUDA has it, until the exec is gone. */
  CHECK_OK(cushim_buffer_destroy(next));
  CHECK(is_mapped(graphics));
  CHECK_OK(cushim_exec_destroy(exec));
  wait_for(&gl.unmaps, unmaps + 2);
  CHECK(!is_mapped(graphics));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_kernel_destroy(add));
  CHECK_OK(cushim_graphics_destroy(graphics));
  wait_for(&gl.ends, ends + 1);
}

static cushim_builder capturing(cushim_stream stream) {
  cushim_builder builder = NULL;
  if (!CHECK_OK(cushim_builder_create_on(stream, NULL, &builder)) || !CHECK_OK(cushim_builder_begin(builder))) exit(1);
  return builder;
}

static void end_capture(cushim_builder builder) {
  cushim_graph graph = NULL;
  CHECK_OK(cushim_builder_end(builder, &graph)); /* it is valid */
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}


static void in_captures(void) {
  cushim_graphics graphics = buffer_number(1, "captured"), image = NULL;
  cushim_stream stream = new_stream(all.context);
  cushim_buffer buffer = mapped_in(graphics, stream), none = (cushim_buffer)NOT_NULL;
  cushim_builder builder;
  CUarray array = NULL;
  const int unmaps = gl.unmaps, ends = gl.ends;
  CHECK_OK(cushim_graphics_register_gl_image(all.context, GL_IMAGE, GL_TEXTURE_2D, 0, &image));
  CHECK_OK(cushim_graphics_map_array(image, stream, 0, 0, &array));
  builder = capturing(stream);
#define REFUSED(call) (CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call), CHECK_CONTAINS(last_message(), "outside of captures"))
  REFUSED(cushim_graphics_unmap(graphics, NULL));
  REFUSED(cushim_graphics_unmap(graphics, stream));
  REFUSED(cushim_buffer_destroy_on(buffer, stream));
  /* Another stream will do. */
  CHECK_OK(cushim_graphics_unmap(graphics, all.stream));
  CHECK_OK(cushim_buffer_destroy_on(buffer, stream)); /* it has nothing to give back */
  REFUSED(cushim_graphics_map(graphics, stream, &none));
  REFUSED(cushim_graphics_map_array(image, stream, 0, 0, &array));
#undef REFUSED
  CHECK(none == NULL && gl.unmaps == unmaps + 1);
  end_capture(builder);
  /* The end of a buffer is refused there, and that of an image waits for the end of the capture; neither disturbs it. */
  buffer = mapped_in(graphics, stream);
  CHECK_OK(cushim_graphics_destroy(graphics));
  builder = capturing(stream);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy(buffer));
  CHECK_CONTAINS(last_message(), "outside of captures");
  CHECK_OK(cushim_graphics_destroy(image));
  flush_callbacks();
  CHECK(gl.unmaps == unmaps + 1);
  CHECK(gl.ends == ends);
  end_capture(builder);
  CHECK_OK(cushim_buffer_destroy(buffer));
  wait_for(&gl.unmaps, unmaps + 3);
  wait_for(&gl.ends, ends + 2);
  CHECK_OK(cushim_stream_destroy(stream));
}

/* Streams of another context: refused where they are named, and waited for where a buffer is to be freed in one. */
static void other_contexts(void) {
  cushim_graphics graphics = buffer_number(3, "own");
  cushim_context context = NULL;
  cushim_stream foreign;
  cushim_buffer buffer = (cushim_buffer)NOT_NULL;
  const int unmaps = gl.unmaps;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  foreign = new_stream(context);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map(graphics, foreign, &buffer));
  CHECK_CONTAINS(last_message(), "pass a stream of its own context");
  CHECK(buffer == NULL);
  buffer = mapped_in(graphics, all.stream);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_unmap(graphics, foreign));
  CHECK_OK(cushim_buffer_destroy_on(buffer, foreign));
  CHECK(gl.unmaps == unmaps + 1 && gl.stream != native_of(foreign));
  /* A stream whose context is gone. */
  buffer = mapped_in(graphics, all.stream);
  CHECK_OK(cushim_buffer_set_stream(buffer, foreign));
  CHECK_OK(cushim_stream_destroy(foreign));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(gl.unmaps == unmaps + 2);
  CHECK_OK(cushim_graphics_destroy(graphics));
}

static void copy_pixels(CUarray array) {
  static unsigned char pixels[GL_HEIGHT][GL_WIDTH * 4];
  cushim_region to, from;
  cushim_extent extent;
  memset(pixels, 9, sizeof pixels);
  memset(&to, 0, sizeof to);
  memset(&from, 0, sizeof from);
  memset(&extent, 0, sizeof extent);
  to.endpoint = cushim_endpoint_array(array);
  from.endpoint = cushim_endpoint_host(pixels);
  from.pitch = sizeof pixels[0];
  extent.width = sizeof pixels[0];
  extent.height = GL_HEIGHT;
  extent.depth = 1;
  CHECK_OK(cushim_stream_copy_3d(all.stream, &to, &from, &extent));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  memset(pixels, 0, sizeof pixels);
  CHECK_OK(cushim_stream_copy_3d(all.stream, &from, &to, &extent));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(pixels[0][0] == 9 && pixels[GL_HEIGHT - 1][GL_WIDTH * 4 - 1] == 9);
}

static void images(void) {
  cushim_graphics image = NULL, buffer = buffer_number(1, "vertices");
  cushim_buffer none = (cushim_buffer)NOT_NULL;
  CUarray array = NULL, smaller = NULL, unknown = (CUarray)NOT_NULL;
  const int unmaps = gl.unmaps, ends = gl.ends;
  CHECK_OK(cushim_graphics_register_gl_image(all.context, GL_IMAGE, GL_TEXTURE_2D, CUSHIM_GRAPHICS_SURFACE, &image));
  CHECK(gl.flags == CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map(image, all.stream, &none));
  CHECK_CONTAINS(last_message(), "map it as an array");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map_array(buffer, all.stream, 0, 0, &unknown));
  CHECK_CONTAINS(last_message(), "map it as a buffer");
  CHECK(none == NULL && unknown == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_get_array(image, 0, 0, &unknown));
  CHECK_CONTAINS(last_message(), "is not mapped");
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_graphics_map_array(image, NULL, 0, 0, &unknown));
  /* A level that there is not: nothing is mapped. */
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graphics_map_array(image, all.stream, 0, 9, &unknown));
  CHECK(!is_mapped(image) && gl.unmaps == unmaps + 1);
  CHECK_OK(cushim_graphics_map_array(image, all.stream, 0, 0, &array));
  CHECK_OK(cushim_graphics_get_array(image, 0, 1, &smaller));
  CHECK(array == gl.levels[0] && smaller == gl.levels[1]);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graphics_get_array(image, 0, 9, &unknown));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map_array(image, all.stream, 0, 0, &unknown));
  CHECK_CONTAINS(last_message(), "mapped already");
  CHECK(unknown == NULL && is_mapped(image));
  if (has_arrays) copy_pixels(array);
  CHECK_OK(cushim_graphics_unmap(image, all.stream));
  CHECK_OK(cushim_graphics_map_array(image, all.stream, 0, 0, &array));
  CHECK_OK(cushim_graphics_destroy(image)); /* while it is mapped */
  CHECK(gl.unmaps == unmaps + 3 && gl.ends == ends + 1);
  CHECK_OK(cushim_graphics_destroy(buffer));
}

/* An unmap that the driver refuses has no effect, and can be tried again. */
static void refused_unmaps(void) {
  cushim_graphics graphics = buffer_number(2, "stubborn");
  cushim_buffer buffer = mapped_in(graphics, all.stream);
  gl.failing = 2;
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_graphics_unmap(graphics, NULL));
  CHECK(is_mapped(graphics));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 4, GL_BYTES));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_destroy(buffer));
  CHECK(is_mapped(graphics));
  CHECK_OK(cushim_graphics_unmap(graphics, NULL));
  CHECK(gl_byte(2) == 4);
  CHECK_OK(cushim_graphics_destroy(graphics));
}

struct attempt {
  cushim_graphics graphics;
  cushim_buffer buffer;
  cushim_status status;
};

static void *try_to_map(void *data) {
  struct attempt *attempt = (struct attempt *)data;
  attempt->status = cushim_graphics_map(attempt->graphics, all.stream, &attempt->buffer);
  return NULL;
}

static void *unmap_elsewhere(void *data) {
  CHECK_OK(cushim_graphics_unmap((cushim_graphics)data, NULL));
  return NULL;
}

static void threads(void) {
  enum { THREADS = 4 };
  cushim_graphics graphics = buffer_number(3, "shared");
  struct attempt attempts[THREADS];
  pthread_t others[THREADS];
  cushim_stream own = NULL;
  cushim_buffer buffer;
  int i, won = 0;
  for (i = 0; i < THREADS; i++) {
    attempts[i].graphics = graphics;
    attempts[i].buffer = NULL;
    if (!CHECK(pthread_create(&others[i], NULL, try_to_map, &attempts[i]) == 0)) exit(1);
  }
  for (i = 0; i < THREADS; i++) {
    pthread_join(others[i], NULL);
    won += attempts[i].status == CUSHIM_SUCCESS;
    CHECK(attempts[i].status == CUSHIM_SUCCESS || attempts[i].status == CUSHIM_ERROR_INVALID_ARGUMENT);
    CHECK_OK(cushim_buffer_destroy(attempts[i].buffer));
  }
  CHECK(won >= 1 && !is_mapped(graphics));
  /* Mapped in one thread's default stream, and unmapped on another thread: after all work of the context. */
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &own));
  buffer = mapped_in(graphics, own);
  CHECK_OK(fill_buffer(own, buffer, 0, 6, GL_BYTES));
  if (!CHECK(pthread_create(&others[0], NULL, unmap_elsewhere, graphics) == 0)) exit(1);
  pthread_join(others[0], NULL);
  CHECK(!is_mapped(graphics) && gl_byte(3) == 6);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_graphics_destroy(graphics));
}

static struct {
  cushim_graphics graphics;
  cushim_status map, unmap, array, destroy;
} from_inside;

static void call_from_inside(void *data) {
  cushim_buffer buffer = NULL;
  CUarray array = NULL;
  (void)data;
  from_inside.map = cushim_graphics_map(from_inside.graphics, all.stream, &buffer);
  from_inside.unmap = cushim_graphics_unmap(from_inside.graphics, NULL);
  from_inside.array = cushim_graphics_get_array(from_inside.graphics, 0, 0, &array);
  from_inside.destroy = cushim_graphics_destroy(from_inside.graphics);
}

static void in_callbacks(void) {
  from_inside.graphics = buffer_number(1, "asked");
  CHECK_OK(cushim_stream_launch_host_function(all.stream, call_from_inside, NULL, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(from_inside.map == CUSHIM_ERROR_IN_CALLBACK && from_inside.unmap == CUSHIM_ERROR_IN_CALLBACK);
  CHECK(from_inside.array == CUSHIM_ERROR_IN_CALLBACK && from_inside.destroy == CUSHIM_ERROR_IN_CALLBACK);
  CHECK_OK(cushim_graphics_destroy(from_inside.graphics));
}

static void in_a_child(void) {
  cushim_graphics graphics = buffer_number(2, "kept");
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(cushim_graphics_destroy(graphics) == CUSHIM_ERROR_FORKED ? 0 : 1);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK_OK(cushim_graphics_destroy(graphics));
}

/* Others destroy the context of a mapped buffer: it is refused, and there is nothing to give back. */
static void context_gone(void) {
  cushim_context context = NULL;
  cushim_graphics graphics = NULL;
  cushim_stream stream;
  cushim_buffer buffer;
  CUcontext native = NULL;
  const int unmaps = gl.unmaps;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  stream = new_stream(context);
  CHECK_OK(cushim_graphics_register_gl_buffer(context, 1, 0, &graphics));
  buffer = mapped_in(graphics, stream);
  CHECK_OK(cushim_context_native(context, &native));
  CHECK(gl.real->cuCtxDestroy_4000(native) == CUDA_SUCCESS);
  CHECK(fill_buffer(all.stream, buffer, 0, 1, 1) != CUSHIM_SUCCESS);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_graphics_destroy(graphics));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
  CHECK(gl.unmaps == unmaps);
}

/* In a lost context nobody can tell whether the stream is captured: that is no reason to refuse the end of a mapped buffer, which would then
 * be held for ever, and its context with it. */
static void context_lost(void) {
  cushim_context context = NULL;
  cushim_graphics graphics = NULL;
  cushim_stream stream;
  cushim_buffer buffer;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  stream = new_stream(context);
  native_of(stream); /* from now on the driver is asked whether it is captured */
  CHECK_OK(cushim_graphics_register_gl_buffer(context, 1, 0, &graphics));
  buffer = mapped_in(graphics, stream);
  gl.is_lost = 1;
  CHECK_OK(cushim_buffer_destroy(buffer)); /* what was there went with the context */
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_graphics_destroy(graphics));
  gl.is_lost = 0;
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
}

static void with_gl(cushim_driver driver) {
  const struct objects before = all;
  cushim_context previous;
  uint64_t unreported = 0;
  memset(&all, 0, sizeof all);
  all.driver = open_with_gl(driver, NULL);
  all.device = first_device(all.driver);
  all.context = primary_context(all.device);
  all.stream = new_stream(all.context);
  CHECK_OK(cushim_library_load(all.context, trace_code, sizeof trace_code, NULL, &all.library));
  CHECK_OK(cushim_context_push(all.context));
  has_arrays = !is_software(driver);
  make_gl_objects(has_arrays);
  arguments();
  in_turns();
  after_the_turn();
  in_captures();
  other_contexts();
  images();
  refused_unmaps();
  threads();
  in_callbacks();
  in_a_child();
  loses_context = !has_arrays && version >= 12000;
  context_lost();
  if (loses_context) context_gone();
  destroy_gl_objects(has_arrays);
  CHECK_OK(cushim_context_pop(all.driver, &previous, NULL));
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &unreported));
  CHECK(unreported == 0);
  /* But for what went with its context. */
  CHECK(gl.maps - gl.unmaps == 1 + loses_context);
  CHECK(gl.count - gl.ends == loses_context);
  close_objects(&all);
  all = before;
}

static void open_lacking(cushim_driver driver, const char *const *lacks) {
  memset(&all, 0, sizeof all);
  all.driver = open_with_gl(driver, lacks);
  all.device = first_device(all.driver);
  all.context = primary_context(all.device);
  all.stream = new_stream(all.context);
}

/* A driver that lacks one of the functions: the call that needs it says so. */
static void without_functions(cushim_driver driver) {
  static const char *const no_map[] = {"cuGraphicsMapResources", NULL};
  static const char *const no_end[] = {"cuGraphicsUnmapResources", "cuGraphicsUnregisterResource", NULL};
  const struct objects before = all;
  cushim_graphics graphics = NULL;
  cushim_buffer buffer = NULL;
  CUarray array = (CUarray)NOT_NULL;
  open_lacking(driver, no_map);
  graphics = buffer_number(1, "vertices");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graphics_map(graphics, all.stream, &buffer));
  CHECK_CONTAINS(last_message(), "cuGraphicsMapResources");
  CHECK(buffer == NULL && !is_mapped(graphics));
  CHECK_OK(cushim_graphics_destroy(graphics));
  CHECK_OK(cushim_graphics_register_gl_image(all.context, GL_IMAGE, GL_TEXTURE_2D, 0, &graphics));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graphics_map_array(graphics, all.stream, 0, 0, &array));
  CHECK(array == NULL);
  CHECK_OK(cushim_graphics_destroy(graphics));
  close_objects(&all);
  open_lacking(driver, no_end);
  graphics = buffer_number(1, "vertices");
  buffer = mapped_in(graphics, all.stream);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graphics_unmap(graphics, NULL));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_destroy(buffer));
  CHECK(is_mapped(graphics));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graphics_destroy(graphics));
  close_objects(&all);
  all = before;
}

int main(void) {
  int has_graphs;
  check_begin();
  has_graphs = open_graphs();
  without_gl();
  arguments();
  if (has_graphs) {
    with_gl(all.driver);
    without_functions(all.driver);
  }
  return close_graphs();
}
