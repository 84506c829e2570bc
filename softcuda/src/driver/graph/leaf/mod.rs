//! What nodes do that hold no graphs. Parameters are checked when a node gets them; then they do not change: a node that is
//! to do something else gets others.

pub(crate) mod copy;
pub(crate) mod event;
pub(crate) mod exchange;
pub(crate) mod fill;
pub(crate) mod host;
pub(crate) mod kernel;
pub(crate) mod kernel_attributes;
pub(crate) mod memory;
pub(crate) mod values;

use crate::abi::sys::{
    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUgraphNodeType,
};
use crate::driver::context::Activation;
use crate::driver::operation::Operation;
use copy::CopyNode;
use event::{RecordNode, WaitNode};
use fill::FillNode;
use host::HostNode;
use kernel::KernelNode;
use memory::{AllocNode, FreeNode};
use std::sync::Arc;
use values::ValuesNode;

/// What a node does.
pub(crate) enum Leaf {
    Empty,
    Kernel(KernelNode),
    /// Larger than the others.
    Copy(Box<CopyNode>),
    Fill(FillNode),
    Host(HostNode),
    Record(RecordNode),
    Wait(WaitNode),
    Alloc(Box<AllocNode>),
    Free(FreeNode),
    Values(ValuesNode),
}

impl Leaf {
    /// The type that callers know it by.
    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            Self::Empty => CU_GRAPH_NODE_TYPE_EMPTY,
            Self::Kernel(_) => CU_GRAPH_NODE_TYPE_KERNEL,
            Self::Copy(_) => CU_GRAPH_NODE_TYPE_MEMCPY,
            Self::Fill(_) => CU_GRAPH_NODE_TYPE_MEMSET,
            Self::Host(_) => CU_GRAPH_NODE_TYPE_HOST,
            Self::Record(_) => CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Self::Wait(_) => CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            Self::Alloc(_) => CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            Self::Free(_) => CU_GRAPH_NODE_TYPE_MEM_FREE,
            Self::Values(_) => CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
        }
    }

    /// Whether it is a kernel that kernels can update.
    pub(crate) fn is_updatable(&self) -> bool {
        matches!(self, Self::Kernel(kernel) if kernel.attributes.device_node().is_some())
    }

    /// What is to be submitted when its turn comes.
    pub(crate) fn operation(&self) -> Option<&Arc<Operation>> {
        match self {
            Self::Empty => None,
            Self::Kernel(it) => Some(&it.operation),
            Self::Copy(it) => Some(&it.operation),
            Self::Fill(it) => Some(&it.operation),
            Self::Host(it) => Some(&it.operation),
            Self::Record(it) => Some(&it.operation),
            Self::Wait(it) => Some(&it.operation),
            Self::Alloc(it) => Some(&it.operation),
            Self::Free(it) => Some(&it.operation),
            Self::Values(it) => it.operation.as_ref().ok(),
        }
    }

    /// Whose work it is; `None` where it does not matter.
    pub(crate) fn context(&self) -> Option<&Arc<Activation>> {
        match self {
            Self::Empty | Self::Host(_) | Self::Alloc(_) | Self::Free(_) => None,
            Self::Kernel(it) => Some(&it.context),
            Self::Copy(it) => Some(&it.context),
            Self::Fill(it) => Some(&it.context),
            Self::Record(it) => Some(it.event.context()),
            Self::Wait(it) => Some(it.event.context()),
            Self::Values(it) => Some(&it.context),
        }
    }
}
