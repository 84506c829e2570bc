//! Every allocation and registration, by address.

use super::graph_memory::{GraphMemory, release_kept};
use super::identity;
use super::location::Location;
use super::opened::Opened;
use super::pages::Pages;
use super::pool::{Home, Pooled};
use super::vmm::reserved::{self, Mapping, Reserved};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
use crate::check;
use crate::check::access::Memory;
use crate::driver::context::{self, Activation};
use crate::driver::device::Device;
use crate::driver::sharing::{Entry, Handle};
use crate::driver::signal::Listener;
use crate::driver::space::host_pages::HostPages;
use crate::driver::space::window;
use crate::instruments::live::{self, Source};
use crate::instruments::settings::concurrent_managed;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Once};

/// What an allocation is, with what holds its bytes.
pub(crate) enum Kind {
    /// Device memory.
    Device(#[allow(dead_code)] window::Range), // held for its drop
    /// Device memory that a variable of loaded code lies in; unloading frees it.
    Variable(#[allow(dead_code)] window::Range), // held for its drop
    /// Memory of a pool.
    Pooled(Pooled),
    /// Memory of a graph.
    Graph(GraphMemory),
    /// Page-locked host memory of ours, with its `CU_MEMHOSTALLOC_*` flags.
    Pinned(#[allow(dead_code)] HostPages, u32), // held for its drop
    /// Host memory of the caller's, with its `CU_MEMHOSTREGISTER_*` flags.
    Registered(u32),
    /// Device memory of another process.
    Opened(Opened),
    /// Memory of host and devices.
    Managed(#[allow(dead_code)] HostPages), // held for its drop
    /// Addresses behind which a program puts memory and takes it away.
    Reserved(Reserved),
}

/// A range of addresses that the driver knows.
pub(crate) struct Allocation {
    /// What callers know it by.
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// Where the bytes are.
    bytes: *mut u8,
    pub(crate) kind: Kind,
    /// What is known about its pages, if it is managed.
    pub(crate) pages: Option<Pages>,
    pub(crate) owner: Arc<Activation>,
    /// `CU_POINTER_ATTRIBUTE_BUFFER_ID`: never used twice.
    pub(crate) id: u64,
    /// What `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS` was set to: `UNSET`, or 0 or 1.
    sync_operations: AtomicU8,
    /// What other processes are told of it.
    told: Mutex<Option<Entry>>,
    state: AtomicU8,
    /// The driver function that made it, where somebody checks.
    made: &'static str,
    /// What the program calls it.
    label: Mutex<Option<Arc<str>>>,
}

/// Nobody has set whether synchronous operations wait.
const UNSET: u8 = 2;

/// The states of an allocation in the order of work: the calls that allocate and free may be ahead of it.
const PROMISED: u8 = 0;
const USABLE: u8 = 1;
const FREED: u8 = 2;

// SAFETY: `bytes` is an address; who reads or writes there orders it as the driver API demands of its callers.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

/// Bytes of a page of the host.
const PAGE: usize = 4096;

static TABLE: RwLock<BTreeMap<usize, Arc<Allocation>>> = RwLock::new(BTreeMap::new());
/// What calls do not find any more, and work that comes before the free still does, by number.
static LEAVING: RwLock<BTreeMap<u64, Arc<Allocation>>> = RwLock::new(BTreeMap::new());
/// Allocations of graphs at addresses that a later one of the same graph has: calls mean that. By number, which rises. Its lock is taken
/// behind the table's.
static EARLIER: RwLock<BTreeMap<u64, Arc<Allocation>>> = RwLock::new(BTreeMap::new());

impl Allocation {
    /// Whether synchronous operations are to wait, as a caller has said.
    pub(crate) fn wants_waiting(&self) -> bool {
        self.sync_operations.load(Ordering::Relaxed) == 1
    }

    /// What is told of that: managed memory has it from the start (measured).
    pub(crate) fn tells_waiting(&self) -> bool {
        match self.sync_operations.load(Ordering::Relaxed) {
            UNSET => self.pages.is_some(),
            set => set == 1,
        }
    }

    /// Sets it.
    pub(crate) fn set_waiting(&self, on: bool) {
        self.sync_operations.store(u8::from(on), Ordering::Relaxed);
    }

    pub(crate) fn new(
        address: usize,
        size: usize,
        bytes: *mut u8,
        kind: Kind,
        owner: Arc<Activation>,
    ) -> Arc<Self> {
        Arc::new(Self::build(address, size, bytes, kind, owner))
    }

    /// An allocation whose pages move.
    pub(crate) fn managed(
        address: usize,
        size: usize,
        bytes: *mut u8,
        kind: Kind,
        pages: Pages,
        owner: Arc<Activation>,
    ) -> Arc<Self> {
        Arc::new(Self { pages: Some(pages), ..Self::build(address, size, bytes, kind, owner) })
    }

    fn build(address: usize, size: usize, bytes: *mut u8, kind: Kind, owner: Arc<Activation>) -> Self {
        let id = identity::next();
        let sync_operations = AtomicU8::new(UNSET);
        let state =
            AtomicU8::new(if matches!(kind, Kind::Pooled(_) | Kind::Graph(_)) { PROMISED } else { USABLE });
        let (told, made, label) = (Mutex::new(None), check::current_call(), Mutex::new(None));
        Self { address, size, bytes, kind, pages: None, owner, id, sync_operations, told, state, made, label }
    }

    /// Where `size` bytes at a device pointer are; refuses what is not wholly inside.
    pub(crate) fn locate(&self, address: usize, size: usize) -> Result<*mut u8, CUresult> {
        let offset = address.checked_sub(self.address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let end = offset.checked_add(size).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        // Mappings may reach into the reservation that adjoins.
        let is_inside = match self.reserved() {
            Some(_) => reserved::covers(address, size),
            None => end <= self.size,
        };
        if !is_inside {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(self.bytes.wrapping_add(offset))
    }

    /// What a report of all that lives says of it.
    fn report(&self) -> Option<live::Object> {
        let kind = match &self.kind {
            Kind::Managed(_) => live::MANAGED_MEMORY,
            Kind::Device(_) | Kind::Opened(_) => live::DEVICE_MEMORY,
            Kind::Pooled(pooled) => pooled.pool().home.name(),
            Kind::Graph(memory) if memory.is_allocated() && memory.is_managed() => live::MANAGED_MEMORY,
            Kind::Graph(memory) if memory.is_allocated() => live::DEVICE_MEMORY,
            Kind::Graph(_) => return None,    // an address
            Kind::Variable(_) => return None, // its library or module is shown
            Kind::Pinned(..) => live::PINNED_MEMORY,
            Kind::Registered(_) => live::REGISTERED_MEMORY,
            Kind::Reserved(_) => {
                let (kind, name, bytes) = (live::ADDRESS_RANGE, self.address, self.size);
                return Some(live::Object {
                    kind,
                    name,
                    bytes,
                    device: None,
                    context: None,
                    label: self.label(),
                });
            }
        };
        Some(live::Object { bytes: self.size, label: self.label(), ..self.owner.report(kind, self.address) })
    }

    /// What it is to whoever checks what is done to it.
    pub(crate) fn checked(&self) -> Memory {
        let what = match &self.kind {
            Kind::Managed(_) => live::MANAGED_MEMORY,
            Kind::Pooled(pooled) => pooled.pool().home.name(),
            Kind::Graph(memory) if memory.is_managed() => live::MANAGED_MEMORY,
            Kind::Variable(_) => "a variable of a module",
            Kind::Pinned(..) => live::PINNED_MEMORY,
            Kind::Registered(_) => live::REGISTERED_MEMORY,
            Kind::Reserved(_) => live::ADDRESS_RANGE,
            Kind::Device(_) | Kind::Graph(_) | Kind::Opened(_) => live::DEVICE_MEMORY,
        };
        let (start, size) = (self.address as u64, self.size as u64);
        Memory { what, start, size, made: self.made, label: self.label(), is_all_seen: self.is_all_seen() }
    }

    fn label(&self) -> Option<Arc<str>> {
        self.label.lock().clone()
    }

    /// Whether everything that is done to it is seen: the host cannot, and no other process does.
    fn is_all_seen(&self) -> bool {
        let is_seen = match &self.kind {
            Kind::Device(_) => true,
            Kind::Pooled(pooled) => matches!(pooled.pool().home, Home::Device(_)),
            Kind::Graph(memory) => !memory.is_managed(),
            _ => false,
        };
        is_seen && self.told.lock().is_none()
    }

    /// Others may have had the addresses before. That memory of pools and graphs begins is work, which says so itself.
    fn note_begin(&self) {
        check::note_made(self.address);
        if !matches!(self.kind, Kind::Pooled(_) | Kind::Graph(_)) {
            check::note_new(|| self.checked());
        }
    }

    /// Sets all bytes to zero, before anybody else uses them.
    pub(crate) fn clear(&self) {
        let (start, end) = (self.bytes as usize, self.bytes as usize + self.size);
        let (first, last) = (start.next_multiple_of(PAGE).min(end), end / PAGE * PAGE);
        // The whole pages inside become new ones, which need no memory before they are used.
        let renewed = if last > first {
            // SAFETY: whole pages of the driver's own mapping, whose bytes nobody uses.
            unsafe { window::renew(first, last - first) }
        } else {
            false
        };
        let (before, after) = if renewed { (first, last) } else { (end, end) };
        // SAFETY: the allocation's bytes.
        unsafe {
            self.bytes.write_bytes(0, before - start);
            (after as *mut u8).write_bytes(0, end - after);
        }
    }

    /// Writes bytes before anybody else uses them; passes over what lies outside.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        if let Ok(to) = self.locate(self.address.wrapping_add(offset), bytes.len()) {
            // SAFETY: checked.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Whether the host knows it by the same address, and can unmap or protect it.
    pub(crate) fn is_the_hosts(&self) -> bool {
        self.bytes as usize == self.address
    }

    /// Whether it is a device's memory, at an address of it.
    pub(crate) fn is_device(&self, address: usize) -> bool {
        match &self.kind {
            Kind::Reserved(_) => self.mapped_place(address).is_none_or(|place| place.device().is_some()),
            Kind::Device(_) | Kind::Variable(_) | Kind::Graph(_) | Kind::Managed(_) | Kind::Opened(_) => true,
            Kind::Pooled(pooled) => matches!(pooled.pool().home, Home::Device(_) | Home::Managed(_)),
            Kind::Pinned(..) | Kind::Registered(_) => false,
        }
    }

    /// Where the memory is that was put behind an address.
    fn mapped_place(&self, address: usize) -> Option<Location> {
        self.mapping(address).map(|(_, mapping)| mapping.memory.properties.place)
    }

    /// What was put behind an address, and where that begins.
    pub(crate) fn mapping(&self, address: usize) -> Option<(usize, Mapping)> {
        self.reserved().and_then(|_| reserved::mapping(address))
    }

    /// The first address and the bytes of what was made in one piece around an address.
    pub(crate) fn piece(&self, address: usize) -> (usize, usize) {
        match self.mapping(address) {
            Some((start, mapping)) => (start, mapping.size),
            None => (self.address, self.size),
        }
    }

    /// What it is to virtual memory, if it is some.
    pub(crate) fn reserved(&self) -> Option<&Reserved> {
        match &self.kind {
            Kind::Reserved(reserved) => Some(reserved),
            _ => None,
        }
    }

    /// Whose memory it is, at an address of it: a pool's device may be another one than that of the stream which it was allocated in.
    pub(crate) fn device(&self, address: usize) -> Device {
        let of_pool = match &self.kind {
            Kind::Pooled(pooled) => pooled.pool().home.device(),
            Kind::Reserved(_) => self.mapped_place(address).and_then(Location::device),
            Kind::Graph(memory) => Some(memory.device()),
            Kind::Opened(opened) => Some(opened.device()),
            _ => None,
        };
        of_pool.unwrap_or_else(|| self.owner.device())
    }

    /// Its place in the order of work has been reached; a free that came first stays.
    pub(crate) fn set_usable(&self) {
        let _ = self.state.compare_exchange(PROMISED, USABLE, Ordering::AcqRel, Ordering::Relaxed);
    }

    pub(crate) fn set_freed(&self) {
        // A graph's comes again.
        let after = if self.of_graph().is_some() { PROMISED } else { FREED };
        self.state.store(after, Ordering::Release);
        if let Some(told) = &*self.told.lock() {
            told.end();
        }
        let left = LEAVING.write().remove(&self.id);
        drop(left); // outside of the lock
    }

    /// How other processes find it, whom `tell` tells of it the first time.
    pub(super) fn tell(&self, tell: impl FnOnce() -> Option<Entry>) -> Option<Handle> {
        let mut told = self.told.lock();
        if told.is_none() {
            *told = tell();
            check::note_shared(self.address..self.address + self.size);
        }
        told.as_ref().map(Entry::handle)
    }

    /// Whether other processes have it open.
    fn is_lent(&self) -> bool {
        self.told.lock().as_ref().is_some_and(Entry::is_used)
    }

    /// Whether calls see it as memory: a graph's is known by its address before that.
    pub(crate) fn is_there(&self) -> bool {
        self.of_graph().is_none_or(GraphMemory::is_allocated)
    }

    /// Whether it is memory of a pool, which no context takes with it.
    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.kind, Kind::Pooled(_))
    }

    /// What it is to graphs, if it is memory of one.
    pub(crate) fn of_graph(&self) -> Option<&GraphMemory> {
        match &self.kind {
            Kind::Graph(memory) => Some(memory),
            _ => None,
        }
    }

    /// Whether it has been freed for good.
    pub(crate) fn is_freed(&self) -> bool {
        self.state.load(Ordering::Acquire) == FREED
    }

    /// Whether work may use it now.
    pub(crate) fn is_usable(&self) -> bool {
        self.state.load(Ordering::Acquire) == USABLE
    }
}

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, forget);

/// Tells who reports what lives of the table, and listens to the ends of contexts, once.
fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| live::register(&Allocations));
    ENDS.begin();
}

pub(crate) fn insert(allocation: Arc<Allocation>) {
    register();
    allocation.note_begin();
    TABLE.write().insert(allocation.address, allocation);
}

/// Adds `allocation` unless another one shares bytes with it, which is then returned.
pub(crate) fn insert_disjoint(allocation: Arc<Allocation>) -> Result<(), Arc<Allocation>> {
    register();
    let mut table = TABLE.write();
    let below = table.range(..allocation.address + allocation.size).next_back();
    if let Some((_, other)) = below.filter(|(_, other)| other.address + other.size > allocation.address) {
        return Err(Arc::clone(other));
    }
    allocation.note_begin();
    table.insert(allocation.address, allocation);
    Ok(())
}

/// The allocation that the address lies in; none where an address is reserved and nothing is mapped.
pub(crate) fn find(address: usize) -> Option<Arc<Allocation>> {
    entry(address).filter(|found| found.reserved().is_none() || reserved::covers(address, 1))
}

/// The reservation of a program's that the address lies in.
pub(crate) fn find_reserved(address: usize) -> Option<Arc<Allocation>> {
    entry(address).filter(|found| found.reserved().is_some())
}

fn entry(address: usize) -> Option<Arc<Allocation>> {
    let table = TABLE.read();
    let (_, allocation) = table.range(..=address).next_back()?;
    (address - allocation.address < allocation.size).then(|| Arc::clone(allocation))
}

/// The allocation that the address lies in and that work may use now: the one that calls find, or one whose free is still ahead.
pub(crate) fn find_usable(address: usize) -> Option<Arc<Allocation>> {
    let covers = |it: &Arc<Allocation>| {
        it.is_usable() && address.checked_sub(it.address).is_some_and(|at| at < it.size)
    };
    let among = |others: &RwLock<BTreeMap<u64, Arc<Allocation>>>| {
        others.read().values().find(|it| covers(it)).cloned()
    };
    find(address).filter(covers).or_else(|| among(&LEAVING)).or_else(|| among(&EARLIER))
}

/// Whether calls know it, or a graph does.
pub(crate) fn is_known(allocation: &Arc<Allocation>) -> bool {
    let found = TABLE.read().get(&allocation.address).is_some_and(|there| Arc::ptr_eq(there, allocation));
    found || EARLIER.read().contains_key(&allocation.id)
}

/// Lets an allocation of a graph have the address of another one, which is freed before it; false if that has not got it any more.
pub(crate) fn follow(former: &Arc<Allocation>, allocation: &Arc<Allocation>) -> bool {
    let mut table = TABLE.write();
    match table.get_mut(&former.address) {
        Some(there) if Arc::ptr_eq(there, former) => *there = Arc::clone(allocation),
        _ => return false,
    }
    EARLIER.write().insert(former.id, Arc::clone(former));
    true
}

/// The addresses around one that are no allocation's, where a GPU maps memory all the same: device memory in blocks, the host's in pages.
/// With one whose block or page it is; `None` if that is nobody's who may use it.
pub(crate) fn gap(
    address: usize,
    may_use: impl Fn(&Allocation) -> bool,
) -> Option<(Arc<Allocation>, Range<usize>)> {
    let page = address / PAGE * PAGE;
    let block = window::block(address).unwrap_or(page..page + PAGE);
    let table = TABLE.read();
    let ends = |one: &Allocation| one.address + one.size;
    let before =
        table.range(..block.start).next_back().map(|(_, one)| one).filter(|one| ends(one) > block.start);
    let all = || before.into_iter().chain(table.range(block.clone()).map(|(_, one)| one));
    let owner = all().find(|one| one.is_usable() && may_use(one))?;
    if all().any(|one| (one.address..ends(one)).contains(&address)) {
        return None;
    }
    let start = all().map(|one| ends(one)).filter(|end| *end <= address).max();
    let end = all().map(|one| one.address).filter(|start| *start > address).min();
    Some((Arc::clone(owner), start.unwrap_or(block.start)..end.unwrap_or(block.end)))
}

/// What lies at or near an address that a kernel cannot use, for a message.
pub(crate) fn neighbourhood(address: usize) -> String {
    /// Farther away, no access that went wrong is meant for it.
    const NEAR: usize = 1 << 30;
    if let Some(found) = find(address) {
        return match found.mapping(address) {
            Some(_) => "which the device may not use so; allow it with cuMemSetAccess".to_owned(),
            None => "that is freed, or another device's without access to it".to_owned(),
        };
    }
    if find_reserved(address).is_some() {
        return "that is reserved, and no memory is mapped there".to_owned();
    }
    let table = TABLE.read();
    let below =
        table.range(..=address).next_back().map(|(_, one)| (address - one.address - one.size + 1, one));
    let above = table.range(address..).next().map(|(_, one)| (one.address - address, one));
    let sides = [(below, "after"), (above, "before")].into_iter();
    let near = sides.filter_map(|(found, side)| found.map(|(distance, one)| (distance, side, one)));
    match near.min_by_key(|(distance, ..)| *distance).filter(|(distance, ..)| *distance < NEAR) {
        Some((distance, side, one)) => {
            format!("{distance} bytes {side} the {} bytes at {:#x}", one.size, one.address)
        }
        None if address < 4096 => "NULL, or near it".to_owned(),
        None => "no memory is near it".to_owned(),
    }
}

/// Takes the allocation that starts at the address out of the table, if it is of the wanted kind. Work that is enqueued
/// finds it until it is freed.
pub(crate) fn remove(address: usize, wanted: impl Fn(&Kind) -> bool) -> Option<Arc<Allocation>> {
    let mut table = TABLE.write();
    if !wanted(&table.get(&address)?.kind) {
        return None;
    }
    let allocation = table.remove(&address)?;
    // That memory of pools ends is work, which says so itself.
    if !allocation.is_pooled() {
        check::note_gone(|| allocation.checked());
    }
    LEAVING.write().insert(allocation.id, Arc::clone(&allocation));
    lend(std::slice::from_ref(&allocation));
    Some(allocation)
}

/// Memory that goes, and that other processes have open, stays for them, until they close it (measured). Lets go of what they have closed.
fn lend(leaving: &[Arc<Allocation>]) {
    static LENT: Mutex<Vec<Arc<Allocation>>> = Mutex::new(Vec::new());
    let mut lent = LENT.lock();
    let (stays, goes): (Vec<_>, Vec<_>) = lent.drain(..).partition(|one| one.is_lent());
    *lent = stays;
    lent.extend(leaving.iter().filter(|one| one.is_lent()).cloned());
    drop(lent);
    drop(goes); // outside of the lock
}

/// The allocations that satisfy a condition.
pub(crate) fn select(condition: impl Fn(&Allocation) -> bool) -> Vec<Arc<Allocation>> {
    TABLE.read().values().filter(|allocation| condition(allocation)).cloned().collect()
}

/// Memory of a graph that no graph knows any more is no memory either.
pub(crate) fn forget_graph_memory(allocation: &Arc<Allocation>) {
    let mut table = TABLE.write();
    let is_there = table.get(&allocation.address).is_some_and(|there| Arc::ptr_eq(there, allocation));
    let mut earlier = EARLIER.write();
    let mut forgotten = earlier.remove(&allocation.id);
    if is_there {
        // The one before it has the address again.
        let last = earlier.values().rev().find(|one| one.address == allocation.address).map(|one| one.id);
        forgotten = match last.and_then(|last| earlier.remove(&last)) {
            Some(one) => table.insert(one.address, one),
            None => table.remove(&allocation.address),
        };
    }
    drop((earlier, table));
    drop(forgotten); // outside of the locks
}

/// The same while work that comes before its free may still use it.
pub(crate) fn leave_graph_memory(allocation: &Arc<Allocation>) {
    LEAVING.write().insert(allocation.id, Arc::clone(allocation));
    forget_graph_memory(allocation);
}

/// A stream is destroyed: managed memory that only it could use is as it was at first.
pub(crate) fn forget_stream(stream: u64) {
    if !concurrent_managed() {
        let table = TABLE.read();
        let pages = table.values().filter_map(|allocation| allocation.pages.as_ref());
        pages.for_each(|pages| pages.attachment.forget(stream));
    }
}

/// Drops everything that belongs to a context that has ended. Memory of a pool belongs to none (measured).
fn forget(owner: &Arc<Activation>) {
    let stays =
        |allocation: &Arc<Allocation>| allocation.is_pooled() || !Arc::ptr_eq(&allocation.owner, owner);
    lend(&select(|allocation| Arc::as_ptr(&allocation.owner) == Arc::as_ptr(owner)));
    TABLE.write().retain(|_, allocation| stays(allocation));
    for others in [&LEAVING, &EARLIER] {
        others.write().retain(|_, allocation| stays(allocation));
    }
    release_kept(owner.device());
}

/// Everything in the table, to a report of what lives.
struct Allocations;

impl Source for Allocations {
    fn show(&self, show: &mut dyn FnMut(live::Object)) {
        TABLE.read().values().filter_map(|allocation| allocation.report()).for_each(show);
    }

    fn set_label(&self, name: usize, label: Option<&Arc<str>>) -> bool {
        let table = TABLE.read();
        let Some(allocation) = table.get(&name) else { return false };
        *allocation.label.lock() = label.cloned();
        true
    }
}
