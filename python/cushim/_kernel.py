"""Loaded code, its kernels, and launches."""

from __future__ import annotations

from ._arguments import Frame
from ._handles import KernelBase, LibraryBase, StreamBase
from ._object import check, Closing, NATIVE, failure, ffi, handle, lib, made, owned, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, Tuple, Union

    from ._stream import Stream

    Dim = Union[int, Tuple[int, ...]]


class Library(LibraryBase, Closing, of=True):
    """Loaded code. Its kernels keep it loaded."""

    __slots__ = ()

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name in the code."""
        return made("kernel", lib.cushim_kernel_create, self._h, name.encode())

    __getitem__ = kernel

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernel_names)

    @property
    def kernel_names(self) -> List[str]:
        """The names of its kernels; needs CUDA 12.4."""
        count = ffi.new("size_t *")
        check(lib.cushim_library_get_kernel_count(self._h, count))
        return [text_of(lib.cushim_library_get_kernel_name, self._h, i) for i in range(count[0])]


class Kernel(KernelBase, Closing, of=True):
    """A kernel: a function of loaded code that a device executes."""

    __slots__ = ("_sizes_known", "_frames")
    _sizes_known: Optional[Tuple[int, ...]]
    _frames: List[Frame]

    def _set(self, h: Any, owned: bool = True, keeps: Any = None) -> None:
        super()._set(h, owned, keeps)
        self._sizes_known = None
        self._frames = []

    @property
    def parameter_sizes(self) -> Tuple[int, ...]:
        """The bytes of each parameter. Drivers before CUDA 12.4 do not tell."""
        if self._sizes_known is None:
            count, size = ffi.new("size_t *"), ffi.new("size_t *")
            check(lib.cushim_kernel_get_parameter_count(self._h, count))
            sizes = []
            for index in range(count[0]):
                check(lib.cushim_kernel_get_parameter(self._h, index, ffi.NULL, size))
                sizes.append(size[0])
            self._sizes_known = tuple(sizes)
            if NATIVE:
                packed = sum({1: 1, 2: 2, 4: 3, 8: 4}.get(size, 15) << 4 * index for index, size in enumerate(sizes[:32]))
                self._sizes_low, self._sizes_high = packed & (1 << 64) - 1, packed >> 64
        return self._sizes_known

    def suggest_block_size(self, shared_bytes: int = 0, limit: int = 0) -> Tuple[int, int]:
        """The threads of a block with which the kernel has the highest occupancy, of at most `limit` (0: as many as it can have), and
        the smallest number of such blocks that reaches it."""
        threads, blocks = ffi.new("uint32_t *"), ffi.new("uint32_t *")
        check(lib.cushim_kernel_suggest_block_size(self._h, shared_bytes, ffi.NULL, ffi.NULL, limit, threads, blocks))
        return threads[0], blocks[0]

    def largest_cluster(self, stream: Stream, block: Dim = 1, grid: Dim = 1, **config: Any) -> int:
        """The blocks of the largest cluster with which the kernel can be launched in a stream."""
        return self._clusters(lib.cushim_kernel_get_largest_cluster, stream, grid, block, config)

    def active_clusters(self, stream: Stream, block: Dim, grid: Dim, **config: Any) -> int:
        """How many clusters of a launch can run at the same time; `cluster` is one of the options, as for `launch`."""
        return self._clusters(lib.cushim_kernel_get_active_clusters, stream, grid, block, config)

    def _clusters(self, function: Any, stream: Stream, grid: Dim, block: Dim, config: Any) -> int:
        frame = Frame(self)
        frame.set(grid, block, (), config)
        place = ffi.new("uint32_t *")
        check(function(self._h, handle(stream, StreamBase, "stream"), frame.config, place))
        return int(place[0])

    def launch(self, stream: Stream, grid: Dim, block: Dim, *arguments: Any, **config: Any) -> None:
        """Enqueues the kernel; see `cushim.launch`."""
        # A frame belongs to one call at a time; popping and appending are atomic.
        frame = self._frames.pop() if self._frames else Frame(self)
        try:
            frame.set(grid, block, arguments, config)
            try:
                status = lib.cushim_kernel_launch(self._h, stream._h, frame.config, frame.items, frame.count)
            except (AttributeError, TypeError):
                status = lib.cushim_kernel_launch(
                    self._h, handle(stream, StreamBase, "stream"), frame.config, frame.items, frame.count
                )
            if status:
                raise failure(status)
            frame.lent.clear()
        finally:
            frame.done()
            self._frames.append(frame)


def launch(kernel: Kernel, stream: Stream, grid: Dim, block: Dim, *arguments: Any, **config: Any) -> None:
    """Enqueues a kernel in a stream.

    `grid` and `block` are numbers or tuples of up to three. Arguments are given to the kernel's parameters in order:

    - an `int`, `float` or `bool` as a number of the parameter's size (from CUDA 12.4 on; before, drivers do not tell sizes)
    - a number of NumPy or ctypes, a structure of ctypes, or `bytes`, as they are
    - a `Buffer`, a part of one, an array with `__cuda_array_interface__`, a `Pointer`, or None, as an address
    - a `Parameter`, whose value `Exec.set` changes, and a `Condition`

    Further options: `shared_bytes`, `cluster` (as `grid`), `flags` (`LaunchFlags`), `priority`, `memory_sync_domain`, and
    `attributes`, by their `LaunchAttributeID` the bytes of a `CUlaunchAttributeValue`.
    """
    kernel.launch(stream, grid, block, *arguments, **config)


__all__ = ["Kernel", "Library", "launch"]
