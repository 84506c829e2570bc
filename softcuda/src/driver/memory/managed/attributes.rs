//! What managed memory was advised, and where it was prefetched to last. Where the pages of a range differ, the answer is
//! that there is no such place.

use super::Part;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_LOCATION_TYPE_INVALID, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
    CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2, CUmem_range_attribute,
    CUresult,
};
use crate::driver::context::current::current;
use crate::driver::memory::location::Location;
use crate::driver::memory::pages::Page;
use crate::driver::memory::table::Kind;
use crate::instruments::settings::version;
use std::ffi::c_void;

/// The ordinal of no place, `CU_DEVICE_INVALID`.
const NOWHERE: i32 = -2;

/// Bytes of a value, and of each item of those that have several.
const UNIT: usize = size_of::<i32>();

/// Of the host and the devices, those that access a page.
const HOST: i32 = -1;

/// Refuses attributes that the impersonated version does not know, and sizes that do not fit.
fn check(attribute: CUmem_range_attribute, size: usize) -> Answer {
    let since = match attribute.0 {
        1..=4 => 0,
        5..=8 => 12020,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    let fits = match attribute {
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => size > 0 && size.is_multiple_of(UNIT),
        _ => size == UNIT,
    };
    if since <= version() && fits { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// The value of an attribute that has one.
fn value(part: &Part, attribute: CUmem_range_attribute) -> Result<i32, CUresult> {
    let pages = part.pages()?;
    let place = |of: fn(&Page) -> Option<Location>| pages.common(part.touched(), of).flatten();
    let preferred = || place(|page| page.preferred);
    let prefetched = || place(|page| page.prefetched);
    let ordinal = |place: Option<Location>| place.map_or(NOWHERE, Location::ordinal);
    let kind = |place: Option<Location>| place.map_or(CU_MEM_LOCATION_TYPE_INVALID, Location::kind).0;
    let id = |place: Option<Location>| place.map_or(NOWHERE, Location::id);
    Ok(match attribute {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => {
            i32::from(pages.common(part.touched(), |page| page.read_mostly) == Some(true))
        }
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => ordinal(preferred()),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => kind(preferred()),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => id(preferred()),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => ordinal(prefetched()),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => kind(prefetched()),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => id(prefetched()),
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    })
}

/// Writes as many of those that access the range as there is room for: devices, then the host, then nobody. Memory of a pool
/// is accessed by the devices that were given access to that (measured).
fn write_accessed_by(part: &Part, data: Out<i32>, size: usize) -> Answer {
    let all = match &part.allocation.kind {
        Kind::Pooled(pooled) => pooled.pool().admitted(),
        _ => part.pages()?.accessed_by(part.touched()),
    };
    let host = all.contains(&HOST).then_some(HOST);
    let mut those = all.iter().copied().filter(|ordinal| *ordinal != HOST).chain(host);
    (0..size / UNIT).try_for_each(|i| data.set_item(i, those.next().unwrap_or(NOWHERE)))
}

fn write(part: &Part, attribute: CUmem_range_attribute, data: Out<i32>, size: usize) -> Answer {
    match attribute {
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => write_accessed_by(part, data, size),
        _ => data.set(value(part, attribute)?),
    }
}

pub(crate) fn cuMemRangeGetAttribute(
    data: *mut c_void,
    dataSize: usize,
    attribute: CUmem_range_attribute,
    devPtr: CUdeviceptr_v2,
    count: usize,
) -> Answer {
    current()?;
    let data = Out::untyped(data);
    data.check()?;
    check(attribute, dataSize)?;
    write(&Part::of(devPtr, count)?, attribute, data, dataSize)
}

/// All are checked before the first is written.
pub(crate) fn cuMemRangeGetAttributes(
    data: Out<*mut c_void>,
    dataSizes: Out<usize>,
    attributes: Out<CUmem_range_attribute>,
    numAttributes: usize,
    devPtr: CUdeviceptr_v2,
    count: usize,
) -> Answer {
    current()?;
    if numAttributes == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut wanted = Vec::new();
    for i in 0..numAttributes {
        let (attribute, data, size) = (attributes.item(i)?, Out::untyped(data.item(i)?), dataSizes.item(i)?);
        data.check()?;
        check(attribute, size)?;
        wanted.push((attribute, data, size));
    }
    let part = Part::of(devPtr, count)?;
    wanted.into_iter().try_for_each(|(attribute, data, size)| write(&part, attribute, data, size))
}
