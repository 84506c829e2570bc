//! User objects of graphs that are in graphs: what holds them, and which graph may release them.

use super::Question;
use super::held::Object;
use super::scene::Scene;
use super::work::Work;
use crate::driver::{Answer, Given, given};
use cushim::driver::sys::{CU_GRAPH_COND_TYPE_IF, CUgraph, CUgraphNode};

pub(super) const CHILDREN: &[Question] = &[
    ("child source, child node, parent destroyed: fired", |s| {
        let (source, parent) = (s.graph_of(&[Work::Empty])?, s.graph()?);
        let object = Object::held(s, source)?;
        let node = s.node(parent, &[], Work::Child(source))?;
        s.destroy(source)?;
        let first = object.fired();
        s.destroy_node(node)?;
        let second = object.fired();
        s.destroy(parent)?;
        Ok(Answer::all([first, second, object.fired()]))
    }),
    ("child source, parent destroyed: fired", |s| {
        let source = s.graph_of(&[Work::Empty])?;
        let (object, parent) = (Object::held(s, source)?, s.graph_of(&[Work::Child(source)])?);
        s.destroy(source)?;
        let before = object.fired();
        s.destroy(parent)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("two levels: sources, outer child node destroyed: fired", |s| {
        let (source, outer) = (s.graph_of(&[Work::Empty])?, s.graph()?);
        let (object, middle) = (Object::held(s, source)?, s.graph_of(&[Work::Child(source)])?);
        let node = s.node(outer, &[], Work::Child(middle))?;
        s.destroy(source)?;
        s.destroy(middle)?;
        let before = object.fired();
        s.destroy_node(node)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("two levels: sources, inner child node destroyed: fired", |s| {
        let (source, outer) = (s.graph_of(&[Work::Empty])?, s.graph()?);
        let (object, middle) = (Object::held(s, source)?, s.graph_of(&[Work::Child(source)])?);
        let node = s.node(outer, &[], Work::Child(middle))?;
        s.destroy(source)?;
        s.destroy(middle)?;
        let before = object.fired();
        s.destroy_node(s.first(s.inner(node)?)?)?;
        let between = object.fired();
        s.destroy(outer)?;
        Ok(Answer::all([before, between, object.fired()]))
    }),
    ("retain on the inner graph", |s| {
        let parent = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        Ok(Object::new(s, 1)?.retain(s.inner(s.first(parent)?)?, 1, 1))
    }),
    ("held by the inner graph: source, node destroyed: fired", |s| {
        let (source, parent) = (s.graph_of(&[Work::Empty])?, s.graph()?);
        let node = s.node(parent, &[], Work::Child(source))?;
        let object = Object::held(s, s.inner(node)?)?;
        s.destroy(source)?;
        let before = object.fired();
        s.destroy_node(node)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("held by the inner graph: parent destroyed: fired", |s| {
        let parent = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let object = Object::held(s, s.inner(s.first(parent)?)?)?;
        s.destroy(parent)?;
        Ok(object.fired())
    }),
    ("held by the inner graph: parent, clone destroyed: fired", |s| {
        let parent = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let object = Object::held(s, s.inner(s.first(parent)?)?)?;
        let clone = s.clone_of(parent)?;
        s.destroy(parent)?;
        let before = object.fired();
        s.destroy(clone)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("held by the inner graph: parent, exec destroyed: fired", |s| {
        let parent = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        let object = Object::held(s, s.inner(s.first(parent)?)?)?;
        let exec = s.exec(parent)?;
        s.destroy(parent)?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("exec of the parent: child node, source, parent, exec: fired", |s| {
        let (source, parent) = (s.graph_of(&[Work::Empty])?, s.graph()?);
        let object = Object::held(s, source)?;
        let node = s.node(parent, &[], Work::Child(source))?;
        let exec = s.exec(parent)?;
        s.destroy_node(node)?;
        s.destroy(source)?;
        s.destroy(parent)?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([before, object.fired()]))
    }),
];

/// A graph with a conditional node, and an object that its body holds.
fn body(s: &Scene) -> Given<(CUgraph, Branch, Object)> {
    let graph = s.graph()?;
    let condition = s.condition(graph, 0, 0)?;
    let (node, bodies) = s.branch(graph, &[], s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1))?;
    Ok((graph, Branch { node, body: bodies[0] }, Object::held(s, bodies[0])?))
}

struct Branch {
    node: CUgraphNode,
    body: CUgraph,
}

pub(super) const BODIES: &[Question] = &[
    ("retain on a body", |s| {
        let (_, node, _) = body(s)?;
        Ok(Object::new(s, 1)?.retain(node.body, 1, 1))
    }),
    ("held by a body: root destroyed: fired", |s| {
        let (graph, _, object) = body(s)?;
        s.destroy(graph)?;
        Ok(object.fired())
    }),
    ("held by a body: root, exec destroyed: fired", |s| {
        let (graph, _, object) = body(s)?;
        let exec = s.exec(graph)?;
        s.destroy(graph)?;
        let before = object.fired();
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("held by a body: conditional node, root destroyed: fired", |s| {
        let (graph, node, object) = body(s)?;
        s.destroy_node(node.node)?;
        let before = object.fired();
        s.destroy(graph)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("held by a nested body: outer conditional node destroyed: fired", |s| {
        let (graph, node, _) = body(s)?;
        let condition = s.condition(graph, 0, 0)?;
        let nested = s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1);
        let object = Object::held(s, s.branch(node.body, &[], nested)?.1[0])?;
        s.destroy_node(node.node)?;
        Ok(object.fired())
    }),
    ("held by a nested body: inner conditional node destroyed: fired", |s| {
        let (graph, node, outer) = body(s)?;
        let condition = s.condition(graph, 0, 0)?;
        let nested = s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1);
        let (inner, bodies) = s.branch(node.body, &[], nested)?;
        let object = Object::held(s, bodies[0])?;
        s.destroy_node(inner)?;
        Ok(Answer::all([object.fired(), outer.fired()]))
    }),
    ("a child graph in a body: its source, child node: fired", |s| {
        let (_, node, _) = body(s)?;
        let source = s.graph_of(&[Work::Empty])?;
        let object = Object::held(s, source)?;
        let child = s.node(node.body, &[], Work::Child(source))?;
        s.destroy(source)?;
        let before = object.fired();
        s.destroy_node(child)?;
        Ok(Answer::all([before, object.fired()]))
    }),
    ("a child graph in a body: its source, root: fired", |s| {
        let (graph, node, _) = body(s)?;
        let source = s.graph_of(&[Work::Empty])?;
        let object = Object::held(s, source)?;
        s.node(node.body, &[], Work::Child(source))?;
        s.destroy(source)?;
        let before = object.fired();
        s.destroy(graph)?;
        Ok(Answer::all([before, object.fired()]))
    }),
];

/// Graphs that release what they have through another graph, and what they do not have.
pub(super) const RELEASED: &[Question] = &[
    ("release from a clone: fired, source, clone destroyed: fired", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let (object, clone) = (Object::held(s, graph)?, s.clone_of(graph)?);
        let released = object.release_from(clone, 1);
        let first = object.fired();
        s.destroy(graph)?;
        let second = object.fired();
        s.destroy(clone)?;
        Ok(Answer::all([released, first, second, object.fired()]))
    }),
    ("release from the inner graph: fired, source, parent: fired", |s| {
        let source = s.graph_of(&[Work::Empty])?;
        let (object, parent) = (Object::held(s, source)?, s.graph_of(&[Work::Child(source)])?);
        let released = object.release_from(s.inner(s.first(parent)?)?, 1);
        let first = object.fired();
        s.destroy(source)?;
        let second = object.fired();
        s.destroy(parent)?;
        Ok(Answer::all([released, first, second, object.fired()]))
    }),
    ("release from the parent: fired, source, parent: fired", |s| {
        let source = s.graph_of(&[Work::Empty])?;
        let (object, parent) = (Object::held(s, source)?, s.graph_of(&[Work::Child(source)])?);
        let released = object.release_from(parent, 1);
        let first = object.fired();
        s.destroy(source)?;
        let second = object.fired();
        s.destroy(parent)?;
        Ok(Answer::all([released, first, second, object.fired()]))
    }),
    ("release from a body: fired, root destroyed: fired", |s| {
        let (graph, node, object) = body(s)?;
        let released = object.release_from(node.body, 1);
        let before = object.fired();
        s.destroy(graph)?;
        Ok(Answer::all([released, before, object.fired()]))
    }),
    ("release from the root of what its body holds: fired", |s| {
        let (graph, _, object) = body(s)?;
        Ok(Answer::all([object.release_from(graph, 1), object.fired()]))
    }),
    ("release of an object the graph does not hold", |s| Ok(Object::new(s, 1)?.release_from(s.graph()?, 1))),
    ("release of 2 references where the graph holds 1", |s| {
        let graph = s.graph()?;
        let object = Object::new(s, 2)?;
        object.retain(graph, 1, 1).given("retain")?;
        Ok(Answer::all([object.release_from(graph, 2), object.fired()]))
    }),
    ("move of 2 references where the caller has 1", |s| Ok(Object::new(s, 1)?.retain(s.graph()?, 2, 1))),
];
