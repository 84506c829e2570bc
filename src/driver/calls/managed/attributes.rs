//! What the driver knows of a range of managed memory.

use super::Range;
use super::location::of_ordinal;
use crate::driver::CallError;
use crate::driver::call;
use crate::driver::calls::context::RawContext;
use crate::driver::sys::{
    CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
    CUmem_range_attribute, CUmemLocationType,
};
use std::ffi::c_void;

/// A location as the driver tells it: type and number.
pub(crate) type Told = (CUmemLocationType, i32);

/// What a range has of its own.
pub(crate) struct RangeAttributes {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Told,
    pub(crate) last_prefetch: Told,
}

/// Asks in one call. Drivers before 12.2 tell ordinals.
pub(crate) fn of(context: &RawContext, range: Range) -> Result<RangeAttributes, CallError> {
    // These attributes came with the second form of the advice; there is no function of their own to tell them by.
    if context.table().cuMemAdvise_12020.is_some() {
        let [read_mostly, preferred, preferred_id, last, last_id] = numbers(
            context,
            range,
            [
                CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
                CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
                CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
                CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
            ],
        )?;
        return Ok(RangeAttributes {
            read_mostly: read_mostly != 0,
            preferred: (CUmemLocationType(preferred), preferred_id),
            last_prefetch: (CUmemLocationType(last), last_id),
        });
    }
    let [read_mostly, preferred, last] = numbers(
        context,
        range,
        [
            CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
            CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
            CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
        ],
    )?;
    Ok(RangeAttributes {
        read_mostly: read_mostly != 0,
        preferred: of_ordinal(preferred),
        last_prefetch: of_ordinal(last),
    })
}

/// Attributes that are one number of four bytes each.
fn numbers<const N: usize>(
    context: &RawContext,
    (pointer, bytes): Range,
    mut attributes: [CUmem_range_attribute; N],
) -> Result<[i32; N], CallError> {
    let table = context.table();
    let mut values = [0; N];
    let mut places = values.each_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>());
    let mut sizes = [size_of::<i32>(); N];
    let _current = context.enter()?;
    // SAFETY: as many places and sizes as attributes, each place as large as its size says.
    unsafe {
        call!(
            table,
            cuMemRangeGetAttributes_8000(
                places.as_mut_ptr(),
                sizes.as_mut_ptr(),
                attributes.as_mut_ptr(),
                N,
                pointer,
                bytes,
            )
        )
    }?;
    Ok(values)
}

/// The locations by which all of the range is said to be accessed, of at most `most`, in the driver's order.
pub(crate) fn accessed_by(
    context: &RawContext,
    (pointer, bytes): Range,
    most: usize,
) -> Result<Vec<Told>, CallError> {
    let table = context.table();
    let mut ordinals = vec![0; most];
    let _current = context.enter()?;
    // SAFETY: writes as many numbers as the vector holds.
    unsafe {
        call!(
            table,
            cuMemRangeGetAttribute_8000(
                ordinals.as_mut_ptr().cast(),
                size_of_val(ordinals.as_slice()),
                CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                pointer,
                bytes,
            )
        )
    }?;
    let is_set = |(kind, _): &Told| *kind != crate::driver::sys::CU_MEM_LOCATION_TYPE_INVALID;
    Ok(ordinals.into_iter().map(of_ordinal).filter(is_set).collect())
}
