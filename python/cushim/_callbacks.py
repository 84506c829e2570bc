"""What the library lends and calls back, by its queue: no thread but those of the program runs Python.

A thing that is lent to the library is kept in `_lent`, under the number that the library has of it, until the queue says that it
is released. Functions that are due wait in `_due` for `drain`.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections import deque
from itertools import count

from ._errors import check
from ._interface import ffi
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, Tuple

HOST_FUNCTION, LOG_LINE = 2, 3  # cushim_drain_item_kind
CAPACITY = 16
LEVELS = {1: 40, 2: 30, 3: 20, 4: 10, 5: 5}  # cushim_log_level as a level of logging

_numbers = count(1, 2)  # odd, so that none is the address of a tensor
_lent: Dict[int, Any] = {}
_due: Deque[Tuple[Callable[..., Any], Tuple[Any, ...]]] = deque()
_lock = allocate_lock()
_items: Any = ffi.new("cushim_drain_item[]", CAPACITY)
_received: Any = ffi.new("size_t *")
_polled = False
_limit = 64


class lend:
    """Lends something to a call, as its owner: kept until the library releases it. If the call fails, it is not lent."""

    __slots__ = ("number", "owner")

    def __init__(self, thing: Any, call: bool = False) -> None:
        self.number = 0
        self.owner = ffi.NULL
        if thing is not None or call:
            self.number = next(_numbers)
            self.owner = ffi.new("cushim_owner *")
            self.owner.data = ffi.cast("void *", self.number)
            _lent[self.number] = thing
            if len(_lent) > _limit:
                _tidy()

    def __enter__(self) -> Any:
        return self.owner

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.back()

    def back(self) -> None:
        """It was not lent after all."""
        _lent.pop(self.number, None)


def _tidy() -> None:
    """Lets go of what the library has released. Functions that are due wait on."""
    global _limit
    _collect(tidies=True)
    _limit = max(64, 2 * len(_lent))


def _collect(tidies: bool = False) -> None:
    """Takes what is in the queue. Somebody who waits on its descriptor takes it himself: then tidying leaves it there."""
    gone = []
    with _lock:
        while not (tidies and _polled):
            check(lib.cushim_drain(_items, ffi.sizeof("cushim_drain_item"), CAPACITY, _received))
            for i in range(_received[0]):
                item = _items[i]
                number = int(ffi.cast("uintptr_t", item.data))
                if item.kind == LOG_LINE:
                    line = [ffi.string(text).decode("utf-8", "replace") for text in (item.target, item.text)]
                    _due.append((_log, (LEVELS.get(item.level, 10), *line)))
                elif item.kind != HOST_FUNCTION:
                    gone.append(_lent.pop(number, None))
                elif number in _lent:
                    _due.append(_lent[number])
            if _received[0] < CAPACITY:
                break
    del gone  # not under the lock: whatever it was may do anything as it goes


def drain() -> int:
    """Calls the functions that are due (`Stream.add_callback` and the like), and lets go of what is released. It never waits.
    Returns how many functions it called. An exception of one is raised, and the others stay due."""
    _collect()
    called = 0
    while True:
        try:
            function, arguments = _due.popleft()
        except IndexError:
            return called
        called += 1
        function(*arguments)


def drain_fd() -> int:
    """A file descriptor to wait on, with `select` or an event loop: readable while `drain` has something to do. From the first
    call on nothing is let go of but by `drain`. Functions that are due already are called now."""
    global _polled
    place = ffi.new("int32_t *")
    check(lib.cushim_drain_fd(place))
    with _lock:
        _polled = True
    drain()
    return int(place[0])


def flush(timeout: float) -> bool:
    """Waits until everything that is due is released, or so many seconds are over, and lets go of it: whether all was."""
    done = ffi.new("int32_t *")
    check(lib.cushim_flush_callbacks(int(timeout * 1e9), done))
    _collect()
    return bool(done[0])


def log_to_logging(level: int) -> None:
    """Has `drain` pass lines of the library's log, of a `LogLevel` or a more important one, to the logger "cushim"."""
    check(lib.cushim_log_set_pull(level))


def _log(level: int, target: str, text: str) -> None:
    import logging

    logging.getLogger(target.replace("::", ".") or "cushim").log(level, text)


def _forked() -> None:
    """The child of a fork: another thread may have had the lock."""
    global _lock
    _lock = allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
