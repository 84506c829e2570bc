//! Contexts, and which one is current.

use super::gone_at_exit;
use crate::driver::call;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::{CUcontext, CUdevice, CUgreenCtx, CUlimit};
use crate::driver::{CallError, Table};
use std::ptr::null_mut;

/// A context of the driver, held by whoever holds this.
pub(crate) struct RawContext {
    table: &'static Table,
    handle: CUcontext,
    /// The green context for which this one stands, or NULL.
    green: CUgreenCtx,
}

// SAFETY: the driver's contexts may be used from every thread.
unsafe impl Send for RawContext {}
// SAFETY: as above.
unsafe impl Sync for RawContext {}

impl RawContext {
    /// Retains the device's primary context.
    pub(crate) fn retain_primary(table: &'static Table, device: CUdevice) -> Result<Self, CallError> {
        let mut handle = null_mut();
        // SAFETY: writes one handle.
        unsafe { call!(table, cuDevicePrimaryCtxRetain_7000(&raw mut handle, device)) }?;
        Ok(Self { table, handle, green: null_mut() })
    }

    /// Creates a context and leaves the caller's current one as it was.
    pub(crate) fn create(table: &'static Table, flags: u32, device: CUdevice) -> Result<Self, CallError> {
        let mut handle = null_mut();
        let mut popped = null_mut();
        // SAFETY: each writes one handle; without parameters the three ABIs mean the same.
        unsafe {
            if table.cuCtxCreate_12050.is_some() {
                call!(table, cuCtxCreate_12050(&raw mut handle, null_mut(), flags, device))?;
            } else if table.cuCtxCreate_11040.is_some() {
                call!(table, cuCtxCreate_11040(&raw mut handle, null_mut(), 0, flags, device))?;
            } else {
                call!(table, cuCtxCreate_3020(&raw mut handle, flags, device))?;
            }
            // Creating makes the context current; that is for the caller to ask for.
            call!(table, cuCtxPopCurrent_4000(&raw mut popped)).inspect_err(|_| {
                // Which takes it off the stack, too.
                let _ = call!(table, cuCtxDestroy_4000(handle));
            })?;
        }
        Ok(Self { table, handle, green: null_mut() })
    }

    /// Takes in a handle of somebody else's.
    ///
    /// # Safety
    /// The handle is one of this driver, alive for as long as this exists.
    pub(crate) unsafe fn adopt(table: &'static Table, handle: CUcontext) -> Self {
        Self { table, handle, green: null_mut() }
    }

    /// Takes in the context that stands for a green one.
    ///
    /// # Safety
    /// As for [`adopt`](Self::adopt).
    pub(crate) unsafe fn of_green(table: &'static Table, green: CUgreenCtx) -> Result<Self, CallError> {
        let mut handle = null_mut();
        // SAFETY: writes one handle; the caller vouches for the green context.
        unsafe { call!(table, cuCtxFromGreenCtx_12040(&raw mut handle, green)) }?;
        Ok(Self { table, handle, green })
    }

    /// Whether this context stands for a green one.
    pub(crate) fn is_green(&self) -> bool {
        !self.green.is_null()
    }

    pub(crate) fn handle(&self) -> CUcontext {
        self.handle
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// Gives a retained primary context back.
    pub(crate) fn release_primary(self, device: CUdevice) -> Result<(), CallError> {
        // SAFETY: this is one of the holds that were taken.
        gone_at_exit(unsafe { call!(self.table, cuDevicePrimaryCtxRelease_11000(device)) })
    }

    /// Destroys the context.
    pub(crate) fn destroy(self) -> Result<(), CallError> {
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe {
            match self.is_green() {
                true => call!(self.table, cuGreenCtxDestroy_12040(self.green)),
                false => call!(self.table, cuCtxDestroy_4000(self.handle)),
            }
        })
    }

    /// Waits until all work of the context is done.
    pub(crate) fn synchronize(&self) -> Result<(), CallError> {
        let _current = self.enter()?;
        // SAFETY: the context is current.
        unsafe { call!(self.table, cuCtxSynchronize_2000()) }
    }

    /// The number by which the driver tells contexts apart, never used again; 12.0.
    pub(crate) fn id(&self) -> Result<u64, CallError> {
        id(self.table, self.handle)
    }

    /// The least and the greatest priority of streams; the greatest is the smaller number.
    pub(crate) fn stream_priorities(&self) -> Result<(i32, i32), CallError> {
        let _current = self.enter()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: writes two numbers; the context is current.
        unsafe { call!(self.table, cuCtxGetStreamPriorityRange_5050(&raw mut least, &raw mut greatest)) }?;
        Ok((least, greatest))
    }

    /// A limit of the context.
    pub(crate) fn limit(&self, limit: CUlimit) -> Result<usize, CallError> {
        let _current = self.enter()?;
        let mut value = 0;
        // SAFETY: writes one number; the context is current.
        unsafe { call!(self.table, cuCtxGetLimit_3010(&raw mut value, limit)) }?;
        Ok(value)
    }

    /// Sets a limit of the context.
    pub(crate) fn set_limit(&self, limit: CUlimit, value: usize) -> Result<(), CallError> {
        let _current = self.enter()?;
        // SAFETY: the context is current.
        unsafe { relaxed!(self.table, cuCtxSetLimit_3010(limit, value)) }
    }

    /// Lets work in the context use the memory of another.
    pub(crate) fn enable_peer_access(&self, peer: &Self) -> Result<(), CallError> {
        let _current = self.enter()?;
        // SAFETY: both contexts are alive, and this one is current.
        unsafe { call!(self.table, cuCtxEnablePeerAccess_4000(peer.handle, 0)) }
    }

    /// Takes that back.
    pub(crate) fn disable_peer_access(&self, peer: &Self) -> Result<(), CallError> {
        let _current = self.enter()?;
        // SAFETY: both contexts are alive, and this one is current.
        unsafe { call!(self.table, cuCtxDisablePeerAccess_4000(peer.handle)) }
    }

    /// The flags that the context was created with.
    pub(crate) fn flags(&self) -> Result<u32, CallError> {
        let _current = self.enter()?;
        let mut flags = 0;
        // SAFETY: writes one number; the context is current.
        unsafe { call!(self.table, cuCtxGetFlags_7000(&raw mut flags)) }?;
        Ok(flags)
    }

    /// Makes the context current on this thread until the result is dropped.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Result<Current, CallError> {
        let before = current(self.table)?;
        if before == self.handle {
            return Ok(Current { table: self.table, restore: None });
        }
        set_current(self.table, self.handle)?;
        Ok(Current { table: self.table, restore: Some(before) })
    }
}

/// While it lives, a context is current on this thread; afterwards the one that was.
#[must_use = "the context stays current only as long as this lives"]
pub(crate) struct Current {
    table: &'static Table,
    restore: Option<CUcontext>,
}

impl Drop for Current {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.restore {
            // Fails only if that context was destroyed meanwhile, and then it cannot be current.
            let _ = set_current(self.table, before);
        }
    }
}

/// The context that is current on this thread, or NULL.
#[inline]
pub(crate) fn current(table: &Table) -> Result<CUcontext, CallError> {
    let mut handle = null_mut();
    // SAFETY: writes one handle.
    unsafe { call!(table, cuCtxGetCurrent_4000(&raw mut handle)) }?;
    Ok(handle)
}

/// The number by which the driver tells contexts apart, never used again; 12.0.
pub(crate) fn id(table: &Table, handle: CUcontext) -> Result<u64, CallError> {
    let mut id = 0;
    // SAFETY: writes one number; the driver checks the handle against those that it knows.
    unsafe { call!(table, cuCtxGetId_12000(handle, &raw mut id)) }?;
    Ok(id)
}

/// Whether the driver knows the context; asked for something that every driver tells of every context.
pub(crate) fn is_known(table: &Table, handle: CUcontext) -> bool {
    let mut version = 0;
    // SAFETY: writes one number; the driver checks the handle against those that it knows.
    unsafe { call!(table, cuCtxGetApiVersion_3020(handle, &raw mut version)) }.is_ok()
}

/// Makes the context, or none, current on this thread.
#[inline(never)]
pub(crate) fn set_current(table: &Table, handle: CUcontext) -> Result<(), CallError> {
    // SAFETY: the driver checks the handle against those that it knows.
    unsafe { call!(table, cuCtxSetCurrent_4000(handle)) }
}

/// Puts the context on top of this thread's stack.
pub(crate) fn push(table: &Table, handle: CUcontext) -> Result<(), CallError> {
    // SAFETY: as for `set_current`.
    unsafe { call!(table, cuCtxPushCurrent_4000(handle)) }
}

/// Takes the topmost context off this thread's stack.
pub(crate) fn pop(table: &Table) -> Result<CUcontext, CallError> {
    let mut handle = null_mut();
    // SAFETY: writes one handle.
    unsafe { call!(table, cuCtxPopCurrent_4000(&raw mut handle)) }?;
    Ok(handle)
}

/// Whether the device's primary context is active, and its flags.
pub(crate) fn primary_state(table: &Table, device: CUdevice) -> Result<(bool, u32), CallError> {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: writes two numbers.
    unsafe { call!(table, cuDevicePrimaryCtxGetState_7000(device, &raw mut flags, &raw mut active)) }?;
    Ok((active != 0, flags))
}

/// Destroys everything in the device's primary context.
pub(crate) fn reset_primary(table: &Table, device: CUdevice) -> Result<(), CallError> {
    // SAFETY: handles of the context that survive answer with an error.
    unsafe { call!(table, cuDevicePrimaryCtxReset_11000(device)) }
}
