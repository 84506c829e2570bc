"""DLPack, both ways."""

from __future__ import annotations

import ctypes

from . import _callbacks
from ._object import NATIVE, check, ffi, lib, owned, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple

    from ._driver import Driver
    from ._memory import Buffer
    from ._stream import Stream

CPU, CUDA, HOST, MANAGED = 1, 2, 3, 13  # DLDeviceType
UNVERSIONED, PULL = 2, 4  # cushim_dlpack_flags
NAMES = {0: b"dltensor_versioned", UNVERSIONED: b"dltensor"}
USED = {0: b"used_dltensor_versioned", UNVERSIONED: b"used_dltensor"}  # a capsule does not copy its name

# Where a tensor has its deleter: behind the tensor (48 bytes) and manager_ctx, or behind version and manager_ctx.
DELETER = {0: 16, UNVERSIONED: 56}

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def _delete(address: int, form: int) -> None:
    """Calls the deleter of a tensor."""
    deleter = ffi.cast("void (**)(void *)", address + DELETER[form])[0]
    if deleter:
        deleter(ffi.cast("void *", address))


def _unused(capsule: int) -> None:
    """A capsule that nobody has taken the tensor out of goes."""
    for form, name in NAMES.items():
        if _valid(capsule, name):
            _delete(_pointer(capsule, name), form)


if NATIVE:
    from ._native import unused_capsule

    _destructor = ctypes.c_void_p(unused_capsule)
else:  # in Python, which must not run while an exception is raised: a consumer that refuses a tensor gets a SystemError
    _kept = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_unused)
    _destructor = ctypes.cast(_kept, ctypes.c_void_p)


def device_of(buffer: Buffer) -> Tuple[int, int]:
    """The device of a buffer in DLPack's terms."""
    properties = buffer.properties
    if properties.managed:
        return MANAGED, max(properties.device, 0)
    if not properties.host_accessible:
        return CUDA, properties.device
    return (HOST if properties.device_accessible else CPU), 0


def give(buffer: Buffer, code: int, bits: int, shape: Tuple[int, ...], *, stream: Any = None,
         max_version: Optional[Tuple[int, int]] = None, dl_device: Optional[Tuple[int, int]] = None,
         copy: Optional[bool] = None) -> Any:
    """A capsule with a tensor, which keeps the buffer alive. The consumer's stream waits for the work that is in the buffer's
    stream now."""
    if copy:
        raise BufferError("cushim does not copy for DLPack: copy the buffer with buffer.copy(stream)")
    if dl_device is not None and tuple(dl_device) != device_of(buffer):
        raise BufferError(f"the buffer is on device {device_of(buffer)} of DLPack, not {tuple(dl_device)}")
    if stream not in (None, -1):
        _order(buffer.stream, buffer, stream)
    form = 0 if max_version is not None and max_version[0] >= 1 else UNVERSIONED
    options = sized("cushim_dlpack_options")
    options.code, options.bits, options.lanes, options.flags = code, bits, 1, form
    lengths = ffi.new("int64_t[]", list(shape))
    options.shape, options.dimensions = lengths, len(shape)
    tensor = ffi.new("void **")
    check(lib.cushim_buffer_export_dlpack(buffer._h, options, tensor))
    return _new(int(ffi.cast("uintptr_t", tensor[0])), NAMES[form], _destructor)


def _order(producer: Optional[Stream], buffer: Buffer, consumer: int) -> None:
    """Has the consumer's stream wait for the producer's."""
    context = buffer.context
    if producer is not None and context is not None:
        waits = context.wrap_stream(int(consumer))
        if waits != producer:
            waits.wait_stream(producer)


def take(driver: Driver, source: Any) -> Buffer:
    """A buffer of another library's tensor."""
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # it is older than DLPack 1
        capsule = source.__dlpack__()
    form = 0 if _valid(id(capsule), NAMES[0]) else UNVERSIONED
    address = _pointer(id(capsule), NAMES[form])
    place = ffi.new("cushim_buffer *")
    flags = PULL | form
    with _callbacks._lock:  # so that it is not drained before it is known
        _callbacks._lent[address] = _Tensor(address, form)
    status = lib.cushim_buffer_import_dlpack(driver._h, ffi.cast("void *", address), flags, place, ffi.NULL)
    if status:
        _callbacks._lent.pop(address).form = None
        check(status)
    _rename(capsule, USED[form])
    buffer: Buffer = owned("buffer", place[0])
    return buffer


class _Tensor:
    """A tensor that the library uses; it is deleted when it is let go of."""

    def __init__(self, address: int, form: Optional[int]) -> None:
        self.address = address
        self.form = form

    def __del__(self) -> None:
        if self.form is not None:
            _delete(self.address, self.form)
