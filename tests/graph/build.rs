//! Every type of node does what it says, and says what it does.

use super::{Scene, add, at_least, event_of};
use cushim::graph::GraphMemory;
use cushim::op::node::{NodeType, Parameters};
use cushim::op::{
    Copy, Copy3d, Empty, Endpoint, Extent, Free, GraphAllocation, HostFunction, MemoryAction,
    MemoryOperation, MemoryOperations, Memset, Record, Region, Value, Wait,
};
use cushim::{Event, EventOptions, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[test]
fn kernels_run_in_the_order_of_the_edges() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let first = scene.append(&graph, &[], &number, 1);
    let second = scene.append(&graph, &[&first], &number, 2);
    let third = scene.append(&graph, &[&second], &number, 3);
    assert_eq!(graph.nodes().expect("nodes"), [first, second, third]);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 123);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 123_123);
}

#[test]
fn memsets_of_every_width_and_of_rows() {
    let scene = Scene::new();
    let (graph, memory) = (scene.graph(), scene.buffer(64));
    let bytes = add(&graph, &[], &mut Memset::new(memory.at(0), Value::U8(1), 3));
    let halves = add(&graph, &[&bytes], &mut Memset::new(memory.at(4), Value::U16(0x0203), 2));
    let words = add(&graph, &[&halves], &mut Memset::new(memory.at(8), Value::U32(7), 1));
    add(&graph, &[&words], &mut Memset::rectangle(memory.at(16), 8, Value::U8(9), 2, 3));
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read_at(&memory, 0), 0x0001_0101);
    assert_eq!(scene.read_at(&memory, 4), 0x0203_0203);
    assert_eq!(scene.read_at(&memory, 8), 7);
    assert_eq!((scene.read_at(&memory, 16), scene.read_at(&memory, 20)), (0x0909, 0));
    assert_eq!((scene.read_at(&memory, 24), scene.read_at(&memory, 32)), (0x0909, 0x0909));
    assert_eq!(scene.read_at(&memory, 40), 0);
}

#[test]
fn copies_between_device_and_host() {
    let scene = Scene::new();
    let (graph, a, b) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let up = add(&graph, &[], &mut Copy::new(a.at(0), Endpoint::bytes(&77_u32.to_ne_bytes()), 4));
    let across = add(&graph, &[&up], &mut Copy::new(b.at(0), a.at(0), 4));
    let mut host = 0_u32;
    add(&graph, &[&across], &mut Copy::new(Endpoint::host(&raw mut host).kept_by_caller(), b.at(0), 4));
    scene.launch(&scene.instantiate(&graph));
    assert_eq!((scene.read(&a), scene.read(&b), host), (77, 77, 77));
}

#[test]
fn copies_of_boxes() {
    let scene = Scene::new();
    let (graph, from, to) = (scene.graph(), scene.buffer(64), scene.buffer(64));
    let filled = add(&graph, &[], &mut Memset::new(from.at(0), Value::U32(5), 16));
    let (to_region, from_region) = (Region::new(to.at(0), 16), Region::new(from.at(0), 8));
    add(&graph, &[&filled], &mut Copy3d::new(to_region, from_region, Extent::rectangle(4, 3)));
    scene.launch(&scene.instantiate(&graph));
    let words: Vec<u32> = (0..16).map(|index| scene.read_at(&to, index * 4)).collect();
    assert_eq!(words, [5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn host_functions_are_called_at_every_launch() {
    let scene = Scene::new();
    let graph = scene.graph();
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let node = add(&graph, &[], &mut HostFunction::new(move || _ = counted.fetch_add(1, SeqCst)));
    let exec = scene.instantiate(&graph);
    for _ in 0..3 {
        scene.launch(&exec);
    }
    assert_eq!(count.load(SeqCst), 3);
    assert_eq!(node.node_type(), NodeType::HostFunction);
    let refused = graph.clone();
    let mut once = HostFunction::once(|| ());
    // SAFETY: nothing is used.
    let refusal = unsafe { refused.add(&[], &mut once) }.expect_err("one call is not enough for a graph");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
}

#[test]
fn empty_nodes_join_any_number() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let first = scene.append(&graph, &[], &number, 1);
    let alone = add(&graph, &[], &mut Empty);
    let one = add(&graph, &[&first], &mut Empty);
    let both = add(&graph, &[&one, &alone], &mut Empty);
    scene.append(&graph, &[&both], &number, 2);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 12);
    assert_eq!(both.dependencies().expect("edges").len(), 2);
}

#[test]
fn events_are_recorded_and_waited_for() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let event = Event::create(&scene.context, &EventOptions::default()).expect("an event");
    let first = scene.append(&graph, &[], &number, 1);
    let record = add(&graph, &[&first], &mut Record::new(&event));
    let wait = add(&graph, &[&record], &mut Wait::new(&event));
    scene.append(&graph, &[&wait], &number, 2);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    assert!(event.query().expect("known"), "it was recorded and has come");
    assert_eq!(scene.read(&number), 12);
    let read = |node| event_of(node).event().expect("the node keeps it");
    assert!(read(&record) == event && read(&wait) == event);
}

#[test]
fn memory_of_a_graph_is_allocated_and_freed() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    // SAFETY: the tests use what is allocated between its allocation and its free.
    let (allocation, memory) =
        unsafe { graph.add(&[], &mut GraphAllocation::new(4096)) }.expect("an allocation");
    assert_ne!(memory.0, 0);
    let set = add(&graph, &[&allocation], &mut Memset::new(Endpoint::device(memory), Value::U32(42), 1));
    let copy = add(&graph, &[&set], &mut Copy::new(number.at(0), Endpoint::device(memory), 4));
    add(&graph, &[&copy], &mut Free::new(memory));
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 42);
    let (bytes, pointer) = allocation
        .with_parameters(|parameters| match parameters {
            Parameters::Allocation(allocation) => (allocation.bytes(), allocation.pointer()),
            other => panic!("{other:?}"),
        })
        .expect("known");
    assert_eq!((bytes, pointer), (4096, memory));
    drop(exec);
    drop(graph);
    assert!(GraphMemory::of(scene.context.device()).is_ok());
    GraphMemory::trim(scene.context.device()).expect("what no graph uses goes");
}

#[test]
fn values_are_written_and_waited_for() {
    let scene = Scene::new();
    if !at_least(&scene, 11070) {
        return;
    }
    let (graph, word) = (scene.graph(), scene.buffer(8));
    let write = |value, offset| MemoryOperation {
        action: MemoryAction::Write32,
        flags: 0,
        at: Some(word.at(offset)),
        value,
    };
    let mut first = [write(5, 0), write(6, 4)];
    let node = add(&graph, &[], &mut MemoryOperations::new(&mut first));
    let mut second =
        [MemoryOperation { action: MemoryAction::Wait32, flags: 1, at: Some(word.at(4)), value: 6 }];
    add(&graph, &[&node], &mut MemoryOperations::new(&mut second));
    scene.launch(&scene.instantiate(&graph));
    assert_eq!((scene.read_at(&word, 0), scene.read_at(&word, 4)), (5, 6));
    assert_eq!(node.node_type(), NodeType::MemoryOperations);
}

#[test]
fn nodes_say_what_they_do() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let kernel = scene.append(&graph, &[], &number, 3);
    let again = graph.nodes().expect("nodes").pop().expect("one");
    assert_eq!(again, kernel, "each node has one handle");
    again
        .with_parameters(|parameters| {
            let Parameters::Kernel(launch) = parameters else { panic!("{parameters:?}") };
            assert_eq!((launch.grid(), launch.block(), launch.shared()), ([1; 3], [1; 3], 0));
            assert_eq!(launch.arguments().len(), 2);
            assert_eq!(launch.arguments().bytes(1), Some(&3_u32.to_ne_bytes()[..]));
            assert_eq!(launch.arguments().buffer(0).as_ref(), Some(&number));
            assert!(launch.kernel().expect("the kernel") == scene.kernel("append"));
        })
        .expect("known");
    let set = add(&graph, &[&kernel], &mut Memset::new(number.at(0), Value::U32(9), 1));
    set.with_parameters(|parameters| {
        let Parameters::Memset(memset) = parameters else { panic!("{parameters:?}") };
        let raw = memset.raw();
        assert_eq!((raw.value, raw.elementSize, raw.width, raw.height), (9, 4, 1, 1));
    })
    .expect("known");
}
