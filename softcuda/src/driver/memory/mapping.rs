//! The calls that reserve addresses, put memory behind them, and say who may use it.

use super::location::Location;
use super::table::{self, Allocation, Kind};
use super::vmm::physical::Physical;
use super::vmm::properties::GRANULARITY;
use super::vmm::reserved::{self, Reserved};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY, CUdeviceptr_v2,
    CUmemAccess_flags, CUmemAccessDesc_v1, CUmemGenericAllocationHandle_v1, CUmemLocation, CUresult,
};
use crate::driver::context::Activation;
use crate::driver::device::Device;
use crate::driver::space::window::Range;
use std::ffi::c_void;
use std::sync::Arc;

/// The reservation that an address lies in.
fn reservation(address: usize) -> Option<Arc<Allocation>> {
    table::find_reserved(address)
}

pub(crate) fn cuMemAddressReserve(
    ptr: Out<CUdeviceptr_v2>,
    size: usize,
    alignment: usize,
    addr: CUdeviceptr_v2,
    flags: u64,
) -> Answer {
    ptr.check()?;
    let is_whole = size > 0 && size.is_multiple_of(GRANULARITY) && addr.is_multiple_of(GRANULARITY as u64);
    if !is_whole || !(alignment == 0 || alignment.is_power_of_two()) || flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let owner = Device::with_ordinal(0).map(Activation::nobody).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
    let range = Range::reserve_at(size, alignment.max(GRANULARITY), addr as usize);
    let reserved = Reserved::new(range.ok_or(CUDA_ERROR_OUT_OF_MEMORY)?);
    let (address, bytes) = (reserved.address(), reserved.bytes());
    table::insert(Allocation::new(address, size, bytes, Kind::Reserved(reserved), owner));
    ptr.set(address as u64)
}

/// Only the whole, and only when nothing is mapped there (measured).
pub(crate) fn cuMemAddressFree(ptr: CUdeviceptr_v2, size: usize) -> Answer {
    let found = reservation(ptr as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let is_whole = found.address == ptr as usize && found.size == size;
    if !is_whole || !found.reserved().is_some_and(Reserved::close) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let removed = table::remove(found.address, |kind| matches!(kind, Kind::Reserved(_)));
    removed.ok_or(CUDA_ERROR_INVALID_VALUE)?.set_freed();
    Ok(())
}

/// A part of an allocation cannot be mapped (measured).
pub(crate) fn cuMemMap(
    ptr: CUdeviceptr_v2,
    size: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle_v1,
    flags: u64,
) -> Answer {
    let (memory, at) = (Physical::of(handle)?, ptr as usize);
    if size == 0 || flags != 0 || !at.is_multiple_of(GRANULARITY) || reservation(at).is_none() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if offset != 0 || size != memory.memory.size() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    reserved::map(at, memory)
}

pub(crate) fn cuMemUnmap(ptr: CUdeviceptr_v2, size: usize) -> Answer {
    reserved::unmap(ptr as usize, size)
}

pub(crate) fn cuMemSetAccess(
    ptr: CUdeviceptr_v2,
    size: usize,
    desc: In<CUmemAccessDesc_v1>,
    count: usize,
) -> Answer {
    if count == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut access = Vec::new();
    for i in 0..count {
        let entry = desc.item(i)?;
        let place = place(entry.location).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        access.push((place, flags(entry.flags)?));
    }
    reserved::set_access(ptr as usize, size, &access)
}

/// A place that can be given access: the calling thread's node is none, and any other node is the host, whatever its number, even of a node
/// that there is not (measured).
fn place(location: CUmemLocation) -> Option<Location> {
    match location.type_ {
        CU_MEM_LOCATION_TYPE_HOST_NUMA => Some(Location::Node),
        CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => None,
        _ => Location::of(location).ok(),
    }
}

fn flags(flags: CUmemAccess_flags) -> Result<CUmemAccess_flags, CUresult> {
    match flags {
        CU_MEM_ACCESS_FLAGS_PROT_NONE
        | CU_MEM_ACCESS_FLAGS_PROT_READ
        | CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Ok(flags),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuMemGetAccess(flags: Out<u64>, location: In<CUmemLocation>, ptr: CUdeviceptr_v2) -> Answer {
    flags.check()?;
    let place = place(location.get()?).ok_or(CUDA_ERROR_INVALID_DEVICE)?;
    // Nobody was given access to memory of other kinds; nor to what is none, of which is told before it is refused (measured).
    flags.set(CU_MEM_ACCESS_FLAGS_PROT_NONE.0 as u64)?;
    match reserved::mapping(ptr as usize) {
        Some((_, mapping)) => flags.set(mapping.access_from(place).0 as u64),
        None => table::find(ptr as usize).map(drop).ok_or(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuMemRetainAllocationHandle(
    handle: Out<CUmemGenericAllocationHandle_v1>,
    addr: *mut c_void,
) -> Answer {
    handle.check()?;
    let (_, mapping) = reserved::mapping(addr as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    mapping.memory.retain();
    handle.set(mapping.memory.handle())
}
