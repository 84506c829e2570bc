//! Owners: what an operation needs lives until it is done, and is released once.

use crate::*;
use cushim::Status;
use cushim::op::{HostFunction, Operation, Synchronous};
use std::sync::mpsc;

/// A stream that stands still until it is told to go on.
struct Held {
    stream: Stream,
    gate: mpsc::Sender<()>,
}

impl Held {
    fn new() -> Self {
        let stream = stream(&context());
        let (gate, wait) = mpsc::channel();
        stream.launch_host_function(move || _ = wait.recv()).expect("enqueued");
        Self { stream, gate }
    }

    fn go(self) {
        self.gate.send(()).expect("it waits");
        self.stream.synchronize().expect("done");
    }
}

/// The owner is released when the stream has passed the operation, and not before.
fn released_when_done<O: Operation<Output = ()>>(make: impl FnOnce(&Counted) -> O) {
    let owner = Counted::new();
    let mut operation = make(&owner);
    let held = Held::new();
    // SAFETY: the callers' memory has what is used, until the stream goes on below.
    unsafe { held.stream.enqueue(&mut operation) }.expect("enqueued");
    drop(operation);
    assert_eq!(owner.released(), 0, "the stream is not there yet");
    held.go();
    assert_eq!(owner.released(), 1);
}

/// The same for what is done at once.
fn released_at_once<O: Synchronous<Output = ()>>(make: impl FnOnce(&Counted) -> O) {
    let (owner, context) = (Counted::new(), context());
    let mut operation = make(&owner);
    // SAFETY: as above.
    unsafe { context.run(&mut operation) }.expect("done");
    assert_eq!(owner.released(), 1);
    drop(operation);
    assert_eq!(owner.released(), 1);
}

fn device_memory() -> DeviceMemory {
    DeviceMemory::allocate(&context(), 256).expect("memory")
}

#[test]
fn of_copies() {
    let memory = device_memory();
    let within = |owner: &Counted| Copy::new(memory.at(0).owned_by(owner.owner()), memory.at(128), 64);
    released_when_done(within);
    released_at_once(within);
    let source = |owner: &Counted| Copy::new(memory.at(0), memory.at(128).owned_by(owner.owner()), 64);
    released_when_done(source);
    released_at_once(source);
    let boxed = |owner: &Counted| {
        let to = Region::new(memory.at(0).owned_by(owner.owner()), 8);
        Copy3d::new(to, Region::new(memory.at(128), 8), Extent::rectangle(8, 8))
    };
    released_when_done(boxed);
    released_at_once(boxed);
}

#[test]
fn of_a_batch() {
    let memory = device_memory();
    let (first, second) = (Counted::new(), Counted::new());
    let held = Held::new();
    let mut copies =
        [&first, &second].map(|owner| Copy::new(memory.at(0).owned_by(owner.owner()), memory.at(128), 64));
    // SAFETY: the memory lasts until the stream goes on below.
    unsafe { held.stream.enqueue(&mut CopyBatch::new(&mut copies, &[])) }.expect("enqueued");
    assert_eq!((first.released(), second.released()), (0, 0));
    held.go();
    assert_eq!((first.released(), second.released()), (1, 1));
}

#[test]
fn of_memsets() {
    let memory = device_memory();
    let set = |owner: &Counted| Memset::new(memory.at(0).owned_by(owner.owner()), Value::U8(1), 64);
    released_when_done(set);
    released_at_once(set);
}

#[test]
fn of_launches() {
    let (context, memory) = (context(), device_memory());
    let (kernel, config) = (taking_a_pointer(&context), cushim::kernel::LaunchConfig::new(1, 1));
    for by_endpoint in [false, true] {
        let owner = Counted::new();
        let mut arguments = Arguments::new();
        if by_endpoint {
            arguments.push(memory.at(0).owned_by(owner.owner()));
        } else {
            arguments.push(Argument::Owned(memory.pointer(), owner.owner()));
        }
        let held = Held::new();
        // SAFETY: the kernel takes a pointer, and does nothing with it.
        unsafe { held.stream.enqueue(&mut Launch::new(&kernel, &config, &mut arguments)) }.expect("enqueued");
        drop(arguments);
        assert_eq!(owner.released(), 0, "the stream is not there yet");
        held.go();
        assert_eq!(owner.released(), 1);
    }
}

/// A function that can be called often may be enqueued often; its owner goes with the first.
#[test]
fn of_host_functions() {
    released_when_done(|owner| HostFunction::once(|| ()).owned_by(owner.owner()));
    let (calls, owner) = (Arc::new(AtomicU32::new(0)), Counted::new());
    let counter = Arc::clone(&calls);
    let mut function = HostFunction::new(move || _ = counter.fetch_add(1, SeqCst)).owned_by(owner.owner());
    let stream = stream(&context());
    for _ in 0..3 {
        // SAFETY: the function owns what it uses.
        unsafe { stream.enqueue(&mut function) }.expect("enqueued");
    }
    stream.synchronize().expect("done");
    assert_eq!((calls.load(SeqCst), owner.released()), (3, 1));
}

/// What is refused keeps its owner, which goes with the operation.
#[test]
fn what_is_refused_keeps_its_owner() {
    let (memory, owner) = (device_memory(), Counted::new());
    let (context, stream) = (context(), stream(&context()));
    let null = Endpoint::device(DevicePointer::NULL);
    let mut copy = Copy::new(memory.at(0).owned_by(owner.owner()), null, 64);
    // SAFETY: both are refused.
    let errors = unsafe { [stream.enqueue(&mut copy), context.run(&mut copy)] };
    for error in errors {
        assert_eq!(error.expect_err("NULL").status, Status::INVALID_ARGUMENT);
    }
    assert_eq!(owner.released(), 0);
    drop(copy);
    assert_eq!(owner.released(), 1);
    // The same if the driver refuses.
    let owner = Counted::new();
    let beyond = Endpoint::device(memory.pointer().offset(255).expect("an address"));
    let mut copy = Copy::new(memory.at(0).owned_by(owner.owner()), beyond, 64);
    // SAFETY: the driver refuses what reaches past the end of its memory.
    let error = unsafe { stream.enqueue(&mut copy) }.expect_err("past the end");
    assert_eq!((error.driver_code, owner.released()), (1, 0), "{error}");
    drop(copy);
    assert_eq!(owner.released(), 1);
}

/// The bytes are those at the time when the endpoint was made.
#[test]
fn bytes_are_kept() {
    let (memory, held) = (device_memory(), Held::new());
    let mut bytes = [1u8; 64];
    let mut copy = Copy::new(memory.at(0), Endpoint::bytes(&bytes), 64);
    bytes.fill(2);
    // SAFETY: the memory lasts until the stream is done.
    unsafe { held.stream.enqueue(&mut copy) }.expect("enqueued");
    drop(copy);
    held.go();
    // SAFETY: both ends have so many bytes.
    unsafe { context().run(&mut Copy::new(Endpoint::host(&mut bytes), memory.at(0), 64)) }.expect("copied");
    assert_eq!(bytes, [1; 64]);
}
