//! Plain device memory of another process, which has told of it on its board.

use crate::driver::device::Device;
use crate::driver::sharing::{Entry, Handle, Subject};
use crate::driver::space::file::SharedFile;
use crate::driver::space::window::{self, SharedRange};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The words of an entry: where in the file the memory begins, its bytes, the number of the file in the process, and the device's.
const OFFSET: usize = 0;
const BYTES: usize = 1;
const FILE: usize = 2;
const DEVICE: usize = 3;

/// Memory of another process, as one context has it.
pub(crate) struct Opened {
    range: SharedRange,
    entry: Entry,
    size: usize,
    device: Device,
    /// How often it was opened, and not closed.
    times: AtomicUsize,
}

/// Why memory of another process cannot be opened.
pub(super) enum Refusal {
    /// It is not, or no longer, there.
    Gone,
    /// This process does not see the device.
    NoDevice,
    /// There are no addresses for it.
    NoRoom,
}

/// Tells of memory of this process; `None` where processes share nothing, or the board is full.
pub(super) fn tell(address: usize, size: usize, device: Device) -> Option<Entry> {
    let file = window::file()?;
    let words = [window::offset(address), size, file.number() as usize, device.number()];
    Entry::new(Subject::Memory, words.map(|word| word as u64))
}

impl Opened {
    /// Maps memory of another process.
    pub(super) fn new(handle: &Handle) -> Result<Self, Refusal> {
        let entry = Entry::open(handle, Subject::Memory).ok_or(Refusal::Gone)?;
        let number = |word: usize| usize::try_from(entry.word(word)).map_err(|_| Refusal::Gone);
        let (offset, size) = (number(OFFSET)?, number(BYTES)?);
        let device = Device::with_number(number(DEVICE)?).ok_or(Refusal::NoDevice)?;
        let descriptor = i32::try_from(number(FILE)?).map_err(|_| Refusal::Gone)?;
        let file = SharedFile::of_process(handle.process, descriptor).ok_or(Refusal::Gone)?;
        let end = offset.checked_add(size).filter(|end| size > 0 && *end <= file.size());
        end.ok_or(Refusal::Gone)?;
        let range = SharedRange::reserve(&file, offset, size).ok_or(Refusal::NoRoom)?;
        Ok(Self { range, entry, size, device, times: AtomicUsize::new(0) })
    }

    /// The device pointer, its bytes, and where they are.
    pub(super) fn place(&self) -> (usize, usize, *mut u8) {
        (self.range.address(), self.size, self.range.bytes())
    }

    /// Whose memory it is.
    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Whether it is what another process told of by this handle.
    pub(super) fn is(&self, handle: &Handle) -> bool {
        self.entry.is(handle)
    }

    /// It was opened once more.
    pub(super) fn open(&self) {
        self.times.fetch_add(1, Ordering::Relaxed);
    }

    /// It was closed; true if it was not opened once more than that.
    pub(super) fn close(&self) -> bool {
        let more = |times: usize| times.checked_sub(1).filter(|left| *left > 0);
        self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err()
    }
}
