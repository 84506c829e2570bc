//! Buffers of OpenGL, while CUDA has them.

use super::known::{Keeper, Known};
use super::{Buffer, BufferObject, Home};
use crate::context::Context;
use crate::graphics::Graphics;
use crate::memory::DevicePointer;
use crate::object::error::Error;
use crate::stream::Stream;

impl Graphics {
    /// Maps a buffer: CUDA has it after what the stream has by now, and after what OpenGL was told before. The buffer that comes back has the
    /// memory until it is unmapped, or gone: then OpenGL has it again, in the order of the buffer's deallocation stream, at first this one.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) if it is mapped, for an image, and for a stream that is being captured;
    /// [`Status::INVALID_HANDLE`](crate::Status::INVALID_HANDLE) for a stream of another driver; the driver's.
    pub fn map(&self, stream: &Stream) -> Result<Buffer, Error> {
        if self.is_image() {
            return Err(self.refused("is an image, which has no address; map it as an array"));
        }
        let (pointer, bytes, mapping) = self.begin_buffer(stream)?;
        let context = self.context();
        let known = Known {
            on_host: false,
            device: Some(context.device().ordinal()),
            // Not told, so that each operation asks whether the memory is still CUDA's.
            origin: None,
            is_taken_in: false,
            keeper: Keeper::Buffer,
        };
        let home = Home::Graphics(mapping);
        Ok(Buffer::new(Some(self.driver()), DevicePointer(pointer), bytes, known, home, Some(stream.clone())))
    }
}

impl BufferObject {
    /// The context of the memory, while it is that of a buffer of OpenGL.
    pub(super) fn context_of_graphics(&self) -> Option<&Context> {
        match self.home() {
            Home::Graphics(mapping) => Some(mapping.graphics().context()),
            _ => None,
        }
    }
}
