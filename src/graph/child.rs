//! Graphs as nodes of other graphs.

use super::add::{Added, before};
use super::below::list_below;
use super::copy::Known;
use super::definition::{GraphState, State, Tree};
use super::foreign;
use super::ids::{GraphId, NodeId};
use super::kind::GraphKind;
use super::predecessors::{Natives, Predecessors};
use super::record::Record;
use super::recorder::Recorder;
use super::within::Within;
use super::{Graph, Node, moved, refusal, relations, remove, restriction, setters, updatable};
use crate::driver::Version;
use crate::driver::calls::graph::node::{self as calls, RawNode};
use crate::driver::calls::graph::query;
use crate::driver::sys::{CUgraph, CUgraphNode};
use crate::object::error::{Error, Status};
use crate::op::node::{NodeType, Parameters};
use parking_lot::MutexGuard;
use std::sync::Arc;

impl Graph {
    /// Adds a node that runs a copy of another graph. The copy is the node's, is edited like any other graph, and keeps what the
    /// original keeps, on its own account.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a graph that stands around this one, or is this one (driver 580 crashes), for one with
    /// nodes that this one cannot hold, and if graphs would stand in each other more than 256 deep; the driver's, for a graph that allocates memory or has conditional nodes.
    pub fn add_child(&self, after: &[&Node], child: &Self) -> Result<(Node, Self), Error> {
        let after: Vec<_> = after.iter().map(|node| node.name()).collect();
        Ok(self.with_inner(self.add_child_after(after.as_slice(), child)?))
    }

    /// Adds a node whose graph is another graph from now on; driver 12.9. Graphs that allocate memory can be embedded so; driver
    /// 580 moves none with conditional nodes. Handles of that graph, its nodes and its conditions are good no more; ask the
    /// node for its graph.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a graph that is part of another, or not this library's to give away, for one with nodes that this
    /// one cannot hold, and if graphs would stand in each other more than 256 deep; [`Status::UNSUPPORTED`] before driver 12.9; the driver's.
    pub fn move_child(&self, after: &[&Node], child: &Self) -> Result<(Node, Self), Error> {
        let after: Vec<_> = after.iter().map(|node| node.name()).collect();
        Ok(self.with_inner(self.move_child_after(after.as_slice(), child)?))
    }

    /// A child graph node that was just added, and its graph.
    fn with_inner(&self, added: Added<'_>) -> (Node, Self) {
        let inner = self.beside(added.graphs()).remove(0);
        (added.node(), inner)
    }

    pub(crate) fn move_child_after(
        &self,
        after: &(impl Predecessors + ?Sized),
        child: &Self,
    ) -> Result<Added<'_>, Error> {
        let tree = &self.definition.tree;
        restriction::require(tree, "moving a graph into another", Version::from_number(12090))?;
        let mut pair = Pair::lock(self, child)?;
        pair.refuse_itself(self, child)?;
        let capture = pair.inner().graphs().find_map(GraphState::capture);
        if let Some(capture) = capture {
            // What names the builder may be the last to hold it, and ends its capture then.
            drop(pair);
            return Err(child.captured_by(capture.as_ref()));
        }
        child.check_given()?;
        let mut natives = Natives::new();
        before(tree, &pair.outer, self.object.id, after, &mut natives)?;
        pair.outer.check_depth(self.object.id, pair.inner().height(child.object.id))?;
        pair.check_restrictions(self, child)?;
        pair.outer.check_parameters_of(pair.inner())?;
        pair.share_alike()?;
        let native = pair.add(self, child, &natives, RawNode::MovedChild);
        let native = native.map_err(|failure| refusal::of_add(failure, after))?;
        let id = pair.take_over(self, child, native);
        Ok(Added { tree, state: pair.outer, id })
    }

    /// Refuses a graph that cannot be given away.
    fn check_given(&self) -> Result<(), Error> {
        let why = if self.kind() != GraphKind::Root {
            "is part of another graph"
        } else if !self.definition.tree.is_owned() {
            "was wrapped, and is its lender's"
        } else {
            return Ok(());
        };
        let refusal = format!("{self} {why} and cannot be moved; embed a copy of it");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self.object.as_ref()))
    }

    #[cold]
    fn captured_by(&self, capture: &dyn Recorder) -> Error {
        let refusal = format!(
            "{self} cannot be moved while {} captures into it; end that (cushim_builder_end) first",
            capture.builder()
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self.object.as_ref())
    }

    pub(crate) fn add_child_after(
        &self,
        after: &(impl Predecessors + ?Sized),
        child: &Self,
    ) -> Result<Added<'_>, Error> {
        let mut pair = Pair::lock(self, child)?;
        pair.refuse_itself(self, child)?;
        let mut natives = Natives::new();
        before(&self.definition.tree, &pair.outer, self.object.id, after, &mut natives)?;
        pair.check_restrictions(self, child)?;
        child.definition.tree.check_contexts(pair.inner(), child.object.as_ref())?;
        pair.share_with_outer()?;
        let known = Known::of(&child.definition.tree, pair.inner_mut(), child.object.id)?;
        pair.outer.check_depth(self.object.id, pair.inner().height(child.object.id))?;
        known.check_parameters(&pair.outer)?;
        updatable::check_copied(&child.definition.tree, pair.inner(), child)?;
        setters::check_alone(pair.inner(), child, "embedded")?;
        let native = pair
            .add(self, child, &natives, RawNode::Child)
            .map_err(|failure| refusal::of_add(failure, after))?;
        let id = pair.list(self, child, known, native)?;
        Ok(Added { tree: &self.definition.tree, state: pair.outer, id })
    }
}

/// The definitions of a graph and of what is embedded in it, both locked: perhaps the same one.
struct Pair<'outer, 'inner> {
    trees: [&'inner Arc<Tree>; 2],
    outer: MutexGuard<'outer, State>,
    /// `None` if it is the same.
    inner: Option<MutexGuard<'inner, State>>,
}

impl<'outer: 'inner, 'inner> Pair<'outer, 'inner> {
    fn lock(outer: &'outer Graph, inner: &'inner Graph) -> Result<Self, Error> {
        let (first, second) = (&outer.definition.tree, &inner.definition.tree);
        let trees = [first, second];
        if first.driver() != second.driver() {
            let refusal = format!("{inner} belongs to another driver than {outer}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(inner.object.as_ref()));
        }
        let (state, other) = Tree::lock_two(first, second);
        let pair = Self { trees, outer: state, inner: other };
        for graph in [outer, inner] {
            graph.check_usable()?;
        }
        Ok(pair)
    }

    fn inner(&self) -> &State {
        self.inner.as_ref().unwrap_or(&self.outer)
    }

    fn inner_mut(&mut self) -> &mut State {
        match &mut self.inner {
            Some(inner) => inner,
            None => &mut self.outer,
        }
    }

    /// What others can copy with the outer graph, the driver's graph keeps, also what is about to be copied into it.
    fn share_with_outer(&mut self) -> Result<(), Error> {
        let is_shared = self.outer.is_shared;
        match &mut self.inner {
            Some(inner) if is_shared => self.trees[1].share(inner),
            _ => Ok(()),
        }
    }

    /// One definition is shared with others if one of the two is.
    fn share_alike(&mut self) -> Result<(), Error> {
        if self.inner().is_shared {
            self.trees[0].share(&mut self.outer)?;
        }
        self.share_with_outer()
    }

    /// Driver 580 crashes on a graph that is embedded in itself (measured).
    fn refuse_itself(&self, outer: &Graph, inner: &Graph) -> Result<(), Error> {
        if self.inner.is_some() || !self.outer.is_above(inner.object.id, outer.object.id) {
            return Ok(());
        }
        let refusal = match inner == outer {
            true => format!("{inner} cannot be embedded in itself; embed a clone of it"),
            false => {
                format!("{inner} cannot be embedded in {outer}, which is part of it; embed a clone of it")
            }
        };
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(inner.object.as_ref()))
    }

    /// What a body cannot hold, it cannot hold in a child graph either.
    fn check_restrictions(&mut self, outer: &Graph, inner: &Graph) -> Result<(), Error> {
        if !self.outer.graph(outer.object.id).is_in_body {
            return Ok(());
        }
        let tree = Arc::clone(self.trees[1]);
        let mut graphs = vec![inner.object.id];
        while let Some(graph) = graphs.pop() {
            let nodes = foreign::list(&tree, self.inner_mut(), graph)?;
            for id in nodes {
                let node = self.inner().node(id);
                let record = self.inner().record(id);
                let at = self.inner().contents.context(id).unwrap_or(tree.context());
                restriction::check_in_body(
                    self.trees[0],
                    &self.outer,
                    outer.object.id,
                    &record.parameters,
                    at,
                    || format!("{} of {}", self.inner().name_of(id), self.inner().graph(graph).object),
                )?;
                graphs.extend(node.inner.iter().copied());
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        outer: &Graph,
        inner: &Graph,
        after: &[CUgraphNode],
        as_node: impl FnOnce(CUgraph) -> RawNode<'static>,
    ) -> Result<CUgraphNode, Error> {
        let (graph, child) = (self.outer.graph(outer.object.id), self.inner().graph(inner.object.id));
        let relatives = relations::changed();
        // SAFETY: both graphs are there, which the locks keep, and the nodes are nodes of the outer one.
        let added = unsafe { calls::add(&graph.native, after, as_node(child.native.handle())) };
        drop(relatives);
        let failed = |error| self.trees[0].failed(error, outer.object.as_ref());
        let node = added.map_err(|error| refusal::of_copying(failed(error), self.inner()))?;
        self.outer.has_relatives = true;
        self.inner_mut().has_relatives = true;
        Ok(node)
    }

    /// Lists the node with its graph, and what is known of the nodes in that. If the driver does not tell enough of them, the node is
    /// taken out again.
    fn list(
        &mut self,
        outer: &Graph,
        inner: &Graph,
        known: Known,
        native: CUgraphNode,
    ) -> Result<NodeId, Error> {
        let child = self.child_of(outer, native).inspect_err(|_| self.take_out(native))?;
        let (id, below) = self.list_child(outer, native, child);
        self.has_copy(inner, below);
        let listed = known.list(self.trees[0], &mut self.outer, below);
        listed.inspect_err(|_| {
            self.take_out(native);
            drop(remove::forget(self.trees[0], &mut self.outer, id));
        })?;
        Ok(id)
    }

    /// Remembers the copy of a graph that may be moved elsewhere; of one that is part of another the driver does not.
    fn has_copy(&mut self, inner: &Graph, copy: GraphId) {
        if let Some(there) = self.inner.as_mut().filter(|_| inner.kind() == GraphKind::Root) {
            there.graph_mut(inner.object.id).derived.has_copy(&mut self.outer.graph_mut(copy).derived);
        }
    }

    fn take_out(&self, native: CUgraphNode) {
        // If that fails, too, there is nothing more to do.
        let _relatives = relations::changed();
        // SAFETY: the node was just added, and nobody knows it.
        let _ = unsafe { calls::destroy(self.trees[0].table(), native) };
    }

    /// Lists the node with its graph, which was another definition's before: nobody can give it back, so nothing may fail here. Where the
    /// driver does not say what the graph is called now, it is what it was called before (documented).
    fn take_over(&mut self, outer: &Graph, inner: &Graph, native: CUgraphNode) -> NodeId {
        let before = self.inner().graph(inner.object.id).native.handle();
        let child = self.child_of(outer, native).unwrap_or(before);
        let (id, below) = self.list_child(outer, native, child);
        if let Some(inner) = &mut self.inner {
            let from = self.trees[1].give_away(inner);
            moved::take_over(self.trees[0], &mut self.outer, below, (from, inner), self.trees[1]);
        }
        id
    }

    /// The graph of a child graph node that was just added.
    fn child_of(&self, outer: &Graph, native: CUgraphNode) -> Result<CUgraph, Error> {
        let tree = self.trees[0];
        // SAFETY: the node was just added.
        let child = unsafe { query::child(tree.table(), native) };
        child.map_err(|error| tree.failed(error, outer.object.as_ref()))
    }

    fn list_child(&mut self, outer: &Graph, native: CUgraphNode, child: CUgraph) -> (NodeId, GraphId) {
        let tree = self.trees[0];
        let record = Record::new(Parameters::Plain(NodeType::Child));
        let id = self.outer.list_node(outer.object.id, native, record);
        let below = list_below(tree, &mut self.outer, id, child, GraphKind::Child);
        self.outer.node_mut(id).inner = Within::child(below);
        (id, below)
    }
}
