//! Graphs over two devices, without access of one to the other and with it.

use super::device_pair::{Pair, other};
use super::launch::Launch;
use super::scene::Scene;
use super::work::Work;
use super::{Asked, Section};
use crate::driver::{Answer, Cu, Given, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_GRAPH_COND_TYPE_IF, CUDA_MEMSET_NODE_PARAMS_v1, CUgraph};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "graph_two_devices", parts: 2, devices: 2, run };

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    need!(cu, cuInit_2000(0))?;
    let other = other(cu)?;
    let pair = Pair { s: Scene::new(cu)?, other };
    super::stop_when_spoilt(t, cu);
    let access = part == 1;
    if access {
        need!(cu, cuCtxSetCurrent_4000(pair.other.context))?;
        need!(cu, cuCtxEnablePeerAccess_4000(pair.s.context, 0))?;
        need!(cu, cuCtxSetCurrent_4000(pair.s.context))?;
        need!(cu, cuCtxEnablePeerAccess_4000(pair.other.context, 0))?;
    }
    let how = if access { "access" } else { "no access" };
    for (situation, ask) in QUESTIONS {
        t.line(&format!("{how}: {situation}"), || ask(&pair));
    }
    Ok(())
}

type Question = (&'static str, fn(&Pair) -> Asked);

const QUESTIONS: &[Question] = &[
    ("kernels of both: run, words", |p| {
        p.clear()?;
        let graph = p.s.graph_of(&[p.s.store(0, 3), p.storing(4)])?;
        Ok(Answer::all([p.s.ran(graph), p.s.word(p.s.here), p.word()?]))
    }),
    ("kernels of both, in the other's stream: run", |p| {
        let exec = p.s.exec(p.s.graph_of(&[p.s.store(0, 3), p.storing(4)])?)?;
        Ok(Answer::all([
            call!(p.s.cu, cuGraphLaunch_10000(exec, p.other.stream)),
            call!(p.s.cu, cuStreamSynchronize_2000(p.other.stream)),
        ]))
    }),
    ("a copy to the other: run, word", |p| {
        p.clear()?;
        let graph = p.s.graph_of(&[p.s.store(0, 7)])?;
        let (first, mut node) = (p.s.first(graph)?, null_mut());
        let ends = (p.other.memory, p.s.here);
        let answer = p.add_copy(graph, &[first], ends, p.s.context, &mut node);
        Ok(Answer::all([answer, p.s.ran(graph), p.word()?]))
    }),
    ("a copy to the other with its context: run, word", |p| {
        p.clear()?;
        let graph = p.s.graph_of(&[p.s.store(0, 7)])?;
        let (first, mut node) = (p.s.first(graph)?, null_mut());
        let ends = (p.other.memory, p.s.here);
        let answer = p.add_copy(graph, &[first], ends, p.other.context, &mut node);
        Ok(Answer::all([answer, p.s.ran(graph), p.word()?]))
    }),
    ("a copy from the other: run, word", |p| {
        p.clear()?;
        let graph = p.s.graph_of(&[p.storing(8)])?;
        let (first, mut node) = (p.s.first(graph)?, null_mut());
        let ends = (p.s.there, p.other.memory);
        let answer = p.add_copy(graph, &[first], ends, p.s.context, &mut node);
        Ok(Answer::all([answer, p.s.ran(graph), p.s.word(p.s.there)]))
    }),
    ("a memset of the other with its context: run, word", |p| {
        p.clear()?;
        let (graph, mut node) = (p.s.graph()?, null_mut());
        let answer = p.add_memset(graph, &[], (p.other.memory, 9), p.other.context, &mut node);
        Ok(Answer::all([answer, p.s.ran(graph), p.word()?]))
    }),
    ("a memset of the other with the own context: run", |p| {
        p.clear()?;
        let (graph, mut node) = (p.s.graph()?, null_mut());
        let answer = p.add_memset(graph, &[], (p.other.memory, 9), p.s.context, &mut node);
        Ok(Answer::all([answer, p.s.ran(graph), p.word()?]))
    }),
    ("the other's event recorded: run, query", |p| {
        let (graph, mut node) = (p.s.graph_of(&[p.s.store(0, 1)])?, null_mut());
        let answer = p.s.add(graph, &[], Work::Record(p.other.event), &raw mut node);
        Ok(Answer::all([answer, p.s.ran(graph), call!(p.s.cu, cuEventQuery_2000(p.other.event))]))
    }),
    ("the other's event awaited: run", |p| {
        let (graph, mut node) = (p.s.graph_of(&[p.s.store(0, 1)])?, null_mut());
        let answer = p.s.add(graph, &[], Work::Wait(p.other.event), &raw mut node);
        Ok(Answer::all([answer, p.s.ran(graph)]))
    }),
    ("the other's function with the own context: run", |p| {
        let (graph, mut node) = (p.s.graph()?, null_mut());
        let launch = Launch { context: p.s.context, ..p.kernel(p.s.here, 1) };
        let answer = p.s.add(graph, &[], Work::Kernel(launch), &raw mut node);
        Ok(answer.and(|| p.s.ran(graph)))
    }),
    ("the other's function without a context: run", |p| {
        let (graph, mut node) = (p.s.graph()?, null_mut());
        let launch = Launch { context: null_mut(), ..p.kernel(p.other.memory, 1) };
        let answer = p.s.add(graph, &[], Work::Kernel(launch), &raw mut node);
        Ok(answer.and(|| p.s.ran(graph)))
    }),
    ("an own kernel on the other's memory: run, word", |p| {
        p.clear()?;
        let kernel = Work::Kernel(Launch::new(p.s.storing, [p.other.memory, 8]));
        Ok(Answer::all([p.s.ran(p.s.graph_of(&[kernel])?), p.word()?]))
    }),
    ("a copy in an exec to the other's memory; back", |p| {
        let (graph, mut node) = (p.s.graph()?, null_mut());
        p.add_copy(graph, &[], (p.s.there, p.s.here), p.s.context, &mut node).given("a copy")?;
        let exec = p.s.exec(graph)?;
        let set = |to, from, context| {
            let copy = p.copying(to, from);
            call!(p.s.cu, cuGraphExecMemcpyNodeSetParams_10020(exec, node, &raw const copy, context))
        };
        Ok(Answer::all([
            set(p.other.memory, p.s.here, p.s.context),
            set(p.s.there, p.s.here, p.s.context),
            p.s.launched(exec),
        ]))
    }),
    ("exec copy there: elsewhere; own; back; context", |p| {
        let (graph, mut node) = (p.s.graph()?, null_mut());
        p.add_copy(graph, &[], (p.other.memory, p.s.here), p.s.context, &mut node).given("a copy")?;
        let exec = p.s.exec(graph)?;
        let set = |to, from, context| {
            let copy = p.copying(to, from);
            call!(p.s.cu, cuGraphExecMemcpyNodeSetParams_10020(exec, node, &raw const copy, context))
        };
        Ok(Answer::all([
            set(p.other.memory + 4096, p.s.there, p.s.context),
            set(p.s.there, p.s.here, p.s.context),
            set(p.s.here, p.other.memory, p.s.context),
            set(p.s.here, p.other.memory, p.other.context),
            p.s.launched(exec),
        ]))
    }),
    ("an own kernel becomes the other's in an exec; run", |p| {
        let graph = p.s.graph()?;
        let node = p.s.node(graph, &[], p.s.store(0, 1))?;
        let exec = p.s.exec(graph)?;
        let set = p
            .kernel(p.other.memory, 1)
            .with_params(|params| call!(p.s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params)));
        Ok(Answer::all([set, p.s.launched(exec)]))
    }),
    ("an own kernel becomes the other's by update; run", |p| {
        let (exec, new) = (p.s.exec(p.s.graph_of(&[p.s.store(0, 1)])?)?, p.s.graph_of(&[p.storing(1)])?);
        Ok(Answer::all([p.s.update(exec, new, &[("new", new)]), p.s.launched(exec)]))
    }),
    ("an own memset becomes the other's in an exec; run", |p| {
        let graph = p.s.graph()?;
        let node = p.s.node(graph, &[], p.s.fill(1))?;
        let (exec, fill) =
            (p.s.exec(graph)?, CUDA_MEMSET_NODE_PARAMS_v1 { dst: p.other.memory, ..p.s.filling(1) });
        let set = |context| {
            call!(p.s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const fill, context))
        };
        Ok(Answer::all([set(p.other.context), set(p.s.context), p.s.launched(exec)]))
    }),
    ("a copy from the other's pool: own context; its; run", |p| {
        p.clear()?;
        let (graph, address, mut node) = (p.s.graph()?, p.pooled(6)?, null_mut());
        let ends = (p.s.there, address);
        let own = p.add_copy(graph, &[], ends, p.s.context, &mut node);
        let its = p.add_copy(graph, &[], ends, p.other.context, &mut node);
        Ok(Answer::all([own, its, p.s.ran(graph), p.s.word(p.s.there)]))
    }),
    ("a memset of the other's pool: own context; its; run", |p| {
        let (graph, address, mut node) = (p.s.graph()?, p.pooled(6)?, null_mut());
        let own = p.add_memset(graph, &[], (address, 1), p.s.context, &mut node);
        let its = p.add_memset(graph, &[], (address, 1), p.other.context, &mut node);
        Ok(Answer::all([own, its, p.s.ran(graph)]))
    }),
    ("alloc without access: memset, copy, free; run", |p| allocated(p, false)),
    ("alloc with access: memset, copy, free; run", |p| allocated(p, true)),
    ("alloc without access, an own kernel on it: run", |p| kernel_on(p, false)),
    ("alloc with access, an own kernel on it: run", |p| kernel_on(p, true)),
    ("alloc without access, its kernel on it: run", |p| {
        let graph = p.s.graph()?;
        let (node, address) = p.allocation(graph, false)?;
        let kernel = p.s.node(graph, &[node], Work::Kernel(p.kernel(address, 1)))?;
        p.s.node(graph, &[kernel], Work::Free(address))?;
        Ok(p.s.ran(graph))
    }),
    ("conditional, the other's kernel beside it: verdict", |p| {
        let (graph, _) = branch(p)?;
        p.s.node(graph, &[], p.storing(1))?;
        Ok(p.s.verdict(graph, 0, &[("root's", graph)]))
    }),
    ("conditional, an own kernel inside: run", |p| {
        let (graph, body) = branch(p)?;
        p.s.node(body, &[], p.s.store(0, 1))?;
        Ok(p.s.ran(graph))
    }),
    ("conditional, the other's kernel inside: verdict", |p| {
        let (graph, body) = branch(p)?;
        p.s.node(body, &[], p.storing(1))?;
        Ok(p.s.verdict(graph, 0, &[("root's", graph), ("body's", body)]))
    }),
    ("conditional, kernels of both inside: verdict", |p| {
        let (graph, body) = branch(p)?;
        p.s.node(body, &[], p.s.store(0, 1))?;
        p.s.node(body, &[], p.storing(1))?;
        Ok(p.s.verdict(graph, 0, &[("root's", graph), ("body's", body)]))
    }),
    ("conditional, the other's memset beside it: verdict", |p| {
        let ((graph, _), mut node) = (branch(p)?, null_mut());
        p.add_memset(graph, &[], (p.other.memory, 1), p.other.context, &mut node).given("a memset")?;
        Ok(p.s.verdict(graph, 0, &[("root's", graph)]))
    }),
    ("launches by the device of kernels of both: verdict", |p| {
        let graph = p.s.graph_of(&[p.s.store(0, 1), p.storing(1)])?;
        Ok(p.s.verdict(graph, 4, &[("node", graph)]))
    }),
    ("a clone of kernels of both: run", |p| {
        Ok(p.s.ran(p.s.clone_of(p.s.graph_of(&[p.s.store(0, 1), p.storing(1)])?)?))
    }),
    ("a child graph of the other's kernels: run, sum", |p| {
        p.clear()?;
        let adding = Launch::new(p.other.adding, [p.other.memory, 2]);
        let child = p.s.graph_of(&[Work::Kernel(Launch { context: p.other.context, ..adding })])?;
        let graph = p.s.graph_of(&[p.s.store(0, 1), Work::Child(child), Work::Child(child)])?;
        Ok(Answer::all([p.s.ran(graph), p.word()?]))
    }),
    ("instantiated with the other's context current: run", |p| {
        let (graph, mut exec) = (p.s.graph_of(&[p.s.store(0, 1), p.storing(1)])?, null_mut());
        let answer = p.there(|| call!(p.s.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0)))?;
        Ok(answer.and(|| p.s.launched(exec)))
    }),
    ("graph memory of the other: trim", |p| Ok(call!(p.s.cu, cuDeviceGraphMemTrim_11040(1)))),
];

fn branch(p: &Pair) -> Given<(CUgraph, CUgraph)> {
    let graph = p.s.graph()?;
    let conditional = p.s.conditional(p.s.condition(graph, 1, 1)?, CU_GRAPH_COND_TYPE_IF, 1);
    let body = p.s.branch(graph, &[], conditional)?.1[0];
    Ok((graph, body))
}

/// An allocation of device 1 that is filled, copied to device 0, and freed.
fn allocated(p: &Pair, access: bool) -> Asked {
    p.clear()?;
    let graph = p.s.graph()?;
    let (node, address) = p.allocation(graph, access)?;
    let (mut filled, mut copied, mut freed) = (node, node, node);
    let first = p.add_memset(graph, &[node], (address, 11), p.other.context, &mut filled);
    let second = p.add_copy(graph, &[filled], (p.s.there, address), p.s.context, &mut copied);
    // Behind what there is: the copy may have been refused.
    let last = if second.succeeded() { copied } else { filled };
    let answers = [first, second, p.s.add(graph, &[last], Work::Free(address), &raw mut freed)];
    Ok(Answer::all([Answer::all(answers), p.s.ran(graph), p.s.word(p.s.there)]))
}

/// An allocation of device 1 to which a kernel of device 0 stores.
fn kernel_on(p: &Pair, access: bool) -> Asked {
    let graph = p.s.graph()?;
    let (node, address) = p.allocation(graph, access)?;
    let kernel = p.s.node(graph, &[node], Work::Kernel(Launch::new(p.s.storing, [address, 1])))?;
    p.s.node(graph, &[kernel], Work::Free(address))?;
    Ok(p.s.ran(graph))
}
