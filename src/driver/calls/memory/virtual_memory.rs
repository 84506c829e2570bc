//! Virtual memory: addresses that are reserved, memory that is created, and which of it is mapped where. No call needs a context,
//! waits for work or disturbs a capture (measured on 580).

use super::super::gone_at_exit;
use crate::driver::call;
use crate::driver::sys::{
    CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, CU_MEM_ALLOCATION_TYPE_PINNED,
    CU_MEM_HANDLE_TYPE_FABRIC, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUdeviceptr, CUmemAccess_flags,
    CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationProp_v1_allocFlags,
    CUmemGenericAllocationHandle, CUmemLocation,
};
use crate::driver::{CallError, Table};
use std::ptr::{null_mut, without_provenance_mut};

/// What new memory is to be.
#[derive(Clone, Copy)]
pub(crate) struct AllocationProperties {
    pub(crate) location: CUmemLocation,
    /// `CU_MEM_HANDLE_TYPE_*`.
    pub(crate) handle_types: i32,
    pub(crate) gpu_direct_rdma: bool,
}

impl AllocationProperties {
    /// Whether it can have a fabric handle.
    pub(crate) fn is_for_fabric(&self) -> bool {
        self.handle_types & CU_MEM_HANDLE_TYPE_FABRIC.0 != 0
    }

    fn native(&self) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CUmemAllocationHandleType(self.handle_types),
            location: self.location,
            win32HandleMetaData: null_mut(),
            allocFlags: CUmemAllocationProp_v1_allocFlags {
                compressionType: 0,
                gpuDirectRDMACapable: u8::from(self.gpu_direct_rdma),
                usage: 0,
                reserved: [0; 4],
            },
        }
    }

    /// What sizes of such memory are multiples of, and addresses for it: the least that works, or what the driver recommends.
    pub(crate) fn granularity(&self, table: &Table, recommended: bool) -> Result<usize, CallError> {
        let (mut bytes, properties) = (0, self.native());
        let option = match recommended {
            true => CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
            false => CU_MEM_ALLOC_GRANULARITY_MINIMUM,
        };
        // SAFETY: writes one number, and reads one struct.
        unsafe {
            call!(table, cuMemGetAllocationGranularity_10020(&raw mut bytes, &raw const properties, option))
        }?;
        Ok(bytes)
    }
}

/// Memory of the driver without an address, held by whoever holds this.
pub(crate) struct RawAllocation {
    table: &'static Table,
    handle: CUmemGenericAllocationHandle,
}

impl RawAllocation {
    pub(crate) fn create(
        table: &'static Table,
        bytes: usize,
        properties: &AllocationProperties,
    ) -> Result<Self, CallError> {
        let (mut handle, properties) = (0, properties.native());
        // SAFETY: writes one handle, and reads one struct.
        unsafe { call!(table, cuMemCreate_10020(&raw mut handle, bytes, &raw const properties, 0)) }?;
        Ok(Self { table, handle })
    }

    /// Memory of another process's, by a file descriptor, which stays the caller's.
    pub(crate) fn import(table: &'static Table, file: i32) -> Result<Self, CallError> {
        let (mut handle, kind) = (0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        let file = without_provenance_mut(file as usize);
        // SAFETY: writes one handle; the driver looks at the descriptor.
        unsafe { call!(table, cuMemImportFromShareableHandle_10020(&raw mut handle, file, kind)) }?;
        Ok(Self { table, handle })
    }

    /// A descriptor of a file by which other processes import it; who has it closes it.
    pub(crate) fn share(&self) -> Result<i32, CallError> {
        let mut file = -1i32;
        let (place, kind) = ((&raw mut file).cast(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        // SAFETY: writes one descriptor; the memory is held here.
        unsafe { call!(self.table, cuMemExportToShareableHandle_10020(place, self.handle, kind, 0)) }?;
        Ok(file)
    }

    pub(crate) fn handle(&self) -> CUmemGenericAllocationHandle {
        self.handle
    }

    /// Lets go of it. Where it is mapped it stays.
    pub(crate) fn release(self) -> Result<(), CallError> {
        // SAFETY: held here, and not again afterwards.
        gone_at_exit(unsafe { call!(self.table, cuMemRelease_10020(self.handle)) })
    }
}

/// Whether virtual memory is mapped at an address: only that has a handle. Of other memory driver branch 580 tells that nobody has access.
pub(crate) fn is_mapped_at(table: &'static Table, address: CUdeviceptr) -> bool {
    let mut handle = 0;
    let at = without_provenance_mut(address as usize);
    // SAFETY: writes one handle; the driver looks the address up.
    if unsafe { call!(table, cuMemRetainAllocationHandle_11000(&raw mut handle, at)) }.is_err() {
        return false;
    }
    // SAFETY: held just now, and not again afterwards.
    gone_at_exit(unsafe { call!(table, cuMemRelease_10020(handle)) }).is_ok()
}

/// What a place may do with virtual memory at an address, as the driver numbers it.
pub(crate) fn access_at(
    table: &'static Table,
    address: CUdeviceptr,
    location: CUmemLocation,
) -> Result<u64, CallError> {
    let mut flags = 0;
    // SAFETY: writes one number, and reads one struct.
    unsafe { call!(table, cuMemGetAccess_10020(&raw mut flags, &raw const location, address)) }?;
    Ok(flags)
}

/// Addresses of the driver, held by whoever holds this.
pub(crate) struct RawReservation {
    table: &'static Table,
    address: CUdeviceptr,
    bytes: usize,
}

impl RawReservation {
    /// Reserves addresses at a multiple of `alignment`, those at `hint` if the driver grants that; 0 for both asks for nothing.
    pub(crate) fn reserve(
        table: &'static Table,
        bytes: usize,
        alignment: usize,
        hint: CUdeviceptr,
    ) -> Result<Self, CallError> {
        let mut address = 0;
        // SAFETY: writes one address.
        unsafe { call!(table, cuMemAddressReserve_10020(&raw mut address, bytes, alignment, hint, 0)) }?;
        Ok(Self { table, address, bytes })
    }

    pub(crate) fn address(&self) -> CUdeviceptr {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts all of an allocation behind addresses of the reservation.
    ///
    /// # Safety
    /// The allocation has so many bytes.
    pub(crate) unsafe fn map(
        &self,
        offset: usize,
        bytes: usize,
        memory: &RawAllocation,
    ) -> Result<(), CallError> {
        let at = self.address + offset as CUdeviceptr;
        // SAFETY: both are held.
        unsafe { call!(self.table, cuMemMap_10020(at, bytes, 0, memory.handle, 0)) }
    }

    /// Takes away what is behind these addresses, which nothing may use any more. Does not wait for work.
    pub(crate) fn unmap(&self, offset: usize, bytes: usize) -> Result<(), CallError> {
        let at = self.address + offset as CUdeviceptr;
        // SAFETY: addresses of the reservation.
        gone_at_exit(unsafe { call!(self.table, cuMemUnmap_10020(at, bytes)) })
    }

    /// Says who may use what is behind these addresses.
    pub(crate) fn set_access(
        &self,
        offset: usize,
        bytes: usize,
        access: &[(CUmemLocation, CUmemAccess_flags)],
    ) -> Result<(), CallError> {
        let at = self.address + offset as CUdeviceptr;
        let entry =
            |&(location, flags): &(CUmemLocation, CUmemAccess_flags)| CUmemAccessDesc { location, flags };
        let entries: Vec<CUmemAccessDesc> = access.iter().map(entry).collect();
        // SAFETY: reads so many structs.
        unsafe { call!(self.table, cuMemSetAccess_10020(at, bytes, entries.as_ptr(), entries.len())) }
    }

    /// What a place may do with what is behind an address, as the driver numbers it.
    pub(crate) fn access(&self, offset: usize, location: CUmemLocation) -> Result<u64, CallError> {
        access_at(self.table, self.address + offset as CUdeviceptr, location)
    }

    /// Gives the addresses back, behind which nothing is.
    pub(crate) fn free(self) -> Result<(), CallError> {
        // SAFETY: held here, and not again afterwards.
        gone_at_exit(unsafe { call!(self.table, cuMemAddressFree_10020(self.address, self.bytes)) })
    }
}
