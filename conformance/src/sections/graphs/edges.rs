//! Edges without data: added and removed one by one or together, and cycles.

use super::scene::Scene;
use super::work::Work;
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CUgraph, CUgraphNode};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_edges", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[|t, s| ask(t, s, ADDED), |t, s| ask(t, s, REMOVED), |t, s| ask(t, s, CYCLES)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// A graph of four nodes, and a node of another graph.
struct Nodes {
    graph: CUgraph,
    nodes: [CUgraphNode; 4],
    foreign: CUgraphNode,
}

/// Their numbers; the foreign node is the last.
type Edge = (usize, usize);

const FOREIGN: usize = 4;

fn four(s: &Scene) -> Given<Nodes> {
    let graph = s.graph()?;
    let mut nodes = [null_mut(); 4];
    for node in &mut nodes {
        *node = s.node(graph, &[], Work::Empty)?;
    }
    Ok(Nodes { graph, nodes, foreign: s.node(s.graph()?, &[], Work::Empty)? })
}

/// The same with these edges.
fn connected(s: &Scene, edges: &[Edge]) -> Given<Nodes> {
    let four = four(s)?;
    four.add(s, edges).given("adding edges")?;
    Ok(four)
}

impl Nodes {
    fn node(&self, number: usize) -> CUgraphNode {
        if number == FOREIGN { self.foreign } else { self.nodes[number] }
    }

    fn ends(&self, edges: &[Edge]) -> (Vec<CUgraphNode>, Vec<CUgraphNode>) {
        edges.iter().map(|&(from, to)| (self.node(from), self.node(to))).unzip()
    }

    fn add(&self, s: &Scene, edges: &[Edge]) -> Answer {
        let (from, to) = self.ends(edges);
        call!(s.cu, cuGraphAddDependencies_10000(self.graph, from.as_ptr(), to.as_ptr(), edges.len()))
    }

    fn remove(&self, s: &Scene, edges: &[Edge]) -> Answer {
        let (from, to) = self.ends(edges);
        call!(s.cu, cuGraphRemoveDependencies_10000(self.graph, from.as_ptr(), to.as_ptr(), edges.len()))
    }

    /// The answer, and how many edges there are then.
    fn then(&self, s: &Scene, answer: Answer) -> Asked {
        Ok(Answer::all([answer, s.edge_count(self.graph)]))
    }
}

/// What adding these to those answers, and how many there are then.
fn added(s: &Scene, before: &[Edge], edges: &[Edge]) -> Asked {
    let four = connected(s, before)?;
    let answer = four.add(s, edges);
    four.then(s, answer)
}

fn removed(s: &Scene, before: &[Edge], edges: &[Edge]) -> Asked {
    let four = connected(s, before)?;
    let answer = four.remove(s, edges);
    four.then(s, answer)
}

const ADDED: &[Question] = &[
    ("one edge", |s| added(s, &[], &[(0, 1)])),
    ("three edges", |s| added(s, &[], &[(0, 1), (1, 2), (0, 3)])),
    ("cross-graph edge", |s| added(s, &[], &[(0, FOREIGN)])),
    ("cross-graph edge from there", |s| added(s, &[], &[(FOREIGN, 0)])),
    ("self edge", |s| added(s, &[], &[(0, 0)])),
    ("duplicate edge", |s| added(s, &[(0, 1)], &[(0, 1)])),
    ("an edge against the order of nodes", |s| added(s, &[], &[(1, 0)])),
    ("0 edges", |s| added(s, &[], &[])),
    ("0 edges at NULL", |s| {
        let four = four(s)?;
        Ok(call!(s.cu, cuGraphAddDependencies_10000(four.graph, null(), null(), 0)))
    }),
    ("1 edge at NULL", |s| {
        let four = four(s)?;
        Ok(call!(s.cu, cuGraphAddDependencies_10000(four.graph, null(), null(), 1)))
    }),
    ("1 edge from a node to NULL", |s| {
        let four = four(s)?;
        let answer = s.connect(four.graph, four.nodes[0], null_mut());
        four.then(s, answer)
    }),
    ("1 edge from NULL to a node", |s| {
        let four = four(s)?;
        let answer = s.connect(four.graph, null_mut(), four.nodes[0]);
        four.then(s, answer)
    }),
    ("in graph NULL", |s| {
        let four = four(s)?;
        Ok(s.connect(null_mut(), four.nodes[0], four.nodes[1]))
    }),
    ("of another graph's nodes, which are one another's", |s| {
        let (one, other) = (four(s)?, four(s)?);
        Ok(s.connect(one.graph, other.nodes[0], other.nodes[1]))
    }),
    ("a good edge, a self edge", |s| added(s, &[], &[(0, 1), (2, 2)])),
    ("a self edge, a good edge", |s| added(s, &[], &[(2, 2), (0, 1)])),
    ("a good edge, a cross-graph edge", |s| added(s, &[], &[(0, 1), (2, FOREIGN)])),
    ("a good edge, one that is there", |s| added(s, &[(2, 3)], &[(0, 1), (2, 3)])),
    ("one that is there, a good edge", |s| added(s, &[(2, 3)], &[(2, 3), (0, 1)])),
    ("the same edge twice", |s| added(s, &[], &[(0, 1), (0, 1)])),
    ("a good edge, another one twice", |s| added(s, &[], &[(2, 3), (0, 1), (0, 1)])),
    ("two edges that make a cycle", |s| added(s, &[], &[(0, 1), (1, 0)])),
    ("the other ABI: one edge", |s| {
        let four = four(s)?;
        let (from, to) = (four.nodes[0], four.nodes[1]);
        let (from, to) = (&raw const from, &raw const to);
        let answer = call!(s.cu, cuGraphAddDependencies_12030(four.graph, from, to, null(), 1));
        four.then(s, answer)
    }),
    ("a refused batch, then its good edge", |s| {
        let four = four(s)?;
        let refused = four.add(s, &[(0, 1), (2, 2)]);
        Ok(Answer::all([refused, four.add(s, &[(0, 1)]), s.edge_count(four.graph)]))
    }),
    ("an edge after the instantiation: the exec runs in its order", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let nodes = s.chain(graph, &[s.note(1), s.note(2)])?;
        let exec = s.exec(graph)?;
        s.node(graph, &[nodes[1]], s.note(3))?;
        Ok(Answer::all([s.launched(exec), s.noted()]))
    }),
];

const REMOVED: &[Question] = &[
    ("remove edge", |s| removed(s, &[(0, 1)], &[(0, 1)])),
    ("remove missing edge", |s| removed(s, &[(0, 1)], &[(1, 0)])),
    ("remove self edge", |s| removed(s, &[(0, 1)], &[(0, 0)])),
    ("remove cross-graph edge", |s| removed(s, &[(0, 1)], &[(0, FOREIGN)])),
    ("remove two edges", |s| removed(s, &[(0, 1), (1, 2), (2, 3)], &[(0, 1), (2, 3)])),
    ("remove an edge and a missing one", |s| removed(s, &[(0, 1), (1, 2)], &[(0, 1), (0, 3)])),
    ("remove a missing edge and an edge", |s| removed(s, &[(0, 1), (1, 2)], &[(0, 3), (0, 1)])),
    ("remove the same edge twice", |s| removed(s, &[(0, 1), (1, 2)], &[(0, 1), (0, 1)])),
    ("remove 0 edges", |s| removed(s, &[(0, 1)], &[])),
    ("remove 1 edge at NULL", |s| {
        let four = four(s)?;
        Ok(call!(s.cu, cuGraphRemoveDependencies_10000(four.graph, null(), null(), 1)))
    }),
    ("remove in graph NULL", |s| {
        let four = connected(s, &[(0, 1)])?;
        let (from, to) = (four.nodes[0], four.nodes[1]);
        Ok(call!(s.cu, cuGraphRemoveDependencies_10000(null_mut(), &raw const from, &raw const to, 1)))
    }),
    ("remove in another graph", |s| {
        let (four, other) = (connected(s, &[(0, 1)])?, s.graph()?);
        let (from, to) = (four.nodes[0], four.nodes[1]);
        let answer = call!(s.cu, cuGraphRemoveDependencies_10000(other, &raw const from, &raw const to, 1));
        four.then(s, answer)
    }),
    ("remove an edge, add it again", |s| {
        let four = connected(s, &[(0, 1)])?;
        let removed = four.remove(s, &[(0, 1)]);
        Ok(Answer::all([removed, four.add(s, &[(0, 1)]), s.edge_count(four.graph)]))
    }),
    ("a node destroyed: edges", |s| {
        let four = connected(s, &[(0, 1), (1, 2), (0, 3)])?;
        s.destroy_node(four.nodes[1])?;
        Ok(s.edge_count(four.graph))
    }),
    ("a node destroyed between two: does order remain", |s| {
        let graph = s.graph()?;
        let nodes = s.chain(graph, &[s.note(1), Work::Empty, s.note(2)])?;
        s.destroy_node(nodes[1])?;
        Ok(Answer::all([s.count(graph), s.edge_count(graph)]))
    }),
];

/// What is said of a graph with these edges, the node to blame with its place; then whether it runs without the last one.
fn cyclic(s: &Scene, edges: &[Edge]) -> Asked {
    let four = connected(s, edges)?;
    let verdict = s.verdict(four.graph, 0, &[("node", four.graph)]);
    let last = edges.len() - 1;
    Ok(Answer::all([verdict, four.remove(s, &edges[last..]), s.ran(four.graph)]))
}

const CYCLES: &[Question] = &[
    ("back edge (cycle)", |s| added(s, &[(0, 1)], &[(1, 0)])),
    ("instantiate cyclic", |s| Ok(s.instantiate(connected(s, &[(0, 1), (1, 0)])?.graph))),
    ("cycle of 2: result, node; mended; runs", |s| cyclic(s, &[(0, 1), (1, 0)])),
    ("cycle of 2 made from the other end: the same", |s| cyclic(s, &[(1, 0), (0, 1)])),
    ("cycle of 3: the same", |s| cyclic(s, &[(0, 1), (1, 2), (2, 0)])),
    ("cycle of 4: the same", |s| cyclic(s, &[(0, 1), (1, 2), (2, 3), (3, 0)])),
    ("cycle behind a root: the same", |s| cyclic(s, &[(0, 1), (1, 2), (2, 3), (3, 1)])),
    ("cycle before a leaf: the same", |s| cyclic(s, &[(1, 3), (1, 2), (2, 1)])),
    ("cyclic: the older ABI's node", |s| {
        let four = connected(s, &[(0, 1), (1, 0)])?;
        let (mut exec, mut node, mut log) = (null_mut(), super::running::untouched(), [77i8; 64]);
        let (to, error) = (&raw mut exec, &raw mut node);
        let log_at = log.as_mut_ptr().cast();
        let answer = call!(s.cu, cuGraphInstantiate_11000(to, four.graph, error, log_at, log.len()));
        let log = if log[0] == 77 {
            "untouched"
        } else if log[0] == 0 {
            "empty"
        } else {
            "a text"
        };
        Ok(Answer::all([answer, s.place(node, &[("node", four.graph)]).into(), log.into()]))
    }),
    ("cyclic: clone, its instantiation", |s| {
        let mut clone = null_mut();
        let graph = connected(s, &[(0, 1), (1, 0)])?.graph;
        let answer = call!(s.cu, cuGraphClone_10000(&raw mut clone, graph));
        Ok(answer.and(|| s.verdict(clone, 0, &[("node", clone)])))
    }),
    ("cyclic: embed, its instantiation", |s| {
        let (child, graph, mut node) = (connected(s, &[(0, 1), (1, 0)])?.graph, s.graph()?, null_mut());
        let answer = s.add(graph, &[], Work::Child(child), &raw mut node);
        let inner = s.inner(node)?;
        Ok(answer.and(|| s.verdict(graph, 0, &[("outer", graph), ("inner", inner)])))
    }),
    ("cyclic: roots", |s| {
        let (four, mut count) = (connected(s, &[(0, 1), (1, 0), (2, 3), (3, 2)])?, 77);
        Ok(call!(s.cu, cuGraphGetRootNodes_10000(four.graph, null_mut(), &raw mut count)).then(|| count))
    }),
    ("cyclic: add a node behind it", |s| {
        let (four, mut node) = (connected(s, &[(0, 1), (1, 0)])?, null_mut());
        Ok(s.add(four.graph, &[four.nodes[1]], Work::Empty, &raw mut node))
    }),
    ("cyclic: update of an exec", |s| {
        let exec = s.exec(connected(s, &[(0, 1), (1, 2)])?.graph)?;
        let four = connected(s, &[(0, 1), (1, 0)])?;
        Ok(s.update(exec, four.graph, &[("node", four.graph)]))
    }),
    ("cyclic: destroy", |s| {
        let four = connected(s, &[(0, 1), (1, 0)])?;
        given!(s.cu, cuGraphDestroy_10000(four.graph))?;
        Ok("destroyed".into())
    }),
];
