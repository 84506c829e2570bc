//! Clones: what they have of their source, and where a node of the source is found in them.

use super::nested_clones;
use super::nested_clones::{levels, nest};
use super::running::untouched;
use super::scene::Scene;
use super::work::{EVERY, Work};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_MEMSET_NODE_PARAMS_v1, CUgraph, CUgraphNode};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_clones", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    types,
    |t, s| ask(t, s, FOUND),
    |t, s| ask(t, s, nested_clones::NESTED),
    |t, s| ask(t, s, CLONES),
    |t, s| ask(t, s, GONE),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

fn types(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: found in a clone"), || -> Asked {
            let graph = s.graph_of(&[Work::Empty])?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            Ok(find(s, node, s.clone_of(graph)?))
        });
        t.line(&format!("{name}: type in a clone"), || -> Asked {
            let graph = s.graph()?;
            let node = s.node(graph, &[], work(s, graph)?)?;
            Ok(s.node_type(found(s, node, s.clone_of(graph)?)?))
        });
    }
}

/// Where the source's node is in the clone.
pub(super) fn find(s: &Scene, node: CUgraphNode, clone: CUgraph) -> Answer {
    let mut found = untouched();
    call!(s.cu, cuGraphNodeFindInClone_10000(&raw mut found, node, clone))
        .then(|| s.place(found, &[("clone", clone)]))
}

fn found(s: &Scene, node: CUgraphNode, clone: CUgraph) -> Given<CUgraphNode> {
    let mut found = null_mut();
    given!(s.cu, cuGraphNodeFindInClone_10000(&raw mut found, node, clone))?;
    Ok(found)
}

/// Two memsets, one after the other.
fn pair(s: &Scene) -> Given<(CUgraph, CUgraphNode, CUgraphNode)> {
    let graph = s.graph()?;
    let nodes = s.chain(graph, &[s.fill(1), s.fill(2)])?;
    Ok((graph, nodes[0], nodes[1]))
}

const FOUND: &[Question] = &[
    ("the second of two nodes", |s| {
        let (graph, _, second) = pair(s)?;
        Ok(find(s, second, s.clone_of(graph)?))
    }),
    ("a node of another graph", |s| {
        let ((graph, ..), (_, other, _)) = (pair(s)?, pair(s)?);
        Ok(find(s, other, s.clone_of(graph)?))
    }),
    ("a node of the clone itself", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        Ok(find(s, found(s, first, clone)?, clone))
    }),
    ("a node of the source in the source", |s| {
        let (graph, first, _) = pair(s)?;
        Ok(find(s, first, graph))
    }),
    ("a node of the clone in the source", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        Ok(find(s, found(s, first, clone)?, graph))
    }),
    ("node NULL", |s| {
        let (graph, ..) = pair(s)?;
        Ok(find(s, null_mut(), s.clone_of(graph)?))
    }),
    ("in clone NULL", |s| Ok(find(s, pair(s)?.1, null_mut()))),
    ("to NULL", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        Ok(call!(s.cu, cuGraphNodeFindInClone_10000(null_mut(), first, clone)))
    }),
    ("a source's node in a clone of its clone", |s| {
        let (graph, first, _) = pair(s)?;
        Ok(find(s, first, s.clone_of(s.clone_of(graph)?)?))
    }),
    ("a clone's node in a clone of it", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        Ok(find(s, found(s, first, clone)?, s.clone_of(clone)?))
    }),
    ("a clone's node in another clone of the source", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        Ok(find(s, found(s, first, clone)?, s.clone_of(graph)?))
    }),
    ("a node that was added after the cloning", |s| {
        let (graph, ..) = pair(s)?;
        let clone = s.clone_of(graph)?;
        let added = s.node(graph, &[], Work::Empty)?;
        Ok(find(s, added, clone))
    }),
    ("its counterpart was removed from the clone", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy_node(found(s, first, clone)?)?;
        Ok(find(s, first, clone))
    }),
    ("another counterpart was removed from the clone", |s| {
        let (graph, first, second) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy_node(found(s, first, clone)?)?;
        Ok(find(s, second, clone))
    }),
    ("another node was removed from the source", |s| {
        let (graph, first, second) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy_node(first)?;
        Ok(find(s, second, clone))
    }),
    ("the source was instantiated", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.exec(graph)?;
        Ok(find(s, first, clone))
    }),
    ("a captured node", |s| {
        let (cu, mut graph) = (&s.cu, null_mut());
        given!(cu, cuStreamBeginCapture_10010(s.stream, CU_STREAM_CAPTURE_MODE_RELAXED))?;
        let captured = call!(cu, cuMemsetD8Async_3020(s.here, 1, 64, s.stream));
        given!(cu, cuStreamEndCapture_10000(s.stream, &raw mut graph))?;
        captured.given("capturing")?;
        Ok(find(s, s.first(graph)?, s.clone_of(graph)?))
    }),
];

/// The value of a memset node.
fn value(s: &Scene, node: CUgraphNode) -> Answer {
    let mut params: CUDA_MEMSET_NODE_PARAMS_v1 = s.filling(99);
    call!(s.cu, cuGraphMemsetNodeGetParams_10000(node, &raw mut params)).then(|| params.value)
}

const CLONES: &[Question] = &[
    ("clone NULL", |s| {
        let mut clone = null_mut();
        Ok(call!(s.cu, cuGraphClone_10000(&raw mut clone, null_mut())))
    }),
    ("clone to NULL", |s| Ok(call!(s.cu, cuGraphClone_10000(null_mut(), pair(s)?.0)))),
    ("clone of an empty graph: nodes", |s| Ok(s.count(s.clone_of(s.graph()?)?))),
    ("clone: nodes and edges", |s| {
        let clone = s.clone_of(pair(s)?.0)?;
        Ok(Answer::all([s.count(clone), s.edge_count(clone)]))
    }),
    ("clone: it runs", |s| {
        s.clear()?;
        let clone = s.clone_of(s.graph_of(&[s.note(1), s.note(2)])?)?;
        Ok(Answer::all([s.ran(clone), s.noted()]))
    }),
    ("a node added to the source: nodes of the clone", |s| {
        let (graph, ..) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.node(graph, &[], Work::Empty)?;
        Ok(s.count(clone))
    }),
    ("a node added to the clone: nodes of the source", |s| {
        let (graph, ..) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.node(clone, &[], Work::Empty)?;
        Ok(s.count(graph))
    }),
    ("a source's node as dependency in the clone", |s| {
        let (graph, first, _) = pair(s)?;
        let mut node = null_mut();
        Ok(s.add(s.clone_of(graph)?, &[first], Work::Empty, &raw mut node))
    }),
    ("the source's memset changed: the clone's value", |s| {
        let (graph, first, _) = pair(s)?;
        let (clone, other) = (s.clone_of(graph)?, s.filling(9));
        given!(s.cu, cuGraphMemsetNodeSetParams_10000(first, &raw const other))?;
        Ok(value(s, found(s, first, clone)?))
    }),
    ("the clone's memset changed: the source's value", |s| {
        let (graph, first, _) = pair(s)?;
        let (clone, other) = (s.clone_of(graph)?, s.filling(9));
        given!(s.cu, cuGraphMemsetNodeSetParams_10000(found(s, first, clone)?, &raw const other))?;
        Ok(value(s, first))
    }),
    ("the source destroyed: the clone runs", |s| {
        let (graph, ..) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy(graph)?;
        Ok(s.ran(clone))
    }),
    ("the clone destroyed: the source runs", |s| {
        let (graph, ..) = pair(s)?;
        s.destroy(s.clone_of(graph)?)?;
        Ok(s.ran(graph))
    }),
];

/// Questions about what is no more.
const GONE: &[Question] = &[
    ("the source's node was destroyed", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy_node(first)?;
        Ok(find(s, first, clone))
    }),
    ("the source was destroyed", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy(graph)?;
        Ok(find(s, first, clone))
    }),
    ("the clone was destroyed", |s| {
        let (graph, first, _) = pair(s)?;
        let clone = s.clone_of(graph)?;
        s.destroy(clone)?;
        Ok(find(s, first, clone))
    }),
    ("the source's child node was destroyed: the inner node", |s| {
        let nest = nest(s)?;
        let [_, middle, _] = levels(s, &nest)?;
        s.destroy_node(nest.outer_node)?;
        Ok(find(s, nest.embedded, middle))
    }),
];
