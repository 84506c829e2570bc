//! Builders: their states, forks and joins, graphs and conditional nodes in what they capture.

use super::captures::{append, begun, enqueue, types};
use super::{Counted, Scene, at_least, is_there};
use cushim::graph::{
    Builder, BuilderKind, BuilderOptions, BuilderState, CaptureMode, Condition, ConditionOptions,
    ConditionalKind, Embedding,
};
use cushim::kernel::LaunchConfig;
use cushim::managed::Range;
use cushim::memory::Buffer;
use cushim::op::node::NodeType;
use cushim::op::{Argument, Arguments, HostFunction, Launch, Memset, Value};
use cushim::{Error, Status, Stream};

fn options(mode: CaptureMode) -> BuilderOptions {
    let mut options = BuilderOptions::default();
    options.mode = mode;
    options
}

fn refused<T>(result: Result<T, Error>, why: &str) {
    let refusal = result.err().unwrap_or_else(|| panic!("it is refused: {why}"));
    assert_eq!((refusal.status, refusal.driver_code), (Status::INVALID_ARGUMENT, 0), "{refusal}");
    assert!(refusal.message.contains(why), "{refusal}");
}

#[test]
fn each_state_takes_what_belongs_to_it() {
    let scene = Scene::new();
    let builder = Builder::create(&scene.context, &BuilderOptions::default()).expect("a builder");
    builder.set_label(Some("b"));
    let other = scene.graph();
    assert_eq!((builder.kind(), builder.state()), (BuilderKind::Primary, BuilderState::NotStarted));
    let out_of_order = |why: &str| {
        assert!(builder.stream().is_err() && !builder.needs_join());
        refused(builder.end(), why);
        refused(builder.tail(), why);
        refused(builder.fork(1), why);
        refused(builder.join(&[]), why);
        refused(builder.add_child(&other, Embedding::Clone), why);
        refused(builder.create_condition(&ConditionOptions::default()), why);
    };
    out_of_order("builder \"b\" was not begun");
    refused(builder.graph(), "was not begun");
    builder.begin().expect("it begins");
    assert_eq!(builder.state(), BuilderState::Capturing);
    assert!(builder.stream().expect("it captures").is_capturing().expect("it tells"));
    refused(builder.begin(), "is capturing already");
    refused(builder.graph(), "is capturing");
    let graph = builder.end().expect("a graph");
    assert_eq!(builder.state(), BuilderState::Ended);
    out_of_order("builder \"b\" has ended");
    refused(builder.begin(), "captures once");
    assert_eq!(builder.graph().expect("its graph"), graph);
    builder.close().expect("closed");
    builder.close().expect("closed");
    assert_eq!(builder.state(), BuilderState::Closed);
    out_of_order("builder \"b\" is closed");
    refused(builder.begin(), "is closed");
    refused(builder.graph(), "is closed");
    assert!(graph.nodes().expect("it outlives its builder").is_empty());
}

/// A global capture forbids to other threads what other tests do.
#[test]
fn every_mode_captures() {
    super::common::alone("builders::every_mode_captures", &[], || {
        let scene = Scene::new();
        for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
            let number = scene.buffer(4);
            let builder = Builder::create(&scene.context, &options(mode)).expect("a builder");
            builder.begin().expect("it begins");
            append(&scene, &builder.stream().expect("it captures"), &number, 1);
            let elsewhere =
                std::thread::scope(|scope| scope.spawn(|| builder.end()).join().expect("no panic"));
            let graph = match mode {
                CaptureMode::Relaxed => elsewhere.expect("any thread ends it"),
                _ => {
                    refused(elsewhere, "the thread that began");
                    builder.end().expect("it went on")
                }
            };
            scene.launch(&scene.instantiate(&graph));
            assert_eq!(scene.read(&number), 1);
        }
    });
}

#[test]
fn a_given_stream_is_captured_and_given_back() {
    let scene = Scene::new();
    let number = scene.buffer(4);
    refused(
        Builder::create_on(&Stream::legacy(&scene.context), &BuilderOptions::default()),
        "legacy default stream",
    );
    let builder = Builder::create_on(&scene.stream, &BuilderOptions::default()).expect("a builder");
    let second = Builder::create_on(&scene.stream, &BuilderOptions::default()).expect("a builder");
    builder.begin().expect("it begins");
    refused(second.begin(), "is being captured");
    append(&scene, &scene.stream, &number, 1);
    builder.close().expect("closed");
    assert_eq!(builder.state(), BuilderState::Closed);
    append(&scene, &scene.stream, &number, 2);
    scene.stream.synchronize().expect("done");
    assert_eq!(scene.read(&number), 2);
    second.begin().expect("the stream is free");
    append(&scene, &scene.stream, &number, 3);
    let graph = second.end().expect("a graph");
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 23);
}

#[test]
fn forks_go_beside_and_are_joined() {
    let scene = Scene::new();
    let numbers = [scene.buffer(4), scene.buffer(4), scene.buffer(4)];
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &numbers[0], 1);
    refused(builder.fork(0), "fewer than two");
    let forks = builder.fork(2).expect("forks");
    for (fork, number) in forks.iter().zip(&numbers[1..]) {
        assert!(fork.needs_join());
        assert_eq!((fork.kind(), fork.state()), (BuilderKind::Forked, BuilderState::Capturing));
        refused(fork.end(), "was forked");
        refused(fork.graph(), "was forked");
        append(&scene, &fork.stream().expect("it captures"), number, 2);
    }
    forks[0].set_label(Some("left"));
    refused(builder.end(), "forked builder \"left\"");
    refused(builder.join(&[]), "with none");
    refused(builder.join(&[&forks[0], &forks[0]]), "named twice");
    refused(builder.join(&[&builder]), "is the one to join into");
    // In stages, and with a fork of a fork.
    let nested = forks[1].fork(1).expect("a fork");
    append(&scene, &nested[0].stream().expect("it captures"), &numbers[2], 3);
    forks[1].join(&[&nested[0]]).expect("joined");
    assert_eq!(nested[0].state(), BuilderState::Closed);
    builder.join(&[&forks[0], &forks[1]]).expect("joined");
    assert!(!forks[0].needs_join() && forks[0].stream().is_err());
    refused(builder.join(&[&forks[0]]), "is closed");
    append(&scene, &stream, &numbers[0], 9);
    let graph = builder.end().expect("a graph");
    assert_eq!(types(&graph), [NodeType::Kernel; 5]);
    let last = &graph.nodes().expect("nodes")[4];
    assert!(last.dependencies().expect("edges").len() >= 3);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(numbers.each_ref().map(|number| scene.read(number)), [19, 2, 23]);
}

#[test]
fn a_fork_that_is_dropped_is_named() {
    let scene = Scene::new();
    let number = scene.buffer(4);
    let (builder, _stream) = begun(&scene);
    let forks = builder.fork(2).expect("forks");
    append(&scene, &forks[0].stream().expect("it captures"), &number, 1);
    forks[0].set_label(Some("forgotten"));
    drop(forks);
    refused(builder.end(), "\"forgotten\"");
    builder.close().expect("closed");
}

#[test]
fn graphs_are_embedded() {
    let scene = Scene::new();
    let (number, counted) = (scene.buffer(4), Counted::new());
    let child = scene.graph();
    scene.append(&child, &[], &number, 2);
    super::add(&child, &[], &mut HostFunction::new(|| ()).owned_by(counted.owner()));
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 1);
    let (node, inner) = builder.add_child(&child, Embedding::Clone).expect("embedded");
    assert_eq!((node.node_type(), inner.nodes().expect("nodes").len()), (NodeType::Child, 2));
    append(&scene, &stream, &number, 3);
    drop(child);
    let graph = builder.end().expect("a graph");
    assert_eq!(types(&graph), [NodeType::Kernel, NodeType::Child, NodeType::Kernel]);
    let exec = scene.instantiate(&graph);
    drop((graph, builder));
    scene.launch(&exec);
    assert_eq!((scene.read(&number), counted.released()), (123, 0));
    drop((exec, node, inner));
    assert_eq!(counted.soon_released(), 1);
}

/// Nodes that were added by hand behind what was captured.
#[test]
fn a_capture_goes_on_beside_nodes_by_hand() {
    let scene = Scene::new();
    let (number, other) = (scene.buffer(4), scene.buffer(4));
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 1);
    let tail = builder.tail().expect("a tail");
    let graph = tail[0].graph().expect("its graph");
    scene.append(&graph, &[&tail[0]], &other, 7);
    append(&scene, &stream, &number, 2);
    tail[0].remove().expect_err("the driver removes nothing while it captures");
    drop(graph);
    let graph = builder.end().expect("a graph");
    scene.launch(&scene.instantiate(&graph));
    assert_eq!((scene.read(&number), scene.read(&other)), (12, 7));
}

fn condition(builder: &Builder, initial: u32) -> Condition {
    let mut options = ConditionOptions::default();
    options.initial = initial;
    options.reset = true;
    builder.create_condition(&options).expect("a condition")
}

/// Launches a kernel that sets the condition to the number at `from`, and makes that smaller by one.
fn decide(scene: &Scene, stream: &Stream, condition: &Condition, from: &Buffer) {
    let kernel = super::conditions::decider(scene);
    let mut arguments = Arguments::new();
    arguments.push(condition).push(Argument::Endpoint(from.at(0)));
    enqueue(stream, Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments));
}

#[test]
fn a_loop_is_captured_with_its_body() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (number, other, from) = (scene.buffer(4), scene.buffer(4), scene.buffer(4));
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 1);
    let again = condition(&builder, 1);
    let (node, bodies) = builder.add_conditional(&again, ConditionalKind::While, 1).expect("a loop");
    assert_eq!((node.node_type(), bodies.len()), (NodeType::Conditional, 1));
    let body = &bodies[0];
    assert_eq!((body.kind(), body.state()), (BuilderKind::Body, BuilderState::NotStarted));
    append(&scene, &stream, &number, 9);
    body.begin().expect("it begins");
    let inside = body.stream().expect("it captures");
    append(&scene, &inside, &number, 5);
    // Forked and joined inside.
    let forks = body.fork(1).expect("a fork");
    append(&scene, &forks[0].stream().expect("it captures"), &other, 6);
    decide(&scene, &inside, &again, &from);
    refused(builder.end(), "is being captured");
    refused(body.end(), "joined");
    body.join(&[&forks[0]]).expect("joined");
    // What a body cannot hold.
    // SAFETY: it is refused.
    let refusal = unsafe { inside.enqueue(&mut HostFunction::new(|| ())) }.expect_err("bodies call nothing");
    assert_eq!((refusal.status, refusal.driver_code), (Status::INVALID_ARGUMENT, 0), "{refusal}");
    let filled = body.end().expect("the body");
    assert_eq!(filled, node.graphs().expect("bodies")[0]);
    let graph = builder.end().expect("a graph");
    scene.write(&from, 3);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!((scene.read(&number), scene.read(&other)), (155_559, 6666));
}

/// A captured skeleton whose body is filled by hand, and one that is captured behind nodes by hand, nested in a fork.
#[test]
fn bodies_are_filled_by_hand() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (number, other) = (scene.buffer(4), scene.buffer(4));
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 1);
    let first = condition(&builder, 1);
    let (_, bodies) = builder.add_conditional(&first, ConditionalKind::If, 1).expect("an if");
    scene.append(&bodies[0].graph().expect("there before it begins"), &[], &number, 2);
    let forks = builder.fork(1).expect("a fork");
    let second = condition(&forks[0], 1);
    let (_, inner) = forks[0].add_conditional(&second, ConditionalKind::If, 1).expect("an if");
    scene.append(&inner[0].graph().expect("there"), &[], &other, 3);
    inner[0].begin().expect("it begins");
    append(&scene, &inner[0].stream().expect("it captures"), &other, 4);
    inner[0].end().expect("the body");
    builder.join(&[&forks[0]]).expect("joined");
    append(&scene, &stream, &number, 5);
    let graph = builder.end().expect("a graph");
    scene.launch(&scene.instantiate(&graph));
    assert_eq!((scene.read(&number), scene.read(&other)), (125, 34));
}

/// Whatever is being captured when the last hold goes is given up in order, and what it kept goes.
#[test]
fn builders_are_dropped_at_any_time() {
    let scene = Scene::new();
    if !at_least(&scene, 12030) {
        return;
    }
    let (number, counted) = (scene.buffer(4), Counted::new());
    let (builder, stream) = begun(&scene);
    enqueue(&stream, Memset::new(number.at(0), Value::U32(0), 1));
    let condition = condition(&builder, 1);
    let (node, bodies) = builder.add_conditional(&condition, ConditionalKind::If, 1).expect("an if");
    bodies[0].begin().expect("it begins");
    append(&scene, &bodies[0].stream().expect("it captures"), &number, 1);
    let forks = builder.fork(1).expect("a fork");
    enqueue(&forks[0].stream().expect("it captures"), HostFunction::new(|| ()).owned_by(counted.owner()));
    let weak = Range::from(&number);
    drop(builder);
    assert_eq!((bodies[0].state(), forks[0].state()), (BuilderState::Closed, BuilderState::Closed));
    let gone = node.graphs().expect_err("it went with the capture");
    assert_eq!(gone.status, Status::INVALID_HANDLE, "{gone}");
    assert_eq!(counted.soon_released(), 1);
    drop(number);
    cushim::flush_callbacks(std::time::Duration::from_secs(5)).expect("not inside");
    assert!(!is_there(&weak), "nobody keeps it");
    // Other tests capture in the primary context at the same time: nothing is captured here any more, by the stream's account.
    assert!(!scene.stream.is_capturing().expect("it says"));
    scene.stream.synchronize().expect("nothing is captured any more");
}

/// Invalidates the capture of a stream, behind the library's back.
fn invalidate(scene: &Scene, stream: &Stream) {
    use cushim::driver::sys;
    let synchronize = scene.context.driver().table().cuStreamSynchronize_2000.expect("always there");
    // SAFETY: the stream is alive.
    let result = unsafe { synchronize(stream.native()) };
    assert_eq!(result, sys::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

/// The next call tells, with the last that found it valid; the end tells, too, and everything can be used again.
#[test]
fn a_capture_that_others_invalidate_is_told() {
    let scene = Scene::new();
    let (number, counted) = (scene.buffer(4), Counted::new());
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 1);
    enqueue(&stream, HostFunction::new(|| ()).owned_by(counted.owner()));
    let fork = builder.fork(1).expect("a fork").remove(0);
    invalidate(&scene, &stream);
    for operation in ["the first call that finds out", "a later one"] {
        // SAFETY: it is refused.
        let refusal = unsafe { stream.enqueue(&mut Memset::new(number.at(0), Value::U32(0), 1)) };
        let refusal = refusal.expect_err(operation);
        assert_eq!(refusal.status, Status(901), "{refusal}");
        assert!(refusal.message.contains("host function node 1 was captured"), "{refusal}");
        assert!(refusal.message.contains("this memset node"), "{refusal}");
    }
    let failure = builder.end().expect_err("there is no graph");
    assert_eq!(failure.status, Status(901), "{failure}");
    assert!(failure.message.contains("host function node 1 was captured"), "{failure}");
    assert_eq!((builder.state(), fork.state()), (BuilderState::Closed, BuilderState::Closed));
    assert_eq!(counted.soon_released(), 1);
    append(&scene, &stream, &number, 2);
    stream.synchronize().expect("as any other");
    assert_eq!(scene.read(&number), 2);
}

/// The driver would take the body away from under its node, and crash: so the graph is given up, and nothing touches it.
#[test]
fn a_body_that_others_invalidate_takes_the_graph_with_it() {
    // Its capture never ends, so nothing waits for the context of this process any more.
    super::common::alone("builders::a_body_that_others_invalidate_takes_the_graph_with_it", &[], || {
        let scene = Scene::new();
        if !at_least(&scene, 12030) {
            return;
        }
        let number = scene.buffer(4);
        let (builder, stream) = begun(&scene);
        append(&scene, &stream, &number, 1);
        let condition = condition(&builder, 1);
        let (node, bodies) = builder.add_conditional(&condition, ConditionalKind::If, 1).expect("an if");
        bodies[0].begin().expect("it begins");
        let inside = bodies[0].stream().expect("it captures");
        append(&scene, &inside, &number, 2);
        invalidate(&scene, &inside);
        let failure = bodies[0].end().expect_err("it is not valid");
        assert_eq!(failure.status, Status(901), "{failure}");
        // SAFETY: it is refused.
        let refusal = unsafe { stream.enqueue(&mut Memset::new(number.at(0), Value::U32(0), 1)) };
        assert_eq!(refusal.expect_err("its graph is given up").status, Status(901));
        node.graphs().expect_err("it is gone");
        let failure = builder.end().expect_err("its graph is given up");
        assert!(failure.message.contains("a body"), "{failure}");
        drop((builder, bodies, node, condition));
        append(&scene, &stream, &number, 3);
        stream.synchronize().expect("as any other");
        assert_eq!(scene.read(&number), 3);
    });
}
