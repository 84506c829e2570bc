//! Nodes that record events and wait for them.

use super::{Place, event as event_of};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUevent, CUgraph, CUgraphNode};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::event::{RecordNode, WaitNode};

pub(crate) fn cuGraphAddEventRecordNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    event: CUevent,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Record(RecordNode::new(event_of(event)?)).into()))
}

pub(crate) fn cuGraphAddEventWaitNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    event: CUevent,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Wait(WaitNode::new(event_of(event)?)).into()))
}

pub(crate) fn cuGraphEventRecordNodeGetEvent(hNode: CUgraphNode, event_out: Out<CUevent>) -> Answer {
    event_out.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Record(record) => event_out.set(record.event.handle()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuGraphEventWaitNodeGetEvent(hNode: CUgraphNode, event_out: Out<CUevent>) -> Answer {
    event_out.check()?;
    match &*Node::of(hNode)?.leaf()? {
        Leaf::Wait(wait) => event_out.set(wait.event.handle()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuGraphEventRecordNodeSetEvent(hNode: CUgraphNode, event: CUevent) -> Answer {
    Node::of(hNode)?.set(Leaf::Record(RecordNode::new(event_of(event)?)))
}

pub(crate) fn cuGraphEventWaitNodeSetEvent(hNode: CUgraphNode, event: CUevent) -> Answer {
    Node::of(hNode)?.set(Leaf::Wait(WaitNode::new(event_of(event)?)))
}
