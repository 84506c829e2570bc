//! Copies of ranges and boxes, in a stream's order or at once.
//!
//! @header cushim.h
//! @task copy memory

use super::endpoint::{
    CallersEndpoint, Role, Spot, address_alone, cushim_endpoint, cushim_extent, cushim_region, extent_of,
    region,
};
use crate::capi::context::cushim_context;
use crate::capi::error::{call_taking, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::input::given;
use crate::capi::stream::cushim_stream;
use crate::object::callback::Lending;
use crate::object::error::Error;
use crate::object::handle::Guard;
use crate::op::{Copy, Copy3d, Endpoint, Extent, Side};
use crate::stream::Stream;

/// Copies bytes from one endpoint to another in stream order. It returns before they have arrived, unless one
/// endpoint is ordinary (not page-locked) host memory: then it may wait for them. A copy of zero bytes succeeds
/// without checking the addresses.
///
/// Memory of another device's pool is copied only if the pool gives the stream's device access
/// (`cushim_resource_add_peers`), or if both endpoints are buffers with resources or name their contexts. Other
/// memory of other devices is copied always: directly where one device reaches the other's memory, else through the
/// host.
///
/// @param[in] stream The stream.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in, example(64)] bytes How many.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an endpoint that is NULL, is past the end of its buffer or of
///   all addresses, is said to be device memory and is none, and, in a stream that is being captured, for host memory
///   that nothing keeps for the graph (`cushim_endpoint_flags`, or an owner); `CUSHIM_ERROR_INVALID_HANDLE`, also for
///   an object of another driver; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @driver any
///
/// # Safety
/// `destination` and `source` are NULL or valid for reads, and their owners valid. Both endpoints hold so many bytes,
/// apart from each other, and stay good until the stream has passed the copy; until then nobody writes the source,
/// and nobody else uses the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy(
    stream: cushim_stream,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for both.
        let (Some(destination), Some(source)) =
            (unsafe { (address_alone(destination), address_alone(source)) })
        else {
            // SAFETY: as the caller vouches.
            return unsafe { between_buffers(lending, guard, stream, destination, source, bytes) };
        };
        let lent = get(&guard, stream)?;
        let held;
        let stream: &Stream = if matches!((destination, source), (Side::Device(_), Side::Device(_))) {
            &lent
        } else {
            // A destroy in another thread need not wait for this call.
            held = lent.clone();
            drop(lent);
            drop(guard);
            &held
        };
        // SAFETY: the caller vouches for the memory.
        unsafe { without_owners(stream, Copy::new(Endpoint::at(destination), Endpoint::at(source), bytes)) }
    })
}

/// The same copy where an endpoint is in a buffer.
///
/// # Safety
/// As for [`cushim_stream_copy`].
#[inline(never)]
unsafe fn between_buffers(
    lending: &Lending,
    guard: Guard,
    stream: cushim_stream,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> Result<(), Error> {
    // SAFETY: the caller vouches for both.
    let held = match unsafe { (Spot::read(&guard, destination), Spot::read(&guard, source)) } {
        (Some(destination), Some(source)) => {
            let stream = get(&guard, stream)?;
            if !destination.may_block() && !source.may_block() {
                let copy = Copy::new(destination.endpoint(), source.endpoint(), bytes);
                // SAFETY: the caller vouches for the memory.
                return unsafe { without_owners(&stream, copy) };
            }
            Some((destination.held(), source.held(), stream.clone()))
        }
        _ => None,
    };
    let Some((destination, source, stream)) = held else {
        // SAFETY: as the caller vouches.
        return unsafe { between_places(lending, guard, stream, destination, source, bytes) };
    };
    // A destroy in another thread need not wait for this call.
    drop(guard);
    // SAFETY: the caller vouches for the memory.
    unsafe { without_owners(&stream, Copy::new(destination.endpoint(), source.endpoint(), bytes)) }
}

/// # Safety
/// As for [`cushim_stream_copy`]; the copy has no owners.
#[inline(always)]
unsafe fn without_owners(stream: &Stream, mut copy: Copy<'_>) -> Result<(), Error> {
    // SAFETY: as the caller vouches.
    let result = unsafe { stream.enqueue(&mut copy) };
    // It holds nothing that would have to be let go of.
    std::mem::forget(copy);
    result
}

/// The same copy where an endpoint is more than an address.
///
/// # Safety
/// As for [`cushim_stream_copy`].
#[inline(never)]
unsafe fn between_places(
    lending: &Lending,
    guard: Guard,
    stream: cushim_stream,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> Result<(), Error> {
    // SAFETY: the caller vouches for both.
    let (destination, source) = unsafe {
        (
            CallersEndpoint::read(&guard, destination, "destination")?,
            CallersEndpoint::read(&guard, source, "source")?,
        )
    };
    let stream = get(&guard, stream)?;
    if !destination.may_block() && !source.may_block() {
        // SAFETY: the caller vouches for the memory and the owners.
        return unsafe { in_stream(lending, &stream, &destination, &source, bytes) };
    }
    let (destination, source, held) = (destination.held(), source.held(), stream.clone());
    drop(stream);
    drop(guard);
    // SAFETY: as above.
    unsafe { in_stream(lending, &held, &destination, &source, bytes) }
}

/// # Safety
/// As for [`cushim_stream_copy`].
unsafe fn in_stream(
    lending: &Lending,
    stream: &Stream,
    destination: &CallersEndpoint<'_>,
    source: &CallersEndpoint<'_>,
    bytes: usize,
) -> Result<(), Error> {
    // SAFETY: as the caller vouches.
    unsafe { stream.enqueue(&mut range(lending, destination, source, bytes)?) }
}

/// # Safety
/// The owners are NULL or valid; a source whose bytes are to be kept has so many.
#[inline]
pub(in crate::capi) unsafe fn range<'a>(
    lending: &Lending,
    destination: &'a CallersEndpoint<'_>,
    source: &'a CallersEndpoint<'_>,
    bytes: usize,
) -> Result<Copy<'a>, Error> {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut copy = range_without_owners(destination, source, bytes)?;
        lend_owners(lending, &mut copy, destination, source);
        Ok(copy)
    }
}

/// The same as long as something may be refused: an owner that is lent is released if the copy is dropped.
///
/// # Safety
/// A source whose bytes are to be kept has so many.
#[inline]
pub(super) unsafe fn range_without_owners<'a>(
    destination: &'a CallersEndpoint<'_>,
    source: &'a CallersEndpoint<'_>,
    bytes: usize,
) -> Result<Copy<'a>, Error> {
    // SAFETY: as the caller vouches.
    let ends =
        unsafe { (destination.endpoint(Role::Destination, || 0)?, source.endpoint(Role::Source, || bytes)?) };
    Ok(Copy::new(ends.0, ends.1, bytes))
}

/// # Safety
/// The owners are NULL or valid.
#[inline]
pub(super) unsafe fn lend_owners(
    lending: &Lending,
    copy: &mut Copy<'_>,
    destination: &CallersEndpoint<'_>,
    source: &CallersEndpoint<'_>,
) {
    let [to_end, from_end] = copy.endpoints_mut();
    // SAFETY: as the caller vouches.
    unsafe {
        destination.lend_owner(lending, to_end);
        source.lend_owner(lending, from_end);
    }
}

/// The regions of a copy, with the objects that they name.
pub(in crate::capi) struct Regions<'g> {
    destination: (cushim_region, CallersEndpoint<'g>),
    source: (cushim_region, CallersEndpoint<'g>),
    extent: Extent,
}

impl<'g> Regions<'g> {
    /// # Safety
    /// All three are NULL or valid for reads.
    pub(in crate::capi) unsafe fn read(
        guard: &'g Guard,
        destination: *const cushim_region,
        source: *const cushim_region,
        extent: *const cushim_extent,
    ) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        let (destination, source, extent) =
            unsafe { (given(destination, "destination")?, given(source, "source")?, extent_of(extent)?) };
        let destination = (destination, CallersEndpoint::of(guard, destination.endpoint, "destination")?);
        Ok(Self {
            destination,
            source: (source, CallersEndpoint::of(guard, source.endpoint, "source")?),
            extent,
        })
    }

    fn held(self) -> Regions<'static> {
        let held = |(region, endpoint): (cushim_region, CallersEndpoint<'_>)| (region, endpoint.held());
        Regions { destination: held(self.destination), source: held(self.source), extent: self.extent }
    }

    /// # Safety
    /// As for [`range`], for the bytes of the boxes.
    pub(in crate::capi) unsafe fn copy(&self, lending: &Lending) -> Result<Copy3d<'_>, Error> {
        // SAFETY: as the caller vouches.
        unsafe {
            let destination =
                region(&self.destination.0, &self.destination.1, Role::Destination, self.extent)?;
            let source = region(&self.source.0, &self.source.1, Role::Source, self.extent)?;
            let mut copy = Copy3d::new(destination, source, self.extent);
            let [destination, source] = copy.endpoints_mut();
            self.destination.1.lend_owner(lending, destination);
            self.source.1.lend_owner(lending, source);
            Ok(copy)
        }
    }
}

/// Copies a box from one endpoint to another in stream order, as `cushim_stream_copy` does: rows of bytes, slices of
/// rows. A copy of an empty box succeeds without checking the regions.
///
/// @param[in] stream The stream.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in] extent The size of the box.
/// @errors As `cushim_stream_copy`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for rows or slices that are closer together
///   than the box is large; `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @driver any
///
/// # Safety
/// `destination`, `source` and `extent` are NULL or valid for reads, and the owners valid. Both endpoints hold the
/// boxes, apart from each other, and stay good until the stream has passed the copy; until then nobody writes the
/// source, and nobody else uses the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_3d(
    stream: cushim_stream,
    destination: *const cushim_region,
    source: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all three.
        let regions = unsafe { Regions::read(&guard, destination, source, extent) }?.held();
        let stream = (*get(&guard, stream)?).clone();
        drop(guard);
        // SAFETY: the caller vouches for the memory and the owners.
        unsafe { stream.enqueue(&mut regions.copy(lending)?) }
    })
}

/// Copies bytes from one endpoint to another; synchronous: they have arrived when it returns. It waits for the
/// context's legacy default stream, and so for the blocking streams; work in other streams runs beside it. Otherwise
/// as `cushim_stream_copy`.
///
/// @param[in] context The context.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in, example(64)] bytes How many.
/// @errors As `cushim_stream_copy`; an error of earlier work may appear here. `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @sync legacy
/// @driver any
///
/// # Safety
/// `destination` and `source` are NULL or valid for reads, and their owners valid. Both endpoints hold so many bytes,
/// apart from each other, and nobody else uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_copy(
    context: cushim_context,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for both.
        let (destination, source) = unsafe {
            (
                CallersEndpoint::read(&guard, destination, "destination")?,
                CallersEndpoint::read(&guard, source, "source")?,
            )
        };
        let (destination, source) = (destination.held(), source.held());
        let context = get(&guard, context)?.clone();
        drop(guard);
        // SAFETY: the caller vouches for the memory and the owners.
        unsafe { context.run(&mut range(lending, &destination, &source, bytes)?) }
    })
}

/// Copies a box from one endpoint to another; synchronous: it has arrived when this returns. It waits as
/// `cushim_context_copy` does. Otherwise as `cushim_stream_copy_3d`.
///
/// @param[in] context The context.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in] extent The size of the box.
/// @errors As `cushim_stream_copy_3d`; an error of earlier work may appear here. `CUSHIM_ERROR_INVALID_ARGUMENT`;
///   `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) for a buffer whose context was reset.
/// @sync legacy
/// @driver any
///
/// # Safety
/// `destination`, `source` and `extent` are NULL or valid for reads, and the owners valid. Both endpoints hold the
/// boxes, apart from each other, and nobody else uses them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_copy_3d(
    context: cushim_context,
    destination: *const cushim_region,
    source: *const cushim_region,
    extent: *const cushim_extent,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        // SAFETY: the caller vouches for all three.
        let regions = unsafe { Regions::read(&guard, destination, source, extent) }?.held();
        let context = get(&guard, context)?.clone();
        drop(guard);
        // SAFETY: the caller vouches for the memory and the owners.
        unsafe { context.run(&mut regions.copy(lending)?) }
    })
}
