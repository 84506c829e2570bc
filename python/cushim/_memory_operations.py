"""Waiting for values in memory, and writing such, in stream order."""

from __future__ import annotations

from ._endpoint import End, target
from ._interface import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, List

WAIT, WRITE, FLUSH, BARRIER = 1, 3, 5, 6  # cushim_memory_action; those of 64 bits are one more


class MemoryOperation:
    """One of those that `Stream.memory_operations` does, made by `wait`, `write`, `flush` or `barrier`. Values are in page-locked host
    memory, or in device memory that is not from a pool (`Context.create_device_resource`)."""

    __slots__ = ("action", "at", "value", "flags", "bits")

    def __init__(self, action: int, at: Any = None, value: int = 0, bits: int = 0, flags: int = 0) -> None:
        self.action = action
        self.at = at
        self.value = value
        self.bits = bits
        self.flags = flags

    @classmethod
    def wait(cls, at: Any, value: int, bits: int = 32, flags: int = 0) -> MemoryOperation:
        """Waits until a number of 32 or 64 bits is at least `value`, or as `flags` say, which are the driver's `CU_STREAM_WAIT_VALUE_*`:
        1 is equal, 2 has a bit in common, 3 is neither."""
        return cls(WAIT + _wide(bits), at, value, bits, flags)

    @classmethod
    def write(cls, at: Any, value: int, bits: int = 32, flags: int = 0) -> MemoryOperation:
        """Writes a number of 32 or 64 bits; `flags` are the driver's `CU_STREAM_WRITE_VALUE_*`."""
        return cls(WRITE + _wide(bits), at, value, bits, flags)

    @classmethod
    def flush(cls) -> MemoryOperation:
        """Makes visible what other devices wrote before."""
        return cls(FLUSH)

    @classmethod
    def barrier(cls, flags: int = 0) -> MemoryOperation:
        """A barrier; `flags` are the driver's `CU_STREAM_MEMORY_BARRIER_TYPE_*`."""
        return cls(BARRIER, flags=flags)

    def __repr__(self) -> str:
        names = {WAIT: "wait", WAIT + 1: "wait", WRITE: "write", WRITE + 1: "write", FLUSH: "flush", BARRIER: "barrier"}
        what = f"{self.at!r:.100}, {self.value}, bits={self.bits}, " if self.bits else ""
        return f"cushim.MemoryOperation.{names[self.action]}({what}flags={self.flags})"


def _wide(bits: int) -> int:
    if bits not in (32, 64):
        raise ValueError(f"`bits` is 32 or 64, not {bits}")
    return int(bits == 64)


class Operations:
    """Memory operations as the library takes them; what they lend is taken back if they are refused."""

    __slots__ = ("items", "count", "ends")

    def __init__(self, operations: Iterable[MemoryOperation]) -> None:
        given = list(operations)
        self.ends: List[End] = []
        self.count = len(given)
        self.items: Any = ffi.new("cushim_memory_operation[]", self.count)
        try:
            for item, operation in zip(self.items, given):
                self.set(item, operation)
        except BaseException:
            self.back()
            raise

    def set(self, item: Any, operation: MemoryOperation) -> None:
        if not isinstance(operation, MemoryOperation):
            raise TypeError(f"a memory operation is made by cushim.MemoryOperation.write and the like, and is not {operation!r:.100}")
        item.action, item.flags = operation.action, operation.flags
        if not operation.bits:
            return
        if not -(1 << operation.bits - 1) <= operation.value < 1 << operation.bits:
            raise OverflowError(f"{operation!r} has a value of more than {operation.bits} bits")
        end = target(operation.at)
        self.ends.append(end)
        if end.bytes < operation.bits // 8:
            raise ValueError(f"{operation!r} is for {operation.bits // 8} bytes, and there are {end.bytes}")
        item.at, item.value = end.place[0], operation.value & (1 << operation.bits) - 1

    def back(self) -> None:
        for end in self.ends:
            end.back()

    def __enter__(self) -> Operations:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.back()


__all__ = ["MemoryOperation", "Operations"]
