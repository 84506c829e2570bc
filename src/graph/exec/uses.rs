//! Which nodes of an instance use an object, or have a parameter.

use super::{Exec, State};
use crate::graph::state::{self, NodeId};
use crate::object::error::Error;
use crate::op::node::{Parameters, key};
use std::collections::HashMap;
use std::sync::Arc;

/// The nodes by what they use. Made when it is first asked for, and again after a node was set, or removed from the
/// definition.
#[derive(Default)]
pub(super) struct Uses {
    pub(super) objects: HashMap<usize, Vec<NodeId>>,
    pub(super) names: HashMap<Arc<str>, Vec<NodeId>>,
    /// How many nodes the definition had removed by then.
    removed: usize,
}

impl Uses {
    fn add(&mut self, id: NodeId, parameters: &Parameters) {
        parameters.each_object(|object| add_once(self.objects.entry(key(object)).or_default(), id));
        if let Parameters::Kernel(kernel) = parameters {
            for (_, name) in kernel.arguments().names() {
                add_once(self.names.entry(Arc::clone(name)).or_default(), id);
            }
        }
    }
}

/// A node is listed once, however often it uses the same.
fn add_once(nodes: &mut Vec<NodeId>, id: NodeId) {
    if nodes.last() != Some(&id) {
        nodes.push(id);
    }
}

impl Exec {
    /// Sees to it that it is known which nodes use what, unless the definition has none of them any more.
    pub(super) fn find_uses(&self, state: &mut State, tree: &state::State) -> Result<(), Error> {
        if tree.root().is_none() {
            let what = if tree.is_lost() { "lost in a recapture" } else { "moved into another one" };
            return Err(self.refused(format!(
                "{self} was instantiated from a graph that was {what} since, so that nothing changes its nodes any more"
            )));
        }
        let removed = self.kept.removed_count();
        if state.uses.as_ref().is_some_and(|uses| uses.removed == removed) {
            return Ok(());
        }
        let mut uses = Uses { removed, ..Uses::default() };
        for (id, node) in tree.nodes() {
            if node.number < self.kept.born && node.is_told_by_parameters() {
                self.now(state, tree, id, |parameters| uses.add(id, parameters))?;
            }
        }
        state.uses = Some(uses);
        Ok(())
    }
}
