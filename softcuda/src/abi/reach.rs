//! Whether the program's own memory can be read or written: a driver must not end the process because it cannot.

use std::cell::Cell;
use std::sync::LazyLock;

pub(super) const PAGE: usize = 4096;

/// Whether all of some bytes can be read, and written if `writes`. What cannot be found out is taken for true.
pub(crate) fn is_reachable(address: usize, size: usize, writes: bool) -> bool {
    let Some((start, end)) = pages(address, size) else { return false };
    populate(start, end, writes).unwrap_or_else(|| is_mapped(start, end, writes))
}

/// No page, and not to be written.
const NOTHING: (usize, bool) = (usize::MAX, false);

thread_local! {
    /// The page that the running call has asked about last, and whether to write there.
    static ASKED: Cell<(usize, bool)> = const { Cell::new(NOTHING) };
}

/// A call begins: what the one before has found out need not be so any more.
pub(crate) fn forget() {
    ASKED.set(NOTHING);
}

/// The same of what a parameter points to, for every call: of the thread's own stack it costs nothing, and where the system is too old
/// to tell quickly it is taken for true.
pub(crate) fn is_at_hand(address: usize, size: usize, writes: bool) -> bool {
    if size == 0 || is_on_stack(address, size) {
        return true;
    }
    let (page, (asked, written)) = (address / PAGE, ASKED.get());
    if page == asked && size <= PAGE - address % PAGE && (written || !writes) {
        return true;
    }
    let answer = (!writes && is_constant(address, size)) || is_there(address, size, writes);
    if answer {
        ASKED.set((page, writes));
    }
    answer
}

/// Whether the bytes are a program's or library's own, as the names of functions are that are looked up.
#[cfg(target_os = "linux")]
fn is_constant(address: usize, size: usize) -> bool {
    super::modules::has(address, size)
}

#[cfg(not(target_os = "linux"))]
fn is_constant(_: usize, _: usize) -> bool {
    false
}

fn is_there(address: usize, size: usize, writes: bool) -> bool {
    static IS_QUICK: LazyLock<bool> = LazyLock::new(|| {
        let here = 0u8;
        pages(&raw const here as usize, 1).is_some_and(|(start, end)| populate(start, end, false).is_some())
    });
    !*IS_QUICK || is_reachable(address, size, writes)
}

/// The first byte of the pages that some bytes are in, and the end of the last one; `None` if no memory can be there.
fn pages(address: usize, size: usize) -> Option<(usize, usize)> {
    let end = address.checked_add(size).and_then(|end| end.checked_next_multiple_of(PAGE))?;
    Some((address / PAGE * PAGE, end))
}

/// Has the system do what an access of each page would have it do; `None` if it cannot say whether that is possible.
fn populate(start: usize, end: usize, writes: bool) -> Option<bool> {
    #[cfg(test)]
    tests::QUESTIONS.set(tests::QUESTIONS.get() + 1);
    let advice = if writes { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    // SAFETY: changes no byte of any page.
    if unsafe { libc::madvise(start as *mut _, end - start, advice) } == 0 {
        return Some(true);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EFAULT | libc::ENOMEM) => Some(false),
        _ => None,
    }
}

/// Whether some bytes are of the calling thread's stack, in what its functions use of it now.
fn is_on_stack(address: usize, size: usize) -> bool {
    thread_local! {
        /// Where the stack begins and ends; nothing before the first question.
        static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    }
    let (lowest, end) = STACK.get().unwrap_or_else(|| {
        let stack = stack().unwrap_or_default();
        STACK.set(Some(stack));
        stack
    });
    let last = 0u8;
    let used = &raw const last as usize;
    // The thread may be on another stack, which a program gave it.
    (lowest..end).contains(&used) && (used..end).contains(&address) && size <= end - address
}

/// The lowest address of the calling thread's stack, and its end.
#[cold]
fn stack() -> Option<(usize, usize)> {
    // SAFETY: attributes are plain data, which the first call fills; they are read and destroyed only then.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let answer = libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (answer == 0).then(|| (lowest as usize, lowest as usize + size))
    }
}

/// Whether every page is in a mapping with these rights.
pub(crate) fn is_mapped(start: usize, end: usize, writes: bool) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
    let mut reached = start / PAGE * PAGE;
    for line in maps.lines() {
        // `7f0000000000-7f0000001000 rw-p …`, in the order of the addresses.
        let parsed = line.split_once(' ').and_then(|(range, rest)| {
            let (first, last) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some((number(first)?, number(last)?, rest.as_bytes()))
        });
        let Some((first, last, rights)) = parsed else { continue };
        if last <= reached {
            continue;
        }
        let has_rights = rights.first() == Some(&b'r') && (!writes || rights.get(1) == Some(&b'w'));
        if first > reached || !has_rights {
            return false;
        }
        reached = last;
        if reached >= end {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{PAGE, forget, is_at_hand, is_mapped, is_on_stack, is_reachable};
    use std::cell::Cell;

    thread_local! {
        /// How often the system was asked.
        pub(super) static QUESTIONS: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn names_of_functions_cost_no_question() {
        let names = ["cuInit", "cuDriverGetVersion", "cuGetProcAddress_v2"];
        if !super::is_constant(names[0].as_ptr().addr(), names[0].len()) {
            return; // an older C library
        }
        assert!(is_at_hand(names[0].as_ptr().addr(), names[0].len(), false));
        let before = QUESTIONS.get();
        for name in names {
            forget();
            assert!(is_at_hand(name.as_ptr().addr(), name.len(), false));
        }
        assert_eq!(QUESTIONS.get(), before);
        forget();
        // Constants are not written, and other memory may be gone.
        assert!(!is_at_hand(names[0].as_ptr().addr(), 1, true));
        assert!(is_at_hand(Box::leak(Box::new(0u64)) as *const u64 as usize, 8, false));
        assert!(QUESTIONS.get() > before);
    }

    #[test]
    fn rights_of_pages_and_gaps() {
        let map = |rights| {
            // Where the system puts nothing by itself, so that nobody takes the gap.
            let wish = 0x2000_0000_0000_usize as *mut _;
            // SAFETY: a new mapping; a place that is taken is only a wish.
            unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                libc::mmap(wish, 3 * PAGE, rights, flags, -1, 0) as usize
            }
        };
        let change = |address: usize, rights| {
            // SAFETY: a page of one of the mappings.
            assert_eq!(unsafe { libc::mprotect(address as *mut _, PAGE, rights) }, 0);
        };
        let all = map(libc::PROT_READ | libc::PROT_WRITE);
        let both = |address, size, writes| {
            let (reachable, mapped) =
                (is_reachable(address, size, writes), is_mapped(address, address + size, writes));
            assert_eq!(reachable, mapped, "{size} bytes");
            forget();
            assert_eq!(reachable, is_at_hand(address, size, writes), "{size} bytes");
            reachable
        };
        assert!(both(all, 3 * PAGE, true) && both(all + 5, 3 * PAGE - 5, false));
        change(all + PAGE, libc::PROT_READ);
        assert!(both(all, 3 * PAGE, false) && !both(all, 3 * PAGE, true) && both(all, PAGE, true));
        change(all + PAGE, libc::PROT_NONE);
        assert!(!both(all, 3 * PAGE, false) && !both(all + PAGE + 7, 1, false) && both(all, PAGE, true));
        // SAFETY: a page of the mapping, which nobody uses.
        assert_eq!(unsafe { libc::munmap((all + PAGE) as *mut _, PAGE) }, 0);
        assert!(!both(all, 3 * PAGE, false) && both(all + 2 * PAGE, PAGE, true));
        assert!(!is_reachable(usize::MAX - 5, 100, false));
    }

    #[test]
    fn the_stack_of_a_thread() {
        let look = || {
            let (here, there) = ([0u64; 4], Box::new(0u64));
            let address = &raw const here as usize;
            assert!(is_on_stack(address, 32) && !is_on_stack(address, 1 << 40));
            assert!(!is_on_stack(address - (1 << 20), 1), "nothing uses it now");
            assert!(
                !is_on_stack(&raw const *there as usize, 8)
                    && is_at_hand(&raw const *there as usize, 8, true)
            );
        };
        look();
        std::thread::spawn(look).join().unwrap();
    }
}
