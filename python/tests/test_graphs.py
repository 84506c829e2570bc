"""Graphs, execs and captures."""

import gc
import sys

import cushim
import pytest

numpy = pytest.importorskip("numpy")


def read(stream, buffer, dtype=numpy.uint64):
    back = numpy.zeros(buffer.size // numpy.dtype(dtype).itemsize, dtype)
    stream.copy(back, buffer)
    stream.synchronize()
    return back


def test_a_graph_of_nodes(context, device, stream, saxpy, version):
    x, y = (device.allocate(stream, 400) for _ in range(2))
    stream.synchronize()
    ones = numpy.ones(100, numpy.float32)
    graph = context.create_graph()
    first = graph.add_copy(x, ones)
    second = graph.add_fill(y, 0)
    both = graph.add_empty(after=[first, second])
    last = graph.add_kernel(saxpy, 1, 128, y, x, numpy.int32(100), numpy.float32(5), after=both)
    assert [node.type for node in (first, second, both, last)] == [
        cushim.NodeType.COPY, cushim.NodeType.FILL, cushim.NodeType.EMPTY, cushim.NodeType.KERNEL]
    assert set(graph.nodes) == {first, second, both, last} and len(graph.edges) == 3
    assert set(both.dependencies) == {first, second} and both.dependents == [last] and last.graph == graph
    assert last.kernel == saxpy
    with graph.instantiate() as exec:
        exec.launch(stream)
        assert (read(stream, y, numpy.float32) == 5).all()
        last.set_argument(3, numpy.float32(7), exec=exec)
        exec.launch(stream)
        assert (read(stream, y, numpy.float32) == 7).all()
        second.set_fill(y, 0x40, exec=exec)
        if version >= (11, 6):
            second.enable(exec, False)
            assert not second.is_enabled(exec)
            exec.launch(stream)
            assert (read(stream, y, numpy.float32) == 14).all()
        else:
            with pytest.raises(cushim.Unsupported, match="11.6"):
                second.enable(exec, False)
        with pytest.raises(TypeError, match="`stream` is a Stream"):
            exec.launch(None)


def test_a_graph_keeps_what_it_uses(context, device, stream, setter):
    memory = numpy.zeros(8, numpy.uint8)
    before = sys.getrefcount(memory)
    graph = context.create_graph()
    buffer = device.allocate(stream, 8)
    stream.synchronize()
    graph.add_copy(buffer, memory)
    exec = graph.instantiate()
    graph.close()
    buffer.close()
    gc.collect()
    assert sys.getrefcount(memory) > before
    exec.launch(stream)
    stream.synchronize()
    exec.close()
    stream.synchronize()  # a lazy driver does nothing before, and a flush waits for no launch
    assert cushim.flush(10)
    gc.collect()
    assert sys.getrefcount(memory) == before


def test_parameters_and_buffers_are_exchanged(context, device, stream, setter):
    old, new = (device.allocate(stream, 8) for _ in range(2))
    stream.fill(new, 0)
    stream.synchronize()
    graph = context.create_graph()
    graph.add_kernel(setter, 1, 1, old, cushim.Parameter("value", numpy.uint64(5)))
    exec = graph.instantiate()
    exec.launch(stream)
    assert read(stream, old)[0] == 5
    exec.set(value=numpy.uint64(6))
    exec.launch(stream)
    assert read(stream, old)[0] == 6
    exec.set(value=7)
    exec.launch(stream)
    assert read(stream, old)[0] == 7
    assert exec.rebind(old, new) == 1
    exec.launch(stream)
    assert read(stream, new)[0] == 7
    with pytest.raises(ValueError, match="wert"):
        exec.set(wert=5)
    with pytest.raises(OverflowError):
        exec.set(value=1 << 64)
    exec.set(value=(1 << 64) - 1)
    with pytest.raises(cushim.InvalidArgument):
        exec.set(value=numpy.int32(5))


def test_an_exec_takes_over_another_graph(context, device, stream, setter):
    buffer = device.allocate(stream, 8)
    stream.synchronize()
    graphs = []
    for value in (1, 2):
        graphs.append(context.create_graph())
        graphs[-1].add_kernel(setter, 1, 1, buffer, numpy.uint64(value))
    exec = graphs[0].instantiate()
    exec.update(graphs[1])
    exec.launch(stream)
    assert read(stream, buffer)[0] == 2
    graphs[1].add_empty()
    with pytest.raises(cushim.CushimError) as raised:
        exec.update(graphs[1])
    assert raised.value.message


def test_edges_that_close_a_cycle_are_refused(context):
    graph = context.create_graph()
    first = graph.add_empty()
    second = graph.add_empty(after=first)
    with pytest.raises(cushim.InvalidArgument):
        first.set_dependencies(second)
    with pytest.raises(TypeError, match="`after` is a Node"):
        graph.add_empty(after=[None])


def test_a_child_graph(context, device, stream, setter):
    buffer = device.allocate(stream, 8)
    stream.synchronize()
    child = context.create_graph()
    child.add_kernel(setter, 1, 1, buffer, cushim.Parameter("v", numpy.uint64(3)))
    graph = context.create_graph()
    node = graph.add_child(child)
    assert len(node.graphs[0].nodes) == 1 and node.graphs[0].parent == node
    exec = graph.instantiate()
    exec.set(v=9)
    exec.launch(stream)
    assert read(stream, buffer)[0] == 9


def test_a_capture(context, device, stream, setter):
    buffer, other = (device.allocate(stream, 8) for _ in range(2))
    stream.synchronize()
    with context.capture() as capture:
        setter.launch(capture.stream, 1, 1, buffer, numpy.uint64(4))
        with capture.fork() as beside:
            setter.launch(beside.stream, 1, 1, other, numpy.uint64(5))
        capture.stream.fill(buffer[:1], 1)
    graph = capture.graph
    assert len(graph.nodes) == 3
    exec = graph.instantiate()
    exec.launch(stream)
    assert read(stream, buffer)[0] == 1 and read(stream, other)[0] == 5
    with pytest.raises(ValueError, match="does not capture"):
        capture.stream


def test_a_capture_of_a_stream(context, device, stream, setter):
    buffer = device.allocate(stream, 8)
    stream.synchronize()
    with stream.capture() as capture:
        stream.fill(buffer, 0)
    exec = capture.graph.instantiate()
    stream.fill(buffer, 1)
    exec.launch(stream)
    assert read(stream, buffer)[0] == 0


def test_an_exception_gives_a_capture_up(context, device, stream):
    buffer = device.allocate(stream, 8)
    stream.synchronize()
    with pytest.raises(KeyError):
        with stream.capture() as capture:
            stream.fill(buffer, 0)
            raise KeyError
    with pytest.raises(cushim.CushimError):
        capture.graph
    stream.fill(buffer, 7)
    assert read(stream, buffer, numpy.uint8)[0] == 7


def test_a_capture_keeps_host_memory(context, device, stream):
    buffer, memory = device.allocate(stream, 8), numpy.full(8, 3, numpy.uint8)
    stream.synchronize()
    before = sys.getrefcount(memory)
    with context.capture() as capture:
        capture.stream.copy(buffer, memory)
    assert sys.getrefcount(memory) > before
    capture.graph.instantiate().launch(stream)
    assert read(stream, buffer, numpy.uint8)[0] == 3


def test_conditional_nodes(context, device, stream, setter, version):
    if version < (12, 3):
        with pytest.raises(cushim.Unsupported, match="12.3"):
            context.create_graph().create_condition()
        return
    buffer = device.allocate(stream, 8)
    stream.synchronize()
    for initial, expected in ((1, 5), (0, 0)):
        stream.fill(buffer, 0)
        graph = context.create_graph()
        condition = graph.create_condition(initial, reset=True)
        _, (body,) = graph.add_conditional(condition, cushim.ConditionalKind.IF)
        body.add_kernel(setter, 1, 1, buffer, numpy.uint64(5))
        graph.instantiate().launch(stream)
        assert read(stream, buffer)[0] == expected


def test_memory_of_a_graph(context, device, stream, setter):
    graph = context.create_graph()
    node, pointer = graph.add_allocation(64)
    fill = graph.add_fill(cushim.Pointer(pointer, 64), 1, after=node)
    graph.add_free(pointer, after=fill)
    exec = graph.instantiate()
    for _ in range(3):
        exec.launch(stream)
    stream.synchronize()


def test_events_in_a_graph(context, stream):
    event = context.create_event()
    graph = context.create_graph()
    graph.add_event_wait(event, after=graph.add_event_record(event))
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert event.query()
