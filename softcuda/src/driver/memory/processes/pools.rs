//! Pools, and memory of them, in other processes.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN, CUdeviceptr_v2, CUmemAllocationHandleType,
    CUmemPoolPtrExportData, CUmemoryPool, CUresult,
};
use crate::driver::capture;
use crate::driver::context::Activation;
use crate::driver::context::current::current;
use crate::driver::device::Device;
use crate::driver::memory::pool::{Home, Pool, Sharing};
use crate::driver::memory::table::{self, Allocation, Kind};
use crate::driver::sharing::{self, Handle};
use crate::driver::space::shared::SharedMemory;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::Arc;

/// Memory is imported by one call at a time, so that it is imported once.
static IMPORTING: Mutex<()> = Mutex::new(());

fn check_kind(kind: CUmemAllocationHandleType, flags: u64) -> Answer {
    let is_known = kind == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && flags == 0;
    if is_known { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// A new descriptor, which is the caller's.
pub(crate) fn cuMemPoolExportToShareableHandle(
    handle_out: *mut c_void,
    pool: CUmemoryPool,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> Answer {
    let handle_out = Out::<i32>::untyped(handle_out);
    handle_out.check()?;
    let pool = Pool::of(pool)?;
    check_kind(handleType, flags)?;
    capture::check_unsafe()?;
    let descriptor = pool.exporting().ok_or(CUDA_ERROR_INVALID_VALUE)?.descriptor();
    handle_out.set(descriptor.ok_or(CUDA_ERROR_OUT_OF_MEMORY)?)
}

/// The descriptor stays the caller's. Imported again it is the same pool (measured).
pub(crate) fn cuMemPoolImportFromShareableHandle(
    pool_out: Out<CUmemoryPool>,
    handle: *mut c_void,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> Answer {
    pool_out.check()?;
    check_kind(handleType, flags)?;
    capture::check_unsafe()?;
    let descriptor = handle as usize as i32;
    let refusal = match SharedMemory::open(descriptor) {
        Some(_) => CUDA_ERROR_NOT_SUPPORTED, // of an allocation
        None => CUDA_ERROR_UNKNOWN,
    };
    let sharing = Sharing::import(descriptor).ok_or(refusal)?;
    let _one_at_a_time = IMPORTING.lock();
    if let Some(known) = Pool::imported_as(&sharing) {
        return pool_out.set(known);
    }
    let home = sharing.device().map_or(Home::Node, Home::Device);
    pool_out.set(Pool::shared(home, home.most(), sharing).handle())
}

/// Of memory of a pool that is shared already, by the address where it begins (measured).
pub(crate) fn cuMemPoolExportPointer(
    shareData_out: Out<CUmemPoolPtrExportData>,
    ptr: CUdeviceptr_v2,
) -> Answer {
    shareData_out.check()?;
    let found = table::find(ptr as usize).filter(|found| found.address == ptr as usize);
    let allocation = found.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    capture::check_unsafe()?;
    let handle = tell(&allocation)?;
    shareData_out
        .set(CUmemPoolPtrExportData { reserved: handle.bytes(sharing::Kind::Pointer).map(|b| b as u8) })
}

fn tell(allocation: &Allocation) -> Result<Handle, CUresult> {
    let Kind::Pooled(pooled) = &allocation.kind else { return Err(CUDA_ERROR_INVALID_VALUE) };
    pooled.pool().exporting().filter(|sharing| sharing.is_given()).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let told = allocation.tell(|| pooled.tell()).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    // Which process it is does not matter: the pool says that.
    Ok(Handle { process: 0, descriptor: 0, ..told })
}

/// Imported again it is the same memory, at the same address, and freed once (measured).
pub(crate) fn cuMemPoolImportPointer(
    ptr_out: Out<CUdeviceptr_v2>,
    pool: CUmemoryPool,
    shareData: Out<CUmemPoolPtrExportData>,
) -> Answer {
    ptr_out.check()?;
    let pool = Pool::of(pool)?;
    let bytes = shareData.item(0)?.reserved.map(|byte| byte as std::ffi::c_char);
    let sharing = pool.importing().ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let handle = Handle::read(&bytes, sharing::Kind::Pointer).filter(|handle| sharing.is(&handle.nonce));
    let handle = handle.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    // It needs no context (measured); the one that is current is waited for where the memory is freed at once.
    let device = sharing.device().or_else(|| Device::with_ordinal(0)).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let context = current().unwrap_or_else(|_| Activation::nobody(device));
    capture::check_unsafe()?;
    let _one_at_a_time = IMPORTING.lock();
    let is_it = |one: &Allocation| matches!(&one.kind, Kind::Pooled(pooled) if pooled.is(&handle));
    if let Some(known) = table::select(is_it).pop() {
        return ptr_out.set(known.address as u64);
    }
    let (store, size) = sharing.open(&handle).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let pooled = pool.imported(store, size);
    let (address, bytes) = pooled.place();
    let allocation = Allocation::new(address, size, bytes, Kind::Pooled(pooled), context);
    allocation.set_usable();
    table::insert(Arc::clone(&allocation));
    ptr_out.set(address as u64)
}
