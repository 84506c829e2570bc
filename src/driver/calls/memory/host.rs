//! Host memory that devices reach: page-locked memory of the driver, and the caller's own, registered.

use super::super::context::RawContext;
use super::super::gone_at_exit;
use super::there;
use crate::driver::call;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CallError, Table};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What the driver does for an address of the host, until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostKind {
    /// The memory is the driver's own.
    Pinned,
    /// The memory is the caller's, and registered.
    Registered,
}

/// Host memory that devices reach, held by whoever holds this. Pinned memory of no bytes is NULL, and the driver is not
/// asked.
pub(crate) struct RawHost {
    table: &'static Table,
    address: *mut c_void,
    kind: HostKind,
}

// SAFETY: an address; who uses the memory orders that.
unsafe impl Send for RawHost {}
// SAFETY: as above.
unsafe impl Sync for RawHost {}

impl RawHost {
    /// Allocates pinned memory; `flags` are `CU_MEMHOSTALLOC_*`.
    pub(crate) fn allocate(context: &RawContext, bytes: usize, flags: u32) -> Result<Self, CallError> {
        let table = context.table();
        let mut address = null_mut();
        if bytes == 0 {
            there!(table, cuMemHostAlloc_2020)?;
        } else {
            let _current = context.enter()?;
            // SAFETY: writes one pointer; the context is current.
            unsafe { relaxed!(table, cuMemHostAlloc_2020(&raw mut address, bytes, flags)) }?;
        }
        Ok(Self { table, address, kind: HostKind::Pinned })
    }

    /// Registers a range of the caller's; `flags` are `CU_MEMHOSTREGISTER_*`.
    ///
    /// # Safety
    /// The range is the caller's until the registration ends.
    pub(crate) unsafe fn register(
        context: &RawContext,
        address: *mut c_void,
        bytes: usize,
        flags: u32,
    ) -> Result<Self, CallError> {
        let table = context.table();
        let _current = context.enter()?;
        // SAFETY: the caller vouches for the range; the context is current.
        unsafe { relaxed!(table, cuMemHostRegister_6050(address, bytes, flags)) }?;
        Ok(Self { table, address, kind: HostKind::Registered })
    }

    /// Takes in memory, or a registration, of somebody else's, who gives it up.
    ///
    /// # Safety
    /// It is of this kind, and nobody else ends it.
    pub(crate) unsafe fn adopt(table: &'static Table, address: *mut c_void, kind: HostKind) -> Self {
        Self { table, address, kind }
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.address
    }

    pub(crate) fn kind(&self) -> HostKind {
        self.kind
    }

    /// Frees the memory, or ends the registration, at once.
    pub(crate) fn end(self) -> Result<(), CallError> {
        match self.kind {
            HostKind::Pinned if self.address.is_null() => Ok(()),
            HostKind::Pinned => {
                // SAFETY: nobody else holds it.
                gone_at_exit(unsafe { relaxed!(self.table, cuMemFreeHost_2000(self.address)) })
            }
            HostKind::Registered => {
                // SAFETY: as above.
                gone_at_exit(unsafe { relaxed!(self.table, cuMemHostUnregister_4000(self.address)) })
            }
        }
    }
}

/// The address by which the context's device knows host memory that it reaches.
pub(crate) fn device_pointer(context: &RawContext, address: *mut c_void) -> Result<CUdeviceptr, CallError> {
    let _current = context.enter()?;
    let mut pointer = 0;
    // SAFETY: writes one pointer; the address is looked up, not read.
    unsafe { call!(context.table(), cuMemHostGetDevicePointer_3020(&raw mut pointer, address, 0)) }?;
    Ok(pointer)
}
