//! Device memory: allocated and freed at once, or in the order of a stream.

use super::super::context::RawContext;
use super::super::gone_at_exit;
use super::super::stream::RawStream;
use super::there;
use crate::driver::call;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::{CUdeviceptr, CUmemAttach_flags};
use crate::driver::{CallError, Table};

/// Device memory of the driver, held by whoever holds this. Of no bytes it is NULL, and the driver is not asked.
pub(crate) struct RawMemory {
    table: &'static Table,
    pointer: CUdeviceptr,
}

impl RawMemory {
    /// Allocates at once.
    pub(crate) fn allocate(context: &RawContext, bytes: usize) -> Result<Self, CallError> {
        let table = context.table();
        let mut pointer = 0;
        if bytes == 0 {
            there!(table, cuMemAlloc_3020)?;
        } else {
            let _current = context.enter()?;
            // SAFETY: writes one pointer; the context is current.
            unsafe { relaxed!(table, cuMemAlloc_3020(&raw mut pointer, bytes)) }?;
        }
        Ok(Self { table, pointer })
    }

    /// Allocates from the current pool of the stream's device; the memory is there for work that the stream runs later.
    #[inline]
    pub(crate) fn allocate_on(
        table: &'static Table,
        stream: &RawStream,
        bytes: usize,
    ) -> Result<Self, CallError> {
        let mut pointer = 0;
        if bytes == 0 {
            there!(table, cuMemAllocAsync_11020)?;
        } else {
            // SAFETY: writes one pointer; the stream is alive.
            unsafe { relaxed!(table, cuMemAllocAsync_11020(&raw mut pointer, bytes, stream.handle())) }?;
        }
        Ok(Self { table, pointer })
    }

    /// Allocates managed memory; `attach` is one of `CU_MEM_ATTACH_*`.
    pub(crate) fn allocate_managed(
        context: &RawContext,
        bytes: usize,
        attach: CUmemAttach_flags,
    ) -> Result<Self, CallError> {
        let table = context.table();
        let mut pointer = 0;
        if bytes == 0 {
            there!(table, cuMemAllocManaged_6000)?;
        } else {
            let _current = context.enter()?;
            // SAFETY: writes one pointer; the context is current.
            unsafe { relaxed!(table, cuMemAllocManaged_6000(&raw mut pointer, bytes, attach.0 as u32)) }?;
        }
        Ok(Self { table, pointer })
    }

    /// Takes in a pointer of somebody else's, who gives it up.
    ///
    /// # Safety
    /// It is NULL or the start of an allocation of this driver, and nobody else frees it.
    pub(crate) unsafe fn adopt(table: &'static Table, pointer: CUdeviceptr) -> Self {
        Self { table, pointer }
    }

    pub(crate) fn pointer(&self) -> CUdeviceptr {
        self.pointer
    }

    /// Frees at once. The driver may first wait for work of the device that is under way.
    pub(crate) fn free(self) -> Result<(), CallError> {
        if self.pointer == 0 {
            return Ok(());
        }
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { relaxed!(self.table, cuMemFree_3020(self.pointer)) })
    }

    /// Frees after the stream's work so far.
    #[inline]
    pub(crate) fn free_on(self, stream: &RawStream) -> Result<(), CallError> {
        if self.pointer == 0 {
            return Ok(());
        }
        // SAFETY: nobody else holds it; the stream is alive.
        gone_at_exit(unsafe { relaxed!(self.table, cuMemFreeAsync_11020(self.pointer, stream.handle())) })
    }
}

/// Bytes of the device's memory that are free, and all of them.
pub(crate) fn info(context: &RawContext) -> Result<(usize, usize), CallError> {
    let _current = context.enter()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes two numbers; the context is current.
    unsafe { call!(context.table(), cuMemGetInfo_3020(&raw mut free, &raw mut total)) }?;
    Ok((free, total))
}
