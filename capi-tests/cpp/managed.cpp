// Managed memory: ranges, locations, advice as live sets, prefetches and discards.
#include <cushim.hpp>

#include "check.hpp"

namespace {

using cushim::location;

constexpr std::size_t bytes = 4 << 20;

void advice(cushim::context_ref context, cushim::buffer_ref buffer) {
  const cushim::managed_memory memory = buffer.managed();
  CHECK(!memory.is_read_mostly() && !memory.preferred_location() && !memory.last_prefetch_location());
  memory.set_read_mostly(true);
  CHECK(memory.is_read_mostly());
  memory.set_read_mostly(false);
  memory.set_preferred_location(location::device(0));
  CHECK(!memory.is_read_mostly() && memory.preferred_location() == location(context.device()));
  memory.set_preferred_location({});
  CHECK(!memory.preferred_location());

  const cushim::accessors accessors = memory.accessed_by();
  CHECK(accessors.size() == 0 && accessors.values().empty());
  accessors.insert({location::host(), location::device(0)});
  CHECK(accessors.size() == 2 && accessors.contains(location::host()) && accessors.contains(location::device(0)));
  accessors.erase(location::host());
  CHECK(accessors.values() == std::vector{location::device(0)});
  accessors.assign(location::host());
  CHECK(accessors.values() == std::vector{location::host()} && !accessors.contains(location::device(0)));
  accessors.clear();
  CHECK(accessors.size() == 0);
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, accessors.insert(location::device(99)));

  const std::vector<cushim::range> halves = {{buffer, 0, bytes / 2}, {buffer, bytes / 2, bytes / 2}};
  context.advise(halves, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, {location::device(0), location::host()});
  CHECK(cushim::managed_memory(context, halves[0]).preferred_location() == location::device(0));
  CHECK(cushim::managed_memory(context, halves[1]).preferred_location() == location::host());
  CHECK(!memory.preferred_location()); // the parts differ
  context.advise(halves, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION);
}

void moves(cushim::buffer_ref buffer, cushim::stream_ref stream) {
  const cushim::managed_memory memory = buffer.managed();
  memory.prefetch(stream, location::device(0));
  stream.fill<std::uint8_t>(buffer, 7);
  stream.sync();
  CHECK(memory.last_prefetch_location() == location::device(0) && buffer.host<std::uint8_t>()[bytes - 1] == 7);
  stream.prefetch_batch({{buffer, 0, bytes / 2}, {buffer, bytes / 2, bytes / 2}}, location::host());
  stream.sync();
  CHECK(memory.last_prefetch_location() == location::host());
  const cushim::range at_address(buffer.pointer(), bytes);
  stream.prefetch(at_address, location::device(0));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.prefetch({buffer, bytes, 1}, location::host()));
  CHECK_FAILS(CUSHIM_ERROR_INVALID_ARGUMENT, stream.prefetch(buffer, {}));
  cushim::batch_options options;
  options.refuse_loop = true;
  if (check::version() < 13000) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, memory.discard(stream));
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, stream.prefetch_batch({at_address, at_address}, location::host(), options));
  } else {
    memory.discard(stream);
    memory.discard_prefetch(stream, location::host());
    stream.discard_batch(at_address);
    stream.discard_prefetch_batch(at_address, location::device(0), options);
    stream.sync();
    CHECK(memory.last_prefetch_location() == location::device(0));
  }
  stream.sync();
}

void run() {
  const cushim::driver driver = cushim::driver::open();
  const cushim::device_ref device = driver.get_device(0);
  const cushim::context context = cushim::context::retain_primary(device);
  if (driver.info().kind == CUSHIM_DRIVER_KIND_NONE) {
    CHECK_FAILS(CUSHIM_ERROR_UNSUPPORTED, cushim::resource::managed(context).allocate(bytes));
    return;
  }
  if (!CHECK(device.supports("managed-memory")) || !device.supports("concurrent-managed-access")) return;
  const cushim::stream stream{context};
  const cushim::buffer buffer = cushim::resource::managed(context).allocate(bytes);
  CHECK(buffer.properties().managed == 1);
  advice(context, buffer);
  moves(buffer, stream);
}

} // namespace

int main() { return check::program(run); }
