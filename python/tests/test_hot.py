"""The calls that a compiled module makes where the package has it: they do the same as those in Python."""

import enum
import inspect
import threading

import cushim
import pytest

WIDE = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 to, .param .u8 a, .param .u16 b, .param .u32 c, .param .u64 d, .param .f32 e, .param .f64 f) {
  .reg .u16 %a, %b;
  .reg .u32 %c;
  .reg .u64 %to, %d;
  .reg .f32 %e;
  .reg .f64 %f;
  ld.param.u64 %to, [to];
  ld.param.u8 %a, [a];
  ld.param.u16 %b, [b];
  ld.param.u32 %c, [c];
  ld.param.u64 %d, [d];
  ld.param.f32 %e, [e];
  ld.param.f64 %f, [f];
  st.global.u8 [%to], %a;
  st.global.u16 [%to+2], %b;
  st.global.u32 [%to+4], %c;
  st.global.u64 [%to+8], %d;
  st.global.f32 [%to+16], %e;
  st.global.f64 [%to+24], %f;
  ret;
}
.visible .entry many(""" + ", ".join(f".param .u64 p{i}" for i in range(40)) + """) {
  .reg .u64 %to, %value;
  ld.param.u64 %to, [p0];
  ld.param.u64 %value, [p39];
  st.global.u64 [%to], %value;
  ret;
}
"""


@pytest.fixture(scope="module")
def kernels(context):
    return context.load(WIDE)


def read(stream, buffer):
    back = bytearray(buffer.size)
    stream.copy(back, buffer)
    stream.synchronize()
    return bytes(back)


def test_numbers_of_each_size(device, stream, kernels, sized):
    if not sized:
        pytest.skip("the driver does not tell the sizes of parameters")
    import struct

    store, buffer = kernels["store"], device.allocate(stream, 32)
    for values in [(255, 65535, (1 << 32) - 1, (1 << 64) - 1, 1.5, 2.25), (-128, -32768, -(1 << 31), -(1 << 63), -0.0, 1e300),
                   (True, 7, 8, 9, float("inf"), 0.1), (1, 2, 3, 4, 1e39, float("-inf"))]:
        stream.fill(buffer, 0)
        cushim.launch(store, stream, 1, 1, buffer, *values)
        back = read(stream, buffer)
        a, b, c, d, e, f = values
        mask = [int(v) & (1 << bits) - 1 for v, bits in ((a, 8), (b, 16), (c, 32), (d, 64))]
        assert [back[0], *struct.unpack_from("<HIQ", back, 2)] == mask
        single = struct.unpack_from("<f", back, 16)[0]
        assert single == (float("inf") if e == 1e39 else e) and struct.unpack_from("<d", back, 24)[0] == f
    good = [1, 2, 3, 4, 5.0, 6.0]
    for index, wrong in [(0, 256), (0, -129), (1, 65536), (2, 1 << 32), (3, 1 << 64), (3, -(1 << 63) - 1)]:
        values = [*good[:index], wrong, *good[index + 1:]]
        with pytest.raises(OverflowError, match="bits"):
            store.launch(stream, 1, 1, buffer, *values)
    with pytest.raises(TypeError, match="1 byte"):
        store.launch(stream, 1, 1, buffer, 1.0, *good[1:])
    with pytest.raises(TypeError, match="has 7 parameters"):
        store.launch(stream, 1, 1, buffer, *good, 7)
    with pytest.raises(ValueError, match="argument"):
        store.launch(stream, 1, 1, buffer, *good[:-1])


def test_many_arguments(device, stream, kernels):
    import ctypes

    buffer = device.allocate(stream, 8)
    words = [ctypes.c_uint64(i) for i in range(1, 40)]
    kernels["many"].launch(stream, 1, 1, buffer, *words)
    assert read(stream, buffer)[0] == 39
    kernels["many"].launch(stream, 1, 1, *[buffer] * 40)
    assert int.from_bytes(read(stream, buffer), "little") == buffer.pointer


def test_forms_of_grid_and_block(device, stream, setter):
    class Three(enum.IntEnum):
        THREE = 3

    buffer = device.allocate(stream, 8)
    for grid in (1, (1,), (1, 2), (1, 2, 3), [1, 2], Three.THREE, (Three.THREE, 1)):
        setter.launch(stream, grid, grid, buffer, buffer)
        cushim.launch(setter, stream, grid, (1, 1, 1), buffer, buffer, shared_bytes=0)
    for wrong in ((), (1, 1, 1, 1)):
        with pytest.raises(ValueError, match="up to three"):
            setter.launch(stream, wrong, 1, buffer, buffer)
    for wrong in (-1, 1 << 40):
        with pytest.raises(OverflowError):
            setter.launch(stream, 1, wrong, buffer, buffer)
    with pytest.raises(ValueError):
        setter.launch(stream, 0, 1, buffer, buffer)
    with pytest.raises(TypeError):
        setter.launch(stream, "1", 1, buffer, buffer)
    with pytest.raises(TypeError):
        setter.launch(stream, 1)
    stream.synchronize()


def test_what_is_no_stream_event_or_kernel_is_refused(context, stream, setter):
    event = context.create_event()
    for call in [lambda: event.record(5), lambda: event.record(event), lambda: event.record(None), lambda: stream.wait(5),
                 lambda: setter.launch(event, 1, 1), lambda: context.create_graph().instantiate().launch(event)]:
        with pytest.raises(TypeError, match="is an? (Stream|Event), not"):
            call()
    with pytest.raises((TypeError, AttributeError)):
        cushim.launch(event, stream, 1, 1)
    for call in [event.record, lambda: event.query(1), lambda: stream.query(1), stream.wait]:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        cushim.Event.record(stream, stream)


def test_arguments_by_name(context, stream):
    event, exec = context.create_event(), context.create_graph().instantiate()
    event.record(stream=stream)
    stream.wait(event=event)
    exec.launch(stream=stream)
    other = context.create_stream()
    stream.wait(other)
    stream.synchronize()
    assert event.query() is True and stream.query() is True


def test_what_was_closed_is_refused(context, device, setter):
    stream, event, buffer = context.create_stream(label="gone"), context.create_event(), device.allocate(context.create_stream(), 8)
    exec = context.create_graph().instantiate()
    buffer.close()
    with pytest.raises(cushim.InvalidHandle):
        setter.launch(stream, 1, 1, buffer, buffer)
    stream.close()
    for call in [lambda: event.record(stream), lambda: stream.query(), lambda: stream.wait(event), lambda: exec.launch(stream),
                 lambda: setter.launch(stream, 1, 1)]:
        with pytest.raises(cushim.InvalidHandle, match="gone"):
            call()


def test_the_current_stream(context, stream):
    event = context.create_event()
    with pytest.raises(cushim.StreamRequired):
        event.record(cushim.CURRENT)
    with stream:
        event.record(cushim.CURRENT)
        event.record(cushim.current_stream())
    stream.synchronize()
    assert event.query()


def test_other_threads_run_while_the_driver_waits(context, device, stream, setter):
    """Threads that launch, record and ask at once."""
    failures = []

    def work():
        try:
            mine, event = context.create_stream(), context.create_event()
            buffer = device.allocate(mine, 8)
            for _ in range(200):
                setter.launch(mine, 1, 1, buffer, buffer)
                event.record(mine)
                mine.wait(event)
                event.query()
            mine.synchronize()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_they_say_what_they_take():
    assert list(inspect.signature(cushim.Event.record).parameters) == ["self", "stream"]
    assert "arguments" in str(inspect.signature(cushim.launch)) and cushim.Stream.wait.__doc__
