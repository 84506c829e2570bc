//! Objects that are made where they stay.

use std::mem::MaybeUninit;
use std::sync::Arc;

/// As [`Arc::new`], without a copy of what `make` makes: to copy a large object takes about as long as to make it.
#[inline(always)]
pub(crate) fn arc_of<T>(make: impl FnOnce() -> T) -> Arc<T> {
    // `Arc::new_uninit` calls functions that find the layout out at run time.
    let place = Arc::new(MaybeUninit::<T>::uninit());
    // SAFETY: nobody else has it yet, and it is written before anybody looks.
    unsafe {
        let object = Arc::as_ptr(&place).cast_mut().cast::<T>();
        object.write(make());
        place.assume_init()
    }
}
