//! Conditional nodes.

use super::add::{Added, before};
use super::below::list_below;
use super::condition::{self, Condition};
use super::definition::{ConditionState, State, Tree};
use super::ids::{ConditionId, GraphId, NodeId};
use super::kind::{ConditionalKind, GraphKind};
use super::predecessors::{Natives, Predecessors};
use super::record::Record;
use super::within::Within;
use super::{Graph, Node, refusal, relations, remove, restriction};
use crate::driver::Version;
use crate::driver::calls::graph::node::{self as calls, RawConditional, RawNode};
use crate::driver::sys::CUgraphNode;
use crate::object::error::{Error, Status};
use crate::op::node::{NodeType, Parameters};
use std::sync::Arc;

impl Graph {
    /// Adds a conditional node, with so many empty bodies, which are filled like any other graph. Bodies hold kernel, memset, copy
    /// (not of arrays, nor of ordinary host memory), empty, child graph and conditional nodes, all in the context of the graph.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a condition of another graph, or one that another node looks at, for a number of bodies that the
    /// kind does not have, and if graphs would stand in each other more than 256 deep; [`Status::UNSUPPORTED`] on drivers before 12.3, or 12.8; the driver's.
    pub fn add_conditional(
        &self,
        after: &[&Node],
        condition: &Condition,
        kind: ConditionalKind,
        bodies: usize,
    ) -> Result<(Node, Vec<Graph>), Error> {
        let after: Vec<_> = after.iter().map(|node| node.name()).collect();
        let added = self.add_conditional_after(after.as_slice(), condition, kind, bodies)?;
        let bodies = self.beside(added.graphs());
        Ok((added.node(), bodies))
    }

    pub(crate) fn add_conditional_after(
        &self,
        after: &(impl Predecessors + ?Sized),
        condition: &Condition,
        kind: ConditionalKind,
        bodies: usize,
    ) -> Result<Added<'_>, Error> {
        let (tree, graph) = (&self.definition.tree, self.object.id);
        check_version(tree, kind)?;
        kind.check_bodies(bodies)?;
        let mut state = self.lock()?;
        check_condition(tree, &state, self, condition)?;
        state.check_depth(graph, 0)?;
        let mut natives = Natives::new();
        before(tree, &state, graph, after, &mut natives)?;
        uncure(tree, &mut state, condition.object().id)?;
        let added = add(tree, &mut state, graph, &natives, condition.object().id, kind, bodies as u32);
        let id = added.map_err(|failure| refusal::of_add(failure, after))?;
        Ok(Added { tree, state, id })
    }
}

/// Refuses what the driver is too old for.
fn check_version(tree: &Tree, kind: ConditionalKind) -> Result<(), Error> {
    match kind {
        ConditionalKind::If | ConditionalKind::While => {
            restriction::check_version(tree, NodeType::Conditional)
        }
        ConditionalKind::IfElse => {
            restriction::require(tree, "a conditional node with an else", Version::from_number(12080))
        }
        ConditionalKind::Switch => restriction::require(tree, "a switch node", Version::from_number(12080)),
    }
}

/// Refuses a condition of another definition, and one that a node looks at already.
fn check_condition(tree: &Tree, state: &State, graph: &Graph, condition: &Condition) -> Result<(), Error> {
    let why = if !condition.is_in(tree) {
        format!("{condition} belongs to another graph than {graph}")
    } else {
        let known = &state.conditions[condition.object().id.0 as usize];
        let user = known.node.filter(|node| !state.record(*node).is_hidden);
        match user {
            Some(node) => format!(
                "{} looks at {condition} already; create another condition for this one",
                state.name_of(node)
            ),
            None if !state.is_above(known.graph, graph.object.id) => {
                format!("{condition} belongs to another graph than {graph}, and to none around it")
            }
            None => return Ok(()),
        }
    };
    Err(Error::new(Status::INVALID_ARGUMENT, why).about(condition))
}

fn add(
    tree: &Tree,
    state: &mut State,
    graph: GraphId,
    after: &[CUgraphNode],
    condition: ConditionId,
    kind: ConditionalKind,
    bodies: u32,
) -> Result<NodeId, Error> {
    let number = condition::native(tree, state, condition)?;
    let mut raw = RawConditional {
        condition: number,
        kind: kind.raw(),
        size: bodies,
        context: tree.context().native(),
        bodies: Vec::new(),
    };
    let known = state.graph(graph);
    let related = relations::kept(state);
    // SAFETY: the nodes are nodes of this graph, which the lock keeps; the context is the definition's.
    let added = unsafe { calls::add(&known.native, after, RawNode::Conditional(&mut raw)) };
    drop(related);
    let native = added.map_err(|error| tree.failed(error, known.object.as_ref()))?;
    let parameters = Parameters::Plain(NodeType::Conditional);
    let id = state.list_node(graph, native, Record::new(parameters));
    state.conditions[condition.0 as usize].node = Some(id);
    list_bodies(tree, state, id, (condition, Some(kind)), &raw);
    Ok(id)
}

/// Lists what the driver says of a conditional node that others made.
pub(super) fn list_foreign(tree: &Tree, state: &mut State, id: NodeId, raw: &RawConditional) {
    let condition = condition::adopt(tree, state, id, raw.condition);
    list_bodies(tree, state, id, (condition, ConditionalKind::of_raw(raw.kind, raw.size)), raw);
}

fn list_bodies(
    tree: &Tree,
    state: &mut State,
    id: NodeId,
    (condition, kind): (ConditionId, Option<ConditionalKind>),
    raw: &RawConditional,
) {
    let below =
        |(index, body): (usize, &_)| list_below(tree, state, id, *body, GraphKind::Body(index as u32));
    let inner = Within::bodies(condition, kind, raw.bodies.iter().enumerate().map(below));
    state.node_mut(id).inner = inner;
}

/// Gives each condition that kernels use, and no conditional node looks at, a node that does nothing: with such a condition
/// driver 580 refuses to instantiate the graph (measured), also if the condition's own graph was removed since.
pub(super) fn cure(tree: &Tree, state: &mut State) -> Result<(), Error> {
    let is_loose = |condition: &ConditionState| condition.native.is_some() && condition.node.is_none();
    let loose: Vec<_> =
        (0..state.conditions.len()).filter(|index| is_loose(&state.conditions[*index])).collect();
    for index in loose {
        let (condition, is_ended) = (ConditionId(index as u32), state.conditions[index].is_ended());
        let graph = if is_ended { GraphId::ROOT } else { state.conditions[index].graph };
        match add(tree, state, graph, &[], condition, ConditionalKind::If, 1) {
            Ok(id) => state.record_mut(id).is_hidden = true,
            // Perhaps this driver has forgotten it with its graph, and instantiates.
            Err(_) if is_ended => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// Takes such a node away again, for one that looks at the condition.
fn uncure(tree: &Tree, state: &mut State, condition: ConditionId) -> Result<(), Error> {
    let Some(node) = state.conditions[condition.0 as usize].node else { return Ok(()) };
    let native = state.node(node).native;
    let graph = Arc::clone(&state.graph(state.node(node).graph).object);
    let related = relations::kept(state);
    // SAFETY: the node is there, which the lock keeps.
    let destroyed = unsafe { calls::destroy(tree.table(), native) };
    drop(related);
    destroyed.map_err(|error| tree.failed(error, graph.as_ref()))?;
    drop(remove::forget(tree, state, node));
    Ok(())
}

impl Node {
    /// The condition that a conditional node looks at, and how it decides; `None` for other nodes, and for those that others made,
    /// of which drivers before 13.2 do not tell it.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed, or nobody holds the definition any more.
    pub fn conditional(&self) -> Result<Option<(Condition, ConditionalKind)>, Error> {
        let state = self.tree.lock();
        let node = state.node(self.name().check_there(&state)?);
        let (Some(condition), Some(kind)) = (node.inner.condition(), node.inner.kind()) else {
            return Ok(None);
        };
        let object = Arc::clone(&state.conditions[condition.0 as usize].object);
        drop(state);
        Ok(Some((Condition::of(&object)?, kind)))
    }
}
