"""Contexts: what everything else is made in."""

from __future__ import annotations

from ._handles import ContextBase
from ._object import check, ffi, lib, made, owned, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._capture import Capture
    from ._event import Event
    from ._graph import Graph
    from ._kernel import Library
    from ._memory import Resource
    from ._stream import Stream


class Context(ContextBase, of=True):
    """A context of a device. In a `with` statement it is the calling thread's current context, for the sake of other libraries:
    cushim's own calls need none."""

    __slots__ = ()

    def __enter__(self) -> Context:
        check(lib.cushim_context_push(self._h))
        return self

    def __exit__(self, *_: object) -> None:
        driver = self.device.driver
        check(lib.cushim_context_pop(driver._h, ffi.new("cushim_context *"), ffi.new("CUcontext *")))

    def create_stream(self, priority: int = 0, blocking: bool = False, label: Optional[str] = None) -> Stream:
        """A stream. A blocking one is ordered with the legacy default stream."""
        options = sized("cushim_stream_options")
        options.priority, options.flags = priority, int(blocking)
        return _labelled(made("stream", lib.cushim_stream_create, self._h, options), label)

    def wrap_stream(self, stream: Any) -> Stream:
        """A stream that another library made: anything that has `__cuda_stream__`, or the driver's handle as a number. It must
        outlive what this returns, and is kept alive unless it is a number."""
        native = stream if isinstance(stream, int) else native_stream(stream)
        place = ffi.new("cushim_stream *")
        check(lib.cushim_stream_wrap(self._h, ffi.cast("CUstream", native), 0, place))
        made: Stream = owned("stream", place[0])
        made._keeps = stream
        return made

    def create_event(self, timing: bool = False, blocking_sync: bool = False, interprocess: bool = False,
                     label: Optional[str] = None) -> Event:
        """An event. `timing` is for `elapsed`; with `blocking_sync` a thread that waits for it sleeps."""
        options = sized("cushim_event_options")
        options.flags = timing * 1 | blocking_sync * 2 | interprocess * 4
        return _labelled(made("event", lib.cushim_event_create, self._h, options), label)

    def create_device_resource(self) -> Resource:
        """Device memory that is allocated and freed synchronously (`cuMemAlloc`)."""
        return self._resource(lib.cushim_resource_create_device)

    def create_arena(self, bytes: int) -> Resource:
        """Device memory that is allocated once, and whose parts are handed out by cushim."""
        return self._resource(lib.cushim_resource_create_arena, bytes)

    def create_pinned_resource(self, form: int = 0, flags: int = 0) -> Resource:
        """Page-locked host memory; `form` is a `PinnedForm`, `flags` are `HostFlags`."""
        options = sized("cushim_pinned_options")
        options.form, options.flags = form, flags
        return self._resource(lib.cushim_resource_create_pinned, options)

    def create_managed_resource(self, flags: int = 0) -> Resource:
        """Managed memory, which host and devices use by one address; `flags` are `ManagedFlags`."""
        options = sized("cushim_managed_options")
        options.flags = flags
        return self._resource(lib.cushim_resource_create_managed, options)

    def _resource(self, function: Any, *arguments: Any) -> Resource:
        return made("resource", function, self._h, *arguments)

    def load(self, image: Any, flags: int = 0, max_registers: int = 0) -> Library:
        """Loads code: PTX (`str` or `bytes`), a cubin or a fatbin. `flags` are `LibraryFlags`."""
        if isinstance(image, str):
            image = image.encode()
        data = ffi.from_buffer(image)
        options = sized("cushim_library_options")
        options.flags, options.max_registers = flags, max_registers
        return made("library", lib.cushim_library_load, self._h, data, len(data), options)

    def load_file(self, path: Any, flags: int = 0, max_registers: int = 0) -> Library:
        """Loads code from a file."""
        import os

        options = sized("cushim_library_options")
        options.flags, options.max_registers = flags, max_registers
        return made("library", lib.cushim_library_load_file, self._h, os.fsencode(path), options)

    def create_graph(self) -> Graph:
        """A graph without nodes."""
        return made("graph", lib.cushim_graph_create, self._h, ffi.NULL)

    def capture(self, mode: int = 0) -> Capture:
        """Captures in a stream of its own: `with context.capture() as capture:`. `mode` is a `CaptureMode`."""
        options = sized("cushim_builder_options")
        options.mode = mode
        return made("builder", lib.cushim_builder_create, self._h, options)


def native_stream(stream: Any) -> int:
    """The driver's handle of a stream of any library."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        raise TypeError(f"`stream` has no __cuda_stream__: {stream!r}; pass the number that its library has for it")
    version, native = protocol() if callable(protocol) else protocol
    if version != 0:
        raise TypeError(f"`stream` has a __cuda_stream__ of version {version}, and cushim knows version 0")
    return int(native)


def _labelled(made: Any, label: Optional[str]) -> Any:
    if label is not None:
        made.label = label
    return made


__all__ = ["Context", "native_stream"]
