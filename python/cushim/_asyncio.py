"""Waiting in asyncio: the event loop waits on the descriptor of the queue, and no thread waits."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary, WeakSet

from ._callbacks import _due, drain, drain_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

    from ._context import Context
    from ._event import Event
    from ._stream import Stream

# How long the first wait is before the stream is asked whether it has failed: functions in a failed one are never called.
PATIENCE = 0.05

_loops: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
_spare: WeakKeyDictionary[Context, List[Stream]] = WeakKeyDictionary()


def attach(loop: asyncio.AbstractEventLoop) -> None:
    """Has an event loop drain the queue."""
    if loop not in _loops:
        loop.add_reader(drain_fd(), _drain, loop)
        _loops.add(loop)


def _drain(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        try:
            drain()
        except Exception as error:
            loop.call_exception_handler({"message": "a function that cushim.drain() called failed", "exception": error})
        if not _due:
            return


def _reach(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    """Runs on the thread that drained, which may be another loop's."""
    try:
        loop.call_soon_threadsafe(_finish, future)
    except RuntimeError:  # the loop is closed
        pass


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def reached(stream: Stream) -> None:
    """Waits until a stream has done what is in it now."""
    loop = asyncio.get_running_loop()
    attach(loop)
    future: asyncio.Future[None] = loop.create_future()
    stream.add_callback(_reach, loop, future)
    patience = PATIENCE
    while not future.done():
        await asyncio.wait({future}, timeout=patience)
        patience = min(2 * patience, 1.0)
        stream.query()  # raises what the stream has failed with


async def completed(event: Event) -> None:
    """Waits for an event, by a stream that waits for it: each waiter has one, and leaves it to the next."""
    context = event.context
    spare = _spare.setdefault(context, [])
    stream = spare.pop() if spare else context.create_stream(label="asyncio")
    stream.wait(event)
    await reached(stream)
    spare.append(stream)
