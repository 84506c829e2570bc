//! Operations: what streams are asked to do, as values.
//!
//! An operation is made once, from borrowed arguments, and given to a sink: [`Stream::enqueue`] orders it after the work that
//! is in the stream by now, [`Context::run`] does it before it returns. The operation checks itself, all of it before any
//! effect; it names the objects that have to live until it is done, and it says why a driver refused it. No operation knows
//! the sinks.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::op::{Copy, Endpoint, Memset, Value};
//! use cushim::memory::DeviceMemory;
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let memory = DeviceMemory::allocate(&context, 64)?;
//! let mut bytes = [0u8; 64];
//! // SAFETY: the memory and the array have 64 bytes, and stay until the stream is done.
//! unsafe {
//!     stream.enqueue(&mut Memset::new(memory.at(0), Value::U8(7), 64))?;
//!     stream.enqueue(&mut Copy::new(Endpoint::host(&mut bytes), memory.at(0), 64))?;
//! }
//! stream.synchronize()?;
//! assert_eq!(bytes, [7; 64]);
//! # Ok::<(), cushim::Error>(())
//! ```

// | file | concept |
// |---|---|
// | `operand` | the objects that an operation uses |
// | `endpoint` | where an operation reads or writes |
// | `region` | boxes of memory |
// | `copy`, `copy_3d` | copies of ranges and of boxes |
// | `peers` | which copies go between two devices |
// | `copy_batch` | copies with attributes, one or many |
// | `memset` | one value, repeated |
// | `refusal` | why the driver refused a copy or a memset |
// | `launch`, `arguments` | launches of kernels |
// | `reach` | whether a kernel can use an address |
// | `event`, `awaited` | records of events, and waiting for them |
// | `host_function` | functions that a stream calls |
// | `memory_operations` | waits for values in memory, and writes of them |
// | `node` | operations as nodes of graphs |
// | `capture` | operations in streams under capture |
// | `attachment` | what a node keeps alive, and who lets go of it when |
// | `allocation` | memory that comes and goes in the order of a stream |
// | `batch` | what all operations with many items have in common |

mod allocation;
mod arguments;
pub(crate) mod attachment;
pub(crate) mod awaited;
pub mod batch;
pub(crate) mod capture;
mod copy;
mod copy_3d;
mod copy_batch;
mod endpoint;
pub(crate) mod event;

mod host_function;
mod launch;
mod memory_operations;
mod memset;
pub mod node;
mod operand;
mod peers;
mod reach;
mod refusal;
mod region;
mod standing;
#[cfg(all(test, not(loom)))]
mod tests;

pub use allocation::{Allocate, Free};
pub(crate) use allocation::{explain_free, explain_out_of_memory, is_out_of_memory};
pub use arguments::{Argument, Arguments, ConditionArgument, NumberArgument};
pub use capture::Captured;
pub use copy::Copy;
pub use copy_3d::Copy3d;
pub use copy_batch::{CopyAttributes, CopyBatch, SourceAccess};
pub use endpoint::Endpoint;
pub(crate) use endpoint::{Side, check_range};
pub use event::{Record, Wait};
pub use host_function::HostFunction;
pub use launch::Launch;
pub(crate) use memory_operations::why_no_values;
pub use memory_operations::{MemoryAction, MemoryOperation, MemoryOperations};
pub use memset::{Memset, Value};
pub use node::NodeOperation;
pub use node::allocation::{Empty, GraphAllocation};
pub(crate) use operand::{ConditionOperand, Held, Operand, any_asleep, check_operand, one_awoke, one_sleeps};
pub use region::{Extent, Region};

use crate::check::{self, Deeds};
use crate::context::Context;
use crate::event::Event;
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::stream::Stream;

/// What a sink has to know of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Traits {
    /// It calls a function of the program's.
    pub calls_host: bool,
    /// It can be done once, and not again and again.
    pub single_use: bool,
    /// It may touch ordinary (not page-locked) host memory.
    pub touches_host: bool,
    /// It touches arrays.
    pub touches_arrays: bool,
    /// It allocates or frees.
    pub allocates: bool,
    /// It is one of the driver's calls for many items, which streams that are being captured do not take.
    pub is_batch: bool,
    /// The driver looks at the context that is current: it has to be the stream's.
    pub needs_context: bool,
    /// It has owners, which are released when it is done.
    pub has_owners: bool,
    /// It names conditions, which mean something in their graph only.
    pub has_conditions: bool,
}

/// Something that a stream can be asked to do. The types of this module are all there are.
pub trait Operation: sealed::Sealed {
    /// What the operation yields at once: the address of an allocation.
    type Output;

    /// The operation in the driver's terms.
    type Checked<'a>
    where
        Self: 'a;

    /// What a sink has to know.
    fn traits(&self) -> Traits;

    /// Refuses, before any effect, what is known to be wrong; `at` is the context of the sink.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`], [`Status::INVALID_HANDLE`] for an object of another driver, [`Status::UNSUPPORTED`];
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED` for an object whose context was reset.
    fn check<'a>(&'a self, at: &'a Context) -> Result<Self::Checked<'a>, Error>;

    /// The same for one that has just become a node's parameters in this context, and was checked then.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    #[doc(hidden)]
    #[inline]
    fn check_again<'a>(&'a self, at: &'a Context) -> Result<Self::Checked<'a>, Error> {
        self.check(at)
    }

    /// Gives the operation to the driver.
    ///
    /// # Safety
    /// `checked` comes from [`check`](Self::check) of this operation with the context of the stream, and what the operation
    /// reads, writes and runs is good until it is done.
    ///
    /// # Errors
    /// The driver's, with what explains it.
    unsafe fn enqueue(&self, checked: Self::Checked<'_>, stream: &Stream) -> Result<Self::Output, Error>;

    /// What it is in a stream under capture.
    #[doc(hidden)]
    fn captured(&mut self) -> Captured<'_> {
        Captured::Refused("this operation cannot be part of a graph: use another stream")
    }

    /// The event that it records as it goes on, beside what it is.
    #[doc(hidden)]
    fn records(&self) -> Option<&Event> {
        None
    }

    /// Gives the operation to the driver, in a stream under capture.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    /// As for [`enqueue`](Self::enqueue).
    #[doc(hidden)]
    unsafe fn enqueue_captured(
        &self,
        checked: Self::Checked<'_>,
        stream: &Stream,
    ) -> Result<Self::Output, Error> {
        // SAFETY: as the caller vouches.
        unsafe { self.enqueue(checked, stream) }
    }

    /// What it does with memory, and with the order of streams, as far as it is known; for `CUSHIM_CHECK=order`.
    #[doc(hidden)]
    fn deeds(&self) -> Deeds {
        Deeds::default()
    }

    /// The same of what it yields.
    #[doc(hidden)]
    fn deeds_of(&self, output: &Self::Output) -> Option<Deeds> {
        let _ = output;
        None
    }

    /// Takes the owners out of the operation: the sink releases them when it is done.
    fn take_owners(&mut self) -> Vec<Owner> {
        Vec::new()
    }

    /// Takes the bytes out that a batch has copied for itself. The driver may have refused one of its items only: what was
    /// enqueued before still reads them.
    fn take_bytes(&mut self) -> Vec<Owner> {
        Vec::new()
    }
}

/// An operation that can be done at once, too.
pub trait Synchronous: Operation {
    /// Does it; it is done when this returns.
    ///
    /// # Safety
    /// As for [`Operation::enqueue`], with the context, which is current.
    ///
    /// # Errors
    /// The driver's, with what explains it.
    unsafe fn run(&self, checked: Self::Checked<'_>, context: &Context) -> Result<Self::Output, Error>;
}

impl Stream {
    /// Enqueues an operation after the work that is in the stream by now, and returns before it is done unless the operation
    /// says otherwise. Owners in it are released when it is done; if it fails they stay in the operation.
    ///
    /// In a stream under capture the operation becomes a node of the graph, which keeps what it names: objects, and owners.
    ///
    /// # Safety
    /// What the operation reads, writes and runs is good until the stream has passed it; in a stream under capture, whenever the
    /// graph is launched.
    ///
    /// # Errors
    /// Those of the operation's check; [`Status::INVALID_ARGUMENT`] for an operation that a stream under capture cannot take, which
    /// leaves the capture valid, and for one with conditions in a stream that is not under capture; the driver's. Nothing is
    /// enqueued then.
    #[inline(always)]
    pub unsafe fn enqueue<O: Operation + ?Sized>(&self, operation: &mut O) -> Result<O::Output, Error> {
        // SAFETY: as the caller vouches.
        unsafe {
            if self.may_be_capturing() {
                self.enqueue_or_capture(operation)
            } else {
                self.enqueue_to_run(operation)
            }
        }
    }

    /// As [`enqueue`](Self::enqueue), for a stream that may be under capture: apart from it, so that all else of that is one piece
    /// with the operation.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    #[cold]
    unsafe fn enqueue_or_capture<O: Operation + ?Sized>(
        &self,
        operation: &mut O,
    ) -> Result<O::Output, Error> {
        // SAFETY: as the caller vouches.
        unsafe {
            match capture::enqueue(self, operation)? {
                Some(output) => Ok(output),
                None if self.is_order_checked() => self.enqueue_checked(operation),
                None => self.enqueue_to_run(operation),
            }
        }
    }

    /// As [`enqueue`](Self::enqueue), for a stream that is not under capture, where somebody wants to know what nothing orders.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    #[cold]
    unsafe fn enqueue_checked<O: Operation + ?Sized>(&self, operation: &mut O) -> Result<O::Output, Error> {
        // The driver no longer tells of memory that it has freed.
        let (mut deeds, who) = (operation.deeds().look_up(self.driver()), self.who());
        // SAFETY: as the caller vouches.
        let output = unsafe { self.enqueue_to_run(operation) }?;
        if let Some(more) = operation.deeds_of(&output) {
            deeds.add(self.driver(), more);
        }
        // A wait for a place in a capture makes the stream part of that.
        if !self.is_taken() {
            check::did(who, deeds);
        }
        Ok(output)
    }

    /// As [`enqueue`](Self::enqueue), for a stream that is not under capture.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    #[inline(always)]
    unsafe fn enqueue_to_run<O: Operation + ?Sized>(&self, operation: &mut O) -> Result<O::Output, Error> {
        let traits = operation.traits();
        if traits.has_conditions {
            return Err(of_conditions(self));
        }
        // SAFETY: as the caller vouches.
        unsafe {
            if traits.has_owners || traits.calls_host {
                self.enqueue_to_release(operation, traits)
            } else {
                self.enqueue_now(operation, traits)
            }
        }
    }

    /// Gives the operation to the driver.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    #[inline(always)]
    unsafe fn enqueue_now<O: Operation + ?Sized>(
        &self,
        operation: &O,
        traits: Traits,
    ) -> Result<O::Output, Error> {
        let checked = operation.check(self.context())?;
        let current =
            if traits.needs_context { Some(self.enter_to_copy()?) } else { self.enter_if_default()? };
        // SAFETY: checked with this stream's context; the caller vouches for the rest.
        let result = unsafe { operation.enqueue(checked, self) };
        drop(current);
        result
    }

    /// The same for what is released by a function that the stream calls: no capture of this library's begins in between, or before,
    /// since nobody may ever launch what that makes of the two.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    #[cold]
    unsafe fn enqueue_to_release<O: Operation + ?Sized>(
        &self,
        operation: &mut O,
        traits: Traits,
    ) -> Result<O::Output, Error> {
        let Some(free) = self.hold_captures() else {
            // SAFETY: as the caller vouches.
            return unsafe { self.enqueue_or_capture(operation) };
        };
        // SAFETY: as the caller vouches.
        let result = unsafe { self.enqueue_now(operation, traits) };
        let owners = match &result {
            Ok(_) => operation.take_owners(),
            Err(failure) if traits.is_batch && failure.driver_code != 0 => operation.take_bytes(),
            Err(_) => Vec::new(),
        };
        let left = host_function::release_when_done(self, owners);
        drop(free);
        if let Some(owner) = left {
            host_function::release_now(self, owner);
        }
        result
    }
}

impl Context {
    /// Does an operation; it is done when this returns. Owners in it are released then; if it fails they stay in the
    /// operation.
    ///
    /// It waits for the legacy default stream of the context, and so for the blocking streams; work in other streams goes
    /// on beside it.
    ///
    /// # Safety
    /// What the operation reads, writes and runs is good, and nobody else uses it meanwhile.
    ///
    /// # Errors
    /// Those of the operation's check; the driver's, also of earlier work.
    pub unsafe fn run<O: Synchronous + ?Sized>(&self, operation: &mut O) -> Result<O::Output, Error> {
        self.check_legacy()?;
        let checked = operation.check(self)?;
        let deeds = self.driver().checks_order().then(|| operation.deeds().look_up(self.driver()));
        let current = self.enter()?;
        // SAFETY: checked with this context, which is current; the caller vouches for the rest.
        let output = unsafe { operation.run(checked, self) }?;
        drop(current);
        if let Some(deeds) = deeds {
            Stream::legacy(self).was_waited_for_after(deeds);
        }
        drop(operation.take_owners());
        Ok(output)
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Allocate<'_> {}
    impl Sealed for super::Copy<'_> {}
    impl Sealed for super::Copy3d<'_> {}
    impl Sealed for super::CopyBatch<'_, '_> {}
    impl Sealed for super::Free {}
    impl Sealed for super::HostFunction {}
    impl Sealed for super::Launch<'_, '_> {}
    impl Sealed for super::MemoryOperations<'_, '_> {}
    impl Sealed for super::Memset<'_> {}
    impl Sealed for super::Record<'_> {}
    impl Sealed for super::Wait<'_> {}
}

/// The refusal of conditions, which are a graph's, in a stream whose work becomes no graph.
#[cold]
fn of_conditions(stream: &Stream) -> Error {
    let refusal = format!(
        "a kernel sets a condition as a node of the condition's graph, and {stream} is not being captured; add the kernel to the graph"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal).about(stream)
}

fn invalid(message: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, message)
}
