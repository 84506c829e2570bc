"""Kernels, and what can be their arguments."""

import ctypes
import threading

import cushim
import pytest

numpy = pytest.importorskip("numpy")


def run(device, stream, launch, count=100):
    """y of saxpy after one launch, with x = 0, 1, … and y = 1."""
    x, y = numpy.arange(count, dtype=numpy.float32), numpy.ones(count, numpy.float32)
    on_device = [device.allocate(stream, 4 * count) for _ in range(2)]
    stream.copy(on_device[0], y)
    stream.copy(on_device[1], x)
    launch(*on_device)
    stream.copy(y, on_device[0])
    stream.synchronize()
    return y


def test_numbers_of_python_have_the_size_of_the_parameter(device, stream, saxpy, sized):
    def launch(y, x):
        cushim.launch(saxpy, stream, 1, 128, y, x, 100, 2.0)

    if sized:
        assert saxpy.parameter_sizes == (8, 8, 4, 4)
        assert (run(device, stream, launch) == 1 + 2 * numpy.arange(100)).all()
    else:
        with pytest.raises(TypeError, match="numpy.int32"):
            run(device, stream, launch)


@pytest.mark.parametrize("n, a", [(numpy.int32(50), numpy.float32(3)), (ctypes.c_int32(50), ctypes.c_float(3)),
                                  (b"\x32\0\0\0", b"\0\0\x40\x40"),
                                  (cushim.Parameter("n", numpy.int32(50)), cushim.Parameter("a", ctypes.c_float(3)))])
def test_numbers_with_a_size(device, stream, saxpy, n, a):
    expected = 1 + 3 * numpy.arange(100)
    expected[50:] = 1
    assert (run(device, stream, lambda y, x: saxpy.launch(stream, (1,), (64, 1), y, x, n, a)) == expected).all()


def test_addresses(device, stream, saxpy):
    class Array:
        def __init__(self, buffer):
            self.__cuda_array_interface__ = buffer.__cuda_array_interface__

    forms = [lambda it: it, lambda it: it[:], lambda it: cushim.Pointer(it.pointer, it.size), Array,
             lambda it: numpy.uint64(it.pointer)]
    for form in forms:
        y = run(device, stream, lambda y, x: saxpy.launch(stream, 1, 128, form(y), form(x), numpy.int32(100), numpy.float32(1)))
        assert (y == 1 + numpy.arange(100)).all()


def test_the_same_room_for_other_types(device, stream, saxpy):
    """Launches of one kernel with arguments of other types, in turns."""
    for _ in range(3):
        for n in (numpy.int32(100), cushim.Parameter("n", numpy.int32(100)), ctypes.c_uint32(100)):
            y = run(device, stream, lambda y, x: saxpy.launch(stream, 1, 128, y, x[:], n, numpy.float32(1)))
            assert (y == 1 + numpy.arange(100)).all()


def test_wrong_arguments(device, stream, saxpy, sized):
    x = device.allocate(stream, 400)
    one = numpy.float32(1)
    with pytest.raises(TypeError, match="argument 0 is array"):
        saxpy.launch(stream, 1, 1, numpy.zeros(4), x, numpy.int32(1), one)
    with pytest.raises(TypeError, match="argument 1 is 'text'"):
        saxpy.launch(stream, 1, 1, x, "text", numpy.int32(1), one)
    with pytest.raises(cushim.InvalidArgument):
        saxpy.launch(stream, 0, 1, x, x, numpy.int32(1), one)
    with pytest.raises(ValueError, match="up to three"):
        saxpy.launch(stream, (1, 1, 1, 1), 1, x, x, numpy.int32(1), one)
    with pytest.raises(TypeError, match="`stream` is a Stream"):
        saxpy.launch(None, 1, 1, x, x, numpy.int32(1), one)
    if sized:
        with pytest.raises(OverflowError, match="32 bits"):
            saxpy.launch(stream, 1, 1, x, x, 1 << 40, one)
        with pytest.raises((TypeError, cushim.InvalidArgument)):
            saxpy.launch(stream, 1, 1, x, x, 1, 1.0, 5)
        with pytest.raises(cushim.InvalidArgument):
            saxpy.launch(stream, 1, 1, x, x, numpy.int64(1), one)


def test_a_large_number_and_options(device, stream, setter, library):
    buffer = device.allocate(stream, 8)
    setter.launch(stream, 1, 1, buffer, numpy.uint64(1 << 63), shared_bytes=64, flags=0)
    back = numpy.zeros(1, numpy.uint64)
    stream.copy(back, buffer)
    stream.synchronize()
    assert back[0] == 1 << 63
    assert library["set"] == library.kernel("set") or library["set"].name == "set"
    with pytest.raises(TypeError):
        setter.launch(stream, 1, 1, buffer, buffer, no_such_option=1)


def test_threads_launch_one_kernel(device, context, setter):
    wrong = []

    def work(number):
        stream = context.create_stream()
        buffer, back = device.allocate(stream, 8), numpy.zeros(1, numpy.uint64)
        for i in range(30):
            setter.launch(stream, 1, 1, buffer, numpy.uint64(number * 1000 + i))
            stream.copy(back, buffer)
            stream.synchronize()
            if back[0] != number * 1000 + i:
                wrong.append((number, i, back[0]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_kernels_tell_of_themselves(library, saxpy, sized):
    assert saxpy.name == "saxpy" and saxpy.library == library
    assert saxpy.get_attribute(cushim.FunctionAttribute.MAX_THREADS_PER_BLOCK) > 0
    if sized:
        assert sorted(library.kernel_names) == sorted(library) == ["saxpy", "set"]


def test_code_that_is_none(context):
    with pytest.raises(cushim.CushimError) as raised:
        context.load("no code")
    assert raised.value.message
