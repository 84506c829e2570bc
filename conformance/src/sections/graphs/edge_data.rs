//! Edges with data: ports and types, and what calls without room for data make of them.

use super::scene::Scene;
use super::work::{Work, blank, host};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_GRAPH_NODE_TYPE_EMPTY, CUgraph, CUgraphEdgeData, CUgraphNode};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_edge_data", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[ports, types, |t, s| ask(t, s, LOSSY), |t, s| ask(t, s, OTHERS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

const fn data(from_port: u8, to_port: u8, type_: u8) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port, to_port, type_, reserved: [0; 5] }
}

const PLAIN: CUgraphEdgeData = data(0, 0, 0);
/// The kernel behind may begin when the one before says so.
const PROGRAMMATIC: CUgraphEdgeData = data(1, 0, 1);

/// An edge between two nodes of a graph.
#[derive(Clone, Copy)]
struct Pair {
    graph: CUgraph,
    from: CUgraphNode,
    to: CUgraphNode,
}

fn pair(s: &Scene, from: Work, to: Work) -> Given<Pair> {
    let graph = s.graph()?;
    Ok(Pair { graph, from: s.node(graph, &[], from)?, to: s.node(graph, &[], to)? })
}

fn kernels(s: &Scene) -> Given<Pair> {
    pair(s, s.note(1), s.note(2))
}

/// Kernels with such an edge.
fn connected(s: &Scene, data: CUgraphEdgeData) -> Given<Pair> {
    let pair = kernels(s)?;
    pair.add(s, data).given("adding an edge with data")?;
    Ok(pair)
}

impl Pair {
    fn add(&self, s: &Scene, data: CUgraphEdgeData) -> Answer {
        let (from, to, data) = (&raw const self.from, &raw const self.to, &raw const data);
        call!(s.cu, cuGraphAddDependencies_12030(self.graph, from, to, data, 1))
    }

    fn remove(&self, s: &Scene, data: CUgraphEdgeData) -> Answer {
        let (from, to, data) = (&raw const self.from, &raw const self.to, &raw const data);
        call!(s.cu, cuGraphRemoveDependencies_12030(self.graph, from, to, data, 1))
    }
}

fn edges(s: &Scene, graph: CUgraph) -> Answer {
    let (mut from, mut to, mut all, mut count) = ([null_mut(); 4], [null_mut(); 4], [data(7, 7, 7); 4], 4);
    let (from, to, place) = (from.as_mut_ptr(), to.as_mut_ptr(), all.as_mut_ptr());
    call!(s.cu, cuGraphGetEdges_12030(graph, from, to, place, &raw mut count)).then(|| shown(&all[..count]))
}

fn shown(all: &[CUgraphEdgeData]) -> String {
    let all: Vec<String> =
        all.iter().map(|one| format!("{} {} {}", one.from_port, one.to_port, one.type_)).collect();
    format!("[{}]", all.join("; "))
}

fn ports(t: &mut Lines, s: &Scene) {
    for from in 0..=3 {
        for to in 0..=1 {
            for kind in 0..=2 {
                t.line(&format!("port {from} to port {to}, type {kind}: edges, run"), || -> Asked {
                    s.clear()?;
                    let pair = kernels(s)?;
                    let answer = pair.add(s, data(from, to, kind));
                    Ok(Answer::all([answer, edges(s, pair.graph), s.ran(pair.graph)]))
                });
            }
        }
    }
    for place in 0..5 {
        t.line(&format!("reserved byte {place} not 0"), || -> Asked {
            let mut with = PROGRAMMATIC;
            with.reserved[place] = 1;
            Ok(kernels(s)?.add(s, with))
        });
    }
}

type Example = (&'static str, fn(&Scene) -> Given<Work>);

const EXAMPLES: &[Example] = &[
    ("kernel", |s| Ok(s.note(3))),
    ("memset", |s| Ok(s.fill(1))),
    ("empty", |_| Ok(Work::Empty)),
    ("host", |_| Ok(host())),
    ("child", |s| Ok(Work::Child(s.graph_of(&[s.note(9)])?))),
];

/// Between other types of nodes.
fn types(t: &mut Lines, s: &Scene) {
    for (from_name, from) in EXAMPLES {
        for (to_name, to) in EXAMPLES {
            t.line(&format!("programmatic from {from_name} to {to_name}: edges, run"), || -> Asked {
                s.clear()?;
                let pair = pair(s, from(s)?, to(s)?)?;
                Ok(Answer::all([pair.add(s, PROGRAMMATIC), edges(s, pair.graph), s.ran(pair.graph)]))
            });
        }
        t.line(&format!("launch order from kernel to {from_name}"), || -> Asked {
            Ok(pair(s, s.note(1), from(s)?)?.add(s, data(2, 0, 1)))
        });
        t.line(&format!("port 1, plain, from kernel to {from_name}"), || -> Asked {
            Ok(pair(s, s.note(1), from(s)?)?.add(s, data(1, 0, 0)))
        });
    }
}

/// Calls that have no room for data.
const LOSSY: &[Question] = &[
    ("edges, the older ABI", |s| {
        let (mut from, mut to, mut count) = ([null_mut(); 4], [null_mut(); 4], 4);
        let graph = connected(s, PROGRAMMATIC)?.graph;
        let (from, to) = (from.as_mut_ptr(), to.as_mut_ptr());
        Ok(call!(s.cu, cuGraphGetEdges_10000(graph, from, to, &raw mut count)).then(|| count))
    }),
    ("count of edges, the older ABI", |s| Ok(s.edge_count(connected(s, PROGRAMMATIC)?.graph))),
    ("edges, data NULL", |s| {
        let (mut from, mut to, mut count) = ([null_mut(); 4], [null_mut(); 4], 4);
        let graph = connected(s, PROGRAMMATIC)?.graph;
        let (from, to) = (from.as_mut_ptr(), to.as_mut_ptr());
        Ok(call!(s.cu, cuGraphGetEdges_12030(graph, from, to, null_mut(), &raw mut count)).then(|| count))
    }),
    ("edges, only data", |s| {
        let (mut all, mut count) = ([data(7, 7, 7); 4], 4);
        let (graph, place) = (connected(s, PROGRAMMATIC)?.graph, all.as_mut_ptr());
        let answer = call!(s.cu, cuGraphGetEdges_12030(graph, null_mut(), null_mut(), place, &raw mut count));
        Ok(answer.then(|| format!("{count} {}", shown(&all[..1]))))
    }),
    ("edges, room for 1 of 2", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        s.node(pair.graph, &[pair.from], Work::Empty)?;
        let (mut from, mut to, mut all, mut count) =
            ([null_mut(); 4], [null_mut(); 4], [data(7, 7, 7); 4], 1);
        let (from, to, place) = (from.as_mut_ptr(), to.as_mut_ptr(), all.as_mut_ptr());
        let answer = call!(s.cu, cuGraphGetEdges_12030(pair.graph, from, to, place, &raw mut count));
        Ok(answer.then(|| format!("{count} {}", shown(&all[..2]))))
    }),
    ("predecessors, the older ABI", |s| {
        let (mut nodes, mut count) = ([null_mut(); 4], 4);
        let (to, place) = (connected(s, PROGRAMMATIC)?.to, nodes.as_mut_ptr());
        Ok(call!(s.cu, cuGraphNodeGetDependencies_10000(to, place, &raw mut count)).then(|| count))
    }),
    ("count of predecessors, the older ABI", |s| {
        let (to, mut count) = (connected(s, PROGRAMMATIC)?.to, 77);
        Ok(call!(s.cu, cuGraphNodeGetDependencies_10000(to, null_mut(), &raw mut count)).then(|| count))
    }),
    ("predecessors, data NULL", |s| {
        let (mut nodes, mut count) = ([null_mut(); 4], 4);
        let (to, place) = (connected(s, PROGRAMMATIC)?.to, nodes.as_mut_ptr());
        Ok(call!(s.cu, cuGraphNodeGetDependencies_12030(to, place, null_mut(), &raw mut count))
            .then(|| count))
    }),
    ("predecessors with data", |s| {
        let (mut nodes, mut all, mut count) = ([null_mut(); 4], [data(7, 7, 7); 4], 4);
        let (to, place) = (connected(s, PROGRAMMATIC)?.to, nodes.as_mut_ptr());
        let all_at = all.as_mut_ptr();
        let answer = call!(s.cu, cuGraphNodeGetDependencies_12030(to, place, all_at, &raw mut count));
        Ok(answer.then(|| shown(&all[..count])))
    }),
    ("successors, the older ABI", |s| {
        let (mut nodes, mut count) = ([null_mut(); 4], 4);
        let (from, place) = (connected(s, PROGRAMMATIC)?.from, nodes.as_mut_ptr());
        Ok(call!(s.cu, cuGraphNodeGetDependentNodes_10000(from, place, &raw mut count)).then(|| count))
    }),
    ("successors with data", |s| {
        let (mut nodes, mut all, mut count) = ([null_mut(); 4], [data(7, 7, 7); 4], 4);
        let (from, place) = (connected(s, PROGRAMMATIC)?.from, nodes.as_mut_ptr());
        let all_at = all.as_mut_ptr();
        let answer = call!(s.cu, cuGraphNodeGetDependentNodes_12030(from, place, all_at, &raw mut count));
        Ok(answer.then(|| shown(&all[..count])))
    }),
    ("remove, the older ABI: answer, edges", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        let (from, to) = (&raw const pair.from, &raw const pair.to);
        let answer = call!(s.cu, cuGraphRemoveDependencies_10000(pair.graph, from, to, 1));
        Ok(Answer::all([answer, edges(s, pair.graph)]))
    }),
    ("remove, data NULL: answer, edges", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        let (from, to) = (&raw const pair.from, &raw const pair.to);
        let answer = call!(s.cu, cuGraphRemoveDependencies_12030(pair.graph, from, to, null(), 1));
        Ok(Answer::all([answer, edges(s, pair.graph)]))
    }),
    ("remove with plain data: answer, edges", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        Ok(Answer::all([pair.remove(s, PLAIN), edges(s, pair.graph)]))
    }),
    ("remove with its data: answer, edges", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        Ok(Answer::all([pair.remove(s, PROGRAMMATIC), edges(s, pair.graph)]))
    }),
    ("remove a plain edge with data: answer, edges", |s| {
        let pair = connected(s, PLAIN)?;
        Ok(Answer::all([pair.remove(s, PROGRAMMATIC), edges(s, pair.graph)]))
    }),
];

const OTHERS: &[Question] = &[
    ("the same edge with the same data twice", |s| Ok(connected(s, PROGRAMMATIC)?.add(s, PROGRAMMATIC))),
    ("a plain edge beside it: answer, edges", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        Ok(Answer::all([pair.add(s, PLAIN), edges(s, pair.graph)]))
    }),
    ("a programmatic edge beside a plain one: answer, edges", |s| {
        let pair = connected(s, PLAIN)?;
        Ok(Answer::all([pair.add(s, PROGRAMMATIC), edges(s, pair.graph)]))
    }),
    ("launch order beside a programmatic edge: answer, edges", |s| {
        let pair = connected(s, PROGRAMMATIC)?;
        Ok(Answer::all([pair.add(s, data(2, 0, 1)), edges(s, pair.graph)]))
    }),
    ("two edges, the second's data bad: answer, edges", |s| {
        let pair = kernels(s)?;
        let third = s.node(pair.graph, &[], s.note(3))?;
        let (from, to, all) = ([pair.from, pair.from], [pair.to, third], [PLAIN, data(9, 0, 9)]);
        let (from, to, all) = (from.as_ptr(), to.as_ptr(), all.as_ptr());
        let answer = call!(s.cu, cuGraphAddDependencies_12030(pair.graph, from, to, all, 2));
        Ok(Answer::all([answer, edges(s, pair.graph)]))
    }),
    ("a node added with a programmatic edge: answer, edges", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        let first = s.node(graph, &[], s.note(1))?;
        let edge = PROGRAMMATIC;
        let (after, edge) = (&raw const first, &raw const edge);
        let answer = s.generic(s.note(2), |params| {
            call!(s.cu, cuGraphAddNode_12030(&raw mut node, graph, after, edge, 1, params))
        });
        Ok(Answer::all([answer, edges(s, graph)]))
    }),
    ("an empty node added with a programmatic edge: answer, nodes", |s| {
        let (graph, mut node, mut params) = (s.graph()?, null_mut(), blank(CU_GRAPH_NODE_TYPE_EMPTY));
        let first = s.node(graph, &[], s.note(1))?;
        let edge = PROGRAMMATIC;
        let (after, edge, to) = (&raw const first, &raw const edge, &raw mut node);
        let answer = call!(s.cu, cuGraphAddNode_12030(to, graph, after, edge, 1, &raw mut params));
        Ok(Answer::all([answer, s.count(graph)]))
    }),
    ("a clone: edges", |s| Ok(edges(s, s.clone_of(connected(s, PROGRAMMATIC)?.graph)?))),
    ("a child graph: edges", |s| {
        let outer = s.graph_of(&[Work::Child(connected(s, PROGRAMMATIC)?.graph)])?;
        Ok(edges(s, s.inner(s.first(outer)?)?))
    }),
    ("self edge with data", |s| {
        let pair = kernels(s)?;
        Ok(Pair { to: pair.from, ..pair }.add(s, PROGRAMMATIC))
    }),
    ("a cycle of a plain and a programmatic edge: verdict", |s| {
        let pair = connected(s, PLAIN)?;
        let back = Pair { from: pair.to, to: pair.from, ..pair }.add(s, PROGRAMMATIC);
        Ok(Answer::all([back, s.verdict(pair.graph, 0, &[("node", pair.graph)])]))
    }),
    ("update of a plain edge from a programmatic one", |s| {
        let (exec, other) = (s.exec(connected(s, PLAIN)?.graph)?, connected(s, PROGRAMMATIC)?.graph);
        Ok(s.update(exec, other, &[("new", other)]))
    }),
    ("update of a programmatic edge from a plain one", |s| {
        let (exec, other) = (s.exec(connected(s, PROGRAMMATIC)?.graph)?, connected(s, PLAIN)?.graph);
        Ok(s.update(exec, other, &[("new", other)]))
    }),
    ("update of a programmatic edge from the same", |s| {
        let (exec, other) = (s.exec(connected(s, PROGRAMMATIC)?.graph)?, connected(s, PROGRAMMATIC)?.graph);
        Ok(s.update(exec, other, &[("new", other)]))
    }),
    ("the order of kernels with a programmatic edge", |s| {
        s.clear()?;
        Ok(Answer::all([s.ran(connected(s, PROGRAMMATIC)?.graph), s.noted()]))
    }),
];
