//! The address window of device memory: where device pointers point, and where the bytes are.

use crate::driver::device;
use crate::instruments::complain::complain;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Alignment of every device allocation, and what its size is rounded up to.
pub(crate) const ALIGNMENT: usize = 512;

/// The window is so many times larger than all devices' memory, so that fragmentation does not matter; as many times as
/// the system allows.
const HEADROOM: [u64; 3] = [4, 2, 1];
const MOST_WINDOW: u64 = 16 << 40;

/// A freed range rests until this many others were freed after it: a stale pointer stays recognisable for a while.
const RESTING: usize = 256;

/// From this size on, a freed range gives its pages back to the system.
const WORTH_RETURNING: usize = 64 << 10;
const PAGE: usize = 4096;

struct Window {
    front: usize,
    back: usize,
    size: usize,
    ranges: Mutex<Ranges>,
    /// Bytes in use on each device.
    used: Vec<AtomicU64>,
}

static WINDOW: LazyLock<Option<Window>> = LazyLock::new(Window::map);

/// A range of the window, in use by one allocation; dropping it frees it.
pub(crate) struct Range {
    window: &'static Window,
    offset: usize,
    size: usize,
    /// `None` for addresses that may have no memory behind them.
    #[allow(dead_code)] // held for its drop
    claim: Option<Claim>,
}

/// Some of a device's memory; dropping it gives it back.
pub(crate) struct Claim {
    window: &'static Window,
    size: usize,
    device: usize,
}

impl Claim {
    /// `None` if the device has not that much left.
    pub(crate) fn take(size: usize, device: usize) -> Option<Self> {
        let window = WINDOW.as_ref()?;
        let limit = device::total_memory();
        let fits = |used: u64| used.checked_add(size as u64).filter(|&total| total <= limit);
        window.used[device].fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Self { window, size, device })
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.window.used[self.device].fetch_sub(self.size as u64, Ordering::Relaxed);
    }
}

impl Range {
    /// `None` if the device has not that much left.
    pub(crate) fn take(size: usize, device: usize) -> Option<Self> {
        let size = size.checked_next_multiple_of(ALIGNMENT)?;
        let claim = Claim::take(size, device)?;
        let mut range = Self::reserve(size)?;
        range.claim = Some(claim);
        Some(range)
    }

    /// Addresses for memory that a device may have later.
    pub(crate) fn reserve(size: usize) -> Option<Self> {
        let size = size.checked_next_multiple_of(ALIGNMENT)?;
        let window = WINDOW.as_ref()?;
        let offset = window.ranges.lock().take(size)?;
        Some(Self { window, offset, size, claim: None })
    }

    /// Bytes, in whole units.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The device pointer.
    pub(crate) fn address(&self) -> usize {
        self.window.front + self.offset
    }

    /// Where the bytes are.
    pub(crate) fn bytes(&self) -> *mut u8 {
        (self.window.back + self.offset) as *mut u8
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.size >= WORTH_RETURNING {
            let start = (self.bytes() as usize).next_multiple_of(PAGE);
            let end = (self.bytes() as usize + self.size) / PAGE * PAGE;
            // SAFETY: whole pages of the back mapping that nobody uses any more.
            unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_DONTNEED) };
        }
        self.window.ranges.lock().give(self.offset, self.size);
    }
}

/// Bytes that are in use on a device.
pub(crate) fn used(device: usize) -> u64 {
    WINDOW.as_ref().map_or(0, |window| window.used[device].load(Ordering::Relaxed))
}

/// What a GPU maps at once: who may use memory of it may use all.
const BLOCK: usize = 2 << 20;

/// The device pointers of the block that one lies in; `None` where there is no device memory.
pub(crate) fn block(address: usize) -> Option<std::ops::Range<usize>> {
    let window = WINDOW.as_ref().filter(|_| contains(address))?;
    let start = (address - window.front) / BLOCK * BLOCK;
    let end = (start + BLOCK).min(window.size);
    Some(window.front + start..window.front + end)
}

/// Where the byte is that an address of the window means; outside of it, at the address.
pub(crate) fn place(address: usize) -> *mut u8 {
    match WINDOW.as_ref().filter(|_| contains(address)) {
        Some(window) => (window.back + address - window.front) as *mut u8,
        None => address as *mut u8,
    }
}

/// Whether the address can only be a device pointer, valid or stale.
pub(crate) fn contains(address: usize) -> bool {
    WINDOW.as_ref().is_some_and(|w| (w.front..w.front + w.size).contains(&address))
}

impl Window {
    fn map() -> Option<Self> {
        let devices = device::count();
        let all = device::total_memory() * devices as u64;
        let sizes = HEADROOM.map(|times| (all * times).min(MOST_WINDOW) as usize);
        let Some((front, back, size)) = sizes.into_iter().find_map(map_twice) else {
            complain(&format!(
                "no {all} bytes of address space for device memory: lower SOFTCUDA_MEMORY or raise ulimit -v"
            ));
            return None;
        };
        let ranges = Mutex::new(Ranges::new(size));
        Some(Self { front, back, size, ranges, used: (0..devices).map(|_| AtomicU64::new(0)).collect() })
    }
}

/// The window's two sides, and their size.
fn map_twice(size: usize) -> Option<(usize, usize, usize)> {
    let front = map(size, libc::PROT_NONE)?;
    let Some(back) = map(size, libc::PROT_READ | libc::PROT_WRITE) else {
        // SAFETY: our own mapping, of which nobody knows.
        unsafe { libc::munmap(front as *mut _, size) };
        return None;
    };
    Some((front, back, size))
}

/// Address space without memory behind it, until it is written.
pub(crate) fn map(size: usize, rights: libc::c_int) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, placed by the system.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), size, rights, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address as usize)
}

/// What is as large as a page or larger begins at one, as on a GPU: programs put pages of their own into such memory.
fn alignment(size: usize) -> usize {
    if size >= PAGE { PAGE } else { ALIGNMENT }
}

/// Which ranges of the window are free.
struct Ranges {
    /// Start and size; never two that touch.
    free: BTreeMap<usize, usize>,
    resting: VecDeque<(usize, usize)>,
}

impl Ranges {
    fn new(size: usize) -> Self {
        Self { free: BTreeMap::from([(0, size)]), resting: VecDeque::new() }
    }

    fn take(&mut self, size: usize) -> Option<usize> {
        self.take_free(size).or_else(|| {
            while let Some((start, length)) = self.resting.pop_front() {
                self.release(start, length);
            }
            self.take_free(size)
        })
    }

    /// The first free range that has room. What lies before and behind the room stays free.
    fn take_free(&mut self, size: usize) -> Option<usize> {
        let room = |(&start, &length): (&usize, &usize)| {
            let aligned = start.next_multiple_of(alignment(size));
            (aligned + size <= start + length).then_some((start, length, aligned))
        };
        let (start, length, aligned) = self.free.iter().find_map(room)?;
        self.free.remove(&start);
        let behind = start + length - (aligned + size);
        for (start, length) in [(start, aligned - start), (aligned + size, behind)] {
            if length > 0 {
                self.free.insert(start, length);
            }
        }
        Some(aligned)
    }

    fn give(&mut self, start: usize, size: usize) {
        self.resting.push_back((start, size));
        if self.resting.len() > RESTING
            && let Some((start, size)) = self.resting.pop_front()
        {
            self.release(start, size);
        }
    }

    /// Makes a range free, joined with its free neighbours.
    fn release(&mut self, mut start: usize, mut size: usize) {
        if let Some(after) = self.free.remove(&(start + size)) {
            size += after;
        }
        if let Some((&before, &length)) = self.free.range(..start).next_back()
            && before + length == start
        {
            start = before;
            size += length;
        }
        self.free.insert(start, size);
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, RESTING, Ranges};

    #[test]
    fn freed_ranges_rest_and_then_join() {
        let mut ranges = Ranges::new(4096);
        let a = ranges.take(1024).unwrap();
        let b = ranges.take(1024).unwrap();
        assert_eq!((a, b), (0, 1024));
        ranges.give(a, 1024);
        assert_eq!(ranges.take(512), Some(2048), "a freed range is not reused at once");
        ranges.give(b, 1024);
        assert_eq!(ranges.take(2048), Some(0), "when space runs out, resting ranges are used, joined");
        assert_eq!(ranges.take(2048), None);
    }

    #[test]
    fn pages_begin_at_pages_and_the_gap_before_them_is_used() {
        let mut ranges = Ranges::new(6 * PAGE);
        assert_eq!(ranges.take(512), Some(0));
        assert_eq!(ranges.take(PAGE), Some(PAGE));
        assert_eq!(ranges.take(PAGE + 512), Some(2 * PAGE));
        assert_eq!(ranges.take(1024), Some(512), "before the page");
        assert_eq!(ranges.take(2 * PAGE), Some(4 * PAGE));
        assert_eq!(ranges.take(PAGE), None, "there are bytes enough, and no page");
    }

    #[test]
    fn rest_is_bounded() {
        let mut ranges = Ranges::new((RESTING + 2) * 512);
        for _ in 0..10 * RESTING {
            let start = ranges.take(512).unwrap();
            ranges.give(start, 512);
        }
        assert!(ranges.resting.len() <= RESTING);
    }
}
