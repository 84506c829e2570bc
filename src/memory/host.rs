//! Host memory that devices reach: what memory that was allocated page-locked and memory that was registered share.

use super::{Block, DevicePointer};
use crate::context::Context;
use crate::driver::calls::memory::host::{self as calls, HostKind, RawHost};
use crate::driver::{CallError, sys};
use crate::object::callback;
use crate::object::error::Error;
use crate::object::native::{self, Handle};
use crate::op::Endpoint;
use std::ffi::c_void;
use std::fmt;

/// A range of host memory that the driver keeps page-locked until this is dropped.
pub(super) struct HostRange {
    /// `None` only while it is being released.
    raw: Option<RawHost>,
    bytes: usize,
    context: Context,
}

impl HostRange {
    pub(super) fn new(context: &Context, raw: RawHost, bytes: usize) -> Self {
        Self { raw: Some(raw), bytes, context: context.clone() }
    }

    /// Takes over what somebody else gives up.
    ///
    /// # Safety
    /// As for [`RawHost::adopt`].
    pub(super) unsafe fn adopt(
        context: &Context,
        address: *mut c_void,
        kind: HostKind,
        bytes: usize,
    ) -> Self {
        // SAFETY: as the caller vouches.
        Self::new(context, unsafe { RawHost::adopt(context.table(), address, kind) }, bytes)
    }

    /// Gives the range up: the caller ends what there is.
    pub(super) fn into_address(mut self) -> *mut c_void {
        let address = self.address();
        self.raw = None;
        address
    }

    pub(super) fn address(&self) -> *mut c_void {
        self.raw.as_ref().map_or(std::ptr::null_mut(), RawHost::address)
    }

    pub(super) fn at(&self, offset: usize) -> Endpoint<'_> {
        let start = self.address().cast::<u8>();
        let end = start.addr().saturating_add(self.bytes) as u64;
        Endpoint::host(start.wrapping_add(offset)).within(end)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn device_pointer(&self) -> Result<DevicePointer, Error> {
        self.context.device_pointer(self.address())
    }

    /// Frees the memory, or ends the registration, at once.
    pub(super) fn end(mut self) -> Result<(), Error> {
        callback::check_allowed()?;
        self.release()
    }

    fn release(&mut self) -> Result<(), Error> {
        let block = self.block();
        match self.raw.take() {
            Some(_) if self.context.is_gone() => self.context.check_went_with_it(block.address, &block),
            Some(raw) => native::destroy(raw, &self.context, &block).map_err(|error| explain(error, &block)),
            None => Ok(()),
        }
    }

    fn block(&self) -> Block {
        let kind = self.raw.as_ref().map_or(HostKind::Pinned, RawHost::kind);
        block(kind, self.address(), self.bytes)
    }

    pub(super) fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("address", &self.address())
            .field("bytes", &self.bytes)
            .field("context", &self.context)
            .finish()
    }
}

/// A driver that refuses to end it says no more than that it does not like the argument, of which there is only one.
#[cold]
fn explain(mut failure: Error, block: &Block) -> Error {
    let start = block.address;
    match sys::CUresult(failure.status.0) {
        sys::CUDA_ERROR_INVALID_VALUE => failure.message.push_str(&format!(
            ". No page-locked memory that can be freed this way starts at {start:#x}: it was not allocated so, or it was freed"
        )),
        sys::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED => failure
            .message
            .push_str(&format!(". No registered range starts at {start:#x}: pass the address that was registered")),
        _ => {}
    }
    failure
}

/// How messages name such memory.
pub(super) fn block(kind: HostKind, address: *mut c_void, bytes: usize) -> Block {
    let what = match kind {
        HostKind::Pinned => "page-locked memory",
        HostKind::Registered => "registered memory",
    };
    Block { what, bytes, address: address.addr() as u64 }
}

impl fmt::Display for HostRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.block().fmt(f)
    }
}

impl Handle for RawHost {
    type Place = Context;

    fn address(&self) -> usize {
        self.address().addr()
    }

    fn destroy(self) -> Result<(), CallError> {
        self.end()
    }
}

impl Drop for HostRange {
    fn drop(&mut self) {
        let (block, context) = (self.block(), self.context.clone());
        if let Some(raw) = self.raw.take() {
            native::release(self.context.driver(), &block, move |range| {
                native::destroy(raw, &context, range)
            });
        }
    }
}

impl Context {
    /// The address by which the context's device reaches host memory: page-locked or registered, at its start or within.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_INVALID_VALUE` (1) if the device does not reach it.
    pub fn device_pointer(&self, address: *mut c_void) -> Result<DevicePointer, Error> {
        let pointer = self
            .here(|there| calls::device_pointer(there, address))
            .map_err(|failure| self.at_address(failure, address.addr() as u64))?;
        Ok(DevicePointer(pointer))
    }
}
