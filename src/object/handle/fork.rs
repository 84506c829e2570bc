//! The child of a fork is told so: CUDA does not work there, and locks may be held by threads that it does not have.
//!
//! `fork` calls a hook. A child that was made without it (`_Fork`, a bare `clone`) finds a page empty that the kernel wipes there
//! (Linux 4.14); an older kernel does not, so there the number of the process is compared.

#[cfg(all(unix, not(loom)))]
use crate::object::error::Error;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// What the sign says; in a child it is 0.
const NO_CHILD: u8 = 1;
/// No child by its hook; the number of the process tells about others.
const LOOK: u8 = 2;

static AT_FIRST: AtomicU8 = AtomicU8::new(NO_CHILD);
/// The sign that is in use.
static SIGN: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const AT_FIRST).cast_mut());
static PROCESS: AtomicU32 = AtomicU32::new(0);

fn sign() -> &'static AtomicU8 {
    // SAFETY: it is a static, or stands in a page that is never unmapped.
    unsafe { &*SIGN.load(Ordering::Acquire) }
}

/// Whether this process is the child of a fork that happened after the library was used.
#[inline]
pub(crate) fn forked() -> bool {
    let sign = sign().load(Ordering::Relaxed);
    sign != NO_CHILD && is_child(sign)
}

#[cold]
fn is_child(sign: u8) -> bool {
    sign != LOOK || PROCESS.load(Ordering::Relaxed) != std::process::id()
}

/// Sees to it that children of later forks know what they are.
#[cfg(all(unix, not(loom)))]
pub(crate) fn watch() {
    static WATCHED: parking_lot::Once = parking_lot::Once::new();

    extern "C" fn in_child() {
        sign().store(0, Ordering::Relaxed);
    }

    WATCHED.call_once(|| {
        Error::prepare_for_forks();
        match wiped_page() {
            Some(page) => {
                page.store(NO_CHILD, Ordering::Relaxed);
                SIGN.store(std::ptr::from_ref(page).cast_mut(), Ordering::Release);
            }
            None => {
                PROCESS.store(std::process::id(), Ordering::Relaxed);
                AT_FIRST.store(LOOK, Ordering::Release);
            }
        }
        // SAFETY: the hook touches an atomic only, and its code is never unloaded. It can be refused for want of memory
        // alone; the page is enough then.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// The first byte of a page that is empty in every child.
#[cfg(all(target_os = "linux", not(loom)))]
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

#[cfg(all(unix, not(target_os = "linux"), not(loom)))]
fn wiped_page() -> Option<&'static AtomicU8> {
    None
}

#[cfg(not(all(unix, not(loom))))]
pub(crate) fn watch() {}
