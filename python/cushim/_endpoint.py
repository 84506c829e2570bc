"""The ends of copies and fills."""

from __future__ import annotations

from operator import index

from ._callbacks import lend
from ._handles import BufferBase
from ._interface import ffi
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple

    from ._memory import Buffer

HOST, DEVICE, BUFFER = 1, 2, 5  # cushim_endpoint_kind


def pattern(value: int, value_bytes: int) -> bytes:
    """A number as the value of a memset; a negative one in two's complement."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"`value` is {value!r}, and not an int. The bits of a float are one, of 4 bytes: "
                        "int.from_bytes(struct.pack('<f', 1.5), 'little')") from None
    if value_bytes in (1, 2, 4) and not -(1 << 8 * value_bytes - 1) <= number < 1 << 8 * value_bytes:
        raise ValueError(f"`value` is {number}, which does not fit into `value_bytes`, {value_bytes}; that may be 1, 2 or 4")
    return (number % (1 << 8 * value_bytes)).to_bytes(value_bytes, "little")


class Pointer:
    """An address of device memory, and how many bytes there are. What `keeps` is lives as long as work that uses them."""

    __slots__ = ("address", "bytes", "keeps")

    def __init__(self, address: int, bytes: int, keeps: Any = None) -> None:
        self.address = address
        self.bytes = bytes
        self.keeps = keeps

    def __repr__(self) -> str:
        return f"cushim.Pointer({self.address:#x}, {self.bytes})"


class Part:
    """A part of a buffer: `buffer[16:64]`."""

    __slots__ = ("buffer", "offset", "bytes")

    def __init__(self, buffer: Buffer, offset: int, bytes: int) -> None:
        self.buffer = buffer
        self.offset = offset
        self.bytes = bytes

    def __repr__(self) -> str:
        return f"<bytes {self.offset} to {self.offset + self.bytes} of {self.buffer!r}>"


class End:
    """An end as the library takes it."""

    __slots__ = ("place", "bytes", "lent", "memory", "what")

    def __init__(self, what: Any, kind: int, address: int, bytes: int, offset: int = 0, keeps: Any = None) -> None:
        self.what = what
        self.bytes = bytes
        self.lent = None
        self.place = place = ffi.new("cushim_endpoint *")
        place.kind = kind
        place.address = address
        place.offset = offset
        if keeps is not None:
            self.lent = lend(keeps)
            place.owner = self.lent.owner

    def back(self) -> None:
        """The call was refused: nothing is lent."""
        if self.lent is not None:
            self.lent.back()

    def count(self, value_bytes: int, count: Optional[int]) -> int:
        """How many values of so many bytes a fill writes; by default as many as there are."""
        return self.bytes // value_bytes if count is None else count


def target(what: Any, writes: bool = True) -> End:
    """The end that something is. Host memory has to be writable if it is written."""
    if isinstance(what, BufferBase):
        return End(what, BUFFER, int(ffi.cast("uintptr_t", what._h)), lib.cushim_buffer_size(what._h) or what.size)
    if isinstance(what, Part):
        return End(what, BUFFER, int(ffi.cast("uintptr_t", what.buffer._h)), what.bytes, what.offset)
    if isinstance(what, Pointer):
        return End(what, DEVICE, what.address, what.bytes, keeps=what.keeps)
    if hasattr(what, "__cuda_array_interface__"):
        address, bytes = array(what)
        return End(what, DEVICE, address, bytes, keeps=what)
    try:
        memory = ffi.from_buffer("char[]", what, require_writable=writes)
    except (TypeError, BufferError, ValueError) as error:
        raise TypeError(
            f"{what!r:.100} cannot be {'written' if writes else 'read'} by a copy ({error}). A copy takes buffers of cushim and "
            "parts of them, contiguous host memory with Python's buffer interface, and cushim.Pointer(address, bytes)"
        ) from None
    return End(what, HOST, int(ffi.cast("uintptr_t", memory)), len(memory), keeps=memory)


def array(what: Any) -> Tuple[int, int]:
    """Address and bytes of an array that has `__cuda_array_interface__`."""
    interface = what.__cuda_array_interface__
    if interface.get("strides") is not None:
        step = int(interface["typestr"][2:])
        for length, stride in zip(reversed(interface["shape"]), reversed(interface["strides"])):
            if stride != step and length > 1:
                raise ValueError(f"the array is not contiguous: shape {interface['shape']}, strides {interface['strides']}")
            step *= length
    bytes = int(interface["typestr"][2:])
    for length in interface["shape"]:
        bytes *= length
    return interface["data"][0] or 0, bytes


class Pair:
    """Both ends of a copy; what they lend is taken back if the copy is refused."""

    __slots__ = ("first", "second", "to", "source", "bytes")

    def __init__(self, to: Any, source: Any, bytes: Optional[int]) -> None:
        self.first = target(to)
        try:
            self.second = target(source, writes=False)
        except BaseException:
            self.first.back()
            raise
        self.to, self.source = self.first.place, self.second.place
        if bytes is None:
            if self.first.bytes != self.second.bytes:
                self.back()
                raise ValueError(
                    f"the destination has {self.first.bytes} bytes and the source {self.second.bytes}: pass `bytes`, "
                    "or parts of the same size"
                )
            bytes = self.first.bytes
        elif not 0 <= bytes <= min(self.first.bytes, self.second.bytes):
            self.back()
            raise ValueError(
                f"{bytes} bytes are not to be copied: the destination has {self.first.bytes} and the source {self.second.bytes}"
            )
        self.bytes = bytes

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.back()

    def back(self) -> None:
        self.first.back()
        self.second.back()


__all__ = ["End", "Pair", "Part", "Pointer", "array", "target"]
