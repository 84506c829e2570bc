"""Host memory of the program's that is page-locked for a time."""

from __future__ import annotations

from ._interface import ffi
from ._object import check, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._context import Context


class Registration:
    """Host memory that is page-locked until this is closed, or its `with` statement ends: copies of it in a stream are then
    asynchronous. It keeps the memory alive. Close it when the work that uses the memory is done."""

    __slots__ = ("context", "memory", "_address", "__weakref__")

    def __init__(self, context: Context, memory: Any, flags: int) -> None:
        data = ffi.from_buffer("char[]", memory)
        address = ffi.cast("void *", data)
        check(lib.cushim_context_register_host(context._h, address, len(data), flags))
        self.context = context
        self.memory: Any = data
        self._address: Any = address

    @property
    def pointer(self) -> int:
        """The address by which the device reaches the memory."""
        place = ffi.new("uint64_t *")
        check(lib.cushim_context_get_device_pointer(self.context._h, self._address, place))
        return int(place[0])

    def close(self) -> None:
        """Ends the registration. Closing it again does nothing."""
        if self.memory is not None:
            check(lib.cushim_context_unregister_host(self.context._h, self._address))
            self.memory = None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.memory is None

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # it was never made, its context is gone, or Python ends
            pass

    def __repr__(self) -> str:
        if self.memory is None:
            return "<cushim registration, closed>"
        return f"<cushim registration of {len(self.memory)} bytes in {self.context!r}>"


__all__ = ["Registration"]
