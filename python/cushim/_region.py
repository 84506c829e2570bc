"""2D and 3D copies and memsets: rows of bytes in a pitch, slices of rows."""

from __future__ import annotations

from ._endpoint import target
from ._interface import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple


class Region:
    """Where a 2D or 3D copy reads or writes: memory, as the ends of `Stream.copy` are, with a `pitch`, the bytes from row to row, and
    `rows` from slice to slice. 0 is for rows, or slices, that end where those of the copy end. `at` is where it begins: bytes in the
    row, the row, the slice."""

    __slots__ = ("memory", "pitch", "rows", "at")

    def __init__(self, memory: Any, pitch: int = 0, rows: int = 0, at: Tuple[int, int, int] = (0, 0, 0)) -> None:
        self.memory = memory
        self.pitch = pitch
        self.rows = rows
        self.at = at

    def __repr__(self) -> str:
        return f"cushim.Region({self.memory!r:.100}, pitch={self.pitch}, rows={self.rows}, at={self.at})"


class Side:
    """A region as the library takes it. How much memory it needs is checked here: the library knows no size of host memory."""

    __slots__ = ("end", "place")

    def __init__(self, what: Any, extent: Tuple[int, int, int], writes: bool) -> None:
        region = what if isinstance(what, Region) else Region(what)
        if len(region.at) != 3 or min(region.pitch, region.rows, *region.at) < 0:
            raise ValueError(f"a region has no negative numbers, and three in `at`: {region!r}")
        self.end = target(region.memory, writes)
        (width, height, depth), (x, y, z) = extent, region.at
        pitch, rows = region.pitch or x + width, region.rows or y + height
        last = ((z + depth - 1) * rows + y + height - 1) * pitch + x + width
        if min(extent) > 0 and last > self.end.bytes:
            self.end.back()
            raise ValueError(f"the copy ends {last - self.end.bytes} bytes past the end of {region!r}, which has {self.end.bytes} bytes")
        self.place: Any = ffi.new("cushim_region *")
        self.place.endpoint = self.end.place[0]
        self.place.x, self.place.y, self.place.z = region.at
        self.place.pitch, self.place.rows = region.pitch, region.rows


class Sides:
    """Both sides of a 2D or 3D copy; what they lend is taken back if the copy is refused."""

    __slots__ = ("first", "second", "extent")

    def __init__(self, to: Any, source: Any, width: int, height: int, depth: int) -> None:
        if min(width, height, depth) < 0:
            raise ValueError(f"a copy has a width, a height and a depth of at least 0, not {width}, {height}, {depth}")
        self.first = Side(to, (width, height, depth), True)
        try:
            self.second = Side(source, (width, height, depth), False)
        except BaseException:
            self.first.end.back()
            raise
        self.extent: Any = ffi.new("cushim_extent *")
        self.extent.width, self.extent.height, self.extent.depth = width, height, depth

    @property
    def all(self) -> Tuple[Any, Any, Any]:
        """The arguments of a call."""
        return self.first.place, self.second.place, self.extent

    def __enter__(self) -> Sides:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.first.end.back()
            self.second.end.back()


class Rows:
    """The rows that a 2D memset writes."""

    __slots__ = ("end", "all")

    def __init__(self, to: Any, value: int, width: int, height: int, value_bytes: int, pitch: int) -> None:
        from ._endpoint import pattern

        if min(width, height, pitch) < 0:
            raise ValueError(f"a memset has a width, a height and a pitch of at least 0, not {width}, {height}, {pitch}")
        data, row = pattern(value, value_bytes), width * value_bytes
        self.end = target(to)
        last = (height - 1) * (pitch or row) + row
        if row and height and last > self.end.bytes:
            self.end.back()
            raise ValueError(f"the memset ends {last - self.end.bytes} bytes past the end of {to!r}, which has {self.end.bytes} bytes")
        self.all: Tuple[Any, ...] = (self.end.place, pitch or row, data, value_bytes, width, height)

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.end.back()


__all__ = ["Region", "Rows", "Sides"]
