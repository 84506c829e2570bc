"""The calls that are made most often go by a compiled module, `_native`, where the package has it. Whatever is not usual about a call,
that hands on to the method in Python that it stands for, so both do the same."""

from __future__ import annotations

from ._event import Event
from ._graph import Exec
from ._handles import BufferBase, EventBase, KernelBase, StreamBase
from ._kernel import Kernel, launch
from ._object import NATIVE, failure, ffi, lib
from ._stream import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

METHODS: Tuple[Tuple[Any, str, str], ...] = (
    (Event, "record", "cushim_event_record"),
    (Event, "query", "cushim_event_query"),
    (Stream, "query", "cushim_stream_query"),
    (Stream, "wait", "cushim_stream_wait_event"),
    (Exec, "launch", "cushim_exec_launch"),
    (Kernel, "launch", "cushim_kernel_launch"),
)


def attach(names: Dict[str, Any]) -> None:
    """Gives the classes, and the package, whose names these are, what the module has for them."""
    if not NATIVE:
        return
    from . import _native

    def address(function: str) -> int:
        return int(ffi.cast("uintptr_t", ffi.addressof(lib, function)))

    config = "cushim_launch_config"
    _native.configure(ffi.sizeof(config), ffi.offsetof(config, "grid"), ffi.offsetof(config, "block"))
    for name, what in (("stream", StreamBase), ("event", EventBase), ("buffer", BufferBase), ("kernel", KernelBase), ("fail", fail)):
        _native.give(name, what)
    for kind, name, function in METHODS:
        setattr(kind, name, _native.attach(f"{kind.__name__}.{name}", kind, getattr(kind, name), address(function)))
    names["launch"] = _native.attach("launch", None, launch, address("cushim_kernel_launch"))


def fail(status: int) -> None:
    """Raises what a call has returned."""
    raise failure(status)
