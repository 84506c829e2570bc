//! Moving managed memory to where it will be used.

use super::range::{cushim_range, range, ranges};
use crate::capi::batch::{batch_options, cushim_batch_options};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, location, locations};
use crate::capi::stream::cushim_stream;

/// Moves a range of managed memory to a location after the work that is in the stream by now. What it holds does not
/// change, and it can be used meanwhile.
///
/// @param stream The stream; any but one that is being captured.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param location The location. Read during the call only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_STREAM_REQUIRED` for NULL, `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for
/// memory that is not managed, for a location that does not exist, and for a stream that is being captured;
/// `CUSHIM_ERROR_UNSUPPORTED` without concurrent managed access, and for NUMA nodes before driver 12.2;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `range` and `location` are NULL or valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_prefetch(
    stream: cushim_stream,
    range: *const cushim_range,
    location: *const cushim_location,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (range, location) =
            unsafe { (self::range(range, "range")?, self::location(location, "location")?) };
        hold(stream)?.prefetch(range, location)
    })
}

/// Moves several ranges of managed memory, all to one location or each to its own. `cushim_batch_options` says what all
/// batches have in common. The driver's call for many came with 13.0.
///
/// @param stream The stream; not the legacy default stream, nor one that is being captured.
/// @param ranges The ranges. Read during the call only. Must not be NULL.
/// @param range_count How many; at least 1.
/// @param locations The locations. Read during the call only. Must not be NULL.
/// @param location_count How many: 1 for all ranges, or as many as there are ranges.
/// @param options The options; NULL for the defaults.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_stream_prefetch`: `CUSHIM_ERROR_STREAM_REQUIRED`, `CUSHIM_ERROR_INVALID_HANDLE`;
/// `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges, for numbers that do not fit and for the legacy default stream;
/// `CUSHIM_ERROR_UNSUPPORTED`, also before driver 13.0 if the options refuse a loop; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `locations` of `location_count` locations, `options` of what
/// it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_prefetch_batch(
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
        hold(stream)?.prefetch_batch(&ranges, &locations, options)
    })
}
