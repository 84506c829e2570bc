//! Who keeps what nodes use: the definition, as long as nobody else can have the driver's graph; the driver's graph afterwards.

use super::contents::Contents;
use super::definition::State;
use super::ids::GraphId;
use crate::driver::CallError;
use crate::op::attachment::{Attachment, Keeper, Lent, Prepared};
use crate::op::node::Holds;

impl State {
    /// Sees to it that a node of the graph can keep something; `None` if the definition is to keep it.
    #[inline]
    pub(super) fn prepare(&self, graph: GraphId) -> Result<Option<Prepared<'_>>, CallError> {
        if self.is_shared { Prepared::on(&self.graph(graph).native).map(Some) } else { Ok(None) }
    }

    /// Others have the driver's graph from now on, whose copies of it keep what nodes use. If it fails, they may not have it.
    pub(super) fn share(&mut self) -> Result<(), CallError> {
        let Self { contents, graphs, is_shared, .. } = self;
        contents.give(|graph| {
            let graph = graphs[graph.0 as usize].as_ref().expect("a graph is listed until it is removed");
            Prepared::on(&graph.native)
        })?;
        *is_shared = true;
        Ok(())
    }

    /// Where the driver is to keep what an exec uses that it makes, or updates, of the graph.
    pub(super) fn lend(&self, graph: GraphId, keeper: Keeper) -> Result<Lent<'_>, CallError> {
        Lent::on(&self.graph(graph).native, keeper)
    }

    /// What the nodes of a graph do, and of those below.
    pub(super) fn contents_of(&self, graph: GraphId) -> Contents {
        if graph == GraphId::ROOT {
            return self.contents.clone();
        }
        self.contents.of_graphs(|of| self.is_above(graph, of))
    }

    /// Lets go of what the definition keeps: the driver's graph is gone, or is not used any more.
    pub(super) fn let_go(&mut self) {
        self.contents.let_go();
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
