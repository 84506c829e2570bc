//! Whether the program's own memory can be read or written: a driver must not end the process because it cannot.

const PAGE: usize = 4096;

/// Whether all of some bytes can be read, and written if `writes`. What cannot be found out is taken for true.
pub(crate) fn is_reachable(address: usize, size: usize, writes: bool) -> bool {
    let start = address / PAGE * PAGE;
    let Some(end) = address.checked_add(size).and_then(|end| end.checked_next_multiple_of(PAGE)) else {
        return false;
    };
    let advice = if writes { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    // SAFETY: has the system do what an access of each page would have it do, and no more.
    if unsafe { libc::madvise(start as *mut _, end - start, advice) } == 0 {
        return true;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EFAULT | libc::ENOMEM) => false,
        // Either it cannot be accessed so, or the system cannot say it so.
        _ => is_mapped(start, end, writes),
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
    use super::{PAGE, is_mapped, is_reachable};

    #[test]
    fn rights_of_pages_and_gaps() {
        let map = |rights| {
            // SAFETY: a new mapping, placed by the system.
            unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                libc::mmap(std::ptr::null_mut(), 3 * PAGE, rights, flags, -1, 0) as usize
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
}
