//! Device pointers, and what the driver knows of an address.

use crate::context::Context;
use crate::driver::calls::memory::allocation::info as memory_info;
use crate::driver::calls::memory::pointer as calls;
use crate::driver::{Driver, sys};
use crate::object::error::{Error, Status, Subject};
use std::ffi::c_void;
use std::fmt;

/// An address in device memory, or the one by which a device knows host memory. Whether it is good is the caller's
/// business; nothing here reads through it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// The address 0, which is that of no memory.
    pub const NULL: Self = Self(0);

    /// Whether this is [`NULL`](Self::NULL).
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address so many bytes further on; `None` beyond the last address.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Option<Self> {
        match self.0.checked_add(bytes) {
            Some(address) => Some(Self(address)),
            None => None,
        }
    }
}

impl fmt::Display for DevicePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for DevicePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePointer({:#x})", self.0)
    }
}

/// What the driver knows of an address, be it a device pointer or a host address.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::Device;
/// use cushim::driver::sys;
/// use cushim::memory::{DeviceMemory, PointerAttributes};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let memory = DeviceMemory::allocate(&context, 4096)?;
/// let attributes = PointerAttributes::of(&driver, memory.pointer().0 + 100)?;
/// assert_eq!(attributes.memory_type, Some(sys::CU_MEMORYTYPE_DEVICE));
/// assert_eq!(attributes.range, Some((memory.pointer(), 4096)));
/// # Ok::<(), cushim::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerAttributes {
    /// `CU_MEMORYTYPE_HOST` or `CU_MEMORYTYPE_DEVICE`: where the memory lives (managed memory lives on the device).
    /// `None` if the address is none of the driver's: ordinary host memory, NULL, or memory that was freed.
    pub memory_type: Option<sys::CUmemorytype>,
    /// The ordinal of the device that it was allocated or registered for; `None` if there is none.
    pub device: Option<i32>,
    /// The context that it was allocated or registered in; NULL if there is none, as for memory of a pool.
    pub context: sys::CUcontext,
    /// The address by which the device of the current context reaches it; `NULL` if it does not, as memory of another device
    /// without access ([`Context::enable_peer_access`]), or if no context is current.
    pub device_pointer: DevicePointer,
    /// The address by which the host reaches it; NULL if it does not, or if the address is none of the driver's.
    pub host_pointer: *mut c_void,
    /// Whether it is managed memory. Memory of a managed pool says so on driver 13.0, and need not on others.
    pub managed: bool,
    /// The pool that it comes from; NULL if from none.
    pub pool: sys::CUmemoryPool,
    /// The start of the allocation that it lies in, and that one's bytes.
    pub range: Option<(DevicePointer, usize)>,
    /// A number of the allocation that no other has in this process; `None` if it has none.
    pub buffer_id: Option<u64>,
    /// Whether there is memory behind the address.
    pub mapped: bool,
    /// Whether synchronous operations on it always synchronise, as `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS` asks.
    pub synchronous: bool,
    /// Whether it can be shared with other processes by `cuIpcGetMemHandle`.
    pub ipc_capable: bool,
    /// Whether other devices of the machine can reach it by GPUDirect RDMA.
    pub rdma_capable: bool,
}

/// What is asked, in the order in which [`PointerAttributes::of`] reads it. All of it is older than the oldest driver
/// that is supported: a younger attribute would make the driver refuse them all.
const ASKED: [sys::CUpointer_attribute; 14] = [
    sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    sys::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    sys::CU_POINTER_ATTRIBUTE_CONTEXT,
    sys::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
    sys::CU_POINTER_ATTRIBUTE_HOST_POINTER,
    sys::CU_POINTER_ATTRIBUTE_IS_MANAGED,
    sys::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
    sys::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
    sys::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    sys::CU_POINTER_ATTRIBUTE_BUFFER_ID,
    sys::CU_POINTER_ATTRIBUTE_MAPPED,
    sys::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
    sys::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
    sys::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
];

/// Where the ordinal stands in `ASKED`: the one whose 0 means something.
const ORDINAL: usize = 1;

impl PointerAttributes {
    /// Asks the driver. It needs no current context, and answers for every address; [`Context::pointer_attributes`] asks
    /// in a context, which tells the [`device_pointer`](Self::device_pointer).
    ///
    /// # Errors
    /// The driver's.
    pub fn of(driver: &Driver, address: u64) -> Result<Self, Error> {
        let mut unknown = [0; ASKED.len()];
        unknown[ORDINAL] = NO_DEVICE;
        let [
            memory_type,
            ordinal,
            context,
            device,
            host,
            managed,
            pool,
            start,
            bytes,
            id,
            mapped,
            sync,
            ipc,
            rdma,
        ] = calls::attributes(driver.object_table(), address, ASKED, unknown)
            .map_err(|error| Error::of_call(driver, error))?;
        // Of an address that is not its own the driver says that the host reaches it, whatever it is.
        let host = if memory_type == 0 { 0 } else { host };
        Ok(Self {
            memory_type: (memory_type != 0).then_some(sys::CUmemorytype(memory_type as i32)),
            device: Some(ordinal as u32 as i32).filter(|ordinal| *ordinal >= 0),
            context: handle(context),
            device_pointer: DevicePointer(device),
            host_pointer: handle(host),
            managed: managed != 0,
            pool: handle(pool),
            // Of memory of another process's pool on the host, driver branch 580 says how long it is, and not where it starts (measured).
            range: match (start, bytes) {
                (0, 0) => None,
                (0, bytes) => Some((DevicePointer(address), bytes as usize)),
                (start, bytes) => Some((DevicePointer(start), bytes as usize)),
            },
            buffer_id: Some(id).filter(|id| *id != 0),
            mapped: mapped != 0,
            synchronous: sync != 0,
            ipc_capable: ipc != 0,
            rdma_capable: rdma != 0,
        })
    }
}

/// The ordinal that means no device, `CU_DEVICE_INVALID`.
const NO_DEVICE: u64 = -2_i32 as u32 as u64;

fn handle<T>(value: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(value as usize)
}

impl PointerAttributes {
    /// Only where the memory lives; see [`memory_type`](Self::memory_type).
    pub(crate) fn memory_type(driver: &Driver, address: u64) -> Result<Option<sys::CUmemorytype>, Error> {
        let [found] =
            calls::attributes(driver.object_table(), address, [sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE], [0])
                .map_err(|error| Error::of_call(driver, error))?;
        Ok((found != 0).then_some(sys::CUmemorytype(found as i32)))
    }
}

/// Freeing in a context that is gone: what was in it went with it, but memory that is still there is another's, and success would leak it.
impl Context {
    /// Refuses memory that is still there.
    #[cold]
    pub(crate) fn check_went(&self, address: u64, object: &dyn Subject) -> Result<(), Error> {
        match self.living(address) {
            Some(_) => Err(self.still_there(address, object)),
            None => Ok(()),
        }
    }

    /// The same for memory that was in this context when it was allocated: what stands there in the context that the driver has made since
    /// at the same place is other memory.
    #[cold]
    pub(crate) fn check_went_with_it(&self, address: u64, object: &dyn Subject) -> Result<(), Error> {
        match self.living(address) {
            Some(of) if of != self.native() => Err(self.still_there(address, object)),
            _ => Ok(()),
        }
    }

    /// The context of the memory at the address, or NULL; `None` if there is no memory. A driver that cannot be asked has none.
    fn living(&self, address: u64) -> Option<sys::CUcontext> {
        let found = PointerAttributes::of(self.driver(), address).ok()?;
        found.memory_type.map(|_| found.context)
    }

    fn still_there(&self, address: u64, object: &dyn Subject) -> Error {
        let refusal = format!(
            "{self} was destroyed or reset, and the memory at {address:#x} is still there, so it is not freed: free it in the context \
             that it belongs to, or in a stream of a context that was not reset"
        );
        Error::new(Status(sys::CUDA_ERROR_CONTEXT_IS_DESTROYED.0), refusal).about(object)
    }
}

impl Context {
    /// Free and total bytes of the device's memory, whoever uses it.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_info(&self) -> Result<(usize, usize), Error> {
        self.here(memory_info)
    }

    /// What the driver knows of an address, with the pointer by which this context's device reaches it. Of memory of another
    /// device it tells the same, but for that pointer.
    ///
    /// # Errors
    /// The driver's.
    pub fn pointer_attributes(&self, address: u64) -> Result<PointerAttributes, Error> {
        let _current = self.enter()?;
        PointerAttributes::of(self.driver(), address).map_err(|failure| self.at_address(failure, address))
    }

    /// A failure of the driver's about an address, which it names no more than the context.
    #[cold]
    pub(crate) fn at_address(&self, mut failure: Error, address: u64) -> Error {
        failure.message.push_str(&format!(". It was about the address {address:#x}"));
        failure.about(self)
    }

    /// The allocation that a pointer lies in, device memory or host memory that the device reaches: its start, and its
    /// bytes. Of another device's memory, it is found only with access ([`enable_peer_access`](Self::enable_peer_access));
    /// [`PointerAttributes::range`] tells it without.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_NOT_FOUND` (500) if it lies in none, or in none that the context reaches.
    pub fn address_range(&self, pointer: DevicePointer) -> Result<(DevicePointer, usize), Error> {
        let (start, bytes) = self
            .here(|there| calls::range(there, pointer.0))
            .map_err(|failure| self.at_address(failure, pointer.0))?;
        Ok((DevicePointer(start), bytes))
    }
}
