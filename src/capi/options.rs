//! Structs that grow: how the library reads a caller's options and writes into a caller's out-struct.

use super::pointer;
use crate::object::error::{Error, Status};
use std::marker::PhantomData;

/// A copy of the caller's options, whatever version of the struct they are.
///
/// A shorter struct is completed with zeros, which mean the defaults. A longer one is accepted if what this library
/// does not know is zero.
///
/// # Safety
/// `T` is a `repr(C)` struct of plain data that starts with its `struct_size` and for which zeros are valid.
/// `options` is NULL, misaligned or valid for reads of the bytes that its `struct_size` names.
#[inline]
pub(super) unsafe fn read<T: Copy>(options: *const T, what: &str) -> Result<T, Error> {
    if options.is_null() {
        // SAFETY: zeros are valid for `T`, as the caller vouches.
        return Ok(unsafe { std::mem::zeroed() });
    }
    pointer::check(options, what)?;
    // SAFETY: it is aligned, and `struct_size` is the first member.
    let size = unsafe { options.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: the caller vouches for so many bytes.
        return Ok(unsafe { options.read() });
    }
    // SAFETY: as for this function.
    unsafe { read_another(options, size, what) }
}

/// As [`read`], of a struct of another size than ours.
///
/// # Safety
/// As for [`read`]; `size` is the struct's own.
#[cold]
unsafe fn read_another<T: Copy>(options: *const T, size: usize, what: &str) -> Result<T, Error> {
    check_size(size, what)?;
    let known = size_of::<T>();
    // SAFETY: zeros are valid for `T`, as the caller vouches.
    let mut copy: T = unsafe { std::mem::zeroed() };
    if size > known {
        // SAFETY: the caller vouches for `size` bytes.
        let tail = unsafe { std::slice::from_raw_parts(options.cast::<u8>().add(known), size - known) };
        if tail.iter().any(|byte| *byte != 0) {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                format!(
                    "{what}: struct_size is {size} and members beyond the {known} bytes that this cushim knows are set. \
                     Leave them zero, or use the cushim that the program was compiled for."
                ),
            ));
        }
    }
    // SAFETY: both sides are valid for the smaller of the two sizes.
    unsafe {
        std::ptr::copy_nonoverlapping(
            options.cast::<u8>(),
            std::ptr::from_mut(&mut copy).cast::<u8>(),
            size.min(known),
        );
    }
    Ok(copy)
}

/// The caller's array of at most [`MOST_ATTRIBUTES`](pointer::MOST_ATTRIBUTES) structs, one by one, whatever version
/// of the struct they are; a stride of 0 is the size of ours.
///
/// # Safety
/// `T` is a `repr(C)` struct of plain data for which zeros are valid. `first` is NULL, misaligned or valid for reads
/// of `count` times `stride` bytes, for as long as the result is used.
pub(super) unsafe fn array<T: Copy>(
    first: *const T,
    count: usize,
    stride: usize,
    what: &str,
) -> Result<impl Iterator<Item = T>, Error> {
    // SAFETY: as the caller vouches.
    unsafe { array_of_at_most(pointer::MOST_ATTRIBUTES, first, count, stride, what) }
}

/// The same of at most so many structs.
///
/// # Safety
/// As for [`array`].
pub(super) unsafe fn array_of_at_most<T: Copy>(
    most: usize,
    first: *const T,
    count: usize,
    stride: usize,
    what: &str,
) -> Result<impl Iterator<Item = T>, Error> {
    let stride = if stride == 0 { size_of::<T>() } else { stride };
    pointer::check_array(first, count, most, what)?;
    check_stride::<T>(stride, size_of::<T>(), what)?;
    // SAFETY: each element is aligned, and the caller vouches for the rest.
    Ok((0..count).map(move |index| unsafe { first.byte_add(index * stride).read() }))
}

/// Refuses a stride that is shorter than `least` bytes, longer than any struct, or that leaves structs misaligned.
pub(super) fn check_stride<T>(stride: usize, least: usize, what: &str) -> Result<(), Error> {
    if (least..=LARGEST).contains(&stride) && stride.is_multiple_of(align_of::<T>()) {
        return Ok(());
    }
    Err(Error::new(
        Status::INVALID_ARGUMENT,
        format!("the stride of {what} is {stride}; pass sizeof the struct, {} bytes here", size_of::<T>()),
    ))
}

/// A caller's out-struct. Until it is filled it is zero but for its `struct_size`: so is what a failed call leaves.
/// What this library does not know of a longer one stays as it is.
pub(super) struct OutStruct<'a, T> {
    bytes: &'a mut [u8],
    _of: PhantomData<T>,
}

impl<T> OutStruct<'_, T> {
    /// Refuses a struct that cannot be written; zeroes any other.
    ///
    /// # Safety
    /// As for [`read`], with `out` valid for writes while the result lives.
    pub(super) unsafe fn cleared(out: *mut T, what: &str) -> Result<Self, Error> {
        pointer::check(out, what)?;
        // SAFETY: it is aligned, and `struct_size` is the first member.
        let size = unsafe { out.cast::<usize>().read() };
        check_size(size, what)?;
        let size = size.min(size_of::<T>());
        // SAFETY: the caller vouches for as many bytes and more; they may be uninitialised, so they are written before they are
        // borrowed.
        let bytes = unsafe {
            out.cast::<u8>().add(size_of::<usize>()).write_bytes(0, size - size_of::<usize>());
            std::slice::from_raw_parts_mut(out.cast::<u8>(), size)
        };
        Ok(Self { bytes, _of: PhantomData })
    }

    /// Writes bytes of the member at this offset, as far as the struct goes; [`finish`](Self::finish) ends the struct.
    pub(super) fn put(&mut self, offset: usize, bytes: impl IntoIterator<Item = u8>) {
        let place = self.bytes.get_mut(offset..).unwrap_or_default();
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }

    /// Writes the number of bytes written into its `struct_size`.
    pub(super) fn finish(self) {
        // SAFETY: the struct is aligned, and begins with its size.
        unsafe { self.bytes.as_mut_ptr().cast::<usize>().write(self.bytes.len()) };
    }

    /// Writes `full` as far as the struct goes, and the number of bytes written into its `struct_size`.
    pub(super) fn fill(self, full: &T) {
        let size = self.bytes.len();
        // SAFETY: both have so many bytes, and `T` is plain data, as who made this vouches.
        unsafe {
            std::ptr::copy_nonoverlapping(
                std::ptr::from_ref(full).cast::<u8>(),
                self.bytes.as_mut_ptr(),
                size,
            );
        }
        self.finish();
    }
}

/// Refuses flags that are not known.
pub(super) fn check_flags(flags: u32, known: u32) -> Result<(), Error> {
    if flags & !known == 0 {
        return Ok(());
    }
    let refusal = format!("flags is {flags:#x}, of which {known:#x} is known");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}

/// Refuses a reserved member that is set.
pub(super) fn check_reserved(reserved: u32) -> Result<(), Error> {
    if reserved == 0 {
        return Ok(());
    }
    Err(Error::new(Status::INVALID_ARGUMENT, format!("reserved is {reserved}; it must be 0")))
}

/// No struct of the interface comes near it: more is a struct that was not initialised.
const LARGEST: usize = 1 << 16;

fn check_size(size: usize, what: &str) -> Result<(), Error> {
    if !(size_of::<usize>()..=LARGEST).contains(&size) {
        return Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("{what}: struct_size is {size}; set it to sizeof the struct before the call"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Old {
        struct_size: usize,
        a: u64,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct New {
        struct_size: usize,
        a: u64,
        b: u64,
    }

    fn read_old(new: &New) -> Result<Old, Error> {
        // SAFETY: `new` starts with the members of `Old` and is as long as it says.
        unsafe { read(std::ptr::from_ref(new).cast::<Old>(), "options") }
    }

    #[test]
    fn a_longer_struct_needs_a_zero_tail() {
        let new = New { struct_size: size_of::<New>(), a: 5, b: 0 };
        assert_eq!(read_old(&new).expect("a zero tail").a, 5);
        let error = read_old(&New { b: 1, ..new }).expect_err("a tail that is set");
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
    }

    #[test]
    fn a_shorter_struct_is_completed() {
        let old = Old { struct_size: size_of::<Old>(), a: 7 };
        // SAFETY: only the bytes of `old` are read.
        let new =
            unsafe { read(std::ptr::from_ref(&old).cast::<New>(), "options") }.expect("a shorter struct");
        assert_eq!((new.a, new.b), (7, 0));
    }

    #[test]
    fn size_zero_and_null() {
        let old = Old { struct_size: 0, a: 7 };
        // SAFETY: `old` is a struct of its own type.
        assert!(unsafe { read(&old, "options") }.is_err());
        let garbage = Old { struct_size: usize::MAX, a: 7 };
        // SAFETY: a size like this is refused before anything is read.
        assert!(unsafe { read(&garbage, "options") }.is_err());
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { read::<Old>(std::ptr::null(), "options") }.expect("defaults").a, 0);
    }

    #[test]
    fn an_older_out_struct_keeps_what_follows() {
        let full = New { struct_size: size_of::<New>(), a: 1, b: 2 };
        let mut room = New { struct_size: size_of::<Old>(), a: 0, b: 99 };
        // SAFETY: `room` is longer than it says.
        unsafe { OutStruct::cleared(&raw mut room, "out") }.expect("a place").fill(&full);
        assert_eq!(room, New { struct_size: size_of::<Old>(), a: 1, b: 99 });
    }

    #[test]
    fn what_is_not_filled_is_zero() {
        let mut room = New { struct_size: size_of::<New>(), a: 98, b: 99 };
        // SAFETY: `room` is as long as it says.
        let cleared = unsafe { OutStruct::cleared(&raw mut room, "out") };
        assert!(cleared.is_ok());
        assert_eq!(room, New { struct_size: size_of::<New>(), a: 0, b: 0 });
        room = New { struct_size: 0, a: 98, b: 99 };
        // SAFETY: a size like this is refused before anything is written.
        assert!(unsafe { OutStruct::cleared(&raw mut room, "out") }.is_err());
        assert_eq!(room.a, 98);
    }

    /// A newer program than this library.
    #[test]
    fn a_longer_out_struct_keeps_what_is_not_known() {
        let mut room = New { struct_size: size_of::<New>(), a: 98, b: 99 };
        // SAFETY: `room` starts with the members of `Old` and is as long as it says.
        let out = unsafe { OutStruct::cleared((&raw mut room).cast::<Old>(), "out") }.expect("a place");
        out.fill(&Old { struct_size: size_of::<Old>(), a: 5 });
        assert_eq!(room, New { struct_size: size_of::<Old>(), a: 5, b: 99 });
    }
}
