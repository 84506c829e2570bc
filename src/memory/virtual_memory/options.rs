//! What a program asks of virtual memory.

use crate::location::Location;
use crate::object::setters::setters;

/// What a device may do with virtual memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Read it and write it.
    #[default]
    ReadWrite,
    /// Read it.
    Read,
    /// Nothing.
    None,
}

/// How virtual memory can be shared with other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShareableHandle {
    /// Not at all.
    #[default]
    None,
    /// By a file descriptor (Linux).
    PosixFd,
    /// By a fabric handle, where the device has that (12.3) and the process an IMEX channel. cushim does not export such memory: its
    /// [native handle](crate::memory::Allocation::native) is for that.
    Fabric,
}

/// What virtual memory is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VirtualOptions {
    /// Where the memory is: `None` for the device's own; else the device, the host (13.0) or one of its NUMA nodes (12.2).
    pub location: Option<Location>,
    /// Sizes are multiples of the least granularity that works, not of the recommended one.
    pub least_granularity: bool,
    /// How other processes can have the memory.
    pub shareable: ShareableHandle,
    /// Addresses begin at a multiple of this power of two; 0 for the granularity.
    pub alignment: usize,
    /// Where the driver is asked to put the first addresses; 0 for anywhere. It may put them elsewhere.
    pub address_hint: u64,
    /// What the device may do.
    pub access: Access,
    /// The ordinals of other devices that may use the memory.
    pub peers: Vec<i32>,
    /// What these may do.
    pub peer_access: Access,
    /// Other devices on the bus, as network adapters, reach the memory by GPUDirect RDMA.
    pub gpu_direct_rdma: bool,
}

setters!(VirtualOptions {
    location: Location => Some,
    least_granularity: bool,
    shareable: ShareableHandle,
    alignment: usize,
    address_hint: u64,
    access: Access,
    peers: Vec<i32>,
    peer_access: Access,
    gpu_direct_rdma: bool,
});
