//! Pools: what they tell of themselves and are told, trimming, and peers.

use super::handle::cushim_resource;
use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, borrowed, hold};
use crate::capi::out;
use crate::error::{Error, Status};
use crate::memory::{PeerChange, PoolAttribute};

/// An attribute of a pool. The numbers are those of the driver's `CUmemPool_attribute`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_pool_attribute {
    /// Whether memory is used again that another stream freed, if an event orders the two. 0 or 1.
    CUSHIM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    /// Whether memory is used again that another stream freed, if the driver finds that the free is done. 0 or 1.
    CUSHIM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
    /// Whether the driver may make a stream wait for another's free to use its memory again. 0 or 1.
    CUSHIM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    /// Bytes that the pool keeps when a stream, event or context is synchronised; more goes back to the system. 0 at first.
    CUSHIM_POOL_RELEASE_THRESHOLD = 4,
    /// Bytes that the pool has from the system. Read only.
    CUSHIM_POOL_RESERVED_CURRENT = 5,
    /// The most that it ever had. Can be set to 0, which starts anew.
    CUSHIM_POOL_RESERVED_HIGH = 6,
    /// Bytes that are allocated from the pool. Read only.
    CUSHIM_POOL_USED_CURRENT = 7,
    /// The most that ever were. Can be set to 0, which starts anew.
    CUSHIM_POOL_USED_HIGH = 8,
}

fn attribute_of(number: i32) -> Result<PoolAttribute, Error> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| PoolAttribute::ALL.get(index)).copied().ok_or_else(|| {
        let refusal = format!("pool_attribute is {number}; a cushim_pool_attribute is 1 to 8");
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}

/// An attribute of the pool behind the resource, as the driver says now.
///
/// @param resource The resource.
/// @param pool_attribute A `cushim_pool_attribute`.
/// @param value Receives the value; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if the resource is no pool; the driver's. Threads: any.
///
/// # Safety
/// `value` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_attribute(
    resource: cushim_resource,
    pool_attribute: i32,
    value: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `value`.
    unsafe {
        handles::ask(resource, value, "value", |resource| resource.attribute(attribute_of(pool_attribute)?))
    }
}

/// Sets an attribute of the pool behind the resource, for all its users.
///
/// @param resource The resource.
/// @param pool_attribute A `cushim_pool_attribute` that can be set.
/// @param value The value.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a value that the attribute cannot have;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if the resource is no pool; the driver's.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_resource_set_attribute(
    resource: cushim_resource,
    pool_attribute: i32,
    value: u64,
) -> cushim_status {
    call(|| hold(resource)?.set_attribute(attribute_of(pool_attribute)?, value))
}

/// Gives what the pool has and nobody uses back to the system, but for so many bytes.
///
/// @param resource The resource.
/// @param bytes Bytes to keep.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if
/// the resource is no pool; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_resource_trim(resource: cushim_resource, bytes: usize) -> cushim_status {
    call(|| hold(resource)?.trim(bytes))
}

/// How a set of peers is changed.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_peer_change {
    /// These devices and no others.
    CUSHIM_PEERS_REPLACE = 0,
    /// These as well.
    CUSHIM_PEERS_ADD = 1,
    /// Not these.
    CUSHIM_PEERS_REMOVE = 2,
}

/// The devices that may use the pool's memory, beside its own: as the driver says now, by ordinal.
///
/// @param resource The resource.
/// @param devices Receives borrowed handles, as many as there is room for. May be NULL if `capacity` is 0.
/// @param capacity Number of handles that there is room for.
/// @param count Receives how many there are, whether there was room or not; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if the resource is no pool; the driver's. Threads: any.
///
/// # Safety
/// `devices` is valid for writes of `capacity` handles; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_get_peers(
    resource: cushim_resource,
    devices: *mut cushim_device,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        if devices.is_null() && capacity > 0 {
            return Err(Error::new(Status::INVALID_ARGUMENT, "devices must not be NULL"));
        }
        let peers = hold(resource)?.peers()?;
        for (index, device) in peers.iter().take(capacity).enumerate() {
            // SAFETY: the caller vouches for the array, and this is within it.
            unsafe { devices.add(index).write(borrowed(device)?) };
        }
        *count = peers.len();
        Ok(())
    })
}

/// Changes which devices may use the pool's memory, present and future. The pool's own device always may, and does not count.
/// All are checked before anything changes; then there is one call of the driver, or none if all is so already.
///
/// @param resource The resource.
/// @param change A `cushim_peer_change`.
/// @param devices The devices. Read during the call only. Must not be NULL unless `device_count` is 0.
/// @param device_count Number of devices.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a device of another driver; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for
/// devices that cannot reach the pool's; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` if the
/// resource is no pool; the driver's. Threads: any.
///
/// # Safety
/// `devices` is valid for reads of `device_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_change_peers(
    resource: cushim_resource,
    change: i32,
    devices: *const cushim_device,
    device_count: usize,
) -> cushim_status {
    call(|| {
        let change = change_of(change)?;
        if devices.is_null() && device_count > 0 {
            return Err(Error::new(Status::INVALID_ARGUMENT, "devices must not be NULL"));
        }
        // SAFETY: the caller vouches for the array.
        let named = (0..device_count).map(|index| hold(unsafe { devices.add(index).read_unaligned() }));
        let named = named.collect::<Result<Vec<_>, Error>>()?;
        hold(resource)?.change_peers(change, &named)
    })
}

fn change_of(number: i32) -> Result<PeerChange, Error> {
    match number {
        n if n == cushim_peer_change::CUSHIM_PEERS_REPLACE as i32 => Ok(PeerChange::Replace),
        n if n == cushim_peer_change::CUSHIM_PEERS_ADD as i32 => Ok(PeerChange::Add),
        n if n == cushim_peer_change::CUSHIM_PEERS_REMOVE as i32 => Ok(PeerChange::Remove),
        n => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("change is {n}; use one of CUSHIM_PEERS_REPLACE, _ADD and _REMOVE"),
        )),
    }
}
