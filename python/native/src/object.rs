//! The class from which all objects of the package are derived: it has their handles as numbers, where functions in Rust find them.

use crate::python::{BASE, Member, Object, PyType_FromSpec, SLOT_DOC, SLOT_MEMBERS, Slot, Spec, UNSIGNED};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null;

/// An object. What derived classes add lies behind.
#[repr(C)]
pub(crate) struct Base {
    head: Object,
    /// The value of the handle.
    handle: u64,
    /// Of a kernel: four bits for each of its first 32 parameters, a code of its size.
    sizes: [u64; 2],
}

const fn member(name: *const i8, offset: usize) -> Member {
    Member { name: name.cast(), kind: UNSIGNED, offset: offset as isize, flags: 0, doc: null() }
}

static MEMBERS: [Member; 4] = [
    member(c"_n".as_ptr().cast(), offset_of!(Base, handle)),
    member(c"_sizes_low".as_ptr().cast(), offset_of!(Base, sizes)),
    member(c"_sizes_high".as_ptr().cast(), offset_of!(Base, sizes) + 8),
    Member { name: null(), kind: 0, offset: 0, flags: 0, doc: null() },
];

/// Makes the class.
///
/// # Safety
/// The calling thread has Python's lock.
pub(crate) unsafe fn create() -> *mut Object {
    let text = |text: &'static std::ffi::CStr| text.as_ptr().cast_mut().cast::<c_void>();
    let mut slots = [
        Slot {
            slot: SLOT_DOC,
            function: text(c"What all objects are, with the handle's value as a number."),
        },
        Slot { slot: SLOT_MEMBERS, function: MEMBERS.as_ptr().cast_mut().cast() },
        Slot { slot: 0, function: std::ptr::null_mut() },
    ];
    let size = c_int::try_from(size_of::<Base>()).expect("it is small");
    let name = c"cushim._native.Base".as_ptr();
    let mut spec = Spec { name, size, item_size: 0, flags: BASE, slots: slots.as_mut_ptr() };
    // SAFETY: as the caller says; Python copies what the slots name, or it is constant.
    unsafe { PyType_FromSpec(&raw mut spec) }
}

/// The value of an object's handle.
///
/// # Safety
/// It is of a class that is derived from [`Base`], and the calling thread has Python's lock.
pub(crate) unsafe fn handle(object: *mut Object) -> u64 {
    // SAFETY: as the caller says.
    unsafe { (*object.cast::<Base>()).handle }
}

/// The bytes of a kernel's parameter that takes a number; `None` if it takes none, or that is unknown.
///
/// # Safety
/// As for [`handle`].
pub(crate) unsafe fn size(kernel: *mut Object, index: usize) -> Option<u32> {
    // SAFETY: as the caller says.
    let sizes = unsafe { (*kernel.cast::<Base>()).sizes };
    let code = sizes.get(index / 16)? >> (index % 16 * 4) & 15;
    (1..=4).contains(&code).then(|| 1 << (code - 1))
}
