"""Virtual memory for programs that manage addresses themselves: memory without addresses, and addresses without memory."""

from __future__ import annotations

from ._exported import Exported
from ._handles import AllocationBase, ReservationBase
from ._managed import _place, Location
from ._object import check, Closing, descriptor_of, ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._managed import Where


class Allocation(AllocationBase, Closing, of=True):
    """Physical memory, which has no address until it is mapped in a `Reservation`. Where it is mapped it stays."""

    __slots__ = ()

    def export(self) -> Exported:
        """The bytes, and a new file descriptor, by which another process gets the memory, by `Device.import_allocation` or
        `Resource.import_parts`: pass both there, and close the file descriptor. The memory was created with `shareable=1`
        (`Shareable.POSIX_FD`)."""
        file = ffi.new("int32_t *")
        descriptor = descriptor_of(lib.cushim_allocation_export, self._h, more=(file,))
        return Exported(descriptor, file[0])

    @property
    def location(self) -> Location:
        """Where the memory is."""
        place = ffi.new("cushim_location *")
        check(lib.cushim_allocation_get_location(self._h, place))
        return Location(place.kind, place.id)


class Reservation(ReservationBase, Closing, of=True):
    """A range of addresses, at which whole allocations are mapped."""

    __slots__ = ()

    def set_access(self, offset: int, bytes: int, location: Where, access: int) -> None:
        """What a location may do with the whole mappings in a range; `access` is a `VirtualAccess`."""
        check(lib.cushim_reservation_set_access(self._h, offset, bytes, _place(location), access))

    def get_access(self, offset: int, location: Where) -> int:
        """What a location may do with what is mapped at an offset, a `VirtualAccess`."""
        access = ffi.new("int32_t *")
        check(lib.cushim_reservation_get_access(self._h, offset, _place(location), access))
        return int(access[0])


__all__ = ["Allocation", "Reservation"]
