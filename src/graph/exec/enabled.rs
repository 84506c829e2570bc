//! Nodes take part in launches, or are passed over; driver 11.6.

use super::Exec;
#[cfg(feature = "capi")]
use crate::context::Context;
use crate::driver::calls::graph::exec::RawExec;
use crate::driver::{CallError, sys};
use crate::graph::Node;
#[cfg(feature = "capi")]
use crate::graph::definition::NodePage;
use crate::graph::node_name::NodeName;
use crate::object::error::{Error, Status};
#[cfg(feature = "capi")]
use crate::object::handle::Part;
use crate::op::node::{NodeType, Parameters};

impl Exec {
    /// Whether a node takes part in launches of the instance.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a node of another definition; [`Status::INVALID_HANDLE`] if it was removed;
    /// [`Status::UNSUPPORTED`] before driver 11.6; the driver's, also for nodes other than kernels, copies and memsets.
    pub fn is_enabled(&self, node: &Node) -> Result<bool, Error> {
        // SAFETY: the node is one of the definition that the instance was made of.
        self.with_node(node, |raw, native| unsafe { raw.is_enabled(native) })
    }

    /// Has a node take part in launches of the instance, or be passed over as if it did nothing: what comes after it runs all the
    /// same. To say again what is so already changes nothing.
    ///
    /// # Errors
    /// As [`is_enabled`](Self::is_enabled).
    pub fn set_enabled(&self, node: &Node, enabled: bool) -> Result<(), Error> {
        // SAFETY: as above.
        self.with_node(node, |raw, native| unsafe { raw.set_enabled(native, enabled) })
    }

    /// Shows what a node does in this instance.
    ///
    /// # Errors
    /// As [`is_enabled`](Self::is_enabled).
    pub fn with_parameters<R>(&self, node: &Node, look: impl FnOnce(&Parameters) -> R) -> Result<R, Error> {
        self.check_node(node.name())?;
        let state = self.0.state.lock();
        let tree = self.0.tree.lock();
        let id = node.name().check_there(&tree)?;
        self.check_age(node.name(), &tree, id)?;
        self.now(&state, &tree, id, look)
    }

    /// The context in which a node runs in this instance, or last ran in the definition if it is not known here.
    #[cfg(feature = "capi")]
    pub(crate) fn last_context(&self, node: &Node) -> Context {
        let state = self.0.state.lock();
        let tree = self.0.tree.lock();
        let known = self.check_node(node.name()).and_then(|()| node.name().check_there(&tree));
        let context = known.map(|id| self.context_of(&state, id));
        context.ok().flatten().unwrap_or_else(|| self.0.tree.context().clone())
    }

    /// What a handle names, if that is a node of the definition.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn named(&self, part: &Part<'_, NodePage>) -> Option<NodeName<'_>> {
        NodeName::of_part(part, &self.0.tree)
    }

    /// Refuses a node of another definition.
    #[inline]
    pub(super) fn check_node(&self, node: NodeName<'_>) -> Result<(), Error> {
        if node.is_in(&self.0.tree) { Ok(()) } else { Err(self.not_of(node)) }
    }

    #[cold]
    fn not_of(&self, node: NodeName<'_>) -> Error {
        let refusal = format!("{node} is no node of the graph that {self} was instantiated from");
        Error::new(Status::INVALID_ARGUMENT, refusal).about(&node)
    }

    /// Calls the driver about a node in this instance.
    pub(super) fn with_node<T>(
        &self,
        node: &Node,
        call: impl FnOnce(&RawExec, sys::CUgraphNode) -> Result<T, CallError>,
    ) -> Result<T, Error> {
        self.check_node(node.name())?;
        let exec = self.raw()?;
        let tree = self.0.tree.lock();
        let id = node.name().check_there(&tree)?;
        self.check_age(node.name(), &tree, id)?;
        call(&exec, tree.node(id).native).map_err(|error| {
            let mut failure = self.context().failed(error, &node.name());
            if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
                failure.message.push_str(match node.node_type() {
                    NodeType::Kernel | NodeType::Copy | NodeType::Memset => {
                        ". Perhaps it was added without cushim after the exec was instantiated"
                    }
                    _ => ". Only kernel, copy and memset nodes are enabled and disabled",
                });
            }
            failure
        })
    }
}
