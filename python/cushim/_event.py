"""Events: places in the order of a stream's work."""

from __future__ import annotations

from ._handles import EventBase, StreamBase
from ._object import check, descriptor_of, failure, ffi, handle, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._stream import Stream


class Event(EventBase, of=True):
    """An event of a context. Recording it again replaces the earlier record."""

    __slots__ = ()

    def record(self, stream: Stream) -> None:
        """Records the event: it is complete when the work that is in the stream now is done."""
        try:
            status = lib.cushim_event_record(self._h, stream._h)
        except (AttributeError, TypeError):
            status = lib.cushim_event_record(self._h, handle(stream, StreamBase, "stream"))
        if status:
            raise failure(status)

    def synchronize(self, timeout: Optional[float] = None) -> bool:
        """Waits until the event is complete, or so many seconds are over: whether it is complete."""
        if timeout is None:
            check(lib.cushim_event_synchronize(self._h))
            return True
        done = ffi.new("int32_t *")
        check(lib.cushim_event_synchronize_within(self._h, int(timeout * 1e9), done))
        return bool(done[0])

    async def synchronize_async(self) -> None:
        """Waits in asyncio until the event is complete; see `Stream.synchronize_async`."""
        from ._asyncio import completed

        await completed(self)

    def export(self) -> bytes:
        """The bytes by which another process gets the event, by `Context.import_event`. It was created with `interprocess`."""
        return descriptor_of(lib.cushim_event_export, self._h)

    def elapsed(self, end: Event) -> float:
        """The milliseconds from this event to another one; both were made with `timing` and are complete."""
        milliseconds = ffi.new("float *")
        check(lib.cushim_event_elapsed(self._h, handle(end, EventBase, "end"), milliseconds))
        elapsed: float = milliseconds[0]
        return elapsed


__all__ = ["Event"]
