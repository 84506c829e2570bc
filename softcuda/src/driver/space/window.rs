//! The address window of device memory: where device pointers point, and where the bytes are.

use super::file::SharedFile;
use crate::driver::device;
use crate::instruments::complain::complain;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
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
    /// What the back is a mapping of, so that other processes can map parts of it; `None` where the system has no such files.
    file: Option<SharedFile>,
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

    /// Addresses at a multiple of `alignment`, which is one of `BLOCK`; those at `hint` if they are free. `size` is in whole blocks.
    pub(crate) fn reserve_at(size: usize, alignment: usize, hint: usize) -> Option<Self> {
        let window = WINDOW.as_ref()?;
        let wanted = hint.checked_sub(window.front).filter(|_| hint.is_multiple_of(alignment));
        let offset = window.ranges.lock().take_aligned(size, alignment, window.front, wanted)?;
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

/// A range whose bytes are those of a part of a file; dropping it frees it.
pub(crate) struct SharedRange {
    range: Range,
    /// Where the memory begins: before it may be bytes of the first page.
    skipped: usize,
}

impl SharedRange {
    /// Addresses for `size` bytes of the file from `offset` on. They begin where the bytes lie in their page.
    pub(crate) fn reserve(file: &SharedFile, offset: usize, size: usize) -> Option<Self> {
        let skipped = offset % PAGE;
        let pages = size.checked_add(skipped)?.checked_next_multiple_of(PAGE)?;
        let range = Range::reserve(pages)?;
        // SAFETY: a part of the back that nobody else has.
        let mapped = unsafe { file.map_over(range.bytes() as usize, offset - skipped, pages) };
        let shared = Self { range, skipped };
        mapped.then_some(shared)
    }

    /// The same, and so much of a device's memory; `None` if the device has not that much left.
    pub(crate) fn take(file: &SharedFile, offset: usize, size: usize, device: usize) -> Option<Self> {
        let claim = Claim::take(size, device)?;
        let mut shared = Self::reserve(file, offset, size)?;
        shared.range.claim = Some(claim);
        Some(shared)
    }

    /// The device pointer.
    pub(crate) fn address(&self) -> usize {
        self.range.address() + self.skipped
    }

    /// Where the bytes are.
    pub(crate) fn bytes(&self) -> *mut u8 {
        self.range.bytes().wrapping_add(self.skipped)
    }
}

impl Drop for SharedRange {
    /// The range is one of the window's own again.
    fn drop(&mut self) {
        let Range { window, offset, size, .. } = self.range;
        // SAFETY: a part of the back that nobody uses any more.
        let is_own = unsafe { window.own(window.back + offset, size) };
        if !is_own {
            complain("the system refuses a mapping; memory of another process stays mapped");
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.size >= WORTH_RETURNING {
            let start = (self.bytes() as usize).next_multiple_of(PAGE);
            let end = (self.bytes() as usize + self.size) / PAGE * PAGE;
            // SAFETY: whole pages of the back mapping that nobody uses any more.
            unsafe { renew(start, end - start) };
        }
        self.window.ranges.lock().give(self.offset, self.size);
    }
}

/// Gives the memory of whole pages of the driver's own back to the system: they are zero again. False if the system refuses that.
///
/// # Safety
/// The pages are the driver's, and nobody uses their bytes.
pub(crate) unsafe fn renew(start: usize, size: usize) -> bool {
    let is_shared =
        WINDOW.as_ref().is_some_and(|w| w.file.is_some() && (w.back..w.back + w.size).contains(&start));
    // What is shared stays for others who map it, until it is removed from the file.
    let advice = if is_shared { libc::MADV_REMOVE } else { libc::MADV_DONTNEED };
    // SAFETY: as the caller vouches.
    unsafe { libc::madvise(start as *mut _, size, advice) == 0 }
}

/// The file that the memory of devices is in, if other processes can map it.
pub(crate) fn file() -> Option<&'static SharedFile> {
    WINDOW.as_ref()?.file.as_ref()
}

/// Bytes that are in use on a device.
pub(crate) fn used(device: usize) -> u64 {
    WINDOW.as_ref().map_or(0, |window| window.used[device].load(Ordering::Relaxed))
}

/// Puts a file's memory behind device pointers, in place of their own bytes; false if the system refuses.
///
/// # Safety
///
/// The addresses are ranges' of the caller's alone.
pub(crate) unsafe fn put(address: usize, size: usize, file: BorrowedFd<'_>) -> bool {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: by this function's contract, a part of the back mapping that is the caller's.
    unsafe { remap(place(address) as usize, size, rights, libc::MAP_SHARED, file.as_raw_fd()) }
}

/// Takes it away: the addresses have bytes of their own again, all zero. Work that still uses them finds these, and no end of the
/// process.
///
/// # Safety
///
/// As for `put`.
pub(crate) unsafe fn take_away(address: usize, size: usize) -> bool {
    let at = place(address) as usize;
    // SAFETY: as in `put`.
    WINDOW.as_ref().is_some_and(|window| unsafe { window.own(at, size) && renew(at, size) })
}

/// Lets the host use a file's memory by device pointers, with these rights; without any if they are none.
///
/// # Safety
///
/// As for `put`.
pub(crate) unsafe fn show(address: usize, size: usize, file: BorrowedFd<'_>, rights: libc::c_int) -> bool {
    // SAFETY: a part of the front mapping that is the caller's, and that nobody may touch but by what this allows.
    unsafe { remap(address, size, rights, libc::MAP_SHARED, file.as_raw_fd()) }
}

/// The host has nothing at these device pointers.
///
/// # Safety
///
/// As for `put`.
pub(crate) unsafe fn hide(address: usize, size: usize) {
    // SAFETY: as in `show`.
    unsafe { remap(address, size, libc::PROT_NONE, libc::MAP_PRIVATE | ANONYMOUS, -1) };
}

const ANONYMOUS: libc::c_int = libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Replaces what is mapped at an address.
///
/// # Safety
///
/// The pages must be the caller's to replace.
unsafe fn remap(at: usize, size: usize, rights: libc::c_int, flags: libc::c_int, file: RawFd) -> bool {
    // SAFETY: by this function's contract.
    let done = unsafe { libc::mmap(at as *mut _, size, rights, flags | libc::MAP_FIXED, file, 0) };
    done != libc::MAP_FAILED
}

/// What a GPU maps at once: who may use memory of it may use all.
pub(crate) const BLOCK: usize = 2 << 20;

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

/// Where an address of the window is in it, and in its file.
pub(crate) fn offset(address: usize) -> usize {
    WINDOW.as_ref().map_or(0, |window| address.saturating_sub(window.front))
}

/// Whether the address can only be a device pointer, valid or stale.
pub(crate) fn contains(address: usize) -> bool {
    WINDOW.as_ref().is_some_and(|w| (w.front..w.front + w.size).contains(&address))
}

impl Window {
    /// Puts bytes of the window's own back where others were mapped.
    ///
    /// # Safety
    /// The pages are of the back, and the caller's to replace.
    unsafe fn own(&self, at: usize, size: usize) -> bool {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: by this function's contract.
        unsafe {
            match &self.file {
                Some(file) => file.map_over(at, at - self.back, size),
                None => remap(at, size, rights, libc::MAP_PRIVATE | ANONYMOUS, -1),
            }
        }
    }

    fn map() -> Option<Self> {
        let devices = device::count();
        let all = device::total_memory() * devices as u64;
        let sizes = HEADROOM.map(|times| (all * times).min(MOST_WINDOW) as usize);
        let Some((front, back, size, file)) = sizes.into_iter().find_map(map_twice) else {
            complain(&format!(
                "no {all} bytes of address space for device memory: lower SOFTCUDA_MEMORY or raise ulimit -v"
            ));
            return None;
        };
        let ranges = Mutex::new(Ranges::new(size));
        Some(Self {
            front,
            back,
            size,
            file,
            ranges,
            used: (0..devices).map(|_| AtomicU64::new(0)).collect(),
        })
    }
}

/// The window's two sides, their size, and what the back is a mapping of.
fn map_twice(size: usize) -> Option<(usize, usize, usize, Option<SharedFile>)> {
    // In whole blocks of addresses, as a GPU has them. What is before the first stays, and nobody's.
    let mapped = map(size.checked_add(BLOCK)?, libc::PROT_NONE)?;
    let front = mapped.next_multiple_of(BLOCK);
    if let Some((back, file)) = map_shared(size) {
        return Some((front, back, size, Some(file)));
    }
    let Some(back) = map(size, libc::PROT_READ | libc::PROT_WRITE) else {
        // SAFETY: our own mapping, of which nobody knows.
        unsafe { libc::munmap(mapped as *mut _, size + BLOCK) };
        return None;
    };
    Some((front, back, size, None))
}

/// A mapping that stays, of a new file.
fn map_shared(size: usize) -> Option<(usize, SharedFile)> {
    let file = SharedFile::create(c"softcuda-memory", size)?;
    let back = file.map(0, size)?;
    let address = back.address();
    std::mem::forget(back);
    Some((address, file))
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

/// Which ranges of the window, or of something else that is given out in parts, are free.
pub(crate) struct Ranges {
    /// Start and size; never two that touch.
    free: BTreeMap<usize, usize>,
    resting: VecDeque<(usize, usize)>,
}

impl Ranges {
    pub(crate) fn new(size: usize) -> Self {
        Self { free: BTreeMap::from([(0, size)]), resting: VecDeque::new() }
    }

    pub(crate) fn take(&mut self, size: usize) -> Option<usize> {
        self.take_free(size).or_else(|| {
            self.end_rest();
            self.take_free(size)
        })
    }

    /// As `take`, where `base` and what is taken are together a multiple of `alignment`; at `wanted` if nothing is in use there.
    fn take_aligned(
        &mut self,
        size: usize,
        alignment: usize,
        base: usize,
        wanted: Option<usize>,
    ) -> Option<usize> {
        let there = wanted.and_then(|wanted| {
            let at = |start| if start <= wanted { wanted } else { usize::MAX };
            self.take_where(size, at).or_else(|| {
                self.end_rest();
                self.take_where(size, at)
            })
        });
        let aligned =
            |start: usize| base.checked_add(start)?.checked_next_multiple_of(alignment)?.checked_sub(base);
        let anywhere = |start| aligned(start).unwrap_or(usize::MAX);
        there.or_else(|| self.take_where(size, anywhere)).or_else(|| {
            self.end_rest();
            self.take_where(size, anywhere)
        })
    }

    /// What was freed can be taken again.
    fn end_rest(&mut self) {
        while let Some((start, length)) = self.resting.pop_front() {
            self.release(start, length);
        }
    }

    fn take_free(&mut self, size: usize) -> Option<usize> {
        self.take_where(size, |start| start.next_multiple_of(alignment(size)))
    }

    /// Takes the first free range that has room from where `begin` puts it on. What lies before and behind the room stays free.
    fn take_where(&mut self, size: usize, begin: impl Fn(usize) -> usize) -> Option<usize> {
        let room = |(&start, &length): (&usize, &usize)| {
            let aligned = begin(start);
            let end = aligned.checked_add(size)?;
            (end <= start + length).then_some((start, length, aligned))
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

    pub(crate) fn give(&mut self, start: usize, size: usize) {
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
    fn blocks_begin_where_they_shall_and_at_a_hint_that_was_freed() {
        const BASE: usize = 3 * PAGE;
        let mut ranges = Ranges::new(64 * PAGE);
        let first = ranges.take_aligned(2 * PAGE, 8 * PAGE, BASE, None).unwrap();
        assert_eq!(first, 5 * PAGE, "with the base, the first multiple");
        assert_eq!(ranges.take_aligned(PAGE, PAGE, BASE, Some(7 * PAGE)), Some(7 * PAGE));
        ranges.give(7 * PAGE, PAGE);
        assert_eq!(ranges.take_aligned(PAGE, PAGE, BASE, Some(7 * PAGE)), Some(7 * PAGE), "it rested");
        assert_ne!(ranges.take_aligned(PAGE, PAGE, BASE, Some(7 * PAGE)), Some(7 * PAGE), "it is taken");
        assert_eq!(ranges.take_aligned(128 * PAGE, PAGE, BASE, None), None);
        assert_eq!(ranges.take_aligned(PAGE, 1 << 62, BASE, None), None, "no such address");
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
