//! Which node of an exec takes over which one of another graph. Both have two memsets, and perhaps a node after them; they differ in how
//! edges and nodes came and went. Afterwards the exec's first memset is set to something else: of the other graph's two, the one that is
//! still done is not the one that the first had taken over.

use super::Asked;
use super::scene::Scene;
use super::work::Work;
use crate::driver::{Answer, Given, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{CUDA_MEMSET_NODE_PARAMS_v1, CUgraph, CUgraphExec, CUgraphNode};

/// A graph's two memsets, and what is done with them.
type Pair = [CUgraphNode; 2];
type Form = (&'static str, fn(&Scene, CUgraph, Pair) -> Given);

const APART: [Form; 5] = [
    ("plain", |_, _, _| Ok(())),
    ("an edge from 1 is removed", |s, graph, [first, second]| cut(s, graph, first, second)),
    ("an edge from 2 is removed", |s, graph, [first, second]| cut(s, graph, second, first)),
    ("a node after 1 is removed", |s, graph, [first, _]| passing(s, graph, first)),
    ("a node after 2 is removed", |s, graph, [_, second]| passing(s, graph, second)),
];

const JOINED: [Form; 3] = [
    ("1, then 2 followed", |s, graph, [first, second]| join(s, graph, first, second)),
    ("2, then 1 followed", |s, graph, [first, second]| join(s, graph, second, first)),
    ("2 and 1 followed", |s, graph, [first, second]| s.node(graph, &[second, first], Work::Empty).map(drop)),
];

pub(super) fn ask(t: &mut Lines, s: &Scene) {
    let apart = APART.iter().flat_map(|old| APART.iter().map(move |new| (old, new)));
    let apart = apart.filter(|(old, new)| old.0 == APART[0].0 || new.0 == APART[0].0);
    let joined = JOINED.iter().flat_map(|old| JOINED.iter().map(move |new| (old, new)));
    for (old, new) in apart.chain(joined) {
        let name = format!("{}; from: {}", old.0, new.0);
        t.line(&name, || updated(s, old, new, false));
        t.line(&format!("{name}, cloned"), || updated(s, old, new, true));
        t.line(&format!("child graph: {name}"), || child(s, old, new));
    }
}

fn updated(s: &Scene, old: &Form, new: &Form, is_cloned: bool) -> Asked {
    let ((old, [first, _]), (new, _)) = (made(s, old, 0)?, made(s, new, 2)?);
    let exec = s.exec(old)?;
    let from = if is_cloned { s.clone_of(new)? } else { new };
    let answer = s.update(exec, from, &[("new", from), ("old", old)]);
    Ok(Answer::all([answer, taken_over(s, exec, first)?]))
}

fn child(s: &Scene, old: &Form, new: &Form) -> Asked {
    let ((old, _), (new, _)) = (made(s, old, 0)?, made(s, new, 2)?);
    let graph = s.graph()?;
    let node = s.node(graph, &[], Work::Child(old))?;
    let (inner, exec) = (s.inner(node)?, s.exec(graph)?);
    let set = call!(s.cu, cuGraphExecChildGraphNodeSetParams_11010(exec, node, new));
    let (mut nodes, mut count) = ([std::ptr::null_mut(); 3], 3);
    given!(s.cu, cuGraphGetNodes_10000(inner, nodes.as_mut_ptr(), &raw mut count))?;
    Ok(Answer::all([set, taken_over(s, exec, nodes[0])?]))
}

/// Two memsets of a number each, from this one on.
fn made(s: &Scene, (_, form): &Form, start: u32) -> Given<(CUgraph, Pair)> {
    let graph = s.graph()?;
    let pair = [
        s.node(graph, &[], Work::Fill(number(s, start)))?,
        s.node(graph, &[], Work::Fill(number(s, start + 1)))?,
    ];
    form(s, graph, pair)?;
    Ok((graph, pair))
}

fn number(s: &Scene, index: u32) -> CUDA_MEMSET_NODE_PARAMS_v1 {
    CUDA_MEMSET_NODE_PARAMS_v1 { dst: s.here + 4 * u64::from(index), width: 1, ..s.filling(index + 1) }
}

fn join(s: &Scene, graph: CUgraph, earlier: CUgraphNode, later: CUgraphNode) -> Given {
    let last = s.node(graph, &[], Work::Empty)?;
    s.connect(graph, earlier, last).given("an edge")?;
    s.connect(graph, later, last).given("an edge")
}

fn cut(s: &Scene, graph: CUgraph, from: CUgraphNode, to: CUgraphNode) -> Given {
    s.connect(graph, from, to).given("an edge")?;
    given!(s.cu, cuGraphRemoveDependencies_10000(graph, &raw const from, &raw const to, 1))
}

fn passing(s: &Scene, graph: CUgraph, node: CUgraphNode) -> Given {
    let after = s.node(graph, &[node], Work::Empty)?;
    s.destroy_node(after)
}

/// Sets the node, and tells from what is done then which one it had taken over.
fn taken_over(s: &Scene, exec: CUgraphExec, node: CUgraphNode) -> Given<Answer> {
    let other = number(s, 4);
    let set = call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const other, s.context));
    s.clear()?;
    let launched = s.launched(exec);
    let words = (0..5).map(|index| s.word(s.here + 4 * index).to_string()).collect::<Vec<_>>().join(" ");
    Ok(Answer::all([set, launched, words.into()]))
}
