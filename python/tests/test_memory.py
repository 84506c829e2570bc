"""Memory, copies, streams and events."""

import gc
import struct
import sys

import cushim
import pytest

numpy = pytest.importorskip("numpy")


def test_numbers_go_there_and_back(device, stream):
    numbers = numpy.arange(1000, dtype=numpy.float32)
    with device.allocate(stream, numbers.nbytes) as buffer:
        assert len(buffer) == buffer.size == 4000 and buffer
        stream.copy(buffer, numbers)
        back = numpy.zeros_like(numbers)
        stream.copy(back, buffer)
        stream.synchronize()
    assert (back == numbers).all() and buffer.closed


def test_parts_of_a_buffer(device, stream):
    buffer = device.allocate(stream, 64)
    stream.fill(buffer, 1)
    stream.fill(buffer[16:32], 2)
    stream.fill(buffer[32:], 0x01020304, value_bytes=4, count=2)
    stream.copy(buffer[:8], buffer[16:24])
    back = bytearray(64)
    stream.copy(back, buffer)
    stream.synchronize()
    assert back == bytes([2] * 8 + [1] * 8 + [2] * 16 + [4, 3, 2, 1] * 2 + [1] * 24)
    with pytest.raises(ValueError, match="step"):
        buffer[::2]
    with pytest.raises(TypeError, match="start:end"):
        buffer[3]


def test_a_value_that_does_not_fit_is_refused(context, device, stream):
    buffer, back = device.allocate(stream, 8), bytearray(8)
    for fill in (stream.fill, context.fill, context.create_graph().add_fill):
        with pytest.raises(ValueError, match="`value` is 300, which does not fit into `value_bytes`, 1"):
            fill(buffer, 300)
        with pytest.raises(ValueError, match="-129"):
            fill(buffer, -129)
        with pytest.raises(TypeError, match="not an int. The bits of a float"):
            fill(buffer, 1.5)
    stream.fill(buffer, numpy.int64(-1), value_bytes=2)
    stream.fill(buffer[:4], int.from_bytes(struct.pack("<f", 1.5), "little"), value_bytes=4)
    stream.copy(back, buffer)
    stream.synchronize()
    assert back == struct.pack("<f", 1.5) + b"\xff" * 4


def test_a_copy_of_the_wrong_size_is_refused(device, stream):
    buffer = device.allocate(stream, 64)
    for to, source, count in [(buffer, bytes(65), None), (buffer, bytes(64), 65), (bytearray(4), buffer, 5), (buffer, bytes(64), -1)]:
        with pytest.raises(ValueError, match="bytes"):
            stream.copy(to, source, count)


def test_what_is_no_memory_is_refused(device, stream):
    buffer = device.allocate(stream, 64)
    with pytest.raises(TypeError, match="written"):
        stream.copy(bytes(64), buffer)
    for wrong in (5, "text", None, numpy.zeros((16, 16), numpy.uint8)[:, :4]):
        with pytest.raises(TypeError, match="cannot be read by a copy"):
            stream.copy(buffer, wrong)


def test_host_memory_lives_until_the_copy_is_done_and_then_goes(device, stream):
    buffer = device.allocate(stream, 4096)
    numbers = numpy.zeros(4096, numpy.uint8)
    before = sys.getrefcount(numbers)
    stream.copy(buffer, numbers)
    assert sys.getrefcount(numbers) > before
    stream.synchronize()
    assert cushim.flush(10)
    gc.collect()
    assert sys.getrefcount(numbers) == before


def test_a_refused_copy_lends_nothing(device, stream):
    buffer = device.allocate(stream, 64)
    buffer.close()
    numbers = numpy.zeros(64, numpy.uint8)
    before = sys.getrefcount(numbers)
    pointer = cushim.Pointer(8, 64, keeps=numbers)
    for _ in range(3):
        with pytest.raises(cushim.InvalidHandle):
            stream.copy(numbers, buffer, 0)
    del pointer
    gc.collect()
    assert sys.getrefcount(numbers) == before


def test_memory_of_the_host_as_a_view(context, stream):
    buffer = context.create_pinned_resource().allocate(stream, 256)
    stream.fill(buffer, 7)
    stream.synchronize()
    view = buffer.host()
    buffer.close()
    assert view.nbytes == 256 and set(view) == {7}
    view[0] = 1


def test_memory_of_a_device_has_no_view(device, stream):
    with pytest.raises(ValueError, match="the host cannot access"):
        device.allocate(stream, 64).host()


def test_managed_memory(context, stream):
    buffer = context.create_managed_resource().allocate(stream, 64)
    stream.fill(buffer, 3)
    stream.synchronize()
    assert buffer.properties.managed and set(buffer.host()) == {3}


def test_where_managed_memory_is(context, device, stream, version):
    buffer = context.create_managed_resource().allocate(stream, 1 << 16)
    assert isinstance(buffer, cushim.ManagedBuffer)
    buffer.prefetch(stream, device)
    buffer.prefetch(stream, "host")
    stream.synchronize()
    assert buffer.last_prefetch_location == cushim.Location.host()
    assert not buffer.read_mostly and buffer.preferred_location is None and buffer.accessed_by == []
    buffer.read_mostly = True
    buffer.preferred_location = device
    buffer.accessed_by = [device, cushim.Location.host()]
    assert buffer.read_mostly and buffer.preferred_location == cushim.Location.device(0)
    assert set(buffer.accessed_by) == {cushim.Location.device(device), cushim.Location.host()}
    buffer.read_mostly, buffer.preferred_location, buffer.accessed_by = False, None, []
    assert not buffer.read_mostly and buffer.preferred_location is None and not buffer.accessed_by
    if version >= (13, 0):
        buffer.discard_prefetch(stream, device)
        buffer.discard(stream)
    else:
        with pytest.raises(cushim.Unsupported, match="13.0"):
            buffer.discard(stream)
    with pytest.raises(TypeError, match="a location is"):
        buffer.prefetch(stream, 5)


def test_copies_in_a_batch(device, stream):
    buffers = [device.allocate(stream, 8) for _ in range(3)]
    backs = [bytearray(8) for _ in buffers]
    stream.copy_batch((buffer, bytes([i] * 8)) for i, buffer in enumerate(buffers))
    stream.copy_batch(zip(backs, buffers))
    stream.synchronize()
    assert backs == [bytearray([i] * 8) for i in range(3)]
    parts = [buffer[:] for buffer in buffers]
    buffers[1].close()
    with pytest.raises(cushim.InvalidHandle) as raised:
        stream.copy_batch(zip(backs, parts))
    assert raised.value.item == 1
    for wrong in (lambda: len(buffers[1]), lambda: stream.copy(backs[0], buffers[1])):
        with pytest.raises(cushim.InvalidHandle, match="destroyed"):
            wrong()


def test_pools_and_their_attributes(device, stream):
    with device.create_pool() as pool:
        pool.set_attribute(cushim.PoolAttribute.RELEASE_THRESHOLD, 1 << 20)
        assert pool.get_attribute(cushim.PoolAttribute.RELEASE_THRESHOLD) == 1 << 20
        assert pool.kind == cushim.ResourceKind.DEVICE_POOL and pool.properties.stream_ordered
        buffer = pool.allocate(stream, 64)
        assert buffer.resource == pool and buffer.stream == stream
        with pytest.raises(TypeError):
            pool.allocate(5, 64)
    assert buffer.size == 64


def test_a_buffer_is_freed_in_another_stream(context, device, stream):
    buffer, other = device.allocate(stream, 64), context.create_stream()
    buffer.stream = other
    assert buffer.stream == other
    buffer.close(stream)
    assert buffer.closed
    buffer.close(stream)
    other.synchronize()


def test_others_memory_with_an_owner(driver):
    memory = bytearray(64)
    array = numpy.frombuffer(memory, numpy.uint8)
    before = sys.getrefcount(array)
    buffer = driver.wrap(array.ctypes.data, 64, owner=array)
    assert buffer.size == 64 and sys.getrefcount(array) == before + 1
    buffer.close()
    assert cushim.flush(10) and sys.getrefcount(array) == before


def test_events_order_and_measure(context, stream):
    other = context.create_stream()
    start, end = context.create_event(timing=True), context.create_event(timing=True)
    start.record(stream)
    other.wait(start)
    other.wait(stream)
    end.record(other)
    assert end.synchronize() and end.synchronize(timeout=5) and end.query() and stream.query() in (True, False)
    assert start.elapsed(end) >= 0
    assert stream.synchronize(timeout=5)
    with pytest.raises(cushim.CushimError):
        context.create_event().elapsed(end)
    assert stream.record().query() in (True, False)


def test_a_stream_of_another_library(context, stream):
    class Other:
        def __cuda_stream__(self):
            return (0, stream.native)

    assert stream.__cuda_stream__() == (0, stream.native)
    assert context.wrap_stream(Other()) == stream == context.wrap_stream(stream.native)
    assert context.wrap_stream(2) == context.per_thread_stream
    with pytest.raises(TypeError, match="__cuda_stream__"):
        context.wrap_stream("stream")


def test_virtual_memory_grows_and_sleeps(device, stream):
    resource = device.create_virtual_resource(shareable=cushim.Shareable.POSIX_FD)
    assert resource.kind == cushim.ResourceKind.VIRTUAL
    small = resource.allocate(stream, 5)
    assert small.size == 2 << 20
    stream.fill(small, 7)
    large = small.grow(4 << 20)
    assert large.size == 4 << 20 and small.size == 2 << 20
    small.close()
    large.sleep(stream, cushim.SleepFlags.KEEP_CONTENTS)
    assert large.asleep
    with pytest.raises(cushim.CushimError, match="sleeps"):
        stream.fill(large, 1)
    large.wake(stream)
    host = bytearray(16)
    stream.copy(host, large[0:16])
    stream.synchronize()
    assert host == b"\x07" * 16 and not large.asleep
    with pytest.raises(TypeError, match="no option 'size'"):
        device.create_virtual_resource(size=3)
    with pytest.raises(cushim.CushimError, match="is no peer"):
        device.create_virtual_resource(peers=[0])


def test_reservations_and_allocations(device, stream):
    unit = 2 << 20
    space, memory = device.create_reservation(4 * unit), device.create_allocation(1)
    assert space.size == 4 * unit and memory.size == unit and memory.location == cushim.Location.device(0)
    space.map(unit, memory)
    with pytest.raises(cushim.CushimError, match="overlap"):
        space.map(unit, memory)
    assert space.get_access(unit, device) == cushim.VirtualAccess.READ_WRITE
    space.set_access(unit, unit, device, cushim.VirtualAccess.READ)
    assert space.get_access(unit, device) == cushim.VirtualAccess.READ
    memory.close()
    space.unmap(stream, unit, unit)
    with pytest.raises(cushim.CushimError, match="nothing is mapped"):
        space.get_access(unit, device)
    space.close()


def test_pools_of_a_location(device, stream):
    start = device.create_location_pool(device, choice=1)
    own = device.create_location_pool(device, choice=2)
    device.set_location_pool(device, 1, own)
    assert device.create_location_pool(device).native == own.native != start.native
    device.set_location_pool(device, 1, None)
    assert device.create_location_pool(device).native == start.native
    with pytest.raises(ValueError):
        device.create_location_pool(device, memory=9)


def test_what_network_adapters_need(context, device, stream):
    buffer = context.create_device_resource().allocate(None, 4096)
    assert not buffer.sync_memops
    buffer.set_sync_memops(1)
    assert buffer.sync_memops
    for call in (buffer.export_dma_buf, lambda: context.flush_direct_writes(100)):
        try:
            call()
        except cushim.Unsupported as refused:
            assert "attribute" in str(refused)


def test_opengl_is_refused_where_there_is_none(context):
    for register in (lambda flags: context.register_gl_buffer(1, flags), lambda flags: context.register_gl_image(1, 0x0DE1, flags)):
        with pytest.raises(cushim.CushimError, match="no OpenGL|OpenGL context"):
            register(cushim.GraphicsFlags.READ_ONLY)
        with pytest.raises(cushim.InvalidArgument, match="contradict"):
            register(cushim.GraphicsFlags.READ_ONLY | cushim.GraphicsFlags.WRITE_DISCARD)
    with pytest.raises(cushim.InvalidArgument, match="names no buffer"):
        context.register_gl_buffer(0)
