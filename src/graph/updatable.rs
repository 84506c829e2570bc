//! Kernel nodes that kernels update: their handle, and what the driver does not do to graphs that have such nodes.

use super::definition::{State, Tree};
use super::ids::NodeId;
use super::{Graph, Node};
use crate::driver::Version;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::{self, CUgraphDeviceNode, CUlaunchAttribute, CUlaunchAttributeValue};
use crate::object::error::{Error, Status};
use crate::op::node::require;
use crate::op::node::{KernelParameters, NodeType, Parameters};

impl Node {
    /// The handle by which kernels update this node (`cudaGraphKernelNodeSetParam` and the like in device code). The node has one if its
    /// launch attributes say so (`CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`).
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed; [`Status::INVALID_ARGUMENT`] for other nodes; [`Status::UNSUPPORTED`] before
    /// driver 12.4.
    pub fn device_node(&self) -> Result<CUgraphDeviceNode, Error> {
        self.check_there()?;
        check_version(&self.tree)?;
        if self.node_type() != NodeType::Kernel {
            return Err(self.not_updatable("kernels update kernel nodes only"));
        }
        // SAFETY: `ask` names a node that is there.
        let handle = self.ask(|table, native| unsafe { calls::device_node(table, native) })?;
        if handle.is_null() {
            return Err(self.not_updatable(
                "give it the attribute CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE with the value 1",
            ));
        }
        Ok(handle)
    }

    fn not_updatable(&self, why: &str) -> Error {
        let refusal = format!("{self} is not device-updatable; {why}");
        Error::new(Status::INVALID_ARGUMENT, refusal).about(&self.name())
    }
}

fn check_version(tree: &Tree) -> Result<(), Error> {
    require(tree.driver(), "a device-updatable node", Version::from_number(12040))
}

/// Refuses the attribute where the driver is too old for it.
#[inline]
pub(super) fn check(tree: &Tree, kernel: &KernelParameters) -> Result<(), Error> {
    match kernel.attribute(sys::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
        Some(_) => check_version(tree),
        None => Ok(()),
    }
}

/// Whether the parameters are those of a node that kernels can update.
pub(super) fn says_so(kernel: &KernelParameters) -> bool {
    is_among(kernel.attributes())
}

/// Whether these attributes are those of a node that kernels can update.
pub(super) fn is_among(attributes: &[CUlaunchAttribute]) -> bool {
    // SAFETY: this is the field that the attribute has; it was given by all of its bytes.
    let says_so =
        |value: &CUlaunchAttributeValue| unsafe { value.deviceUpdatableKernelNode }.deviceUpdatable == 1;
    attributes.iter().any(|attribute| {
        attribute.id == sys::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && says_so(&attribute.value)
    })
}

/// Refuses to copy a graph with such a node into another one: both have one handle for kernels then, and driver 580 crashes when the
/// second of them is destroyed (measured).
pub(super) fn check_copied(tree: &Tree, state: &State, child: &Graph) -> Result<(), Error> {
    let is_one = |id: NodeId| match &state.record(id).parameters {
        Parameters::Kernel(kernel) => says_so(kernel),
        _ => !state.record(id).is_ours && is_updatable(tree, state, id),
    };
    let mut graphs = vec![child.object.id];
    while let Some(graph) = graphs.pop() {
        for id in &state.graph(graph).nodes {
            if is_one(*id) {
                let refusal = format!(
                    "{child} cannot be embedded as a copy: {} is device-updatable, and such a graph can only be moved into another one (12.9)",
                    state.name_of(*id)
                );
                return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(child.object.as_ref()));
            }
            graphs.extend(state.node(*id).inner.iter().copied());
        }
    }
    Ok(())
}

/// What the first device-updatable node of a definition is called.
#[cold]
pub(super) fn find(tree: &Tree, state: &State) -> Option<String> {
    state.root()?;
    let (id, _) = state.nodes().find(|(id, _)| is_updatable(tree, state, *id))?;
    Some(state.name_of(id))
}

/// Whether kernels can update the node.
#[cold]
pub(super) fn is_updatable(tree: &Tree, state: &State, id: NodeId) -> bool {
    let node = state.node(id);
    // SAFETY: the node is there, which the lock keeps.
    state.node_type(id) == NodeType::Kernel
        && unsafe { calls::device_node(tree.table(), node.native) }.is_ok_and(|handle| !handle.is_null())
}
