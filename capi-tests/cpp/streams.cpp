// Drivers, devices, contexts, streams, events, host functions, owners of handles.
#include <cushim.hpp>

#include "check.hpp"

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

using namespace std::chrono_literals;

static_assert(std::is_trivially_copyable_v<cushim::stream_ref> && sizeof(cushim::stream_ref) == sizeof(void *));
static_assert(!std::is_copy_constructible_v<cushim::stream> && std::is_nothrow_move_constructible_v<cushim::stream>);
static_assert(std::is_nothrow_destructible_v<cushim::stream> && sizeof(cushim::stream) == sizeof(void *));
static_assert(std::is_convertible_v<const cushim::stream &, cushim::stream_ref> &&
              !std::is_convertible_v<cushim::stream_ref, cushim::stream>);
static_assert(!std::is_convertible_v<cushim::stream, cushim::event_ref> && !std::is_constructible_v<cushim::stream_ref, std::nullptr_t>);
// Nothing that does not measure time gets into what does.
static_assert(!std::is_convertible_v<cushim::timed_event &, cushim::event &> && !std::is_assignable_v<cushim::timed_event &, cushim::event>);
static_assert(std::is_same_v<decltype(cushim::timed_event::share(cushim::event_ref())), cushim::timed_event>);

namespace {

void objects(cushim::driver_ref driver, bool is_none) {
  CHECK(driver.info().version == check::version());
  CHECK(driver.device_count() >= 1 && driver.devices().size() == static_cast<std::size_t>(driver.device_count()));
  const cushim::device_ref device = driver.get_device(0);
  CHECK(device == driver.devices()[0] && device.ordinal() == 0 && !device.name().empty());
  CHECK(same(device.driver(), driver));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, driver.get_device(99));
  CHECK(device.supports("memory-pools") == !is_none);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, device.supports("no such feature"));

  const cushim::context context = cushim::context::retain_primary(device);
  CHECK(context.device() == device && context.kind() == CUSHIM_CONTEXT_PRIMARY && context.lost() == CUSHIM_SUCCESS);
  CHECK(context.stream_priorities().greatest <= context.stream_priorities().least);
  CHECK(same(context, cushim::context::retain_primary(device)));
  context.sync();
  {
    const cushim::current_context current = context.make_current();
    CHECK(is_none || same(driver.current_context(), context));
  }
  CHECK(is_none || !driver.current_context());
  if (!is_none) {
    const auto table = driver.table();
    CHECK(table->cuInit_2000 != nullptr);
    CHECK(driver.lookup<CUresult(unsigned)>("cuInit", 2000) == table->cuInit_2000);
    CHECK(context.memory_info().free <= device.total_memory());
  }
}

void owners(cushim::context_ref context) {
  cushim::stream first{context};
  first.set_label("first");
  CHECK(first && first.label() == "first" && first.describe() == "stream \"first\"");
  const cushim_stream handle = first.get();
  cushim::stream second = std::move(first);
  CHECK(!first && first.get() == nullptr && second.get() == handle);
  CHECK_FAILS(CUSHIM_ERROR_STREAM_REQUIRED, first.sync());
  first.destroy(); // nothing

  cushim::stream third = cushim::stream::share(second);
  CHECK(third == second && third.get() != second.get() && same(third, second));
  CHECK(third.identity() == second.identity() && std::hash<cushim::stream>()(third) == std::hash<cushim::stream_ref>()(second));
  second = std::move(third); // what it owned is destroyed
  CHECK(!third && second && second.get() != handle);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_HANDLE, cushim::stream_ref(handle).sync());
  CHECK(second.label() == "first");
  swap(second, third);
  CHECK(third && !second);

  second.reset(third.release());
  CHECK(second && !third);
  second.destroy();
  CHECK(!second);

  const std::string label(300, 'x');
  const cushim::event event{context};
  event.set_label(label);
  CHECK(event.label() == label);
}

template <class... Handles>
constexpr bool have_hashes = (std::is_default_constructible_v<std::hash<Handles>> && ...);
static_assert(have_hashes<cushim::driver, cushim::driver_ref, cushim::device_ref, cushim::context, cushim::context_ref, cushim::event,
                          cushim::event_ref, cushim::timed_event, cushim::stream, cushim::stream_ref, cushim::resource,
                          cushim::resource_ref, cushim::buffer, cushim::buffer_ref, cushim::library, cushim::library_ref>);
static_assert(have_hashes<cushim::kernel, cushim::kernel_ref, cushim::graph, cushim::graph_ref, cushim::node_ref, cushim::condition_ref,
                          cushim::exec, cushim::exec_ref, cushim::builder, cushim::builder_ref>);

// Handles are keys, and empty ones are equal to nullptr.
void keys(cushim::context_ref context) {
  cushim::stream a{context}, b{context};
  std::unordered_map<cushim::stream_ref, int> by_hash{{a, 1}, {b, 2}};
  std::map<cushim::stream_ref, int> by_order{{a, 1}, {b, 2}};
  by_hash[b]++;
  by_order[b]++;
  CHECK(by_hash.size() == 2 && by_hash.at(a) == 1 && by_hash.at(b) == 3);
  CHECK(by_order.size() == 2 && by_order.at(a) == 1 && by_order.at(b) == 3);
  CHECK((a < b) != (b < a) && !(a < a) && cushim::stream() < a);

  CHECK(a != nullptr && !(a == nullptr) && nullptr != a && cushim::stream_ref() == nullptr && nullptr == cushim::event());
  std::set<cushim::stream> ordered;
  std::unordered_set<cushim::stream> hashed;
  ordered.insert(std::move(a));
  hashed.insert(std::move(b));
  CHECK(ordered.size() == 1 && hashed.size() == 1 && a == nullptr && b == nullptr && *ordered.begin() != *hashed.begin());
}

void streams(cushim::context_ref context, bool is_none) {
  cushim::stream_options options;
  options.blocking = true;
  options.priority = context.stream_priorities().greatest;
  const cushim::stream a{context}, b{context, options};
  CHECK(a.kind() == CUSHIM_STREAM_CREATED && a.flags() == 0 && (is_none || b.flags() == CUSHIM_STREAM_BLOCKING));
  CHECK(b.priority() == options.priority && same(a.context(), context) && a.device() == context.device());
  options.priority = 1000;
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::stream(context, options));
  CHECK(context.legacy_stream().kind() == CUSHIM_STREAM_LEGACY);
  CHECK(context.per_thread_stream().kind() == CUSHIM_STREAM_PER_THREAD);
  if (check::version() >= 12000) CHECK(a.id() != b.id());

  // What waits is not done, and what it waits for ends it.
  std::promise<void> go;
  a.launch_host_function_once([wait = go.get_future()]() mutable { wait.wait_for(10s); });
  b.wait(a);
  const cushim::event after = b.record_event();
  CHECK(is_none || (!a.is_done() && !after.is_done() && !after.sync_for(1ms) && !b.sync_for(0s)));
  go.set_value();
  after.sync();
  CHECK(a.sync_for(1h) && a.is_done() && after.is_done() && after.sync_for(std::chrono::seconds::max()));

  const cushim::timed_event start = a.record_timed_event();
  cushim::timed_event end{context};
  a.wait(start);
  end.record(a);
  end.sync();
  CHECK(end - start >= 0ns && end - start < 60s);
  CHECK_FAILS(CUSHIM_ERROR_TIMING_DISABLED, after.elapsed_since(start));
  CHECK_FAILS(CUSHIM_ERROR_NOT_RECORDED, end - cushim::timed_event(context));
  CHECK(same(after.context(), context));

  // The current stream of a thread.
  CHECK_FAILS(CUSHIM_ERROR_STREAM_REQUIRED, cushim::stream_ref::current().sync());
  {
    const cushim::current_stream current = a.make_current();
    cushim::stream_ref::current().sync();
    CHECK(same(cushim::stream_ref::get_current(), a));
    cushim::stream_ref::current().record_event().sync();
  }
  CHECK_FAILS(CUSHIM_ERROR_STREAM_REQUIRED, cushim::stream_ref::current().sync());
}

// What a cuda::stream_ref looks like from here.
struct stream_like {
  CUstream native;
  [[nodiscard]] CUstream get() const { return native; }
};

void native_handles(cushim::context_ref context) {
  const cushim::stream stream{context};
  const CUstream native = stream.native();
  const cushim::stream again = cushim::stream::wrap(context, native), like = cushim::stream::wrap(context, stream_like{native});
  CHECK(same(again, stream) && same(like, stream) && again.native() == native);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::stream::from_native_handle(context, native)); // it has an owner
  const cushim::event event{context};
  CHECK(same(cushim::event::wrap(context, event.native()), event));

  const auto table = context.device().driver().table();
  CUstream made = nullptr;
  const cushim::current_context current = context.make_current();
  CHECK(table->cuStreamCreate_2000(&made, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  const cushim::stream taken = cushim::stream::from_native_handle(context, made);
  CHECK(taken.kind() == CUSHIM_STREAM_WRAPPED && taken.native() == made);
  taken.sync();
}

// An event of others measures time unless it is created otherwise.
void native_timed_events(cushim::context_ref context) {
  const cushim::stream stream{context};
  const auto table = context.device().driver().table();
  const cushim::current_context current = context.make_current();
  CUevent first = nullptr, second = nullptr;
  CHECK(table->cuEventCreate_2000(&first, CU_EVENT_DEFAULT) == CUDA_SUCCESS && table->cuEventCreate_2000(&second, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
  cushim::timed_event borrowed = cushim::timed_event::wrap(context, first);
  {
    const cushim::timed_event taken = cushim::timed_event::from_native_handle(context, second);
    const cushim::timed_event start = cushim::timed_event::share(borrowed);
    CHECK(same(start, borrowed) && taken.native() == second && taken.flags() == CUSHIM_EVENT_TIMING);
    start.record(stream);
    taken.record(stream);
    taken.sync();
    CHECK(taken - start >= 0ns && taken - borrowed < 60s);
  }
  borrowed.destroy();
  CHECK(table->cuEventDestroy_4000(first) == CUDA_SUCCESS);
}

void host_functions(cushim::context_ref context, bool is_none) {
  const cushim::stream stream{context};
  std::atomic<int> calls{0};
  stream.launch_host_function([&calls] { calls++; }); // bytes
  auto counted = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = counted;
  stream.launch_host_function([counted, &calls] { calls += *counted; }); // kept, and destroyed
  auto unique = std::make_unique<int>(5);
  stream.launch_host_function_once([unique = std::move(unique), &calls] { calls += *unique; });
  counted.reset();
  stream.sync();
  CHECK(calls == 7);
  CHECK(cushim::flush_callbacks(10s) && seen.expired());
  cushim::flush_callbacks();

  // If it fails, what was to be kept is not, and the thread's error is that of the call.
  auto refused = std::make_shared<int>(1);
  CHECK_FAILS(CUSHIM_ERROR_STREAM_REQUIRED, cushim::stream_ref().launch_host_function([refused] { std::abort(); }));
  CHECK(refused.use_count() == 1);

  // Inside, the library refuses what would call the driver.
  std::atomic<int> status{0};
  stream.launch_host_function([&status, raw = stream.get()] { status = cushim_stream_synchronize(raw); });
  stream.sync();
  CHECK(status == CUSHIM_ERROR_IN_CALLBACK || is_none);
}

// Takes its time to be destroyed, and says then that it is.
class slow {
 public:
  explicit slow(std::atomic<bool> &is_gone) noexcept : is_gone_(&is_gone) {}
  slow(slow &&other) noexcept : is_gone_(std::exchange(other.is_gone_, nullptr)) {}
  slow &operator=(slow &&) = delete;
  ~slow() {
    if (is_gone_ == nullptr) return;
    std::this_thread::sleep_for(50ms);
    *is_gone_ = true;
  }
  void operator()() const noexcept {}

 private:
  std::atomic<bool> *is_gone_;
};

// A wait as long as a program can say, and one that is shorter than the unit of the function in C.
void long_and_short_waits(cushim::stream_ref stream) {
  std::atomic<bool> is_gone{false};
  const auto waits = [&](auto timeout) {
    is_gone = false;
    stream.launch_host_function(slow(is_gone));
    stream.sync();
    return cushim::flush_callbacks(timeout) && is_gone;
  };
  CHECK(waits(std::chrono::seconds::max()) && waits(std::chrono::hours::max()) && waits(std::chrono::nanoseconds::max()));
  CHECK(waits(std::chrono::duration<double>(1e30)));
  CHECK(!waits(0s) && !waits(-1s) && !waits(std::chrono::hours::min()));
  cushim::flush_callbacks();

  is_gone = false;
  stream.launch_host_function(slow(is_gone));
  stream.sync();
  const auto begun = std::chrono::steady_clock::now();
  const bool is_done = cushim::flush_callbacks(900us);
  CHECK(is_done || std::chrono::steady_clock::now() - begun >= 900us);
  cushim::flush_callbacks();
}

void threads(cushim::context_ref context) {
  const cushim::stream stream{context};
  std::vector<std::thread> all;
  std::atomic<int> done{0};
  for (int i = 0; i < 4; i++) {
    all.emplace_back([&] {
      for (int j = 0; j < 50; j++) {
        const cushim::event event = stream.record_event();
        event.sync();
        done += event.is_done();
      }
    });
  }
  for (std::thread &thread : all) thread.join();
  CHECK(done == 200);
}

void run() {
  const cushim::driver driver = cushim::driver::open();
  const bool is_none = driver.info().kind == CUSHIM_DRIVER_KIND_NONE;
  const cushim::context context = cushim::context::retain_primary(driver.get_device(0));
  objects(driver, is_none);
  owners(context);
  keys(context);
  streams(context, is_none);
  if (!is_none) native_handles(context);
  if (!is_none) native_timed_events(context);
  host_functions(context, is_none);
  long_and_short_waits(cushim::stream(context));
  threads(context);
  cushim::driver_options missing;
  missing.driver = "/nonexistent/libcuda.so.1";
  CHECK_FAILS(CUSHIM_ERROR_DRIVER_UNUSABLE, cushim::driver::open(missing));
}

} // namespace

int main() { return check::program(run); }
