// Buffers and images of OpenGL: refused where there is none, and in turns on a driver that has one of the program's own.
#include <cushim.hpp>

#include "check.hpp"

#include <cstring>

namespace {

struct {
  const cushim_driver_table *real;
  CUdeviceptr pointer;
  int maps, unmaps, ends;
} gl{};

constexpr std::size_t bytes = 4096;
char registration, image[2];

CUresult CUSHIM_CUDAAPI register_buffer(CUgraphicsResource *resource, unsigned name, unsigned) {
  if (name != 7) return CUDA_ERROR_INVALID_VALUE;
  *resource = reinterpret_cast<CUgraphicsResource>(&registration);
  return CUDA_SUCCESS;
}

CUresult CUSHIM_CUDAAPI register_image(CUgraphicsResource *resource, unsigned, unsigned, unsigned) {
  *resource = reinterpret_cast<CUgraphicsResource>(&image[0]);
  return CUDA_SUCCESS;
}

CUresult CUSHIM_CUDAAPI map(unsigned, CUgraphicsResource *, CUstream) { return gl.maps++, CUDA_SUCCESS; }
CUresult CUSHIM_CUDAAPI unmap(unsigned, CUgraphicsResource *, CUstream) { return gl.unmaps++, CUDA_SUCCESS; }
CUresult CUSHIM_CUDAAPI unregister(CUgraphicsResource) { return gl.ends++, CUDA_SUCCESS; }

CUresult CUSHIM_CUDAAPI pointer(CUdeviceptr *at, std::size_t *size, CUgraphicsResource) {
  return *at = gl.pointer, *size = bytes, CUDA_SUCCESS;
}

CUresult CUSHIM_CUDAAPI array(CUarray *found, CUgraphicsResource, unsigned, unsigned level) {
  return *found = reinterpret_cast<CUarray>(&image[level]), CUDA_SUCCESS;
}

template <class Function>
bool hands_out(const char *symbol, const char *name, Function *function, void **address) {
  if (std::strcmp(symbol, name) != 0) return false;
  std::memcpy(address, &function, sizeof function);
  return true;
}

// The driver's functions, but for those of OpenGL.
int get(void *, const char *symbol, void **address, int version, std::uint64_t flags, int *found) {
  if (hands_out(symbol, "cuGraphicsGLRegisterBuffer", register_buffer, address) ||
      hands_out(symbol, "cuGraphicsGLRegisterImage", register_image, address) ||
      hands_out(symbol, "cuGraphicsMapResources", map, address) || hands_out(symbol, "cuGraphicsUnmapResources", unmap, address) ||
      hands_out(symbol, "cuGraphicsSubResourceGetMappedArray", array, address) ||
      hands_out(symbol, "cuGraphicsUnregisterResource", unregister, address) ||
      (version >= 3020 && hands_out(symbol, "cuGraphicsResourceGetMappedPointer", pointer, address))) {
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result;
  if (CUSHIM_HAS(gl.real, cuGetProcAddress_12000)) {
    result = gl.real->cuGetProcAddress_12000(symbol, address, version, flags, &query);
  } else {
    result = gl.real->cuGetProcAddress_11030(symbol, address, version, flags);
    if (result == CUDA_ERROR_NOT_FOUND) query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, result = CUDA_SUCCESS;
  }
  *found = static_cast<int>(query);
  return static_cast<int>(result);
}

void in_turns(cushim::context_ref context) {
  const cushim::stream stream{context};
  cushim::graphics graphics = cushim::graphics::gl_buffer(context, 7, CUSHIM_GRAPHICS_READ_ONLY);
  graphics.set_label("vertices");
  CHECK(!graphics.mapped() && graphics.native() == reinterpret_cast<CUgraphicsResource>(&registration));
  {
    const cushim::buffer buffer = graphics.map(stream);
    CHECK(buffer.size() == bytes && buffer.pointer() == gl.pointer && graphics.mapped());
    stream.fill<std::uint32_t>(buffer, 5);
    CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, graphics.map(stream));
  }
  CHECK(gl.maps == 1 && gl.unmaps == 1 && !graphics.mapped());
  const cushim::buffer buffer = graphics.map(stream);
  graphics.unmap();
  CHECK(gl.unmaps == 2);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.fill<std::uint32_t>(buffer, 6));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, graphics.unmap(stream));
  std::uint32_t last = 0;
  stream.copy(cushim::host_view<std::uint32_t>(&last, 1), cushim::endpoint::device(gl.pointer + bytes - sizeof last));
  stream.sync();
  CHECK(last == 5);

  cushim::graphics picture = cushim::graphics::gl_image(context, 9, 0x0de1);
  CHECK(picture.map_array(stream) == reinterpret_cast<CUarray>(&image[0]));
  CHECK(picture.array(0, 1) == reinterpret_cast<CUarray>(&image[1]));
  picture.unmap(stream);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, picture.array(0));
  picture.destroy();
  CHECK(gl.ends == 1);
}

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  const bool has_driver = check::version() != 0;
  // What a GPU says in a process without OpenGL depends on what of it is installed.
  if (static_cast<cushim_driver_info>(driver.info()).kind != CUSHIM_DRIVER_KIND_NATIVE) {
    CHECK_FAILS(has_driver ? static_cast<cushim_status>(CUDA_ERROR_NOT_SUPPORTED) : CUSHIM_ERROR_UNSUPPORTED,
                cushim::graphics::gl_buffer(context, 1));
  }
  if (!has_driver) return;
  gl.real = driver.table();
  cushim::driver_options options;
  options.getter = get;
  const cushim::driver with_gl = cushim::driver::open(options);
  const cushim::context its_own = cushim::context::retain_primary(with_gl.get_device(0));
  const cushim::resource resource = cushim::resource::device(its_own);
  const cushim::buffer memory = resource.allocate(bytes);
  gl.pointer = memory.pointer();
  in_turns(its_own);
  CHECK(gl.ends == 2);
}

} // namespace

int main() { return check::program(run); }
