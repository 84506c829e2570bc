//! Copies and memsets of views.

use super::element::DeviceCopy;
use super::memory::Access;
use super::view::{View, ordered};
use crate::event::{Event, EventOptions};
use crate::object::error::{Error, Status};
use crate::op::{Copy, Endpoint, Memset, Value};
use crate::stream::Stream;

/// Copies between two views, whose memory is the library's: it stays until the stream is done, or is kept by the graph.
pub(super) fn between<T: DeviceCopy>(
    stream: &Stream,
    to: View<'_, T>,
    from: View<'_, T>,
) -> Result<(), Error> {
    check_lengths(to.len(), from.len())?;
    ordered(stream, &[(to.memory(), Access::Write), (from.memory(), Access::Read)], || {
        let mut copy = Copy::new(to.endpoint(), from.endpoint(), size_of::<T>() * to.len());
        // SAFETY: both views are inside of their memory, which is freed after this in the order of streams; they are apart, as one is
        // borrowed for writing. A graph keeps the buffers.
        unsafe { stream.enqueue(&mut copy) }
    })
}

pub(super) fn from_host<T: DeviceCopy>(stream: &Stream, to: View<'_, T>, from: &[T]) -> Result<(), Error> {
    check_lengths(to.len(), from.len())?;
    let host = Endpoint::host_source(from.as_ptr());
    ordered(stream, &[(to.memory(), Access::Write)], || {
        let copy = Copy::new(to.endpoint(), host, size_of_val(from));
        // SAFETY: the host's memory is borrowed until this returns; the rest as for `between`.
        unsafe { and_wait(stream, copy) }
    })
}

pub(super) fn to_host<T: DeviceCopy>(stream: &Stream, from: View<'_, T>, to: &mut [T]) -> Result<(), Error> {
    check_lengths(to.len(), from.len())?;
    let bytes = size_of_val(to);
    // SAFETY: so many elements are borrowed until this returns, and any bytes are elements.
    unsafe { to_address(stream, from, to.as_mut_ptr(), bytes) }
}

pub(super) fn to_vec<T: DeviceCopy>(stream: &Stream, from: View<'_, T>) -> Result<Vec<T>, Error> {
    let mut elements: Vec<T> = Vec::new();
    if elements.try_reserve_exact(from.len()).is_err() {
        let refusal =
            format!("the process has no memory for {} elements of {} bytes", from.len(), size_of::<T>());
        return Err(Error::new(Status::OUT_OF_MEMORY, refusal));
    }
    // SAFETY: there is room for so many, which all are written when this has succeeded.
    unsafe {
        to_address(stream, from, elements.as_mut_ptr(), size_of::<T>() * from.len())?;
        elements.set_len(from.len());
    }
    Ok(elements)
}

/// # Safety
/// So many bytes at the address may be written until this returns.
unsafe fn to_address<T: DeviceCopy>(
    stream: &Stream,
    from: View<'_, T>,
    to: *mut T,
    bytes: usize,
) -> Result<(), Error> {
    ordered(stream, &[(from.memory(), Access::Read)], || {
        let copy = Copy::new(Endpoint::host(to), from.endpoint(), bytes);
        // SAFETY: as the caller vouches; the rest as for `between`.
        unsafe { and_wait(stream, copy) }
    })
}

/// Enqueues a copy of memory that is the host's only until this returns.
///
/// # Safety
/// As for [`Stream::enqueue`], until this returns.
unsafe fn and_wait(stream: &Stream, mut copy: Copy<'_>) -> Result<(), Error> {
    let done = Event::create(stream.context(), &EventOptions::default())?;
    // Captured, it would be done whenever the graph is launched.
    let captures = stream.hold_captures();
    if captures.is_none() || stream.is_capturing()? {
        return Err(stream.under_capture(
            "a copy of the host's own memory would be made whenever the graph is launched: make it before or after, or in another stream",
        ));
    }
    // SAFETY: as the caller vouches.
    unsafe { stream.enqueue(&mut copy) }?;
    match done.record(stream) {
        Ok(()) => {
            drop(captures); // others may wait for them, and for longer than this
            done.synchronize()
        }
        Err(_) => stream.synchronize(),
    }
}

pub(super) fn fill<T: DeviceCopy>(stream: &Stream, view: View<'_, T>, value: Value) -> Result<(), Error> {
    let values = size_of::<T>() * view.len() / value.bytes();
    ordered(stream, &[(view.memory(), Access::Write)], || {
        let mut memset = Memset::new(view.endpoint(), value, values);
        // SAFETY: the values are inside of the view; the rest as for `between`.
        unsafe { stream.enqueue(&mut memset) }
    })
}

pub(super) fn fill_zero<T: DeviceCopy>(stream: &Stream, view: View<'_, T>) -> Result<(), Error> {
    fill(stream, view, Value::U8(0))
}

fn check_lengths(to: usize, from: usize) -> Result<(), Error> {
    if to == from {
        return Ok(());
    }
    let refusal =
        format!("{from} elements do not fit a destination of {to}; copy a range of it, view().range(..)");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}
