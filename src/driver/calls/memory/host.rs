//! Host memory that devices reach: page-locked memory of the driver, and the caller's own, registered.

use super::super::context::RawContext;
use super::super::gone_at_exit;
use super::there;
use crate::driver::call;
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CallError, Table};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Page-locked memory of the driver, held by whoever holds this. Of no bytes it is NULL, and the driver is not asked.
pub(crate) struct RawPinned {
    table: &'static Table,
    address: *mut c_void,
}

// SAFETY: an address; who uses the memory orders that.
unsafe impl Send for RawPinned {}
// SAFETY: as above.
unsafe impl Sync for RawPinned {}

impl RawPinned {
    /// Allocates; `flags` are `CU_MEMHOSTALLOC_*`.
    pub(crate) fn allocate(context: &RawContext, bytes: usize, flags: u32) -> Result<Self, CallError> {
        let table = context.table();
        let mut address = null_mut();
        if bytes == 0 {
            there!(table, cuMemHostAlloc_2020)?;
        } else {
            let _current = context.enter()?;
            // SAFETY: writes one pointer; the context is current.
            unsafe { call!(table, cuMemHostAlloc_2020(&raw mut address, bytes, flags)) }?;
        }
        Ok(Self { table, address })
    }

    /// Takes in an address of somebody else's, who gives it up.
    pub(crate) fn adopt(table: &'static Table, address: *mut c_void) -> Self {
        Self { table, address }
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.address
    }

    /// Frees at once.
    pub(crate) fn free(self) -> Result<(), CallError> {
        if self.address.is_null() {
            return Ok(());
        }
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { call!(self.table, cuMemFreeHost_2000(self.address)) })
    }
}

/// A range of the caller's memory that is registered, held by whoever holds this.
pub(crate) struct RawRegistration {
    table: &'static Table,
    address: *mut c_void,
}

// SAFETY: an address; who uses the memory orders that.
unsafe impl Send for RawRegistration {}
// SAFETY: as above.
unsafe impl Sync for RawRegistration {}

impl RawRegistration {
    /// Registers the range; `flags` are `CU_MEMHOSTREGISTER_*`.
    pub(crate) fn register(
        context: &RawContext,
        address: *mut c_void,
        bytes: usize,
        flags: u32,
    ) -> Result<Self, CallError> {
        let table = context.table();
        let _current = context.enter()?;
        // SAFETY: the caller vouches for the range; the context is current.
        unsafe { call!(table, cuMemHostRegister_6050(address, bytes, flags)) }?;
        Ok(Self { table, address })
    }

    /// Takes in a registration of somebody else's, who gives it up.
    pub(crate) fn adopt(table: &'static Table, address: *mut c_void) -> Self {
        Self { table, address }
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.address
    }

    /// Ends the registration at once.
    pub(crate) fn unregister(self, context: &RawContext) -> Result<(), CallError> {
        let _current = context.enter()?;
        // SAFETY: nobody else holds it; the context is current.
        gone_at_exit(unsafe { call!(self.table, cuMemHostUnregister_4000(self.address)) })
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
