"""Page-locked memory of cushim as an array of NumPy, and an array of NumPy as a buffer of cushim: without a copy."""

import ctypes
import sys

import numpy

HOST = 3  # kDLCUDAHost
UNVERSIONED = 2  # CUSHIM_DLPACK_UNVERSIONED
BUFFER = 5  # CUSHIM_ENDPOINT_BUFFER
NAMES = {0: b"dltensor_versioned", UNVERSIONED: b"dltensor"}

lib = ctypes.CDLL(sys.argv[1])
capsules = ctypes.pythonapi
capsules.PyCapsule_New.restype = ctypes.py_object
capsules.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsules.PyCapsule_GetPointer.restype = ctypes.c_void_p
capsules.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsules.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
lib.cushim_last_error_message.restype = ctypes.c_char_p


class Options(ctypes.Structure):
    """cushim_dlpack_options."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("code", ctypes.c_int32), ("bits", ctypes.c_int32),
                ("lanes", ctypes.c_int32), ("flags", ctypes.c_uint32), ("shape", ctypes.c_void_p),
                ("dimensions", ctypes.c_size_t), ("offset", ctypes.c_uint64)]


class Place(ctypes.Structure):
    """cushim_endpoint."""

    _fields_ = [("kind", ctypes.c_int32), ("flags", ctypes.c_uint32), ("address", ctypes.c_uint64),
                ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("owner", ctypes.c_void_p)]


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

    def __init__(self, buffer, flags):
        self.buffer = buffer
        self.flags = flags

    def __dlpack_device__(self):
        return (HOST, 0)

    def __dlpack__(self, **_):
        options = Options(struct_size=ctypes.sizeof(Options), flags=self.flags)
        tensor = made(lib.cushim_buffer_export_dlpack, self.buffer, ctypes.byref(options))
        return capsules.PyCapsule_New(tensor, NAMES[self.flags], None)


def gives(flags):
    """A buffer becomes an array, which holds the memory."""
    buffer = made(lib.cushim_buffer_create, resource, stream, ctypes.c_size_t(4096))
    check(lib.cushim_stream_synchronize(stream))
    array = numpy.from_dlpack(Exporter(buffer, flags))
    assert array.shape == (4096,) and array.dtype == numpy.uint8
    assert array.ctypes.data == number(lib.cushim_buffer_get_pointer, buffer)
    place = Place(kind=BUFFER, address=buffer.value)
    check(lib.cushim_stream_fill(stream, ctypes.byref(place), b"\x2a", ctypes.c_size_t(1), ctypes.c_size_t(4096)))
    check(lib.cushim_stream_synchronize(stream))
    assert (array == 0x2A).all()
    check(lib.cushim_buffer_destroy(buffer))
    assert array[4095] == 0x2A


def takes(flags):
    """An array becomes a buffer, which lets go of it in the end."""
    numbers = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    name = NAMES[flags]
    capsule = numbers.__dlpack__() if flags else numbers.__dlpack__(max_version=(1, 0))
    tensor = ctypes.c_void_p(capsules.PyCapsule_GetPointer(capsule, name))
    imported = ctypes.c_void_p()
    check(lib.cushim_buffer_import_dlpack(driver, tensor, ctypes.c_uint32(flags), ctypes.byref(imported), None))
    capsules.PyCapsule_SetName(capsule, USED[flags])
    assert number(lib.cushim_buffer_get_pointer, imported) == numbers.ctypes.data
    assert number(lib.cushim_buffer_get_size, imported) == numbers.nbytes
    before = sys.getrefcount(numbers)
    check(lib.cushim_buffer_destroy(imported))
    done = ctypes.c_int32()
    check(lib.cushim_flush_callbacks(ctypes.c_uint64(10_000_000_000), ctypes.byref(done)))
    assert done.value == 1 and sys.getrefcount(numbers) == before - 1


USED = {flags: b"used_" + name for flags, name in NAMES.items()}  # a capsule does not copy its name

driver = made(lib.cushim_driver_open, None)
device = made(lib.cushim_driver_get_device, driver, 0)
context = made(lib.cushim_context_retain_primary, device)
stream = made(lib.cushim_stream_create, context, None)
resource = made(lib.cushim_resource_create_pinned, context, None)
for form in NAMES:
    gives(form)
    takes(form)

for handle, destroy in [(resource, lib.cushim_resource_destroy), (stream, lib.cushim_stream_destroy),
                        (context, lib.cushim_context_destroy), (driver, lib.cushim_driver_destroy)]:
    check(destroy(handle))
print("checks passed")
