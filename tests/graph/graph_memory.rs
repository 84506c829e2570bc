//! Memory in captures: as nodes of the graph, and from an arena.

use super::captures::{append, begun, enqueue, types};
use super::{Scene, is_there};
use cushim::graph::{Exec, ExecOptions};
use cushim::managed::Range;
use cushim::memory::{Buffer, DeviceMemory, DevicePoolOptions, Resource};
use cushim::op::node::NodeType;
use cushim::op::{Copy, Memset, Value};
use cushim::{Error, Status};

fn refused<T>(result: Result<T, Error>, why: &str) {
    let refusal = result.err().unwrap_or_else(|| panic!("it is refused: {why}"));
    assert_eq!((refusal.status, refusal.driver_code), (Status::INVALID_ARGUMENT, 0), "{refusal}");
    assert!(refusal.message.contains(why), "{refusal}");
}

#[test]
fn buffers_come_and_go_as_nodes() {
    let scene = Scene::new();
    let resource = Resource::graph(scene.context.device());
    let out = scene.buffer(4);
    refused(resource.allocate(4, Some(&scene.stream)), "is not being captured");
    let (builder, stream) = begun(&scene);
    let number = Buffer::create(&resource, 4, Some(&stream)).expect("memory of the graph");
    assert!(number.properties().expect("known without asking").device_accessible);
    enqueue(&stream, Memset::new(number.at(0), Value::U32(4), 1));
    append(&scene, &stream, &number, 2);
    enqueue(&stream, Copy::new(out.at(0), number.at(0), 4));
    drop(number);
    let graph = builder.end().expect("a graph");
    let expected = [NodeType::Allocation, NodeType::Memset, NodeType::Kernel, NodeType::Copy, NodeType::Free];
    assert_eq!(types(&graph), expected);
    let exec = scene.instantiate(&graph);
    scene.launch(&exec);
    scene.launch(&exec);
    assert_eq!(scene.read(&out), 42);
}

/// What the graph does not free is there after a launch.
#[test]
fn what_is_not_freed_is_read_afterwards() {
    let scene = Scene::new();
    let resource = Resource::graph(scene.context.device());
    let (builder, stream) = begun(&scene);
    let number = Buffer::create(&resource, 4, Some(&stream)).expect("memory of the graph");
    enqueue(&stream, Memset::new(number.at(0), Value::U32(7), 1));
    let graph = builder.end().expect("a graph");
    let mut options = ExecOptions::default();
    options.auto_free = true;
    let exec = Exec::create(&graph, &options, None).map_err(|failure| failure.error).expect("an exec");
    for _ in 0..2 {
        scene.launch(&exec);
        assert_eq!(scene.read(&number), 7);
    }
    let weak = Range::from(&number);
    drop(number);
    assert!(!is_there(&weak), "the graph does not keep it, nor it the graph");
    assert_eq!(
        types(&graph),
        [NodeType::Allocation, NodeType::Memset],
        "its end after the capture is no node"
    );
    scene.launch(&exec);
}

/// Pools, and memory of one's own, are no part of a graph; what was allocated before is not freed in it.
#[test]
fn other_memory_stays_outside() {
    let scene = Scene::new();
    let device = scene.context.device();
    let pool = Resource::device_pool(device, &DevicePoolOptions::default()).expect("a pool");
    let before = Buffer::create(&pool, 64, Some(&scene.stream)).expect("a buffer");
    let memory = DeviceMemory::allocate_on(&scene.stream, 64).expect("memory");
    let (number, mut options) = (scene.buffer(4), cushim::graph::BuilderOptions::default());
    options.mode = cushim::graph::CaptureMode::Global;
    let builder = cushim::graph::Builder::create_on(&scene.stream, &options).expect("a builder");
    builder.begin().expect("it begins");
    append(&scene, &scene.stream, &number, 1);
    refused(pool.allocate(64, Some(&scene.stream)), "being captured");
    refused(DeviceMemory::allocate_on(&scene.stream, 64), "being captured");
    drop(before);
    memory.free().expect("it is freed outside");
    // Nothing of the library's disturbs a capture, in any mode.
    let other = super::common::stream(&scene.context);
    let elsewhere = Buffer::create(&pool, 64, Some(&other)).expect("a buffer");
    drop(elsewhere);
    other.synchronize().expect("done");
    assert!(other.query().expect("done"));
    drop(scene.buffer_untouched(64));
    drop(scene.instantiate(&scene.graph()));
    let graph = builder.end().expect("the capture is valid");
    assert_eq!(types(&graph), [NodeType::Kernel]);
    scene.launch(&scene.instantiate(&graph));
    assert_eq!(scene.read(&number), 1);
}

/// The driver does not wait for what uses memory of a pool when it is freed outside of any stream: that is waited for.
#[test]
fn memory_is_freed_beside_a_capture_when_what_uses_it_is_done() {
    let scene = Scene::new();
    let memory = DeviceMemory::allocate_on(&scene.stream, 64).expect("memory");
    let (open, opened) = std::sync::mpsc::channel();
    let is_open = std::sync::Mutex::new(opened);
    let gate = move || is_open.lock().expect("one at a time").recv().expect("it is opened");
    scene.stream.launch_host_function(gate).expect("a gate");
    enqueue(&scene.stream, Memset::new(memory.at(0), Value::U32(3), 16));
    let builder = cushim::graph::Builder::create_on(&scene.stream, &Default::default()).expect("a builder");
    builder.begin().expect("it begins");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            open.send(()).expect("the gate waits");
        });
        memory.free().expect("it is freed outside");
    });
    drop(builder.end().expect("the capture is valid"));
    scene.stream.synchronize().expect("the memory was there");
}

/// Three pieces, of which the last takes the place of the first.
fn use_pieces(scene: &Scene, arena: &Resource, out: &Buffer) -> (cushim::graph::Graph, [u64; 3]) {
    let (builder, stream) = begun(scene);
    let piece = |bytes| Buffer::create(arena, bytes, Some(&stream)).expect("a piece");
    let (first, second) = (piece(1000), piece(100));
    enqueue(&stream, Memset::new(first.at(0), Value::U32(3), 1));
    enqueue(&stream, Copy::new(second.at(0), first.at(0), 4));
    let freed = first.pointer().0;
    drop(first);
    let third = piece(600);
    enqueue(&stream, Memset::new(third.at(0), Value::U32(5), 1));
    append(scene, &stream, &second, 1);
    enqueue(&stream, Copy::new(out.at(0), second.at(0), 4));
    let places = [freed, second.pointer().0, third.pointer().0];
    (builder.end().expect("a graph"), places)
}

#[test]
fn an_arena_serves_graphs_in_turn() {
    let scene = Scene::new();
    let out = scene.buffer(4);
    let measuring = Resource::arena(&scene.context, 0).expect("an arena");
    drop(use_pieces(&scene, &measuring, &out));
    let needed = measuring.arena_needed().expect("it is an arena");
    assert_eq!(needed, 1024 + 512);
    let arena = Resource::arena(&scene.context, needed as usize).expect("an arena");
    let ((one, places), (other, again)) =
        (use_pieces(&scene, &arena, &out), use_pieces(&scene, &arena, &out));
    assert_eq!(places, again, "each capture has the whole of it");
    assert_eq!(places[0], places[2], "what was freed is given out again");
    let clone = one.clone_graph().expect("there are no allocation nodes");
    drop(arena);
    let execs = [scene.instantiate(&one), scene.instantiate(&clone), scene.instantiate(&other)];
    drop((one, clone, other));
    for exec in &execs {
        scene.write(&out, 0);
        scene.launch(exec);
        assert_eq!(scene.read(&out), 31);
    }
    let small = Resource::arena(&scene.context, 512).expect("an arena");
    let (builder, stream) = begun(&scene);
    let refusal = Buffer::create(&small, 1000, Some(&stream)).expect_err("it is too small");
    assert_eq!(refusal.status, Status::OUT_OF_MEMORY, "{refusal}");
    assert!(refusal.message.contains("512 bytes") && refusal.message.contains("1024"), "{refusal}");
    Buffer::create(&small, 100, Some(&stream)).expect("this fits");
    builder.end().expect("valid");
}

/// What was freed is given out again where all uses of it come before, and not in a stream that may run at the same time.
#[test]
fn forks_share_an_arena() {
    let scene = Scene::new();
    let arena = Resource::arena(&scene.context, 4096).expect("an arena");
    let (builder, stream) = begun(&scene);
    let piece = |stream| {
        let piece = Buffer::create(&arena, 512, Some(stream)).expect("a piece");
        enqueue(stream, Memset::new(piece.at(0), Value::U32(1), 1));
        piece
    };
    let first = piece(&stream);
    let freed = first.pointer();
    drop(first);
    let forks = builder.fork(1).expect("a fork");
    let beside = forks[0].stream().expect("it captures");
    let other = piece(&beside);
    assert_eq!(other.pointer(), freed, "the fork comes after the first use");
    drop(other);
    let again = piece(&stream);
    assert_ne!(again.pointer(), freed, "the fork may use it now");
    builder.join(&[&forks[0]]).expect("joined");
    assert_eq!(piece(&stream).pointer(), freed, "not any more");
    builder.end().expect("a graph");
}
