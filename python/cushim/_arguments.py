"""The arguments of a launch as the library takes them."""

from __future__ import annotations

from ._callbacks import lend
from ._endpoint import Part, Pointer, array, target
from ._errors import CushimError, Unsupported
from ._handles import BufferBase, ConditionBase
from ._interface import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from ._kernel import Kernel

BYTES, OWNED, BUFFER, ENDPOINT, CONDITION, PARAMETER = 1, 2, 3, 4, 5, 6  # cushim_arg_kind
PRIORITY = 2  # CUSHIM_LAUNCH_PRIORITY
NULL = ffi.NULL


class Parameter:
    """An argument with a name, whose value `Exec.set` changes in all kernels of an exec that have it."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return f"cushim.Parameter({self.name!r}, {self.value!r})"


class Frame:
    """Room for the arguments and the configuration of one launch of a kernel. It is used again: where the arguments are of the
    same types as those of the launch before, only their values are written."""

    __slots__ = ("kernel", "config", "plain", "grid", "block", "count", "items", "each", "words", "floats", "doubles", "types",
                 "sizes", "alive", "lent", "keeps")

    def __init__(self, kernel: Kernel, keeps: bool = False) -> None:
        self.kernel = kernel
        self.keeps = keeps
        self.plain = self.config = _config()
        self.grid: Any = None
        self.block: Any = None
        self.types: Any = None
        self.sizes: Optional[Tuple[int, ...]] = None
        self.count = 0
        self.alive: List[Any] = []
        self.lent: List[lend] = []

    def set(self, grid: Any, block: Any, arguments: Tuple[Any, ...], config: Dict[str, Any]) -> None:
        """Takes over a launch."""
        if grid != self.grid or block != self.block:
            _dim(self.plain.grid, grid, "grid")
            _dim(self.plain.block, block, "block")
            self.grid, self.block = grid, block
        if config:
            self.config = _config()
            self.config.grid, self.config.block = self.plain.grid, self.plain.block
            self.alive.append(_options(self.config, **config))
        types = tuple(map(type, arguments))
        if types != self.types:
            self.room(types)
        index = 0
        for kind in types:
            value = arguments[index]
            if kind is int:
                self.integer(index, value)
            elif kind is float:
                self.real(index, value)
            elif issubclass(kind, BufferBase):
                self.each[index].value = value._h
            else:
                self.other(index, value)
            index += 1

    def room(self, types: Tuple[type, ...]) -> None:
        """Makes room for arguments of these types."""
        count = len(types)
        if self.sizes is None and any(kind in (int, float, bool) for kind in types):
            self.sizes = self.known(count)
        self.types = None
        self.count = count
        self.items = ffi.new("cushim_arg[]", count)
        self.each = [self.items + i for i in range(count)]
        self.words = ffi.new("uint64_t[]", count)
        self.floats, self.doubles = ffi.cast("float *", self.words), ffi.cast("double *", self.words)
        for i, kind in enumerate(types):
            item = self.each[i]
            item.value = self.words + i
            if kind is int or kind is float:
                item.kind, item.size = BYTES, self.size(i)
            elif issubclass(kind, BufferBase):
                item.kind = BUFFER
        self.types = types

    def known(self, count: int) -> Tuple[int, ...]:
        """The sizes of the kernel's parameters, of which there are as many as arguments."""
        try:
            return self.kernel.parameter_sizes
        except Unsupported as error:
            raise TypeError(
                f"the size of a parameter is unknown, so an argument cannot be a plain number of Python: {error.message}. "
                "Pass numbers with a size, such as numpy.int32(5) or ctypes.c_float(2)"
            ) from None

    def size(self, index: int) -> int:
        """The bytes of a parameter that gets a number."""
        sizes = self.sizes or ()
        if index >= len(sizes):
            raise TypeError(f"the kernel has {len(sizes)} parameters, and {self.count} arguments are given")
        size = sizes[index]
        if size not in (1, 2, 4, 8):
            raise TypeError(
                f"argument {index} is a number, and the kernel's parameter has {size} bytes: pass a structure of ctypes or bytes"
            )
        return size

    def integer(self, index: int, value: int) -> None:
        bits = 8 * self.each[index].size
        if not -(1 << bits - 1) <= value < 1 << bits:
            raise OverflowError(f"argument {index} is {value}, and the kernel's parameter has {bits} bits")
        self.words[index] = value & (1 << bits) - 1

    def real(self, index: int, value: float) -> None:
        size = self.each[index].size
        if size == 4:
            self.floats[2 * index] = value
        elif size == 8:
            self.doubles[index] = value
        elif size == 2:
            import struct

            self.words[index] = int.from_bytes(struct.pack("<e", value), "little")
        else:
            raise TypeError(f"argument {index} is a float, and the kernel's parameter has {size} byte")

    def other(self, index: int, value: Any) -> None:
        """An argument of a type that is not the quickest."""
        item = self.each[index]
        if isinstance(value, Parameter):
            data = number(value.value, self.size_for(index, value.value), index)
            place, name, bytes = ffi.new("cushim_parameter *"), ffi.new("char[]", value.name.encode()), ffi.new("char[]", data)
            place.name, place.value, place.size = name, bytes, len(data)
            self.alive += [place, name, bytes]
            item.kind, item.size, item.value = PARAMETER, 0, place
        elif isinstance(value, ConditionBase):
            item.kind, item.size, item.value = CONDITION, 0, value._h
        elif isinstance(value, Part):
            end = target(value)
            self.alive.append(end)
            item.kind, item.size, item.value = ENDPOINT, 0, end.place
        elif value is None:
            self.address(index, 0, None)
        elif isinstance(value, Pointer):
            self.address(index, value.address, value.keeps)
        elif hasattr(value, "__cuda_array_interface__"):
            self.address(index, array(value)[0], value)
        else:
            data = number(value, self.size_for(index, value), index)
            bytes = ffi.new("char[]", data)
            self.alive.append(bytes)
            item.kind, item.size, item.value = BYTES, len(data), bytes

    def address(self, index: int, address: int, keeps: Any) -> None:
        """An address; a graph keeps alive what it is of."""
        item = self.each[index]
        if keeps is not None and self.keeps:
            lent = lend(keeps)
            place = ffi.new("cushim_owned_pointer *")
            place.pointer, place.owner = address, lent.owner[0]
            self.lent.append(lent)
            self.alive.append(place)
            item.kind, item.size, item.value = OWNED, 0, place
        else:
            self.words[index] = address
            item.kind, item.size, item.value = BYTES, 8, self.words + index

    def size_for(self, index: int, value: Any) -> int:
        """The size of the parameter, if it is needed for this value."""
        if not isinstance(value, (int, float)) or hasattr(value, "dtype"):
            return 0
        if self.sizes is None:
            self.sizes = self.known(self.count)
        return self.size(index)

    def done(self) -> None:
        """The call is over."""
        self.config = self.plain
        if self.alive:
            self.alive = []
        if self.lent:  # the call failed
            for lent in self.lent:
                lent.back()
            self.lent = []


def number(value: Any, size: int, index: int) -> bytes:
    """The bytes of a value; a number of Python takes so many."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bool, int)) and not hasattr(value, "dtype"):
        try:
            return int(value).to_bytes(size, "little", signed=value < 0)
        except OverflowError:
            raise OverflowError(f"argument {index} is {value}, and the kernel's parameter has {8 * size} bits") from None
    if isinstance(value, float) and not hasattr(value, "dtype"):
        import struct

        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    try:
        memory = memoryview(value)
    except TypeError:
        memory = None
    if memory is None or memory.ndim:
        raise TypeError(
            f"argument {index} is {value!r:.100}, and no number, structure, bytes, buffer or array of a device: arrays of the host "
            "are copied to a buffer first"
        )
    return bytes(memory)


def _config() -> Any:
    config = ffi.new("cushim_launch_config *")
    config.struct_size = ffi.sizeof("cushim_launch_config")
    return config


def _dim(place: Any, value: Any, name: str) -> None:
    """Writes a number or up to three; those that are not given are 1."""
    if isinstance(value, int):
        place.x, place.y, place.z = value, 1, 1
        return
    if not 1 <= len(value) <= 3:
        raise ValueError(f"`{name}` is a number or a tuple of up to three, not {value!r}")
    place.x, place.y, place.z = (*value, 1, 1)[:3]


def _options(config: Any, shared_bytes: int = 0, cluster: Any = None, flags: int = 0, priority: Optional[int] = None,
             memory_sync_domain: int = 0, attributes: Optional[Dict[int, bytes]] = None) -> Any:
    """Writes the options of a launch; returns what has to live as long as they are used."""
    config.shared_bytes, config.flags, config.memory_sync_domain = shared_bytes, flags, memory_sync_domain
    if cluster is not None:
        _dim(config.cluster, cluster, "cluster")
    if priority is not None:
        config.priority = priority
        config.flags |= PRIORITY
    if not attributes:
        return None
    from ._attributes import fill

    items = ffi.new("cushim_launch_attribute[]", len(attributes))
    for index, (id, value) in enumerate(attributes.items()):
        fill(items[index], id, value)
    config.attributes, config.attribute_count = items, len(attributes)
    config.attribute_stride = ffi.sizeof("cushim_launch_attribute")
    return items


__all__ = ["CushimError", "Frame", "Parameter", "number"]
