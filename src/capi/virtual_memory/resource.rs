//! Virtual memory: addresses are reserved and memory is created and mapped, each for itself.
//!
//! @header cushim.h
//! @task use virtual memory, which grows and sleeps

use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{hold, owned};
use crate::capi::location::{cushim_location, location_of};
use crate::capi::pointer::MOST_LOCATIONS;
use crate::capi::resource::cushim_resource;
use crate::capi::{input, options, out};
use crate::memory::{Access, Resource, ShareableHandle, VirtualOptions};
use crate::object::error::{Error, Status};

/// What a device may do with virtual memory.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_virtual_access {
    /// Read it and write it.
    CUSHIM_VIRTUAL_READ_WRITE = 0,
    /// Read it.
    CUSHIM_VIRTUAL_READ = 1,
    /// Nothing.
    CUSHIM_VIRTUAL_NO_ACCESS = 2,
}

/// How virtual memory can be shared with other processes.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_shareable {
    /// Not at all.
    CUSHIM_SHAREABLE_NONE = 0,
    /// By a file descriptor (Linux).
    CUSHIM_SHAREABLE_POSIX_FD = 1,
    /// By a fabric handle, on a device that has a fabric and in a process that has an IMEX channel (CUDA 12.3).
    /// cushim creates such memory and does not export it: use `cushim_allocation_native`.
    CUSHIM_SHAREABLE_FABRIC = 2,
}

/// Flags of virtual memory.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_virtual_flags {
    /// Sizes are multiples of the least granularity, not of the recommended one.
    CUSHIM_VIRTUAL_LEAST_GRANULARITY = 1,
    /// Network adapters reach the memory by GPUDirect RDMA.
    CUSHIM_VIRTUAL_GPU_DIRECT_RDMA = 2,
}

const LEAST: u32 = cushim_virtual_flags::CUSHIM_VIRTUAL_LEAST_GRANULARITY as u32;
const RDMA: u32 = cushim_virtual_flags::CUSHIM_VIRTUAL_GPU_DIRECT_RDMA as u32;

/// Options of virtual memory. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_virtual_options {
    /// Bytes of this struct, `sizeof(cushim_virtual_options)`.
    pub struct_size: usize,
    /// Where the memory is: zeros mean the device; otherwise the device, a NUMA node of the host (CUDA 12.2) or
    /// the host (CUDA 13.0). The host can read and write its own memory at the same addresses.
    pub location: cushim_location,
    /// @field[flags(cushim_virtual_flags)] Flags.
    pub flags: u32,
    /// @field[enum(cushim_shareable)] How other processes can have the memory.
    pub shareable: i32,
    /// Addresses begin at a multiple of this power of two; 0 for the granularity.
    pub alignment: usize,
    /// Where the driver is asked to put the first addresses, a multiple of the granularity; 0 for any. It may
    /// put them elsewhere.
    pub address_hint: u64,
    /// @field[enum(cushim_virtual_access)] What the device may do.
    pub access: i32,
    /// @field[enum(cushim_virtual_access)] What the peers may do.
    pub peer_access: i32,
    /// @field[nullable, array(peer_count)] Ordinals of other devices that use the memory; NULL if there are
    ///   none.
    pub peers: *const i32,
    /// The number of devices.
    pub peer_count: usize,
}

/// Creates a resource of virtual memory (`cuMemAddressReserve`, `cuMemCreate`, `cuMemMap`): each allocation has
/// addresses of its own, and its buffers can grow (`cushim_buffer_grow`) and sleep (`cushim_buffer_sleep`).
///
/// Sizes are rounded up to the granularity, 2 MiB on branch 580 (measured), and `cushim_buffer_size` says the
/// rounded size. Nothing is stream-ordered, waits for work or invalidates a capture. The stream of
/// `cushim_buffer_create` is optional: it is the deallocation stream, which is waited for before memory is
/// unmapped. Without one, the work that uses a buffer must be done when that is destroyed: the driver does not
/// wait, and such work would be an illegal access. If the stream is being captured then, the memory is unmapped
/// after the capture.
///
/// The memory belongs to no context: it stays when a context is reset. Destroying the resource frees
/// what `cushim_resource_allocate` returned and nobody freed.
///
/// @param[in] device The device.
/// @param[in, nullable] options The options.
/// @param[out, owned] resource The resource.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for what this device or driver does not offer (`cushim_device_supports`
///   "virtual-memory"); `CUSHIM_ERROR_INVALID_ARGUMENT` for options that contradict each other, and for a peer
///   that does not exist or cannot reach the device, with its number as the error's `item`.
/// @driver none
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says;
/// `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_virtual(
    device: cushim_device,
    options: *const cushim_virtual_options,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, std::ptr::null_mut(), "resource") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { virtual_options(options) }?;
        *resource = owned(|| Resource::virtual_memory(&hold(device)?, &options))?;
        Ok(())
    })
}

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says.
pub(super) unsafe fn virtual_options(
    options: *const cushim_virtual_options,
) -> Result<VirtualOptions, Error> {
    // SAFETY: the caller vouches for it; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_flags(given.flags, LEAST | RDMA)?;
    let shareable = match given.shareable {
        n if n == cushim_shareable::CUSHIM_SHAREABLE_NONE as i32 => ShareableHandle::None,
        n if n == cushim_shareable::CUSHIM_SHAREABLE_POSIX_FD as i32 => ShareableHandle::PosixFd,
        n if n == cushim_shareable::CUSHIM_SHAREABLE_FABRIC as i32 => ShareableHandle::Fabric,
        n => return Err(unknown("shareable", n, "CUSHIM_SHAREABLE_NONE, _POSIX_FD and _FABRIC")),
    };
    // SAFETY: the caller vouches for the array.
    let peers = unsafe { input::slice_of_at_most(MOST_LOCATIONS, given.peers, given.peer_count, "peers") }?;
    Ok(VirtualOptions {
        location: Some(location_of(&given.location)).filter(|location| !location.is_unset()),
        least_granularity: given.flags & LEAST != 0,
        shareable,
        alignment: given.alignment,
        address_hint: given.address_hint,
        access: access(given.access, "access")?,
        peers: peers.to_vec(),
        peer_access: access(given.peer_access, "peer_access")?,
        gpu_direct_rdma: given.flags & RDMA != 0,
    })
}

pub(super) fn access(number: i32, what: &str) -> Result<Access, Error> {
    match number {
        n if n == cushim_virtual_access::CUSHIM_VIRTUAL_READ_WRITE as i32 => Ok(Access::ReadWrite),
        n if n == cushim_virtual_access::CUSHIM_VIRTUAL_READ as i32 => Ok(Access::Read),
        n if n == cushim_virtual_access::CUSHIM_VIRTUAL_NO_ACCESS as i32 => Ok(Access::None),
        n => Err(unknown(what, n, "CUSHIM_VIRTUAL_READ_WRITE, _READ and _NO_ACCESS")),
    }
}

fn unknown(what: &str, number: i32, known: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("{what} is {number}; use one of {known}"))
}
