"""Buffers and images of OpenGL, which CUDA and OpenGL have in turns."""

from __future__ import annotations

from ._handles import GraphicsBase, StreamBase
from ._object import check, Closing, ffi, handle, lib, made, perhaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._memory import Buffer
    from ._stream import Stream


class Graphics(GraphicsBase, Closing, of=True):
    """A buffer or an image of OpenGL that CUDA can map. Close it while the OpenGL context is current on the thread."""

    __slots__ = ()

    def map(self, stream: Stream) -> Buffer:
        """The buffer: CUDA has the memory until it is closed, or `unmap`; then OpenGL has it again, in the order of the stream."""
        return made("buffer", lib.cushim_graphics_map, self._h, handle(stream, StreamBase, "stream"))

    def map_array(self, stream: Stream, layer: int = 0, level: int = 0) -> int:
        """Maps an image: the array of a layer or face, at a level of detail, until `unmap`, a `CUarray`. `get_array` has the others."""
        place = ffi.new("CUarray *")
        check(lib.cushim_graphics_map_array(self._h, handle(stream, StreamBase, "stream"), layer, level, place))
        return int(ffi.cast("uintptr_t", place[0]))

    def unmap(self, stream: Optional[Stream] = None) -> None:
        """OpenGL has it again after what is in the stream by now, by default in the one that it was mapped in."""
        check(lib.cushim_graphics_unmap(self._h, perhaps(stream, StreamBase, "stream")))


__all__ = ["Graphics"]
