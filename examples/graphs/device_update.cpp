// device_update.c in C++: a kernel updates another node of its graph: how many blocks that has, and one of its arguments. The functions for
// it are device code of NVIDIA's, in the static library libcudadevrt.a of the CUDA toolkit; the driver links it with the PTX
// (cuLinkAddFile).
//
// It needs CUDA 12.4 and a GPU. It has not run on one yet: that its results are right is not verified.
#include "kernels.hpp"

#include <cushim.hpp>

#include <cstdio>
#include <cstring>

namespace {

constexpr char ptx[] = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func (.param .b32 result) cudaGraphKernelNodeSetParam (.param .b64 node, .param .b64 offset, .param .b64 value,
  .param .b64 size);
.extern .func (.param .b32 result) cudaGraphKernelNodeSetGridDim (.param .b64 node, .param .align 4 .b8 grid[12]);
// Gives a node as many blocks, and as its first argument the number, as `wish` says; then `wish` has the two results.
.visible .entry decide(.param .u64 node, .param .u64 wish) {
  .reg .u32 %blocks, %first, %second;
  .reg .u64 %node, %wish, %value;
  ld.param.u64 %node, [node];
  ld.param.u64 %wish, [wish];
  ld.global.u32 %blocks, [%wish];
  add.u64 %value, %wish, 4;
  cvta.global.u64 %value, %value;
  {
  .param .b64 which;
  .param .b64 offset;
  .param .b64 value;
  .param .b64 size;
  .param .b32 result;
  st.param.b64 [which], %node;
  st.param.b64 [offset], 0;
  st.param.b64 [value], %value;
  st.param.b64 [size], 4;
  call.uni (result), cudaGraphKernelNodeSetParam, (which, offset, value, size);
  ld.param.b32 %first, [result];
  }
  {
  .param .b64 which;
  .param .align 4 .b8 grid[12];
  .param .b32 result;
  st.param.b64 [which], %node;
  st.param.b32 [grid], %blocks;
  st.param.b32 [grid + 4], 1;
  st.param.b32 [grid + 8], 1;
  call.uni (result), cudaGraphKernelNodeSetGridDim, (which, grid);
  ld.param.b32 %second, [result];
  }
  st.global.u32 [%wish], %first;
  st.global.u32 [%wish + 4], %second;
  ret;
}
// Each thread adds the number to the total.
.visible .entry count(.param .u32 number, .param .u64 total) {
  .reg .u32 %number;
  .reg .u64 %total;
  ld.param.u32 %number, [number];
  ld.param.u64 %total, [total];
  red.global.add.u32 [%total], %number;
  ret;
}
)";

constexpr std::uint32_t threads = 64;

// What the driver's own functions return, with the linker's log.
void check_linked(const char *what, CUresult result, const char *log) {
  if (result != CUDA_SUCCESS) throw cushim::error(result, std::string(what) + ": " + cushim_status_name(result) + "\n" + log);
}

// Links the PTX with the device runtime library, and loads what comes of it.
cushim::library link_and_load(cushim::context_ref context, const char *runtime) {
  const cushim_driver_table *const cu = context.device().driver().table();
  const cushim::current_context current = context.make_current(); // the raw tier works in the current context
  std::string log(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  std::string source = kernels(context, ptx);
  CUlinkState state;
  void *code;
  std::size_t size;
  check_linked("cuLinkCreate", cu->cuLinkCreate_6050(2, options, values, &state), log.c_str());
  check_linked("cuLinkAddData",
               cu->cuLinkAddData_6050(state, CU_JIT_INPUT_PTX, source.data(), source.size() + 1, "update.ptx", 0, nullptr, nullptr),
               log.c_str());
  check_linked(runtime, cu->cuLinkAddFile_6050(state, CU_JIT_INPUT_LIBRARY, runtime, 0, nullptr, nullptr), log.c_str());
  check_linked("cuLinkComplete", cu->cuLinkComplete_5050(state, &code, &size), log.c_str());
  cushim::library library = cushim::library::load(context, std::string(static_cast<const char *>(code), size));
  check_linked("cuLinkDestroy", cu->cuLinkDestroy_5050(state), log.c_str()); // the code was its own
  return library;
}

int run(const char *runtime) {
  const cushim::driver driver = cushim::driver::open();
  if (driver.info().version < 12040) {
    std::printf("a kernel that updates a node needs a driver for CUDA 12.4 or newer\n");
    return 0;
  }
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  const cushim::stream stream{context};
  const cushim::resource memory = cushim::resource::device(context);
  const cushim::buffer total = memory.allocate(4), wish = memory.allocate(8);
  const cushim::library library = link_and_load(context, runtime);
  const cushim::kernel decide = library.get_kernel("decide"), count = library.get_kernel("count");

  // The node that is updated says so, with the bytes of a CUlaunchAttributeValue; it comes after the one that updates it.
  const std::int32_t updatable = 1;
  cushim_launch_attribute attribute{CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 0, {}};
  std::memcpy(attribute.value, &updatable, sizeof updatable);
  const cushim::graph graph{context};
  const auto zero = graph.add_fill<std::uint32_t>(total, 0);
  const auto counting = graph.after(zero).add_kernel(count, cushim::launch_config(1, threads).with_attributes(&attribute, 1), 0u, total);
  const auto deciding = graph.add_kernel(decide, {}, counting.device_node(), wish);
  graph.add_edges({{deciding, counting}});
  const cushim::exec exec = graph.instantiate();
  exec.upload(stream); // before kernels update its nodes

  int wrong = 0;
  for (std::uint32_t blocks = 1; blocks <= 4; blocks++) {
    std::uint32_t wishes[2] = {blocks, 10 * blocks}, result[1] = {};
    context.copy(wish, wishes);
    exec.launch(stream);
    stream.sync();
    context.copy(result, total);
    context.copy(wishes, wish);
    const std::uint32_t expected = blocks * threads * 10 * blocks;
    std::printf("%u blocks of %u threads add %u each: %u, expected %u; results %u, %u\n", blocks, threads, 10 * blocks, result[0], expected,
                wishes[0], wishes[1]);
    wrong += result[0] != expected;
  }
  return wrong != 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::printf(
        "usage: device_update LIBCUDADEVRT\n\nA kernel updates another node of its graph. LIBCUDADEVRT is the file of NVIDIA's device\n"
        "runtime library, such as /usr/local/cuda/lib64/libcudadevrt.a. Without it nothing is done.\n");
    return 0;
  }
  if (argc != 2) {
    std::printf("a kernel that updates a node needs NVIDIA's device runtime library: name its file, libcudadevrt.a of the CUDA toolkit\n");
    return argc == 1 ? 0 : 2;
  }
  if (std::FILE *const file = std::fopen(argv[1], "rb")) {
    std::fclose(file);
  } else {
    std::printf("there is no device runtime library at %s: it comes with the CUDA toolkit, as lib64/libcudadevrt.a\n", argv[1]);
    return 1;
  }
  try {
    return run(argv[1]);
  } catch (const cushim::error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
