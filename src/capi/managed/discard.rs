//! Giving up what managed memory holds, so that nobody copies it.
//!
//! @header cushim.h
//! @task place managed memory

use super::range::{cushim_range, range, ranges};
use crate::capi::batch::{batch_options, cushim_batch_options};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, location, locations_of};
use crate::capi::stream::cushim_stream;
use crate::managed::Discard;

/// Discards the contents of a range of managed memory, in stream order: until it is written again, reads return
/// undefined values. The driver then need not copy the contents when the memory moves.
///
/// The driver has a batch call only, so this is a batch of one, with the limits of a batch. Pageable memory cannot be
/// discarded.
///
/// @param[in] stream The stream; not the legacy default stream.
/// @param[in] range The range.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed, for the legacy default stream, and for a
///   stream that is being captured; `CUSHIM_ERROR_UNSUPPORTED` if any device has no concurrent managed access.
/// @driver 13.0
///
/// # Safety
/// `range` is NULL or valid for reads. Nobody reads the memory before it is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_discard(
    stream: cushim_stream,
    range: *const cushim_range,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let range = unsafe { self::range(range, "range") }?;
        // SAFETY: the caller vouches for the memory.
        unsafe { hold(stream)?.enqueue(&mut Discard::new(&[range])) }
    })
}

/// Discards the contents of several ranges of managed memory, as `cushim_stream_discard` does. See
/// `cushim_batch_options`.
///
/// @param[in] stream The stream; not the legacy default stream.
/// @param[in, array(range_count)] ranges The ranges.
/// @param[in, example(2)] range_count The number of ranges; at least 1.
/// @param[in, nullable] options The options.
/// @errors as `cushim_stream_discard`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges;
///   `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 13.0
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `options` of what it says. Nobody reads the memory
/// before it is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_discard_batch(
    stream: cushim_stream,
    ranges: *const cushim_range,
    range_count: usize,
    options: *const cushim_batch_options,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both. No option changes anything here.
        let (ranges, _) = unsafe { (self::ranges(ranges, range_count, "ranges")?, batch_options(options)?) };
        // SAFETY: the caller vouches for the memory.
        unsafe { hold(stream)?.enqueue(&mut Discard::new(&ranges)) }
    })
}

/// Discards the contents of a range of managed memory and moves the memory, without copying; see
/// `cushim_stream_discard`.
///
/// @param[in] stream The stream; not the legacy default stream.
/// @param[in] range The range.
/// @param[in] location The location.
/// @errors as `cushim_stream_discard`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a location that does not exist;
///   `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 13.0
///
/// # Safety
/// `range` and `location` are NULL or valid for reads. Nobody reads the memory before it is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_discard_prefetch(
    stream: cushim_stream,
    range: *const cushim_range,
    location: *const cushim_location,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (range, location) =
            unsafe { (self::range(range, "range")?, self::location(location, "location")?) };
        // SAFETY: the caller vouches for the memory.
        unsafe { hold(stream)?.enqueue(&mut Discard::new(&[range]).with_prefetch(&[location])) }
    })
}

/// Discards the contents of several ranges of managed memory and moves the memory, as
/// `cushim_stream_discard_prefetch` does. See `cushim_batch_options`.
///
/// @param[in] stream The stream; not the legacy default stream.
/// @param[in, array(range_count)] ranges The ranges.
/// @param[in, example(2)] range_count The number of ranges; at least 1.
/// @param[in, array(location_count)] locations The locations.
/// @param[in] location_count 1 for all ranges, or the number of ranges.
/// @param[in, nullable] options The options.
/// @errors as `cushim_stream_discard_prefetch`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges and for numbers
///   that do not match; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 13.0
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `locations` of `location_count` locations, `options`
/// of what it says. Nobody reads the memory before it is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_discard_prefetch_batch(
    stream: cushim_stream,
    ranges: *const cushim_range,
    range_count: usize,
    locations: *const cushim_location,
    location_count: usize,
    options: *const cushim_batch_options,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the ranges.
        let ranges = unsafe { self::ranges(ranges, range_count, "ranges") }?;
        // SAFETY: the caller vouches for the locations.
        let locations = unsafe { locations_of(ranges.len(), locations, location_count) }?;
        // SAFETY: the caller vouches for the options, none of which changes anything here.
        unsafe { batch_options(options) }?;
        // SAFETY: the caller vouches for the memory.
        unsafe { hold(stream)?.enqueue(&mut Discard::new(&ranges).with_prefetch(&locations)) }
    })
}
