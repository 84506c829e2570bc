//! The memory of pools that several processes have: it lies in a file, behind a board that tells which of it is exported. The
//! descriptor of that file is all that another process needs, also when the first one has ended.

use crate::driver::device::Device;
use crate::driver::sharing::{Board, Entry, Handle, Nonce, Subject};
use crate::driver::space::host_pages::HostPages;
use crate::driver::space::window::{Ranges, SharedRange};
use parking_lot::Mutex;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory comes in whole pages: what lies in one, whoever imports some of it has all of.
pub(super) const PAGE: usize = 4096;

/// What a board says in place of a device's number, for a pool of the host's node.
const NODE: u64 = u64::MAX;

/// The words of an exported pointer's entry: where in the file it is, its bytes, and whether it was told that it is freed.
const OFFSET: usize = 0;
const BYTES: usize = 1;

/// What makes a pool one of several processes.
pub(crate) struct Sharing {
    board: Arc<Board>,
    /// Which parts of the file are free; `None` if another process gives them out.
    room: Option<Mutex<Ranges>>,
    /// Whose memory it is; `None` for the host's node.
    device: Option<Device>,
    /// Whether a descriptor of the pool was given, before which its memory is not exported.
    is_given: AtomicBool,
}

/// Where memory of such a pool is in this process.
enum Place {
    Device(SharedRange),
    Host(Arc<HostPages>),
}

/// Memory of such a pool; dropping it gives it back, or, if another process gave it out, unmaps it.
pub(crate) struct SharedStore {
    sharing: Arc<Sharing>,
    place: Place,
    offset: usize,
    size: usize,
    /// Of memory that was imported: what the other process told of it.
    entry: Option<Entry>,
}

impl Sharing {
    /// For a new pool of at most so many bytes; `None` if the system has no memory that processes share.
    pub(super) fn new(device: Option<Device>, most: usize) -> Option<Arc<Self>> {
        // Room for fragments.
        let room = most.checked_mul(2)?.checked_next_multiple_of(PAGE)?;
        let about = device.map_or(NODE, |device| device.number() as u64);
        let board = Board::of_new_pool(room, about)?;
        Some(Arc::new(Self {
            board,
            room: Some(Mutex::new(Ranges::new(room))),
            device,
            is_given: AtomicBool::new(false),
        }))
    }

    /// Another process's pool, or one of this process's, which is then known twice.
    pub(crate) fn import(descriptor: RawFd) -> Option<Arc<Self>> {
        let board = Board::of_pool(descriptor)?;
        let device = match board.about() {
            NODE => None,
            number => Some(Device::with_number(usize::try_from(number).ok()?)?),
        };
        Some(Arc::new(Self { board, room: None, device, is_given: AtomicBool::new(false) }))
    }

    /// Whose memory it is; `None` for the host's node.
    pub(crate) fn device(&self) -> Option<Device> {
        self.device
    }

    /// Whether another process gives the memory out, or another pool of this one.
    pub(super) fn is_imported(&self) -> bool {
        self.room.is_none()
    }

    /// A descriptor of the pool, for a caller.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        let descriptor = self.board.file().give()?;
        self.is_given.store(true, Ordering::Relaxed);
        Some(descriptor)
    }

    /// Whether a descriptor was given once.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Relaxed)
    }

    /// New memory of the pool.
    pub(super) fn take(self: &Arc<Self>, size: usize) -> Option<SharedStore> {
        let size = size.checked_next_multiple_of(PAGE)?;
        let start = self.room.as_ref()?.lock().take(size)?;
        let store = self.map(Board::end() + start, size, true, None);
        if store.is_none() {
            self.give(start, size);
        }
        store
    }

    fn give(&self, start: usize, size: usize) {
        if let Some(room) = &self.room {
            self.board.file().clear(Board::end() + start, size);
            room.lock().give(start, size);
        }
    }

    fn map(
        self: &Arc<Self>,
        offset: usize,
        size: usize,
        is_new: bool,
        entry: Option<Entry>,
    ) -> Option<SharedStore> {
        let file = self.board.file();
        let place = match self.device {
            Some(device) if is_new => Place::Device(SharedRange::take(file, offset, size, device.ordinal())?),
            Some(_) => Place::Device(SharedRange::reserve(file, offset, size)?),
            None => {
                let pages = Arc::new(HostPages::map(size)?);
                // SAFETY: a new mapping of the driver's.
                unsafe { file.map_over(pages.address, offset, size) }.then_some(Place::Host(pages))?
            }
        };
        Some(SharedStore { sharing: Arc::clone(self), place, offset, size, entry })
    }

    /// The memory that another process told of; `None` if it is not, or no longer, there. With its bytes, as they were asked for.
    pub(crate) fn open(self: &Arc<Self>, handle: &Handle) -> Option<(SharedStore, usize)> {
        let entry = Entry::open_on(&self.board, handle, Subject::Pointer)?;
        let [offset, size] = [OFFSET, BYTES].map(|word| usize::try_from(entry.word(word)).ok());
        let (offset, size) = (offset?, size?);
        let pages = size.checked_next_multiple_of(PAGE).filter(|_| size > 0)?;
        let end = offset.checked_add(pages)?;
        if !offset.is_multiple_of(PAGE) || offset < Board::end() || end > self.board.file().size() {
            return None;
        }
        self.map(offset, pages, false, Some(entry)).map(|store| (store, size))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.board.nonce() == other.board.nonce()
    }

    pub(crate) fn is(&self, pool: &Nonce) -> bool {
        self.board.nonce() == pool
    }
}

impl SharedStore {
    /// Bytes, in whole pages.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Its pages, if they are the host's.
    pub(super) fn pages(&self) -> Option<Arc<HostPages>> {
        match &self.place {
            Place::Device(_) => None,
            Place::Host(pages) => Some(Arc::clone(pages)),
        }
    }

    pub(super) fn address(&self) -> usize {
        match &self.place {
            Place::Device(range) => range.address(),
            Place::Host(pages) => pages.address,
        }
    }

    pub(super) fn bytes(&self) -> *mut u8 {
        match &self.place {
            Place::Device(range) => range.bytes(),
            Place::Host(pages) => pages.address as *mut u8,
        }
    }

    /// What others are told of an allocation of so many bytes that has this memory; `None` if the board is full.
    pub(super) fn tell(&self, bytes: usize) -> Option<Entry> {
        let words = [self.offset as u64, bytes as u64, 0, 0];
        Entry::on(&self.sharing.board, Subject::Pointer, words)
    }

    /// Whether it is what another process told of by this handle.
    pub(super) fn is(&self, handle: &Handle) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.is(handle))
    }
}

impl Drop for SharedStore {
    fn drop(&mut self) {
        self.sharing.give(self.offset.wrapping_sub(Board::end()), self.size);
    }
}
