//! Managed memory.

use super::{Library, at};

/// What all streams may use from the beginning.
pub(crate) const GLOBAL: u64 = 1;

/// A range attribute.
pub(crate) const LAST_PREFETCH: u64 = 4;

/// Neither a device nor the host.
pub(crate) const NOWHERE: i32 = -2;

/// `CUmemLocation`, which travels in a register.
pub(crate) const fn location(kind: u32, id: u32) -> u64 {
    kind as u64 | (id as u64) << 32
}

pub(crate) const DEVICE: u64 = location(1, 0);
pub(crate) const HOST: u64 = location(2, 0);

pub(crate) const PAGE: u64 = 4096;
pub(crate) const SIZE: u64 = 1 << 20;

pub(crate) fn managed(cu: &Library, size: u64) -> u64 {
    let mut pointer = 0;
    assert_eq!(cu.call("cuMemAllocManaged", &[at(&mut pointer), size, GLOBAL]), 0);
    pointer
}

pub(crate) fn bytes(pointer: u64, size: u64) -> &'static mut [u8] {
    // SAFETY: managed memory of that size, which the host may use when the test says so.
    unsafe { std::slice::from_raw_parts_mut(pointer as *mut u8, size as usize) }
}

/// A range attribute that is a number.
pub(crate) fn attribute(cu: &Library, pointer: u64, size: u64, attribute: u64) -> i32 {
    let mut value = 99i32;
    assert_eq!(cu.call("cuMemRangeGetAttribute", &[at(&mut value), 4, attribute, pointer, size]), 0);
    value
}

/// Where the driver has put the page of an address.
pub(crate) fn residence(cu: &Library, address: u64) -> i32 {
    let mut place = 99;
    assert_eq!(cu.call("softcuda_residence", &[address, at(&mut place)]), 0);
    place
}
