//! Nodes are changed, in definitions and in execs; buffers are replaced, and parameters set.

use super::{Counted, Scene, add, at_least, is_there};
use cushim::Status;
use cushim::kernel::LaunchConfig;
use cushim::managed::Range;
use cushim::memory::Buffer;
use cushim::op::node::{ArgumentChange, KernelChange, Parameters};
use cushim::op::{Argument, Arguments, Copy, Endpoint, HostFunction, Launch, Memset, Value};
use std::sync::Arc;

#[test]
fn a_definition_changes_for_later_execs() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let node = scene.append(&graph, &[], &number, 1);
    let before = scene.instantiate(&graph);
    let mut digit = Arguments::new();
    digit.push(2_u32);
    // SAFETY: numbers alone.
    unsafe { node.set(&mut ArgumentChange::new(1, &mut digit)) }.expect("changed");
    let after = scene.instantiate(&graph);
    scene.launch(&before);
    scene.launch(&after);
    assert_eq!(scene.read(&number), 12);
}

#[test]
fn an_exec_keeps_what_is_not_named() {
    let scene = Scene::new();
    let (graph, number, other) = (scene.graph(), scene.buffer(4), scene.buffer(4));
    let node = scene.append(&graph, &[], &number, 1);
    let (exec, second) = (scene.instantiate(&graph), scene.instantiate(&graph));
    let mut digit = Arguments::new();
    digit.push(2_u32);
    // SAFETY: numbers alone; the buffer is kept.
    unsafe { exec.set(&node, &mut ArgumentChange::new(1, &mut digit)) }.expect("changed");
    let mut place = Arguments::new();
    place.push(Argument::Endpoint(other.at(0)));
    // SAFETY: as above.
    unsafe { exec.set(&node, &mut ArgumentChange::new(0, &mut place)) }.expect("changed");
    scene.launch(&exec);
    assert_eq!((scene.read(&number), scene.read(&other)), (0, 2), "each change counts");
    scene.launch(&second);
    assert_eq!((scene.read(&number), scene.read(&other)), (1, 2), "the other is as it was");
    exec.with_parameters(&node, |parameters| {
        let Parameters::Kernel(kernel) = parameters else { panic!("{parameters:?}") };
        assert_eq!(kernel.arguments().bytes(1), Some(&2_u32.to_ne_bytes()[..]));
        assert_eq!(kernel.arguments().buffer(0).as_ref(), Some(&other));
    })
    .expect("known");
    drop(graph);
    let config = LaunchConfig::new(1, 1);
    // SAFETY: as above.
    unsafe { exec.set(&node, &mut KernelChange::new().config(&config)) }
        .expect("changed without the definition");
}

#[test]
fn another_kernel_needs_arguments() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(8));
    let node = scene.append(&graph, &[], &number, 1);
    let exec = scene.instantiate(&graph);
    let kernel = scene.kernel("add");
    // SAFETY: it is refused.
    let refusal =
        unsafe { exec.set(&node, &mut KernelChange::new().kernel(&kernel)) }.expect_err("no arguments");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    scene.write(&number, 4);
    let mut arguments = Arguments::new();
    arguments.push(Argument::Endpoint(number.at(4))).push(Argument::Endpoint(number.at(0))).push(1_u32);
    let mut change = KernelChange::new().kernel(&kernel).arguments(&mut arguments);
    // SAFETY: the buffer is kept.
    unsafe { exec.set(&node, &mut change) }.expect("another kernel");
    scene.launch(&exec);
    assert_eq!((scene.read_at(&number, 0), scene.read_at(&number, 4)), (4, 4));
}

#[test]
fn a_change_of_another_type_is_refused() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let node = scene.append(&graph, &[], &number, 1);
    let exec = scene.instantiate(&graph);
    let mut set = Memset::new(number.at(0), Value::U32(3), 1);
    // SAFETY: they are refused.
    unsafe {
        assert_eq!(node.set(&mut set).expect_err("a kernel").status, Status::INVALID_ARGUMENT);
        assert_eq!(exec.set(&node, &mut set).expect_err("a kernel").status, Status::INVALID_ARGUMENT);
    }
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 1);
}

#[test]
fn a_removed_node_is_not_updated() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let node = scene.append(&graph, &[], &number, 1);
    node.set_label(Some("first"));
    let exec = scene.instantiate(&graph);
    node.remove().expect("it goes");
    let mut digit = Arguments::new();
    digit.push(2_u32);
    // SAFETY: it is refused.
    let refusal = unsafe { exec.set(&node, &mut ArgumentChange::new(1, &mut digit)) }.expect_err("removed");
    assert!(refusal.message.contains("first"), "{refusal}");
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 1);
}

#[test]
fn copies_and_memsets_and_functions_change_in_an_exec() {
    let scene = Scene::new();
    let (graph, a, b) = (scene.graph(), scene.buffer(8), scene.buffer(8));
    let set = add(&graph, &[], &mut Memset::new(a.at(0), Value::U32(1), 2));
    let copy = add(&graph, &[&set], &mut Copy::new(b.at(0), a.at(0), 4));
    let counted = Counted::new();
    let function = add(&graph, &[&copy], &mut HostFunction::new(|| ()));
    let exec = scene.instantiate(&graph);
    let count = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let called = Arc::clone(&count);
    let mut other = HostFunction::new(move || _ = called.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
    other = other.owned_by(counted.owner());
    // SAFETY: buffers are kept.
    unsafe {
        exec.set(&set, &mut Memset::new(a.at(0), Value::U32(8), 2)).expect("a memset");
        exec.set(&copy, &mut Copy::new(b.at(4), a.at(0), 4)).expect("a copy");
        exec.set(&function, &mut other).expect("a function");
    }
    scene.launch(&exec);
    assert_eq!((scene.read_at(&b, 0), scene.read_at(&b, 4)), (0, 8));
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(counted.released(), 0);
    drop(exec);
    assert_eq!(counted.soon_released(), 1);
}

#[test]
fn buffers_are_replaced_everywhere() {
    let scene = Scene::new();
    let (graph, child, old, new) = (scene.graph(), scene.graph(), scene.buffer(64), scene.buffer(64));
    let out = scene.buffer(8);
    scene.append(&child, &[], &old, 4);
    let kernel = scene.append(&graph, &[], &old, 3);
    let (node, _) = graph.add_child(&[&kernel], &child).expect("a child");
    let set = add(&graph, &[&node], &mut Memset::new(old.at(8), Value::U32(7), 1));
    let copy = add(&graph, &[&set], &mut Copy::new(out.at(0), old.at(0), 4));
    add(&graph, &[&copy], &mut Copy::new(out.at(4), old.at(8), 4));
    let exec = scene.instantiate(&graph);
    // SAFETY: both are kept.
    let count = unsafe { exec.rebind(&old, &new) };
    if !at_least(&scene, 12020) && count.is_err() {
        return; // nodes of children are not to be reached there
    }
    assert_eq!(count.expect("all of them"), 5);
    let weak = Range::from(&old);
    scene.launch(&exec);
    assert_eq!((scene.read_at(&out, 0), scene.read_at(&out, 4)), (34, 7));
    assert_eq!((scene.read(&old), scene.read(&new)), (0, 34));
    drop((graph, kernel, node, set, copy, child, old));
    drop(exec);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
    while is_there(&weak) && std::time::Instant::now() < end {
        cushim::flush_callbacks(std::time::Duration::from_secs(1)).expect("not inside");
    }
    assert!(!is_there(&weak), "nobody keeps it any more");
}

#[test]
fn a_buffer_too_small_is_refused() {
    let scene = Scene::new();
    let (graph, old, small) = (scene.graph(), scene.buffer(64), scene.buffer(4));
    scene.append(&graph, &[], &old, 1);
    let exec = scene.instantiate(&graph);
    // SAFETY: it is refused.
    let refusal = unsafe { exec.rebind(&old, &small) }.expect_err("smaller");
    assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    scene.launch(&exec);
    assert_eq!((scene.read(&old), scene.read(&small)), (1, 0));
}

/// A launch of `append` whose digit has a name.
fn named(
    scene: &Scene,
    graph: &cushim::graph::Graph,
    after: &[&cushim::graph::Node],
    to: &Buffer,
) -> cushim::graph::Node {
    let (kernel, digit) = (scene.kernel("append"), 1_u32.to_ne_bytes());
    let mut arguments = Arguments::new();
    arguments.push(Argument::Endpoint(to.at(0)));
    arguments.push(Argument::Parameter("digit", &digit));
    add(graph, after, &mut Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments))
}

#[test]
fn parameters_are_set_for_all_nodes() {
    let scene = Scene::new();
    let (graph, number) = (scene.graph(), scene.buffer(4));
    let first = named(&scene, &graph, &[], &number);
    named(&scene, &graph, &[&first], &number);
    let exec = scene.instantiate(&graph);
    // SAFETY: a number.
    assert_eq!(unsafe { exec.set_parameter("digit", &6_u32.to_ne_bytes()) }.expect("it is there"), 2);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 66);
    // SAFETY: they are refused.
    unsafe {
        let refusal = exec.set_parameter("digits", &6_u32.to_ne_bytes()).expect_err("no such one");
        assert!(refusal.message.contains("digits"), "{refusal}");
        exec.set_parameter("digit", &[1, 2]).expect_err("another size");
    }
    scene.write(&number, 0);
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 66);
    let mut host = 0_u64;
    let _ = Endpoint::host(&raw mut host);
}

#[test]
fn a_child_is_another_graph_in_an_exec() {
    let scene = Scene::new();
    let (graph, child, other, number) = (scene.graph(), scene.graph(), scene.graph(), scene.buffer(4));
    let first = scene.append(&child, &[], &number, 1);
    scene.append(&child, &[&first], &number, 2);
    let (node, embedded) = graph.add_child(&[], &child).expect("a child");
    let (exec, second) = (scene.instantiate(&graph), scene.instantiate(&graph));
    let counted = Counted::new();
    let kernel = scene.kernel("append");
    let (config, digit) = (LaunchConfig::new(1, 1), 7_u32);
    let mut arguments = Arguments::new();
    arguments
        .push(Argument::Endpoint(Endpoint::device(number.pointer()).owned_by(counted.owner())))
        .push(digit);
    let third = add(&other, &[], &mut Launch::new(&kernel, &config, &mut arguments));
    scene.append(&other, &[&third], &number, 8);
    // SAFETY: the graph keeps what it uses; the other call is refused.
    unsafe {
        exec.set_child(&node, &other).expect("the same nodes and edges");
        let refusal = exec.set_child(&third, &other).expect_err("another graph's node");
        assert_eq!(refusal.status, Status::INVALID_ARGUMENT, "{refusal}");
    }
    drop((other, third));
    scene.launch(&exec);
    assert_eq!(scene.read(&number), 78);
    scene.launch(&second);
    assert_eq!(scene.read(&number), 7812);
    let inner = embedded.nodes().expect("nodes").remove(0);
    exec.with_parameters(&inner, |parameters| {
        let Parameters::Kernel(kernel) = parameters else { panic!("{parameters:?}") };
        assert_eq!(kernel.arguments().bytes(1), Some(&7_u32.to_ne_bytes()[..]));
    })
    .expect("known");
    let larger = scene.graph();
    scene.append(&larger, &[], &number, 9);
    // SAFETY: it is refused.
    let refusal = unsafe { exec.set_child(&node, &larger) }.expect_err("one node");
    assert_ne!(refusal.driver_code, 0, "{refusal}");
    scene.write(&number, 0);
    scene.launch(&exec);
    assert_eq!((scene.read(&number), counted.released()), (78, 0));
    drop(exec);
    assert_eq!(counted.soon_released(), 1);
}
