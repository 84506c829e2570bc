//! Children of a process that had initialised.
//!
//! `fork` calls a hook. A child that was made without it (`_Fork`, a bare `clone`) finds a page empty that the kernel wipes there
//! (Linux 4.14).

use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_OPERATING_SYSTEM;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

const NO_CHILD: u8 = 1;

static AT_FIRST: AtomicU8 = AtomicU8::new(NO_CHILD);
/// What says whether this is a child; 0 there.
static SIGN: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const AT_FIRST).cast_mut());

fn sign() -> &'static AtomicU8 {
    // SAFETY: it is a static, or stands in a page that is never unmapped.
    unsafe { &*SIGN.load(Ordering::Acquire) }
}

/// Whether this is a child of the process that watched.
pub(super) fn is_child() -> bool {
    sign().load(Ordering::Relaxed) != NO_CHILD
}

/// Has children know what they are.
pub(super) fn watch() -> Answer {
    extern "C" fn in_child() {
        sign().store(0, Ordering::Relaxed);
    }
    if let Some(page) = wiped_page() {
        page.store(NO_CHILD, Ordering::Relaxed);
        SIGN.store(std::ptr::from_ref(page).cast_mut(), Ordering::Release);
    }
    // SAFETY: the handler stores to an atomic, which is allowed between fork and exec, and the library stays loaded.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        _ => Err(CUDA_ERROR_OPERATING_SYSTEM),
    }
}

/// The first byte of a page that is empty in every child.
fn wiped_page() -> Option<&'static AtomicU8> {
    const PAGE: usize = 4096; // or a part of a larger one
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory, which stays.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), PAGE, access, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        if libc::madvise(page, PAGE, libc::MADV_WIPEONFORK) != 0 {
            libc::munmap(page, PAGE);
            return None;
        }
        Some(&*page.cast())
    }
}
