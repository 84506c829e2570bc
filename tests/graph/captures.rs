//! Work in a stream under capture becomes nodes: with what they use, their parameters, and their owners. What would invalidate the
//! capture is refused.

use super::{Counted, Scene, event_of, is_there, launch_of};
use cushim::graph::{Builder, BuilderOptions, Graph};
use cushim::kernel::LaunchConfig;
use cushim::managed::Range;
use cushim::memory::{Buffer, DeviceMemory};
use cushim::op::node::{NodeType, Parameters};
use cushim::op::{
    Argument, Arguments, Copy, CopyBatch, Endpoint, HostFunction, Launch, Memset, Operation, Record, Value,
    Wait,
};
use cushim::{Event, EventOptions, Status, Stream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// A builder that captures, and its stream.
pub(super) fn begun(scene: &Scene) -> (Builder, Stream) {
    let builder = Builder::create(&scene.context, &BuilderOptions::default()).expect("a builder");
    builder.begin().expect("it begins");
    let stream = builder.stream().expect("it captures");
    (builder, stream)
}

/// Enqueues an operation.
pub(super) fn enqueue<O: Operation>(stream: &Stream, mut operation: O) -> O::Output {
    // SAFETY: the tests keep what the graph does not.
    unsafe { stream.enqueue(&mut operation) }.expect("enqueued")
}

/// Launches `append` in a stream.
pub(super) fn append(scene: &Scene, stream: &Stream, to: &Buffer, digit: u32) {
    let kernel = scene.kernel("append");
    let mut arguments = Arguments::new();
    arguments.push(Argument::Endpoint(to.at(0))).push(digit);
    enqueue(stream, Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments));
}

/// The types of the nodes of a graph.
pub(super) fn types(graph: &Graph) -> Vec<NodeType> {
    graph.nodes().expect("nodes").iter().map(|node| node.node_type()).collect()
}

#[test]
fn what_is_enqueued_becomes_a_chain() {
    let scene = Scene::new();
    let (number, out) = (scene.buffer(4), scene.buffer(4));
    let (builder, stream) = begun(&scene);
    enqueue(&stream, Memset::new(number.at(0), Value::U32(4), 1));
    append(&scene, &stream, &number, 5);
    append(&scene, &stream, &number, 6);
    enqueue(&stream, Copy::new(out.at(0), number.at(0), 4));
    let graph = builder.end().expect("a graph");
    assert_eq!(scene.read(&out), 0, "nothing was done yet");
    assert_eq!(types(&graph), [NodeType::Memset, NodeType::Kernel, NodeType::Kernel, NodeType::Copy]);
    assert_eq!(graph.edges().expect("edges").len(), 3);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&out), 456);
    scene.write(&out, 0);
    scene.launch(&exec);
    assert_eq!(scene.read(&out), 456);
}

/// Nodes that were captured have what nodes that were added have.
#[test]
fn captured_nodes_tell_what_they_do() {
    let scene = Scene::new();
    let number = scene.buffer(4);
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 7);
    let tail = builder.tail().expect("a tail");
    assert_eq!(tail.len(), 1);
    tail[0].set_label(Some("the seventh"));
    let graph = builder.end().expect("a graph");
    let node = &graph.nodes().expect("nodes")[0];
    assert_eq!(node, &tail[0]);
    assert_eq!(node.to_string(), "kernel node \"the seventh\"");
    node.with_parameters(|parameters| {
        let Parameters::Kernel(kernel) = parameters else { panic!("{parameters:?}") };
        assert_eq!(kernel.kernel().expect("it is there").name(), "append");
        assert_eq!(kernel.arguments().bytes(1), Some(&7_u32.to_ne_bytes()[..]));
    })
    .expect("it tells");
    // It is changed as any other.
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 7);
    let after = scene.append(&graph, &[node], &number, 8);
    assert_eq!(after.graph().expect("its graph"), graph);
    drop(exec);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 778);
}

#[test]
fn the_graph_keeps_what_was_captured() {
    let scene = Scene::new();
    let (number, source) = (scene.buffer(4), scene.buffer(4));
    scene.write(&source, 3);
    let (builder, stream) = begun(&scene);
    enqueue(&stream, Copy::new(number.at(0), source.at(0), 4));
    append(&scene, &stream, &number, 1);
    let graph = builder.end().expect("a graph");
    let (weak, launch) = (Range::from(&source), launch_of(&graph.nodes().expect("nodes")[1]));
    drop((source, builder));
    let exec = scene.instantiate(&graph);
    drop(graph);
    assert!(is_there(&weak) && launch.kernel().is_some());
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 31);
    drop(exec);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
    while is_there(&weak) && std::time::Instant::now() < end {
        cushim::flush_callbacks(std::time::Duration::from_secs(1)).expect("not inside");
    }
    assert!(!is_there(&weak), "nobody keeps it any more");
}

#[test]
fn owners_go_with_the_last_that_may_run() {
    let scene = Scene::new();
    let memory = DeviceMemory::allocate(&scene.context, 4).expect("memory");
    let owners = [Counted::new(), Counted::new(), Counted::new()];
    let calls = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&calls);
    let (builder, stream) = begun(&scene);
    enqueue(&stream, Memset::new(memory.at(0).owned_by(owners[0].owner()), Value::U32(0), 1));
    let kernel = scene.kernel("append");
    let mut arguments = Arguments::new();
    arguments.push(Argument::Owned(memory.pointer(), owners[1].owner())).push(1_u32);
    enqueue(&stream, Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments));
    let function = HostFunction::new(move || _ = counter.fetch_add(1, SeqCst));
    enqueue(&stream, function.owned_by(owners[2].owner()));
    let graph = builder.end().expect("a graph");
    drop(builder);
    let exec = scene.instantiate(&graph);
    drop(graph);
    scene.launch(&exec);
    scene.launch(&exec);
    assert_eq!(calls.load(SeqCst), 2);
    owners.iter().for_each(|owner| assert_eq!(owner.released(), 0));
    drop(exec);
    owners.iter().for_each(|owner| assert_eq!(owner.soon_released(), 1));
}

/// A capture that is given up lets go of everything, and of what it had not, nothing.
#[test]
fn a_capture_that_is_given_up_lets_go() {
    let scene = Scene::new();
    let memory = DeviceMemory::allocate(&scene.context, 4).expect("memory");
    let (kept, refused) = (Counted::new(), Counted::new());
    let (builder, stream) = begun(&scene);
    enqueue(&stream, Memset::new(memory.at(0).owned_by(kept.owner()), Value::U32(0), 1));
    let mut wrong = Memset::new(memory.at(1).owned_by(refused.owner()), Value::U32(0), 1);
    // SAFETY: it is refused.
    unsafe { stream.enqueue(&mut wrong) }.expect_err("it is not aligned");
    builder.close().expect("closed");
    assert_eq!((kept.soon_released(), refused.released()), (1, 0));
    drop(wrong);
    assert_eq!(refused.released(), 1);
    // The stream can be used again.
    enqueue(&stream, Memset::new(memory.at(0), Value::U32(0), 1));
    stream.synchronize().expect("done");
}

/// The graph reads host memory whenever it is launched: somebody has to keep it.
#[test]
fn host_memory_is_kept_by_somebody() {
    let scene = Scene::new();
    let number = scene.buffer(4);
    let host = [9_u32];
    let (builder, stream) = begun(&scene);
    let from = || Endpoint::host_source(host.as_ptr());
    // SAFETY: it is refused.
    let refusal = unsafe { stream.enqueue(&mut Copy::new(number.at(0), from(), 4)) }.expect_err("refused");
    assert_eq!((refusal.status, refusal.driver_code), (Status::INVALID_ARGUMENT, 0), "{refusal}");
    assert!(refusal.message.contains("give it an owner"), "{refusal}");
    enqueue(&stream, Copy::new(number.at(0), Endpoint::bytes(&9_u32.to_ne_bytes()), 4));
    append(&scene, &stream, &number, 1);
    let mut back = 0_u32;
    enqueue(&stream, Copy::new(Endpoint::host(&raw mut back).kept_by_caller(), number.at(0), 4));
    let exec = scene.instantiate(&builder.end().expect("a graph"));
    scene.launch(&exec);
    // SAFETY: the graph has written it.
    assert_eq!(unsafe { (&raw const back).read_volatile() }, 91);
}

/// Calls that the driver would take for an end of the capture.
#[test]
fn what_would_invalidate_is_refused_before() {
    let scene = Scene::new();
    let (number, other) = (scene.buffer(64), scene.graph());
    let exec = scene.instantiate(&other);
    let event = Event::create(&scene.context, &EventOptions::default()).expect("an event");
    let outside = Event::create(&scene.context, &EventOptions::default()).expect("an event");
    outside.record(&scene.stream).expect("recorded");
    let (builder, stream) = begun(&scene);
    stream.set_label(Some("recorded"));
    append(&scene, &stream, &number, 1);
    event.record(&stream).expect("recorded");
    let mut copies = [Copy::new(number.at(0), number.at(32), 4)];
    // SAFETY: all of them are refused.
    let refusals = unsafe {
        [
            stream.synchronize().err(),
            stream.query().map(drop).err(),
            stream.synchronize_within(std::time::Duration::ZERO).map(drop).err(),
            scene.context.synchronize().err(),
            event.query().map(drop).err(),
            event.synchronize().err(),
            stream.wait_event(&outside).err(),
            exec.launch(&stream).err(),
            exec.upload(&stream).err(),
            stream.enqueue(&mut CopyBatch::new(&mut copies, &[])).err(),
            stream.launch_host_function(|| ()).err(),
        ]
    };
    for (index, refusal) in refusals.into_iter().enumerate() {
        let refusal = refusal.unwrap_or_else(|| panic!("call {index} is refused"));
        assert_eq!(
            (refusal.status, refusal.driver_code),
            (Status::INVALID_ARGUMENT, 0),
            "{index}: {refusal}"
        );
    }
    append(&scene, &stream, &number, 2);
    let graph = builder.end().expect("the capture is valid");
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 12);
}

/// A stream that waits for a captured event is part of the capture; one that waits back joins.
#[test]
fn events_fork_and_join() {
    let scene = Scene::new();
    let (number, other) = (scene.buffer(4), scene.buffer(4));
    let (builder, stream) = begun(&scene);
    let beside = super::common::stream(&scene.context);
    append(&scene, &stream, &number, 1);
    beside.wait_stream(&stream).expect("it waits");
    assert!(beside.is_capturing().expect("it tells"));
    append(&scene, &beside, &other, 5);
    append(&scene, &stream, &number, 2);
    beside.set_label(Some("beside"));
    let refusal = builder.end().expect_err("it is not joined");
    assert_eq!((refusal.status, refusal.driver_code), (Status::INVALID_ARGUMENT, 0), "{refusal}");
    assert!(refusal.message.contains("stream \"beside\""), "{refusal}");
    stream.wait_stream(&beside).expect("joined");
    assert_eq!(builder.tail().expect("a tail").len(), 2);
    append(&scene, &stream, &number, 3);
    let graph = builder.end().expect("a graph");
    assert!(!beside.is_capturing().expect("it tells"));
    scene.launch(&scene.instantiate(&graph));
    assert_eq!((scene.read(&number), scene.read(&other)), (123, 5));
    append(&scene, &beside, &other, 6);
    beside.synchronize().expect("it is as any other stream");
    assert_eq!(scene.read(&other), 56);
}

#[test]
fn an_event_of_a_capture_that_is_over_is_refused() {
    let scene = Scene::new();
    let number = scene.buffer(4);
    let event = Event::create(&scene.context, &EventOptions::default()).expect("an event");
    let (builder, stream) = begun(&scene);
    append(&scene, &stream, &number, 1);
    event.record(&stream).expect("recorded");
    builder.end().expect("a graph");
    let refusal = scene.stream.wait_event(&event).expect_err("its capture is over");
    assert_eq!((refusal.status, refusal.driver_code), (Status::INVALID_ARGUMENT, 0), "{refusal}");
    let (second, stream) = begun(&scene);
    append(&scene, &stream, &number, 2);
    stream.wait_event(&event).expect_err("it would invalidate this one");
    let (third, another) = begun(&scene);
    event.record(&another).expect("recorded");
    stream.wait_event(&event).expect_err("it would invalidate both");
    third.end().expect("valid");
    second.end().expect("valid");
    event.record(&scene.stream).expect("recorded");
    scene.stream.wait_event(&event).expect("as any other");
    event.synchronize().expect("as any other");
}

/// A capture that the library did not begin: its graph keeps what operations use.
#[test]
fn operations_take_part_in_captures_of_others() {
    use cushim::driver::sys;
    let scene = Scene::new();
    let (stream, driver) = (super::common::stream(&scene.context), scene.context.driver().clone());
    let number = scene.buffer(4);
    let table = driver.table();
    let begin = table.cuStreamBeginCapture_10010.expect("always there");
    // SAFETY: the stream is alive.
    let begun = unsafe { begin(stream.native(), sys::CU_STREAM_CAPTURE_MODE_RELAXED) };
    assert_eq!(begun, sys::CUDA_SUCCESS);
    let owner = Counted::new();
    let memory = DeviceMemory::allocate(&scene.context, 4).expect("memory");
    enqueue(&stream, Memset::new(memory.at(0).owned_by(owner.owner()), Value::U32(7), 1));
    enqueue(&stream, Copy::new(number.at(0), memory.at(0), 4));
    stream.synchronize().expect_err("it would invalidate the capture");
    let (mut graph, end) = (std::ptr::null_mut(), table.cuStreamEndCapture_10000.expect("always there"));
    // SAFETY: the stream is alive; writes a handle.
    assert_eq!(unsafe { end(stream.native(), &raw mut graph) }, sys::CUDA_SUCCESS);
    assert_eq!(owner.released(), 0);
    // SAFETY: the graph is the test's, and given over.
    let graph = unsafe { Graph::wrap(&scene.context, graph, cushim::Ownership::Owned) }.expect("wrapped");
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 7);
    drop(graph);
    assert_eq!(owner.released(), 0);
    drop(exec);
    assert_eq!(owner.soon_released(), 1);
}

/// Events for others than the capture: recorded by the graph, and waited for by it, at each launch.
#[test]
fn events_are_nodes_on_request() {
    let scene = Scene::new();
    let number = scene.buffer(4);
    let event = |()| Event::create(&scene.context, &EventOptions::default()).expect("an event");
    let (before, after) = (event(()), event(()));
    before.record(&scene.stream).expect("recorded");
    let (builder, stream) = begun(&scene);
    enqueue(&stream, Wait::new(&before).as_node());
    append(&scene, &stream, &number, 1);
    enqueue(&stream, Record::new(&after).as_node());
    let graph = builder.end().expect("a graph");
    assert_eq!(types(&graph), [NodeType::EventWait, NodeType::Kernel, NodeType::EventRecord]);
    let exec = scene.instantiate(&graph);
    let awaited = event_of(&graph.nodes().expect("nodes")[0]);
    drop((before, graph));
    assert!(awaited.event().is_some(), "the exec keeps it");
    // SAFETY: the graph keeps what it uses.
    unsafe { exec.launch(&scene.stream) }.expect("launched");
    after.synchronize().expect("the graph has recorded it");
    assert!(after.query().expect("done"));
    let other = super::common::stream(&scene.context);
    other.wait_event(&after).expect("as any other");
    other.synchronize().expect("done");
    assert_eq!(scene.read(&number), 1);
}
