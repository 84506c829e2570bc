"""Streams: queues of work."""

from __future__ import annotations

from . import _attributes
from ._endpoint import Pair, pattern, target
from ._handles import StreamBase
from ._object import check, failure, ffi, found, handle, lib, made, owned, sized
from ._region import Rows, Sides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Optional, Tuple

    from ._capture import Capture
    from ._event import Event
    from ._graph import Graph
    from ._memory_operations import MemoryOperation


class Stream(StreamBase, of=True):
    """A stream of a context. In a `with` statement it is the calling thread's current stream, which `cushim.CURRENT` stands for
    and `cushim.current_stream()` returns; no call takes it unless one of them is passed."""

    __slots__ = ()

    def __enter__(self) -> Stream:
        check(lib.cushim_stream_push_current(self._h))
        return self

    def __exit__(self, *_: object) -> None:
        check(lib.cushim_stream_pop_current(ffi.NULL))

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.native

    def synchronize(self, timeout: Optional[float] = None) -> bool:
        """Waits until all work in the stream is done, or so many seconds are over: whether it is done."""
        if timeout is None:
            check(lib.cushim_stream_synchronize(self._h))
            return True
        done = ffi.new("int32_t *")
        check(lib.cushim_stream_synchronize_within(self._h, int(timeout * 1e9), done))
        return bool(done[0])

    async def synchronize_async(self) -> None:
        """Waits in asyncio until all work that is in the stream now is done. The event loop waits on the descriptor of
        `cushim.drain_fd()`, so it drains (`cushim.drain`) from now on."""
        from ._asyncio import reached

        await reached(self)

    def wait(self, event: Event) -> None:
        """Has work that is enqueued later wait for an event, or for what is in another stream now."""
        if isinstance(event, StreamBase):
            self.wait_stream(event)  # type: ignore[arg-type]
            return
        from ._handles import EventBase

        check(lib.cushim_stream_wait_event(self._h, handle(event, EventBase, "event")))

    def record(self, event: Optional[Event] = None) -> Event:
        """Records an event, or else a new one, which is complete when the work that is in the stream now is done."""
        made = self.context.create_event() if event is None else event
        made.record(self)
        return made

    def copy(self, to: Any, source: Any, bytes: Optional[int] = None) -> None:
        """Copies bytes in stream order, by default all of them.

        Each end is a `Buffer` or a part of one (`buffer[16:64]`), host memory (an array of NumPy, a bytearray or anything with
        Python's buffer interface), memory of another library (`__cuda_array_interface__`) or `cushim.Pointer(address, bytes)`.
        Host memory is kept alive until the copy is done; its contents are there when the stream was synchronised.
        """
        with Pair(to, source, bytes) as pair:
            status = lib.cushim_stream_copy(self._h, pair.to, pair.source, pair.bytes)
            if status:
                raise failure(status)

    def copy_batch(self, copies: Iterable[Tuple[Any, Any]]) -> None:
        """Copies several ranges, in no order among each other; what comes later in the stream waits for all of them. Each copy is a
        pair of a destination and a source of the same size, as `copy` takes them."""
        pairs = []
        try:
            for to, source in copies:
                pairs.append(Pair(to, source, None))
            batch = ffi.new("cushim_copy[]", len(pairs))
            for item, pair in zip(batch, pairs):
                item.destination, item.source, item.bytes = pair.to[0], pair.source[0], pair.bytes
            check(lib.cushim_stream_copy_batch(self._h, batch, len(pairs), ffi.NULL, 0, ffi.NULL))
        except BaseException:
            for pair in pairs:
                pair.back()
            raise

    def fill(self, to: Any, value: int, value_bytes: int = 1, count: Optional[int] = None) -> None:
        """Sets memory to a value of 1, 2 or 4 bytes, repeated, in stream order; by default to its end."""
        end = target(to)
        status = lib.cushim_stream_fill(self._h, end.place, pattern(value, value_bytes), value_bytes, end.count(value_bytes, count))
        if status:
            end.back()
            raise failure(status)

    def copy_3d(self, to: Any, source: Any, width: int, height: int, depth: int = 1) -> None:
        """Copies `depth` slices of `height` rows of `width` bytes, in stream order. Both ends are those of `copy`, as they are if their
        rows follow each other, or in a `cushim.Region`, which has a pitch and a place to begin."""
        with Sides(to, source, width, height, depth) as sides:
            check(lib.cushim_stream_copy_3d(self._h, *sides.all))

    def fill_2d(self, to: Any, value: int, width: int, height: int, value_bytes: int = 1, pitch: int = 0) -> None:
        """Sets `height` rows of `width` values to a value, in stream order. `pitch` is the bytes from row to row; 0 for rows that
        follow each other."""
        with Rows(to, value, width, height, value_bytes, pitch) as rows:
            check(lib.cushim_stream_fill_2d(self._h, *rows.all))

    def memory_operations(self, operations: Iterable[MemoryOperation]) -> None:
        """Waits for values in memory and writes such, one after the other, in stream order; see `MemoryOperation`."""
        from ._memory_operations import Operations

        with Operations(operations) as given:
            check(lib.cushim_stream_memory_operations(self._h, given.items, given.count))

    def get_attribute(self, id: int) -> bytes:
        """An attribute of the stream, a `LaunchAttributeID`, as the bytes of the driver's `CUlaunchAttributeValue`."""
        return _attributes.get(lib.cushim_stream_get_attribute, self._h, id)

    def set_attribute(self, id: int, value: bytes) -> None:
        """Sets an attribute: work that is enqueued from now on has it."""
        _attributes.put(lib.cushim_stream_set_attribute, self._h, id, value)

    def add_callback(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Has `cushim.drain()` call a function once the work that is in the stream now is done. The stream does not wait for
        it, and no thread but the one that drains runs it. If the context is lost before, it is never called."""
        from ._callbacks import lend

        with lend((function, arguments), call=True) as owner:
            check(lib.cushim_stream_launch_host_function(self._h, ffi.NULL, owner.data, owner))

    def capture(self, mode: int = 0) -> Capture:
        """Captures what is enqueued in this stream, by other libraries too: `with stream.capture() as capture:`."""
        options = sized("cushim_builder_options")
        options.mode = mode
        return made("builder", lib.cushim_builder_create_on, self._h, options)


def current_stream() -> Stream:
    """The calling thread's current stream: that of the innermost `with` statement."""
    return found("stream", lib.cushim_stream_get_current)


class _Current(Stream):
    """Stands for the current stream of whichever thread makes the call."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "cushim.CURRENT"


CURRENT: Stream = _Current._take(lib.cushim_stream_current(), owned=False)

__all__ = ["CURRENT", "Stream", "current_stream"]
