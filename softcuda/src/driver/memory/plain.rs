//! Device memory that is allocated and freed at once, and what is left of it.

use super::access;
use super::graph_allocation;
use super::pool;
use super::table::{self, Allocation, Kind};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2, CUresult,
};
use crate::check;
use crate::driver::capture;
use crate::driver::context::Activation;
use crate::driver::context::current::{current, top};
use crate::driver::device;
use crate::driver::space::window::{self, Range};
use std::sync::Arc;

/// Rows of pitched memory start at multiples of this.
const PITCH: usize = 512;

/// New device memory of the current context.
fn allocate(size: usize) -> Result<usize, CUresult> {
    let owner = current()?;
    capture::check_unsafe()?;
    if size == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Ok(add(owner, size, Kind::Device)?.address)
}

/// New device memory for a variable of loaded code.
pub(crate) fn variable(owner: &Arc<Activation>, size: usize) -> Result<Arc<Allocation>, CUresult> {
    add(Arc::clone(owner), size, Kind::Variable)
}

/// The variable is gone.
pub(crate) fn forget_variable(address: usize) {
    if let Some(variable) = table::remove(address, |kind| matches!(kind, Kind::Variable(_))) {
        variable.set_freed();
    }
}

fn add(owner: Arc<Activation>, size: usize, kind: fn(Range) -> Kind) -> Result<Arc<Allocation>, CUresult> {
    let device = owner.device().ordinal();
    let range = pool::find_room(device, size, || Range::take(size, device));
    let range = range.ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let (address, bytes) = (range.address(), range.bytes());
    let allocation = Allocation::new(address, size, bytes, kind(range), owner);
    table::insert(Arc::clone(&allocation));
    Ok(allocation)
}

/// Frees what starts at the address when all work of its context is finished, as the measured driver does; memory of a pool at once, for which
/// it does not wait (measured): work that uses it later uses what is freed.
pub(super) fn free(address: usize, wanted: fn(&Kind) -> bool) -> Answer {
    let found = table::find(address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    // Memory of a pool outlives the context that it was allocated in (measured).
    if found.is_pooled() { found.owner.fault() } else { found.owner.health() }?;
    capture::check_unsafe()?;
    let allocation = table::remove(address, wanted).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let owner = &allocation.owner;
    if let Kind::Pooled(pooled) = &allocation.kind {
        check::note_freed(owner.device().ordinal(), || allocation.checked());
        allocation.set_freed();
        pooled.release_at_once();
        return owner.fault();
    }
    let waited = owner.wait_for_work();
    allocation.set_freed();
    waited?;
    owner.fault()
}

/// The same for memory of another process, which no capture minds (measured).
pub(super) fn end(address: usize, wanted: fn(&Kind) -> bool) -> Answer {
    let allocation = table::remove(address, wanted).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let waited = allocation.owner.wait_for_work();
    allocation.set_freed();
    waited?;
    allocation.owner.fault()
}

/// Frees need no current context; a dead one is refused all the same.
pub(super) fn check_current_is_not_dead() -> Answer {
    top().map_or(Ok(()), |context| context.activation().map(|_| ()))
}

pub(crate) fn cuMemAlloc_v2(dptr: Out<CUdeviceptr_v2>, bytesize: usize) -> Answer {
    current()?;
    dptr.check()?;
    dptr.set(allocate(bytesize)? as u64)
}

pub(crate) fn cuMemAllocPitch_v2(
    dptr: Out<CUdeviceptr_v2>,
    pPitch: Out<usize>,
    WidthInBytes: usize,
    Height: usize,
    ElementSizeBytes: u32,
) -> Answer {
    current()?;
    dptr.check()?;
    pPitch.check()?;
    if !matches!(ElementSizeBytes, 4 | 8 | 16) || WidthInBytes == 0 || Height == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let pitch = WidthInBytes.checked_next_multiple_of(PITCH).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let size = pitch.checked_mul(Height).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    dptr.set(allocate(size)? as u64)?;
    pPitch.set(pitch)
}

pub(crate) fn cuMemFree_v2(dptr: CUdeviceptr_v2) -> Answer {
    check_current_is_not_dead()?;
    capture::check_unsafe()?;
    if dptr == 0 {
        return Ok(());
    }
    if let Some(allocation) = graph_allocation::find(dptr as usize) {
        allocation.owner.health()?;
        return graph_allocation::free(&allocation);
    }
    free(dptr as usize, |kind| matches!(kind, Kind::Device(_) | Kind::Pooled(_) | Kind::Managed(_)))
}

pub(crate) fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Answer {
    let device = current()?.device();
    let all = device::total_memory();
    free.set_if_wanted((all - window::used(device.ordinal())) as usize);
    total.set_if_wanted(all as usize);
    Ok(())
}

pub(crate) fn cuMemGetAddressRange_v2(
    pbase: Out<CUdeviceptr_v2>,
    psize: Out<usize>,
    dptr: CUdeviceptr_v2,
) -> Answer {
    current()?;
    let found = table::find(dptr as usize)
        .filter(|found| found.is_there() && access::is_in_reach(found, dptr as usize));
    let (start, size) = found.ok_or(CUDA_ERROR_NOT_FOUND)?.piece(dptr as usize);
    pbase.set_if_wanted(start as u64);
    psize.set_if_wanted(size);
    Ok(())
}
