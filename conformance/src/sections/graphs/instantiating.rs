//! Instantiation: flags, results, the node that is to blame, uploads.

use super::running::instantiation;
use super::scene::Scene;
use super::work::{EVERY, Work, host};
use super::{Asked, Group, Question, Section, ask};
use crate::driver::{Answer, Cu, LEGACY, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_GRAPH_COND_TYPE_IF, CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphExec};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_instantiating", parts: super::parts(&[]), devices: 1, run };

const GROUPS: &[Group] =
    &[flags, device_launch, |t, s| ask(t, s, VERDICTS), |t, s| ask(t, s, CALLS), |t, s| ask(t, s, UPLOADS)];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, &[])
}

const FLAGS: &[u64] =
    &[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 14, 15, 16, 0x20, 0x80, 1 << 32, 1 << 63, u64::MAX];

fn told(s: &Scene, exec: CUgraphExec) -> Answer {
    let mut flags = 77;
    call!(s.cu, cuGraphExecGetFlags_12000(exec, &raw mut flags)).then(|| format!("flags {flags}"))
}

fn flags(t: &mut Lines, s: &Scene) {
    for &flags in FLAGS {
        t.line(&format!("flags {flags:#x}: answer, flags told"), || -> Asked {
            let (graph, mut exec) = (s.graph_of(&[s.store(0, 1)])?, null_mut());
            let answer = call!(s.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, flags));
            Ok(answer.and(|| told(s, exec)))
        });
        t.line(&format!("flags {flags:#x} as parameter: answer, result, node"), || -> Asked {
            Ok(s.verdict(s.graph_of(&[s.store(0, 1)])?, flags, &[]))
        });
        t.line(&format!("flags {flags:#x} as parameter, no stream: told, run"), || -> Asked {
            let (graph, mut exec) = (s.graph_of(&[s.store(0, 1)])?, null_mut());
            Ok(with(s, graph, &mut exec, &mut instantiation(flags, null_mut()))
                .and(|| Answer::all([told(s, exec), s.launched(exec)])))
        });
    }
}

/// What instantiation with these parameters answers.
fn with(
    s: &Scene,
    graph: cushim::driver::sys::CUgraph,
    exec: &mut CUgraphExec,
    params: &mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> Answer {
    call!(s.cu, cuGraphInstantiateWithParams_12000(exec, graph, params))
}

/// Graphs that the device is to launch.
fn device_launch(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("for launches by the device: {name}"), || -> Asked {
            let graph = s.graph()?;
            s.node(graph, &[], work(s, graph)?)?;
            Ok(s.verdict(graph, 4, &[("node", graph)]))
        });
    }
    t.line("for launches by the device: no nodes", || -> Asked { Ok(s.verdict(s.graph()?, 4, &[])) });
    t.line("for launches by the device: kernels of two contexts", || -> Asked {
        let there = s.elsewhere()?;
        let launch = super::launch::Launch::new(there.nothing, [0; 2]);
        let other = super::launch::Launch { context: there.context, ..launch };
        let graph = s.graph_of(&[s.store(0, 1), Work::Kernel(other)])?;
        Ok(s.verdict(graph, 4, &[("node", graph)]))
    });
    t.line("for launches by the device: launched by the host", || -> Asked {
        let exec = s.exec_with(s.graph_of(&[s.store(0, 1)])?, 4)?;
        Ok(s.launched(exec))
    });
    t.line("for launches by the device: uploaded, launched by the host", || -> Asked {
        let exec = s.exec_with(s.graph_of(&[s.store(0, 1)])?, 4)?;
        Ok(Answer::all([call!(s.cu, cuGraphUpload_11010(exec, s.stream)), s.launched(exec)]))
    });
    t.line("for launches by the device: update", || -> Asked {
        let exec = s.exec_with(s.graph_of(&[s.store(0, 1)])?, 4)?;
        Ok(s.update(exec, s.graph_of(&[s.store(0, 2)])?, &[]))
    });
    t.line("for launches by the device: twice", || -> Asked {
        let graph = s.graph_of(&[s.store(0, 1)])?;
        s.exec_with(graph, 4)?;
        Ok(s.verdict(graph, 4, &[("node", graph)]))
    });
}

const VERDICTS: &[Question] = &[
    ("success: answer, result, node", |s| Ok(s.verdict(s.graph_of(&[Work::Empty])?, 0, &[]))),
    ("no nodes", |s| Ok(s.verdict(s.graph()?, 0, &[]))),
    ("no nodes: run", |s| Ok(s.ran(s.graph()?))),
    ("a cycle", |s| {
        let graph = s.graph()?;
        let nodes = s.chain(graph, &[Work::Empty, Work::Empty])?;
        s.connect(graph, nodes[1], nodes[0]).given("an edge")?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a host node in a body", |s| in_a_body(s, host())),
    ("an event record in a body", |s| in_a_body(s, Work::Record(s.cu.event(0)?))),
    ("an event wait in a body", |s| in_a_body(s, Work::Wait(s.cu.event(0)?))),
    ("an alloc in a body", |s| in_a_body(s, Work::Allocation(64))),
    ("an unused condition", |s| {
        let graph = s.graph_of(&[Work::Empty])?;
        s.condition(graph, 0, 0)?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a second exec with alloc nodes", |s| {
        let graph = s.graph()?;
        s.allocation(graph, &[], 64)?;
        s.exec(graph)?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a second exec with conditional nodes", |s| {
        let graph = s.graph()?;
        let condition = s.condition(graph, 0, 0)?;
        s.branch(graph, &[], s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1))?;
        s.exec(graph)?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a conditional node and another context's kernel", |s| {
        let (graph, there) = (s.graph()?, s.elsewhere()?);
        let condition = s.condition(graph, 0, 0)?;
        s.branch(graph, &[], s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1))?;
        let launch = super::launch::Launch::new(there.nothing, [0; 2]);
        let other = super::launch::Launch { context: there.context, ..launch };
        s.node(graph, &[], Work::Kernel(other))?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a free whose alloc does not come before it", |s| {
        let graph = s.graph()?;
        let (_, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[], Work::Free(address))?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a use that does not come after the alloc", |s| {
        let graph = s.graph()?;
        let (_, address) = s.allocation(graph, &[], 64)?;
        let kernel = super::launch::Launch::new(s.storing, [address, 1]);
        s.node(graph, &[], Work::Kernel(kernel))?;
        Ok(s.verdict(graph, 0, &[("node", graph)]))
    }),
    ("a refusal by flags: the result", |s| Ok(s.verdict(s.graph_of(&[Work::Empty])?, 0x80, &[]))),
];

/// The verdict about a graph whose only body has this; the node in the body is called so.
fn in_a_body(s: &Scene, work: Work) -> Asked {
    let graph = s.graph()?;
    let condition = s.condition(graph, 0, 0)?;
    let (_, bodies) = s.branch(graph, &[], s.conditional(condition, CU_GRAPH_COND_TYPE_IF, 1))?;
    s.node(bodies[0], &[], work)?;
    Ok(s.verdict(graph, 0, &[("root's", graph), ("body's", bodies[0])]))
}

const CALLS: &[Question] = &[
    ("instantiate NULL", |s| Ok(s.instantiate(null_mut()))),
    ("instantiate to NULL", |s| {
        Ok(call!(s.cu, cuGraphInstantiateWithFlags_11040(null_mut(), s.graph_of(&[Work::Empty])?, 0)))
    }),
    ("parameters NULL", |s| {
        let (graph, mut exec) = (s.graph_of(&[Work::Empty])?, null_mut());
        Ok(call!(s.cu, cuGraphInstantiateWithParams_12000(&raw mut exec, graph, null_mut())))
    }),
    ("parameters, graph NULL: answer, result, node", |s| Ok(s.verdict(null_mut(), 0, &[]))),
    ("the ABI of 10.0", |s| {
        let (graph, mut exec, mut node) =
            (s.graph_of(&[Work::Empty])?, null_mut(), super::running::untouched());
        let (to, error) = (&raw mut exec, &raw mut node);
        let answer = call!(s.cu, cuGraphInstantiate_10000(to, graph, error, null_mut(), 0));
        Ok(Answer::all([answer, s.place(node, &[]).into()]))
    }),
    ("the ABI of 11.0: its node and log", |s| {
        let (graph, mut exec, mut node) =
            (s.graph_of(&[Work::Empty])?, null_mut(), super::running::untouched());
        let mut log = [77i8; 64];
        let (to, error, log_at) = (&raw mut exec, &raw mut node, log.as_mut_ptr().cast());
        let answer = call!(s.cu, cuGraphInstantiate_11000(to, graph, error, log_at, log.len()));
        let log = if log[0] == 77 {
            "untouched"
        } else if log[0] == 0 {
            "empty"
        } else {
            "a text"
        };
        Ok(Answer::all([answer, s.place(node, &[]).into(), log.into()]))
    }),
    ("the ABI of 11.0 without node and log", |s| {
        let (graph, mut exec) = (s.graph_of(&[Work::Empty])?, null_mut());
        Ok(call!(s.cu, cuGraphInstantiate_11000(&raw mut exec, graph, null_mut(), null_mut(), 0)))
    }),
    ("flags of NULL", |s| Ok(told(s, null_mut()))),
    ("flags to NULL", |s| {
        let exec = s.exec(s.graph_of(&[Work::Empty])?)?;
        Ok(call!(s.cu, cuGraphExecGetFlags_12000(exec, null_mut())))
    }),
    ("two execs of one graph run", |s| {
        s.clear()?;
        let graph = s.graph_of(&[s.note(1)])?;
        let execs = [s.exec(graph)?, s.exec(graph)?];
        Ok(Answer::all([s.launched(execs[0]), s.launched(execs[1]), s.noted()]))
    }),
    ("10000 nodes run", |s| {
        let graph = s.graph()?;
        for _ in 0..10_000 {
            s.node(graph, &[], Work::Empty)?;
        }
        Ok(s.ran(graph))
    }),
];

const UPLOADS: &[Question] = &[
    ("upload", |s| uploaded(s, s.stream)),
    ("upload in the NULL stream", |s| uploaded(s, null_mut())),
    ("upload in the legacy stream", |s| uploaded(s, LEGACY)),
    ("upload twice, launch", |s| {
        let exec = s.exec(s.graph_of(&[s.store(0, 1)])?)?;
        given!(s.cu, cuGraphUpload_11010(exec, s.stream))?;
        Ok(Answer::all([call!(s.cu, cuGraphUpload_11010(exec, s.stream)), s.launched(exec)]))
    }),
    ("upload NULL", |s| Ok(call!(s.cu, cuGraphUpload_11010(null_mut(), s.stream)))),
    ("upload in another context's stream", |s| uploaded(s, s.elsewhere()?.stream)),
    ("upload of what has alloc nodes", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[node], Work::Free(address))?;
        let exec = s.exec(graph)?;
        Ok(Answer::all([call!(s.cu, cuGraphUpload_11010(exec, s.stream)), s.launched(exec)]))
    }),
    ("upload between launches", |s| {
        let exec = s.exec(s.graph_of(&[s.store(0, 1)])?)?;
        let first = s.launch(exec);
        Ok(Answer::all([first, call!(s.cu, cuGraphUpload_11010(exec, s.stream)), s.launched(exec)]))
    }),
];

fn uploaded(s: &Scene, stream: cushim::driver::sys::CUstream) -> Asked {
    let exec = s.exec(s.graph_of(&[s.store(0, 1)])?)?;
    Ok(Answer::all([
        call!(s.cu, cuGraphUpload_11010(exec, stream)),
        call!(s.cu, cuStreamSynchronize_2000(stream)),
        s.launched(exec),
    ]))
}
