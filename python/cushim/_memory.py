"""Memory: buffers, and the resources that they come from."""

from __future__ import annotations

from ._endpoint import Part
from ._exported import Exported
from ._handles import BufferBase, ResourceBase, StreamBase
from ._object import borrowed, check, Closing, DESCRIPTOR, descriptor_of, ffi, handle, lib, made, owned, perhaps, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

    from ._driver import Device
    from ._stream import Stream


class Resource(ResourceBase, Closing, of=True):
    """A source of memory. Buffers keep theirs alive."""

    __slots__ = ("_managed",)
    _managed: Optional[bool]

    def _set(self, h: Any, owned: bool = True, keeps: Any = None) -> None:
        super()._set(h, owned, keeps)
        self._managed = None

    def allocate(self, stream: Optional[Stream], bytes: int) -> Buffer:
        """A buffer (of managed memory a `ManagedBuffer`), in stream order if the resource is; its memory is freed in the order of that stream. Resources that are not
        stream-ordered need no stream."""
        place = ffi.new("cushim_buffer *")
        check(lib.cushim_buffer_create(self._h, perhaps(stream, StreamBase, "stream"), bytes, place))
        if self._managed is None:
            self._managed = self.kind in (4, 5)  # cushim_resource_kind: managed memory
        if self._managed:
            from ._managed import ManagedBuffer

            return ManagedBuffer._take(place[0])
        buffer: Buffer = owned("buffer", place[0])
        return buffer

    def export(self) -> Exported:
        """The bytes, and a new file descriptor, by which another process gets the pool, by `Device.import_pool`: pass both there, by
        `multiprocessing`, `subprocess` with `pass_fds` or `socket.send_fds`, and close the file descriptor. The pool was created with
        `handle_types=1` (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)."""
        file = ffi.new("int32_t *")
        descriptor = descriptor_of(lib.cushim_resource_export, self._h, more=(file,))
        return Exported(descriptor, file[0])

    def import_buffer(self, stream: Stream, descriptor: bytes) -> Buffer:
        """A buffer of another process from this imported pool, by the bytes of its `Buffer.export`."""
        h = handle(stream, StreamBase, "stream")
        return made("buffer", lib.cushim_buffer_import, self._h, h, descriptor, len(descriptor))

    def import_parts(self, stream: Optional[Stream], parts: Sequence[Tuple[bytes, int]]) -> Buffer:
        """A buffer of another process's virtual memory, by all that its `Buffer.export_parts` returned, in that order, or by
        `Allocation.export`. The resource is one of virtual memory of the same location, and says what may use the memory here. The file
        descriptors are left open."""
        descriptors, files = b"".join(bytes(part[0]) for part in parts), ffi.new("int32_t[]", [int(part[1]) for part in parts])
        h = perhaps(stream, StreamBase, "stream")
        return made("buffer", lib.cushim_buffer_import_parts, self._h, h, descriptors, len(descriptors), files, len(parts))

    def scratch(self, stream: Stream, source: Any) -> Buffer:
        """A buffer with a copy of a host array, in stream order."""
        data = ffi.from_buffer(source)
        return made("buffer", lib.cushim_buffer_create_scratch, self._h, handle(stream, StreamBase, "stream"), data, len(data))

    def set_peers(self, devices: Iterable[Device]) -> None:
        """Which other devices can use the memory of a pool."""
        self._peers(lib.cushim_resource_set_peers, devices)

    def add_peers(self, devices: Iterable[Device]) -> None:
        """Lets these devices use the memory as well."""
        self._peers(lib.cushim_resource_add_peers, devices)

    def remove_peers(self, devices: Iterable[Device]) -> None:
        """Lets these devices use the memory no more."""
        self._peers(lib.cushim_resource_remove_peers, devices)

    def _peers(self, function: Any, devices: Iterable[Device]) -> None:
        from ._handles import DeviceBase

        handles = [handle(device, DeviceBase, "devices") for device in devices]
        check(function(self._h, ffi.new("cushim_device[]", handles), len(handles)))


class Buffer(BufferBase, Closing, of=True):
    """Memory of any kind, freed when it is no longer used: in stream order, if its resource is stream-ordered. Work in a stream
    does not keep it, graphs do. `buffer[16:64]` is a part of it, for copies and fills."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, bytes: slice) -> Part:
        if not isinstance(bytes, slice):
            raise TypeError(f"a part of a buffer is buffer[start:end], not buffer[{bytes!r}]")
        start, end, step = bytes.indices(len(self))
        if step != 1:
            raise ValueError(f"a part of a buffer has a step of 1, not {step}")
        return Part(self, start, max(end - start, 0))

    def close(self, stream: Optional[Stream] = None) -> None:
        """Gives the buffer up. Its memory is freed after the work that is now in the stream, by default in that of
        `self.stream`."""
        if stream is None or not self._owned:
            return super().close()
        self._number()
        check(lib.cushim_buffer_destroy_on(self._h, handle(stream, StreamBase, "stream")))
        self._owned = False

    def export(self) -> bytes:
        """The bytes by which another process gets the memory: of a pool that is exported, by `Resource.import_buffer`, or else by
        `Context.open_buffer`. The buffer must outlive what others have of it."""
        return descriptor_of(lib.cushim_buffer_export, self._h)

    def export_parts(self) -> List[Exported]:
        """What another process needs to get a buffer of virtual memory, by `Resource.import_parts`: bytes and a new file descriptor for each
        of its parts. Pass all of them there, and close the file descriptors. The memory was created with `shareable=1`
        (`Shareable.POSIX_FD`)."""
        count = self.part_count
        room, files = ffi.new("uint8_t[]", DESCRIPTOR * count), ffi.new("int32_t[]", count)
        check(lib.cushim_buffer_export_parts(self._h, room, DESCRIPTOR * count, files, count))
        descriptors = bytes(ffi.buffer(room))
        return [Exported(descriptors[i * DESCRIPTOR : (i + 1) * DESCRIPTOR], files[i]) for i in range(count)]

    def export_dma_buf(self, offset: int = 0, bytes: Optional[int] = None, flags: int = 0) -> int:
        """A dma-buf of whole pages of a device's memory, for drivers of other devices: a new file descriptor, to be closed with `os.close`."""
        file = ffi.new("int32_t *")
        check(lib.cushim_buffer_export_dma_buf(self._h, offset, len(self) - offset if bytes is None else bytes, flags, file))
        return int(file[0])

    def copy(self, stream: Stream) -> Buffer:
        """A copy of the buffer, of the same resource, in stream order."""
        return made("buffer", lib.cushim_buffer_create_copy, self._h, handle(stream, StreamBase, "stream"))

    def grow(self, bytes: int, **options: Any) -> Buffer:
        """A buffer of at least so many bytes that begins with the memory of this one, which stays as it is; of virtual memory. The options
        are those of `Device.create_virtual_resource`, by default of the resource."""
        given, _peers = virtual_options(options) if options else (ffi.NULL, None)
        return made("buffer", lib.cushim_buffer_grow, self._h, bytes, given)

    def host(self) -> memoryview:
        """The bytes of memory that the host can use: page-locked or managed. The view keeps the buffer alive. Work that
        writes them must be done, as after `stream.synchronize()`."""
        if not self.properties.host_accessible:
            raise ValueError(f"the host cannot access {self!r}: copy it to an array with stream.copy(array, buffer)")
        kept = borrowed("buffer", self._h)
        memory = ffi.gc(ffi.cast("char *", self.pointer), lambda _: kept.close())
        return memoryview(ffi.buffer(memory, self.size))

    def view(self, dtype: str, shape: Optional[Tuple[int, ...]] = None) -> View:
        """The buffer as a contiguous array, for other libraries; `dtype` is that of NumPy, such as "float32" or "<f4"."""
        return View(self, dtype, shape)

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return self.view("|u1").__cuda_array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        return self.view("|u1").__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        from ._dlpack import device_of

        return device_of(self)


def virtual_options(given: Dict[str, Any]) -> Tuple[Any, Any]:
    """The options of virtual memory, and what they point to, which the caller keeps."""
    options = sized("cushim_virtual_options")
    location = given.pop("location", None)
    if location is not None:
        from ._managed import _place

        options.location = _place(location)[0]
    peers = ffi.new("int32_t[]", list(given.pop("peers", ())))
    options.peers, options.peer_count = peers if len(peers) else ffi.NULL, len(peers)
    for name in ("flags", "shareable", "alignment", "address_hint", "access", "peer_access"):
        setattr(options, name, given.pop(name, 0))
    if given:
        raise TypeError(f"virtual memory has no option {next(iter(given))!r}")
    return options, peers


# DLPack's code of each kind of NumPy's types.
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
NAMES = {"bool": "|b1", "int": "<i", "uint": "<u", "float": "<f", "complex": "<c"}


class View:
    """A buffer as an array, for other libraries."""

    __slots__ = ("buffer", "typestr", "shape")

    def __init__(self, buffer: Buffer, dtype: Any, shape: Optional[Tuple[int, ...]]) -> None:
        self.buffer = buffer
        self.typestr = typestr(dtype)
        item = int(self.typestr[2:])
        self.shape = (buffer.size // item,) if shape is None else tuple(shape)
        total = item
        for length in self.shape:
            total *= length
        if total > buffer.size:
            raise ValueError(f"an array of shape {self.shape} and type {self.typestr} has {total} bytes, the buffer {buffer.size}")

    def __repr__(self) -> str:
        return f"<{self.typestr} {self.shape} in {self.buffer!r}>"

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if not self.buffer.properties.device_accessible:
            raise AttributeError("the memory is the host's: use __dlpack__")
        stream = self.buffer.stream
        kind = 0 if stream is None else int(stream.kind)
        number = {0: None, 3: 1, 4: 2}[kind] if stream is None or kind > 2 else stream.native
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.buffer.pointer, False), "version": 3,
                "strides": None, "stream": number}

    def __dlpack__(self, **options: Any) -> Any:
        from ._dlpack import give

        return give(self.buffer, CODES[self.typestr[1]], 8 * int(self.typestr[2:]), self.shape, **options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.buffer.__dlpack_device__()


def typestr(dtype: Any) -> str:
    """NumPy's short text for a type that is named in any of its ways."""
    name = getattr(dtype, "str", None) or str(getattr(dtype, "__name__", dtype))
    stem = name.rstrip("0123456789")
    if stem in NAMES:
        bits = name[len(stem):]
        name = NAMES[stem] if stem == "bool" else NAMES[stem] + str(int(bits or 64) // 8)
    if name[:1] not in "<|=" or name[1:2] not in CODES or not name[2:].isdigit():
        raise ValueError(f"`dtype` is a number's type such as float32 or <f4, not {dtype!r}")
    return name


__all__ = ["Buffer", "Resource", "View"]
