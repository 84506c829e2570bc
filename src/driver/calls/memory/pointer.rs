//! What the driver knows of a pointer.

use super::super::context::RawContext;
use crate::driver::call;
use crate::driver::sys::{CUdeviceptr, CUpointer_attribute};
use crate::driver::{CallError, Table};
use std::ffi::c_void;

/// Attributes of an address, device's or host's, as numbers. Those that the driver does not tell of this address are as
/// in `unknown`. Needs no current context.
pub(crate) fn attributes<const N: usize>(
    table: &Table,
    address: u64,
    mut attributes: [CUpointer_attribute; N],
    unknown: [u64; N],
) -> Result<[u64; N], CallError> {
    // The driver writes 4 or 8 bytes for each.
    let mut values = unknown;
    let mut places = values.each_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>());
    // SAFETY: as many attributes as places, each wide enough; the address is looked up, not read.
    unsafe {
        call!(
            table,
            cuPointerGetAttributes_7000(N as u32, attributes.as_mut_ptr(), places.as_mut_ptr(), address)
        )
    }?;
    Ok(values)
}

/// The allocation that a pointer lies in: its start, and its bytes.
pub(crate) fn range(context: &RawContext, pointer: CUdeviceptr) -> Result<(CUdeviceptr, usize), CallError> {
    let _current = context.enter()?;
    let (mut start, mut bytes) = (0, 0);
    // SAFETY: writes a pointer and a number; the context is current.
    unsafe { call!(context.table(), cuMemGetAddressRange_3020(&raw mut start, &raw mut bytes, pointer)) }?;
    Ok((start, bytes))
}
