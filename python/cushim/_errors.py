"""Failed calls as exceptions."""

from __future__ import annotations

from ._interface import ffi
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Type

    from ._graph import Node


class CushimError(Exception):
    """A call failed; it had no effect. The exceptions of this module say why by their class, too."""

    status: int
    """0 minus a `StatusCode`, or the driver's CUresult, which is positive."""
    name: str
    """The name of the status, such as "CUDA_ERROR_INVALID_VALUE"."""
    message: str
    """What went wrong and what to do about it."""
    function: str
    """The driver's function, such as "cuMemPrefetchAsync"; "" if the error is about none."""
    abi: int
    """The ABI number of that function, such as 12020; 0 if the error is about none."""
    driver_code: int
    """The CUresult that the driver returned; 0 if the driver is not at fault."""
    item: Optional[int]
    """The index of the item that failed, from 0, if the call took several."""
    object: str
    """The object that the call was about, such as `stream "copy"`; "" if there is none."""
    driver_log: str
    """What the driver logged during the call, one entry per line; "" before CUDA 12.9."""

    def __init__(self, message: str, status: int = 0, name: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.name = name
        self.function = self.object = self.driver_log = ""
        self.abi = self.driver_code = 0
        self.item = None


class InvalidArgument(CushimError, ValueError):
    """CUSHIM_ERROR_INVALID_ARGUMENT, or CUDA_ERROR_INVALID_VALUE."""


class InvalidHandle(CushimError):
    """The object was closed, or belongs to another driver."""


class Unsupported(CushimError):
    """The driver is older than the call, or the device cannot do it."""


class DriverNotFound(CushimError):
    """No driver could be opened."""


class OutOfMemory(CushimError, MemoryError):
    """The device, or the host, has no memory left."""


class Forked(CushimError):
    """The process is a child that was forked after the driver was opened: CUDA does not work there."""


class StreamRequired(CushimError):
    """There is no current stream, and none was given."""


class GraphRefused(CushimError):
    """A graph could not be instantiated, or an exec not be updated from it."""

    node: Optional[Node] = None
    """The node because of which."""
    other: Optional[Node] = None
    """The other node, if an edge between two is the reason."""
    reason: int = 0
    """The driver's CUgraphInstantiateResult or CUgraphExecUpdateResult."""


for _kind in [CushimError, *CushimError.__subclasses__()]:
    _kind.__module__ = "cushim"  # as tracebacks name it

CLASSES: Dict[int, Type[CushimError]] = {
    -1: InvalidArgument,
    1: InvalidArgument,
    -2: InvalidHandle,
    -3: InvalidHandle,
    -4: Unsupported,
    801: Unsupported,
    -5: DriverNotFound,
    -6: DriverNotFound,
    -8: Forked,
    -11: StreamRequired,
    -14: OutOfMemory,
    2: OutOfMemory,
}


def failure(status: int, kind: Optional[Type[CushimError]] = None) -> CushimError:
    """The calling thread's last error, which a call has returned as this status."""
    detail: Any = ffi.new("cushim_error_detail *")
    detail.struct_size = ffi.sizeof("cushim_error_detail")
    name = _text(lib.cushim_status_name(status))
    if lib.cushim_last_error(detail) != 0 or detail.status != status:
        message = _text(lib.cushim_status_string(status))
        return (kind or CLASSES.get(status, CushimError))(message, status, name)
    error = (kind or CLASSES.get(status, CushimError))(_text(detail.message), status, name)
    error.function = _text(detail.driver_function)
    error.abi = detail.abi
    error.driver_code = detail.driver_code
    error.item = detail.item if detail.item >= 0 else None
    error.object = _text(detail.object)
    error.driver_log = _text(detail.driver_log)
    return error


def _text(value: Any) -> str:
    text: str = ffi.string(value).decode("utf-8", "replace") if value else ""
    return text


def check(status: int) -> None:
    """Raises what a call has returned, unless it succeeded."""
    if status:
        raise failure(status)
