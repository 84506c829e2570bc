//! Who keeps what nodes use: the definition, as long as nobody else can have the driver's graph; the driver's graph afterwards.

use super::definition::State;
use super::ids::GraphId;
use crate::driver::CallError;
use crate::op::attachment::{Attachment, Keeper, Lent, Prepared, let_go_of};
use crate::op::node::Holds;

impl State {
    /// Sees to it that a node of the graph can keep something; `None` if the definition is to keep it.
    #[inline]
    pub(super) fn prepare(&self, graph: GraphId) -> Result<Option<Prepared<'_>>, CallError> {
        if self.is_shared { Prepared::on(&self.graph(graph).native).map(Some) } else { Ok(None) }
    }

    /// Others have the driver's graph from now on, whose copies of it keep what nodes use. If it fails, they may not have it.
    pub(super) fn share(&mut self) -> Result<(), CallError> {
        let (nodes, unplaced, graphs) = self.kept_mut();
        let of_nodes = nodes.filter_map(|node| Some((node.graph, node.attachment.as_mut()?)));
        let all = of_nodes.chain(unplaced.iter_mut().map(|(graph, attachment)| (*graph, attachment)));
        let mut given = Vec::new();
        for (graph, attachment) in all.filter(|(_, attachment)| attachment.is_of_definition()) {
            let graph = graphs[graph.0 as usize].as_ref().expect("a graph is listed until it is removed");
            given.push((attachment, Prepared::on(&graph.native)?));
        }
        // From here on nothing fails.
        given.into_iter().for_each(|(attachment, prepared)| attachment.give(prepared));
        self.is_shared = true;
        Ok(())
    }

    /// What the definition keeps for the nodes of a graph, and for those below, for a copy that the driver makes of it.
    pub(super) fn lend(&self, graph: GraphId, keeper: Keeper) -> Result<Lent<'_>, CallError> {
        let is_within = |of: GraphId| graph == GraphId::ROOT || self.is_above(graph, of);
        let nodes = self.nodes().filter(|(_, node)| is_within(node.graph));
        let nodes = nodes.filter_map(|(id, node)| Some((id.0, node.attachment.as_ref()?)));
        let rest = self.unplaced.iter().filter(|(of, _)| is_within(*of)).map(|(_, attachment)| attachment);
        Lent::to(&self.graph(graph).native, keeper, nodes, rest)
    }

    /// Lets go of what the definition keeps: the driver's graph is gone, or is not used any more.
    pub(super) fn let_go(&mut self) {
        let (nodes, unplaced, _) = self.kept_mut();
        let of_nodes = nodes.filter_map(|node| node.attachment.as_mut());
        let_go_of(of_nodes.chain(unplaced.iter_mut().map(|(_, attachment)| attachment)));
    }
}

/// What a node keeps, if it `keeps` anything, once nothing can fail any more.
#[inline(always)]
pub(super) fn kept(
    keeps: bool,
    prepared: Option<Prepared<'_>>,
    holds: impl FnOnce() -> Holds,
) -> Option<Attachment> {
    match prepared {
        Some(prepared) => Some(prepared.commit(holds())),
        None if keeps => Some(Attachment::of_definition(holds)),
        None => None,
    }
}
