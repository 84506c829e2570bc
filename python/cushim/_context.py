"""Contexts: what everything else is made in."""

from __future__ import annotations

from ._endpoint import Pair, pattern, target
from ._handles import ContextBase, ProgramBase, StreamBase
from ._object import check, failure, ffi, lib, made, owned, perhaps, sized
from ._region import Rows, Sides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._capture import Capture
    from ._event import Event
    from ._graph import Graph
    from ._graphics import Graphics
    from ._kernel import Kernel, Library
    from ._memory import Buffer, Resource
    from ._registration import Registration
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

    def wrap_event(self, event: Any, owned: bool = False) -> Event:
        """An event that another library made, by the driver's handle (anything that `int` takes). It must outlive what this returns,
        unless it is `owned`: then cushim destroys it. An object that is no number is kept alive."""
        made = _wrapped(self, "event", lib.cushim_event_wrap, ffi.cast("CUevent", int(event)), int(owned), ffi.NULL)
        return _keeping(made, event)

    def wrap_graph(self, graph: Any, owned: bool = False) -> Graph:
        """A graph that another library made, by the driver's handle; as `wrap_event`."""
        return _keeping(_wrapped(self, "graph", lib.cushim_graph_wrap, ffi.cast("CUgraph", int(graph)), int(owned)), graph)

    def wrap_kernel(self, kernel: Any, owner: Any = None, library: Optional[Library] = None) -> Kernel:
        """A kernel that another library loaded, by the driver's `CUkernel` (anything that `int` takes). `owner`, by default the object
        itself, is kept alive by the kernel and by graphs that use it; it should keep the code loaded."""
        return self._kernel(lib.cushim_kernel_wrap, "CUkernel", kernel, owner, library)

    def wrap_function(self, function: Any, owner: Any = None, library: Optional[Library] = None) -> Kernel:
        """The same by a `CUfunction`, which is one of this context."""
        return self._kernel(lib.cushim_kernel_wrap_function, "CUfunction", function, owner, library)

    def _kernel(self, wrap: Any, kind: str, native: Any, owner: Any, library: Optional[Library]) -> Any:
        from ._callbacks import lend
        from ._handles import LibraryBase

        keeps = native if owner is None and not isinstance(native, int) else owner
        with lend(keeps) as owners:
            return _wrapped(self, "kernel", wrap, ffi.cast(kind, int(native)), perhaps(library, LibraryBase, "library"), owners)

    def import_event(self, descriptor: bytes) -> Event:
        """An event of another process, by the bytes of its `export`."""
        return made("event", lib.cushim_event_import, self._h, descriptor, len(descriptor))

    def open_buffer(self, descriptor: bytes, stream: Optional[Stream] = None) -> Buffer:
        """Memory of another process that is no pool's, by the bytes of `Buffer.export`; `stream` is in whose order it is closed."""
        h = perhaps(stream, StreamBase, "stream")
        return made("buffer", lib.cushim_buffer_open, self._h, h, descriptor, len(descriptor))

    def create_event(self, timing: bool = False, blocking_sync: bool = False, interprocess: bool = False,
                     label: Optional[str] = None) -> Event:
        """An event. `timing` is for `elapsed`; with `blocking_sync` a thread that waits for it sleeps."""
        flags = timing * 1 | blocking_sync * 2 | interprocess * 4
        options = ffi.NULL
        if flags:
            options = sized("cushim_event_options")
            options.flags = flags
        return _labelled(made("event", lib.cushim_event_create, self._h, options), label)

    def create_device_resource(self) -> Resource:
        """Device memory that is allocated and freed synchronously (`cuMemAlloc`)."""
        return self._resource(lib.cushim_resource_create_device)

    def create_arena(self, bytes: int) -> Resource:
        """Device memory that is allocated once, and whose parts are handed out by cushim."""
        return self._resource(lib.cushim_resource_create_arena, bytes)

    def create_pinned_resource(self, form: int = 0, flags: int = 0, max_size: int = 0, handle_types: int = 0,
                               numa_node: Optional[int] = None) -> Resource:
        """Page-locked host memory; `form` is a `PinnedForm`, `flags` are `HostFlags`. With a greatest size, handle types or the number of a NUMA
        node it is a pool of its own, by default on the node that is the device's own."""
        options = sized("cushim_pinned_options")
        options.form, options.flags, options.max_size, options.handle_types = form, flags, max_size, handle_types
        if numa_node is not None:
            options.own_pool, options.numa_node = 1, numa_node
        return self._resource(lib.cushim_resource_create_pinned, options)

    def create_managed_resource(self, flags: int = 0) -> Resource:
        """Managed memory, which host and devices use by one address; `flags` are `ManagedFlags`."""
        options = sized("cushim_managed_options")
        options.flags = flags
        return self._resource(lib.cushim_resource_create_managed, options)

    def _resource(self, function: Any, *arguments: Any) -> Resource:
        return made("resource", function, self._h, *arguments)

    def register_gl_buffer(self, name: int, flags: int = 0) -> Graphics:
        """A buffer of the OpenGL context that is current on this thread, by its name there; `flags` are `GraphicsFlags`."""
        return made("graphics", lib.cushim_graphics_register_gl_buffer, self._h, name, flags)

    def register_gl_image(self, name: int, target: int, flags: int = 0) -> Graphics:
        """An image: a texture or a renderbuffer, as the target says (`GL_TEXTURE_2D` and others)."""
        return made("graphics", lib.cushim_graphics_register_gl_image, self._h, name, target, flags)

    def register_host(self, memory: Any, flags: int = 0) -> Registration:
        """Page-locks host memory (an array of NumPy or anything with Python's buffer interface) until what this returns is closed:
        `with context.register_host(array):`. `flags` are `RegisterFlags`."""
        from ._registration import Registration

        return Registration(self, memory, flags)

    def copy(self, to: Any, source: Any, bytes: Optional[int] = None) -> None:
        """Copies bytes synchronously: they have arrived when this returns. It waits for the legacy default stream, not for others; the
        ends are those of `Stream.copy`."""
        with Pair(to, source, bytes) as pair:
            check(lib.cushim_context_copy(self._h, pair.to, pair.source, pair.bytes))

    def copy_3d(self, to: Any, source: Any, width: int, height: int, depth: int = 1) -> None:
        """Copies rows synchronously; see `Stream.copy_3d`."""
        with Sides(to, source, width, height, depth) as sides:
            check(lib.cushim_context_copy_3d(self._h, *sides.all))

    def fill(self, to: Any, value: int, value_bytes: int = 1, count: Optional[int] = None) -> None:
        """Sets memory to a value synchronously; see `Stream.fill`."""
        end = target(to)
        status = lib.cushim_context_fill(self._h, end.place, pattern(value, value_bytes), value_bytes, end.count(value_bytes, count))
        if status:
            end.back()
            raise failure(status)

    def fill_2d(self, to: Any, value: int, width: int, height: int, value_bytes: int = 1, pitch: int = 0) -> None:
        """Sets rows to a value synchronously; see `Stream.fill_2d`."""
        with Rows(to, value, width, height, value_bytes, pitch) as rows:
            check(lib.cushim_context_fill_2d(self._h, *rows.all))

    def load(self, image: Any, flags: int = 0, max_registers: int = 0) -> Library:
        """Loads code: PTX (`str` or `bytes`), a cubin or a fatbin, or what `cushim.compile` made. `flags` are `LibraryFlags`."""
        options = sized("cushim_library_options")
        options.flags, options.max_registers = flags, max_registers
        if isinstance(image, ProgramBase):
            return made("library", lib.cushim_library_load_program, self._h, image._h, options)
        if isinstance(image, str):
            image = image.encode()
        data = ffi.from_buffer(image)
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


def _wrapped(context: Context, kind: str, function: Any, *arguments: Any) -> Any:
    place = ffi.new(f"cushim_{kind} *")
    check(function(context._h, *arguments, place))
    return owned(kind, place[0])


def _keeping(made: Any, native: Any) -> Any:
    made._keeps = None if isinstance(native, int) else native
    return made


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
