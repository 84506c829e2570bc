"""What calls return that return several things."""

from __future__ import annotations

from ._interface import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Record:
    """Values with names, copied from a struct."""

    __slots__: Any = ()

    def __init__(self, struct: Any) -> None:
        for name in self.__slots__:
            value = getattr(struct, name)
            if isinstance(value, ffi.CData):
                value = _plain(value)
            else:
                value = _number(value, self.__annotations__[name])
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


def _number(value: int, kind: str) -> Any:
    """A number, or what it stands for. One that a newer driver has made up stays a number."""
    if kind == "bool":
        return value != 0
    if kind != "int":
        from . import _enums

        try:
            return getattr(_enums, kind)(value)
        except ValueError:
            pass
    return value


def _plain(value: Any) -> Any:
    """A text, an address, or a list, of what is no number."""
    kind = ffi.typeof(value)
    if kind.kind in ("pointer", "array") and kind.item.cname == "char":
        return ffi.string(value).decode("utf-8", "replace") if value else ""
    return int(ffi.cast("uintptr_t", value))
