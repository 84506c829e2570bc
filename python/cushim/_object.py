"""What all objects are: owners of a handle, compared and hashed by identity."""

from __future__ import annotations

from ._errors import CushimError, check, failure
from ._interface import ffi
from ._library import lib

try:
    from ._native import Base

    NATIVE = True
except ImportError:  # this package was built without a compiler, or for another Python: it does the same, slower
    NATIVE = False

    class Base:  # type: ignore[no-redef]
        __slots__ = ()


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Dict, List, Optional, Type, TypeVar

    Self = TypeVar("Self", bound="Object")

DESCRIPTOR = 160  # CUSHIM_DESCRIPTOR_BYTES

# The class of each kind of handle: the last one that was derived.
CLASSES: Dict[str, Type[Object]] = {}


class Object(Base):
    """An object of cushim. It lives until it is closed, or is no longer used; what it needs lives as long."""

    __slots__ = ("_h", "_owned", "_identity", "_keeps", "__weakref__")
    _kind = ""
    _destroy: ClassVar[Any]  # a function of C, which is no method
    _h: Any
    _owned: bool
    _identity: Optional[int]
    _keeps: Any

    def __init_subclass__(cls, of: bool = False) -> None:
        if of:
            CLASSES[cls._kind] = cls
            cls._destroy = getattr(lib, f"cushim_{cls._kind}_destroy", None)

    @classmethod
    def _take(cls: Type[Self], h: Any, owned: bool = True, keeps: Any = None) -> Self:
        """The object of a handle, which it destroys if it is owned."""
        made = object.__new__(cls)
        made._set(h, owned, keeps)
        return made

    def _set(self, h: Any, owned: bool = True, keeps: Any = None) -> None:
        self._h = h
        if NATIVE:
            self._n = int(ffi.cast("uintptr_t", h))
        self._owned = owned
        self._identity = None
        self._keeps = keeps

    def __reduce__(self) -> Any:
        name = type(self).__name__
        raise TypeError(f"a {name} belongs to its process and cannot be pickled or copied; what export() returns can be sent to another process"
                        if hasattr(self, "export") else f"a {name} belongs to its process and cannot be pickled or copied")

    def _number(self) -> int:
        """What tells the object from all others."""
        number = self._identity
        if number is None:
            place = ffi.new("uint64_t *")
            check(lib.cushim_get_identity(self._h, place))
            number = self._identity = place[0]
        return number

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Object) or other._kind != self._kind:
            return NotImplemented
        return self._number() == other._number()

    def __hash__(self) -> int:
        return hash(self._number())

    def __repr__(self) -> str:
        return f"<cushim {text_of(lib.cushim_describe, self._h)}>"

    @property
    def label(self) -> str:
        """The name of the object in messages; "" if it has none."""
        return text_of(lib.cushim_get_label, self._h)

    @label.setter
    def label(self, value: Optional[str]) -> None:
        check(lib.cushim_set_label(self._h, ffi.NULL if value is None else value.encode()))

    def close(self) -> None:
        """Gives the object up, now and not when Python finds that nothing uses it. Closing it again does nothing."""
        if self._owned:
            try:
                self._number()  # so that it can still be compared
            except CushimError:
                pass
            self._owned = False
            check(self._destroy(self._h))

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return not self._owned

    def __del__(self) -> None:
        try:
            if self._owned:
                self._owned = False
                self._destroy(self._h)
        except (AttributeError, TypeError):  # it was never made, or Python ends
            pass


class Closing(Object):
    """An object that is closed where its `with` statement ends."""

    __slots__ = ()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def handle(value: Any, kind: Type[Object], name: str) -> Any:
    """The handle of an argument, which has to be of a kind."""
    if isinstance(value, kind):
        return value._h
    raise TypeError(f"`{name}` is a {kind.__name__.removesuffix('Base')}, not {value!r}")


def perhaps(value: Any, kind: Type[Object], name: str) -> Any:
    """The handle of an argument, which may be None."""
    return ffi.NULL if value is None else handle(value, kind, name)


def owned(kind: str, h: Any) -> Any:
    """The object of an owning handle."""
    return CLASSES[kind]._take(h) if h else None


def borrowed(kind: str, h: Any, keeps: Any = None) -> Any:
    """The object of a borrowed handle, as an owner of its own where there are such handles."""
    if not h:
        return None
    if kind in ("node", "condition"):
        return CLASSES[kind]._take(h, owned=False, keeps=keeps)
    place = ffi.new(f"cushim_{kind} *")
    check(getattr(lib, f"cushim_{kind}_ref")(h, place))
    return CLASSES[kind]._take(place[0])


def made(kind: str, function: Any, *arguments: Any) -> Any:
    """The new object that a function answers with by its last argument."""
    place = ffi.new(f"cushim_{kind} *")
    check(function(*arguments, place))
    return owned(kind, place[0])


def found(kind: str, function: Any, *arguments: Any, keeps: Any = None) -> Any:
    """The same of an object that is there, or none."""
    place = ffi.new(f"cushim_{kind} *")
    check(function(*arguments, place))
    return borrowed(kind, place[0], keeps)


def sized(name: str) -> Any:
    """A struct that says how large it is, of zeros."""
    struct = ffi.new(f"{name} *")
    struct.struct_size = ffi.sizeof(name)
    return struct


def descriptor_of(function: Any, *arguments: Any, more: Any = ()) -> bytes:
    """The bytes by which another process finds something."""
    room = ffi.new("uint8_t[]", DESCRIPTOR)
    check(function(*arguments, room, DESCRIPTOR, *more))
    return bytes(ffi.buffer(room))


def text(value: Any) -> str:
    """A text of C."""
    return ffi.string(value).decode("utf-8", "replace") if value else ""


def text_of(function: Any, *arguments: Any) -> str:
    """What a function writes into a buffer."""
    size = 256
    while True:
        buffer, needed = ffi.new("char[]", size), ffi.new("size_t *")
        check(function(*arguments, buffer, size, needed))
        if needed[0] <= size:
            return text(buffer)
        size = needed[0]


def list_of(function: Any, kind: str, h: Any, keeps: Any = None) -> List[Any]:
    """What a function writes into an array."""
    return [borrowed(kind, it, keeps) for it in array_of(function, f"cushim_{kind}", h)]


def array_of(function: Any, kind: str, *arguments: Any) -> List[Any]:
    """The items that a function writes into an array."""
    capacity = 16
    while True:
        items, count = ffi.new(f"{kind}[]", capacity), ffi.new("size_t *")
        check(function(*arguments, items, capacity, count))
        if count[0] <= capacity:
            return [items[i] for i in range(count[0])]
        capacity = count[0]


__all__ = [
    "CLASSES", "Closing", "NATIVE", "Object", "array_of", "borrowed", "check", "descriptor_of", "failure", "ffi", "handle", "lib", "list_of", "owned",
    "perhaps", "sized", "text", "text_of",
]
