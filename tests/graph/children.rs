//! Graphs in graphs, copies and moves.

use super::{Counted, Scene, add, at_least};
use cushim::Status;
use cushim::graph::GraphKind;
use cushim::op::{Empty, HostFunction};

#[test]
fn a_child_is_a_copy() {
    let scene = Scene::new();
    let (graph, child, number) = (scene.graph(), scene.graph(), scene.buffer(4));
    let inner = scene.append(&child, &[], &number, 2);
    let first = scene.append(&graph, &[], &number, 1);
    let (node, embedded) = graph.add_child(&[&first], &child).expect("a child");
    scene.append(&graph, &[&node], &number, 3);
    scene.append(&child, &[&inner], &number, 9);
    assert_eq!((embedded.kind(), embedded.nodes().expect("nodes").len()), (GraphKind::Child, 1));
    assert_eq!(embedded.parent().expect("there").expect("a node"), node);
    drop(child);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 123);
    // What is embedded is edited where it stands.
    let inner = embedded.nodes().expect("nodes").remove(0);
    scene.append(&embedded, &[&inner], &number, 7);
    scene.write(&number, 0);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 1273);
}

#[test]
fn a_graph_in_itself_is_a_copy_or_refused() {
    let scene = Scene::new();
    let graph = scene.graph();
    add(&graph, &[], &mut Empty);
    let refusal = graph.add_child(&[], &graph).expect_err("driver 580 crashes on it");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    assert_eq!(graph.nodes().expect("nodes").len(), 1);
}

#[test]
fn a_moved_graph_lives_in_the_other() {
    let scene = Scene::new();
    let (graph, child, number) = (scene.graph(), scene.graph(), scene.buffer(4));
    let inner = scene.append(&child, &[], &number, 4);
    let moved = graph.move_child(&[], &child);
    if !at_least(&scene, 12090) {
        assert_eq!(moved.expect_err("since 12.9").status, Status::UNSUPPORTED);
        assert_eq!(child.nodes().expect("nodes").len(), 1);
        return;
    }
    let (_, embedded) = moved.expect("a child");
    assert_eq!(child.nodes().expect_err("it is no more").status, Status::INVALID_HANDLE);
    assert_eq!(inner.dependencies().expect_err("it is another's").status, Status::INVALID_HANDLE);
    let inner = embedded.nodes().expect("nodes").remove(0);
    scene.append(&embedded, &[&inner], &number, 5);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 45);
}

#[test]
fn copies_are_equal_and_apart() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let first = scene.append(&graph, &[], &number, 1);
    let second = scene.append(&graph, &[&first], &number, 2);
    let copy = graph.clone_graph().expect("a copy");
    let found = second.find_in(&copy).expect("its like");
    assert_ne!(found, second);
    assert_eq!(found.dependencies().expect("edges")[0].from, first.find_in(&copy).expect("its like"));
    scene.append(&copy, &[&found], &number, 3);
    assert_eq!((graph.nodes().expect("nodes").len(), copy.nodes().expect("nodes").len()), (2, 3));
    drop((graph, first, second));
    scene.launch(&scene.instantiate(&copy));
    assert_eq!(scene.read(&number), 123);
}

#[test]
fn copies_and_children_keep_what_is_used() {
    let scene = Scene::new();
    let counted = Counted::new();
    let (graph, outer) = (scene.graph(), scene.graph());
    let node = add(&graph, &[], &mut HostFunction::new(|| ()).owned_by(counted.owner()));
    let copy = graph.clone_graph().expect("a copy");
    outer.add_child(&[], &graph).expect("a child");
    node.remove().expect("it goes");
    drop((graph, node));
    assert_eq!(counted.released(), 0);
    drop(copy);
    assert_eq!(counted.released(), 0);
    let exec = scene.instantiate(&outer);
    drop(outer);
    assert_eq!(counted.released(), 0);
    scene.launch(&exec);
    drop(exec);
    assert_eq!(counted.soon_released(), 1);
}
