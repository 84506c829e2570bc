//! The child graph of a node takes over another graph's parameters, in one instance.

use super::held::Held;
use super::leaving::Leaving;
use super::pairing::{self, Source};
use super::{Exec, State};
use crate::driver::sys;
use crate::graph::definition::{self, Tree};
use crate::graph::ids::{GraphId, NodeId};
use crate::graph::{Graph, Node, conditional, relations, setters};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::op::node::NodeType;
use parking_lot::MutexGuard;
use std::sync::Arc;

impl Exec {
    /// Has the child graph of a node do in this instance what another graph does, from the next launch on. That graph has the same nodes
    /// and edges; it stays what it is, and the instance keeps what its nodes use. The nodes are still named by those of the
    /// child graph. In a definition a child graph is edited where it stands ([`Node::graphs`]).
    ///
    /// # Safety
    /// What the nodes of the graph use, and it does not keep, is good whenever this is launched.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a node of another definition, or no child graph node; [`Status::INVALID_HANDLE`] if node or graph
    /// was removed, and for a graph of another driver; the driver's, for a graph with other nodes or edges. The instance is as it
    /// was then.
    pub unsafe fn set_child(&self, node: &Node, graph: &Graph) -> Result<(), Error> {
        self.check_node(node.name())?;
        if node.node_type() != NodeType::Child {
            let refusal = format!("{node} has no child graph");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(&node.name()));
        }
        if graph.driver() != self.driver() {
            let refusal = format!("{graph} belongs to another driver than {self}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(graph.object.as_ref()));
        }
        let _current = self.context().enter()?;
        let mut state = self.0.state.lock();
        self.check_whole(&state)?;
        state.held.check(self)?;
        let mut trees = Both::lock(&self.0.tree, graph)?;
        let id = node.name().check_there(trees.own())?;
        self.check_age(node.name(), trees.own(), id)?;
        let source = &graph.definition.tree;
        source.check_contexts(trees.source(), graph.object.as_ref())?;
        if trees.source.is_some() {
            let is_there = |number| self.0.instance.has_condition(Some(number));
            setters::check_for(trees.source(), graph, "taken over", is_there)?;
        }
        conditional::cure(source, trees.source_mut())?;
        trees.source_mut().has_relatives = true;
        let Some(raw) = &state.raw else { return Err(self.gone()) };
        let failed = |error| source.failed(error, graph.object.as_ref());
        let lent = trees.source().lend(graph.object.id, self.0.options.keeper()).map_err(failed)?;
        let native = &trees.source().graph(graph.object.id).native;
        let relatives = relations::changed();
        // SAFETY: node and graph are there, which the locks keep; the caller vouches for what the nodes use.
        let set = unsafe { raw.set_child(trees.own().node(id).native, native) };
        drop(relatives);
        let kept = || trees.source().contents_of(graph.object.id);
        let (given, taken_back) = lent.end(set.is_ok(), kept);
        set.map_err(|error| refused(self.failed(error)))?;
        // From here on nothing fails.
        state.held.join(Held::of(source, trees.source(), given));
        let before = self.take_over_child(&mut state, &mut trees, id, graph);
        drop(trees);
        state.keeps |= state.has_what_goes();
        state.retire_all(before);
        self.watch_all(&mut state);
        drop(state);
        report(source.driver(), taken_back.map_err(failed));
        Ok(())
    }

    /// The nodes of the child graph do what those of the other graph do from now on; answers with what they kept before in this instance.
    fn take_over_child(&self, state: &mut State, trees: &mut Both<'_>, id: NodeId, graph: &Graph) -> Leaving {
        state.uses = None;
        let child: GraphId = trees.own().node(id).inner[0];
        let there = Source::of_graph(&graph.definition.tree, trees.source_mut(), graph.object.id);
        let taken = there.and_then(|there| {
            let own = pairing::outline_of(&self.0.tree, &mut trees.own, child, self.0.instance.born)?;
            Ok(there.taken_by(&own, &state.contents, &self.0.instance, self.0.tree.context()))
        });
        let mut leaving = Leaving::default();
        // Of a graph that was removed nobody can tell where it was.
        let is_within = |of| trees.own().graph_object(of).map(|_| trees.own().is_above(child, of));
        let before = state.untold.extract_if(.., |(of, _)| is_within(*of) == Some(true));
        before.for_each(|(_, contents)| leaving.add(contents));
        let untold = match taken {
            Ok(Some(mut taken)) => {
                leaving.extend(state.contents.take_over(&mut taken));
                taken
            }
            _ => {
                leaving.extend(state.contents.forget(is_within));
                trees.source().contents_of(graph.object.id)
            }
        };
        if untold.keeps() {
            state.untold.push((child, untold));
        }
        leaving
    }
}

#[cold]
fn refused(mut failure: Error) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE.0 {
        failure.message.push_str(
            ". The graph needs the same nodes and edges as the child graph, and an exec does not change everything of a node; instantiate the graph again",
        );
    }
    failure
}

/// The definition of an instance, and that of another graph, both locked: perhaps the same one.
struct Both<'a> {
    own: MutexGuard<'a, definition::State>,
    /// `None` if it is the same.
    source: Option<MutexGuard<'a, definition::State>>,
}

impl<'a> Both<'a> {
    /// Always in the same order.
    fn lock(own: &'a Arc<Tree>, graph: &'a Graph) -> Result<Self, Error> {
        let source = &graph.definition.tree;
        let both = if Arc::ptr_eq(own, source) {
            Self { own: own.lock(), source: None }
        } else if Arc::as_ptr(own) < Arc::as_ptr(source) {
            let own = own.lock();
            Self { own, source: Some(source.lock()) }
        } else {
            let source = source.lock();
            Self { own: own.lock(), source: Some(source) }
        };
        graph.check_usable()?;
        Ok(both)
    }

    fn own(&self) -> &definition::State {
        &self.own
    }

    fn source(&self) -> &definition::State {
        self.source.as_ref().unwrap_or(&self.own)
    }

    fn source_mut(&mut self) -> &mut definition::State {
        self.source.as_mut().unwrap_or(&mut self.own)
    }
}
