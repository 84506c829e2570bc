//! Devices.
//!
//! @header cushim.h
//! @task choose a device

use super::driver::cushim_driver;
use super::driver_object::{DriverObject, driver_handle};
use super::driver_types::{CUdevice, CUdevice_attribute};
use super::error::{call, cushim_status};
use super::handles::{self, Incomplete, borrowed, enter, get};
use super::{out, text};
use crate::device::{Device, DeviceObject};
use crate::feature::Feature;
use crate::object::error::Error;
use std::ffi::c_char;

/// A device of a driver. Its borrowed handle is valid until the process ends.
pub type cushim_device = *mut cushim_device_s;

/// Never given a body.
pub struct cushim_device_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_device_s {
    type Object = DeviceObject;
}

/// Returns the number of devices. Calls `cuInit`.
///
/// @param[in] driver The driver.
/// @param[out] count The number.
/// @errors `CUDA_ERROR_NO_DEVICE` on a machine without a device.
/// @driver none
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

/// Returns a device by its ordinal. Calls `cuInit`.
///
/// @param[in] driver The driver.
/// @param[in] ordinal The ordinal, from 0.
/// @param[out, borrowed] device The device, valid until the process ends.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an ordinal that does not exist; `CUDA_ERROR_NO_DEVICE` on a machine
///   without a device.
/// @driver none
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

/// Returns the device with a UUID, as `nvidia-smi -L`, NVML and `CUDA_VISIBLE_DEVICES` write it. Calls `cuInit`.
///
/// "GPU-01234567-89ab-cdef-0123-456789abcdef" is a GPU: the device, or the one MIG instance of it that the driver
/// shows. "MIG-" with the same is a MIG instance. Without either it is a device of any kind; `cushim_device_get_uuid`
/// returns the bytes.
///
/// @param[in] driver The driver.
/// @param[in, example("GPU-736f6674-6375-6461-2064-657669636500")] uuid The UUID.
/// @param[out, borrowed] device The device, valid until the process ends.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a text that is no UUID; `CUDA_ERROR_INVALID_DEVICE` (101) if the
///   driver shows no such device: the message lists those that it shows; `CUDA_ERROR_NO_DEVICE` on a machine without
///   a device.
/// @driver any
///
/// # Safety
/// `uuid` is NULL or ends in NUL; `device` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_device_by_uuid(
    driver: cushim_driver,
    uuid: *const c_char,
    device: *mut cushim_device,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe { named(driver, (uuid, "uuid"), device, |driver, uuid| Device::with_uuid(&driver.driver, uuid)) }
}

/// Returns the device at an address on the PCI bus, `domain:bus:device.function`, hexadecimal, such as
/// "0000:3b:00.0"; domain and function may be left out (`cuDeviceGetByPCIBusId`). Calls `cuInit`. All MIG instances
/// of a GPU have its address, which gives the first of them.
///
/// @param[in] driver The driver.
/// @param[in, example("0000:00:06.0")] pci_bus_id The address.
/// @param[out, borrowed] device The device, valid until the process ends.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a text that is no such address; `CUDA_ERROR_INVALID_DEVICE` (101) if
///   the driver shows no device there: the message lists the addresses; `CUDA_ERROR_NO_DEVICE` on a machine without a
///   device.
/// @driver any
///
/// # Safety
/// `pci_bus_id` is NULL or ends in NUL; `device` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_device_by_pci_bus_id(
    driver: cushim_driver,
    pci_bus_id: *const c_char,
    device: *mut cushim_device,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    unsafe {
        named(driver, (pci_bus_id, "pci_bus_id"), device, |driver, id| {
            Device::with_pci_bus_id(&driver.driver, id)
        })
    }
}

/// # Safety
/// The text is NULL or ends in NUL; `device` is NULL or valid for writes.
unsafe fn named(
    driver: cushim_driver,
    (text, what): (*const c_char, &'static str),
    device: *mut cushim_device,
    find: impl FnOnce(&DriverObject, &str) -> Result<Device, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (device, text) = unsafe {
            let device = out::cleared(device, std::ptr::null_mut(), "device")?;
            (device, text::required(text, what)?)
        };
        let guard = enter()?;
        *device = borrowed(&find(&*get(&guard, driver)?, &text)?)?;
        Ok(())
    })
}

/// Returns an owning handle of a device, for programs that treat all handles alike. A device itself is never
/// released.
///
/// @param[in] device The device.
/// @param[out, owned] reference The new handle.
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

/// Destroys an owning handle of a device.
///
/// @param[in, ended, nullable] device The handle; NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_destroy(device: cushim_device) -> cushim_status {
    handles::destroy_anywhere(device)
}

/// Returns the driver of a device.
///
/// @param[in] device The device.
/// @param[out, borrowed] driver The driver, valid until the process ends.
///
/// # Safety
/// `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_driver(
    device: cushim_device,
    driver: *mut cushim_driver,
) -> cushim_status {
    // SAFETY: the caller vouches for `driver`.
    unsafe { handles::tell(device, driver, "driver", |device| driver_handle(device.driver())) }
}

/// Returns the ordinal of a device.
///
/// @param[in] device The device.
/// @param[out] ordinal The ordinal, from 0.
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

/// Returns the driver's own handle of a device.
///
/// @param[in] device The device.
/// @param[out] native The handle.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_native(device: cushim_device, native: *mut CUdevice) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(device, native, "native", |device| Ok(device.native())) }
}

/// Copies the name of a device, such as "NVIDIA H100 80GB HBM3".
///
/// @param[in] device The device.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the name.
/// @param[in] size Bytes of the buffer; 256 are enough.
/// @param[out, nullable] needed Receives the bytes that the whole name takes.
/// @driver none
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

/// Returns the UUID of a device; of a MIG instance, that of the instance.
///
/// @param[in] device The device.
/// @param[out, bytes(16)] uuid The UUID.
/// @driver any
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

/// Copies the address of a device on the PCI bus, such as "0000:3b:00.0" (`cuDeviceGetPCIBusId`). A MIG instance has
/// its GPU's.
///
/// @param[in] device The device.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the address.
/// @param[in] size Bytes of the buffer; 64 are enough.
/// @param[out, nullable] needed Receives the bytes that the whole address takes.
/// @driver any
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_device_get_pci_bus_id(
    device: cushim_device,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter()?;
        room.write(&get(&guard, device)?.pci_bus_id()?);
        Ok(())
    })
}

/// Returns the size of the device's memory.
///
/// @param[in] device The device.
/// @param[out] bytes The size in bytes.
/// @driver any
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

/// Returns an attribute of a device.
///
/// @param[in] device The device.
/// @param[in, enum(CUdevice_attribute), example(CU_DEVICE_ATTRIBUTE_WARP_SIZE)] attribute Which attribute.
/// @param[out] value The value.
/// @errors `CUDA_ERROR_INVALID_VALUE` for an attribute that this driver does not know.
/// @driver none
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

/// Tells whether a feature can be used: the driver is new enough and has the functions, and the device has the
/// attribute.
///
/// - "unified-addressing": host and device share one address space
/// - "managed-memory": managed memory
/// - "concurrent-managed-access": host and device may access managed memory at the same time
/// - "pageable-memory-access": the device can access pageable host memory (malloc)
/// - "memory-pools": stream-ordered allocation
/// - "virtual-memory": virtual memory management
/// - "multicast": multicast objects
/// - "dma-buf": device memory can be exported as a dma-buf file descriptor
/// - "memory-locations": advice and prefetch take NUMA nodes of the host (CUDA 12.2)
/// - "batch-copy": several copies in one call (CUDA 12.8)
/// - "batch-prefetch": several prefetches in one call (CUDA 13.0)
/// - "memory-discard": the contents of managed memory can be discarded (CUDA 13.0)
/// - "cooperative-launch": cooperative launches
/// - "thread-block-clusters": thread block clusters (CUDA 11.8)
/// - "tensor-maps": tensor maps (CUDA 12.0)
/// - "libraries": context-independent loading, `CUlibrary` (CUDA 12.0)
/// - "graph-memory-nodes": memory nodes in graphs
/// - "graph-conditional-nodes": conditional nodes in graphs (CUDA 12.3)
/// - "graph-edge-data": edge data in graphs (CUDA 12.3)
/// - "green-contexts": green contexts (CUDA 12.4)
/// - "context-ids": contexts have a unique id (CUDA 12.0)
/// - "stream-ids": streams have a unique id (CUDA 12.0)
/// - "driver-logs": the driver logs why a call failed (CUDA 12.9)
/// - "host-memory-pools": stream-ordered allocation of page-locked host memory (CUDA 13.0)
/// - "managed-memory-pools": stream-ordered allocation of managed memory (CUDA 13.0)
///
/// @param[in] device The device.
/// @param[in, example("memory-pools")] feature One of these names.
/// @param[out] yes Receives 1 or 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a name that this version does not know.
/// @driver none
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
        *yes = i32::from(get(&guard, device)?.supports(feature.parse()?)?);
        Ok(())
    })
}

/// Returns the names that `cushim_device_supports` knows, one by one.
///
/// @param[in] index The index, from 0.
/// @return The name, which stays valid; NULL after the last one.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_feature_name(index: usize) -> *const c_char {
    Feature::ALL.get(index).map_or(std::ptr::null(), |feature| feature.c_name().as_ptr())
}

/// Tells whether the device can access the memory of another device.
///
/// @param[in] device The device.
/// @param[in] peer The other device.
/// @param[out] yes Receives 1 or 0.
/// @driver any
/// @task reach another device's memory
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

/// Tells whether any user in the process has retained the device's primary context, and its flags.
///
/// @param[in] device The device.
/// @param[out] active Receives 1 or 0.
/// @param[out, flags(CUctx_flags), nullable] flags The flags.
/// @driver any
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
        // SAFETY: the caller vouches for both.
        let (flags, active) = unsafe {
            out::both(out::cleared_if_given(flags, 0, "flags"), out::cleared(active, 0, "active"))
        }?;
        let guard = enter()?;
        let (is_active, its_flags) = get(&guard, device)?.primary_context_state()?;
        *active = i32::from(is_active);
        out::put(flags, its_flags);
        Ok(())
    })
}

/// Resets the device's primary context: waits for its work and destroys everything in it, for every user in the
/// process.
///
/// Handles of objects in the context stay valid: destroying them succeeds, and other calls return
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709). `cushim_context_retain_primary` then returns a new, empty context.
///
/// Memory of pools belongs to no context, and stays: destroying its buffer frees it, and what
/// `cushim_stream_allocate` returned is freed in a stream of another context.
///
/// @param[in] device The device.
/// @driver any
/// @sync context
#[unsafe(no_mangle)]
pub extern "C" fn cushim_device_reset_primary_context(device: cushim_device) -> cushim_status {
    call(|| handles::hold(device)?.reset_primary_context())
}
