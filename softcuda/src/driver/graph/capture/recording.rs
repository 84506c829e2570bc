//! What streams are given becomes nodes, which are the same as those that a program adds itself.

use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUgraph, CUgraphNode, CUresult};
use crate::driver::capture::tail::Dependency as Behind;
use crate::driver::context::Activation;
use crate::driver::graph::definition::{Dependency, Graph, Node, reusable};
use crate::driver::graph::edge::EdgeData;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::copy::CopyNode;
use crate::driver::graph::leaf::event::{RecordNode, WaitNode};
use crate::driver::graph::leaf::fill::FillNode;
use crate::driver::graph::leaf::host::HostNode;
use crate::driver::graph::leaf::kernel::KernelNode;
use crate::driver::graph::leaf::kernel_attributes::Attributes;
use crate::driver::graph::leaf::memory::{AllocNode, Former, FreeNode};
use crate::driver::graph::leaf::values::ValuesNode;
use crate::driver::operation::Operation;
use crate::driver::operation::event::{Record, Wait};
use crate::driver::stream::capturing::{NewNode, Recorded, RecordedLaunch, Recorder};
use crate::instruments::complain::complain;
use std::sync::Arc;

/// A graph that a capture makes, or adds to.
pub(super) struct Recording(Arc<Graph>);

impl Recording {
    pub(super) fn of(graph: &Arc<Graph>) -> Arc<Self> {
        Arc::new(Self(Arc::clone(graph)))
    }
}

impl Recorder for Recording {
    fn graph(&self) -> CUgraph {
        self.0.handle as CUgraph
    }

    fn record(
        &self,
        work: Recorded,
        context: &Arc<Activation>,
        after: &[Behind],
    ) -> Result<NewNode, CUresult> {
        if Graph::of(self.graph()).is_err() {
            complain(
                "the graph that a stream captures into was destroyed with a node; a real driver crashes",
            );
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let after = dependencies(after, &work)?;
        let leaf = leaf(work, context, |wanted| reusable(&self.0, &after, wanted))?;
        let address = match &leaf {
            Leaf::Alloc(alloc) => alloc.address() as u64,
            _ => 0,
        };
        let node = self.0.append(leaf.into(), &after)?;
        Ok(NewNode { handle: node.handle, address, device_node: node.device_node() })
    }

    fn finish(&self) -> Answer {
        self.0.hand_over();
        Ok(())
    }

    /// A graph that was the program's goes, too (measured).
    fn discard(&self) {
        self.0.destroy();
    }
}

/// The edges by which the node for some work follows others.
pub(super) fn dependencies(after: &[Behind], work: &Recorded) -> Result<Vec<Dependency>, CUresult> {
    let early = matches!(work, Recorded::Launch(RecordedLaunch { early: true, .. }));
    let dependency = |behind: &Behind| {
        let (node, data) = (Node::of(behind.node as CUgraphNode)?, EdgeData::read(behind.data)?);
        let early = early && data.is_plain() && node.work().is_kernel();
        Ok(Dependency { node, data: if early { EdgeData::PROGRAMMATIC } else { data } })
    };
    after.iter().map(dependency).collect()
}

/// The node for what a stream was given.
pub(super) fn leaf(work: Recorded, context: &Arc<Activation>, former: impl Former) -> Result<Leaf, CUresult> {
    let context = || Arc::clone(context);
    match work {
        Recorded::Operation(operation) => leaf_of(operation, context()),
        Recorded::Launch(RecordedLaunch { launch, packed, attributes, .. }) => {
            Ok(Leaf::Kernel(KernelNode::captured(launch, packed, Attributes::captured(&attributes))))
        }
        Recorded::Values(params) => Ok(Leaf::Values(ValuesNode::of(params, context())?)),
        Recorded::Allocate { size, device, peers } => {
            Ok(Leaf::Alloc(AllocNode::of(size, device, peers, context(), former)?.into()))
        }
        Recorded::Free(address) => Ok(Leaf::Free(FreeNode::new(address)?)),
    }
}

fn leaf_of(operation: Operation, context: Arc<Activation>) -> Result<Leaf, CUresult> {
    Ok(match operation {
        Operation::Copy(copy) => Leaf::Copy(CopyNode::of(*copy, context).into()),
        Operation::Fill(fill) => Leaf::Fill(FillNode::of(fill, context)),
        Operation::HostFunction(function) => Leaf::Host(HostNode::of(function)),
        Operation::Record(Record { event, .. }) => Leaf::Record(RecordNode::new(event)),
        Operation::Wait(Wait { event }) => Leaf::Wait(WaitNode::new(event)),
        _ => {
            complain("a capture cannot record this yet; the call is refused");
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
    })
}
