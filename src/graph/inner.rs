//! Inner graphs, child graphs and bodies, by their native handles, so that one that is wrapped is the object that there is.
//!
//! Nobody else has the handle of an inner graph before its definition is shared ([`Tree::share`]); until then none is listed.

use super::definition::{Definition, GraphObject, GraphState, State, Tree};
use super::ids::GraphId;
use crate::driver::Driver;
use crate::driver::sys::CUgraph;
use crate::object::error::{Error, Status};
use crate::object::owning::Taking;
use crate::object::registry::Registry;
use std::sync::Arc;

/// The inner graphs of definitions that are shared.
static INNER: Registry<Arc<GraphObject>> = Registry::new();

impl Tree {
    /// Lists an inner graph, which has the number that [`State::next_graph`] told.
    pub(super) fn list_inner(&self, state: &mut State, graph: GraphState) -> GraphId {
        if state.is_shared {
            self.add(&graph);
        }
        state.list_graph(graph)
    }

    /// Takes an inner graph without nodes off the list.
    pub(super) fn unlist_inner(&self, state: &mut State, id: GraphId) -> GraphState {
        let graph = state.unlist_graph(id);
        if state.is_shared {
            self.remove(&graph);
        }
        graph
    }

    /// Others can have the native handles of all inner graphs from now on.
    pub(super) fn share_inner(&self, state: &State) {
        state.inner_graphs().for_each(|graph| self.add(graph));
    }

    /// What is known of the inner graphs is another definition's from now on, or is gone.
    pub(super) fn forget_inner(&self, state: &State) {
        if state.is_shared {
            state.inner_graphs().for_each(|graph| self.remove(graph));
        }
    }

    fn add(&self, graph: &GraphState) {
        INNER.add(self.driver(), graph.native.handle().addr(), &graph.object);
    }

    fn remove(&self, graph: &GraphState) {
        INNER.remove(self.driver(), graph.native.handle().addr(), &graph.object);
    }
}

/// An inner graph, with its definition.
type Inner = (Arc<Definition>, Arc<GraphObject>);

/// The inner graph with this native handle, if there is an object of it. Refuses to own it.
pub(super) fn wrap_again(
    driver: &Driver,
    native: CUgraph,
    taking: Taking<'_>,
) -> Result<Option<Inner>, Error> {
    let Some(object) = INNER.find(driver, native.addr()) else { return Ok(None) };
    let Some(definition) = object.definition.upgrade() else { return Ok(None) };
    // The driver may have used the handle again: under the lock of the definition the graph is there or not.
    let is_there = {
        let _state = definition.tree.lock_unasked();
        !object.is_gone()
    };
    match (is_there, taking.is_to_own()) {
        (false, _) => Ok(None),
        (true, false) => Ok(Some((definition, object))),
        (true, true) => {
            let refusal = format!(
                "{object} is part of another graph, and is destroyed with its node; wrap it as CUSHIM_BORROWED, or clone it"
            );
            Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object.as_ref()))
        }
    }
}

impl State {
    /// All graphs but the root.
    fn inner_graphs(&self) -> impl Iterator<Item = &GraphState> {
        self.graphs().filter(|graph| graph.object.id != GraphId::ROOT)
    }
}
