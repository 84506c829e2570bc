//! Conditional nodes run what their conditions say.

use super::{Scene, add, at_least};
use cushim::Status;
use cushim::graph::{Condition, ConditionOptions, ConditionalKind, Graph, Node};
use cushim::kernel::{Image, Kernel, LaunchConfig, Library, LoadOptions};
use cushim::memory::Buffer;
use cushim::op::node::NodeType;
use cushim::op::{Argument, Arguments, Empty, HostFunction, Launch};

/// `decide(condition, from)`: sets the condition to the number at `from`, which becomes smaller by one unless it is 0.
pub(super) fn decider(scene: &Scene) -> Kernel {
    let image = Image::new(include_str!("decide.ptx")).expect("an image");
    let library = Library::load(&scene.context, &image, &LoadOptions::default()).expect("a library");
    library.kernel("decide").expect("it is there")
}

/// Adds a kernel that sets the condition to the number at `from`, and makes that smaller by one.
fn decide(scene: &Scene, graph: &Graph, after: &[&Node], condition: &Condition, from: &Buffer) -> Node {
    let kernel = decider(scene);
    let mut arguments = Arguments::new();
    arguments.push(condition).push(Argument::Endpoint(from.at(0)));
    add(graph, after, &mut Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments))
}

fn condition(graph: &Graph, initial: u32) -> Condition {
    let mut options = ConditionOptions::default();
    options.initial = initial;
    options.reset = true;
    graph.create_condition(&options).expect("a condition")
}

#[test]
fn before_12_3_there_are_none() {
    let scene = Scene::new();
    if at_least(&scene, 12030) {
        return;
    }
    let refusal =
        scene.graph().create_condition(&ConditionOptions::default()).map(drop).expect_err("since 12.3");
    assert_eq!(refusal.status, Status::UNSUPPORTED, "{refusal}");
    assert!(refusal.message.contains("12.3"), "{refusal}");
}

#[test]
fn an_if_runs_its_body_or_not() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (graph, from, number) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let condition = condition(&graph, 0);
    let decides = decide(&scene, &graph, &[], &condition, &from);
    let (node, bodies) =
        graph.add_conditional(&[&decides], &condition, ConditionalKind::If, 1).expect("an if node");
    scene.append(&bodies[0], &[], &number, 1);
    scene.append(&graph, &[&node], &number, 2);
    assert_eq!(node.node_type(), NodeType::Conditional);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 2);
    scene.write(&from, 1);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 212);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 2122);
}

#[test]
fn a_while_runs_as_often_as_it_is_told() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (graph, from, number) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let condition = condition(&graph, 1);
    let (node, bodies) =
        graph.add_conditional(&[], &condition, ConditionalKind::While, 1).expect("a while node");
    let first = scene.append(&bodies[0], &[], &number, 1);
    decide(&scene, &bodies[0], &[&first], &condition, &from);
    scene.append(&graph, &[&node], &number, 2);
    scene.write(&from, 3);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 11112);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 1_111_212, "the condition begins anew, and the number is 0 by now");
}

#[test]
fn else_and_switch_choose_a_body() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (graph, from, number) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let chosen = condition(&graph, 0);
    let decides = decide(&scene, &graph, &[], &chosen, &from);
    let added = graph.add_conditional(&[&decides], &chosen, ConditionalKind::Switch, 3);
    if !at_least(&scene, 12080) {
        let refusal = added.expect_err("since 12.8");
        assert_eq!(refusal.status, Status::UNSUPPORTED, "{refusal}");
        return;
    }
    let (_, bodies) = added.expect("a switch");
    for (digit, body) in (1..).zip(&bodies) {
        scene.append(body, &[], &number, digit);
    }
    scene.write(&from, 3);
    let exec = scene.instantiate(&graph);
    for _ in 0..4 {
        scene.launch(&exec);
    }
    assert_eq!(scene.read(&number), 321, "3 is none of its bodies");
    let other = scene.graph();
    let condition = condition(&other, 0);
    let decides = decide(&scene, &other, &[], &condition, &from);
    let (_, bodies) = other
        .add_conditional(&[&decides], &condition, ConditionalKind::IfElse, 2)
        .expect("an if with an else");
    scene.append(&bodies[0], &[], &number, 8);
    scene.append(&bodies[1], &[], &number, 9);
    scene.write(&from, 1);
    scene.write(&number, 0);
    let exec = scene.instantiate(&other);
    scene.launch(&exec);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 89);
}

#[test]
fn bodies_nest() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (graph, from, number) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let outer = condition(&graph, 1);
    let (_, bodies) = graph.add_conditional(&[], &outer, ConditionalKind::While, 1).expect("a while node");
    let first = scene.append(&bodies[0], &[], &number, 1);
    let decides = decide(&scene, &bodies[0], &[&first], &outer, &from);
    let inner = bodies[0].create_condition(&ConditionOptions::default()).expect("a condition");
    let chooses = decide(&scene, &bodies[0], &[&decides], &inner, &from);
    let (_, nested) =
        bodies[0].add_conditional(&[&chooses], &inner, ConditionalKind::If, 1).expect("an if node");
    scene.append(&nested[0], &[], &number, 7);
    scene.write(&from, 2);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 171, "2 and 1, then 0 and 0");
}

#[test]
fn a_condition_has_one_node_and_one_graph() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (graph, other, from) = (scene.graph(), scene.graph(), scene.buffer(4));
    let first = condition(&graph, 0);
    graph.add_conditional(&[], &first, ConditionalKind::If, 1).expect("an if node");
    let refusal = graph.add_conditional(&[], &first, ConditionalKind::While, 1).expect_err("it has a node");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    let refusal = other.add_conditional(&[], &first, ConditionalKind::If, 1).expect_err("another graph's");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    let kernel = decider(&scene);
    let mut arguments = Arguments::new();
    arguments.push(&first).push(Argument::Endpoint(from.at(0)));
    let config = LaunchConfig::new(1, 1);
    let mut launch = Launch::new(&kernel, &config, &mut arguments);
    // SAFETY: it is refused.
    let refusal = unsafe { other.add(&[], &mut launch) }.expect_err("another graph's");
    assert_eq!((refusal.status, refusal.item), (Status::INVALID_ARGUMENT, Some(0)), "{refusal}");
}

#[test]
fn a_condition_without_node_does_not_matter() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (graph, from, number) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let unused = condition(&graph, 0);
    let used = condition(&graph, 0);
    let first = scene.append(&graph, &[], &number, 1);
    decide(&scene, &graph, &[&first], &used, &from);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 1);
    assert_eq!(graph.nodes().expect("nodes").len(), 2, "nothing else is seen");
    // Later it gets a node all the same.
    let (_, bodies) = graph.add_conditional(&[], &used, ConditionalKind::If, 1).expect("an if node");
    scene.append(&bodies[0], &[], &number, 2);
    assert_eq!(graph.nodes().expect("nodes").len(), 3);
    drop(unused);
}

#[test]
fn bodies_refuse_what_they_cannot_hold() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let graph = scene.graph();
    let condition = condition(&graph, 0);
    let (_, bodies) = graph.add_conditional(&[], &condition, ConditionalKind::If, 1).expect("an if node");
    // SAFETY: nothing is used.
    let refusal = unsafe { bodies[0].add(&[], &mut HostFunction::new(|| ())) }.expect_err("not in a body");
    assert!(refusal.message.contains("host function"), "{refusal}");
    add(&bodies[0], &[], &mut Empty);
    assert_eq!(bodies[0].nodes().expect("nodes").len(), 1);
}
