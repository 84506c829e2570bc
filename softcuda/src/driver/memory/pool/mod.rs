//! Memory pools: memory that is allocated and freed in the order of streams, a device's, the host's, or managed.
//!
//! An allocation has its address when the call returns, and becomes memory when its stream gets there; a free takes it
//! out of reach of calls at once, and ends it when its stream gets there. What is freed stays with the pool, which gives
//! it to a later allocation where the order of work makes that safe, and back to where it comes from after a
//! synchronisation that waited for the free, or when it is needed elsewhere.

pub(crate) mod access;
pub(crate) mod attributes;
pub(crate) mod choice;
pub(crate) mod created;
pub(crate) mod home;
mod shared;

use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUmemoryPool, CUresult};
use crate::driver::context::{self, Activation};
use crate::driver::device;
use crate::driver::handle::{Object, Table};
use crate::driver::memory::meter::Meter;
use crate::driver::sharing::{Entry, Handle};
use crate::driver::signal::Listener;
use crate::driver::space::host_pages::HostPages;
use crate::executor::{self, Queue, Task};
use crate::instruments::live;
use access::Peers;
use attributes::Reuse;
pub(crate) use home::Home;
use home::Store;
use parking_lot::Mutex;
use shared::SharedStore;
pub(crate) use shared::Sharing;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pools that were created and not destroyed, and those of the devices.
static POOLS: Table<Pool> = Table::new();

/// A block is given to an allocation of at least a half of its size, not to a smaller one.
const WASTE: usize = 2;

/// So many waits for a free are known, also of streams that are gone.
const MANY_WAITS: usize = 64;

/// Blocks at rest in any pool: where there are none, a synchronisation need not look.
static RESTING: AtomicUsize = AtomicUsize::new(0);

/// A pool.
pub(crate) struct Pool {
    handle: usize,
    pub(crate) home: Home,
    /// Whether it was there at the beginning, and stays.
    is_default: bool,
    /// Most bytes that it may reserve.
    most: usize,
    /// What makes it one of several processes.
    sharing: Option<Arc<Sharing>>,
    content: Mutex<Content>,
}

/// What a pool has and how it is configured.
pub(super) struct Content {
    resting: Vec<Block>,
    reserved: Meter,
    used: Meter,
    reuse: Reuse,
    /// Bytes that are kept at a synchronisation.
    threshold: u64,
    peers: Peers,
}

/// Memory that was freed.
struct Block {
    store: Store,
    /// The free, whose place in the order of work may be ahead; `None` if somebody has waited for it, or it has no place there.
    freed: Option<Arc<Task>>,
    /// The first wait for it in each queue that was made to wait: what comes after that in the queue tells of the free, too.
    waits: Vec<Arc<Task>>,
}

/// The memory of one allocation; dropping it gives it back.
pub(crate) struct Pooled {
    pool: Arc<Pool>,
    size: usize,
    store: Mutex<Option<Store>>,
    /// Pages of the host stay mapped for work that uses them, whoever has given them back.
    #[allow(dead_code)] // held for its drop
    pages: Option<Arc<HostPages>>,
}

impl Object for Pool {
    fn report(&self) -> Option<live::Object> {
        let device = self.home.device().map(|device| device.ordinal());
        let (kind, name) = (live::MEMORY_POOL, self.handle);
        (!self.is_default).then_some(live::Object {
            kind,
            name,
            bytes: 0,
            device,
            context: None,
            label: None,
        })
    }
}

impl Pool {
    fn new(home: Home, is_default: bool, most: usize) -> Arc<Self> {
        Self::build(home, is_default, most, None)
    }

    /// One of several processes.
    pub(crate) fn shared(home: Home, most: usize, sharing: Arc<Sharing>) -> Arc<Self> {
        Self::build(home, false, most, Some(sharing))
    }

    fn build(home: Home, is_default: bool, most: usize, sharing: Option<Arc<Sharing>>) -> Arc<Self> {
        let content = Mutex::new(Content {
            resting: Vec::new(),
            reserved: Meter::default(),
            used: Meter::default(),
            reuse: Reuse::default(),
            threshold: 0,
            peers: Peers::default(),
        });
        POOLS.add(|handle| Self { handle, home, is_default, most, sharing, content })
    }

    /// The pool that a caller's handle means.
    pub(crate) fn of(handle: CUmemoryPool) -> Result<Arc<Self>, CUresult> {
        POOLS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// The value that callers know it by.
    pub(crate) fn handle(&self) -> CUmemoryPool {
        self.handle as CUmemoryPool
    }

    /// Memory for an allocation in a queue, and the free that it must follow, if there is one.
    pub(crate) fn take(self: &Arc<Self>, size: usize, queue: &Queue) -> Option<(Pooled, Option<Arc<Task>>)> {
        ENDS.begin();
        let mut content = self.content.lock();
        let (store, follows) = match content.take_resting(size, self.unit(), queue) {
            Some(block) => (block.store, block.freed),
            None => (self.reserve(&mut content, size)?, None),
        };
        content.used.add(size);
        Some((Pooled::new(Arc::clone(self), size, store), follows))
    }

    /// New memory from where it comes from.
    fn reserve(&self, content: &mut Content, size: usize) -> Option<Store> {
        let too_much = |content: &Content| (content.reserved.now as usize).saturating_add(size) > self.most;
        if too_much(content) {
            content.release(0);
        }
        if too_much(content) {
            return None;
        }
        let store = match &self.sharing {
            Some(sharing) => Store::Shared(sharing.take(size)?),
            None => self.home.take(size)?,
        };
        content.reserved.add(store.size());
        Some(store)
    }

    /// Sizes are rounded up to multiples of it.
    fn unit(&self) -> usize {
        if self.sharing.is_some() { shared::PAGE } else { self.home.unit() }
    }

    /// What other processes need of it, if they can have it.
    pub(crate) fn exporting(&self) -> Option<&Arc<Sharing>> {
        self.sharing.as_ref().filter(|sharing| !sharing.is_imported())
    }

    /// What it has of the process that made it, if that is another one, or it was made once more here: nothing is allocated from it, and
    /// it tells nothing of itself (measured).
    pub(crate) fn importing(&self) -> Option<&Arc<Sharing>> {
        self.sharing.as_ref().filter(|sharing| sharing.is_imported())
    }

    /// The handle of what was imported already of the same pool.
    pub(crate) fn imported_as(sharing: &Sharing) -> Option<CUmemoryPool> {
        let mut found = None;
        POOLS.each(|pool| {
            if pool.importing().is_some_and(|known| known.is_same(sharing)) {
                found = Some(pool.handle());
            }
        });
        found
    }

    /// Refuses one whose memory is given out elsewhere.
    pub(crate) fn check_not_imported(&self) -> Result<(), CUresult> {
        if self.importing().is_some() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
    }

    /// Which handles other processes can have of it, `CU_MEM_HANDLE_TYPE_*`.
    pub(crate) fn handle_types(&self) -> u64 {
        self.exporting().map_or(0, |_| created::FILES as u64)
    }

    /// Whether memory of it is allocated, or imported.
    fn is_in_use(&self) -> bool {
        self.content.lock().used.now > 0
    }

    /// Memory that another process told of.
    pub(crate) fn imported(self: &Arc<Self>, store: SharedStore, size: usize) -> Pooled {
        let mut content = self.content.lock();
        content.reserved.add(store.size());
        content.used.add(size);
        Pooled::new(Arc::clone(self), size, Store::Shared(store))
    }

    fn give(&self, size: usize, store: Store, freed: Option<Arc<Task>>) {
        let mut content = self.content.lock();
        content.used.take(size);
        content.resting.push(Block { store, freed, waits: Vec::new() });
        RESTING.fetch_add(1, Ordering::Relaxed);
    }
}

impl Content {
    /// The smallest block at rest that fits and that the queue may have. Its free is given with it where the allocation
    /// must be made to follow that.
    fn take_resting(&mut self, size: usize, unit: usize, queue: &Queue) -> Option<Block> {
        let most = size.checked_next_multiple_of(unit).unwrap_or(size).saturating_mul(WASTE);
        let fits = |block: &Block| (size..=most).contains(&block.store.size());
        let candidates = self.resting.iter().enumerate().filter(|(_, block)| fits(block));
        let rated =
            candidates.filter_map(|(i, block)| Some((self.reuse.rate(block, queue)?, block.store.size(), i)));
        let (order, _, i) = rated.min()?;
        let mut block = self.resting.swap_remove(i);
        RESTING.fetch_sub(1, Ordering::Relaxed);
        if !order.must_wait() {
            block.freed = None;
        }
        Some(block)
    }

    /// Takes note that somebody has waited for these places in the order.
    fn settle(&mut self, is_waited_for: &impl Fn(&Task) -> bool) {
        for block in &mut self.resting {
            if block.is_idle() && block.is_told_by(is_waited_for) {
                block.freed = None;
                block.waits.clear();
            }
        }
    }

    /// Gives memory at rest to the device until no more than `keep` bytes are reserved, except what work may still use.
    fn release(&mut self, keep: u64) {
        self.release_if(keep, Block::is_idle);
    }

    /// The same for memory whose free somebody has waited for, or whose stream is gone: only then does a driver give it back that does
    /// not need it.
    fn release_settled(&mut self, keep: u64) {
        let is_settled = |freed: &Arc<Task>| freed.is_finished() && freed.is_of_closed_queue();
        self.release_if(keep, |block| block.freed.as_ref().is_none_or(is_settled));
    }

    fn release_if(&mut self, keep: u64, may_go: impl Fn(&Block) -> bool) {
        let mut i = 0;
        while i < self.resting.len() && self.reserved.now > keep {
            if may_go(&self.resting[i]) {
                let block = self.resting.swap_remove(i);
                RESTING.fetch_sub(1, Ordering::Relaxed);
                self.reserved.take(block.store.size());
            } else {
                i += 1;
            }
        }
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        RESTING.fetch_sub(self.resting.len(), Ordering::Relaxed);
    }
}

impl Block {
    /// Whether its free has been reached.
    fn is_idle(&self) -> bool {
        self.freed.as_ref().is_none_or(|freed| freed.is_finished())
    }

    /// Whether one of these places in the order is its free's, or that of a wait for it.
    fn is_told_by(&self, is_place: impl Fn(&Task) -> bool) -> bool {
        self.freed.iter().chain(&self.waits).any(|task| is_place(task))
    }

    fn was_freed_on(&self, queue: &Queue) -> bool {
        self.freed.as_ref().is_some_and(|freed| freed.queue_id() == queue.id())
    }

    /// Whether the queue has been made to wait for its free.
    fn is_followed_by(&self, queue: &Queue) -> bool {
        self.freed.as_ref().is_some_and(|freed| executor::is_followed(freed, queue))
    }
}

impl Pooled {
    fn new(pool: Arc<Pool>, size: usize, store: Store) -> Self {
        let pages = store.pages();
        Self { pool, size, store: Mutex::new(Some(store)), pages }
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The device pointer, and where the bytes are.
    pub(crate) fn place(&self) -> (usize, *mut u8) {
        let store = self.store.lock();
        store.as_ref().map_or((0, std::ptr::null_mut()), |store| (store.address(), store.bytes()))
    }

    /// What others are told of it; `None` if there is no room for that.
    pub(crate) fn tell(&self) -> Option<Entry> {
        match &*self.store.lock() {
            Some(Store::Shared(store)) => store.tell(self.size),
            _ => None,
        }
    }

    /// Whether it is what another process told of by this handle.
    pub(crate) fn is(&self, handle: &Handle) -> bool {
        matches!(&*self.store.lock(), Some(Store::Shared(store)) if store.is(handle))
    }

    /// Gives the memory back, to be used by others after `freed`.
    pub(crate) fn release(&self, freed: Option<Arc<Task>>) {
        if let Some(store) = self.store.lock().take() {
            self.pool.give(self.size, store, freed);
        }
    }

    /// The same without a place in the order of work: anybody can have it now, and what is above the pool's threshold goes where it comes from.
    pub(crate) fn release_at_once(&self) {
        self.release(None);
        let mut content = self.pool.content.lock();
        let threshold = content.threshold;
        content.release_settled(threshold);
    }
}

impl Drop for Pooled {
    /// For memory that nobody freed.
    fn drop(&mut self) {
        self.release(None);
    }
}

/// Takes note that a queue waits for a record from this task on.
pub(crate) fn note_wait(record: &Task, wait: &Arc<Task>) {
    if RESTING.load(Ordering::Relaxed) > 0 {
        POOLS.each(|pool| {
            for block in &mut pool.content.lock().resting {
                let is_known = block.is_told_by(|task| task.queue_id() == wait.queue_id());
                if !is_known && block.is_told_by(|task| task.is_earlier_in_queue(record)) {
                    if block.waits.len() >= MANY_WAITS {
                        block.waits.retain(|wait| !wait.is_of_closed_queue());
                    }
                    block.waits.push(Arc::clone(wait));
                }
            }
        });
    }
}

/// Does what pools do at a synchronisation that waited for these places in the order: gives the device what is above their
/// thresholds.
pub(crate) fn trim(is_waited_for: impl Fn(&Task) -> bool) {
    if RESTING.load(Ordering::Relaxed) > 0 {
        POOLS.each(|pool| {
            let mut content = pool.content.lock();
            let threshold = content.threshold;
            content.settle(&is_waited_for);
            content.release_settled(threshold);
        });
    }
}

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, |ended| trim_of(ended));

/// The same after all work of a context was waited for.
pub(crate) fn trim_of(context: &Activation) {
    trim(|freed| freed.group_id() == context.id());
}

/// Attempts to take memory of a device: also what its pools do not use, and what work under way frees.
pub(crate) fn find_room<T>(device: usize, size: usize, attempt: impl Fn() -> Option<T>) -> Option<T> {
    if size as u64 > device::total_memory() {
        return None;
    }
    let after = |make_room: fn()| {
        make_room();
        release_all(device);
        attempt()
    };
    attempt().or_else(|| after(|| {})).or_else(|| after(executor::wait_a_moment))
}

/// Gives the device all that its pools do not use.
fn release_all(device: usize) {
    POOLS.each(|pool| {
        if pool.home.device().is_some_and(|own| own.ordinal() == device) {
            pool.content.lock().release(0);
        }
    });
}
