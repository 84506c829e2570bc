"""Memory of and for other libraries, without a copy."""

import gc
import sys

import cushim
import pytest

numpy = pytest.importorskip("numpy", minversion="2.1")


def test_page_locked_memory_as_an_array(context, stream):
    buffer = context.create_pinned_resource().allocate(stream, 48)
    stream.fill(buffer, 0)
    stream.synchronize()
    array = numpy.from_dlpack(buffer.view("float32", (3, 4)))
    assert array.shape == (3, 4) and array.dtype == numpy.float32 and array.ctypes.data == buffer.pointer
    buffer.close()
    assert (array == 0).all()
    with pytest.raises(ValueError, match="48"):
        context.create_pinned_resource().allocate(stream, 48).view("float64", (7,))


def test_an_array_as_a_buffer(driver, stream):
    numbers = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    before = sys.getrefcount(numbers)
    buffer = driver.from_dlpack(numbers)
    assert buffer.pointer == numbers.ctypes.data and buffer.size == numbers.nbytes
    assert bytes(buffer.host()) == numbers.tobytes()
    gc.collect()
    buffer.close()
    assert cushim.flush(10)
    gc.collect()
    assert sys.getrefcount(numbers) == before


def test_a_capsule_that_nobody_takes(context, stream):
    buffer = context.create_pinned_resource().allocate(stream, 48)
    for version in ((1, 0), None):
        capsule = buffer.__dlpack__(max_version=version)
        assert "dltensor" in repr(capsule)
        del capsule
    gc.collect()


@pytest.mark.skipif(not cushim._object.NATIVE, reason="without the compiled module")
def test_a_tensor_that_is_refused(device, stream):
    used = lambda: device.resource.get_attribute(cushim.PoolAttribute.USED_CURRENT)
    before = used()
    buffer = device.allocate(stream, 48)
    with pytest.raises((BufferError, RuntimeError), match="device"):
        numpy.from_dlpack(buffer.view("float32", (3, 4)))  # NumPy has no memory of a device
    buffer.close()
    stream.synchronize()
    assert used() == before  # the tensor was deleted


def test_devices(context, device, stream):
    assert device.allocate(stream, 8).__dlpack_device__() == (2, 0)
    assert context.create_pinned_resource().allocate(stream, 8).__dlpack_device__() == (3, 0)
    assert context.create_managed_resource().allocate(stream, 8).__dlpack_device__()[0] == 13
    with pytest.raises(BufferError):
        device.allocate(stream, 8).__dlpack__(dl_device=(1, 0))


def test_the_array_interface(device, stream):
    buffer = device.allocate(stream, 64)
    interface = buffer.view("<i8", (2, 4)).__cuda_array_interface__
    assert interface["shape"] == (2, 4) and interface["typestr"] == "<i8" and interface["data"] == (buffer.pointer, False)
    assert interface["version"] == 3 and interface["stream"] == stream.native
    assert buffer.view(numpy.int64).typestr == buffer.view(numpy.dtype("int64")).typestr == buffer.view("int64").typestr == "<i8"
    assert buffer.view("bool").typestr == "|b1"
    for wrong in ("", "text", "O", ">f4"):
        with pytest.raises(ValueError, match="dtype"):
            buffer.view(wrong)


def test_an_array_of_another_library_at_the_end_of_a_copy(device, stream):
    buffer, back = device.allocate(stream, 64), bytearray(64)

    class Array:
        __cuda_array_interface__ = buffer.view("<f4", (4, 4)).__cuda_array_interface__

    stream.fill(Array(), 9)
    stream.copy(back, Array())
    stream.synchronize()
    assert set(back) == {9}
    Array.__cuda_array_interface__ = {**Array.__cuda_array_interface__, "strides": (4, 16)}
    with pytest.raises(ValueError, match="contiguous"):
        stream.copy(back, Array())
