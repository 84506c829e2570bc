// Buffers, resources, copies, memsets, page-locked memory, owners of endpoints, DLPack, libraries and kernels.
#include <cushim.hpp>

#include "check.hpp"

#include <array>
#include <cstring>
#include <unistd.h>

#if __cplusplus >= 202002L
#include <span>
#endif

using namespace std::chrono_literals;

// A destination of copies outlives them; a temporary is one only if its elements are those of something else.
template <class Argument>
constexpr bool is_target = std::is_constructible_v<cushim::host_target, Argument>;
static_assert(is_target<std::vector<int> &> && is_target<std::array<int, 4> &> && is_target<int (&)[4]> && is_target<std::string &>);
static_assert(!is_target<std::vector<int>> && !is_target<std::array<int, 4>> && !is_target<std::string> && !is_target<int (&&)[4]>);
static_assert(!is_target<const std::vector<int>> && !is_target<const std::vector<int> &>);
static_assert(is_target<cushim::host_view<int>> && !is_target<cushim::host_view<const int>>);
static_assert(is_target<const cushim::host_array<int> &> && !is_target<cushim::host_array<int>>);
#if __cplusplus >= 202002L
static_assert(is_target<std::span<int>> && is_target<const std::span<int, 2>> && !is_target<std::span<const int>>);
#endif

namespace {

template <class T>
bool all_are(const std::vector<T> &values, T value) {
  for (const T &one : values) {
    if (one != value) return false;
  }
  return !values.empty();
}

void copies(cushim::device_ref device, cushim::context_ref context, cushim::stream_ref stream) {
  const cushim::buffer a = device.allocate(stream, 4096), b = device.allocate(stream, 4096);
  CHECK(a.size() == 4096 && a.pointer() != 0 && same(a.stream(), stream) && same(a.context(), context));
  std::vector<std::uint32_t> words(1024), back(1024);
  stream.fill<std::uint32_t>(a, 0x01020304);
  stream.copy(b, a, 4096);
  stream.copy(words, b);
  stream.sync();
  CHECK(all_are<std::uint32_t>(words, 0x01020304));
  stream.fill<std::uint16_t>(a.at(2), 0xabcd, 1);
  stream.fill<float>(a.at(4), 1.0f, 1);
  std::array<std::uint16_t, 4> head{};
  stream.copy(head, a);
  stream.sync();
  CHECK(head[0] == 0x0304 && head[1] == 0xabcd && head[2] == 0 && head[3] == 0x3f80);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.fill<std::uint32_t>(a.at(2), 0, 1)); // not aligned
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.copy(b.at(1), a, 4096));             // past the end
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.copy(a, std::vector<char>(5000)));   // too many

  // Rows and boxes.
  stream.fill<std::uint8_t>(a, 0);
  stream.fill_2d<std::uint8_t>(a, 64, 7, 8, 4);
  cushim::region from(a, 64), to(cushim::endpoint::host(back.data()), 16);
  from.x = 4;
  stream.copy_3d(to, from, {8, 4});
  stream.sync();
  const auto *const bytes = reinterpret_cast<const std::uint8_t *>(back.data());
  CHECK(bytes[0] == 7 && bytes[3] == 7 && bytes[4] == 0 && bytes[16 * 3 + 3] == 7 && bytes[16 * 3 + 4] == 0);

  // Synchronous ones.
  const cushim::address pointer = context.allocate(64);
  context.fill<std::uint8_t>(cushim::endpoint::device(pointer), 9, 64);
  std::array<std::uint8_t, 64> here{};
  context.copy(here, cushim::endpoint::device(pointer));
  CHECK(here[0] == 9 && here[63] == 9);
  CHECK(context.get_address_range(pointer + 5).start == pointer && context.get_pointer_attributes(pointer).range_bytes == 64);
  context.copy(cushim::endpoint::any(here.data()), cushim::endpoint::any(pointer), 32);
  context.free(pointer);
  context.free(0);

  // The whole of containers, and of arrays.
  int numbers[4] = {1, 2, 3, 4}, read[4] = {};
  stream.copy(a, numbers);
  stream.copy(read, a);
  stream.sync();
  CHECK(std::memcmp(numbers, read, sizeof read) == 0);
#if __cplusplus >= 202002L
  stream.copy(std::span(read).first(2), a.at(8));
  stream.sync();
  CHECK(read[0] == 3 && read[1] == 4);
#endif

  // Several at once.
  if (context.device().driver().info().kind == CUSHIM_DRIVER_KIND_SOFTWARE) {
    const std::vector<cushim::copy_item> items = {{b, a, 16}, {b.at(16), a, 16}};
    stream.copy_batch(items);
    stream.copy_with_attributes(b.at(32), a, 16, {});
    stream.copy(words, b);
    stream.sync();
    CHECK(words[0] == 1 && words[7] == 4 && words[8] == 1);
  }
}

// Values that streams wait for, and write; the library takes the owners of their endpoints.
void memory_operations(cushim::context_ref context, cushim::stream_ref stream) {
  const auto values = context.allocate_host<std::uint32_t>(2);
  values[0] = 0;
  values[1] = 0;
  const cushim::endpoint first = cushim::endpoint::host(&values[0]), second = cushim::endpoint::host(&values[1]);
  cushim::owner keeper = cushim::owner::of(std::make_shared<int>(1));
  const cushim::stream other{context};
  other.memory_operations(cushim::memory_operation::wait_32(first, 1, CU_STREAM_WAIT_VALUE_EQ));
  const cushim::event after = other.record_event();
  CHECK(!after.is_done());
  stream.memory_operations({cushim::memory_operation::write_32(first.kept_by(keeper), 1), cushim::memory_operation::write_32(second, 7)});
  CHECK(!keeper);
  after.sync();
  stream.sync();
  CHECK(values[0] == 1 && values[1] == 7);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.memory_operations(cushim::memory_operation::write_32(first.at(1), 1)));
}

void buffers(cushim::driver_ref driver, cushim::device_ref device, cushim::context_ref context, cushim::stream_ref stream) {
  const cushim::resource pinned = cushim::resource::pinned(context), plain = cushim::resource::device(context);
  cushim::buffer host = pinned.allocate(stream, 64);
  stream.sync();
  const auto bytes = host.host<std::uint8_t>();
  CHECK(bytes.size() == 64);
  for (std::uint8_t &byte : bytes) byte = 3;
  const cushim::buffer second = host.copy(stream);
  stream.sync();
  CHECK(second.host<const std::uint8_t>()[63] == 3 && second.pointer() != host.pointer());
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, device.allocate(stream, 64).host<int>());
  CHECK(plain.allocate(128).properties().device == 0 && !plain.properties().stream_ordered);
  CHECK_FAILS(CUSHIM_ERROR_STREAM_REQUIRED, device.resource().allocate(128));
  host.destroy_on(stream);
  CHECK(!host);

  // Kept by somebody.
  auto memory = std::make_shared<std::vector<std::uint8_t>>(256, std::uint8_t{8});
  const std::weak_ptr<std::vector<std::uint8_t>> seen = memory;
  {
    const auto address = static_cast<cushim::address>(reinterpret_cast<std::uintptr_t>(memory->data()));
    const cushim::buffer wrapped = cushim::buffer::wrap(driver, address, 256, cushim::owner::of(std::move(memory)));
    CHECK(!seen.expired() && wrapped.size() == 256);
  }
  CHECK(cushim::flush_callbacks(10s) && seen.expired());

  // An endpoint with an owner: the call takes it, but only if it succeeds.
  auto source = std::make_shared<std::array<std::uint8_t, 64>>();
  source->fill(5);
  const std::weak_ptr<std::array<std::uint8_t, 64>> source_seen = source;
  const void *const data = source->data();
  cushim::owner keeper = cushim::owner::of(std::move(source));
  const cushim::buffer target = device.allocate(stream, 64);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.copy(target.at(1), cushim::endpoint::host(data).kept_by(keeper), 64));
  CHECK(keeper && !source_seen.expired());
  stream.copy(target, cushim::endpoint::host(data).kept_by(keeper), 64);
  CHECK(!keeper);
  stream.sync();
  CHECK(cushim::flush_callbacks(10s) && source_seen.expired());

  // There and back.
  std::vector<std::uint32_t> numbers(16, 1);
  cushim::buffer scratch = cushim::buffer::scratch(stream, numbers);
  stream.fill<std::uint32_t>(scratch, 2);
  scratch.take_back(stream, numbers);
  stream.sync();
  CHECK(!scratch && all_are<std::uint32_t>(numbers, 2));

  const auto locked = context.allocate_host<std::uint32_t>(16);
  CHECK(locked.size() == 16 && context.get_device_pointer(locked.data()) != 0);
  stream.fill<std::uint32_t>(target, 6);
  stream.copy(locked, target);
  stream.sync();
  CHECK(locked[0] == 6 && locked[15] == 6);

  cushim::dlpack_options options;
  options.code = 2;
  options.bits = 32;
  options.shape = {4, 4};
  void *const tensor = target.export_dlpack(options);
  bool is_read_only = true;
  const cushim::buffer imported = cushim::buffer::import_dlpack(driver, tensor, false, &is_read_only);
  CHECK(!is_read_only && imported.pointer() == target.pointer() && imported.size() == 64);
  options.shape = {5, 5};
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, target.export_dlpack(options));
}

// Memory of the program's own.
struct own_memory {
  std::shared_ptr<int> live;
  bool is_full = false;

  cushim::address allocate(cushim::stream_ref, std::size_t bytes) {
    if (bytes > 1000) throw cushim::error(CUDA_ERROR_OUT_OF_MEMORY, "too many");
    if (bytes > 500) throw std::bad_alloc();
    ++*live;
    return reinterpret_cast<std::uintptr_t>(::operator new(bytes));
  }
  void free(cushim::stream_ref, cushim::address pointer, std::size_t) {
    --*live;
    ::operator delete(reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer)));
  }
  void describe(cushim_memory_properties &properties) noexcept { properties.device_accessible = 1; }
};

void resources(cushim::driver_ref driver, cushim::device_ref device, cushim::stream_ref stream) {
  auto live = std::make_shared<int>(0);
  {
    const cushim::resource own = cushim::resource::custom(driver, own_memory{live});
    const cushim::buffer buffer = own.allocate(100);
    CHECK(own.kind() == CUSHIM_RESOURCE_CUSTOM && *live == 1 && buffer.host<int>().size() == 25);
    CHECK_FAILS(CUDA_ERROR_OUT_OF_MEMORY, own.allocate(5000));
    CHECK_FAILS(CUSHIM_ERROR_OUT_OF_MEMORY, own.allocate(600));
    CHECK(same(buffer.resource(), own));
  }
  cushim::flush_callbacks();
  CHECK(*live == 0 && live.use_count() == 1);
  if (!device) return;

  cushim::device_pool_options options;
  options.choice = CUSHIM_POOL_OWN;
  const cushim::resource pool = cushim::resource::device_pool(device, options);
  pool.set_attribute(CUSHIM_POOL_RELEASE_THRESHOLD, 1 << 20);
  CHECK(pool.get_attribute(CUSHIM_POOL_RELEASE_THRESHOLD) == 1 << 20 && pool.native() != nullptr && pool.peers().empty());
  device.set_resource(pool);
  CHECK(same(device.resource(), pool) && same(device.allocate(stream, 16).resource(), pool));
  device.reset_resource();
  CHECK(!same(device.resource(), pool));
  pool.trim();
  CHECK(same(pool.driver(), driver));
}

void virtual_memory(cushim::device_ref device, cushim::stream_ref stream) {
  cushim::virtual_options options;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  const cushim::resource resource = cushim::resource::virtual_memory(device, options);
  CHECK(resource.kind() == CUSHIM_RESOURCE_VIRTUAL);
  const cushim::buffer small = resource.allocate(stream, 1);
  stream.fill<std::uint8_t>(small, 5);
  const cushim::buffer large = small.grow(2 * small.size()), same = small.grow(1, options);
  CHECK(large.size() == 2 * small.size() && same.pointer() == small.pointer());
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, large.sleep(stream));
  const cushim::buffer alone = resource.allocate(stream, 1);
  alone.sleep(stream, true);
  CHECK(alone.asleep());
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.fill<std::uint8_t>(alone, 5));
  alone.wake(stream);
  CHECK(!alone.asleep());
  const std::size_t unit = small.size();
  const cushim::reservation space = cushim::reservation::create(device, 4 * unit);
  const cushim::allocation memory = cushim::allocation::create(device, unit);
  CHECK(space.size() == 4 * unit && memory.size() == unit && memory.native() != 0 && memory.where().id == 0);
  space.map(unit, memory);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, space.map(unit, memory));
  const cushim::location here = cushim::location::device(0);
  space.set_access(unit, unit, here, CUSHIM_VIRTUAL_READ);
  CHECK(space.get_access(unit, here) == CUSHIM_VIRTUAL_READ && space.pointer() != 0);
  space.unmap(stream, unit, unit);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, space.unmap(unit, unit));
  options.peers = {0};
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::resource::virtual_memory(device, options));
}

// One process exports, and is refused what is its own; what two do is in c/memory/processes.c.
void processes(cushim::device_ref device, cushim::context_ref context, cushim::stream_ref stream) {
  cushim::event_options several;
  several.interprocess = true;
  const cushim::event event = cushim::event::create(context, several);
  const cushim::descriptor mark = event.export_descriptor();
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::event::from_descriptor(context, mark));
  cushim::device_pool_options options;
  options.choice = CUSHIM_POOL_OWN;
  options.handle_types = 1; // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  const cushim::resource pool = cushim::resource::device_pool(device, options);
  const cushim::exported_pool exported = pool.export_descriptor();
  CHECK(exported.file >= 0);
  const cushim::resource again = cushim::resource::from_descriptor(device, exported.bytes, exported.file);
  CHECK(again == pool);
  CHECK(close(exported.file) == 0);
  const cushim::buffer buffer = pool.allocate(stream, 64);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::buffer::from_descriptor(pool, stream, buffer.export_descriptor()));
  const cushim::resource plain = cushim::resource::device(context);
  const cushim::buffer memory = plain.allocate(stream, 64);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::buffer::open_descriptor(context, stream, memory.export_descriptor()));
}

// Pools by location, and what network adapters need, which softcuda lacks.
void located(cushim::device_ref device, cushim::context_ref context, cushim::stream_ref stream) {
  const cushim::location here = cushim::location::device(0);
  const cushim::resource start = cushim::resource::location_pool(device, here, CUSHIM_POOL_PINNED, CUSHIM_POOL_DEFAULT);
  const cushim::resource own = cushim::resource::location_pool(device, here, CUSHIM_POOL_PINNED, CUSHIM_POOL_OWN);
  device.set_location_pool(here, CUSHIM_POOL_PINNED, own);
  CHECK(cushim::resource(cushim::resource::location_pool(device, here, CUSHIM_POOL_PINNED)).native() == own.native());
  device.reset_location_pool(here, CUSHIM_POOL_PINNED);
  CHECK(cushim::resource(cushim::resource::location_pool(device, here, CUSHIM_POOL_PINNED)).native() == start.native());
  const cushim::resource plain = cushim::resource::device(context);
  const cushim::buffer memory = plain.allocate(stream, 4096);
  memory.set_sync_memops(true);
  CHECK(memory.sync_memops());
  memory.set_sync_memops(false);
  CHECK(!memory.sync_memops());
  if (device.get_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, memory.export_dma_buf(0, 4096));
  } else {
    CHECK(close(memory.export_dma_buf(0, 4096)) == 0);
  }
  if ((device.get_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) & 1) == 0) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, context.flush_direct_writes());
  } else {
    context.flush_direct_writes();
  }
}

// Virtual memory goes in parts, and may come back to the process that created it.
void parts(cushim::device_ref device, cushim::stream_ref stream) {
  cushim::virtual_options options;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  const cushim::resource space = cushim::resource::virtual_memory(device, options);
  const cushim::buffer first = space.allocate(stream, 1);
  const cushim::buffer whole = first.grow(2 * first.size());
  std::vector<cushim::exported_part> exported = whole.export_parts();
  CHECK(exported.size() == 2);
  const cushim::buffer again = cushim::buffer::from_parts(space, stream, exported);
  CHECK(again.size() == whole.size() && again.pointer() != whole.pointer());
  const cushim::allocation second = cushim::allocation::from_descriptor(device, exported[1]);
  CHECK(second.size() == first.size());
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, second.export_descriptor());
  for (const cushim::exported_part &part : exported) CHECK(close(part.file) == 0);
  exported.pop_back();
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim::buffer::from_parts(space, stream, exported));
  const cushim::allocation alone = cushim::allocation::create(device, 1, options);
  const cushim::exported_part lone = alone.export_descriptor();
  CHECK(cushim::allocation::from_descriptor(device, lone).size() == alone.size());
  CHECK(close(lone.file) == 0);
  CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, device.allocate(stream, 64).export_parts());
}

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  const cushim::stream stream{context};
  if (driver.info().kind == CUSHIM_DRIVER_KIND_NONE) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, context.allocate(64));
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, device.allocate(stream, 64));
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, context.allocate_host<int>(64));
    resources(driver, {}, stream);
    return;
  }
  copies(device, context, stream);
  if (check::version() >= 12000) memory_operations(context, stream); // before, the kernel module has to enable them
  buffers(driver, device, context, stream);
  resources(driver, device, stream);
  virtual_memory(device, stream);
  processes(device, context, stream);
  parts(device, stream);
  located(device, context, stream);
  stream.sync();
}

} // namespace

int main() { return check::program(run); }
