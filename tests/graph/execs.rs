//! What is instantiated: launched, uploaded, updated, its nodes switched off.

use super::{Scene, add, at_least};
use cushim::graph::{Exec, ExecOptions, UpdateReason};
use cushim::op::{Empty, Endpoint, GraphAllocation, Memset, Value};
use cushim::{Status, StreamOptions};

#[test]
fn the_definition_may_go() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    scene.append(&graph, &[], &number, 5);
    let exec = scene.instantiate(&graph);
    assert_eq!(exec.graph(), Some(graph.clone()));
    drop(graph);
    assert_eq!(exec.graph(), None);
    exec.upload(&scene.stream).expect("it is brought there");
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 5);
}

#[test]
fn later_edits_do_not_reach_it() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let first = scene.append(&graph, &[], &number, 1);
    let exec = scene.instantiate(&graph);
    scene.append(&graph, &[&first], &number, 2);
    first.remove().expect("it goes");
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 1);
}

#[test]
fn nodes_are_switched_off_and_on() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let first = scene.append(&graph, &[], &number, 1);
    let second = scene.append(&graph, &[&first], &number, 2);
    let exec = scene.instantiate(&graph);
    if !at_least(&scene, 11060) {
        let refusal = exec.set_enabled(&first, false).expect_err("since 11.6");
        assert_eq!(refusal.status, Status::UNSUPPORTED, "{refusal}");
        return;
    }
    exec.set_enabled(&first, false).expect("off");
    assert!(!exec.is_enabled(&first).expect("known") && exec.is_enabled(&second).expect("known"));
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 2);
    exec.set_enabled(&first, true).expect("on");
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 212);
    let empty = add(&graph, &[], &mut Empty);
    exec.set_enabled(&empty, false).expect_err("it is not part of the exec, nor a node that can be off");
}

#[test]
fn another_definition_is_taken_over() {
    let scene = Scene::new();
    let (graph, other, number) = (scene.graph(), scene.graph(), scene.buffer(4));
    let first = scene.append(&graph, &[], &number, 1);
    scene.append(&graph, &[&first], &number, 2);
    let exec = scene.instantiate(&graph);
    let third = scene.append(&other, &[], &number, 3);
    scene.append(&other, &[&third], &number, 4);
    // SAFETY: the graph keeps what it uses.
    unsafe { exec.update(&other) }.expect("the same nodes and edges");
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 34);
    add(&other, &[], &mut Empty);
    // SAFETY: as above.
    let failure = unsafe { exec.update(&other) }.expect_err("one more node");
    // The call of before 12.0 has another reason for it.
    let is_old = failure.reason == UpdateReason::NotSupported && !at_least(&scene, 12000);
    assert!(failure.reason == UpdateReason::TopologyChanged || is_old, "{}", failure.error);
    scene.write(&number, 0);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 34, "it is as it was");
}

#[test]
fn a_type_that_differs_is_told_with_its_node() {
    let scene = Scene::new();
    let (graph, other, number) = (scene.graph(), scene.graph(), scene.buffer(4));
    scene.append(&graph, &[], &number, 1);
    let exec = scene.instantiate(&graph);
    let set = add(&other, &[], &mut Memset::new(number.at(0), Value::U32(1), 1));
    // SAFETY: the graph keeps what it uses.
    let failure = unsafe { exec.update(&other) }.expect_err("a memset is no kernel");
    assert_eq!(failure.reason, UpdateReason::NodeTypeChanged, "{}", failure.error);
    assert_eq!(failure.node, Some(set), "{}", failure.error);
}

#[test]
fn graphs_that_allocate_have_one_exec_at_a_time() {
    let scene = Scene::new();
    let graph = scene.graph();
    // SAFETY: nothing is used.
    let (_, memory) = unsafe { graph.add(&[], &mut GraphAllocation::new(64)) }.expect("an allocation");
    assert_ne!(memory.0, 0);
    let exec = scene.instantiate(&graph);
    let failure = Exec::create(&graph, &ExecOptions::default(), None).map(drop).expect_err("one is there");
    assert!(!failure.error.message.is_empty());
    drop(exec);
    let mut options = ExecOptions::default();
    options.auto_free = true;
    let exec =
        Exec::create(&graph, &options, None).map_err(|failure| failure.error).expect("the other is gone");
    scene.launch(&exec);
    scene.launch(&exec);
    let mut host = 1_u32;
    // SAFETY: a launch has allocated it, and the next one alone frees it.
    unsafe {
        scene.context.run(&mut Memset::new(Endpoint::device(memory), Value::U32(6), 1)).expect("set");
        let mut copy = cushim::op::Copy::new(Endpoint::host(&raw mut host), Endpoint::device(memory), 4);
        scene.context.run(&mut copy).expect("read");
    }
    assert_eq!(host, 6);
}

#[test]
fn one_exec_in_several_streams_is_serial() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    scene.append(&graph, &[], &number, 1);
    let exec = scene.instantiate(&graph);
    let others: Vec<_> = (0..4)
        .map(|_| cushim::Stream::create(&scene.context, &StreamOptions::default()).expect("a stream"))
        .collect();
    for _ in 0..2 {
        for stream in &others {
            // SAFETY: the graph keeps what it uses.
            unsafe { exec.launch(stream) }.expect("launched");
        }
    }
    // The context itself is not waited for: other tests may be capturing in it.
    others.iter().for_each(|stream| stream.synchronize().expect("done"));
    assert_eq!(scene.read(&number), 11_111_111);
}

#[test]
fn parts_are_not_instantiated() {
    let scene = Scene::new();
    let (graph, child) = (scene.graph(), scene.graph());
    let (_, embedded) = graph.add_child(&[], &child).expect("a child");
    let failure = Exec::create(&embedded, &ExecOptions::default(), None).map(drop).expect_err("it is a part");
    assert_eq!(failure.error.status, Status::INVALID_ARGUMENT, "{}", failure.error);
}
