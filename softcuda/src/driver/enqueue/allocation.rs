//! Allocation and free in a stream's order.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2,
    CUmemoryPool, CUresult, CUstream,
};
use crate::driver::capture::{self, Capture};
use crate::driver::device::Device;
use crate::driver::memory::attachment::Visibility;
use crate::driver::memory::graph_allocation;
use crate::driver::memory::pages::Pages;
use crate::driver::memory::pool::{Home, Pool, choice, find_room};
use crate::driver::memory::table::{self, Allocation, Kind};
use crate::driver::operation::allocation::{Allocate, Free};
use crate::driver::stream::Stream;
use crate::driver::stream::capturing::Recorded;
use crate::executor::Task;
use crate::instruments::complain::complain;
use std::sync::Arc;

/// Memory of a pool, with the free that it must follow.
fn take(
    pool: &Arc<Pool>,
    size: usize,
    stream: &Stream,
) -> Result<(Arc<Allocation>, Option<Arc<Task>>), CUresult> {
    let attempt = || pool.take(size, stream.queue());
    let taken = match pool.home.device() {
        Some(device) => find_room(device.ordinal(), size, attempt),
        None => attempt(),
    };
    let (pooled, follows) = taken.ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let (address, bytes) = pooled.place();
    let (kind, owner) = (Kind::Pooled(pooled), Arc::clone(&stream.context));
    let allocation = match pool.home {
        Home::Managed(preferred) => {
            let pages = Pages::new(Visibility::Everywhere, preferred);
            Allocation::managed(address, size, bytes, kind, pages, owner)
        }
        _ => Allocation::new(address, size, bytes, kind, owner),
    };
    Ok((allocation, follows))
}

/// Lets a capture record an allocation: the memory will be the graph's, and the pool says whose it is.
fn record_in(
    capture: &Capture,
    size: usize,
    pool: &Pool,
    stream: &Stream,
) -> Result<CUdeviceptr_v2, CUresult> {
    if size == 0 {
        return Ok(0);
    }
    let Some(device) = pool.home.device() else {
        complain("a capture cannot record allocations from pools of the host, or of managed memory");
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    };
    let peers = pool.admitted().into_iter().map(Device::of).collect::<Result<_, _>>()?;
    stream.record(capture, Recorded::Allocate { size, device, peers }).map(|node| node.address)
}

fn allocate(dptr: Out<CUdeviceptr_v2>, size: usize, pool: &Arc<Pool>, stream: &Arc<Stream>) -> Answer {
    if let Some(capture) = stream.capture() {
        // Without memory the address is NULL (measured).
        let recorded = record_in(&capture, size, pool, stream);
        return dptr.set(recorded.unwrap_or_default()).and(recorded.map(drop));
    }
    capture::check_unsafe()?;
    pool.check_not_imported()?;
    if size == 0 {
        return dptr.set(0);
    }
    let (allocation, follows) = take(pool, size, stream)?;
    let address = allocation.address as u64;
    table::insert(Arc::clone(&allocation));
    stream.submit_after(Allocate { allocation }, follows.as_slice())?;
    dptr.set(address)
}

pub(crate) fn cuMemAllocAsync(dptr: Out<CUdeviceptr_v2>, bytesize: usize, hStream: CUstream) -> Answer {
    let stream = Stream::for_work(hStream)?;
    dptr.check()?;
    allocate(dptr, bytesize, &choice::current(stream.context.device()), &stream)
}

pub(crate) fn cuMemAllocFromPoolAsync(
    dptr: Out<CUdeviceptr_v2>,
    bytesize: usize,
    pool: CUmemoryPool,
    hStream: CUstream,
) -> Answer {
    let stream = Stream::for_work(hStream)?;
    dptr.check()?;
    let pool = Pool::of(pool);
    if pool.is_err() && stream.is_capturing() {
        // As measured, too.
        dptr.set(0)?;
    }
    allocate(dptr, bytesize, &pool?, &stream)
}

/// Frees what a launch of a graph has allocated.
fn free_of_graph(allocation: Arc<Allocation>, stream: &Stream) -> Answer {
    let orphan = graph_allocation::take(&allocation)?;
    if orphan {
        table::leave_graph_memory(&allocation);
    }
    let freed = stream.submit(Free { allocation: Arc::clone(&allocation) });
    freed.inspect_err(|_| allocation.set_freed()).map(drop)
}

/// Frees any device memory. Calls do not find it from now on; work that comes before the free still does.
pub(crate) fn cuMemFreeAsync(dptr: CUdeviceptr_v2, hStream: CUstream) -> Answer {
    let stream = Stream::for_work(hStream)?;
    if let Some(capture) = stream.capture() {
        // Graphs free what graphs allocate, and nothing else (measured).
        return if dptr == 0 { Ok(()) } else { stream.record(&capture, Recorded::Free(dptr)).map(drop) };
    }
    capture::check_unsafe()?;
    if dptr == 0 {
        return Ok(());
    }
    // Managed memory is freed at once or not at all (measured).
    if table::find(dptr as usize).is_some_and(|found| matches!(found.kind, Kind::Managed(_))) {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    if let Some(allocation) = graph_allocation::find(dptr as usize) {
        return free_of_graph(allocation, &stream);
    }
    let freed = |kind: &Kind| matches!(kind, Kind::Device(_) | Kind::Pooled(_));
    let allocation = table::remove(dptr as usize, freed).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let freed = stream.submit(Free { allocation: Arc::clone(&allocation) });
    let freed = freed.inspect_err(|_| allocation.set_freed())?;
    if let Kind::Pooled(pooled) = &allocation.kind {
        pooled.release(Some(freed));
    }
    Ok(())
}
