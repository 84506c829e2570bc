//! Every allocation and registration, by address.

use super::managed::pages::Pages;
use super::pool::{Home, Pooled};
use super::window::{self, Range};
use crate::context::Activation;
use crate::device::Device;
use crate::live;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What an allocation is, with what holds its bytes.
pub(crate) enum Kind {
    /// Device memory.
    Device(#[allow(dead_code)] Range), // held for its drop
    /// Device memory that a variable of loaded code lies in; unloading frees it.
    Variable(#[allow(dead_code)] Range), // held for its drop
    /// Memory of a pool.
    Pooled(Pooled),
    /// Page-locked host memory of ours, with its `CU_MEMHOSTALLOC_*` flags.
    Pinned(#[allow(dead_code)] HostPages, u32), // held for its drop
    /// Host memory of the caller's, with its `CU_MEMHOSTREGISTER_*` flags.
    Registered(u32),
    /// Memory of host and devices.
    Managed(#[allow(dead_code)] HostPages), // held for its drop
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
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`.
    pub(crate) sync_operations: AtomicBool,
    state: AtomicU8,
}

/// The states of an allocation in the order of work: the calls that allocate and free may be ahead of it.
const PROMISED: u8 = 0;
const USABLE: u8 = 1;
const FREED: u8 = 2;

// SAFETY: `bytes` is an address; who reads or writes there orders it as the driver API demands of its callers.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

/// Host pages of our own; dropping unmaps them.
pub(crate) struct HostPages {
    pub(super) address: usize,
    pub(super) size: usize,
}

impl HostPages {
    /// New pages; `size` is in whole ones.
    pub(super) fn map(size: usize) -> Option<Self> {
        let address = window::map(size, libc::PROT_READ | libc::PROT_WRITE)?;
        Some(Self { address, size })
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.address as *mut _, self.size) };
    }
}

static TABLE: RwLock<BTreeMap<usize, Arc<Allocation>>> = RwLock::new(BTreeMap::new());
/// What calls do not find any more, and work that comes before the free still does, by number.
static LEAVING: RwLock<BTreeMap<u64, Arc<Allocation>>> = RwLock::new(BTreeMap::new());

impl Allocation {
    pub(super) fn new(
        address: usize,
        size: usize,
        bytes: *mut u8,
        kind: Kind,
        owner: Arc<Activation>,
    ) -> Arc<Self> {
        Arc::new(Self::build(address, size, bytes, kind, owner))
    }

    /// An allocation whose pages move.
    pub(super) fn managed(
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
        static IDS: AtomicU64 = AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let sync_operations = AtomicBool::new(false);
        let state = AtomicU8::new(if matches!(kind, Kind::Pooled(_)) { PROMISED } else { USABLE });
        Self { address, size, bytes, kind, pages: None, owner, id, sync_operations, state }
    }

    /// Where `size` bytes at a device pointer are; refuses what is not wholly inside.
    pub(crate) fn locate(&self, address: usize, size: usize) -> Result<*mut u8, CUresult> {
        let offset = address.checked_sub(self.address).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let end = offset.checked_add(size).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if end > self.size { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(self.bytes.wrapping_add(offset)) }
    }

    /// Writes the first bytes; refuses more than there are.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CUresult> {
        let to = self.locate(self.address, bytes.len())?;
        // SAFETY: checked; nobody else uses the memory yet.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    pub(crate) fn is_device(&self) -> bool {
        match &self.kind {
            Kind::Device(_) | Kind::Variable(_) | Kind::Managed(_) => true,
            Kind::Pooled(pooled) => matches!(pooled.pool().home, Home::Device(_) | Home::Managed(_)),
            Kind::Pinned(..) | Kind::Registered(_) => false,
        }
    }

    /// Whose memory it is: a pool's device may be another one than that of the stream which it was allocated in.
    pub(crate) fn device(&self) -> Device {
        let of_pool = match &self.kind {
            Kind::Pooled(pooled) => pooled.pool().home.device(),
            _ => None,
        };
        of_pool.unwrap_or_else(|| self.owner.device())
    }

    /// Its place in the order of work has been reached; a free that came first stays.
    pub(super) fn set_usable(&self) {
        let _ = self.state.compare_exchange(PROMISED, USABLE, Ordering::AcqRel, Ordering::Relaxed);
    }

    pub(super) fn set_freed(&self) {
        self.state.store(FREED, Ordering::Release);
        let left = LEAVING.write().remove(&self.id);
        drop(left); // outside of the lock
    }

    /// Whether work may use it now.
    pub(crate) fn is_usable(&self) -> bool {
        self.state.load(Ordering::Acquire) == USABLE
    }
}

pub(super) fn insert(allocation: Arc<Allocation>) {
    TABLE.write().insert(allocation.address, allocation);
}

/// Adds `allocation` unless another one shares bytes with it, which is then returned.
pub(super) fn insert_disjoint(allocation: Arc<Allocation>) -> Result<(), Arc<Allocation>> {
    let mut table = TABLE.write();
    let below = table.range(..allocation.address + allocation.size).next_back();
    if let Some((_, other)) = below.filter(|(_, other)| other.address + other.size > allocation.address) {
        return Err(Arc::clone(other));
    }
    table.insert(allocation.address, allocation);
    Ok(())
}

/// The allocation that the address lies in.
pub(crate) fn find(address: usize) -> Option<Arc<Allocation>> {
    let table = TABLE.read();
    let (_, allocation) = table.range(..=address).next_back()?;
    (address - allocation.address < allocation.size).then(|| Arc::clone(allocation))
}

/// The allocation that the address lies in and that work may use now: the one that calls find, or one whose free is still ahead.
pub(crate) fn find_usable(address: usize) -> Option<Arc<Allocation>> {
    let covers = |it: &Arc<Allocation>| {
        it.is_usable() && address.checked_sub(it.address).is_some_and(|at| at < it.size)
    };
    find(address).filter(covers).or_else(|| LEAVING.read().values().find(|it| covers(it)).cloned())
}

/// What lies at or near an address that a kernel cannot use, for a message.
pub(crate) fn neighbourhood(address: usize) -> String {
    /// Farther away, no access that went wrong is meant for it.
    const NEAR: usize = 1 << 30;
    if find(address).is_some() {
        return "that is freed, or another device's without access to it".to_owned();
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
pub(super) fn remove(address: usize, wanted: impl Fn(&Kind) -> bool) -> Option<Arc<Allocation>> {
    let mut table = TABLE.write();
    if !wanted(&table.get(&address)?.kind) {
        return None;
    }
    let allocation = table.remove(&address)?;
    LEAVING.write().insert(allocation.id, Arc::clone(&allocation));
    Some(allocation)
}

/// Shows every allocation and registration.
pub(super) fn each(look: impl FnMut(&Arc<Allocation>)) {
    TABLE.read().values().for_each(look);
}

/// Drops everything that belongs to a context that has ended.
pub(crate) fn forget(owner: &Arc<Activation>) {
    TABLE.write().retain(|_, allocation| !Arc::ptr_eq(&allocation.owner, owner));
    LEAVING.write().retain(|_, allocation| !Arc::ptr_eq(&allocation.owner, owner));
}

/// Shows every allocation and registration.
pub(crate) fn show_live(show: &mut dyn FnMut(live::Object)) {
    for allocation in TABLE.read().values() {
        let kind = match allocation.kind {
            Kind::Managed(_) => live::MANAGED_MEMORY,
            Kind::Device(_) => live::DEVICE_MEMORY,
            Kind::Pooled(ref pooled) => pooled.pool().home.name(),
            Kind::Variable(_) => continue, // its library or module is shown
            Kind::Pinned(..) => live::PINNED_MEMORY,
            Kind::Registered(_) => live::REGISTERED_MEMORY,
        };
        let object = live::Object::of_context(kind, allocation.address, &allocation.owner);
        show(object.with_bytes(allocation.size));
    }
}
