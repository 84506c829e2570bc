//! Where a node is read or changed: in its graph, or in one exec.

use super::definition::cushim_node;
use super::exec::cushim_exec;
use super::named::{node_of, part_of};
use crate::capi::handles::{enter, get};
use crate::context::Context;
use crate::graph::Node;
use crate::object::error::Error;
use crate::object::handle::{self, Guard};
use crate::op::node::{NodeChange, NodeType, Parameters};

/// Where a node is read or changed.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Node(cushim_node),
    Exec(cushim_exec, cushim_node),
}

impl Target {
    pub(super) fn node(self) -> cushim_node {
        let (Self::Node(node) | Self::Exec(_, node)) = self;
        node
    }

    /// Changes the node.
    ///
    /// # Safety
    /// As for [`Node::set`].
    pub(super) unsafe fn set<C: NodeChange>(self, guard: &Guard, change: &mut C) -> Result<(), Error> {
        let part = part_of(guard, self.node())?;
        handle::check_memory()?;
        // SAFETY: as the caller vouches.
        unsafe {
            match self {
                Self::Node(_) => Node::of_part(&part)?.set(change),
                Self::Exec(exec, _) => {
                    let exec = get(guard, exec)?;
                    match exec.named(&part) {
                        Some(node) => exec.set_named(node, change),
                        None => exec.set(&Node::of_part(&part)?, change),
                    }
                }
            }
        }
    }

    /// Shows the parameters of the node, which is of this type.
    pub(super) fn with<R>(
        self,
        wanted: NodeType,
        look: impl FnOnce(&Node, &Parameters) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let guard = enter()?;
        let node = node_of(&guard, self.node())?;
        node.check_version(wanted)?;
        node.check_type(wanted)?;
        let look = |parameters: &Parameters| look(&node, parameters);
        match self {
            Self::Node(_) => node.with_parameters(look)?,
            Self::Exec(exec, _) => get(&guard, exec)?.with_parameters(&node, look)?,
        }
    }

    /// The context that the node was last given.
    pub(super) fn last_context(self, guard: &Guard) -> Result<Context, Error> {
        // Parameters are shown under the lock that this takes, too.
        let node = node_of(guard, self.node())?;
        Ok(match self {
            Self::Node(_) => node.last_context(),
            Self::Exec(exec, _) => get(guard, exec)?.last_context(&node),
        })
    }
}
