//! Giving up what managed memory holds, so that nobody copies it.

use super::range::{cushim_range, range, ranges};
use crate::capi::batch::{batch_options, cushim_batch_options};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, location, locations};
use crate::capi::stream::cushim_stream;

/// Gives up what a range of managed memory holds, after the work that is in the stream by now: until it is written again, a
/// read gives anything. Pages that are written next need not be copied from where they were.
///
/// The driver has no call for one range: it is a batch of one, and refused where a batch is. Memory of the process is not
/// discarded, also where the device reaches it.
///
/// @param stream The stream; not the legacy default stream, nor one that is being captured.
/// @param range The range. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for
/// memory that is not managed, and for the legacy default stream or one that is being captured; `CUSHIM_ERROR_UNSUPPORTED`
/// before driver 13.0, and if any device has no concurrent managed access; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any. Driver: 13.0.
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
        unsafe { hold(stream)?.discard(range) }
    })
}

/// Gives up what several ranges of managed memory hold; see `cushim_stream_discard`. `cushim_batch_options` says what all
/// batches have in common; drivers without the call refuse it, whatever the options say.
///
/// @param stream The stream; not the legacy default stream, nor one that is being captured.
/// @param ranges The ranges. Read during the call only. Must not be NULL.
/// @param range_count How many; at least 1.
/// @param options The options; NULL for the defaults.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_stream_discard`: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges; `CUSHIM_ERROR_UNSUPPORTED`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any. Driver: 13.0.
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `options` of what it says. Nobody reads the memory before it
/// is written again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_discard_batch(
    stream: cushim_stream,
    ranges: *const cushim_range,
    range_count: usize,
    options: *const cushim_batch_options,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (ranges, options) =
            unsafe { (self::ranges(ranges, range_count, "ranges")?, batch_options(options)?) };
        // SAFETY: the caller vouches for the memory.
        unsafe { hold(stream)?.discard_batch(&ranges, options) }
    })
}

/// Gives up what a range of managed memory holds and moves it: the memory is there, and what it held was not copied. See
/// `cushim_stream_discard`.
///
/// @param stream The stream; not the legacy default stream, nor one that is being captured.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param location The location. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_stream_discard`: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a location that does not exist; `CUSHIM_ERROR_UNSUPPORTED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any. Driver: 13.0.
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
        unsafe { hold(stream)?.discard_prefetch(range, location) }
    })
}

/// Gives up what several ranges of managed memory hold and moves them, all to one location or each to its own; see
/// `cushim_stream_discard_batch`.
///
/// @param stream The stream; not the legacy default stream, nor one that is being captured.
/// @param ranges The ranges. Read during the call only. Must not be NULL.
/// @param range_count How many; at least 1.
/// @param locations The locations. Read during the call only. Must not be NULL.
/// @param location_count How many: 1 for all ranges, or as many as there are ranges.
/// @param options The options; NULL for the defaults.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_stream_discard_batch`: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for numbers that do not fit and a location that does not exist;
/// `CUSHIM_ERROR_UNSUPPORTED`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any. Driver: 13.0.
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `locations` of `location_count` locations, `options` of what
/// it says. Nobody reads the memory before it is written again.
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
        let locations = unsafe { self::locations(locations, location_count, "locations") }?;
        // SAFETY: the caller vouches for the options.
        let options = unsafe { batch_options(options) }?;
        // SAFETY: the caller vouches for the memory.
        unsafe { hold(stream)?.discard_prefetch_batch(&ranges, &locations, options) }
    })
}
