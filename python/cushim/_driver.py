"""The driver and its devices."""

from __future__ import annotations

import uuid

from ._errors import Unsupported
from ._handles import DeviceBase, DriverBase, ResourceBase
from ._managed import _place
from ._object import borrowed, check, failure, ffi, found, handle, lib, made, owned, perhaps, sized, text, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Tuple

    from ._context import Context
    from ._managed import Where
    from ._memory import Buffer, Resource
    from ._records import Candidate, Symbol
    from ._stream import Stream
    from ._virtual_memory import Allocation, Reservation


class Driver(DriverBase, of=True):
    """An open driver.

    `driver` is "auto", "software", "none" or the path of a library; None: what the environment variable CUSHIM_DRIVER says,
    or else "auto". Opening a driver again gives another handle of it, which is equal to the first.
    """

    __slots__ = ()

    def __init__(self, driver: Optional[str] = None, flags: int = 0) -> None:
        options = sized("cushim_driver_options")
        name = None if driver is None else ffi.new("char[]", str(driver).encode())
        if name is not None:
            options.driver = name
        options.flags = flags
        place = ffi.new("cushim_driver *")
        check(lib.cushim_driver_open(options, place))
        self._set(place[0])

    @property
    def version(self) -> Tuple[int, int]:
        """The CUDA version that the driver reports, such as (12, 4)."""
        version = self.info.version
        return version // 1000, version % 1000 // 10

    @property
    def devices(self) -> List[Device]:
        """All devices, by their ordinals."""
        count = ffi.new("int32_t *")
        check(lib.cushim_driver_get_device_count(self._h, count))
        return [self.device(ordinal) for ordinal in range(count[0])]

    def device(self, ordinal: int = 0) -> Device:
        """A device by its ordinal."""
        return found("device", lib.cushim_driver_get_device, self._h, ordinal)

    def current_context(self) -> Optional[Context]:
        """The context that is current on the calling thread, if cushim owns it."""
        place, native = ffi.new("cushim_context *"), ffi.new("CUcontext *")
        check(lib.cushim_context_get_current(self._h, place, native))
        context: Optional[Context] = borrowed("context", place[0])
        return context

    def clear_current_context(self) -> None:
        """Makes no context current on the calling thread, instead of the one that is."""
        check(lib.cushim_context_clear_current(self._h))

    def function(self, name: str, abi: int = 0, per_thread_stream: bool = False) -> Optional[int]:
        """The address of a function of the driver, for ctypes and the like: by the name that is exported, such as "cuMemAlloc_v2", or
        by the base name and the number of an ABI, such as 12020. None if the driver does not have it."""
        place = ffi.new("void **")
        status = lib.cushim_driver_lookup(self._h, name.encode(), abi, int(per_thread_stream), place)
        if status:
            error = failure(status)
            if isinstance(error, Unsupported):
                return None
            raise error
        return int(ffi.cast("uintptr_t", place[0]))

    def find_compiler(self) -> Tuple[Tuple[int, int], str]:
        """The CUDA version of the compiler that `cushim.compile` uses, such as (12, 8), and its path. Where none is found, the
        `Unsupported` that is raised says what to install."""
        return self._find(lib.cushim_driver_find_compiler)

    def find_linker(self) -> Tuple[Tuple[int, int], str]:
        """The CUDA version of the linker that `cushim.link` uses, such as (12, 8), and its path. Where none is found, the
        `Unsupported` that is raised says what to install."""
        return self._find(lib.cushim_driver_find_linker)

    def _find(self, function: Any) -> Tuple[Tuple[int, int], str]:
        version = ffi.new("uint32_t *")
        path = text_of(function, self._h, version)
        return (version[0] // 1000, version[0] % 1000 // 10), path

    @property
    def candidates(self) -> List[Candidate]:
        """The libraries that were tried when the driver was opened; the last one was loaded."""
        return [self.get_candidate(index) for index in range(self.info.candidate_count)]

    @property
    def symbols(self) -> List[Symbol]:
        """Each ABI that cushim knows, and whether the driver has it."""
        return [self.get_symbol(index, 0) for index in range(lib.cushim_symbol_count())]

    def wrap(self, pointer: int, bytes: int, owner: Any = None, resource: Optional[Resource] = None,
             stream: Optional[Stream] = None) -> Buffer:
        """A buffer of memory that was allocated elsewhere. `owner` is kept alive until the last use of the buffer; a
        resource frees the memory then, in the order of the stream if it is stream-ordered."""
        from ._callbacks import lend
        from ._handles import ResourceBase, StreamBase

        place = ffi.new("cushim_buffer *")
        with lend(owner) as owners:
            check(lib.cushim_buffer_wrap(
                self._h, ffi.NULL if stream is None else handle(stream, StreamBase, "stream"), pointer, bytes,
                ffi.NULL if resource is None else handle(resource, ResourceBase, "resource"), owners, place,
            ))
        buffer: Buffer = owned("buffer", place[0])
        return buffer

    def from_dlpack(self, tensor: Any) -> Buffer:
        """A buffer of the memory of a tensor of another library (anything that has `__dlpack__`), which it keeps alive.
        DLPack orders nothing: the other library's work on the tensor must be done, or be waited for."""
        from ._dlpack import take

        return take(self, tensor)


class Device(DeviceBase, of=True):
    """A device of a driver."""

    __slots__ = ("_default",)
    _default: Optional[Tuple[Any, Resource]]

    def _set(self, h: Any, owned: bool = True, keeps: Any = None) -> None:
        super()._set(h, owned, keeps)
        self._default = None

    @property
    def uuid(self) -> uuid.UUID:
        """The UUID of the device."""
        place = ffi.new("uint8_t[16]")
        check(lib.cushim_device_get_uuid(self._h, place))
        return uuid.UUID(bytes=bytes(place))

    @property
    def compute_capability(self) -> Tuple[int, int]:
        """The compute capability, such as (9, 0)."""
        return self.get_attribute(75), self.get_attribute(76)

    @property
    def features(self) -> List[str]:
        """What the device can do, of what not each can."""
        names: List[str] = []
        while lib.cushim_feature_name(len(names)):
            names.append(text(lib.cushim_feature_name(len(names))))
        return [name for name in names if self.supports(name)]

    def primary_context(self) -> Context:
        """The primary context, which the CUDA runtime, and whatever is made with it, uses too."""
        return made("context", lib.cushim_context_retain_primary, self._h)

    def create_context(self, flags: int = 0) -> Context:
        """A context of its own; `flags` are `CtxFlags`."""
        options = sized("cushim_context_options")
        options.flags = flags
        return made("context", lib.cushim_context_create, self._h, options)

    def wrap_context(self, context: Any, owned: bool = False) -> Context:
        """A context that another library made, by the driver's handle (anything that `int` takes). It must outlive what this returns,
        unless it is `owned`: then cushim destroys it."""
        return made("context", lib.cushim_context_wrap, self._h, ffi.cast("CUcontext", int(context)), int(owned))

    def wrap_green_context(self, context: Any, owned: bool = False) -> Context:
        """The same by a `CUgreenCtx`. Its streams use its share of the device."""
        return made("context", lib.cushim_context_wrap_green, self._h, ffi.cast("CUgreenCtx", int(context)), int(owned))

    def wrap_pool(self, pool: Any, owned: bool = False) -> Resource:
        """The same of a memory pool, by its `CUmemoryPool`."""
        return made("resource", lib.cushim_resource_wrap_pool, self._h, ffi.cast("CUmemoryPool", int(pool)), int(owned))

    def import_pool(self, descriptor: bytes, file: int) -> Resource:
        """A pool of another process, by what its `Resource.export` returned; the file descriptor is left open. It allocates nothing:
        buffers come from `Resource.import_buffer`."""
        return made("resource", lib.cushim_resource_import, self._h, descriptor, len(descriptor), file)

    def create_graph_resource(self) -> Resource:
        """The memory of graphs: in a captured stream what is allocated of it becomes an allocation node."""
        return made("resource", lib.cushim_resource_create_graph, self._h)

    def allocate(self, stream: Optional[Stream], bytes: int) -> Buffer:
        """A buffer of the device's resource, in stream order."""
        place = ffi.new("cushim_resource *")
        check(lib.cushim_device_get_resource(self._h, place))
        default = self._default
        # Its borrowed handle is the same each time, until another resource is set.
        if default is None or default[0] != place[0]:
            default = self._default = (place[0], borrowed("resource", place[0]))
        return default[1].allocate(stream, bytes)

    def create_pool(self, choice: int = 2, max_size: int = 0, handle_types: int = 0) -> Resource:
        """A memory pool of the device; `choice` is a `PoolChoice`, by default a new one."""
        options = sized("cushim_device_pool_options")
        options.choice, options.max_size, options.handle_types = choice, max_size, handle_types
        return made("resource", lib.cushim_resource_create_device_pool, self._h, options)

    def create_location_pool(self, location: Where, memory: int = 1, choice: int = 0) -> Resource:
        """A pool of a `Location`, or of a device; `memory` is a `PoolMemory`, by default pinned, and `choice` a `PoolChoice`, by default the
        current one."""
        return made("resource", lib.cushim_resource_create_location_pool, self._h, _place(location), memory, choice)

    def set_location_pool(self, location: Where, memory: int, pool: Optional[Resource]) -> None:
        """The pool from which everybody in the process allocates such memory there; None: that from the start."""
        check(lib.cushim_device_set_location_pool(self._h, _place(location), memory, perhaps(pool, ResourceBase, "pool")))

    def create_virtual_resource(self, **options: Any) -> Resource:
        """Virtual memory, whose buffers grow and sleep. `location` is None for the device's memory, or a `Location` of the host; `flags`
        are `VirtualFlags`, `shareable` is a `Shareable`, `access` and `peer_access` are `VirtualAccess`, `peers` are ordinals;
        `alignment` and `address_hint` are about addresses."""
        from ._memory import virtual_options

        given, _peers = virtual_options(options)
        return made("resource", lib.cushim_resource_create_virtual, self._h, given)

    def create_allocation(self, bytes: int, **options: Any) -> Allocation:
        """Physical memory without an address; the options are those of `create_virtual_resource`."""
        from ._memory import virtual_options

        given, _peers = virtual_options(options)
        return made("allocation", lib.cushim_allocation_create, self._h, bytes, given)

    def import_allocation(self, descriptor: bytes, file: int, **options: Any) -> Allocation:
        """Physical memory of another process, by what its `Allocation.export` returned; the file descriptor is left open. Of the options
        `access`, `peers` and `peer_access` count."""
        from ._memory import virtual_options

        given, _peers = virtual_options(options)
        return made("allocation", lib.cushim_allocation_import, self._h, given, descriptor, len(descriptor), file)

    def create_reservation(self, bytes: int, **options: Any) -> Reservation:
        """Addresses without memory; of the options `alignment`, `address_hint` and `flags` count."""
        from ._memory import virtual_options

        given, _peers = virtual_options(options)
        return made("reservation", lib.cushim_reservation_create, self._h, bytes, given)


__all__ = ["Device", "Driver"]
