//! What a caller's pointer and count must be before anything is read or written there: every array, struct and
//! out-parameter of the C ABI passes here.

use crate::object::error::{Error, Status};

/// The most items of an array: as many as there can be handles.
pub(super) const MOST_ITEMS: usize = 1 << 24;

/// The most arguments of a kernel: all together take at most 32,764 bytes.
pub(super) const MOST_ARGUMENTS: usize = 32_764;

/// The most bytes of a block of arguments that is looked at: twice as many, so that the refusal of a larger one names
/// the kernel.
pub(super) const MOST_OF_BLOCK: usize = 1 << 16;

/// The most options of a load, and attributes of a launch: ten times as many as CUDA 13 has.
pub(super) const MOST_ATTRIBUTES: usize = 256;

/// The most locations and devices where each is named once: more than a machine has.
pub(super) const MOST_LOCATIONS: usize = 4096;

/// Whether there can be a `T`.
#[inline(always)]
pub(super) fn is_good<T>(pointer: *const T) -> bool {
    !pointer.is_null() && pointer.is_aligned()
}

/// Refuses a pointer that points to no `T`.
#[inline(always)]
pub(super) fn check<T>(pointer: *const T, what: &str) -> Result<(), Error> {
    if is_good(pointer) { Ok(()) } else { Err(no_pointer(pointer.addr(), align_of::<T>(), what)) }
}

/// The same for a pointer that may be NULL.
#[inline(always)]
pub(super) fn check_if_given<T>(pointer: *const T, what: &str) -> Result<(), Error> {
    if pointer.is_aligned() { Ok(()) } else { Err(no_pointer(pointer.addr(), align_of::<T>(), what)) }
}

/// Refuses what is no array of `count` items, which are at most `most`. With a count of 0 the pointer means nothing.
#[inline(always)]
pub(super) fn check_array<T>(first: *const T, count: usize, most: usize, what: &str) -> Result<(), Error> {
    if count == 0 || (count <= most && is_good(first)) {
        return Ok(());
    }
    Err(no_array(first.addr(), align_of::<T>(), count, most, what))
}

/// The most items of type `T` in an array without a limit of its own. No memory has more than `isize::MAX` bytes.
pub(super) const fn most<T>() -> usize {
    const { assert!(size_of::<T>() <= isize::MAX as usize / MOST_ITEMS) };
    if size_of::<T>() == 1 { isize::MAX as usize } else { MOST_ITEMS }
}

/// The refusal of a pointer that must not be NULL.
#[cold]
pub(super) fn null(what: &str) -> Error {
    invalid(format!("{what} must not be NULL"))
}

#[cold]
fn no_pointer(address: usize, alignment: usize, what: &str) -> Error {
    if address == 0 { null(what) } else { misaligned(address, alignment, what) }
}

#[cold]
fn misaligned(address: usize, alignment: usize, what: &str) -> Error {
    invalid(format!(
        "{what} is {address:#x}, which is not aligned to {alignment} bytes; pass a pointer to a variable of its type, \
         or a copy of the data in one"
    ))
}

#[cold]
fn no_array(address: usize, alignment: usize, count: usize, most: usize, what: &str) -> Error {
    if address == 0 {
        return invalid(format!(
            "{what} must not be NULL where its count is {count}; pass the array, or a count of 0"
        ));
    }
    if count > most {
        return invalid(format!(
            "{what} has a count of {count}, which is more than the {most} that can be; check that the count is set"
        ));
    }
    misaligned(address, alignment, what)
}

fn invalid(refusal: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers() {
        let value = [0_u64; 2];
        let middle = value.as_ptr().wrapping_byte_add(4);
        assert!(check(value.as_ptr(), "value").is_ok());
        assert!(check(middle.cast::<u32>(), "value").is_ok());
        assert!(check(middle, "value").expect_err("misaligned").message.contains("not aligned to 8 bytes"));
        assert!(
            check(std::ptr::null::<u64>(), "value")
                .expect_err("NULL")
                .message
                .contains("value must not be NULL")
        );
        assert!(check_if_given(std::ptr::null::<u64>(), "value").is_ok());
        assert!(check_if_given(middle, "value").is_err());
    }

    #[test]
    fn counts() {
        let value = 0_u64;
        let check = |count| check_array(&raw const value, count, most::<u64>(), "values");
        assert!(check(0).is_ok() && check(1).is_ok() && check(MOST_ITEMS).is_ok());
        assert!(check(MOST_ITEMS + 1).expect_err("too many").message.contains("16777216"));
        assert!(check_array(std::ptr::null::<u64>(), 0, 1, "values").is_ok());
        assert!(check_array(std::ptr::null::<u64>(), 1, 1, "values").is_err());
        assert_eq!(most::<u8>(), isize::MAX as usize);
    }
}
