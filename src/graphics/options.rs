//! How CUDA uses what is registered.

use crate::driver::sys;
use crate::object::error::{Error, Status};

/// How CUDA uses what is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GraphicsOptions {
    /// CUDA only reads it.
    pub read_only: bool,
    /// CUDA writes all of it and reads nothing, so that what OpenGL has left there may be lost.
    pub write_discard: bool,
    /// Surfaces are bound to the image.
    pub surface: bool,
    /// Textures with gather are bound to the image.
    pub texture_gather: bool,
}

crate::object::setters::setters!(GraphicsOptions {
    read_only: bool,
    write_discard: bool,
    surface: bool,
    texture_gather: bool,
});

impl GraphicsOptions {
    pub(super) fn native(self) -> u32 {
        let flags = [
            (self.read_only, sys::CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY),
            (self.write_discard, sys::CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD),
            (self.surface, sys::CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST),
            (self.texture_gather, sys::CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER),
        ];
        flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag.0 as u32)
    }

    /// Refuses what contradicts itself, and what is for images where it is none.
    pub(super) fn check(self, is_image: bool) -> Result<(), Error> {
        if !is_image && (self.surface || self.texture_gather) {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                "surfaces and texture gather are for images; register a buffer without these flags",
            ));
        }
        if self.read_only && self.write_discard {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                "read-only and write-discard contradict each other; pass one of the two flags, or none",
            ));
        }
        Ok(())
    }
}
