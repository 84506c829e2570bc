//! Devices.

use super::driver::cushim_driver;
use super::driver_types::{CUdevice, CUdevice_attribute};
use super::error::{call, cushim_status};
use super::handles::{self, Incomplete, borrowed, enter, get};
use super::{out, text};
use crate::device::Device;
use crate::feature::Feature;
use std::ffi::c_char;

/// A device of a driver. Its borrowed handle is good until the process ends.
pub type cushim_device = *mut cushim_device_s;

/// Never given a body.
pub struct cushim_device_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_device_s {
    type Object = Device;
}

/// The number of devices that the driver shows. Initialises the driver.
///
/// @param driver The driver.
/// @param count Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_NO_DEVICE` on a machine without a device, and others of the driver's. Threads: any.
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_device_count(
    driver: cushim_driver,
    count: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for `count`.
    unsafe { handles::ask(driver, count, "count", |driver| Device::count(&driver.driver)) }
}

/// The device with this ordinal, the same each time. Initialises the driver.
///
/// @param driver The driver.
/// @param ordinal 0 to the number of devices - 1.
/// @param device Receives the borrowed handle; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an ordinal that there is not;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_NO_DEVICE` on a machine without a device, and others of
/// the driver's. Threads: any.
///
/// # Safety
/// `device` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_device(
    driver: cushim_driver,
    ordinal: i32,
    device: *mut cushim_device,
) -> cushim_status {
    // SAFETY: the caller vouches for `device`.
    unsafe {
        handles::ask(driver, device, "device", |driver| borrowed(&Device::get(&driver.driver, ordinal)?))
    }
}

/// Gives the device a handle that can be destroyed, for owners who treat all handles alike.
///
/// @param device The device.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_device_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_ref(
    device: cushim_device,
    reference: *mut cushim_device,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(device, reference) }
}

/// Ends a claim on the device, which itself stays.
///
/// @param device The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_FORKED`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_destroy(device: cushim_device) -> cushim_status {
    handles::destroy_anywhere(device)
}

/// Names the device in messages.
///
/// @param device The device.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_set_label(
    device: cushim_device,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(device, label) }
}

/// The name that messages use for the device; empty if it has none.
///
/// @param device The device.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_label(
    device: cushim_device,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(device, buffer, size, needed) }
}

/// The driver that the device belongs to.
///
/// @param device The device.
/// @param driver Receives the borrowed handle, good until the process ends; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_driver(
    device: cushim_device,
    driver: *mut cushim_driver,
) -> cushim_status {
    // SAFETY: the caller vouches for `driver`.
    unsafe { handles::tell(device, driver, "driver", |device| handles::driver_handle(device.driver())) }
}

/// The device's number, from 0.
///
/// @param device The device.
/// @param ordinal Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `ordinal` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_ordinal(
    device: cushim_device,
    ordinal: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for `ordinal`.
    unsafe { handles::tell(device, ordinal, "ordinal", |device| Ok(device.ordinal())) }
}

/// The driver's own handle of the device.
///
/// @param device The device.
/// @param native Receives the handle; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_native(device: cushim_device, native: *mut CUdevice) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(device, native, "native", |device| Ok(device.native())) }
}

/// The device's name: "NVIDIA H100 80GB HBM3".
///
/// @param device The device.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer; 256 hold every name.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_name(
    device: cushim_device,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter()?;
        room.write(&get(&guard, device)?.name()?);
        Ok(())
    })
}

/// The device's UUID; of a MIG instance its own, on drivers of 11.4 or later.
///
/// @param device The device.
/// @param uuid Receives 16 bytes; zeros on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `uuid` is NULL or valid for writes of 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_uuid(device: cushim_device, uuid: *mut u8) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `uuid`.
        let uuid = unsafe { out::cleared(uuid.cast::<[u8; 16]>(), [0; 16], "uuid") }?;
        let guard = enter()?;
        *uuid = get(&guard, device)?.uuid()?;
        Ok(())
    })
}

/// Bytes of the device's memory.
///
/// @param device The device.
/// @param bytes Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_total_memory(
    device: cushim_device,
    bytes: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for `bytes`.
    unsafe { handles::ask(device, bytes, "bytes", |device| device.total_memory()) }
}

/// An attribute of the device.
///
/// @param device The device.
/// @param attribute A `CUdevice_attribute`.
/// @param value Receives the value; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_INVALID_VALUE` for an attribute that this driver does not know, and others of the
/// driver's. Threads: any.
///
/// # Safety
/// `value` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_attribute(
    device: cushim_device,
    attribute: i32,
    value: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for `value`.
    unsafe { handles::ask(device, value, "value", |device| device.attribute(CUdevice_attribute(attribute))) }
}

/// Whether the device and its driver offer a feature. It is there if the driver is new enough and has the function for
/// it, and the device says yes.
///
/// - "unified-addressing": host and device share one address space
/// - "managed-memory": memory that host and device share
/// - "concurrent-managed-access": host and device may use managed memory at the same time
/// - "pageable-memory-access": the device reads and writes memory of malloc
/// - "memory-pools": stream-ordered allocation
/// - "virtual-memory": address ranges and the memory behind them are managed apart
/// - "multicast": one write reaches several devices
/// - "dma-buf": device memory is handed to other kernel drivers as a file descriptor
/// - "memory-locations": advice and prefetch name NUMA nodes of the host (12.2)
/// - "batch-copy": many copies in one call (12.8)
/// - "batch-prefetch": many prefetches in one call (13.0)
/// - "memory-discard": managed memory is given up without a copy (13.0)
/// - "cooperative-launch": all blocks of a kernel run at once and synchronise
/// - "thread-block-clusters": blocks are launched in clusters (11.8)
/// - "tensor-maps": tensors are copied by descriptor (12.0)
/// - "libraries": kernels are loaded without a context (12.0)
/// - "graph-memory-nodes": graphs allocate and free memory
/// - "graph-conditional-nodes": graphs branch and loop (12.3)
/// - "graph-edge-data": edges of graphs carry data (12.3)
/// - "green-contexts": a context has a share of the device (12.4)
/// - "context-ids": contexts have a number that is never used again (12.0)
/// - "stream-ids": streams have a number that is never used again (12.0)
/// - "driver-logs": the driver says in words why a call failed (12.9)
/// - "host-memory-pools": stream-ordered allocation of page-locked host memory (13.0)
/// - "managed-memory-pools": stream-ordered allocation of managed memory (13.0)
///
/// @param device The device.
/// @param feature One of these names. Must not be NULL.
/// @param yes Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a name that this version does not
/// know; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `feature` is NULL or ends in NUL; `yes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_supports(
    device: cushim_device,
    feature: *const c_char,
    yes: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `yes`.
        let yes = unsafe { out::cleared(yes, 0, "yes") }?;
        // SAFETY: the caller vouches for `feature`.
        let feature = unsafe { text::required(feature, "feature") }?;
        let guard = enter()?;
        *yes = i32::from(get(&guard, device)?.supports(&feature)?);
        Ok(())
    })
}

/// The names that `cushim_device_supports` knows.
///
/// @param index From 0.
/// @return The name, valid for ever; NULL beyond the last one.
///
/// Errors: none. Threads: any. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_feature_name(index: usize) -> *const c_char {
    Feature::all().get(index).map_or(std::ptr::null(), |feature| feature.c_name.as_ptr())
}

/// Whether the device can reach the memory of another.
///
/// @param device The device.
/// @param peer The other device, of the same driver.
/// @param yes Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for devices of different drivers; `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's.
/// Threads: any.
///
/// # Safety
/// `yes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_can_access_peer(
    device: cushim_device,
    peer: cushim_device,
    yes: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `yes`.
        let yes = unsafe { out::cleared(yes, 0, "yes") }?;
        let guard = enter()?;
        *yes = i32::from(get(&guard, device)?.can_access_peer(&*get(&guard, peer)?)?);
        Ok(())
    })
}

/// Whether the device's primary context is active, for whomever, and its flags.
///
/// @param device The device.
/// @param active Receives 1 or 0; 0 on failure. Must not be NULL.
/// @param flags Receives a combination of `CUctx_flags`; 0 on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; the driver's. Threads: any.
///
/// # Safety
/// `active` and `flags` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_primary_state(
    device: cushim_device,
    active: *mut i32,
    flags: *mut u32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `flags`.
        let flags = unsafe { out::cleared_if_given(flags, 0) };
        // SAFETY: the caller vouches for `active`.
        let active = unsafe { out::cleared(active, 0, "active") }?;
        let guard = enter()?;
        let (is_active, its_flags) = get(&guard, device)?.primary_context_state()?;
        *active = i32::from(is_active);
        out::put(flags, its_flags);
        Ok(())
    })
}

/// Destroys everything in the device's primary context, for every user of this process.
///
/// Objects of the context stay valid handles; their calls answer `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709), destroying them
/// succeeds. `cushim_context_retain_primary` then gives a new, empty context.
///
/// @param device The device.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on
/// the driver "none"; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_reset_primary_context(device: cushim_device) -> cushim_status {
    call(|| handles::hold(device)?.reset_primary_context())
}
