//! Nothing that a graph uses goes too early, and nothing stays.

use super::{Counted, Scene, add, event_of, is_there, launch_of};
use cushim::graph::{Graph, Node};
use cushim::kernel::LaunchConfig;
use cushim::managed::Range;
use cushim::op::{
    Argument, Arguments, Copy, Empty, Endpoint, HostFunction, Launch, Memset, Record, Value, Wait,
};
use cushim::{Event, EventOptions, Owner, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// A node that has an owner.
fn owned(graph: &Graph, after: &[&Node], owner: Owner) -> Node {
    add(graph, after, &mut HostFunction::new(|| ()).owned_by(owner))
}

#[test]
fn all_handles_go_before_the_launch() {
    let scene = Scene::new();
    let (graph, number, out) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let event = Event::create(&scene.context, &EventOptions::default()).expect("an event");
    let first = scene.append(&graph, &[], &number, 8);
    let record = add(&graph, &[&first], &mut Record::new(&event));
    let wait = add(&graph, &[&record], &mut Wait::new(&event));
    add(&graph, &[&wait], &mut Copy::new(out.at(0), number.at(0), 4));
    let exec = scene.instantiate(&graph);
    let weak = (Range::from(&number), event_of(&record), launch_of(&first));
    let Scene { context, stream, library } = scene;
    drop((graph, number, event, library, first, record, wait));
    // SAFETY: the graph keeps what it uses.
    unsafe { exec.launch(&stream) }.expect("launched");
    stream.synchronize().expect("done");
    let mut host = 0_u32;
    // SAFETY: there are so many bytes.
    unsafe { context.run(&mut Copy::new(Endpoint::host(&raw mut host), out.at(0), 4)) }.expect("read");
    assert_eq!(host, 8);
    assert!(is_there(&weak.0) && weak.1.event().is_some() && weak.2.kernel().is_some());
    drop(exec);
    let gone = || !is_there(&weak.0) && weak.1.event().is_none() && weak.2.kernel().is_none();
    let end = std::time::Instant::now() + Duration::from_secs(2);
    while !gone() && std::time::Instant::now() < end {
        cushim::flush_callbacks(Duration::from_secs(1)).expect("not inside");
    }
    assert!(gone(), "nobody keeps them any more");
}

#[test]
fn a_removed_node_lets_go() {
    let scene = Scene::new();
    let (graph, counted) = (scene.graph(), Counted::new());
    let node = owned(&graph, &[], counted.owner());
    assert_eq!(counted.released(), 0);
    node.remove().expect("it goes");
    assert_eq!(counted.released(), 1);
    assert!(graph.nodes().expect("nodes").is_empty());
}

#[test]
fn an_exec_keeps_what_was_removed() {
    let scene = Scene::new();
    let (graph, counted) = (scene.graph(), Counted::new());
    let node = owned(&graph, &[], counted.owner());
    let exec = scene.instantiate(&graph);
    node.remove().expect("it goes");
    drop(graph);
    assert_eq!(counted.released(), 0);
    drop(exec);
    assert_eq!(counted.soon_released(), 1);
}

#[test]
fn a_destroyed_definition_lets_go() {
    let scene = Scene::new();
    let (graph, counted) = (scene.graph(), Counted::new());
    let node = owned(&graph, &[], counted.owner());
    drop(graph);
    assert_eq!(counted.released(), 1);
    let refusal = node.set_dependencies(&[]).expect_err("its definition is gone");
    assert_eq!(refusal.status, Status::INVALID_HANDLE, "{refusal}");
}

#[test]
fn a_launch_keeps_what_it_uses() {
    let scene = Scene::new();
    let (graph, counted) = (scene.graph(), Counted::new());
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let wait = move || {
        while !gate.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let first = add(&graph, &[], &mut HostFunction::new(wait));
    owned(&graph, &[&first], counted.owner());
    let exec = scene.instantiate(&graph);
    // SAFETY: the graph keeps what it uses.
    unsafe { exec.launch(&scene.stream) }.expect("launched");
    drop((graph, exec));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(counted.0.load(SeqCst), 0, "it runs yet");
    open.store(true, SeqCst);
    scene.stream.synchronize().expect("done");
    assert_eq!(counted.soon_released(), 1);
}

#[test]
fn a_refused_node_gives_its_owner_back() {
    let scene = Scene::new();
    let (graph, other, counted) = (scene.graph(), scene.graph(), Counted::new());
    let foreign = add(&other, &[], &mut Empty);
    let mut function = HostFunction::new(|| ()).owned_by(counted.owner());
    // SAFETY: it is refused.
    unsafe { graph.add(&[&foreign], &mut function) }.expect_err("another graph's node");
    assert_eq!(counted.released(), 0, "it is the caller's yet");
    drop(function);
    assert_eq!(counted.released(), 1);
}

#[test]
fn owners_are_exchanged() {
    let scene = Scene::new();
    let (graph, first, second) = (scene.graph(), Counted::new(), Counted::new());
    let node = owned(&graph, &[], first.owner());
    node.set_owner(1, second.owner()).map_err(|(error, _)| error).expect("the slot of its data");
    assert!(node.with_owner(1, |owner| owner.is_some()).expect("a slot"));
    let (error, _) = node.set_owner(9, Counted::new().owner()).expect_err("no such slot");
    assert!(error.message.contains("slot"), "{error}");
    drop(graph);
    assert_eq!(first.released() + second.released(), 2);
}

#[test]
fn host_memory_needs_a_keeper() {
    let scene = Scene::new();
    let (graph, number, counted) = (scene.graph(), scene.buffer(4), Counted::new());
    let value = Box::new(31_u32);
    let source = Endpoint::host_source(&raw const *value);
    // SAFETY: it is refused.
    let refusal =
        unsafe { graph.add(&[], &mut Copy::new(number.at(0), source, 4)) }.expect_err("nobody keeps it");
    assert!(refusal.message.contains("owner"), "{refusal}");
    let source = Endpoint::host_source(&raw const *value);
    let count = counted.owner();
    let owner = Owner::new(move || drop((value, count)));
    add(&graph, &[], &mut Copy::new(number.at(0), source.owned_by(owner), 4));
    let exec = scene.instantiate(&graph);
    drop(graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 31);
    drop(exec);
    assert_eq!(counted.soon_released(), 1);
}

#[test]
fn arguments_have_owners() {
    let scene = Scene::new();
    let (graph, number, counted) = (scene.graph(), scene.buffer(4), Counted::new());
    let kernel = scene.kernel("append");
    let mut arguments = Arguments::new();
    arguments
        .push(Argument::Endpoint(Endpoint::device(number.pointer()).owned_by(counted.owner())))
        .push(5_u32);
    add(&graph, &[], &mut Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments));
    let exec = scene.instantiate(&graph);
    drop(graph);
    scene.launch(&exec);
    assert_eq!((counted.released(), scene.read(&number)), (0, 5));
    drop(exec);
    assert_eq!(counted.soon_released(), 1);
}

#[test]
fn many_nodes_are_quickly_made_and_gone() {
    let scene = Scene::new();
    let (graph, memory, counted) = (scene.graph(), scene.buffer(4), Counted::new());
    let mut last: Option<Node> = None;
    for index in 0..10_000 {
        let after: Vec<&Node> = last.iter().collect();
        last = Some(match index % 100 {
            0 => owned(&graph, &after, counted.owner()),
            _ => add(&graph, &after, &mut Memset::new(memory.at(0), Value::U32(index), 1)),
        });
    }
    assert_eq!(graph.edges().expect("edges").len(), 9_999);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&memory), 9_999);
    drop((graph, exec, last));
    let start = std::time::Instant::now();
    while counted.released() < 100 && start.elapsed() < Duration::from_secs(2) {}
    assert_eq!(counted.released(), 100);
}
