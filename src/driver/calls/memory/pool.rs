//! Pools: memory that is allocated and freed in the order of streams, and kept for the next allocation.

use super::super::gone_at_exit;
use super::super::stream::RawStream;
use super::there;
use crate::driver::call;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_LOCATION_TYPE_DEVICE, CUdevice, CUdeviceptr,
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocation_v1_u4, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool,
};
use crate::driver::{CallError, Table};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A pool of the driver, held by whoever holds this.
pub(crate) struct RawPool {
    table: &'static Table,
    handle: CUmemoryPool,
}

// SAFETY: the driver's pools may be used from every thread.
unsafe impl Send for RawPool {}
// SAFETY: as above.
unsafe impl Sync for RawPool {}

/// What a new pool is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolProperties {
    pub(crate) kind: CUmemAllocationType,
    pub(crate) location: (CUmemLocationType, i32),
    /// `CU_MEM_HANDLE_TYPE_*`, combined.
    pub(crate) handle_types: i32,
    /// Bytes; 0 for as many as there are.
    pub(crate) max_size: usize,
}

/// Where one pool is current: of a device's own memory, as every driver has it, or of a place and a kind of memory (13.0).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolPlace {
    Device(CUdevice),
    Located((CUmemLocationType, i32), CUmemAllocationType),
}

/// A location as the driver takes it.
fn location((kind, id): (CUmemLocationType, i32)) -> CUmemLocation {
    CUmemLocation { type_: kind, u4: CUmemLocation_v1_u4 { id } }
}

/// What a device may do with the memory of a pool.
///
/// # Safety
/// The pool is alive.
pub(crate) unsafe fn access_of(
    table: &Table,
    pool: CUmemoryPool,
    device: i32,
) -> Result<CUmemAccess_flags, CallError> {
    let mut flags = CUmemAccess_flags(0);
    let mut place = location((CU_MEM_LOCATION_TYPE_DEVICE, device));
    // SAFETY: writes one number, and reads one location; the caller vouches for the pool.
    unsafe { relaxed!(table, cuMemPoolGetAccess_11020(&raw mut flags, pool, &raw mut place)) }?;
    Ok(flags)
}

impl RawPool {
    /// The pool from which the device allocates now.
    pub(crate) fn current(table: &'static Table, device: CUdevice) -> Result<Self, CallError> {
        let mut handle = null_mut();
        // SAFETY: writes one handle.
        unsafe { call!(table, cuDeviceGetMemPool_11020(&raw mut handle, device)) }?;
        Ok(Self { table, handle })
    }

    /// The pool that the device has from the start.
    pub(crate) fn default(table: &'static Table, device: CUdevice) -> Result<Self, CallError> {
        let mut handle = null_mut();
        // SAFETY: writes one handle.
        unsafe { call!(table, cuDeviceGetDefaultMemPool_11020(&raw mut handle, device)) }?;
        Ok(Self { table, handle })
    }

    /// The pool from which memory is allocated at a place now.
    pub(crate) fn current_at(table: &'static Table, at: PoolPlace) -> Result<Self, CallError> {
        let (place, kind) = match at {
            PoolPlace::Device(device) => return Self::current(table, device),
            PoolPlace::Located(place, kind) => (place, kind),
        };
        let (mut handle, mut place) = (null_mut(), location(place));
        // SAFETY: writes one handle, and reads one location.
        unsafe { call!(table, cuMemGetMemPool_13000(&raw mut handle, &raw mut place, kind)) }?;
        Ok(Self { table, handle })
    }

    /// The pool that a place has from the start.
    pub(crate) fn default_at(table: &'static Table, at: PoolPlace) -> Result<Self, CallError> {
        let (place, kind) = match at {
            PoolPlace::Device(device) => return Self::default(table, device),
            PoolPlace::Located(place, kind) => (place, kind),
        };
        let (mut handle, mut place) = (null_mut(), location(place));
        // SAFETY: writes one handle, and reads one location.
        unsafe { call!(table, cuMemGetDefaultMemPool_13000(&raw mut handle, &raw mut place, kind)) }?;
        Ok(Self { table, handle })
    }

    /// From now on memory is allocated from this pool there.
    pub(crate) fn make_current_at(&self, at: PoolPlace) -> Result<(), CallError> {
        match at {
            // SAFETY: the pool is alive.
            PoolPlace::Device(device) => unsafe {
                relaxed!(self.table, cuDeviceSetMemPool_11020(device, self.handle))
            },
            PoolPlace::Located(place, kind) => {
                let mut place = location(place);
                // SAFETY: reads one location; the pool is alive.
                unsafe { relaxed!(self.table, cuMemSetMemPool_13000(&raw mut place, kind, self.handle)) }
            }
        }
    }

    /// The place has the pool from the start again, if this one is current there. Driver branch 580 leaves a place other than a device's own
    /// memory without that when its current pool is destroyed (measured).
    pub(crate) fn steps_down_at(&self, at: PoolPlace) -> Result<(), CallError> {
        if Self::current_at(self.table, at)?.handle != self.handle {
            return Ok(());
        }
        Self::default_at(self.table, at)?.make_current_at(at)
    }

    /// Creates a pool.
    pub(crate) fn create(table: &'static Table, properties: &PoolProperties) -> Result<Self, CallError> {
        let props = CUmemPoolProps {
            allocType: properties.kind,
            handleTypes: CUmemAllocationHandleType(properties.handle_types),
            location: location(properties.location),
            win32SecurityAttributes: null_mut(),
            maxSize: properties.max_size,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let mut handle = null_mut();
        // SAFETY: writes one handle, and reads one struct.
        unsafe { relaxed!(table, cuMemPoolCreate_11020(&raw mut handle, &raw const props)) }?;
        Ok(Self { table, handle })
    }

    /// Takes in a pool of somebody else's.
    ///
    /// # Safety
    /// It is a pool of this driver, alive for as long as this exists.
    pub(crate) unsafe fn adopt(table: &'static Table, handle: CUmemoryPool) -> Self {
        Self { table, handle }
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    pub(crate) fn handle(&self) -> CUmemoryPool {
        self.handle
    }

    /// Destroys the pool, all of whose memory is back.
    pub(crate) fn destroy(self) -> Result<(), CallError> {
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { relaxed!(self.table, cuMemPoolDestroy_11020(self.handle)) })
    }

    /// The same for an imported pool, which is refused while memory of it is imported.
    pub(crate) fn destroy_imported(&self) -> Result<(), CallError> {
        // SAFETY: the caller has it for itself, and asks again only if it is refused.
        gone_at_exit(unsafe { relaxed!(self.table, cuMemPoolDestroy_11020(self.handle)) })
    }

    /// Allocates in the stream's order. Of no bytes it is NULL, and the driver is not asked.
    #[inline]
    pub(crate) fn allocate(&self, stream: &RawStream, bytes: usize) -> Result<CUdeviceptr, CallError> {
        let table = self.table;
        let mut pointer = 0;
        if bytes == 0 {
            there!(table, cuMemAllocFromPoolAsync_11020)?;
        } else {
            // SAFETY: writes one pointer; pool and stream are alive.
            unsafe {
                relaxed!(
                    table,
                    cuMemAllocFromPoolAsync_11020(&raw mut pointer, bytes, self.handle, stream.handle())
                )
            }?;
        }
        Ok(pointer)
    }

    /// Gives what is free back to the system, but for so many bytes.
    pub(crate) fn trim(&self, keep: usize) -> Result<(), CallError> {
        // SAFETY: the pool is alive.
        unsafe { relaxed!(self.table, cuMemPoolTrimTo_11020(self.handle, keep)) }
    }

    /// An attribute, be it a number of four or of eight bytes.
    pub(crate) fn attribute(&self, attribute: CUmemPool_attribute) -> Result<u64, CallError> {
        let mut value = 0_u64;
        let place = (&raw mut value).cast::<c_void>();
        // SAFETY: writes at most eight bytes; the platforms are little-endian, so four of them are the number as well.
        unsafe { relaxed!(self.table, cuMemPoolGetAttribute_11020(self.handle, attribute, place)) }?;
        Ok(value)
    }

    /// Sets an attribute, be it a number of four or of eight bytes.
    pub(crate) fn set_attribute(&self, attribute: CUmemPool_attribute, value: u64) -> Result<(), CallError> {
        let mut value = value;
        let place = (&raw mut value).cast::<c_void>();
        // SAFETY: reads at most eight bytes, as above.
        unsafe { relaxed!(self.table, cuMemPoolSetAttribute_11020(self.handle, attribute, place)) }
    }

    /// What a device may do with the pool's memory.
    pub(crate) fn access(&self, device: i32) -> Result<CUmemAccess_flags, CallError> {
        // SAFETY: the pool is alive.
        unsafe { access_of(self.table, self.handle, device) }
    }

    /// Lets a device read and write the pool's memory: of the host's pools and of managed ones no device may at first
    /// (driver 580, measured).
    pub(crate) fn admit(&self, device: i32) -> Result<(), CallError> {
        self.set_access(&[(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)])
    }

    /// Says what devices may do with the pool's memory, in one call.
    pub(crate) fn set_access(&self, changes: &[(i32, CUmemAccess_flags)]) -> Result<(), CallError> {
        let place = |device| location((CU_MEM_LOCATION_TYPE_DEVICE, device));
        let map: Vec<CUmemAccessDesc> = changes
            .iter()
            .map(|&(device, flags)| CUmemAccessDesc { location: place(device), flags })
            .collect();
        // SAFETY: reads as many descriptions as there are.
        unsafe { relaxed!(self.table, cuMemPoolSetAccess_11020(self.handle, map.as_ptr(), map.len())) }
    }
}
