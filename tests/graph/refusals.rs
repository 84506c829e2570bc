//! What is refused, and that it changes nothing.

use super::{Scene, add, at_least};
use cushim::graph::Node;
use cushim::kernel::LaunchConfig;
use cushim::op::{Argument, Arguments, Empty, Free, GraphAllocation, Launch};
use cushim::{Context, Status};

#[test]
fn a_removed_node_says_what_it_was() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let node = scene.append(&graph, &[], &number, 1);
    let next = scene.append(&graph, &[&node], &number, 2);
    node.set_label(Some("first"));
    node.remove().expect("it goes");
    assert!(next.dependencies().expect("edges").is_empty());
    assert_eq!(node.label().as_deref(), Some("first"));
    node.with_parameters(|parameters| assert_eq!(parameters.node_type(), node.node_type()))
        .expect("its last ones");
    let again = node.remove().expect_err("it is gone");
    assert_eq!(again.status, Status::ALREADY_DESTROYED, "{again}");
    for refusal in [node.dependencies().err(), node.set_dependencies(&[]).err(), node.graph().err()] {
        let refusal = refusal.expect("it is gone");
        assert_eq!(refusal.status, Status::INVALID_HANDLE, "{refusal}");
        assert!(refusal.message.contains("first"), "{refusal}");
    }
    // SAFETY: nothing is used.
    let refusal = unsafe { graph.add(&[&node], &mut Empty) }.expect_err("it is gone");
    assert_eq!(refusal.status, Status::INVALID_HANDLE, "{refusal}");
}

#[test]
fn what_was_below_a_removed_node_is_gone() {
    let scene = Scene::new();
    let (graph, child, number) = (scene.graph(), scene.graph(), scene.buffer(4));
    scene.append(&child, &[], &number, 1);
    let (node, embedded) = graph.add_child(&[], &child).expect("a child");
    let inner: Vec<Node> = embedded.nodes().expect("nodes");
    node.remove().expect("it goes");
    assert_eq!(embedded.nodes().expect_err("gone").status, Status::INVALID_HANDLE);
    assert_eq!(inner[0].dependents().expect_err("gone").status, Status::INVALID_HANDLE);
    inner[0].with_parameters(|_| ()).expect("its last ones");
    assert_eq!(inner[0].remove().expect_err("gone").status, Status::ALREADY_DESTROYED);
}

#[test]
fn a_refused_removal_changes_nothing() {
    let scene = Scene::new();
    let graph = scene.graph();
    // SAFETY: nothing is used.
    let (allocation, memory) =
        unsafe { graph.add(&[], &mut GraphAllocation::new(64)) }.expect("an allocation");
    let free = add(&graph, &[&allocation], &mut Free::new(memory));
    allocation.remove().expect_err("allocations stay");
    assert_eq!(graph.nodes().expect("nodes"), [allocation.clone(), free.clone()]);
    assert_eq!(free.dependencies().expect("edges")[0].from, allocation);
    allocation.with_parameters(|_| ()).expect("known");
}

#[test]
fn a_missing_argument_is_refused() {
    let scene = Scene::new();
    if !at_least(&scene, 12040) {
        return; // drivers do not tell there what a kernel takes
    }
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let kernel = scene.kernel("append");
    let mut arguments = Arguments::new();
    arguments.push(Argument::Endpoint(number.at(0)));
    let config = LaunchConfig::new(1, 1);
    // SAFETY: it is refused.
    let refusal = unsafe { graph.add(&[], &mut Launch::new(&kernel, &config, &mut arguments)) };
    assert_eq!(refusal.expect_err("an argument is missing").status, Status::INVALID_ARGUMENT);
    let none: [&Node; 0] = [];
    assert!(graph.nodes().expect("nodes").iter().eq(none));
}

#[test]
fn definitions_are_edited_by_many_threads() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = scene.append(&graph, &[], &number, 0);
                for _ in 0..50 {
                    last = scene.append(&graph, &[&last], &number, 0);
                    add(&graph, &[&last], &mut Empty).remove().expect("it goes");
                }
            });
        }
    });
    assert_eq!(graph.nodes().expect("nodes").len(), 4 * 51);
    scene.launch(&scene.instantiate(&graph));
}

#[test]
fn no_context_has_to_be_current() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(Context::current(scene.context.driver()).expect("known").is_none());
            scene.append(&graph, &[], &number, 6);
            scene.launch(&scene.instantiate(&graph));
        });
    });
    assert_eq!(scene.read(&number), 6);
}
