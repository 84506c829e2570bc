//! Boards: what a process tells others, in memory that they map. The owner writes which entry is what; others change only what is
//! meant for them, and nobody believes more of a board than that. A process has one; each pool that can be shared has one, and its memory
//! behind it.

use super::handle::{self, Handle, Nonce};
use crate::driver::space::file::{Mapping, SharedFile};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};

/// Slots of a board; the first one is the head.
const SLOTS: usize = 1 << 16;
const SIZE: usize = SLOTS * size_of::<Slot>();

/// What a slot is about, as a word of it says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Memory = 1,
    Event = 2,
    /// Memory of a pool.
    Pointer = 3,
}

/// A slot of a board.
#[repr(C)]
pub(super) struct Slot {
    /// Of what stands here, or stood here last.
    serial: AtomicU64,
    /// What that is: `Subject`, and `OVER` when the owner has taken it off. Of the head, a number that boards begin with.
    subject: AtomicU64,
    /// What the subject needs.
    pub(super) words: [AtomicU64; 4],
    /// Processes that have opened it, so often as they have.
    users: AtomicU64,
    reserved: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// The owner has taken the entry off. Who has it open can open it again (measured).
const OVER: u64 = 1 << 32;

/// What the heads of boards begin with: of a process's, and of a pool's.
const PROCESS: u64 = u64::from_le_bytes(*b"softIPC1");
const POOL: u64 = u64::from_le_bytes(*b"softPOL1");

/// The words of a head: both halves of the nonce, and what else is to be known of a pool.
const NONCE: usize = 0;
const ABOUT: usize = 2;

/// A board: one's own, or another process's.
pub(crate) struct Board {
    file: SharedFile,
    mapping: Mapping,
    nonce: Nonce,
    /// Slots that the owner gave up, and the next that nobody had; only of one's own.
    free: Mutex<(Vec<u32>, u32)>,
}

/// Boards of others, while something of them is used here.
static OTHERS: Mutex<Option<HashMap<Nonce, Weak<Board>>>> = Mutex::new(None);

impl Board {
    /// This process's; `None` if the system has no memory that processes share.
    pub(crate) fn own() -> Option<&'static Arc<Self>> {
        static OWN: LazyLock<Option<Arc<Board>>> =
            LazyLock::new(|| Board::create(c"softcuda-board", PROCESS, *handle::own(), 0, 0));
        OWN.as_ref()
    }

    /// One for a pool, with so much room behind it; `about` is for those who import the pool.
    pub(crate) fn of_new_pool(room: usize, about: u64) -> Option<Arc<Self>> {
        Self::create(c"softcuda-pool", POOL, handle::nonce(), room, about)
    }

    fn create(name: &CStr, kind: u64, nonce: Nonce, room: usize, about: u64) -> Option<Arc<Self>> {
        let file = SharedFile::create(name, SIZE.checked_add(room)?)?;
        let mapping = file.map(0, SIZE)?;
        let board = Self { file, mapping, nonce, free: Mutex::new((Vec::new(), 1)) };
        let head = board.slot(0)?;
        for (word, value) in head.words.iter().zip([half(&nonce, 0), half(&nonce, 8), about]) {
            word.store(value, Ordering::Relaxed);
        }
        head.subject.store(kind, Ordering::Release);
        Some(Arc::new(board))
    }

    /// The one that a handle names; `None` if its process is gone, or has none, or the handle is of another one that had the number.
    fn of(handle: &Handle) -> Option<Arc<Self>> {
        let mut others = OTHERS.lock();
        let others = others.get_or_insert_default();
        if let Some(known) = others.get(&handle.nonce).and_then(Weak::upgrade) {
            return Some(known);
        }
        others.retain(|_, board| board.strong_count() > 0);
        let file = SharedFile::of_process(handle.process, handle.descriptor)?;
        let board = Self::others(file, PROCESS).filter(|board| board.nonce == handle.nonce)?;
        others.insert(handle.nonce, Arc::downgrade(&board));
        Some(board)
    }

    /// That of a pool, which a caller's descriptor means; `None` for every other descriptor.
    pub(crate) fn of_pool(descriptor: RawFd) -> Option<Arc<Self>> {
        Self::others(SharedFile::of_descriptor(descriptor)?, POOL)
    }

    fn others(file: SharedFile, kind: u64) -> Option<Arc<Self>> {
        let mapping = (file.size() >= SIZE).then(|| file.map(0, SIZE))??;
        let mut board = Self { file, mapping, nonce: Nonce::default(), free: Mutex::default() };
        let head = board.slot(0)?;
        let is_it = head.subject.load(Ordering::Acquire) == kind;
        let [low, high] =
            [NONCE, NONCE + 1].map(|half| head.words[half].load(Ordering::Relaxed).to_le_bytes());
        board.nonce[..8].copy_from_slice(&low);
        board.nonce[8..].copy_from_slice(&high);
        is_it.then(|| Arc::new(board))
    }

    /// What was said of a pool when it was made. Whoever has mapped the board may have written something else.
    pub(crate) fn about(&self) -> u64 {
        self.slot(0).map_or(0, |head| head.words[ABOUT].load(Ordering::Relaxed))
    }

    /// What it lies in.
    pub(crate) fn file(&self) -> &SharedFile {
        &self.file
    }

    /// Where the room behind it begins.
    pub(crate) const fn end() -> usize {
        SIZE
    }

    pub(crate) fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// The number by which other processes find it in this one.
    pub(super) fn number(&self) -> RawFd {
        self.file.number()
    }

    pub(super) fn slot(&self, index: u32) -> Option<&Slot> {
        let index = usize::try_from(index).ok().filter(|index| *index < SLOTS)?;
        // SAFETY: the mapping has as many slots, and stays as long as the board; they are made of atomic numbers.
        Some(unsafe { &*(self.mapping.address() as *const Slot).add(index) })
    }

    fn take(&self) -> Option<u32> {
        let mut free = self.free.lock();
        let (left, next) = &mut *free;
        // Whoever still uses what stood there finds it unchanged.
        let is_unused =
            |index: &u32| self.slot(*index).is_some_and(|slot| slot.users.load(Ordering::Acquire) == 0);
        if let Some(at) = left.iter().position(is_unused) {
            return Some(left.swap_remove(at));
        }
        let new = Some(*next).filter(|next| (*next as usize) < SLOTS)?;
        *next += 1;
        Some(new)
    }
}

fn half(nonce: &Nonce, at: usize) -> u64 {
    u64::from_le_bytes(nonce[at..at + 8].try_into().expect("eight bytes"))
}

/// An entry of a board: one's own, which is taken off when this is dropped, or another process's, which is used until then.
pub(crate) struct Entry {
    board: Arc<Board>,
    index: u32,
    serial: u64,
    is_own: bool,
}

impl Entry {
    /// A new one on this process's board; `None` if that is full, or there is none.
    pub(crate) fn new(subject: Subject, words: [u64; 4]) -> Option<Self> {
        Self::on(Board::own()?, subject, words)
    }

    /// A new one on a board of this process's; `None` if that is full.
    pub(crate) fn on(board: &Arc<Board>, subject: Subject, words: [u64; 4]) -> Option<Self> {
        static SERIALS: AtomicU64 = AtomicU64::new(1);
        let index = board.take()?;
        let slot = board.slot(index)?;
        for (word, value) in slot.words.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        let serial = SERIALS.fetch_add(1, Ordering::Relaxed);
        slot.serial.store(serial, Ordering::Release);
        slot.subject.store(subject as u64, Ordering::Release);
        Some(Self { board: Arc::clone(board), index, serial, is_own: true })
    }

    /// The one that a handle names, if it is still there and about this.
    pub(crate) fn open(handle: &Handle, subject: Subject) -> Option<Self> {
        Self::open_on(&Board::of(handle)?, handle, subject)
    }

    /// The one on this board that a handle names, if it is still there and about this.
    pub(crate) fn open_on(board: &Arc<Board>, handle: &Handle, subject: Subject) -> Option<Self> {
        let slot = board.slot(handle.slot).filter(|_| handle.slot > 0)?;
        let users = slot.users.fetch_add(1, Ordering::AcqRel);
        // From here on the entry is given up when it is dropped.
        let entry =
            Self { board: Arc::clone(board), index: handle.slot, serial: handle.serial, is_own: false };
        let about = slot.subject.load(Ordering::Acquire);
        let is_it = about == subject as u64 || (about == subject as u64 | OVER && users > 0);
        (is_it && slot.serial.load(Ordering::Acquire) == handle.serial).then_some(entry)
    }

    /// Whether this process has written it.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Takes it off. Others who have it open keep what it says.
    pub(crate) fn end(&self) {
        if self.is_own {
            self.slot().subject.fetch_or(OVER, Ordering::AcqRel);
        }
    }

    /// Whether other processes have it open.
    pub(crate) fn is_used(&self) -> bool {
        self.slot().users.load(Ordering::Acquire) > 0
    }

    pub(super) fn slot(&self) -> &Slot {
        self.board.slot(self.index).expect("an entry has a slot of its board")
    }

    /// What it says.
    pub(crate) fn word(&self, which: usize) -> u64 {
        self.slot().words[which].load(Ordering::Acquire)
    }

    /// How other processes find it.
    pub(crate) fn handle(&self) -> Handle {
        let process = std::process::id() as i32;
        let Board { nonce, .. } = *self.board;
        Handle { process, descriptor: self.board.number(), nonce, slot: self.index, serial: self.serial }
    }

    /// Whether both are the same entry.
    pub(crate) fn is(&self, other: &Handle) -> bool {
        (self.board.nonce, self.index, self.serial) == (other.nonce, other.slot, other.serial)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.is_own {
            self.end();
            self.board.free.lock().0.push(self.index);
        } else {
            // Another process may have written anything here.
            let less = |users: u64| users.checked_sub(1);
            let _was_none = self.slot().users.fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
        }
    }
}
