"""Attributes of streams, kernel nodes and launches, as bytes: what each means is the driver's `CUlaunchAttributeValue`."""

from __future__ import annotations

from ._interface import ffi
from ._object import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZE = 64  # of a CUlaunchAttributeValue


def get(function: Any, h: Any, id: int) -> bytes:
    """An attribute of a stream or a node."""
    place = ffi.new("cushim_launch_attribute *")
    check(function(h, id, place))
    return bytes(ffi.buffer(place.value))


def put(function: Any, h: Any, id: int, value: bytes) -> None:
    """Sets an attribute of a stream or a node."""
    place = ffi.new("cushim_launch_attribute *")
    fill(place, id, value)
    check(function(h, place))


def fill(place: Any, id: int, value: bytes) -> None:
    """An attribute as the library takes it; what the bytes do not have is zero."""
    data = bytes(value)
    if len(data) > SIZE:
        raise ValueError(f"the value of attribute {id} has {len(data)} bytes, and at most {SIZE} fit")
    place.id = id
    ffi.memmove(place.value, data, len(data))
