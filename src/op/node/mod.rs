//! Operations as nodes of graphs.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::Device;
//! use cushim::graph::Graph;
//! use cushim::op::node::{NodeType, Parameters};
//! use cushim::op::{Memset, Value};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let device = Device::get(&driver, 0)?;
//! let (context, memory) = (device.primary_context()?, cushim::memory::DeviceMemory::allocate(&device.primary_context()?, 64)?);
//! let graph = Graph::create(&context)?;
//! // SAFETY: the memory has 64 bytes, and the graph is not launched.
//! let (node, ()) = unsafe { graph.add(&[], &mut Memset::new(memory.at(0), Value::U8(1), 64)) }?;
//! assert_eq!(node.node_type(), NodeType::Memset);
//! node.with_parameters(|parameters| {
//!     let Parameters::Memset(memset) = parameters else { unreachable!("it is a memset") };
//!     assert_eq!((memset.raw().value, memset.at().address()), (1, memory.pointer().0));
//! })?;
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! A graph runs its operations again and again, long after the call that gave them to it. So it keeps two things of each: its
//! [`Parameters`], by which the driver is told what the node does, at first and after every change; and its `Holds`, the
//! objects and owners that have to live as long as the node may run. The parameters hold nothing: they only know the objects.

// | file | concept |
// |---|---|
// | `holds` | what a node keeps alive |
// | `memory` | memory that a node uses, as it is remembered |
// | `kernel`, `arguments` | launches |
// | `copy`, `memset` | copies and memsets |
// | `host_function`, `event` | host functions, records of events and waiting for them |
// | `allocation` | allocations and frees |
// | `attributes` | changes of the attributes of launches |
// | `change`, `rebind` | changes of nodes; one object in place of another |
// | `memory_operations` | waits for values in memory, and writes of them |
// | `touches` | the addresses that a node uses |

pub(crate) mod allocation;
mod arguments;
mod attributes;
mod change;
mod copy;
mod event;
mod holds;
mod host_function;
mod kernel;
mod memory;
mod memory_operations;
mod memset;
mod rebind;
mod summary;
mod touches;

pub use allocation::AllocationParameters;
pub use arguments::KeptArguments;
pub(crate) use attributes::{AttributeChange, explain as explain_attribute};
pub use change::{ArgumentChange, CopyChange, KernelChange, MemsetChange, NodeChange, Undo};
pub use copy::CopyParameters;
pub use event::EventParameters;
pub(crate) use holds::{For, Hold, Holds};
#[cfg(feature = "capi")]
pub(crate) use host_function::CFunction;
pub use host_function::HostFunctionParameters;
pub(crate) use host_function::{Repeatable, call_again};
pub use kernel::KernelParameters;
pub use memory::KeptMemory;
pub use memory_operations::MemoryOperationsParameters;
pub use memset::MemsetParameters;
pub(crate) use rebind::{Rebinding, kept_for, key};
pub(crate) use touches::Use;

use super::{Arguments, ConditionOperand, Traits};
use crate::context::Context;
use crate::driver::calls::graph::node::RawNode;
use crate::driver::{Driver, Version, sys};
use crate::object::error::{Error, Status};
use crate::pointer::DevicePointer;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// What sort of node it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeType {
    /// It does nothing, and brings together what comes before it.
    Empty,
    /// It runs a kernel.
    Kernel,
    /// It copies memory.
    Copy,
    /// It sets memory to a value.
    Memset,
    /// It calls a function on the host.
    HostFunction,
    /// It runs another graph.
    Child,
    /// It records an event.
    EventRecord,
    /// It waits for an event.
    EventWait,
    /// It allocates memory.
    Allocation,
    /// It frees memory that another node allocated.
    Free,
    /// It waits for values in memory, and writes such.
    MemoryOperations,
    /// It runs one of its graphs, or none, by the value of a condition.
    Conditional,
    /// Something that this library does not know, by the driver's number (`CUgraphNodeType`).
    Other(i32),
}

impl NodeType {
    /// By the driver's number.
    #[must_use]
    pub fn of(native: sys::CUgraphNodeType) -> Self {
        match native {
            sys::CU_GRAPH_NODE_TYPE_EMPTY => Self::Empty,
            sys::CU_GRAPH_NODE_TYPE_KERNEL => Self::Kernel,
            sys::CU_GRAPH_NODE_TYPE_MEMCPY => Self::Copy,
            sys::CU_GRAPH_NODE_TYPE_MEMSET => Self::Memset,
            sys::CU_GRAPH_NODE_TYPE_HOST => Self::HostFunction,
            sys::CU_GRAPH_NODE_TYPE_GRAPH => Self::Child,
            sys::CU_GRAPH_NODE_TYPE_EVENT_RECORD => Self::EventRecord,
            sys::CU_GRAPH_NODE_TYPE_WAIT_EVENT => Self::EventWait,
            sys::CU_GRAPH_NODE_TYPE_MEM_ALLOC => Self::Allocation,
            sys::CU_GRAPH_NODE_TYPE_MEM_FREE => Self::Free,
            sys::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => Self::MemoryOperations,
            sys::CU_GRAPH_NODE_TYPE_CONDITIONAL => Self::Conditional,
            other => Self::Other(other.0),
        }
    }

    /// The type with this number of the driver's.
    pub(crate) fn of_number(number: i32) -> Self {
        Self::of(sys::CUgraphNodeType(number))
    }

    /// The driver's number.
    #[inline]
    pub(crate) fn number(self) -> i32 {
        let native = match self {
            Self::Empty => sys::CU_GRAPH_NODE_TYPE_EMPTY,
            Self::Kernel => sys::CU_GRAPH_NODE_TYPE_KERNEL,
            Self::Copy => sys::CU_GRAPH_NODE_TYPE_MEMCPY,
            Self::Memset => sys::CU_GRAPH_NODE_TYPE_MEMSET,
            Self::HostFunction => sys::CU_GRAPH_NODE_TYPE_HOST,
            Self::Child => sys::CU_GRAPH_NODE_TYPE_GRAPH,
            Self::EventRecord => sys::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Self::EventWait => sys::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            Self::Allocation => sys::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            Self::Free => sys::CU_GRAPH_NODE_TYPE_MEM_FREE,
            Self::MemoryOperations => sys::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            Self::Conditional => sys::CU_GRAPH_NODE_TYPE_CONDITIONAL,
            Self::Other(number) => return number,
        };
        native.0
    }

    /// Refuses a driver that is too old for such nodes.
    pub(crate) fn check_driver(self, driver: &Driver) -> Result<(), Error> {
        let since = match self {
            Self::MemoryOperations => 11070,
            Self::Conditional => 12030,
            _ => return Ok(()),
        };
        require(driver, &format!("a {self}"), Version::from_number(since))
    }

    /// How many owner slots such a node has.
    pub(crate) fn slots(self) -> usize {
        match self {
            Self::Kernel | Self::Copy | Self::HostFunction => 2,
            Self::Memset | Self::EventRecord | Self::EventWait | Self::MemoryOperations => 1,
            _ => 0,
        }
    }
}

/// Refuses what the driver is too old for.
pub(crate) fn require(driver: &Driver, what: &str, since: Version) -> Result<(), Error> {
    let Some(version) = driver.version().filter(|version| *version < since) else { return Ok(()) };
    let refusal = format!("{what} needs a driver for CUDA {since} or newer, and this one is for {version}");
    Err(Error::new(Status::UNSUPPORTED, refusal))
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty node",
            Self::Kernel => "kernel node",
            Self::Copy => "copy node",
            Self::Memset => "memset node",
            Self::HostFunction => "host function node",
            Self::Child => "child graph node",
            Self::EventRecord => "event record node",
            Self::EventWait => "event wait node",
            Self::Allocation => "allocation node",
            Self::Free => "free node",
            Self::MemoryOperations => "memory operations node",
            Self::Conditional => "conditional node",
            Self::Other(number) => return write!(f, "node of type {number}"),
        })
    }
}

/// What a node does, in types. A kernel's stand here; a copy of others refers to the same until one of the two is changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Parameters {
    /// Nothing, or nothing but what its type says.
    Plain(NodeType),
    /// A launch.
    Kernel(KernelParameters),
    /// A copy.
    Copy(Arc<CopyParameters>),
    /// A memset.
    Memset(Arc<MemsetParameters>),
    /// A call of a function.
    HostFunction(Arc<HostFunctionParameters>),
    /// The record of an event.
    EventRecord(EventParameters),
    /// Waiting for an event.
    EventWait(EventParameters),
    /// An allocation.
    Allocation(Arc<AllocationParameters>),
    /// The free of what stands at this address.
    Free(DevicePointer),
    /// Operations on values in memory.
    MemoryOperations(Arc<MemoryOperationsParameters>),
}

impl Parameters {
    /// Whether the driver did not tell the arguments of a kernel.
    pub(crate) fn has_untold_arguments(&self) -> bool {
        matches!(self, Self::Kernel(kernel) if kernel.arguments().are_untold())
    }

    /// Whether an argument of a kernel is a value, and has no name: what is kept for it is an owner that came with it.
    #[inline]
    pub(crate) fn is_value(&self, argument: u32) -> bool {
        matches!(self, Self::Kernel(kernel) if kernel.arguments().is_value(argument as usize))
    }

    /// What sort of node has such parameters.
    #[must_use]
    pub fn node_type(&self) -> NodeType {
        match self {
            Self::Plain(node_type) => *node_type,
            Self::Kernel(_) => NodeType::Kernel,
            Self::Copy(_) => NodeType::Copy,
            Self::Memset(_) => NodeType::Memset,
            Self::HostFunction(_) => NodeType::HostFunction,
            Self::EventRecord(_) => NodeType::EventRecord,
            Self::EventWait(_) => NodeType::EventWait,
            Self::Allocation(_) => NodeType::Allocation,
            Self::Free(_) => NodeType::Free,
            Self::MemoryOperations(_) => NodeType::MemoryOperations,
        }
    }

    /// The node as the driver is told of it, in the context in which it runs; `None` for what is told otherwise: children and
    /// conditional nodes.
    #[inline]
    pub(crate) fn with_raw<R>(
        &mut self,
        context: sys::CUcontext,
        call: impl FnOnce(RawNode<'_>) -> R,
    ) -> Option<R> {
        Some(match self {
            Self::Plain(NodeType::Empty) => call(RawNode::Empty),
            Self::Plain(_) => return None,
            Self::Kernel(kernel) => kernel.with_raw(context, |raw| call(RawNode::Kernel(raw))),
            Self::Copy(copy) => call(RawNode::Copy { copy: copy.raw(), context }),
            Self::Memset(memset) => call(RawNode::Memset { memset: memset.raw(), context }),
            Self::HostFunction(function) => call(function.raw()),
            Self::EventRecord(event) => call(RawNode::EventRecord(event.native())),
            Self::EventWait(event) => call(RawNode::EventWait(event.native())),
            Self::Allocation(allocation) => {
                Arc::make_mut(allocation).with_raw(|raw| call(RawNode::Allocation(raw)))
            }
            Self::Free(pointer) => call(RawNode::Free(pointer.0)),
            Self::MemoryOperations(operations) => {
                call(RawNode::MemoryOperations { context, operations: operations.raw() })
            }
        })
    }
}

/// An operation that a graph can do as a node, as often as it is launched. The types of this module are all there are.
pub trait NodeOperation: sealed::Node {
    /// What the node yields when it is added: the address of an allocation.
    type Output;

    /// What sort of node it is.
    fn node_type(&self) -> NodeType;

    /// What a graph has to know.
    fn node_traits(&self) -> Traits;

    /// The context in which the node runs, where that is another one than `at`, the graph's.
    fn node_context(&self, at: &Context) -> Option<Context> {
        let _ = at;
        None
    }

    /// The conditions that it names, with the number of each argument.
    #[doc(hidden)]
    fn conditions(&self) -> Conditions<'_> {
        Conditions::default()
    }

    /// The parameters of the node, all checked; `at` is the context in which it runs.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for what cannot be a node; the refusals of the same
    /// operation in a stream.
    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error>;

    /// Where the arguments of a kernel are that was checked, one by one: the driver reads them there, too.
    #[doc(hidden)]
    fn argument_addresses(&self) -> Option<&[*const c_void]> {
        None
    }

    /// What the node yields, once it was added.
    fn output(parameters: &Parameters) -> Self::Output
    where
        Self: Sized;

    /// Whether the node keeps anything alive.
    #[doc(hidden)]
    fn has_holds(&self) -> bool;

    /// What the node keeps alive: taken out of the operation, once nothing can fail any more.
    #[doc(hidden)]
    fn holds(&mut self) -> HandedOver;

    /// Why the driver refused the node.
    fn explain(&self, failure: Error, at: &Context) -> Error {
        let _ = at;
        failure
    }
}

/// The conditions that an operation names, with the number of each argument.
#[doc(hidden)]
#[derive(Default)]
pub struct Conditions<'a>(pub(crate) Vec<(usize, &'a dyn ConditionOperand)>);

impl<'a> Conditions<'a> {
    /// Those among arguments; most have none.
    fn of(arguments: &'a Arguments<'_>) -> Self {
        match arguments.has_conditions() {
            true => Self(arguments.conditions().collect()),
            false => Self::default(),
        }
    }
}

/// What an operation hands over to be kept.
#[doc(hidden)]
pub struct HandedOver(pub(crate) Holds);

pub(crate) mod sealed {
    pub trait Node {}

    pub trait Change {}

    impl<N: Node> Change for N {}
    impl Change for super::AttributeChange {}
    impl Change for super::ArgumentChange<'_, '_> {}
    impl Change for super::CopyChange<'_> {}
    impl Change for super::KernelChange<'_, '_> {}
    impl Change for super::MemsetChange<'_> {}

    impl Node for crate::op::Copy<'_> {}
    impl Node for crate::op::Copy3d<'_> {}
    impl Node for crate::op::Empty {}
    impl Node for crate::op::Free {}
    impl Node for crate::op::GraphAllocation<'_> {}
    impl Node for crate::op::HostFunction {}
    impl Node for crate::op::Launch<'_, '_> {}
    impl Node for crate::op::MemoryOperations<'_, '_> {}
    impl Node for crate::op::Memset<'_> {}
    impl Node for crate::op::Record<'_> {}
    impl Node for crate::op::Wait<'_> {}
}
