//! Adding a node of each type: what is refused, and what needs a current context.

use super::scene::Scene;
use super::without_context;
use super::work::{EVERY, Work, blank, host};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, HUGE, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL,
    CU_GRAPH_NODE_TYPE_MEMCPY_BATCH, CUDA_HOST_NODE_PARAMS_v1, CUgraph, CUgraphEdgeData, CUgraphNode,
    CUgraphNodeParams, CUgraphNodeType,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "graph_adding", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] = &[
    places,
    dependencies,
    without_context::contexts,
    generic,
    |t, s| ask(t, s, NO_PARAMETERS),
    |t, s| ask(t, s, GENERIC),
    |t, s| ask(t, s, OTHERS),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

/// Where a node goes, and where its handle.
fn places(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: add, its type, nodes"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let answer = s.add(graph, &[], work(s, graph)?, &raw mut node);
            Ok(answer.and(|| Answer::all([s.node_type(node), s.count(graph)])))
        });
        t.line(&format!("{name}: to graph NULL"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            Ok(s.add(null_mut(), &[], work(s, graph)?, &raw mut node))
        });
        t.line(&format!("{name}: its handle to NULL"), || -> Asked {
            let graph = s.graph()?;
            Ok(Answer::all([s.add(graph, &[], work(s, graph)?, null_mut()), s.count(graph)]))
        });
    }
}

type Prior = (&'static str, fn(&Scene, CUgraph) -> Given<Vec<CUgraphNode>>);

const PRIORS: &[Prior] = &[
    ("after NULL", |_, _| Ok(vec![null_mut()])),
    ("after a node and NULL", |s, graph| Ok(vec![s.node(graph, &[], Work::Empty)?, null_mut()])),
    ("after the same node twice", |s, graph| {
        let node = s.node(graph, &[], Work::Empty)?;
        Ok(vec![node, node])
    }),
    ("after a node of another graph", |s, _| Ok(vec![s.node(s.graph()?, &[], Work::Empty)?])),
    ("after a node of a clone", |s, graph| {
        s.node(graph, &[], Work::Empty)?;
        Ok(vec![s.first(s.clone_of(graph)?)?])
    }),
];

fn dependencies(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("{name}: after one node at NULL"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            Ok(s.add_after(graph, (null(), 1), work(s, graph)?, &raw mut node))
        });
    }
    // These are about the graph, so that a few types are enough.
    for (name, work) in EVERY.iter().take(4) {
        for (prior, before) in PRIORS {
            t.line(&format!("{name}: {prior}, nodes"), || -> Asked {
                let (graph, mut node) = (s.graph()?, null_mut());
                let before = before(s, graph)?;
                Ok(Answer::all([s.add(graph, &before, work(s, graph)?, &raw mut node), s.count(graph)]))
            });
        }
    }
}

/// The call that knows every type.
fn generic(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("generic: {name}: its type"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            Ok(s.add_generic(graph, (null(), 0), work, &raw mut node).and(|| s.node_type(node)))
        });
        t.line(&format!("generic: {name}: to graph NULL"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            Ok(s.add_generic(null_mut(), (null(), 0), work, &raw mut node))
        });
        t.line(&format!("generic: {name}: the ABI of 12.2"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            Ok(s.generic(work, |params| {
                call!(s.cu, cuGraphAddNode_12020(&raw mut node, graph, null(), 0, params))
            }))
        });
        t.line(&format!("generic: {name}: without parameters"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let kind = s.generic(work(s, graph)?, |params| {
                // SAFETY: the parameters are there.
                unsafe { (*params).type_ }
            });
            let mut params = blank(kind);
            let to = &raw mut node;
            Ok(call!(s.cu, cuGraphAddNode_12030(to, graph, null(), null(), 0, &raw mut params)))
        });
    }
}

const NO_PARAMETERS: &[Question] = &[
    ("kernel: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddKernelNode_12000(&raw mut node, graph, null(), 0, null())))
    }),
    ("kernel, the ABI of 10.0: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddKernelNode_10000(&raw mut node, graph, null(), 0, null())))
    }),
    ("copy: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddMemcpyNode_10000(&raw mut node, graph, null(), 0, null(), s.context)))
    }),
    ("memset: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddMemsetNode_10000(&raw mut node, graph, null(), 0, null(), s.context)))
    }),
    ("host: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddHostNode_10000(&raw mut node, graph, null(), 0, null())))
    }),
    ("alloc: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddMemAllocNode_11040(&raw mut node, graph, null(), 0, null_mut())))
    }),
    ("memory operation: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddBatchMemOpNode_11070(&raw mut node, graph, null(), 0, null())))
    }),
    ("generic: parameters NULL", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(call!(s.cu, cuGraphAddNode_12030(&raw mut node, graph, null(), null(), 0, null_mut())))
    }),
    ("child: graph NULL", |s| added(s, Work::Child(null_mut()))),
    ("event record: event NULL", |s| added(s, Work::Record(null_mut()))),
    ("event wait: event NULL", |s| added(s, Work::Wait(null_mut()))),
    ("host: function NULL", |s| {
        added(s, Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: None, userData: null_mut() }))
    }),
    ("free: address 0", |s| added(s, Work::Free(0))),
    ("free: plain memory", |s| added(s, Work::Free(s.here))),
    ("alloc: 0 bytes", |s| added(s, Work::Allocation(0))),
    ("alloc: 2^50 bytes", |s| added(s, Work::Allocation(HUGE))),
];

/// What adding it to an empty graph answers.
fn added(s: &Scene, work: Work) -> Asked {
    let mut node = null_mut();
    Ok(s.add(s.graph()?, &[], work, &raw mut node))
}

const GENERIC: &[Question] = &[
    ("generic: type 99", |s| of_type(s, CUgraphNodeType(99), |_| {})),
    ("generic: type -1", |s| of_type(s, CUgraphNodeType(-1), |_| {})),
    ("generic: type of a batch of copies", |s| of_type(s, CU_GRAPH_NODE_TYPE_MEMCPY_BATCH, |_| {})),
    ("generic: empty, first reserved not 0", |s| {
        of_type(s, CU_GRAPH_NODE_TYPE_EMPTY, |params| params.reserved0[0] = 1)
    }),
    ("generic: empty, last reserved not 0", |s| {
        of_type(s, CU_GRAPH_NODE_TYPE_EMPTY, |params| params.reserved2 = 1)
    }),
    ("generic: empty, parameters not 0", |s| {
        of_type(s, CU_GRAPH_NODE_TYPE_EMPTY, |params| params.u16.reserved1 = [1; 29])
    }),
    ("generic: kernel, its function NULL, the rest 1", |s| {
        of_type(s, CU_GRAPH_NODE_TYPE_KERNEL, |params| {
            let mut values = [1; 29];
            values[0] = 0;
            params.u16.reserved1 = values;
        })
    }),
    ("generic: host, bytes after its parameters not 0", |s| {
        let (graph, mut node) = (s.graph()?, null_mut());
        Ok(s.generic(host(), |params| {
            // SAFETY: the parameters are there, and every byte of them is a number.
            unsafe { (*params).u16.reserved1[28] = 1 };
            call!(s.cu, cuGraphAddNode_12030(&raw mut node, graph, null(), null(), 0, params))
        }))
    }),
    ("generic: host, zeros", |s| of_type(s, CU_GRAPH_NODE_TYPE_HOST, |_| {})),
    ("generic: edge data without edges", |s| {
        let (graph, mut node, mut params) = (s.graph()?, null_mut(), blank(CU_GRAPH_NODE_TYPE_EMPTY));
        let data = CUgraphEdgeData { from_port: 9, to_port: 9, type_: 9, reserved: [9; 5] };
        let (to, data) = (&raw mut node, &raw const data);
        Ok(call!(s.cu, cuGraphAddNode_12030(to, graph, null(), data, 0, &raw mut params)))
    }),
];

fn of_type(s: &Scene, kind: CUgraphNodeType, change: impl FnOnce(&mut CUgraphNodeParams)) -> Asked {
    let (graph, mut node, mut params) = (s.graph()?, null_mut(), blank(kind));
    change(&mut params);
    let to = &raw mut node;
    Ok(call!(s.cu, cuGraphAddNode_12030(to, graph, null(), null(), 0, &raw mut params)))
}

const OTHERS: &[Question] = &[
    ("create flags 1", |s| {
        let mut graph = null_mut();
        Ok(call!(s.cu, cuGraphCreate_10000(&raw mut graph, 1)))
    }),
    ("create to NULL", |s| Ok(call!(s.cu, cuGraphCreate_10000(null_mut(), 0)))),
    ("destroy graph", |s| Ok(call!(s.cu, cuGraphDestroy_10000(s.graph()?)))),
    ("graph destroy NULL", |s| Ok(call!(s.cu, cuGraphDestroy_10000(null_mut())))),
    ("exec destroy NULL", |s| Ok(call!(s.cu, cuGraphExecDestroy_10000(null_mut())))),
    ("node destroy NULL", |s| Ok(call!(s.cu, cuGraphDestroyNode_10000(null_mut())))),
    ("launch NULL", |s| Ok(s.launch(null_mut()))),
    ("child: the graph in itself's clone, nodes", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        let node = s.node(graph, &[], Work::Child(s.clone_of(graph)?))?;
        Ok(Answer::all([s.count(graph), s.count(s.inner(node)?)]))
    }),
    ("child: an empty graph, it runs", |s| Ok(s.ran(s.graph_of(&[Work::Child(s.graph()?)])?))),
    ("child: the same graph twice, it runs", |s| {
        s.clear()?;
        let child = s.graph_of(&[s.note(1)])?;
        let graph = s.graph_of(&[Work::Child(child), s.note(2), Work::Child(child)])?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("child: a graph that is the child of another, it runs", |s| {
        s.clear()?;
        let child = s.graph_of(&[s.note(1), Work::Child(s.graph_of(&[s.note(2)])?), s.note(3)])?;
        let graph = s.graph_of(&[Work::Child(child), s.note(4)])?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("child: an inner graph itself as child, it runs", |s| {
        s.clear()?;
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[s.note(1)])?)])?;
        let graph = s.graph_of(&[Work::Child(s.inner(s.first(outer)?)?)])?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("child: an inner graph destroyed", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        Ok(call!(s.cu, cuGraphDestroy_10000(s.inner(s.first(outer)?)?)))
    }),
    ("child: an inner graph instantiated", |s| {
        let outer = s.graph_of(&[Work::Child(s.graph_of(&[Work::Empty])?)])?;
        Ok(s.instantiate(s.inner(s.first(outer)?)?))
    }),
    ("child: a node added to the inner graph, it runs", |s| {
        s.clear()?;
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[s.note(1)])?)])?;
        let inner = s.inner(s.first(graph)?)?;
        s.node(inner, &[s.first(inner)?], s.note(2))?;
        Ok(Answer::all([s.ran(graph), s.noted()]))
    }),
    ("child: a node of the inner graph destroyed, it runs", |s| {
        s.clear()?;
        let graph = s.graph_of(&[Work::Child(s.graph_of(&[s.note(1), s.note(2)])?)])?;
        let inner = s.inner(s.first(graph)?)?;
        Ok(Answer::all([call!(s.cu, cuGraphDestroyNode_10000(s.first(inner)?)), s.ran(graph), s.noted()]))
    }),
];
