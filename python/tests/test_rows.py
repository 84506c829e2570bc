"""2D and 3D copies and memsets, memory operations, registered memory, attributes, and what was made elsewhere."""

import gc
import sys

import cushim
import pytest

numpy = pytest.importorskip("numpy")


def test_a_part_of_an_array_goes_there_and_back(context, device, stream):
    image = numpy.arange(12 * 20, dtype=numpy.uint8).reshape(12, 20)
    buffer = device.allocate(stream, 12 * 32)
    stream.fill(buffer, 0)
    stream.copy_3d(cushim.Region(buffer, pitch=32), image, 20, 12)
    back = numpy.zeros((5, 8), numpy.uint8)
    stream.copy_3d(back, cushim.Region(buffer, pitch=32, at=(4, 3, 0)), 8, 5)
    stream.synchronize()
    assert (back == image[3:8, 4:12]).all()
    again = numpy.zeros((12, 20), numpy.uint8)
    context.copy_3d(cushim.Region(again, pitch=20, at=(4, 3, 0)), back, 8, 5)
    again[3:8, 4:12] -= back
    assert not again.any()


def test_rows_are_set(context, device, stream):
    buffer = device.allocate(stream, 4 * 64)
    stream.fill(buffer, 0)
    stream.fill_2d(buffer, 0x0102, 3, 4, value_bytes=2, pitch=64)
    rows = numpy.zeros((4, 64), numpy.uint8)
    stream.copy(rows, buffer)
    stream.synchronize()
    assert (rows[:, :6] == [2, 1] * 3).all() and not rows[:, 6:].any()
    context.fill_2d(buffer, 9, 64, 4)
    context.fill(buffer[:64], 8)
    context.copy(rows, buffer)
    assert (rows[0] == 8).all() and (rows[1:] == 9).all()


def test_what_would_pass_the_end_is_refused(context, device, stream):
    buffer, array = device.allocate(stream, 256), numpy.zeros(256, numpy.uint8)
    for to, source, extent in [
        (buffer, cushim.Region(array, pitch=64), (32, 5)),
        (cushim.Region(array, at=(1, 0, 0)), buffer, (64, 4)),
        (cushim.Region(array, pitch=16, rows=8), buffer, (16, 8, 3)),
        (cushim.Region(buffer[:128], pitch=64), array, (64, 3)),
    ]:
        with pytest.raises(ValueError, match="past the end of"):
            stream.copy_3d(to, source, *extent)
    with pytest.raises(ValueError, match="past the end of"):
        stream.fill_2d(buffer, 1, 64, 5)
    with pytest.raises(ValueError, match="at least 0"):
        stream.copy_3d(buffer, array, -1, 1)
    with pytest.raises(ValueError, match="no negative numbers"):
        stream.copy_3d(buffer, cushim.Region(array, pitch=-1), 1, 1)
    stream.copy_3d(buffer, array, 0, 5)  # nothing


def test_a_graph_copies_rows_and_sets_them(context, device, stream):
    buffer, to = device.allocate(stream, 256), device.allocate(stream, 64)
    stream.synchronize()
    graph = context.create_graph()
    first = graph.add_fill_2d(buffer, 7, 16, 4, pitch=64)
    then = graph.add_copy_3d(to, cushim.Region(buffer, pitch=64), 16, 4, after=first)
    exec = graph.instantiate()
    exec.launch(stream)
    back = bytearray(64)
    stream.copy(back, to)
    stream.synchronize()
    assert set(back) == {7}
    first.set_fill_2d(buffer, 5, 16, 4, pitch=64)
    then.set_copy_3d(to, cushim.Region(buffer, pitch=64), 8, 4)
    stream.fill(to, 0)
    graph.instantiate().launch(stream)
    stream.copy(back, to)
    stream.synchronize()
    assert back == bytes([5] * 32 + [0] * 32)


def test_edges_are_added_and_removed(context):
    graph = context.create_graph()
    a, b, c = (graph.add_empty() for _ in range(3))
    graph.add_edges([(a, b), (b, c)])
    assert set(graph.edges) == {(a, b), (b, c)}
    graph.remove_edges([(b, c)])
    a.set_dependents([b, c])
    assert set(graph.edges) == {(a, b), (a, c)}
    with pytest.raises(ValueError, match="cycle"):
        graph.add_edges([(c, a)])


def test_memory_operations(context, device, stream, version):
    buffer = context.create_device_resource().allocate(None, 64)
    context.fill(buffer, 0)
    write, wait = cushim.MemoryOperation.write, cushim.MemoryOperation.wait
    if version < (11, 7):  # a driver has them by a parameter of its module there
        with pytest.raises(cushim.Unsupported):
            stream.memory_operations([write(buffer[:4], 6)])
        return
    other = context.create_stream()
    other.memory_operations([wait(buffer[8:16], 1 << 40, bits=64), write(buffer[:4], 6)])
    assert not other.query()
    stream.memory_operations([write(buffer[8:16], (1 << 40) + 1, bits=64)])
    other.synchronize()
    back = bytearray(16)
    context.copy(back, buffer[:16])
    assert back[0] == 6 and int.from_bytes(back[8:], "little") == (1 << 40) + 1
    graph = context.create_graph()
    node = graph.add_memory_operations([write(buffer, 9)])
    graph.instantiate().launch(stream)
    stream.synchronize()
    node.set_memory_operations([write(buffer, 10)])
    graph.instantiate().launch(stream)
    stream.synchronize()
    context.copy(back, buffer[:16])
    assert back[0] == 10
    for wrong, kind in [(lambda: write(buffer, 1, bits=16), ValueError), (lambda: stream.memory_operations([5]), TypeError),
                        (lambda: stream.memory_operations([write(buffer, 1 << 32)]), OverflowError),
                        (lambda: stream.memory_operations([write(buffer[:2], 1)]), ValueError)]:
        with pytest.raises(kind):
            wrong()


def test_host_memory_is_registered_for_a_time(context, device, stream):
    array = numpy.full(4096, 3, numpy.uint8)
    before = sys.getrefcount(array)
    with context.register_host(array) as registered:
        attributes = context.get_pointer_attributes(array.ctypes.data)
        assert attributes.memory_type == cushim.Memorytype.HOST and registered.pointer == attributes.device_pointer
        with pytest.raises(cushim.CushimError, match="registered"):
            context.register_host(array)
        buffer = device.allocate(stream, 4096)
        stream.copy(buffer, array)
        stream.synchronize()
    registered.close()
    assert registered.closed and "closed" in repr(registered)
    assert context.get_pointer_attributes(array.ctypes.data).memory_type != cushim.Memorytype.HOST
    registered = None
    cushim.flush(10)
    gc.collect()
    assert sys.getrefcount(array) == before


def test_attributes_of_streams_launches_and_nodes(context, device, stream, setter, version):
    priority = cushim.LaunchAttributeID.PRIORITY
    buffer = device.allocate(stream, 8)
    if version >= (11, 7):
        assert len(stream.get_attribute(priority)) == 64
        stream.set_attribute(priority, (-1).to_bytes(4, "little", signed=True))
        assert stream.priority == -1
        node = context.create_graph().add_kernel(setter, 1, 1, buffer, numpy.uint64(1), attributes={priority: bytes(4)})
        assert node.get_attribute(priority)[:4] == bytes(4)
        node.set_attribute(priority, b"\xff\xff\xff\xff")
        assert node.get_attribute(priority)[:4] == b"\xff" * 4
    with pytest.raises(ValueError, match="64"):
        stream.set_attribute(priority, bytes(65))
    with pytest.raises(cushim.CushimError):
        cushim.launch(setter, stream, 1, 1, buffer, numpy.uint64(1), attributes={9999: b""})


def test_what_was_made_elsewhere_is_the_same(context, device, stream, setter, version):
    event = context.create_event()
    assert context.wrap_event(event.native) == event
    graph = context.create_graph()
    assert context.wrap_graph(graph.native) == graph
    assert device.wrap_context(context.native) == context
    pool = device.create_pool()
    assert device.wrap_pool(pool.native).native == pool.native
    if version >= (12, 0):
        assert context.wrap_kernel(setter.native) == setter
    wrapped = context.wrap_function(setter.native_function, owner=setter)
    buffer = device.allocate(stream, 8)
    cushim.launch(wrapped, stream, 1, 1, buffer, numpy.uint64(77))
    back = bytearray(8)
    stream.copy(back, buffer)
    stream.synchronize()
    assert back[0] == 77


def test_the_driver_tells_its_functions(driver):
    assert driver.function("cuInit") and driver.function("cuMemAlloc", 3020) == driver.function("cuMemAlloc_v2")
    assert (driver.function("cuStreamBeginRecaptureToGraph") is None) == (driver.version < (13, 3))
    with pytest.raises(ValueError, match="no function"):
        driver.function("cuNoSuchThing")
    # Found by its name, or at a path.
    assert driver.candidates[-1].path in (driver.info.path, "libcuda.so.1")
    found = [symbol.name for symbol in driver.symbols if symbol.address]
    assert "cuInit" in found and len(found) == driver.info.symbol_count < len(driver.symbols)


def test_nodes_tell_what_they_do(context, device, stream, version):
    graph, event = context.create_graph(), context.create_event()
    assert graph.add_event_record(event).event() == event
    node, address = graph.add_allocation(1024)
    assert node.allocation == (address, 1024) and graph.add_free(address, after=node).freed == address
    if version >= (12, 4):
        condition = graph.create_condition()
        node, _ = graph.add_conditional(condition, cushim.ConditionalKind.WHILE)
        found, kind = node.condition
        assert found == condition and kind == cushim.ConditionalKind.WHILE


def test_another_function_is_called(context, stream):
    called = []
    graph = context.create_graph()
    node = graph.add_callback(called.append, 1)
    exec = graph.instantiate()
    node.set_callback(called.append, 2, exec=exec)
    exec.launch(stream)
    stream.synchronize()
    cushim.drain()
    assert called == [2]


def test_occupancy(setter, stream, version):
    threads, blocks = setter.suggest_block_size()
    assert threads >= 32 and blocks >= 1 and setter.suggest_block_size(limit=64)[0] <= 64
    if version >= (11, 8):
        assert setter.largest_cluster(stream) >= 1
        assert setter.active_clusters(stream, 32, 2, cluster=2) >= 1


def test_a_capture_into_a_graph(context, device, stream, version):
    buffer = device.allocate(stream, 4)
    with context.capture() as capture:
        capture.stream.fill(buffer, 1)
    graph, exec = capture.graph, capture.graph.instantiate()
    if version < (13, 3):
        with pytest.raises(cushim.Unsupported):
            with context.capture().into(graph):
                pass
        return
    with context.capture().into(graph) as again:
        again.stream.fill(buffer, 2)
    exec.update(graph)
    exec.launch(stream)
    back = bytearray(4)
    stream.copy(back, buffer)
    stream.synchronize()
    assert back == bytes([2] * 4)
