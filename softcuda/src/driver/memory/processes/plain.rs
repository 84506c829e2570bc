//! Memory of `cuMemAlloc` in other processes.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2,
    CUipcMemHandle, CUresult,
};
use crate::driver::context::Activation;
use crate::driver::context::current::current;
use crate::driver::memory::opened::{self, Opened, Refusal};
use crate::driver::memory::plain;
use crate::driver::memory::table::{self, Allocation, Kind};
use crate::driver::sharing::{self, Handle, is_own};
use crate::driver::space::window;
use parking_lot::Mutex;
use std::sync::Arc;

/// Memory is opened and closed by one call at a time.
static OPENING: Mutex<()> = Mutex::new(());

/// Tells of an allocation on the board, so that other processes can open it.
fn tell(allocation: &Allocation) -> Result<Handle, CUresult> {
    window::file().ok_or(CUDA_ERROR_NOT_SUPPORTED)?;
    let tell = || opened::tell(allocation.address, allocation.size, allocation.device(allocation.address));
    allocation.tell(tell).ok_or(CUDA_ERROR_OUT_OF_MEMORY)
}

/// Of memory that `cuMemAlloc` gave; an address in the middle means all of it.
pub(crate) fn cuIpcGetMemHandle(pHandle: Out<CUipcMemHandle>, dptr: CUdeviceptr_v2) -> Answer {
    current()?;
    pHandle.check()?;
    let found = table::find(dptr as usize).filter(|found| matches!(found.kind, Kind::Device(_)));
    let allocation = found.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    allocation.owner.health()?;
    pHandle.set(CUipcMemHandle { reserved: tell(&allocation)?.bytes(sharing::Kind::Memory) })
}

/// What a context has opened already.
fn known(handle: &Handle, context: &Arc<Activation>) -> Option<Arc<Allocation>> {
    let is_it = |one: &Allocation| match &one.kind {
        Kind::Opened(opened) => opened.is(handle) && Arc::ptr_eq(&one.owner, context),
        _ => false,
    };
    table::select(is_it).pop()
}

/// Maps memory of another process for a context.
fn open(handle: &Handle, context: Arc<Activation>) -> Result<Arc<Allocation>, CUresult> {
    let opened = Opened::new(handle).map_err(|refusal| match refusal {
        Refusal::Gone => CUDA_ERROR_INVALID_VALUE,
        Refusal::NoDevice => CUDA_ERROR_INVALID_DEVICE,
        Refusal::NoRoom => CUDA_ERROR_OUT_OF_MEMORY,
    })?;
    let (address, size, bytes) = opened.place();
    let allocation = Allocation::new(address, size, bytes, Kind::Opened(opened), context);
    table::insert(Arc::clone(&allocation));
    Ok(allocation)
}

pub(crate) fn cuIpcOpenMemHandle(pdptr: Out<CUdeviceptr_v2>, handle: CUipcMemHandle, Flags: u32) -> Answer {
    cuIpcOpenMemHandle_v2(pdptr, handle, Flags)
}

/// Opened again, it is at the same address, and to be closed once more.
pub(crate) fn cuIpcOpenMemHandle_v2(
    pdptr: Out<CUdeviceptr_v2>,
    handle: CUipcMemHandle,
    Flags: u32,
) -> Answer {
    let context = current()?;
    pdptr.check()?;
    // Of the other flags the measured driver takes no notice.
    if Flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0 as u32 == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let named = Handle::read(&handle.reserved, sharing::Kind::Memory).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if is_own(&named.nonce) {
        return Err(CUDA_ERROR_INVALID_CONTEXT);
    }
    let _one_at_a_time = OPENING.lock();
    let allocation = match known(&named, &context) {
        Some(known) => known,
        None => open(&named, context)?,
    };
    if let Kind::Opened(opened) = &allocation.kind {
        opened.open();
    }
    pdptr.set(allocation.address as u64)
}

/// Ends it when it was closed as often as it was opened. Each close waits for the context's work, as the measured driver does.
pub(crate) fn cuIpcCloseMemHandle(dptr: CUdeviceptr_v2) -> Answer {
    let context = current()?;
    let is_last = {
        let _one_at_a_time = OPENING.lock();
        let found = table::find(dptr as usize).filter(|found| found.address == dptr as usize);
        let allocation = found.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let Kind::Opened(opened) = &allocation.kind else { return Err(CUDA_ERROR_INVALID_VALUE) };
        opened.close()
    };
    if is_last {
        plain::end(dptr as usize, |kind| matches!(kind, Kind::Opened(_)))
    } else {
        context.wait_for_work()
    }
}
