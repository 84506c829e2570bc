//! Kernel nodes.

use super::Place;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_KERNEL_NODE_PARAMS_v1,
    CUDA_KERNEL_NODE_PARAMS_v2, CUgraph, CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue_v1, CUresult,
};
use crate::driver::graph::definition::Node;
use crate::driver::graph::leaf::Leaf;
use crate::driver::graph::leaf::kernel::{KernelNode, Parameters};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

pub(crate) fn cuGraphAddKernelNode(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Kernel(KernelNode::new(nodeParams.get()?.into())?).into()))
}

pub(crate) fn cuGraphAddKernelNode_v2(
    phGraphNode: Out<CUgraphNode>,
    hGraph: CUgraph,
    dependencies: In<CUgraphNode>,
    numDependencies: usize,
    nodeParams: In<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Answer {
    let place = Place::plain(phGraphNode, hGraph, dependencies, numDependencies);
    place.add(|_| Ok(Leaf::Kernel(KernelNode::new(nodeParams.get()?.into())?).into()))
}

/// Asks a kernel node something.
fn ask<T>(node: CUgraphNode, question: impl FnOnce(&KernelNode) -> T) -> Result<T, CUresult> {
    let leaf: Arc<Leaf> = Node::of(node)?.leaf()?;
    match &*leaf {
        Leaf::Kernel(kernel) => Ok(question(kernel)),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

fn set(node: CUgraphNode, parameters: Parameters) -> Answer {
    change(node, |kernel| kernel.with(parameters))
}

/// Makes another kernel node of a kernel node.
fn change(node: CUgraphNode, change: impl FnOnce(&KernelNode) -> Result<KernelNode, CUresult>) -> Answer {
    Node::of(node)?.change(|leaf| match leaf {
        Leaf::Kernel(kernel) => Ok(Leaf::Kernel(change(kernel)?)),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    })
}

pub(crate) fn cuGraphKernelNodeGetAttribute(
    hNode: CUgraphNode,
    attr: CUkernelNodeAttrID,
    value_out: Out<CUkernelNodeAttrValue_v1>,
) -> Answer {
    value_out.check()?;
    let bytes = Out::<c_char>::untyped(value_out.address() as *mut c_void);
    let value = ask(hNode, |kernel| kernel.attributes.get(attr))??;
    value.into_iter().enumerate().try_for_each(|(at, byte)| bytes.set_item(at, byte))
}

pub(crate) fn cuGraphKernelNodeSetAttribute(
    hNode: CUgraphNode,
    attr: CUkernelNodeAttrID,
    value: In<CUkernelNodeAttrValue_v1>,
) -> Answer {
    let value = value.get()?;
    change(hNode, |kernel| kernel.with_attributes(kernel.attributes.with(attr, value)?))
}

/// Both are nodes for the same context (documented).
pub(crate) fn cuGraphKernelNodeCopyAttributes(dst: CUgraphNode, src: CUgraphNode) -> Answer {
    let (attributes, context) = ask(src, |kernel| (kernel.attributes.clone(), kernel.context.id()))?;
    change(dst, |kernel| {
        if kernel.context.id() != context {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // Measured.
        if attributes.device_node().or(kernel.attributes.device_node()).is_some() {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        // What does not fit is only wrong here (measured).
        kernel.with_attributes(attributes).map_err(|_| CUDA_ERROR_INVALID_VALUE)
    })
}

pub(crate) fn cuGraphKernelNodeGetParams(
    hNode: CUgraphNode,
    nodeParams: Out<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Answer {
    nodeParams.check()?;
    nodeParams.set(ask(hNode, |kernel| kernel.into())?)
}

pub(crate) fn cuGraphKernelNodeGetParams_v2(
    hNode: CUgraphNode,
    nodeParams: Out<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Answer {
    nodeParams.check()?;
    nodeParams.set(ask(hNode, |kernel| kernel.into())?)
}

pub(crate) fn cuGraphKernelNodeSetParams(
    hNode: CUgraphNode,
    nodeParams: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Answer {
    set(hNode, nodeParams.get()?.into())
}

pub(crate) fn cuGraphKernelNodeSetParams_v2(
    hNode: CUgraphNode,
    nodeParams: In<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Answer {
    set(hNode, nodeParams.get()?.into())
}
