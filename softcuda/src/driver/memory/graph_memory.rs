//! Memory of graphs. Its address is known when a graph gets a node for it, and stays; it is memory from the node's turn in a
//! launch until its free, in that launch, in another graph's, or by a call.

use super::meter::Meter;
use super::pages;
use super::pool::find_room;
use crate::abi::Answer;
use crate::abi::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_OUT_OF_MEMORY, CUmemAccess_flags, CUresult,
};
use crate::driver::device::Device;
use crate::driver::space::host_pages::HostPages;
use crate::driver::space::window::{ALIGNMENT, Claim, Range};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an allocation of a graph is, beside its address.
pub(crate) struct GraphMemory {
    block: Arc<Block>,
    /// The devices that may use it, beside its own.
    peers: Box<[Device]>,
    state: Mutex<State>,
}

/// Addresses, and what is behind them: of one allocation, or of several of a graph, one after the other.
struct Block {
    store: Store,
    device: Device,
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    /// What it takes of the device's memory.
    backing: Option<Claim>,
    /// How many of the allocations are memory, as calls see it.
    allocated: usize,
}

/// Where its addresses are.
enum Store {
    Device(Range),
    /// Memory of host and devices.
    Managed(HostPages),
}

impl Store {
    fn new(size: usize, is_managed: bool) -> Option<Self> {
        match is_managed {
            true => HostPages::map(size.checked_next_multiple_of(pages::SIZE)?).map(Self::Managed),
            false => Range::reserve(size).map(Self::Device),
        }
    }

    /// Bytes, in whole units.
    fn size(&self) -> usize {
        match self {
            Self::Device(range) => range.size(),
            Self::Managed(pages) => pages.size,
        }
    }
}

#[derive(Default)]
struct State {
    /// Whether it is memory, as calls see it: launches may be behind them.
    allocated: bool,
    /// Whether no node is left for it.
    orphan: bool,
    /// How many nodes free it: in its own graph, and in others.
    frees: [u32; 2],
}

/// What graphs have of a device's memory.
#[derive(Default)]
pub(super) struct Meters {
    pub(super) used: Meter,
    pub(super) reserved: Meter,
    /// What graphs had that are gone: it stays the graphs' until it is trimmed (measured).
    kept: Vec<Claim>,
}

impl Meters {
    /// What a graph that is gone had of this size.
    fn reuse(&mut self, size: usize) -> Option<Claim> {
        let at = self.kept.iter().position(|claim| claim.size() == size)?;
        Some(self.kept.swap_remove(at))
    }

    fn add(&mut self, size: usize) {
        self.used.add(size);
        self.reserved.add(size);
    }

    fn take(&mut self, size: usize) {
        self.used.take(size);
        self.reserved.take(size);
    }

    fn release(&mut self) {
        for claim in std::mem::take(&mut self.kept) {
            self.take(claim.size());
        }
    }
}

/// By the ordinals of the devices.
static METERS: Mutex<BTreeMap<usize, Meters>> = Mutex::new(BTreeMap::new());

/// Looks at what graphs have of a device's memory.
pub(super) fn with_meters<T>(device: Device, look: impl FnOnce(&mut Meters) -> T) -> T {
    look(METERS.lock().entry(device.ordinal()).or_default())
}

/// Gives to a device what graphs had that are gone.
pub(super) fn release_kept(device: Device) {
    with_meters(device, Meters::release);
}

impl Block {
    /// Some of the device's memory, which graphs have from now on: what others had, if it fits.
    fn claim(&self) -> Option<Claim> {
        let (size, device) = (self.store.size(), self.device.ordinal());
        if let Some(kept) = with_meters(self.device, |meters| meters.reuse(size)) {
            return Some(kept);
        }
        let take = || find_room(device, size, || Claim::take(size, device));
        let claim = take().or_else(|| {
            release_kept(self.device);
            take()
        })?;
        self.meter(|meters| meters.add(size));
        Some(claim)
    }

    /// From now on it takes memory of the device.
    fn map(&self) -> Answer {
        if self.content.lock().backing.is_some() {
            return Ok(());
        }
        let claim = self.claim().ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
        let mut content = self.content.lock();
        match content.backing {
            // Another launch was faster.
            Some(_) => self.meter(|meters| meters.kept.push(claim)),
            None => content.backing = Some(claim),
        }
        Ok(())
    }

    /// Gives what it takes to the device, unless it is memory.
    fn trim(&self) {
        let mut content = self.content.lock();
        if content.allocated == 0 && content.backing.take().is_some() {
            self.meter(|meters| meters.take(self.store.size()));
        }
    }

    fn meter(&self, change: impl FnOnce(&mut Meters)) {
        with_meters(self.device, change);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(claim) = self.content.get_mut().backing.take() {
            self.meter(|meters| meters.kept.push(claim));
        }
    }
}

impl GraphMemory {
    /// Addresses for so many bytes on a device; `None` if there are no more.
    pub(super) fn new(size: usize, is_managed: bool, device: Device, peers: Box<[Device]>) -> Option<Self> {
        let block = Block { store: Store::new(size, is_managed)?, device, content: Mutex::default() };
        Some(Self { block: Arc::new(block), peers, state: Mutex::default() })
    }

    /// Whether memory of so many bytes can have its addresses when it is freed: a device's, for the same devices, and not more.
    pub(super) fn fits(&self, size: usize, device: Device, peers: &[Device]) -> bool {
        let all = self.block.store.size();
        let has_room = size.checked_next_multiple_of(ALIGNMENT).is_some_and(|size| size <= all);
        has_room && !self.is_managed() && self.block.device == device && *self.peers == *peers
    }

    /// Memory with the same addresses, which comes behind this.
    pub(super) fn followed(&self) -> Self {
        Self { block: Arc::clone(&self.block), peers: self.peers.clone(), state: Mutex::default() }
    }

    /// Whether it is memory of host and devices.
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self.block.store, Store::Managed(_))
    }

    /// The device pointer, and where the bytes are.
    pub(super) fn place(&self) -> (usize, *mut u8) {
        match &self.block.store {
            Store::Device(range) => (range.address(), range.bytes()),
            Store::Managed(pages) => (pages.address, pages.address as *mut u8),
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.block.device
    }

    pub(crate) fn access_from(&self, device: Device) -> CUmemAccess_flags {
        if self.is_managed() || device == self.device() || self.peers.contains(&device) {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        } else {
            CU_MEM_ACCESS_FLAGS_PROT_NONE
        }
    }

    /// A node is to free it, in its own graph or in another one; false if one of the other sort is there (measured).
    pub(crate) fn begin_free(&self, is_own: bool) -> bool {
        let frees = &mut self.state.lock().frees;
        let fits = frees[usize::from(is_own)] == 0;
        frees[usize::from(!is_own)] += u32::from(fits);
        fits
    }

    /// Such a node is gone.
    pub(crate) fn end_free(&self, is_own: bool) {
        self.state.lock().frees[usize::from(!is_own)] -= 1;
    }

    /// Whether calls see it as memory.
    pub(crate) fn is_allocated(&self) -> bool {
        self.state.lock().allocated
    }

    /// A launch allocates it and does not free it.
    pub(crate) fn set_allocated(&self) {
        if !std::mem::replace(&mut self.state.lock().allocated, true) {
            self.block.content.lock().allocated += 1;
        }
    }

    /// It is to be freed; refused if it is no memory. Answers whether nobody refers to it any more.
    pub(super) fn take_allocated(&self) -> Result<bool, CUresult> {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.allocated, false) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        self.block.content.lock().allocated -= 1;
        Ok(state.orphan)
    }

    /// There is no node for it any more. Answers whether it is memory still.
    pub(super) fn set_orphan(&self) -> bool {
        let mut state = self.state.lock();
        state.orphan = true;
        state.allocated
    }

    /// A launch is to have it: from now on it takes memory of the device.
    pub(crate) fn map(&self) -> Answer {
        self.block.map()
    }

    /// Gives what it takes to the device, unless it is memory. Execs that live have it again when they are launched (measured).
    pub(super) fn trim(&self) {
        self.block.trim();
    }
}
