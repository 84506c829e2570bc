//! Edges are added, removed, read and assigned, and a refusal changes nothing.

use super::{Scene, add};
use cushim::Status;
use cushim::graph::{Edge, EdgeData, Graph, Node};
use cushim::op::Empty;

fn empty(graph: &Graph, after: &[&Node]) -> Node {
    add(graph, after, &mut Empty)
}

fn edge(from: &Node, to: &Node) -> Edge {
    Edge { from: from.clone(), to: to.clone(), data: EdgeData::default() }
}

/// The edges as pairs, by the place of each node in the list.
fn pairs(graph: &Graph, nodes: &[&Node]) -> Vec<(usize, usize)> {
    let place = |node: &Node| nodes.iter().position(|known| *known == node).expect("a node of the test");
    let edges = graph.edges().expect("edges");
    let mut pairs: Vec<_> = edges.iter().map(|edge| (place(&edge.from), place(&edge.to))).collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn edges_are_added_and_removed_in_bulk() {
    let scene = Scene::new();
    let graph = scene.graph();
    let (a, b, c) = (empty(&graph, &[]), empty(&graph, &[]), empty(&graph, &[]));
    let nodes = [&a, &b, &c];
    graph.add_edges(&[edge(&a, &b), edge(&b, &c), edge(&a, &c)]).expect("no cycle");
    assert_eq!(pairs(&graph, &nodes), [(0, 1), (0, 2), (1, 2)]);
    graph.remove_edges(&[edge(&a, &c), edge(&b, &c)]).expect("they are there");
    assert_eq!(pairs(&graph, &nodes), [(0, 1)]);
    graph.add_edges(&[]).expect("nothing to do");
}

#[test]
fn a_cycle_is_refused_and_changes_nothing() {
    let scene = Scene::new();
    let graph = scene.graph();
    let a = empty(&graph, &[]);
    let b = empty(&graph, &[&a]);
    let c = empty(&graph, &[&b]);
    let before = pairs(&graph, &[&a, &b, &c]);
    for closing in [vec![edge(&c, &a)], vec![edge(&a, &c), edge(&c, &b)], vec![edge(&b, &b)]] {
        let refusal = graph.add_edges(&closing).expect_err("a cycle");
        assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
        assert_eq!(refusal.item, Some(closing.len() - 1), "{refusal}");
        assert_eq!(pairs(&graph, &[&a, &b, &c]), before);
    }
}

#[test]
fn a_cycle_among_new_edges_alone_is_found() {
    let scene = Scene::new();
    let graph = scene.graph();
    let nodes: Vec<Node> = (0..4).map(|_| empty(&graph, &[])).collect();
    let ring: Vec<Edge> = (0..4).map(|index| edge(&nodes[index], &nodes[(index + 1) % 4])).collect();
    let refusal = graph.add_edges(&ring).expect_err("a ring");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    assert!(graph.edges().expect("edges").is_empty());
}

#[test]
fn sets_are_assigned() {
    let scene = Scene::new();
    let graph = scene.graph();
    let (a, b, c, d) = (empty(&graph, &[]), empty(&graph, &[]), empty(&graph, &[]), empty(&graph, &[]));
    let nodes = [&a, &b, &c, &d];
    d.set_dependencies(&[&a, &b]).expect("two");
    assert_eq!(pairs(&graph, &nodes), [(0, 3), (1, 3)]);
    d.set_dependencies(&[&b, &c]).expect("two others");
    assert_eq!(pairs(&graph, &nodes), [(1, 3), (2, 3)]);
    d.set_dependencies(&[&b, &c, &b]).expect("a set: twice is once");
    assert_eq!(pairs(&graph, &nodes), [(1, 3), (2, 3)]);
    b.set_dependents(&[]).expect("none");
    assert_eq!(pairs(&graph, &nodes), [(2, 3)]);
    a.set_dependents(&[&b, &c]).expect("two");
    assert_eq!(pairs(&graph, &nodes), [(0, 1), (0, 2), (2, 3)]);
    let refusal = c.set_dependencies(&[&d]).expect_err("a cycle");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    assert_eq!(pairs(&graph, &nodes), [(0, 1), (0, 2), (2, 3)]);
    d.set_dependencies(&[]).expect("none");
    assert_eq!(d.dependencies().expect("edges").len(), 0);
    assert_eq!(a.dependents().expect("edges").len(), 2);
}

#[test]
fn edges_to_other_graphs_are_refused() {
    let scene = Scene::new();
    let (one, other) = (scene.graph(), scene.graph());
    let (a, b) = (empty(&one, &[]), empty(&other, &[]));
    let refusal = one.add_edges(&[edge(&a, &b)]).expect_err("another graph's");
    assert_eq!((refusal.status, refusal.item), (Status::INVALID_ARGUMENT, Some(0)), "{refusal}");
    // SAFETY: nothing is used.
    let refusal = unsafe { one.add(&[&b], &mut Empty) }.expect_err("another graph's");
    assert_eq!((refusal.status, refusal.item), (Status::INVALID_ARGUMENT, Some(0)), "{refusal}");
    assert_eq!(one.nodes().expect("nodes").len(), 1);
}

#[test]
fn an_edge_that_is_there_or_missing_is_refused() {
    let scene = Scene::new();
    let graph = scene.graph();
    let a = empty(&graph, &[]);
    let b = empty(&graph, &[&a]);
    let c = empty(&graph, &[]);
    let refusal = graph.add_edges(&[edge(&a, &c), edge(&a, &b)]).expect_err("it is there");
    assert_eq!((refusal.status, refusal.item), (Status::INVALID_ARGUMENT, Some(1)), "{refusal}");
    assert_eq!(pairs(&graph, &[&a, &b, &c]), [(0, 1)], "none was added");
    graph.add_edges(&[edge(&a, &b)]).expect_err("it is there");
    let refusal = graph.add_edges(&[edge(&a, &c), edge(&a, &c)]).expect_err("twice");
    assert_eq!((refusal.status, refusal.item), (Status::INVALID_ARGUMENT, Some(1)), "{refusal}");
    assert_eq!(pairs(&graph, &[&a, &b, &c]), [(0, 1)], "none was added");
    let refusal = graph.remove_edges(&[edge(&a, &b), edge(&a, &c)]).expect_err("one is missing");
    assert_eq!((refusal.status, refusal.item), (Status::INVALID_ARGUMENT, Some(1)), "{refusal}");
    assert_eq!(pairs(&graph, &[&a, &b, &c]), [(0, 1)], "none was removed");
}
