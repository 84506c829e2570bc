//! Operations on values in memory: waiting for them, and writing them, in the order of a stream.

use super::endpoint::Endpoint;
use super::refusal::{self, End};
use super::{Captured, Operation, Side, Traits, invalid};
use crate::check::{Deed, Deeds};
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::calls::memory::operations as calls;
use crate::driver::sys::{
    self, CUstreamBatchMemOpParams, CUstreamBatchMemOpParams_v1_flushRemoteWrites as Flush,
    CUstreamBatchMemOpParams_v1_memoryBarrier as Barrier, CUstreamBatchMemOpParams_v1_waitValue as Wait,
    CUstreamBatchMemOpParams_v1_waitValue_u16 as WaitValue, CUstreamBatchMemOpParams_v1_writeValue as Write,
    CUstreamBatchMemOpParams_v1_writeValue_u16 as WriteValue,
};
use crate::object::callback::Owner;
use crate::object::error::Error;
use crate::pointer::PointerAttributes;
use crate::stream::Stream;

/// What one of several memory operations does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryAction {
    /// Waits until a value of four bytes is as the flags say, `CU_STREAM_WAIT_VALUE_*`.
    Wait32,
    /// Waits until a value of eight bytes is.
    Wait64,
    /// Writes a value of four bytes; flags are `CU_STREAM_WRITE_VALUE_*`.
    Write32,
    /// Writes a value of eight bytes.
    Write64,
    /// What other devices wrote before becomes visible.
    FlushRemoteWrites,
    /// A barrier between what comes before it and after it; flags are `CU_STREAM_MEMORY_BARRIER_TYPE_*`. Driver 11.7.
    Barrier,
}

impl MemoryAction {
    /// Bytes of the value; 0 for one that has none.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Wait32 | Self::Write32 => 4,
            Self::Wait64 | Self::Write64 => 8,
            Self::FlushRemoteWrites | Self::Barrier => 0,
        }
    }
}

/// One of several memory operations.
#[derive(Debug)]
pub struct MemoryOperation<'a> {
    /// What it does.
    pub action: MemoryAction,
    /// The driver's flags for it.
    pub flags: u32,
    /// Where the value stands: device memory, or page-locked host memory that the device reaches. `None` for what has none;
    /// of an endpoint that is given all the same, the owner is kept, and nothing else is used.
    pub at: Option<Endpoint<'a>>,
    /// The value; of four bytes the lower half.
    pub value: u64,
}

/// Memory operations, done one after the other: waiting for values, and writing them. Other devices, the network and the host
/// may write the values that are waited for, and wait for those that are written.
#[derive(Debug)]
pub struct MemoryOperations<'a, 'v>(pub(super) &'a mut [MemoryOperation<'v>]);

impl<'a, 'v> MemoryOperations<'a, 'v> {
    /// At least one.
    #[must_use]
    pub fn new(operations: &'a mut [MemoryOperation<'v>]) -> Self {
        Self(operations)
    }

    /// All of them in the driver's terms.
    pub(super) fn raw(&self, at: &Context) -> Result<Vec<CUstreamBatchMemOpParams>, Error> {
        if self.0.is_empty() {
            return Err(invalid("no memory operation is given; give at least one".to_owned()));
        }
        let raw = |(index, operation): (usize, &MemoryOperation<'_>)| {
            operation.raw(at).map_err(|failure| failure.of_item("operation", index))
        };
        self.0.iter().enumerate().map(raw).collect()
    }
}

impl MemoryOperation<'_> {
    /// Where the value stands; `None` for what has none.
    pub(super) fn value_at(&self) -> Option<&Endpoint<'_>> {
        self.at.as_ref().filter(|_| self.action.bytes() > 0)
    }

    /// The same, with its bytes.
    fn value_end(&self) -> Option<End> {
        self.value_at().map(|at| End { side: at.side(), bytes: self.action.bytes() as usize })
    }

    fn address(&self, at: &Context) -> Result<u64, Error> {
        let bytes = self.action.bytes();
        let Some(place) = &self.at else {
            return Err(invalid("a value stands somewhere; give its place".to_owned()));
        };
        match place.check("place of the value", bytes, at)? {
            Side::Array(_) => Err(invalid("an array holds no value to wait for, or to write".to_owned())),
            side => {
                let address = side.address().unwrap_or_default();
                if address.is_multiple_of(bytes) {
                    return Ok(address);
                }
                Err(invalid(format!(
                    "the address {address:#x} is not a multiple of the value's {bytes} bytes"
                )))
            }
        }
    }

    fn raw(&self, at: &Context) -> Result<CUstreamBatchMemOpParams, Error> {
        use MemoryAction as Action;
        let (flags, value) = (self.flags, self.value);
        // SAFETY: zeros are valid for all of it.
        let mut raw: CUstreamBatchMemOpParams = unsafe { std::mem::zeroed() };
        let low = value as u32;
        match self.action {
            Action::Wait32 | Action::Wait64 => {
                let (operation, u16) = match self.action {
                    Action::Wait32 => (sys::CU_STREAM_MEM_OP_WAIT_VALUE_32, WaitValue { value: low }),
                    _ => (sys::CU_STREAM_MEM_OP_WAIT_VALUE_64, WaitValue { value64: value }),
                };
                raw.waitValue = Wait { operation, address: self.address(at)?, u16, flags, alias: 0 };
            }
            Action::Write32 | Action::Write64 => {
                let (operation, u16) = match self.action {
                    Action::Write32 => (sys::CU_STREAM_MEM_OP_WRITE_VALUE_32, WriteValue { value: low }),
                    _ => (sys::CU_STREAM_MEM_OP_WRITE_VALUE_64, WriteValue { value64: value }),
                };
                raw.writeValue = Write { operation, address: self.address(at)?, u16, flags, alias: 0 };
            }
            Action::FlushRemoteWrites => {
                raw.flushRemoteWrites = Flush { operation: sys::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, flags };
            }
            Action::Barrier => {
                raw.memoryBarrier = Barrier { operation: sys::CU_STREAM_MEM_OP_BARRIER, flags };
            }
        }
        Ok(raw)
    }
}

/// Values are for order: who waits for one may wait for anything, and who writes one may be waited for.
#[cold]
pub(super) fn order_by_value(raw: &CUstreamBatchMemOpParams, deeds: &mut Deeds) {
    // SAFETY: every member begins with the number that says which one is meant.
    match unsafe { raw.operation } {
        sys::CU_STREAM_MEM_OP_WAIT_VALUE_32 | sys::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
            deeds.push(Deed::MayWait)
        }
        sys::CU_STREAM_MEM_OP_BARRIER | sys::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => {}
        _ => deeds.push(Deed::IsSeen),
    }
}

/// Which of these addresses no value can be written to and waited for at, on driver branch 580 (measured); empty if they are not why the
/// driver refuses. What the driver says of memory of a graph depends on whether it is mapped, so the caller tells which that is.
#[cold]
pub(crate) fn why_no_values(
    driver: &Driver,
    mut addresses: impl Iterator<Item = u64>,
    is_of_graph: impl Fn(u64) -> bool,
) -> String {
    let why = |address| {
        let known = PointerAttributes::of(driver, address).ok()?;
        let what = match known.memory_type {
            _ if is_of_graph(address) => "memory of a graph",
            None => "memory that a graph allocates, or that the driver does not know",
            Some(_) if known.managed => "managed memory",
            Some(_) if !known.pool.is_null() => "memory of a pool",
            Some(_) => return None,
        };
        Some(format!(
            ". The value at {address:#x} is in {what}; use device memory of cushim_context_allocate, or page-locked memory"
        ))
    };
    addresses.find_map(why).unwrap_or_default()
}

impl Operation for MemoryOperations<'_, '_> {
    type Output = ();
    type Checked<'a>
        = Vec<CUstreamBatchMemOpParams>
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        let has_owners = self.0.iter().filter_map(|operation| operation.at.as_ref()).any(Endpoint::has_owner);
        Traits { has_owners, ..Traits::default() }
    }

    fn check<'a>(&'a self, at: &'a Context) -> Result<Vec<CUstreamBatchMemOpParams>, Error> {
        self.raw(at)
    }

    unsafe fn enqueue(
        &self,
        mut checked: Vec<CUstreamBatchMemOpParams>,
        stream: &Stream,
    ) -> Result<(), Error> {
        let context = stream.context();
        // SAFETY: the caller vouches for the places; the stream is alive.
        unsafe { calls::enqueue(context.table(), &mut checked, stream.raw()) }.map_err(|error| {
            let values = self.0.iter().filter_map(MemoryOperation::value_end);
            let mut failure = refusal::of_values(context.failed(error, stream), context, values);
            if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
                let addresses = self.0.iter().filter_map(|operation| operation.address(context).ok());
                failure.message.push_str(&why_no_values(context.driver(), addresses, |_| false));
            }
            failure
        })
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new(match self.0.len() {
            1 => "memory operation".to_owned(),
            more => format!("{more} memory operations"),
        });
        self.0.iter().for_each(|operation| match operation.action {
            MemoryAction::Wait32 | MemoryAction::Wait64 => deeds.push(Deed::MayWait),
            MemoryAction::Write32 | MemoryAction::Write64 => deeds.push(Deed::IsSeen),
            MemoryAction::FlushRemoteWrites | MemoryAction::Barrier => {}
        });
        deeds
    }

    fn take_owners(&mut self) -> Vec<Owner> {
        self.0.iter_mut().filter_map(|operation| operation.at.as_mut()?.take_owner()).collect()
    }

    fn captured(&mut self) -> Captured<'_> {
        Captured::Node(self)
    }
}
