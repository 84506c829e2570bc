//! The ends of copies and fills: ranges of bytes, checked, and held while they are used.

use super::access;
use super::pages;
use super::pool::Home;
use super::table::{Allocation, Kind, find, find_usable, is_known};
use super::vmm::reserved;
use crate::abi::reach;
use crate::abi::sys::{CU_MEM_ACCESS_FLAGS_PROT_NONE, CUDA_ERROR_INVALID_VALUE, CUresult};
use crate::check::access::Memory;
use crate::driver::context::Activation;
use crate::driver::context::current::top;
use crate::driver::device::Device;
use crate::driver::space::window;
use crate::instruments::log;
use std::sync::Arc;

/// Whose memory a range is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Device,
    /// Of host and devices.
    Managed,
    /// The host's, in reach of the device.
    Pinned,
    /// Ordinary host memory, which the driver knows nothing about.
    Pageable,
}

/// Where memory comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A pool, by its handle.
    Pool(usize),
    Graph,
    Plain,
}

/// A range of bytes.
#[derive(Clone)]
pub(crate) struct Span {
    address: usize,
    size: usize,
    bytes: *mut u8,
    hold: Hold,
}

/// What keeps the bytes where they are.
#[derive(Clone)]
enum Hold {
    Allocation(Arc<Allocation>),
    /// A copy of our own.
    Staged(#[allow(dead_code)] Arc<Box<[u8]>>), // held for its drop
    /// The caller.
    Caller,
}

// SAFETY: an address; see `Allocation`.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

/// A range that work reads or writes.
pub(crate) struct Access<'a> {
    pub(crate) span: &'a Span,
    /// False if it only reads.
    pub(crate) writes: bool,
}

impl<'a> Access<'a> {
    pub(crate) fn read(span: &'a Span) -> Self {
        Self { span, writes: false }
    }

    pub(crate) fn write(span: &'a Span) -> Self {
        Self { span, writes: true }
    }
}

impl Span {
    /// `size` bytes at a device pointer: device memory, or host memory that the device reaches.
    pub(crate) fn on_device(address: usize, size: usize) -> Result<Self, CUresult> {
        let allocation = find(address).ok_or_else(|| refuse(address))?;
        check_admitted(&allocation)?;
        Self::inside(allocation, address, size)
    }

    /// `size` bytes at any pointer. Where it is not one of the driver's it is taken for ordinary host memory, except for
    /// NULL and stale device pointers.
    pub(crate) fn anywhere(address: usize, size: usize) -> Result<Self, CUresult> {
        match find(address) {
            Some(allocation) => Self::inside(allocation, address, size),
            None if address == 0 || window::contains(address) => Err(refuse(address)),
            None => Ok(Self::new(address, size, address as *mut u8, Hold::Caller)),
        }
    }

    fn inside(allocation: Arc<Allocation>, address: usize, size: usize) -> Result<Self, CUresult> {
        let bytes = allocation.locate(address, size)?;
        Ok(Self::new(address, size, bytes, Hold::Allocation(allocation)))
    }

    fn new(address: usize, size: usize, bytes: *mut u8, hold: Hold) -> Self {
        Self { address, size, bytes, hold }
    }

    /// A copy of the caller's bytes.
    pub(crate) fn staged(bytes: Box<[u8]>) -> Self {
        // Never written: it is the source of a copy.
        let (start, size) = (bytes.as_ptr().cast_mut(), bytes.len());
        Self::new(start as usize, size, start, Hold::Staged(Arc::new(bytes)))
    }

    /// An address where no memory is, or none that may be used: nothing is done with it but to refuse it later.
    pub(crate) fn nowhere(address: usize, size: usize) -> Self {
        Self::new(address, size, std::ptr::null_mut(), Hold::Caller)
    }

    /// What callers know the range by.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The allocation, to whoever checks what is done to it; ordinary host memory is nobody's.
    pub(crate) fn checked(&self) -> Option<Memory> {
        match &self.hold {
            Hold::Allocation(allocation) => Some(allocation.checked()),
            Hold::Staged(_) | Hold::Caller => None,
        }
    }

    /// Where the bytes are.
    pub(crate) fn bytes(&self) -> *mut u8 {
        self.bytes
    }

    pub(crate) fn place(&self) -> Place {
        match &self.hold {
            Hold::Allocation(allocation) => match allocation.kind {
                Kind::Graph(ref memory) if memory.is_managed() => Place::Managed,
                Kind::Device(_) | Kind::Variable(_) | Kind::Graph(_) | Kind::Opened(_) => Place::Device,
                Kind::Managed(_) => Place::Managed,
                Kind::Reserved(_) if allocation.is_device(self.address) => Place::Device,
                Kind::Reserved(_) => Place::Pinned,
                Kind::Pinned(..) | Kind::Registered(_) => Place::Pinned,
                Kind::Pooled(ref pooled) => match pooled.pool().home {
                    Home::Device(_) => Place::Device,
                    Home::Managed(_) => Place::Managed,
                    Home::Host | Home::Node => Place::Pinned,
                },
            },
            Hold::Staged(_) | Hold::Caller => Place::Pageable,
        }
    }

    /// Whether it is memory at this point of the order of work: allocated, and not freed.
    pub(crate) fn is_allocated(&self) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => {
                let usable = allocation.is_usable() && self.is_mapped(allocation);
                usable || self.is_anothers_now(allocation)
            }
            Hold::Staged(_) | Hold::Caller => !self.bytes.is_null(),
        }
    }

    /// Whether memory is behind all of it, of virtual memory.
    fn is_mapped(&self, allocation: &Allocation) -> bool {
        allocation.reserved().is_none() || reserved::covers(self.address, self.size)
    }

    /// Whether a device may use all of it, of virtual memory: it was told so.
    pub(crate) fn admits(&self, device: Device, writes: bool) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => {
                allocation.reserved().is_none() || reserved::admits(device, self.address, self.size, writes)
            }
            Hold::Staged(_) | Hold::Caller => true,
        }
    }

    /// Whether another allocation of the same graph has the addresses at this point of the order: nodes mean addresses.
    fn is_anothers_now(&self, allocation: &Allocation) -> bool {
        let found = allocation.of_graph().and_then(|_| find_usable(self.address));
        found.is_some_and(|found| found.of_graph().is_some() && found.locate(self.address, self.size).is_ok())
    }

    /// Whether calls do not see it as memory, or not any more: its free was called.
    pub(crate) fn is_forgotten(&self) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => !is_known(allocation) || !self.is_mapped(allocation),
            Hold::Staged(_) | Hold::Caller => self.bytes.is_null(),
        }
    }

    /// Whether the pages are there that the host has, too, and can be accessed so.
    pub(crate) fn is_reachable(&self, writes: bool) -> bool {
        let is_the_hosts = match &self.hold {
            Hold::Allocation(allocation) => allocation.is_the_hosts(),
            Hold::Caller => !self.bytes.is_null(),
            Hold::Staged(_) => false,
        };
        !is_the_hosts || self.size == 0 || reach::is_reachable(self.address, self.size, writes)
    }

    /// Whether it is memory of a pool, or of a graph.
    pub(crate) fn is_pooled(&self) -> bool {
        self.source() != Source::Plain
    }

    /// Whether it is a device's memory from a pool, or of a graph.
    pub(crate) fn is_of_devices_pool(&self) -> bool {
        self.is_pooled() && self.place() == Place::Device
    }

    /// Whose memory it is, if it is a device's; `None` for the host's, and for managed memory.
    pub(crate) fn device(&self) -> Option<Device> {
        match &self.hold {
            Hold::Allocation(allocation) if self.place() == Place::Device => {
                Some(allocation.device(self.address))
            }
            _ => None,
        }
    }

    /// The context that it was allocated in.
    pub(crate) fn owner(&self) -> Option<&Arc<Activation>> {
        match &self.hold {
            Hold::Allocation(allocation) => Some(&allocation.owner),
            Hold::Staged(_) | Hold::Caller => None,
        }
    }

    /// Whether it is virtual memory: addresses behind which a program puts memory and takes it away.
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(&self.hold, Hold::Allocation(allocation) if allocation.reserved().is_some())
    }

    /// Where it comes from.
    pub(crate) fn source(&self) -> Source {
        match &self.hold {
            Hold::Allocation(allocation) => match &allocation.kind {
                Kind::Pooled(pooled) => Source::Pool(pooled.pool().handle() as usize),
                Kind::Graph(_) => Source::Graph,
                _ => Source::Plain,
            },
            Hold::Staged(_) | Hold::Caller => Source::Plain,
        }
    }

    /// The number of the allocation that it is in, if that is a graph's.
    pub(crate) fn graph_allocation(&self) -> Option<u64> {
        match &self.hold {
            Hold::Allocation(allocation) => allocation.of_graph().map(|_| allocation.id),
            Hold::Staged(_) | Hold::Caller => None,
        }
    }

    /// Whether it was memory once.
    pub(crate) fn is_freed(&self) -> bool {
        matches!(&self.hold, Hold::Allocation(allocation) if allocation.is_freed())
    }

    /// Whether calls see it as memory: a graph's is known by its address before that.
    pub(crate) fn is_there(&self) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => allocation.is_there(),
            Hold::Staged(_) | Hold::Caller => true,
        }
    }

    /// Refuses memory that the context has no access to.
    pub(crate) fn check_access(&self, context: &Activation) -> Result<(), CUresult> {
        let refused = match &self.hold {
            Hold::Allocation(allocation) => {
                access::access(context, allocation, self.address) == CU_MEM_ACCESS_FLAGS_PROT_NONE
            }
            Hold::Staged(_) | Hold::Caller => false,
        };
        if refused { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
    }

    /// Refuses virtual memory that the context's device may not read, or write if `writes` (measured).
    pub(crate) fn check_told(&self, context: &Activation, writes: bool) -> Result<(), CUresult> {
        if self.admits(context.device(), writes) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }

    /// Refuses memory of a device's pool that the calling thread's current context has no access to: no other memory is
    /// refused to copies, and the stream's context is not looked at (measured). Where none is current, a real driver
    /// crashes on what the stream's has no access to.
    pub(crate) fn check_pool_access(&self, of_stream: &Arc<Activation>) -> Result<(), CUresult> {
        let current = top().and_then(|context| context.life());
        self.check_pool_access_of(current.as_ref().unwrap_or(of_stream))
    }

    /// The same where nothing but the current context is looked at: without one, all memory of devices' pools is refused.
    pub(crate) fn check_pool_access_of_current(&self) -> Result<(), CUresult> {
        match top().and_then(|context| context.life()) {
            Some(current) => self.check_pool_access_of(&current),
            None if self.is_of_devices_pool() => Err(CUDA_ERROR_INVALID_VALUE),
            None => Ok(()),
        }
    }

    /// The same for a certain context.
    pub(crate) fn check_pool_access_of(&self, context: &Activation) -> Result<(), CUresult> {
        if self.is_of_devices_pool() { self.check_access(context) } else { Ok(()) }
    }

    /// Whether it is another device's memory to which the context has access.
    pub(crate) fn is_lent(&self, context: &Activation) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => access::is_lent(context, allocation),
            Hold::Staged(_) | Hold::Caller => false,
        }
    }

    /// Whether it is attached to the stream of this number, if it is attached to one.
    pub(crate) fn is_attached_to(&self, stream: u64) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => {
                allocation.pages.as_ref().is_none_or(|pages| pages.attachment.admits(stream))
            }
            Hold::Staged(_) | Hold::Caller => true,
        }
    }

    /// A device's work uses the range: pages of managed memory move.
    pub(crate) fn arrive(&self, device: Device, writes: bool) {
        if let Hold::Allocation(allocation) = &self.hold
            && let Some(pages) = &allocation.pages
        {
            pages.arrive(pages::touched(self.address - allocation.address, self.size), device, writes);
        }
    }

    /// Whether `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS` is set.
    pub(crate) fn wants_waiting(&self) -> bool {
        match &self.hold {
            Hold::Allocation(allocation) => allocation.wants_waiting(),
            Hold::Staged(_) | Hold::Caller => false,
        }
    }
}

/// The memory of the host's pools is only for devices that were admitted (measured).
fn check_admitted(allocation: &Allocation) -> Result<(), CUresult> {
    let of_host = match &allocation.kind {
        Kind::Pooled(pooled) => matches!(pooled.pool().home, Home::Host | Home::Node),
        _ => false,
    };
    let refused = of_host && !access::is_in_reach(allocation, allocation.address);
    if refused { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

/// What there is to say about an address without memory.
fn refuse(address: usize) -> CUresult {
    if address == 0 {
        log::detail("Null address specified");
    }
    CUDA_ERROR_INVALID_VALUE
}
