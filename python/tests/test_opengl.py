"""Buffers and images of OpenGL: softcuda has none, so that a driver is made around it that has one, of memory and arrays of its own."""

import shutil
import subprocess

import cushim
import pytest

# What asks for a function of OpenGL gets one of these; the others are softcuda's, which this library depends on.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
typedef struct { unsigned name; int is_mapped; } registration;
static registration registrations[64];
static int count;
static unsigned long long memory;
static int real_alloc(unsigned long long *pointer, size_t bytes) {
  return ((int (*)(unsigned long long *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(pointer, bytes);
}
static int take(void **resource, unsigned name) {
  registrations[count].name = name;
  *resource = &registrations[count++];
  return 0;
}
static int register_buffer(void **resource, unsigned name, unsigned flags) { return name == 1 ? take(resource, name) : 1; }
static int register_image(void **resource, unsigned name, unsigned target, unsigned flags) { return name == 2 ? take(resource, name) : 1; }
static int map(unsigned n, void **resources, void *stream) {
  registration *it = resources[0];
  return it->is_mapped ? 208 : (it->is_mapped = 1, 0);
}
static int unmap(unsigned n, void **resources, void *stream) {
  registration *it = resources[0];
  return it->is_mapped ? (it->is_mapped = 0) : 211;
}
static int pointer(unsigned long long *address, size_t *bytes, void *resource) {
  if (memory == 0 && real_alloc(&memory, 4096) != 0) return 2;
  *address = memory;
  *bytes = 4096;
  return 0;
}
static int array(void **array, void *resource, unsigned layer, unsigned level) {
  *array = (void *)(uintptr_t)(0x1000 * (level + 1));
  return level < 2 ? 0 : 1;
}
static int unregister(void *resource) { return 0; }
static void *own(const char *name) {
  if (strcmp(name, "cuGraphicsGLRegisterBuffer") == 0) return (void *)register_buffer;
  if (strcmp(name, "cuGraphicsGLRegisterImage") == 0) return (void *)register_image;
  if (strcmp(name, "cuGraphicsMapResources") == 0) return (void *)map;
  if (strcmp(name, "cuGraphicsUnmapResources") == 0) return (void *)unmap;
  if (strcmp(name, "cuGraphicsResourceGetMappedPointer") == 0) return (void *)pointer;
  if (strcmp(name, "cuGraphicsSubResourceGetMappedArray") == 0) return (void *)array;
  return strcmp(name, "cuGraphicsUnregisterResource") == 0 ? (void *)unregister : 0;
}
int cuGetProcAddress(const char *name, void **address, int version, uint64_t flags) {
  int (*real)(const char *, void **, int, uint64_t) = dlsym(RTLD_NEXT, "cuGetProcAddress");
  return (*address = own(name)) != 0 ? 0 : real(name, address, version, flags);
}
int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *found) {
  int (*real)(const char *, void **, int, uint64_t, int *) = dlsym(RTLD_NEXT, "cuGetProcAddress_v2"), result;
  if ((*address = own(name)) == 0 && real != 0) return real(name, address, version, flags, found);
  /* Before 12.0 a driver has the other one alone. */
  result = *address != 0 ? 0 : cuGetProcAddress(name, address, version, flags);
  if (found) *found = result == 500;
  return result == 500 ? 0 : result;
}
"""


@pytest.fixture(scope="module")
def with_gl(driver, tmp_path_factory):
    """A context of a driver with OpenGL."""
    if not driver.info.path or driver.info.kind != cushim.DriverKind.SOFTWARE:
        pytest.skip("a GPU has an OpenGL of its own: examples/opengl.c asks that")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler for a driver with OpenGL")
    folder = tmp_path_factory.mktemp("opengl")
    (folder / "shim.c").write_text(SHIM)
    library = folder / "libshim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, folder / "shim.c", "-Wl,--no-as-needed", driver.info.path, "-ldl"], check=True)
    return cushim.Driver(str(library)).device(0).primary_context()


def test_a_buffer_is_cudas_and_opengls_in_turns(with_gl):
    context, stream = with_gl, with_gl.create_stream()
    graphics = context.register_gl_buffer(1)
    assert graphics.mapped is False
    buffer = graphics.map(stream)
    assert graphics.mapped is True and buffer.size == 4096
    with pytest.raises(cushim.InvalidArgument, match="mapped already"):
        graphics.map(stream)
    stream.fill(buffer, 7)
    graphics.unmap()
    with pytest.raises(cushim.InvalidArgument, match="not mapped"):
        graphics.unmap()
    with pytest.raises(cushim.CushimError):
        stream.fill(buffer, 8)
    again = graphics.map(stream)
    back = bytearray(4096)
    stream.copy(back, again)
    stream.synchronize()
    assert set(back) == {7}
    again.close()  # unmaps
    assert graphics.mapped is False
    graphics.close()


def test_an_image_is_arrays(with_gl):
    stream = with_gl.create_stream()
    with pytest.raises(cushim.CushimError):
        with_gl.register_gl_image(9, 0x0DE1)
    graphics = with_gl.register_gl_image(2, 0x0DE1, cushim.GraphicsFlags.SURFACE)
    assert graphics.map_array(stream) == 0x1000
    assert graphics.get_array(0, 1) == 0x2000
    with pytest.raises(cushim.CushimError):
        graphics.get_array(0, 5)
    graphics.unmap(stream)
    assert graphics.mapped is False
    graphics.close()
