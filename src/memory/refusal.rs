//! Why the driver refused a copy or a fill: its own answer is one number for everything. What it knows of the memory at
//! each end says which one is to blame.

use super::{BatchCopy, DevicePointer, Place, PointerAttributes};
use crate::driver::{Driver, sys};
use crate::error::Error;

/// Adds to the refusal of a copy which end has no memory, or too little.
#[cold]
pub(super) fn of_copy(failure: Error, driver: &Driver, to: Place, from: Place, bytes: usize) -> Error {
    explain(failure, || copy(driver, "", to, from, bytes))
}

/// Adds to the refusal of several copies, of which `first` is the first, which one has no memory, or too little.
#[cold]
pub(super) fn of_copies(failure: Error, driver: &Driver, copies: &[BatchCopy], first: usize) -> Error {
    explain(failure, || {
        copies.iter().enumerate().find_map(|(index, item)| {
            copy(driver, &format!(" of item {}", first + index), item.to, item.from, item.bytes)
        })
    })
}

/// Adds to the refusal of a fill whether there is no memory, or too little.
#[cold]
pub(super) fn of_fill(failure: Error, driver: &Driver, at: DevicePointer, bytes: usize) -> Error {
    explain(failure, || end(driver, "memory to fill", Place::Device(at), bytes))
}

fn explain(mut failure: Error, why: impl FnOnce() -> Option<String>) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0
        && let Some(why) = why()
    {
        failure.message.push_str(&format!(". {why}"));
    }
    failure
}

fn copy(driver: &Driver, of: &str, to: Place, from: Place, bytes: usize) -> Option<String> {
    end(driver, &format!("destination{of}"), to, bytes)
        .or_else(|| end(driver, &format!("source{of}"), from, bytes))
}

/// What is wrong with one end. Of ordinary host memory the driver knows nothing, and nothing is said.
fn end(driver: &Driver, what: &str, place: Place, bytes: usize) -> Option<String> {
    let address = place.address().filter(|_| bytes != 0)?;
    let known = PointerAttributes::of(driver, address).ok()?;
    match known.range {
        Some((start, size)) => {
            let left = (start.0 + size as u64).saturating_sub(address);
            (bytes as u64 > left).then(|| {
                format!(
                    "The {what}, {address:#x}, has {left} bytes left in its allocation of {size}, too few for {bytes}"
                )
            })
        }
        None if known.memory_type.is_none() && matches!(place, Place::Device(_)) => Some(format!(
            "The {what}, {address:#x}, is no memory that the driver knows: it was freed before, or never allocated"
        )),
        None => None,
    }
}
