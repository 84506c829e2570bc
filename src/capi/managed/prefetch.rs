//! Moving managed memory to where it will be used.
//!
//! @header cushim.h
//! @task place managed memory

use super::range::{cushim_range, range, ranges};
use crate::capi::batch::{batch_options, cushim_batch_options};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, location, locations_of};
use crate::capi::stream::cushim_stream;

/// Prefetches a range of managed memory to a location, in stream order. The contents do not change, and the memory
/// can be used meanwhile.
///
/// @param[in] stream The stream.
/// @param[in] range The range.
/// @param[in] location The location.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed, for a location that does not exist, and
///   for a stream that is being captured; `CUSHIM_ERROR_UNSUPPORTED` without concurrent managed access, and for a
///   NUMA node before CUDA 12.2.
/// @driver any
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
        hold(stream)?.prefetch(&range, location)
    })
}

/// Prefetches several ranges of managed memory, as `cushim_stream_prefetch` does. See `cushim_batch_options`; the
/// driver's batch call came with CUDA 13.0.
///
/// @param[in] stream The stream; not the legacy default stream.
/// @param[in, array(range_count)] ranges The ranges.
/// @param[in, example(2)] range_count The number of ranges; at least 1.
/// @param[in, array(location_count)] locations The locations.
/// @param[in] location_count 1 for all ranges, or the number of ranges.
/// @param[in, nullable] options The options.
/// @errors as `cushim_stream_prefetch`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges, for numbers that do not
///   match, and for the legacy default stream; `CUSHIM_ERROR_UNSUPPORTED`, also before CUDA 13.0 with
///   `CUSHIM_BATCH_REFUSE_LOOP`.
/// @driver any
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `locations` of `location_count` locations, `options`
/// of what it says.
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
        let locations = unsafe { locations_of(ranges.len(), locations, location_count) }?;
        // SAFETY: the caller vouches for the options.
        let options = unsafe { batch_options(options) }?;
        hold(stream)?.prefetch_batch(&ranges, &locations, options)
    })
}
