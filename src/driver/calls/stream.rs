//! Streams.

use super::context::RawContext;
use super::{gone_at_exit, ready};
use crate::driver::call;
use crate::driver::calls::capture_mode::{relaxed, relaxed_if_capturing};
use crate::driver::sys::{CU_STREAM_NON_BLOCKING, CUlaunchAttributeID, CUlaunchAttributeValue, CUstream};
use crate::driver::{CallError, Table};
use std::ptr::null_mut;

/// A stream of the driver, held by whoever holds this.
pub(crate) struct RawStream {
    table: &'static Table,
    handle: CUstream,
}

// SAFETY: the driver's streams may be used from every thread.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}

impl RawStream {
    /// Creates a stream in the context.
    pub(crate) fn create(context: &RawContext, non_blocking: bool, priority: i32) -> Result<Self, CallError> {
        let table = context.table();
        let flags = if non_blocking { CU_STREAM_NON_BLOCKING.0 as u32 } else { 0 };
        let mut handle = null_mut();
        let _current = context.enter()?;
        // SAFETY: writes one handle; the context is current.
        unsafe { call!(table, cuStreamCreateWithPriority_5050(&raw mut handle, flags, priority)) }?;
        Ok(Self { table, handle })
    }

    /// Takes in a handle of somebody else's.
    ///
    /// # Safety
    /// The handle is one of this driver, alive for as long as this exists.
    pub(crate) unsafe fn adopt(table: &'static Table, handle: CUstream) -> Self {
        Self { table, handle }
    }

    #[inline]
    pub(crate) fn handle(&self) -> CUstream {
        self.handle
    }

    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// Destroys the stream at once; its work goes on.
    pub(crate) fn destroy(self) -> Result<(), CallError> {
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { call!(self.table, cuStreamDestroy_4000(self.handle)) })
    }

    /// Whether all work is done.
    #[inline]
    pub(crate) fn query(&self) -> Result<bool, CallError> {
        // SAFETY: the stream is alive.
        ready(unsafe { relaxed_if_capturing!(self.table, cuStreamQuery_2000(self.handle)) })
    }

    /// Waits until all work is done.
    #[inline]
    pub(crate) fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the stream is alive.
        unsafe { relaxed!(self.table, cuStreamSynchronize_2000(self.handle)) }
    }

    /// Whether the stream ignores the legacy default stream.
    pub(crate) fn is_non_blocking(&self) -> Result<bool, CallError> {
        let mut flags = 0;
        // SAFETY: writes one number; the stream is alive.
        unsafe { call!(self.table, cuStreamGetFlags_5050(self.handle, &raw mut flags)) }?;
        Ok(flags & CU_STREAM_NON_BLOCKING.0 as u32 != 0)
    }

    /// The stream's priority.
    pub(crate) fn priority(&self) -> Result<i32, CallError> {
        let mut priority = 0;
        // SAFETY: writes one number; the stream is alive.
        unsafe { call!(self.table, cuStreamGetPriority_5050(self.handle, &raw mut priority)) }?;
        Ok(priority)
    }

    /// An attribute, by the driver's number: the bytes of its value.
    pub(crate) fn attribute(&self, id: CUlaunchAttributeID) -> Result<[u8; 64], CallError> {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        // SAFETY: writes one value; the stream is alive.
        unsafe { call!(self.table, cuStreamGetAttribute_11000(self.handle, id, (&raw mut value).cast())) }?;
        // SAFETY: all bytes were written before.
        Ok(unsafe { value.pad }.map(|byte| byte as u8))
    }

    /// Sets an attribute.
    ///
    /// # Safety
    /// The value is one of this attribute.
    pub(crate) unsafe fn set_attribute(
        &self,
        id: CUlaunchAttributeID,
        value: [u8; 64],
    ) -> Result<(), CallError> {
        let value = CUlaunchAttributeValue { pad: value.map(|byte| byte as _) };
        // SAFETY: reads one value, for which the caller vouches; the stream is alive.
        unsafe { call!(self.table, cuStreamSetAttribute_11000(self.handle, id, (&raw const value).cast())) }
    }

    /// Sets all attributes to those of another stream of the same context.
    pub(crate) fn copy_attributes(&self, source: &Self) -> Result<(), CallError> {
        // SAFETY: both are alive.
        unsafe { call!(self.table, cuStreamCopyAttributes_11000(self.handle, source.handle)) }
    }

    /// The number by which the driver tells streams apart, never used again; 12.0.
    pub(crate) fn id(&self) -> Result<u64, CallError> {
        let mut id = 0;
        // SAFETY: writes one number; the stream is alive.
        unsafe { call!(self.table, cuStreamGetId_12000(self.handle, &raw mut id)) }?;
        Ok(id)
    }
}
