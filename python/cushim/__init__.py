"""The CUDA driver by Python's habits: streams, events, memory, kernels and graphs, on any driver, or one in software.

    import cushim

    device = cushim.Driver().device(0)
    context = device.primary_context()
    stream = context.create_stream()
    buffer = device.allocate(stream, 4096)
    stream.fill(buffer, 42)
    numbers = bytearray(4096)
    stream.copy(numbers, buffer)
    stream.synchronize()

Every call that enqueues work takes a stream. A call that fails raises a `CushimError`, whose message says what to do.
"""

from __future__ import annotations

from ._arguments import Parameter
from ._callbacks import drain, drain_fd, flush, log_to_logging
from ._capture import Capture
from ._context import Context
from ._driver import Device, Driver
from ._endpoint import Part, Pointer
from ._errors import (
    CushimError,
    DriverNotFound,
    Forked,
    GraphRefused,
    InvalidArgument,
    InvalidHandle,
    OutOfMemory,
    StreamRequired,
    Unsupported,
)
from ._event import Event
from ._exported import Exported
from ._graphics import Graphics
from ._graph import Condition, Exec, Graph, Node
from ._kernel import Kernel, Library, launch
from ._managed import Location, ManagedBuffer
from ._memory import Buffer, Resource, View
from ._memory_operations import MemoryOperation
from ._program import Program, compile, link
from ._region import Region
from ._registration import Registration
from ._stream import CURRENT, Stream, current_stream
from ._virtual_memory import Allocation, Reservation
from ._version import VERSION as __version__
from ._hot import attach as _attach

_attach(globals())

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._enums import *
    from ._records import *


def __getattr__(name: str) -> Any:
    """The enumerations, which are loaded when the first is used."""
    if not name.startswith("_"):
        from . import _enums, _records

        for module in (_enums, _records):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'cushim' has no attribute {name!r}")


__all__ = [
    "CURRENT", "Allocation", "Buffer", "Capture", "Condition", "Context", "CushimError", "Device", "Driver", "DriverNotFound",
    "Event", "Exec", "Exported", "Forked", "Graph", "GraphRefused", "Graphics", "InvalidArgument", "InvalidHandle", "Kernel", "Library",
    "Location", "ManagedBuffer", "MemoryOperation", "Node", "OutOfMemory", "Parameter", "Part", "Pointer", "Program", "Region",
    "Registration", "Reservation", "Resource", "Stream", "StreamRequired", "Unsupported", "View", "compile", "current_stream", "drain",
    "drain_fd", "flush", "launch", "link", "log_to_logging",
]
