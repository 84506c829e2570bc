//! Addresses without memory, for programs that manage addresses themselves.
//!
//! @header cushim.h
//! @task use virtual memory, which grows and sleeps

use super::allocation::cushim_allocation;
use super::resource::{access, cushim_virtual_access, cushim_virtual_options, virtual_options};
use crate::capi::device::cushim_device;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, hold, hold_all, keep, keep_if_given, owned};
use crate::capi::location::{cushim_location, location};
use crate::capi::out;
use crate::capi::stream::cushim_stream;
use crate::memory::{Access, Reservation, ReservationObject};

/// A range of addresses, at which whole allocations are mapped. When no owning handle is left, what is mapped
/// there is unmapped and the addresses are given back: the work that uses them must be done by then.
///
/// Use `cushim_buffer_wrap` with an owner, or `cushim_endpoint_device`, to use the memory in operations.
pub type cushim_reservation = *mut cushim_reservation_s;

/// Never given a body.
pub struct cushim_reservation_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_reservation_s {
    type Object = ReservationObject;
}

/// Reserves addresses (`cuMemAddressReserve`).
///
/// @param[in] device The device whose granularity counts.
/// @param[in, example(64)] bytes The size in bytes, which is rounded up to the granularity.
/// @param[in, nullable] options The options: alignment, address hint and granularity.
/// @param[out, owned] reservation The reservation.
/// @errors as `cushim_resource_create_virtual`: `CUSHIM_ERROR_UNSUPPORTED`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
///   also for 0 bytes; `CUDA_ERROR_OUT_OF_MEMORY` if no range of addresses is as long.
/// @driver none
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says;
/// `reservation` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_reservation_create(
    device: cushim_device,
    bytes: usize,
    options: *const cushim_virtual_options,
    reservation: *mut cushim_reservation,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `reservation`.
        let reservation = unsafe { out::cleared(reservation, std::ptr::null_mut(), "reservation") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { virtual_options(options) }?;
        *reservation = owned(|| Reservation::create(&hold(device)?, bytes, &options))?;
        Ok(())
    })
}

/// Returns one more owning handle of a reservation.
///
/// @param[in] reservation The reservation.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_reservation_ref(
    reservation: cushim_reservation,
    reference: *mut cushim_reservation,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(reservation, reference) }
}

/// Destroys an owning handle of a reservation. With the last one, what is mapped there is unmapped
/// (`cuMemUnmap`), and the addresses are given back (`cuMemAddressFree`). Neither waits for work.
///
/// @param[in, ended, nullable] reservation The handle; NULL does nothing.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_reservation_destroy(reservation: cushim_reservation) -> cushim_status {
    handles::destroy(reservation)
}

/// Returns the first address of a reservation.
///
/// @param[in] reservation The reservation.
/// @param[out] pointer The address.
///
/// # Safety
/// `pointer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_reservation_get_pointer(
    reservation: cushim_reservation,
    pointer: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `pointer`.
    unsafe { handles::tell(reservation, pointer, "pointer", |reservation| Ok(reservation.pointer().0)) }
}

/// Returns the size of a reservation.
///
/// @param[in] reservation The reservation.
/// @param[out] bytes The size in bytes, a multiple of the granularity.
///
/// # Safety
/// `bytes` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_reservation_get_size(
    reservation: cushim_reservation,
    bytes: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for `bytes`.
    unsafe { handles::tell(reservation, bytes, "bytes", |reservation| Ok(reservation.bytes())) }
}

/// Maps a whole allocation in a reservation (`cuMemMap`), with the access that its options name. An allocation can be
/// mapped several times. Each mapping keeps it alive.
///
/// @param[in] reservation The reservation.
/// @param[in] offset Bytes from the first address on, a multiple of the least granularity.
/// @param[in] allocation The allocation.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an offset that is no multiple of the least granularity or too large,
///   and where something is mapped.
/// @driver none
#[unsafe(no_mangle)]
pub extern "C" fn cushim_reservation_map(
    reservation: cushim_reservation,
    offset: usize,
    allocation: cushim_allocation,
) -> cushim_status {
    call(|| {
        let (reservation, allocation) =
            hold_all(|guard| Ok((keep(guard, reservation)?, keep(guard, allocation)?)))?;
        reservation.map(offset, &allocation)
    })
}

/// Unmaps all that is mapped in a range of a reservation (`cuMemUnmap`), after the stream, if there is one, has
/// done its work so far. Unmapping itself does not wait: other work that uses the memory must be done.
///
/// @param[in] reservation The reservation.
/// @param[in, nullable] stream The stream.
/// @param[in, example(6291456)] offset Bytes from the first address on.
/// @param[in, example(2097152)] bytes The size of the range, which has whole mappings, at least one.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a part of a mapping, where nothing is mapped, and for a stream
///   that is being captured (the capture stays valid). Nothing is unmapped then.
/// @driver none
/// @sync stream
#[unsafe(no_mangle)]
pub extern "C" fn cushim_reservation_unmap(
    reservation: cushim_reservation,
    stream: cushim_stream,
    offset: usize,
    bytes: usize,
) -> cushim_status {
    call(|| {
        let (reservation, stream) =
            hold_all(|guard| Ok((keep(guard, reservation)?, keep_if_given(guard, stream)?)))?;
        reservation.unmap(stream.as_ref(), offset, bytes)
    })
}

/// Sets what a location may do with the mappings in a range of a reservation (`cuMemSetAccess`).
///
/// @param[in] reservation The reservation.
/// @param[in, example(6291456)] offset Bytes from the first address on.
/// @param[in, example(2097152)] bytes The size of the range, which has whole mappings without gaps.
/// @param[in] location The device, or the host for memory of the host.
/// @param[in, enum(cushim_virtual_access)] access What it may do.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a part of a mapping, where nothing is mapped, for a location
///   that does not exist, and for the host where memory of a device is mapped.
/// @driver none
///
/// # Safety
/// `location` is NULL or valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_reservation_set_access(
    reservation: cushim_reservation,
    offset: usize,
    bytes: usize,
    location: *const cushim_location,
    access: i32,
) -> cushim_status {
    call(|| {
        let wanted = self::access(access, "access")?;
        // SAFETY: the caller vouches for `location`.
        let location = unsafe { self::location(location, "location") }?;
        hold(reservation)?.set_access(offset, bytes, location, wanted)
    })
}

/// Returns what a location may do with what is mapped at an offset of a reservation (`cuMemGetAccess`).
///
/// @param[in] reservation The reservation.
/// @param[in, example(6291456)] offset Bytes from the first address on.
/// @param[in] location The device, or the host for memory of the host.
/// @param[out, enum(cushim_virtual_access)] access Receives the access.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` where nothing is mapped, and for a location that does not exist.
/// @driver none
///
/// # Safety
/// `location` is NULL or valid for reads; `access` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_reservation_get_access(
    reservation: cushim_reservation,
    offset: usize,
    location: *const cushim_location,
    access: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `access`.
        let access = unsafe { out::cleared(access, 0, "access") }?;
        // SAFETY: the caller vouches for `location`.
        let location = unsafe { self::location(location, "location") }?;
        *access = match hold(reservation)?.access(offset, location)? {
            Access::ReadWrite => cushim_virtual_access::CUSHIM_VIRTUAL_READ_WRITE as i32,
            Access::Read => cushim_virtual_access::CUSHIM_VIRTUAL_READ as i32,
            Access::None => cushim_virtual_access::CUSHIM_VIRTUAL_NO_ACCESS as i32,
        };
        Ok(())
    })
}
