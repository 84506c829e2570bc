// Libraries, kernels, arguments of every sort, launches.
#include <cushim.hpp>

#include "check.hpp"

#include <cstdlib>

using namespace std::chrono_literals;

namespace {

constexpr char code[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .u32 counter = 5;
.visible .entry add(.param .u64 to, .param .u32 number, .param .f32 scale) {
  .reg .u64 %to;
  .reg .u32 %number;
  .reg .f32 %scale, %product;
  ld.param.u64 %to, [to];
  ld.param.u32 %number, [number];
  ld.param.f32 %scale, [scale];
  cvt.rn.f32.u32 %product, %number;
  mul.rn.f32 %product, %product, %scale;
  cvt.rzi.u32.f32 %number, %product;
  red.global.add.u32 [%to], %number;
  ret;
}
.visible .entry nothing() { ret; }
)";

// No kernel of other parameters gets into it.
using typed_add = cushim::typed_kernel<cushim::address, std::uint32_t, float>;
static_assert(!std::is_convertible_v<typed_add &, cushim::kernel &> && !std::is_assignable_v<typed_add &, cushim::kernel>);
static_assert(std::is_convertible_v<const typed_add &, cushim::kernel_ref> && std::is_constructible_v<typed_add, cushim::kernel>);

struct block {
  cushim::address to;
  std::uint32_t number;
  float scale;
};

void launches(cushim::library_ref library, cushim::stream_ref stream, cushim::buffer_ref numbers) {
  const cushim::kernel add = library.get_kernel("add"), nothing = library.get_kernel("nothing");
  const auto typed = library.get_typed_kernel<cushim::address, std::uint32_t, float>("add");
  std::uint32_t result[2] = {};
  stream.fill<std::uint32_t>(numbers, 0);
  nothing.launch(stream, {});
  add.launch(stream, {2, 32}, numbers, 3u, 2.0f);                         // 64 times 6: a buffer
  add.launch(stream, {}, numbers.at(4), 7u, 1.0f);                        // an endpoint
  add.launch(stream, {}, numbers.pointer() + 4, 1u, 1.0f);                // an address
  add.launch(stream, {}, numbers, cushim::parameter("n", 10u), 1.0f);     // a value with a name
  add.launch_packed(stream, {1, 2}, block{numbers.pointer(), 100, 1.0f}); // 2 times 100
  typed.launch(stream, {}, numbers.at(4), 20, 1);                         // converted
  typed.launch(stream, {}, numbers.at(4), cushim::parameter("n", 5.0), cushim::parameter("scale", 2)); // these, too
  const auto shared = decltype(typed)::share(typed);
  shared.launch(stream, cushim::dim3(1, 1, 1), numbers, std::int8_t{4}, 0.5);
  stream.copy(result, numbers);
  stream.sync();
  CHECK(result[0] == 64 * 6 + 10 + 200 + 2 && result[1] == 7 + 1 + 20 + 10);

  if (check::version() >= 12040) {
    CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, add.launch(stream, {}, numbers, 3u));
    try {
      add.launch(stream, {}, numbers, 3u, 2.0);
      CHECK(false);
    } catch (const cushim::error &error) {
      CHECK(error.item() == 2 && std::string(error.what()).find("8 are given") != std::string::npos);
    }
    CHECK(add.parameter_count() == 3 && add.get_parameter(1).offset == 8 && add.get_parameter(2).size == 4);
    CHECK(library.kernel_names().size() == 2);
  } else {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, add.parameter_count());
  }
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, nothing.launch(stream, {0, 1}));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, nothing.launch(stream, {1, 100000}));
  if (check::version() >= 11080) nothing.launch(stream, cushim::launch_config().with_priority(0));
  else CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, nothing.launch(stream, cushim::launch_config().with_priority(0)));

  // An owner of an argument is released when the kernel is done, and kept if the launch fails.
  auto guard = std::make_shared<int>(0);
  const std::weak_ptr<int> seen = guard;
  cushim::owner keeper = cushim::owner::of(std::move(guard));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, add.launch(stream, {0}, cushim::owned_pointer(numbers.pointer(), keeper), 1u, 1.0f));
  CHECK(keeper);
  add.launch(stream, {}, cushim::owned_pointer(numbers.pointer(), keeper), 1u, 1.0f);
  CHECK(!keeper);
  keeper = cushim::owner::of(std::make_shared<int>(0));
  add.launch(stream, {}, cushim::endpoint::device(numbers.pointer()).kept_by(keeper), 1u, 1.0f);
  CHECK(!keeper);
  stream.sync();
  CHECK(cushim::flush_callbacks(10s) && seen.expired());

  // Only the first call has the owner; those after it, also with an endpoint that names it, get the memory alone.
  int releases = 0;
  cushim::owner counted(cushim_owner{&releases, [](void *count) { ++*static_cast<int *>(count); }});
  const cushim::owned_pointer pointer(numbers.pointer(), counted);
  const cushim::endpoint endpoint = cushim::endpoint::device(numbers.pointer()).kept_by(counted);
  add.launch(stream, {}, endpoint, 1u, 1.0f);
  add.launch(stream, {}, endpoint, 1u, 1.0f);
  add.launch(stream, {}, pointer, 1u, 1.0f);
  stream.sync();
  CHECK(cushim::flush_callbacks(10s) && releases == 1);
  counted = cushim::owner(cushim_owner{&releases, [](void *count) { ++*static_cast<int *>(count); }});
  add.launch(stream, {}, pointer, 1u, 1.0f);
  add.launch(stream, {}, pointer, 1u, 1.0f);
  stream.sync();
  CHECK(cushim::flush_callbacks(10s) && releases == 2);

  // A kernel without parameters takes the place of one with some.
  const cushim::graph graph{add.context()};
  const auto node = graph.add_kernel(add, {}, pointer, 1u, 1.0f);
  node.set_kernel(nothing, {});
  CHECK(same(cushim::kernel_ref(node.get_kernel().kernel), nothing));
}

// What a parameter's value is in a typed kernel depends on the kernel, not on how it was written; so in graphs.
void named_values(cushim::context_ref context, cushim::library_ref library, cushim::stream_ref stream, cushim::buffer_ref numbers) {
  const auto typed = library.get_typed_kernel<cushim::address, std::uint32_t, float>("add");
  const auto result_of = [&](const cushim::exec &exec) {
    std::uint32_t result = 0;
    stream.fill<std::uint32_t>(numbers, 0);
    exec.launch(stream);
    stream.copy(cushim::endpoint::host(&result), numbers, sizeof result);
    stream.sync();
    return result;
  };
  const cushim::graph captured = cushim::capture(context, [&](cushim::stream_ref work) {
    typed.launch(work, {}, numbers, cushim::parameter("n", std::uint64_t{3}), cushim::parameter("scale", 2));
  });
  const cushim::exec exec{captured};
  CHECK(result_of(exec) == 6);
  CHECK(exec.set_parameter<std::uint32_t>("n", 4.0) == 1 && exec.set_parameter<float>("scale", 3) == 1);
  CHECK(result_of(exec) == 12);

  const cushim::graph graph{context};
  const auto node = graph.add_kernel(typed, {}, numbers.at(0), cushim::parameter("n", 2.0), 4);
  CHECK(result_of(cushim::exec{graph}) == 8);
  node.set_kernel(typed, {1, 2}, numbers, 2.0, cushim::parameter("scale", 5));
  CHECK(result_of(cushim::exec{graph}) == 20);
  CHECK(cushim::exec{graph}.set_parameter("scale", 1.0f) == 1);
}

void questions(cushim::context_ref context, cushim::library_ref library, cushim::stream_ref stream) {
  const cushim::kernel add = library.get_kernel("add");
  CHECK(add.name() == "add" && same(add.library(), library) && same(add.context(), context));
  CHECK(add.get_active_blocks(64) > 0 && add.suggest_block_size().threads > 0 && add.get_available_shared_memory(1, 64) > 0);
  CHECK(add.suggest_block_size([](std::uint32_t threads) { return std::size_t{threads}; }, 128).threads <= 128);
  CHECK(add.get_attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) > 0);
  add.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024);
  CHECK_FAILS(CUDA_ERROR_NOT_FOUND, library.get_kernel("no such kernel"));
  CHECK(add.native_function() != nullptr && library.native_module() != nullptr);
  CHECK(same(cushim::kernel::wrap(context, add.native_function()), add) || check::version() >= 12000);

  std::uint32_t counter = 0;
  const cushim::variable variable = library.get_global("counter");
  stream.copy(cushim::endpoint::host(&counter), cushim::endpoint::device(variable.pointer), variable.bytes);
  stream.sync();
  CHECK(variable.bytes == 4 && counter == 5);
  CHECK_FAILS(CUDA_ERROR_NOT_FOUND, library.get_managed("counter"));
}

// What a compiler leaves at a pointer, const or not, ends with NUL.
void pointers_to_code(cushim::context_ref context) {
  const char *const given = code;
  std::string text(code);
  char *const made = text.data();
  CHECK(cushim::library::load(context, given).get_kernel("add").name() == "add");
  CHECK(cushim::library::load(context, made, {}).get_kernel("add").name() == "add");
  const char *const none = nullptr;
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::library::load(context, none));
}

// Compiler and linker are those of tests/fakes, whose sources are PTX; without them nothing is asked.
void linked_programs(cushim::driver_ref driver, cushim::context_ref context) {
  if (std::getenv("CUSHIM_NVRTC") == nullptr || std::getenv("CUSHIM_NVJITLINK") == nullptr) return;
  const std::string head = ".version 7.0\n.target sm_70\n.address_size 64\n";
  const std::string function = head + ".visible .func f() { ret; }\n";
  cushim::compile_options parts;
  parts.kind = CUSHIM_CODE_LTO_IR;
  const cushim::program caller =
      cushim::program::compile(context.device(), head + ".extern .func f();\n.visible .entry k() { call f; ret; }\n", parts);
  const cushim::program called = cushim::program::compile(context.device(), function, parts);
  cushim::link_options options;
  options.name = "both";
  options.options = {"-lineinfo"};
  const cushim::program linked = cushim::program::link(context, {caller, called}, options);
  CHECK(linked.properties().kind == CUSHIM_CODE_PTX && linked.log() == "INFO: 2 inputs");
  CHECK(cushim::library::load(context, linked).get_kernel("k").name() == "k");
  options.codes.push_back({"function.ptx", function.data(), function.size()});
  CHECK(cushim::library::load(context, cushim::program::link(context, {caller}, options)).get_kernel("k").name() == "k");
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::program::link(context, {}));
  CHECK(driver.find_linker().version == 11040 && driver.find_compiler().version == 11040);
}

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  if (driver.info().kind == CUSHIM_DRIVER_KIND_NONE) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, cushim::library::load(context, code));
    return;
  }
  const cushim::stream stream{context};
  const cushim::buffer numbers = device.allocate(stream, 64);
  cushim::library_options options;
  options.verbose = true;
  const cushim::library library = cushim::library::load(context, std::string(code), options);
  pointers_to_code(context);
  linked_programs(driver, context);
  launches(library, stream, numbers);
  named_values(context, library, stream, numbers);
  questions(context, library, stream);
  try {
    static_cast<void>(cushim::library::load(context, ".version 7.0\n.target sm_70\n.address_size 64\nnonsense\n"));
    CHECK(false);
  } catch (const cushim::error &error) {
    CHECK(error.status() == CUDA_ERROR_INVALID_PTX && error.driver_result() == CUDA_ERROR_INVALID_PTX);
    CHECK(*error.driver_log() != '\0' && std::string(error.name()) == "CUDA_ERROR_INVALID_PTX" && *error.function() != '\0');
  }
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::library::load_file(context, "/nonexistent/file.ptx"));
}

} // namespace

int main() { return check::program(run); }
