//! Buffers and images of OpenGL, which CUDA has between a map and an unmap.

use super::context::RawContext;
use super::gone_at_exit;
use super::stream::RawStream;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::{CUarray, CUdeviceptr, CUgraphicsResource};
use crate::driver::{CallError, Table, call};
use std::ptr::null_mut;

/// A registration of the driver's, held by whoever holds this.
pub(crate) struct RawGraphics {
    table: &'static Table,
    handle: CUgraphicsResource,
}

// SAFETY: the driver's handles may be used from every thread.
unsafe impl Send for RawGraphics {}
// SAFETY: as above.
unsafe impl Sync for RawGraphics {}

impl RawGraphics {
    /// Registers a buffer of the OpenGL context that is current on this thread.
    pub(crate) fn of_buffer(context: &RawContext, buffer: u32, flags: u32) -> Result<Self, CallError> {
        let mut handle = null_mut();
        let _current = context.enter()?;
        // SAFETY: writes one handle; OpenGL knows whether there is such a buffer.
        unsafe {
            relaxed!(context.table(), cuGraphicsGLRegisterBuffer_3000(&raw mut handle, buffer, flags))
        }?;
        Ok(Self { table: context.table(), handle })
    }

    /// Registers an image of it: a texture or a renderbuffer, as the target says.
    pub(crate) fn of_image(
        context: &RawContext,
        image: u32,
        target: u32,
        flags: u32,
    ) -> Result<Self, CallError> {
        let mut handle = null_mut();
        let _current = context.enter()?;
        // SAFETY: as above.
        unsafe {
            relaxed!(context.table(), cuGraphicsGLRegisterImage_3000(&raw mut handle, image, target, flags))
        }?;
        Ok(Self { table: context.table(), handle })
    }

    pub(crate) fn handle(&self) -> CUgraphicsResource {
        self.handle
    }

    /// CUDA has it from this point of the stream on, after what OpenGL was told before.
    pub(crate) fn map(&self, context: &RawContext, stream: &RawStream) -> Result<(), CallError> {
        let mut handle = self.handle;
        let _current = context.enter()?;
        // SAFETY: reads one handle; both are alive.
        unsafe { relaxed!(self.table, cuGraphicsMapResources_3000(1, &raw mut handle, stream.handle())) }
    }

    /// OpenGL has it again after this point of the stream.
    pub(crate) fn unmap(&self, context: &RawContext, stream: &RawStream) -> Result<(), CallError> {
        let mut handle = self.handle;
        let _current = context.enter()?;
        // SAFETY: as above.
        gone_at_exit(unsafe {
            relaxed!(self.table, cuGraphicsUnmapResources_3000(1, &raw mut handle, stream.handle()))
        })
    }

    /// Where a buffer is while it is mapped, and its bytes.
    pub(crate) fn pointer(&self, context: &RawContext) -> Result<(CUdeviceptr, usize), CallError> {
        let (mut pointer, mut bytes) = (0, 0);
        let _current = context.enter()?;
        // SAFETY: writes a pointer and a number.
        unsafe {
            call!(
                self.table,
                cuGraphicsResourceGetMappedPointer_3020(&raw mut pointer, &raw mut bytes, self.handle)
            )
        }?;
        Ok((pointer, bytes))
    }

    /// A layer or a face of an image, at a level of detail, while it is mapped.
    pub(crate) fn array(&self, context: &RawContext, layer: u32, level: u32) -> Result<CUarray, CallError> {
        let mut array = null_mut();
        let _current = context.enter()?;
        // SAFETY: writes one handle.
        unsafe {
            call!(
                self.table,
                cuGraphicsSubResourceGetMappedArray_3000(&raw mut array, self.handle, layer, level)
            )
        }?;
        Ok(array)
    }

    /// Gives the registration up.
    pub(crate) fn unregister(self, context: &RawContext) -> Result<(), CallError> {
        let _current = context.enter()?;
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { relaxed!(self.table, cuGraphicsUnregisterResource_3000(self.handle)) })
    }
}
