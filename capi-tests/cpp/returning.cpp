// The header without exceptions: each area's functions return what they have, or the error. It compiles with -fno-exceptions, too.
#define CUSHIM_NO_EXCEPTIONS
#include <cushim.hpp>

#include <cstdio>
#include <string>

namespace {

int count = 0, failures = 0;

bool check(bool passed, int line, const char *what, const char *error = "") {
  count++;
  if (passed) return true;
  failures++;
  std::fprintf(stderr, "%s:%d: %s %s\n", __FILE__, line, what, error);
  return false;
}

template <class Result>
bool check_ok(const Result &result, int line, const char *what) {
  return check(result.has_value(), line, what, result ? "" : result.error().what());
}

template <class Result>
bool check_fails(cushim_status status, const Result &result, int line, const char *what) {
  return check(!result && result.error().status() == status && *result.error().what() != '\0', line, what,
               result ? "" : result.error().what());
}

#define CHECK(condition) check(condition, __LINE__, #condition)
#define CHECK_OK(...) check_ok(__VA_ARGS__, __LINE__, #__VA_ARGS__)
#define CHECK_FAILS(status, ...) check_fails(status, __VA_ARGS__, __LINE__, #__VA_ARGS__)

constexpr char code[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry append(.param .u64 to, .param .u32 digit) {
  .reg .u64 %to;
  .reg .u32 %digit, %number;
  ld.param.u64 %to, [to];
  ld.param.u32 %digit, [digit];
  ld.volatile.global.u32 %number, [%to];
  mad.lo.u32 %number, %number, 10, %digit;
  st.volatile.global.u32 [%to], %number;
  ret;
}
)";

// Memory of the program's own: what it returns becomes the status of the call.
struct own_memory {
  cushim::result<cushim::address> allocate(cushim::stream_ref, std::size_t bytes) {
    if (bytes > 64) return cushim::error(CUDA_ERROR_OUT_OF_MEMORY, "too many");
    return cushim::address{0x1000};
  }
  cushim::result<void> free(cushim::stream_ref, cushim::address, std::size_t) { return {}; }
  void describe(cushim_memory_properties &) noexcept {}
};

void results() {
  const cushim::expected<int> five = 5, none = cushim::error(CUDA_ERROR_NOT_FOUND, "none");
  CHECK(five && *five == 5 && five.value() == 5 && five.value_or(6) == 5 && !none && none.value_or(6) == 6);
  CHECK(none.error().status() == CUDA_ERROR_NOT_FOUND && std::string(none.error().what()) == "none");
  const auto twice = [](int value) -> cushim::expected<long> { return 2L * value; };
  CHECK(cushim::expected<int>(five).and_then(twice).value() == 10 && !cushim::expected<int>(none).and_then(twice));
  const cushim::expected<void> done, failed = none.error();
  CHECK(done && !failed && failed.error().name() == std::string("CUDA_ERROR_NOT_FOUND"));
}

void work(cushim::device_ref device, cushim::context_ref context, cushim::stream_ref stream) {
  const auto numbers = device.allocate(stream, 16);
  const char *const text = code;
  const auto library = cushim::library::load(context, text);
  if (!CHECK_OK(numbers) || !CHECK_OK(library)) return;
  const auto append = library->get_kernel("append");
  const auto typed = library->get_typed_kernel<cushim::address, std::uint32_t>("append");
  if (!CHECK_OK(append) || !CHECK_OK(typed)) return;
  CHECK_FAILS(CUDA_ERROR_NOT_FOUND, library->get_kernel("no such kernel"));

  std::uint32_t result[1] = {};
  CHECK_OK(stream.fill<std::uint32_t>(*numbers, 0));
  CHECK_OK(append->launch(stream, {}, *numbers, 1u));
  CHECK_OK(typed->launch(stream, {}, *numbers, 2));
  CHECK_OK(stream.copy(result, *numbers));
  CHECK_OK(stream.sync());
  CHECK(result[0] == 12);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, numbers->host<int>());

  const auto graph = cushim::graph::create(context);
  if (!CHECK_OK(graph)) return;
  const auto first = graph->add_kernel(*append, {}, *numbers, 3u);
  if (!CHECK_OK(first)) return;
  CHECK_OK(graph->after(*first).add_kernel(*append, {}, *numbers, cushim::parameter("digit", 4u)));
  const auto allocated = graph->add_allocation(16);
  if (!CHECK_OK(allocated)) return;
  const auto &[node, pointer] = *allocated;
  CHECK_OK(graph->after(node).add_free(pointer));
  const auto exec = graph->instantiate();
  if (!CHECK_OK(exec)) return;
  CHECK_OK(exec->at(*first).set_arguments(*numbers, 5u));
  CHECK_OK(exec->launch(stream));
  CHECK_OK(stream.copy(result, *numbers));
  CHECK_OK(stream.sync());
  CHECK(result[0] == 1254);

  const auto captured = cushim::capture(context, [&](cushim::stream_ref into) { return append->launch(into, {}, *numbers, 6u); });
  CHECK(CHECK_OK(captured) && captured->nodes().value().size() == 1);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_HANDLE,
              cushim::capture(context, [&](cushim::stream_ref into) { return cushim::kernel_ref().launch(into, {}, *numbers, 6u); }));
}

void run() {
  results();
  const auto driver = cushim::driver::open();
  if (!CHECK_OK(driver)) return;
  const auto device = driver->get_device(0);
  const auto context = device.has_value() ? cushim::context::retain_primary(*device) : device.error();
  if (!CHECK_OK(context)) return;
  const auto stream = cushim::stream::create(*context);
  if (!CHECK_OK(stream)) return;
  int calls = 0;
  CHECK_OK(stream->launch_host_function([&calls] { calls++; }));
  CHECK_OK(stream->sync());
  CHECK(calls == 1 && stream->is_done().value() && stream->record_event().value().sync().has_value());
  CHECK_FAILS(CUSHIM_ERROR_STREAM_REQUIRED, cushim::stream().sync());
  CHECK_OK(stream->record_timed_event().and_then([](const cushim::timed_event &event) { return cushim::timed_event::share(event); }));
  CHECK(cushim::flush_callbacks(std::chrono::seconds::max()).value() && *stream != nullptr);

  const auto own = cushim::resource::custom(*driver, own_memory());
  CHECK(CHECK_OK(own) && own->allocate(64).value().pointer().value() == 0x1000);
  CHECK_FAILS(CUDA_ERROR_OUT_OF_MEMORY, own->allocate(65));

  if (driver->info().value().kind == CUSHIM_DRIVER_KIND_NONE) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, context->allocate(64));
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, cushim::capture(*context, [](cushim::stream_ref) {}));
    return;
  }
  work(*device, *context, *stream);
}

} // namespace

int main() {
  run();
  if (failures == 0) std::printf("%d checks passed\n", count);
  else std::fprintf(stderr, "%d of %d checks failed\n", failures, count);
  return failures != 0;
}
