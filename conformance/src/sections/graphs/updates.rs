//! Updates of an exec by a whole graph: what may differ, what is said of what may not, and that the exec goes on.

use super::launch::Launch;
use super::pairing;
use super::scene::Scene;
use super::updated_kinds;
use super::updated_kinds::plane;
use super::work::{Work, host, write};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CUDA_HOST_NODE_PARAMS_v1, CUDA_MEMCPY3D_v2, CUgraph, CUgraphExecUpdateResult, CUgraphNode,
};
use std::ffi::c_void;
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_updates", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| pairs(t, s, updated_kinds::KERNEL),
    |t, s| pairs(t, s, updated_kinds::MEMORY),
    |t, s| pairs(t, s, FORMS),
    |t, s| pairs(t, s, OTHERS),
    |t, s| ask(t, s, CALLS),
    pairing::ask,
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

type Maker = fn(&Scene) -> Given<CUgraph>;

/// A graph that is instantiated, and one by which the exec is updated.
pub(super) type Pair = (&'static str, Maker, Maker);

/// The update's answer, result and nodes, and whether the exec runs then.
pub(super) fn pairs(t: &mut Lines, s: &Scene, pairs: &[Pair]) {
    for (name, old, new) in pairs {
        t.line(name, || -> Asked {
            let (old, new) = (old(s)?, new(s)?);
            let exec = s.exec(old)?;
            let answer = s.update(exec, new, &[("new", new), ("old", old)]);
            Ok(Answer::all([answer, s.launched(exec)]))
        });
    }
}

pub(super) fn one(s: &Scene, work: Work) -> Given<CUgraph> {
    s.graph_of(&[work])
}

pub(super) fn kernel(s: &Scene, launch: Launch) -> Given<CUgraph> {
    one(s, Work::Kernel(launch))
}

/// Two roots and a node after both, which names them in this order.
fn joined(s: &Scene, backwards: bool) -> Given<CUgraph> {
    let graph = s.graph()?;
    let (one, other) = (s.node(graph, &[], s.store(0, 1))?, s.node(graph, &[], s.fill(1))?);
    let after: [CUgraphNode; 2] = if backwards { [other, one] } else { [one, other] };
    s.node(graph, &after, s.note(1))?;
    Ok(graph)
}

const FORMS: &[Pair] = &[
    ("no nodes: the same", |s| s.graph(), |s| s.graph()),
    ("one node more", |s| one(s, Work::Empty), |s| s.graph_of(&[Work::Empty, Work::Empty])),
    ("one node less", |s| s.graph_of(&[Work::Empty, Work::Empty]), |s| one(s, Work::Empty)),
    ("no nodes any more", |s| one(s, Work::Empty), |s| s.graph()),
    ("kernels: one node more", |s| one(s, s.store(0, 1)), |s| s.graph_of(&[s.store(0, 1), s.store(4, 2)])),
    (
        "without the edge",
        |s| s.graph_of(&[s.store(0, 1), s.fill(1)]),
        |s| {
            let graph = one(s, s.store(0, 1))?;
            s.node(graph, &[], s.fill(1))?;
            Ok(graph)
        },
    ),
    (
        "with an edge",
        |s| {
            let graph = one(s, s.store(0, 1))?;
            s.node(graph, &[], s.fill(1))?;
            Ok(graph)
        },
        |s| s.graph_of(&[s.store(0, 1), s.fill(1)]),
    ),
    ("predecessors in the other order", |s| joined(s, false), |s| joined(s, true)),
    ("edges added in the other order", |s| triangle(s, false), |s| triangle(s, true)),
    (
        "nodes made in the other order",
        |s| s.graph_of(&[s.store(0, 1), s.fill(1)]),
        |s| {
            let graph = s.graph()?;
            let (last, first) = (s.node(graph, &[], s.fill(1))?, s.node(graph, &[], s.store(0, 1))?);
            s.connect(graph, first, last).given("an edge")?;
            Ok(graph)
        },
    ),
    ("roots made in the other order", |s| roots(s, false), |s| roots(s, true)),
    (
        "roots of one type made in the other order",
        |s| {
            let graph = one(s, s.store(0, 1))?;
            s.node(graph, &[], s.store(4, 2))?;
            Ok(graph)
        },
        |s| {
            let graph = one(s, s.store(4, 2))?;
            s.node(graph, &[], s.store(0, 1))?;
            Ok(graph)
        },
    ),
    ("a kernel becomes a memset", |s| one(s, s.store(0, 1)), |s| one(s, s.fill(1))),
    ("a memset becomes a copy", |s| one(s, s.fill(1)), |s| one(s, s.copy())),
    ("an empty node becomes a kernel", |s| one(s, Work::Empty), |s| one(s, s.store(0, 1))),
    ("a kernel becomes an empty node", |s| one(s, s.store(0, 1)), |s| one(s, Work::Empty)),
    (
        "the second of two changes its type",
        |s| s.graph_of(&[s.store(0, 1), s.fill(1)]),
        |s| s.graph_of(&[s.store(0, 1), s.copy()]),
    ),
    ("its clone", |s| joined(s, false), |s| s.clone_of(joined(s, false)?)),
];

/// Three nodes with an edge between any two.
fn triangle(s: &Scene, backwards: bool) -> Given<CUgraph> {
    let graph = s.graph()?;
    let nodes =
        [s.node(graph, &[], s.store(0, 1))?, s.node(graph, &[], s.fill(1))?, s.node(graph, &[], s.note(1))?];
    let mut edges = [(0, 1), (0, 2), (1, 2)];
    if backwards {
        edges.reverse();
    }
    for (from, to) in edges {
        s.connect(graph, nodes[from], nodes[to]).given("an edge")?;
    }
    Ok(graph)
}

fn roots(s: &Scene, backwards: bool) -> Given<CUgraph> {
    let graph = s.graph()?;
    let works = if backwards { [s.fill(1), s.store(0, 1)] } else { [s.store(0, 1), s.fill(1)] };
    for work in works {
        s.node(graph, &[], work)?;
    }
    Ok(graph)
}

extern "C" fn another(_: *mut c_void) {}

const OTHERS: &[Pair] = &[
    ("host: the same", |s| one(s, host()), |s| one(s, host())),
    (
        "host: another function",
        |s| one(s, host()),
        |s| one(s, Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(another), userData: null_mut() })),
    ),
    (
        "host: other data",
        |s| one(s, host()),
        |s| {
            let user = std::ptr::without_provenance_mut(8);
            one(s, Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(another), userData: user }))
        },
    ),
    ("event record: another event", |s| recorded(s, 0), |s| recorded(s, 0)),
    ("event record: an event without timing", |s| recorded(s, 0), |s| recorded(s, 2)),
    (
        "event record: another context's event",
        |s| recorded(s, 0),
        |s| one(s, Work::Record(s.elsewhere()?.event)),
    ),
    ("event wait: another event", |s| awaited(s), |s| awaited(s)),
    ("event wait becomes a record", |s| awaited(s), |s| recorded(s, 0)),
    ("memory operation: another value", |s| written(s, s.here, 1), |s| written(s, s.here, 2)),
    ("memory operation: another place", |s| written(s, s.here, 1), |s| written(s, s.there, 1)),
    (
        "memory operation: two operations",
        |s| written(s, s.here, 1),
        |s| {
            let mut operations = [write(s.here, 1), write(s.there, 2)];
            let (params, graph, mut node) = (s.batch(&mut operations), s.graph()?, null_mut());
            let params = &raw const params;
            given!(s.cu, cuGraphAddBatchMemOpNode_11070(&raw mut node, graph, std::ptr::null(), 0, params))?;
            Ok(graph)
        },
    ),
    ("child: the same", |s| nested(s, s.store(0, 1)), |s| nested(s, s.store(0, 1))),
    ("child: another argument", |s| nested(s, s.store(0, 1)), |s| nested(s, s.store(0, 2))),
    ("child: a function of another module", |s| nested(s, s.store(0, 1)), |s| nested(s, s.note(2))),
    ("child: another type", |s| nested(s, s.store(0, 1)), |s| nested(s, s.fill(2))),
    (
        "child: one node more",
        |s| nested(s, s.store(0, 1)),
        |s| one(s, Work::Child(s.graph_of(&[s.store(0, 1), s.store(0, 2)])?)),
    ),
    ("child: rows copied from other memory", |s| nested_plane(s, s.here), |s| nested_plane(s, s.here + 4096)),
    ("child of a child: another type", |s| twice_nested(s, s.store(0, 1)), |s| twice_nested(s, s.fill(2))),
    (
        "child of a child: another argument",
        |s| twice_nested(s, s.store(0, 1)),
        |s| twice_nested(s, s.store(0, 2)),
    ),
];

fn recorded(s: &Scene, flags: u32) -> Given<CUgraph> {
    one(s, Work::Record(s.cu.event(flags)?))
}

fn awaited(s: &Scene) -> Given<CUgraph> {
    one(s, Work::Wait(s.cu.event(0)?))
}

fn written(s: &Scene, address: u64, value: u32) -> Given<CUgraph> {
    one(s, Work::Memory(write(address, value)))
}

fn nested(s: &Scene, work: Work) -> Given<CUgraph> {
    one(s, Work::Child(one(s, work)?))
}

fn nested_plane(s: &Scene, from: u64) -> Given<CUgraph> {
    one(s, Work::Child(plane(s, |copy| copy.srcDevice = from)?))
}

fn twice_nested(s: &Scene, work: Work) -> Given<CUgraph> {
    one(s, Work::Child(nested(s, work)?))
}

const CALLS: &[Question] = &[
    ("update of NULL", |s| Ok(s.update(null_mut(), s.graph()?, &[]))),
    ("update from NULL", |s| Ok(s.update(s.exec(one(s, Work::Empty)?)?, null_mut(), &[]))),
    ("update, result to NULL", |s| {
        let graph = one(s, Work::Empty)?;
        Ok(call!(s.cu, cuGraphExecUpdate_12000(s.exec(graph)?, graph, null_mut())))
    }),
    ("refused update, result to NULL", |s| {
        let (exec, graph) = (s.exec(one(s, Work::Empty)?)?, one(s, s.fill(1))?);
        Ok(call!(s.cu, cuGraphExecUpdate_12000(exec, graph, null_mut())))
    }),
    ("the ABI of 10.2: success, its node and result", |s| {
        let graph = one(s, Work::Empty)?;
        older(s, graph, graph)
    }),
    ("the ABI of 10.2: another type, its node and result", |s| {
        older(s, one(s, s.store(0, 1))?, one(s, s.fill(1))?)
    }),
    ("the ABI of 10.2: one node more, its node and result", |s| {
        older(s, one(s, Work::Empty)?, s.graph_of(&[Work::Empty, Work::Empty])?)
    }),
    ("the ABI of 10.2: no places", |s| {
        let graph = one(s, Work::Empty)?;
        Ok(call!(s.cu, cuGraphExecUpdate_10020(s.exec(graph)?, graph, null_mut(), null_mut())))
    }),
    ("from its own graph, a node set: stored", |s| {
        s.clear()?;
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.fill(1))?;
        let (exec, other) = (s.exec(graph)?, s.filling(5));
        given!(s.cu, cuGraphMemsetNodeSetParams_10000(node, &raw const other))?;
        let before = Answer::all([s.launched(exec), s.word(s.here)]);
        let answer = s.update(exec, graph, &[("new", graph)]);
        Ok(Answer::all([before, answer, s.launched(exec), s.word(s.here)]))
    }),
    ("from its own graph, a node added", |s| {
        let graph = one(s, s.fill(1))?;
        let exec = s.exec(graph)?;
        s.node(graph, &[], Work::Empty)?;
        Ok(Answer::all([s.update(exec, graph, &[("new", graph)]), s.launched(exec)]))
    }),
    ("from its own graph, a node destroyed", |s| {
        let graph = s.graph()?;
        let nodes = s.chain(graph, &[s.fill(1), Work::Empty])?;
        let exec = s.exec(graph)?;
        s.destroy_node(nodes[1])?;
        Ok(Answer::all([s.update(exec, graph, &[("new", graph)]), s.launched(exec)]))
    }),
    ("its graph destroyed, from another: answer, stored", |s| {
        s.clear()?;
        let old = one(s, s.fill(1))?;
        let (exec, new) = (s.exec(old)?, one(s, s.fill(6))?);
        s.destroy(old)?;
        Ok(Answer::all([s.update(exec, new, &[("new", new)]), s.launched(exec), s.word(s.here)]))
    }),
    ("updated, its source destroyed: stored", |s| {
        s.clear()?;
        let (exec, new) = (s.exec(one(s, s.fill(1))?)?, one(s, s.fill(6))?);
        let answer = s.update(exec, new, &[("new", new)]);
        s.destroy(new)?;
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("refused for the second node: is the first updated", |s| {
        s.clear()?;
        let exec = s.exec(s.graph_of(&[s.fill(1), s.copy()])?)?;
        let new = s.graph_of(&[s.fill(6), s.store(4096, 1)])?;
        let answer = s.update(exec, new, &[("new", new)]);
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("refused for the second node's parameters: is the first updated", |s| {
        s.clear()?;
        let rows = |s: &Scene, to: u64| {
            let copy =
                CUDA_MEMCPY3D_v2 { srcPitch: 128, dstPitch: 128, Height: 2, dstDevice: to, ..s.copying() };
            Work::Copy(copy)
        };
        let exec = s.exec(s.graph_of(&[s.fill(1), rows(s, s.there)])?)?;
        let new = s.graph_of(&[s.fill(6), rows(s, s.there + 4096)])?;
        let answer = s.update(exec, new, &[("new", new)]);
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("in flight, at once: both", |s| {
        let (exec, new) = (s.exec(one(s, s.fill(1))?)?, one(s, s.fill(6))?);
        let first = s.launch(exec);
        Ok(Answer::all([first, s.update(exec, new, &[("new", new)]), s.launched(exec), s.word(s.here)]))
    }),
    ("while another exec of the graph lives: its stored value", |s| {
        s.clear()?;
        let (old, new) = (one(s, s.fill(1))?, one(s, s.fill(6))?);
        let execs = [s.exec(old)?, s.exec(old)?];
        let answer = s.update(execs[0], new, &[("new", new)]);
        Ok(Answer::all([answer, s.launched(execs[1]), s.word(s.here)]))
    }),
];

/// The same by the older ABI: answer, node and result.
fn older(s: &Scene, old: CUgraph, new: CUgraph) -> Asked {
    let (exec, mut node, mut result) =
        (s.exec(old)?, super::running::untouched(), CUgraphExecUpdateResult(77));
    let answer = call!(s.cu, cuGraphExecUpdate_10020(exec, new, &raw mut node, &raw mut result));
    let node = s.place(node, &[("new", new), ("old", old)]);
    Ok(Answer::all([answer, node.into(), result.0.to_string().into()]))
}
