//! Memory that other devices on the bus reach.

use super::super::context::RawContext;
use super::pointer::attributes;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::{
    CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE,
    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CUdeviceptr,
    CUflushGPUDirectRDMAWritesScope,
};
use crate::driver::{CallError, Table};

/// A dma-buf of whole pages: a descriptor, which whoever has it closes.
pub(crate) fn dma_buf(
    context: &RawContext,
    address: CUdeviceptr,
    bytes: usize,
    over_pcie: bool,
) -> Result<i32, CallError> {
    let (mut file, kind) = (-1i32, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
    let flags = if over_pcie { CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE.0 as u64 } else { 0 };
    let place = (&raw mut file).cast();
    let _current = context.enter()?;
    // SAFETY: writes one descriptor; the driver looks the addresses up.
    unsafe {
        relaxed!(context.table(), cuMemGetHandleForAddressRange_11070(place, address, bytes, kind, flags))
    }?;
    Ok(file)
}

/// Sets whether synchronous operations on an allocation wait for all devices.
pub(crate) fn set_sync_memops(table: &Table, address: CUdeviceptr, on: bool) -> Result<(), CallError> {
    let value = u32::from(on);
    let place = (&raw const value).cast();
    // SAFETY: reads one number; the driver looks the address up.
    unsafe { relaxed!(table, cuPointerSetAttribute_6000(place, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address)) }
}

/// Whether they do.
pub(crate) fn sync_memops(table: &Table, address: CUdeviceptr) -> Result<bool, CallError> {
    let [on] = attributes(table, address, [CU_POINTER_ATTRIBUTE_SYNC_MEMOPS], [0])?;
    Ok(on != 0)
}

/// Waits until what other devices have written so far into memory of the context can be seen.
pub(crate) fn flush(context: &RawContext, scope: CUflushGPUDirectRDMAWritesScope) -> Result<(), CallError> {
    let _current = context.enter()?;
    let target = CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
    // SAFETY: two numbers.
    unsafe { relaxed!(context.table(), cuFlushGPUDirectRDMAWrites_11030(target, scope)) }
}
