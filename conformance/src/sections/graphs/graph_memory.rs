//! Memory of graphs: who may free it and when, launches without a free, and what a device keeps.

use super::kept_memory;
use super::kept_memory::trim;
use super::launch::Launch;
use super::scene::Scene;
use super::work::Work;
use super::{Group, Question, Section, ask};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, Outcome, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CUDA_MEMSET_NODE_PARAMS_v1, CUdeviceptr, CUgraph, CUgraphExec};
use std::ptr::null_mut;

pub(super) const SECTION: Section =
    Section { name: "graph_memory", parts: super::parts(kept_memory::KEPT), devices: 1, run };

const GROUPS: &[Group] = &[
    |t, s| ask(t, s, FREED),
    |t, s| ask(t, s, AUTOMATIC),
    |t, s| ask(t, s, REFUSED),
    |t, s| ask(t, s, kept_memory::FIGURES),
    |t, s| ask(t, s, USED),
];

/// What a device keeps depends on all that the process has done.
fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    super::run(t, cu, part, GROUPS, kept_memory::KEPT)
}

/// A graph that allocates 64 bytes, stores a number, and frees nothing.
pub(super) struct Keeper {
    pub(super) graph: CUgraph,
    pub(super) address: CUdeviceptr,
}

pub(super) fn keeper(s: &Scene) -> Given<Keeper> {
    let graph = s.graph()?;
    let (node, address) = s.allocation(graph, &[], 64)?;
    s.node(graph, &[node], Work::Kernel(Launch::new(s.storing, [address, 7])))?;
    Ok(Keeper { graph, address })
}

/// The same, launched once.
pub(super) fn launched(s: &Scene, flags: u64) -> Given<(Keeper, CUgraphExec)> {
    let keeper = keeper(s)?;
    let exec = s.exec_with(keeper.graph, flags)?;
    s.launched(exec).given("launching")?;
    Ok((keeper, exec))
}

pub(super) fn free_async(s: &Scene, address: CUdeviceptr) -> Answer {
    call!(s.cu, cuMemFreeAsync_11020(address, s.stream))
}

/// A graph that frees this address.
fn freeing(s: &Scene, address: CUdeviceptr) -> Given<CUgraph> {
    s.graph_of(&[Work::Free(address)])
}

const FREED: &[Question] = &[
    ("launch, launch without a free", |s| {
        let (_, exec) = launched(s, 0)?;
        Ok(s.launched(exec))
    }),
    ("launch without a free: read by the host", |s| Ok(s.word(launched(s, 0)?.0.address))),
    ("cuMemFree before a launch", |s| Ok(call!(s.cu, cuMemFree_3020(keeper(s)?.address)))),
    ("cuMemFree with an exec before a launch", |s| {
        let keeper = keeper(s)?;
        s.exec(keeper.graph)?;
        Ok(call!(s.cu, cuMemFree_3020(keeper.address)))
    }),
    ("cuMemFree after a launch, again, relaunch", |s| {
        let (keeper, exec) = launched(s, 0)?;
        let answers = [(); 2].map(|()| call!(s.cu, cuMemFree_3020(keeper.address)));
        Ok(Answer::all([Answer::all(answers), s.launched(exec), s.word(keeper.address)]))
    }),
    ("cuMemFreeAsync before a launch", |s| Ok(free_async(s, keeper(s)?.address))),
    ("cuMemFreeAsync after a launch, again, relaunch", |s| {
        let (keeper, exec) = launched(s, 0)?;
        let answers = [free_async(s, keeper.address), free_async(s, keeper.address)];
        Ok(Answer::all([Answer::all(answers), s.launched(exec), s.word(keeper.address)]))
    }),
    ("launch, cuMemFreeAsync and launch without waiting", |s| {
        let keeper = keeper(s)?;
        let exec = s.exec(keeper.graph)?;
        let answers = [s.launch(exec), free_async(s, keeper.address), s.launch(exec), s.synchronise()];
        Ok(Answer::all(answers))
    }),
    ("cuMemFreeAsync in another stream, relaunch", |s| {
        let ((keeper, exec), other) = (launched(s, 0)?, s.cu.stream(NON_BLOCKING)?);
        let freed = call!(s.cu, cuMemFreeAsync_11020(keeper.address, other));
        let waited = call!(s.cu, cuStreamSynchronize_2000(other));
        Ok(Answer::all([freed, waited, s.launched(exec)]))
    }),
    ("cuMemFree inside it", |s| Ok(call!(s.cu, cuMemFree_3020(launched(s, 0)?.0.address + 8)))),
    ("a free node in another graph: runs, relaunch", |s| {
        let (keeper, exec) = launched(s, 0)?;
        let free = freeing(s, keeper.address)?;
        Ok(Answer::all([s.ran(free), s.launched(exec)]))
    }),
    ("a free node in another graph before a launch: run it", |s| Ok(s.ran(freeing(s, keeper(s)?.address)?))),
    ("a free node in another graph, run twice", |s| {
        let (keeper, _) = launched(s, 0)?;
        let exec = s.exec(freeing(s, keeper.address)?)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("a free node in two other graphs", |s| {
        let keeper = keeper(s)?;
        Ok(Answer::all([free_node(s, s.graph()?, keeper.address), free_node(s, s.graph()?, keeper.address)]))
    }),
    ("a free node in another graph, then in its own", |s| {
        let keeper = keeper(s)?;
        let other = free_node(s, s.graph()?, keeper.address);
        Ok(Answer::all([other, free_node(s, keeper.graph, keeper.address)]))
    }),
    ("a free node in its own graph, then in another", |s| {
        let keeper = keeper(s)?;
        let own = free_node(s, keeper.graph, keeper.address);
        Ok(Answer::all([own, free_node(s, s.graph()?, keeper.address)]))
    }),
    ("freed by its graph: cuMemFree after a launch", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[node], Work::Free(address))?;
        Ok(Answer::all([s.ran(graph), call!(s.cu, cuMemFree_3020(address)), free_async(s, address)]))
    }),
    ("allocated and freed in it: launched three times", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[node], Work::Free(address))?;
        let exec = s.exec(graph)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec), s.launched(exec)]))
    }),
    ("a graph with its free node in a child graph: embed, run", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let (child, mut embedded) = (s.graph()?, null_mut());
        let free = free_node(s, child, address);
        let embed = s.add(graph, &[node], Work::Child(child), &raw mut embedded);
        Ok(Answer::all([free, embed, s.ran(graph)]))
    }),
    ("a free node in an inner graph of its graph: add, run", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let child = s.node(graph, &[node], Work::Child(s.graph_of(&[Work::Empty])?))?;
        let inner = s.inner(child)?;
        Ok(Answer::all([free_node(s, inner, address), s.ran(graph)]))
    }),
    ("exec destroyed with live memory: read, cuMemFree", |s| {
        let (keeper, exec) = launched(s, 0)?;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(Answer::all([s.word(keeper.address), call!(s.cu, cuMemFree_3020(keeper.address))]))
    }),
    ("exec destroyed with live memory, instantiated again: launch", |s| {
        let (keeper, exec) = launched(s, 0)?;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        Ok(s.ran(keeper.graph))
    }),
    ("exec, graph destroyed with live memory: read, cuMemFree", |s| {
        let (keeper, exec) = launched(s, 0)?;
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        s.destroy(keeper.graph)?;
        Ok(Answer::all([s.word(keeper.address), call!(s.cu, cuMemFree_3020(keeper.address))]))
    }),
    ("cuMemFreeAsync of plain pool memory by a free node", |s| {
        let mut address = 0;
        given!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, s.stream))?;
        Ok(free_node(s, s.graph()?, address))
    }),
];

fn free_node(s: &Scene, graph: CUgraph, address: CUdeviceptr) -> Answer {
    let mut node = null_mut();
    s.add(graph, &[], Work::Free(address), &raw mut node)
}

const AUTOMATIC: &[Question] = &[
    ("AUTO_FREE: launched three times, read", |s| {
        let (keeper, exec) = launched(s, 1)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec), s.word(keeper.address)]))
    }),
    ("AUTO_FREE: launch, launch without waiting", |s| {
        let exec = s.exec_with(keeper(s)?.graph, 1)?;
        Ok(Answer::all([s.launch(exec), s.launch(exec), s.synchronise()]))
    }),
    ("AUTO_FREE: cuMemFree, again, relaunch", |s| {
        let (keeper, exec) = launched(s, 1)?;
        let answers = [(); 2].map(|()| call!(s.cu, cuMemFree_3020(keeper.address)));
        Ok(Answer::all([Answer::all(answers), s.launched(exec)]))
    }),
    ("AUTO_FREE: freed by another graph, relaunch, freed again", |s| {
        let (keeper, exec) = launched(s, 1)?;
        let free = s.exec(freeing(s, keeper.address)?)?;
        Ok(Answer::all([s.launched(free), s.launched(exec), s.launched(free)]))
    }),
    ("AUTO_FREE with a free node: launched twice", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[node], Work::Free(address))?;
        let exec = s.exec_with(graph, 1)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("AUTO_FREE without allocations: launched twice", |s| {
        let exec = s.exec_with(s.graph_of(&[s.store(0, 1)])?, 1)?;
        Ok(Answer::all([s.launched(exec), s.launched(exec)]))
    }),
    ("AUTO_FREE and an upload: launched twice", |s| {
        let exec = s.exec_with(keeper(s)?.graph, 1)?;
        let upload = call!(s.cu, cuGraphUpload_11010(exec, s.stream));
        Ok(Answer::all([upload, s.launched(exec), s.launched(exec)]))
    }),
    ("AUTO_FREE: in two streams, one after the other", |s| {
        let ((_, exec), other) = (launched(s, 1)?, s.cu.stream(NON_BLOCKING)?);
        let launch = call!(s.cu, cuGraphLaunch_10000(exec, other));
        Ok(Answer::all([launch, call!(s.cu, cuStreamSynchronize_2000(other))]))
    }),
];

const REFUSED: &[Question] = &[
    ("free node of memory inside an allocation", |s| {
        let keeper = keeper(s)?;
        Ok(free_node(s, keeper.graph, keeper.address + 8))
    }),
    ("free twice in one graph", |s| {
        let keeper = keeper(s)?;
        let one = free_node(s, keeper.graph, keeper.address);
        Ok(Answer::all([one, free_node(s, keeper.graph, keeper.address)]))
    }),
    ("memset beside the alloc node: add", |s| {
        let graph = s.graph()?;
        let (_, address) = s.allocation(graph, &[], 64)?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: address, ..s.filling(1) };
        let mut node = null_mut();
        Ok(s.add(graph, &[], Work::Fill(fill), &raw mut node))
    }),
    ("memset in another graph: add", |s| {
        let keeper = keeper(s)?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: keeper.address, ..s.filling(1) };
        let mut node = null_mut();
        Ok(s.add(s.graph()?, &[], Work::Fill(fill), &raw mut node))
    }),
    ("memset past the end of 64 bytes: add", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: address, width: 17, ..s.filling(1) };
        let mut made = null_mut();
        Ok(s.add(graph, &[node], Work::Fill(fill), &raw mut made))
    }),
    ("memset after the free: add", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let free = s.node(graph, &[node], Work::Free(address))?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: address, ..s.filling(1) };
        let mut made = null_mut();
        Ok(s.add(graph, &[free], Work::Fill(fill), &raw mut made))
    }),
];

/// Kernels that use memory which may not be there.
const USED: &[Question] = &[
    ("a kernel beside the alloc node: add", |s| {
        let graph = s.graph()?;
        let (_, address) = s.allocation(graph, &[], 64)?;
        let kernel = Work::Kernel(Launch::new(s.storing, [address, 1]));
        let mut node = null_mut();
        Ok(s.add(graph, &[], kernel, &raw mut node))
    }),
    ("a kernel in another graph before any launch: run", |s| {
        let keeper = keeper(s)?;
        let kernel = Work::Kernel(Launch::new(s.storing, [keeper.address, 9]));
        Ok(s.ran(s.graph_of(&[kernel])?))
    }),
    ("a kernel in another graph after a launch: run, read", |s| {
        let (keeper, _) = launched(s, 0)?;
        let kernel = Work::Kernel(Launch::new(s.storing, [keeper.address, 9]));
        Ok(Answer::all([s.ran(s.graph_of(&[kernel])?), s.word(keeper.address)]))
    }),
    ("a kernel after the free in its graph: run", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        let free = s.node(graph, &[node], Work::Free(address))?;
        s.node(graph, &[free], Work::Kernel(Launch::new(s.storing, [address, 1])))?;
        Ok(s.ran(graph))
    }),
    ("a kernel after cuMemFree and a trim: run", |s| {
        let (keeper, _) = launched(s, 0)?;
        given!(s.cu, cuMemFree_3020(keeper.address))?;
        trim(s, 0).given("trimming")?;
        let kernel = Work::Kernel(Launch::new(s.storing, [keeper.address, 9]));
        Ok(s.ran(s.graph_of(&[kernel])?))
    }),
];
