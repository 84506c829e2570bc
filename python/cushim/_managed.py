"""Managed memory: where it is to be, and who uses it."""

from __future__ import annotations

from ._handles import DeviceBase, StreamBase
from ._memory import Buffer
from ._object import array_of, check, ffi, handle, lib, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, List, Optional, Union

    from ._driver import Device
    from ._stream import Stream

    Where = Union["Location", Device, str]

UNSET, DEVICE, HOST, HOST_NUMA = 0, 1, 2, 3  # cushim_location_kind
BUFFER = 2  # cushim_range_kind
SET_READ_MOSTLY, UNSET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED = 1, 2, 3, 4  # CUmem_advise


class Location:
    """Where memory is: `Location.device(0)`, `Location.host()`, `Location.host_numa(1)`. Where a location is an argument, a `Device`
    and "host" are, too."""

    __slots__ = ("kind", "id")

    def __init__(self, kind: int, id: int = 0) -> None:
        self.kind = kind
        self.id = id

    @classmethod
    def device(cls, device: Union[int, Device]) -> Location:
        """A device, by its ordinal."""
        return cls(DEVICE, device if isinstance(device, int) else device.ordinal)

    @classmethod
    def host(cls) -> Location:
        """The host."""
        return cls(HOST)

    @classmethod
    def host_numa(cls, node: int) -> Location:
        """A NUMA node of the host; needs CUDA 12.2."""
        return cls(HOST_NUMA, node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and (self.kind, self.id) == (other.kind, other.id)

    def __hash__(self) -> int:
        return hash((self.kind, self.id))

    def __repr__(self) -> str:
        names = {DEVICE: f"device({self.id})", HOST: "host()", HOST_NUMA: f"host_numa({self.id})"}
        return f"cushim.Location.{names[self.kind]}" if self.kind in names else f"cushim.Location({self.kind}, {self.id})"


class ManagedBuffer(Buffer):
    """A buffer of managed memory (`Context.create_managed_resource`): host and devices use it by one address."""

    __slots__ = ()

    def _range(self) -> Any:
        place = ffi.new("cushim_range *")
        place.kind, place.address = BUFFER, int(ffi.cast("uintptr_t", self._h))
        return place

    def _ask(self, function: Any, *arguments: Any) -> None:
        """Calls a function of the context with the range."""
        context = self.context
        if context is None:
            raise ValueError(f"{self!r} has no context")
        check(function(context._h, self._range(), *arguments))

    def prefetch(self, stream: Stream, location: Where) -> None:
        """Moves the memory to a location, in stream order."""
        check(lib.cushim_stream_prefetch(handle(stream, StreamBase, "stream"), self._range(), _place(location)))

    def discard(self, stream: Stream) -> None:
        """Discards the contents, in stream order, so that the driver need not move them. Needs CUDA 13.0."""
        check(lib.cushim_stream_discard(handle(stream, StreamBase, "stream"), self._range()))

    def discard_prefetch(self, stream: Stream, location: Where) -> None:
        """Discards the contents and moves the memory. Needs CUDA 13.0."""
        check(lib.cushim_stream_discard_prefetch(handle(stream, StreamBase, "stream"), self._range(), _place(location)))

    def attach(self, stream: Stream, attachment: int) -> None:
        """Says who uses the memory from now on, an `Attachment`; it matters where devices and host cannot at the same time."""
        check(lib.cushim_stream_attach(handle(stream, StreamBase, "stream"), self._range(), attachment))

    def advise(self, advice: int, location: Optional[Where] = None) -> None:
        """Advises the driver on how the memory will be used; `advice` is a `MemAdvise`."""
        place = ffi.NULL if location is None else _place(location)
        self._ask(lib.cushim_context_advise, advice, place)

    def _attributes(self) -> Any:
        attributes = sized("cushim_range_attributes")
        self._ask(lib.cushim_context_get_range_attributes, attributes)
        return attributes

    @property
    def read_mostly(self) -> bool:
        """Whether the memory is mostly read, so that each device that reads it gets a copy."""
        return bool(self._attributes().read_mostly)

    @read_mostly.setter
    def read_mostly(self, value: bool) -> None:
        self.advise(SET_READ_MOSTLY if value else UNSET_READ_MOSTLY)

    @property
    def preferred_location(self) -> Optional[Location]:
        """Where the memory is to be, if it can."""
        return _location(self._attributes().preferred_location)

    @preferred_location.setter
    def preferred_location(self, value: Optional[Where]) -> None:
        self.advise(UNSET_PREFERRED if value is None else SET_PREFERRED, value)

    @property
    def last_prefetch_location(self) -> Optional[Location]:
        """Where the memory was last prefetched to."""
        return _location(self._attributes().last_prefetch_location)

    @property
    def accessed_by(self) -> List[Location]:
        """Who will use the memory, and is to reach it without a fault."""
        context = self.context
        h = ffi.NULL if context is None else context._h
        places = array_of(lib.cushim_context_get_accessed_by, "cushim_location", h, self._range())
        return [Location(place.kind, place.id) for place in places]

    @accessed_by.setter
    def accessed_by(self, value: Iterable[Where]) -> None:
        places = [_place(location)[0] for location in value]
        array = ffi.new("cushim_location[]", places)
        self._ask(lib.cushim_context_set_accessed_by, array, len(places))


def _place(where: Where) -> Any:
    """A location as the library takes it."""
    if isinstance(where, DeviceBase):
        where = Location(DEVICE, where.ordinal)
    elif where == "host":
        where = Location(HOST)
    if not isinstance(where, Location):
        raise TypeError(f'a location is a cushim.Location, a Device or "host", not {where!r}')
    place = ffi.new("cushim_location *")
    place.kind, place.id = where.kind, where.id
    return place


def _location(place: Any) -> Optional[Location]:
    return Location(place.kind, place.id) if place.kind != UNSET else None


__all__ = ["Location", "ManagedBuffer"]
