//! In what order nodes and edges are told.
//!
//! Each node is a memset of its own value, by which it is known also in copies of its graph.

use super::scene::Scene;
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphNode};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_order", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[orders, dependencies, |t, s| ask(t, s, CAPACITY)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A graph and its nodes, which have the numbers of their places here.
type Made = Given<(CUgraph, Vec<CUgraphNode>)>;

/// Nodes with these predecessors, made one after the other.
fn made(s: &Scene, after: &[&[usize]]) -> Made {
    let graph = s.graph()?;
    let mut nodes = Vec::new();
    for (number, after) in (0u32..).zip(after) {
        let after: Vec<CUgraphNode> = after.iter().map(|&at| nodes[at]).collect();
        nodes.push(s.node(graph, &after, s.fill(number))?);
    }
    Ok((graph, nodes))
}

/// A fork, a join and a node beside them.
const NET: &[&[usize]] = &[&[], &[], &[1, 0], &[0], &[2, 3], &[], &[1]];

fn number(s: &Scene, node: CUgraphNode) -> String {
    if node.is_null() {
        return "none".to_owned();
    }
    let mut params = s.filling(99);
    call!(s.cu, cuGraphMemsetNodeGetParams_10000(node, &raw mut params)).then(|| params.value).to_string()
}

fn numbers(s: &Scene, nodes: &[CUgraphNode]) -> String {
    let numbers: Vec<String> = nodes.iter().map(|node| number(s, *node)).collect();
    if numbers.is_empty() { "no".to_owned() } else { numbers.join(" ") }
}

const MANY: usize = 16;

fn nodes(s: &Scene, graph: CUgraph) -> Answer {
    let (mut nodes, mut count) = ([null_mut(); MANY], MANY);
    call!(s.cu, cuGraphGetNodes_10000(graph, nodes.as_mut_ptr(), &raw mut count))
        .then(|| numbers(s, &nodes[..count]))
}

fn roots(s: &Scene, graph: CUgraph) -> Answer {
    let (mut nodes, mut count) = ([null_mut(); MANY], MANY);
    call!(s.cu, cuGraphGetRootNodes_10000(graph, nodes.as_mut_ptr(), &raw mut count))
        .then(|| numbers(s, &nodes[..count]))
}

fn edges(s: &Scene, graph: CUgraph) -> Answer {
    let (mut from, mut to, mut count) = ([null_mut(); MANY], [null_mut(); MANY], MANY);
    call!(s.cu, cuGraphGetEdges_10000(graph, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count)).then(|| {
        let edges = from[..count].iter().zip(&to);
        let edges = edges.map(|(from, to)| format!("{}>{}", number(s, *from), number(s, *to)));
        edges.collect::<Vec<_>>().join(" ")
    })
}

fn before(s: &Scene, node: CUgraphNode) -> Answer {
    let (mut nodes, mut count) = ([null_mut(); MANY], MANY);
    call!(s.cu, cuGraphNodeGetDependencies_10000(node, nodes.as_mut_ptr(), &raw mut count))
        .then(|| numbers(s, &nodes[..count]))
}

fn behind(s: &Scene, node: CUgraphNode) -> Answer {
    let (mut nodes, mut count) = ([null_mut(); MANY], MANY);
    call!(s.cu, cuGraphNodeGetDependentNodes_10000(node, nodes.as_mut_ptr(), &raw mut count))
        .then(|| numbers(s, &nodes[..count]))
}

type Maker = (&'static str, fn(&Scene) -> Given<CUgraph>);

/// Graphs that were made in different ways.
const GRAPHS: &[Maker] = &[
    ("as made", |s| Ok(made(s, NET)?.0)),
    ("edges added afterwards", |s| {
        let (graph, nodes) = made(s, &[&[], &[], &[], &[]])?;
        for (from, to) in [(2, 3), (0, 2), (1, 3), (0, 1), (0, 3)] {
            s.connect(graph, nodes[from], nodes[to]).given("an edge")?;
        }
        Ok(graph)
    }),
    ("edges against the order of nodes", |s| {
        let (graph, nodes) = made(s, &[&[], &[], &[]])?;
        for (from, to) in [(2, 1), (1, 0), (2, 0)] {
            s.connect(graph, nodes[from], nodes[to]).given("an edge")?;
        }
        Ok(graph)
    }),
    ("a node removed", |s| {
        let (graph, nodes) = made(s, NET)?;
        s.destroy_node(nodes[2])?;
        Ok(graph)
    }),
    ("a root removed", |s| {
        let (graph, nodes) = made(s, NET)?;
        s.destroy_node(nodes[0])?;
        Ok(graph)
    }),
    ("a node removed, another added", |s| {
        let (graph, nodes) = made(s, NET)?;
        s.destroy_node(nodes[2])?;
        s.node(graph, &[nodes[0]], s.fill(7))?;
        Ok(graph)
    }),
    ("an edge removed and added again", |s| {
        let (graph, nodes) = made(s, NET)?;
        let (from, to) = (nodes[1], nodes[2]);
        given!(s.cu, cuGraphRemoveDependencies_10000(graph, &raw const from, &raw const to, 1))?;
        s.connect(graph, from, to).given("an edge")?;
        Ok(graph)
    }),
    ("a root has become none", |s| {
        let (graph, nodes) = made(s, NET)?;
        s.connect(graph, nodes[1], nodes[0]).given("an edge")?;
        Ok(graph)
    }),
    ("a node has become a root", |s| {
        let (graph, nodes) = made(s, NET)?;
        let (from, to) = (nodes[0], nodes[3]);
        given!(s.cu, cuGraphRemoveDependencies_10000(graph, &raw const from, &raw const to, 1))?;
        Ok(graph)
    }),
    ("a clone", |s| s.clone_of(made(s, NET)?.0)),
    ("a clone after a removal and an addition", |s| {
        let (graph, nodes) = made(s, NET)?;
        s.destroy_node(nodes[2])?;
        s.node(graph, &[nodes[0]], s.fill(7))?;
        s.clone_of(graph)
    }),
    ("a clone of edges against the order of nodes", |s| {
        let (graph, nodes) = made(s, &[&[], &[], &[]])?;
        for (from, to) in [(2, 1), (1, 0), (2, 0)] {
            s.connect(graph, nodes[from], nodes[to]).given("an edge")?;
        }
        s.clone_of(graph)
    }),
    ("a clone of a clone", |s| s.clone_of(s.clone_of(made(s, NET)?.0)?)),
    ("a child graph", |s| {
        let outer = s.graph()?;
        s.inner(s.node(outer, &[], Work::Child(made(s, NET)?.0))?)
    }),
    ("the child graph of a clone", |s| {
        let outer = s.graph_of(&[Work::Child(made(s, NET)?.0)])?;
        s.inner(s.first(s.clone_of(outer)?)?)
    }),
    ("captured", captured),
];

/// One stream forks another, which joins again.
fn captured(s: &Scene) -> Given<CUgraph> {
    let (cu, other) = (&s.cu, s.cu.stream(NON_BLOCKING)?);
    let (fork, join, mut graph) = (cu.event(2)?, cu.event(2)?, null_mut());
    let fill = |stream, value| call!(cu, cuMemsetD32Async_3020(s.here, value, 16, stream));
    given!(cu, cuStreamBeginCapture_10010(s.stream, CU_STREAM_CAPTURE_MODE_RELAXED))?;
    let answer = fill(s.stream, 0)
        .and(|| call!(cu, cuEventRecord_2000(fork, s.stream)))
        .and(|| call!(cu, cuStreamWaitEvent_3020(other, fork, 0)))
        .and(|| fill(other, 1))
        .and(|| fill(s.stream, 2))
        .and(|| fill(other, 3))
        .and(|| call!(cu, cuEventRecord_2000(join, other)))
        .and(|| call!(cu, cuStreamWaitEvent_3020(s.stream, join, 0)))
        .and(|| fill(s.stream, 4));
    given!(cu, cuStreamEndCapture_10000(s.stream, &raw mut graph))?;
    answer.given("capturing")?;
    Ok(graph)
}

fn orders(t: &mut Lines, s: &Scene) {
    for (name, graph) in GRAPHS {
        t.line(&format!("{name}: nodes"), || -> Asked { Ok(nodes(s, graph(s)?)) });
        t.line("  roots", || -> Asked { Ok(roots(s, graph(s)?)) });
        t.line("  edges", || -> Asked { Ok(edges(s, graph(s)?)) });
    }
}

/// The neighbours of each node, in the order in which nodes are told.
fn dependencies(t: &mut Lines, s: &Scene) {
    for (name, graph) in GRAPHS {
        t.line(&format!("{name}: predecessors"), || -> Asked {
            let all = s.nodes(graph(s)?)?;
            Ok(all.iter().map(|node| before(s, *node).to_string()).collect::<Vec<_>>().join(", ").into())
        });
        t.line("  successors", || -> Asked {
            let all = s.nodes(graph(s)?)?;
            Ok(all.iter().map(|node| behind(s, *node).to_string()).collect::<Vec<_>>().join(", ").into())
        });
    }
}

/// Room that is smaller or larger than what is told.
const CAPACITY: &[Question] = &[
    ("room for 2 of 7 nodes", |s| Ok(some_nodes(s, made(s, NET)?.0, 2))),
    ("room for 9 of 7 nodes", |s| Ok(some_nodes(s, made(s, NET)?.0, 9))),
    ("room for 0 nodes", |s| Ok(some_nodes(s, made(s, NET)?.0, 0))),
    ("nodes of an empty graph", |s| Ok(some_nodes(s, s.graph()?, 2))),
    ("nodes of NULL", |s| Ok(some_nodes(s, null_mut(), 2))),
    ("nodes: count at NULL", |s| {
        let mut nodes = [null_mut(); MANY];
        Ok(call!(s.cu, cuGraphGetNodes_10000(made(s, NET)?.0, nodes.as_mut_ptr(), null_mut())))
    }),
    ("count of nodes", |s| Ok(s.count(made(s, NET)?.0))),
    ("room for 1 of 3 roots", |s| Ok(some_roots(s, made(s, NET)?.0, 1))),
    ("room for 5 of 3 roots", |s| Ok(some_roots(s, made(s, NET)?.0, 5))),
    ("roots of NULL", |s| Ok(some_roots(s, null_mut(), 1))),
    ("room for 2 of 6 edges", |s| Ok(some_edges(s, made(s, NET)?.0, 2))),
    ("room for 8 of 6 edges", |s| Ok(some_edges(s, made(s, NET)?.0, 8))),
    ("edges of NULL", |s| Ok(some_edges(s, null_mut(), 2))),
    ("count of edges", |s| Ok(s.edge_count(made(s, NET)?.0))),
    ("edges: only where they begin", |s| {
        let (mut from, mut count) = ([null_mut(); MANY], MANY);
        let graph = made(s, NET)?.0;
        let place = from.as_mut_ptr();
        Ok(call!(s.cu, cuGraphGetEdges_10000(graph, place, null_mut(), &raw mut count)).then(|| count))
    }),
    ("edges: only where they end", |s| {
        let (mut to, mut count) = ([null_mut(); MANY], MANY);
        let graph = made(s, NET)?.0;
        let place = to.as_mut_ptr();
        Ok(call!(s.cu, cuGraphGetEdges_10000(graph, null_mut(), place, &raw mut count)).then(|| count))
    }),
    ("room for 1 of 2 predecessors", |s| Ok(some_before(s, made(s, NET)?.1[2], 1))),
    ("room for 4 of 2 predecessors", |s| Ok(some_before(s, made(s, NET)?.1[2], 4))),
    ("predecessors of a root", |s| Ok(some_before(s, made(s, NET)?.1[0], 4))),
    ("predecessors of NULL", |s| Ok(some_before(s, null_mut(), 1))),
    ("room for 1 of 2 successors", |s| Ok(some_behind(s, made(s, NET)?.1[0], 1))),
    ("room for 4 of 2 successors", |s| Ok(some_behind(s, made(s, NET)?.1[0], 4))),
    ("successors of NULL", |s| Ok(some_behind(s, null_mut(), 1))),
    ("type of NULL", |s| Ok(s.node_type(null_mut()))),
    ("type to NULL", |s| Ok(call!(s.cu, cuGraphNodeGetType_10000(made(s, NET)?.1[0], null_mut())))),
];

/// What is told where there is so much room: the count, and what the room has then.
fn some(s: &Scene, room: usize, tell: impl FnOnce(*mut CUgraphNode, *mut usize) -> Answer) -> Answer {
    let (mut nodes, mut count) = ([null_mut(); MANY], room);
    tell(nodes.as_mut_ptr(), &raw mut count).then(|| format!("{count}: {}", numbers(s, &nodes[..room])))
}

fn some_nodes(s: &Scene, graph: CUgraph, room: usize) -> Answer {
    some(s, room, |nodes, count| call!(s.cu, cuGraphGetNodes_10000(graph, nodes, count)))
}

fn some_roots(s: &Scene, graph: CUgraph, room: usize) -> Answer {
    some(s, room, |nodes, count| call!(s.cu, cuGraphGetRootNodes_10000(graph, nodes, count)))
}

fn some_edges(s: &Scene, graph: CUgraph, room: usize) -> Answer {
    let mut to = [null_mut(); MANY];
    let place = to.as_mut_ptr();
    let told = some(s, room, |from, count| call!(s.cu, cuGraphGetEdges_10000(graph, from, place, count)));
    Answer::all([told, format!("to {}", numbers(s, &to[..room])).into()])
}

fn some_before(s: &Scene, node: CUgraphNode, room: usize) -> Answer {
    some(s, room, |nodes, count| call!(s.cu, cuGraphNodeGetDependencies_10000(node, nodes, count)))
}

fn some_behind(s: &Scene, node: CUgraphNode, room: usize) -> Answer {
    some(s, room, |nodes, count| call!(s.cu, cuGraphNodeGetDependentNodes_10000(node, nodes, count)))
}
