"""Page-locked memory of cushim as an array of NumPy, and an array of NumPy as a buffer of cushim: without a copy."""

import ctypes
import sys

import numpy

HOST = 3  # kDLCUDAHost
NAME = b"dltensor_versioned"

lib = ctypes.CDLL(sys.argv[1])
capsules = ctypes.pythonapi
capsules.PyCapsule_New.restype = ctypes.py_object
capsules.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsules.PyCapsule_GetPointer.restype = ctypes.c_void_p
capsules.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsules.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
lib.cushim_last_error_message.restype = ctypes.c_char_p
USED = b"used_dltensor_versioned"


def check(status):
    if status != 0:
        raise RuntimeError(f"{status}: {lib.cushim_last_error_message().decode()}")


def made(function, *arguments):
    handle = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(handle)))
    return handle


def number(function, buffer):
    value = ctypes.c_uint64()
    check(function(buffer, ctypes.byref(value)))
    return value.value


class Exporter:
    """A buffer as NumPy wants to see it."""

    def __init__(self, buffer):
        self.buffer = buffer

    def __dlpack_device__(self):
        return (HOST, 0)

    def __dlpack__(self, **_):
        tensor = made(lib.cushim_buffer_export_dlpack, self.buffer, None)
        return capsules.PyCapsule_New(tensor, NAME, None)


driver = made(lib.cushim_driver_open, None)
device = made(lib.cushim_driver_get_device, driver, 0)
context = made(lib.cushim_context_retain_primary, device)
stream = made(lib.cushim_stream_create, context, None)
resource = made(lib.cushim_resource_create_pinned, context, None)
buffer = made(lib.cushim_buffer_create, resource, ctypes.c_size_t(4096), stream)
check(lib.cushim_stream_synchronize(stream))

array = numpy.from_dlpack(Exporter(buffer))
assert array.shape == (4096,) and array.dtype == numpy.uint8
assert array.ctypes.data == number(lib.cushim_buffer_get_pointer, buffer)
check(lib.cushim_stream_fill_buffer(stream, buffer, ctypes.c_uint64(0), 0x2A, 1, ctypes.c_size_t(4096)))
check(lib.cushim_stream_synchronize(stream))
assert (array == 0x2A).all()
check(lib.cushim_buffer_destroy(buffer))
assert array[4095] == 0x2A  # the array holds the memory
del array

numbers = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
capsule = numbers.__dlpack__(max_version=(1, 0))
imported = made(
    lib.cushim_buffer_import_dlpack, driver, ctypes.c_void_p(capsules.PyCapsule_GetPointer(capsule, NAME)), None
)
capsules.PyCapsule_SetName(capsule, USED)
assert number(lib.cushim_buffer_get_pointer, imported) == numbers.ctypes.data
assert number(lib.cushim_buffer_get_size, imported) == numbers.nbytes
before = sys.getrefcount(numbers)
check(lib.cushim_buffer_destroy(imported))
done = ctypes.c_int32()
check(lib.cushim_flush_callbacks(ctypes.c_int64(10000), ctypes.byref(done)))
assert done.value == 1 and sys.getrefcount(numbers) == before - 1

for handle, destroy in [(resource, lib.cushim_resource_destroy), (stream, lib.cushim_stream_destroy),
                        (context, lib.cushim_context_destroy), (driver, lib.cushim_driver_destroy)]:
    check(destroy(handle))
print("checks passed")
