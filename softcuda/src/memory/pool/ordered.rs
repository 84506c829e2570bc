//! Allocation and free in a stream's order.

use super::{Home, Pool, choice, find_room};
use crate::error::Answer;
use crate::executor::{Duty, Operation, Work};
use crate::memory::managed::attach::Visibility;
use crate::memory::managed::pages::Pages;
use crate::memory::table::{self, Allocation, Kind};
use crate::pointer::Out;
use crate::stream::Stream;
use crate::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2,
    CUmemoryPool, CUresult, CUstream,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// The place in a stream from which memory may be used.
struct Allocate(Arc<Allocation>);

/// The place in a stream from which it may not. It lets go of the memory.
struct Free(Mutex<Option<Arc<Allocation>>>);

impl Work for Allocate {
    fn name(&self) -> &'static str {
        "an allocation"
    }

    fn duty(&self) -> Duty {
        Duty::Instant
    }

    fn run(&self) {
        self.0.set_usable();
    }
}

impl Free {
    fn end(&self) {
        if let Some(allocation) = self.0.lock().take() {
            allocation.set_freed();
        }
    }
}

impl Work for Free {
    fn name(&self) -> &'static str {
        "a free"
    }

    fn duty(&self) -> Duty {
        Duty::Instant
    }

    fn run(&self) {
        self.end();
    }

    fn give_up(&self, _fault: CUresult) {
        self.end();
    }
}

/// Memory of a pool, with the free that it must follow.
fn take(
    pool: &Arc<Pool>,
    size: usize,
    stream: &Stream,
) -> Result<(Arc<Allocation>, Option<Arc<Operation>>), CUresult> {
    let attempt = || pool.take(size, stream);
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

fn allocate(dptr: Out<CUdeviceptr_v2>, size: usize, pool: &Arc<Pool>, stream: &Arc<Stream>) -> Answer {
    if size == 0 {
        return dptr.set(0);
    }
    stream.admit_work()?;
    let (allocation, follows) = take(pool, size, stream)?;
    let address = allocation.address as u64;
    table::insert(Arc::clone(&allocation));
    stream.submit_after(Allocate(allocation), follows.as_slice())?;
    dptr.set(address)
}

pub(crate) fn cuMemAllocAsync(dptr: Out<CUdeviceptr_v2>, bytesize: usize, hStream: CUstream) -> Answer {
    let stream = Stream::of(hStream)?;
    dptr.check()?;
    allocate(dptr, bytesize, &choice::current(stream.context.device()), &stream)
}

pub(crate) fn cuMemAllocFromPoolAsync(
    dptr: Out<CUdeviceptr_v2>,
    bytesize: usize,
    pool: CUmemoryPool,
    hStream: CUstream,
) -> Answer {
    let stream = Stream::of(hStream)?;
    dptr.check()?;
    allocate(dptr, bytesize, &Pool::of(pool)?, &stream)
}

/// Frees any device memory. Calls do not find it from now on; work that comes before the free still does.
pub(crate) fn cuMemFreeAsync(dptr: CUdeviceptr_v2, hStream: CUstream) -> Answer {
    let stream = Stream::of(hStream)?;
    if dptr == 0 {
        return Ok(());
    }
    // A capture frees what its own graph allocates, and nothing else, as measured.
    if stream.is_capturing() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    stream.admit_work()?;
    // Managed memory is freed at once or not at all (measured).
    if table::find(dptr as usize).is_some_and(|found| matches!(found.kind, Kind::Managed(_))) {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    let freed = |kind: &Kind| matches!(kind, Kind::Device(_) | Kind::Pooled(_));
    let allocation = table::remove(dptr as usize, freed).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let freed = stream.submit(Free(Mutex::new(Some(Arc::clone(&allocation)))));
    let freed = freed.inspect_err(|_| allocation.set_freed())?;
    if let Kind::Pooled(pooled) = &allocation.kind {
        pooled.release(Some(freed));
    }
    Ok(())
}
