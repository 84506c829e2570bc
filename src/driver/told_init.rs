//! Tells of a `cuInit` that a program calls by the table. The table has the driver's own functions, so the library does not see
//! such a call.
//!
//! The log needs to know, since a driver takes a listener to its log only once it is initialised. So if a driver is opened while
//! the log is at level debug, `cuInit` in its tables is one of the functions here, which calls the driver's and then tells.
//! Otherwise it is the driver's, and so is everything else always.

use super::sys::{CUDA_ERROR_NOT_INITIALIZED, CUDA_SUCCESS, CUresult};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type Init = unsafe extern "C" fn(flags: u32) -> CUresult;

/// How many drivers can be told apart; the log of others begins when the library itself initialises them.
const MOST: usize = 4;

/// A driver's own function, and what is told of its success, each time.
struct Told {
    own: Init,
    tell: fn(usize),
}

static TOLD: [OnceLock<Told>; MOST] = [const { OnceLock::new() }; MOST];

const TELLING: [Init; MOST] = [telling::<0>, telling::<1>, telling::<2>, telling::<3>];

/// A function that calls `own` and then `tell`, with the number that is returned beside it.
pub(super) fn telling_of(own: Init, tell: fn(usize)) -> Option<(usize, Init)> {
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let number = TAKEN.fetch_add(1, Relaxed);
    TOLD.get(number)?.get_or_init(|| Told { own, tell });
    Some((number, TELLING[number]))
}

unsafe extern "C" fn telling<const NUMBER: usize>(flags: u32) -> CUresult {
    let Some(Told { own, tell }) = TOLD[NUMBER].get() else { return CUDA_ERROR_NOT_INITIALIZED };
    // SAFETY: it is the driver's function, called as the program calls this one.
    let result = unsafe { own(flags) };
    if result == CUDA_SUCCESS {
        tell(NUMBER);
    }
    result
}
