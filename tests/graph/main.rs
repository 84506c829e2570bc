//! Graphs: built node by node, edited, copied, instantiated, launched; and what they keep alive until when.
//!
//! The tests run on softcuda; with `CUSHIM_DRIVER` in the environment, on the driver that it names.

#[path = "../common/mod.rs"]
mod common;

mod build;
mod builders;
mod builders_c;
mod captures;
mod changes;
mod children;
mod conditions;
mod edges;
mod execs;
mod graph_memory;
mod lifetimes;
mod lost;
mod refusals;
mod versions;

use common::{context, stream};
use cushim::graph::{Exec, ExecOptions, Graph, Node};
use cushim::kernel::{Image, Kernel, LaunchConfig, Library, LoadOptions};
use cushim::managed::Range;
use cushim::memory::{Buffer, Resource};
use cushim::op::node::{EventParameters, KernelParameters, Parameters};
use cushim::op::{Argument, Arguments, Copy, Endpoint, Launch, Memset, NodeOperation, Value};
use cushim::{Context, Owner, Stream, flush_callbacks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// `append(to, digit)`: makes the number at `to` ten times as large and adds the digit, so that it tells the order of kernels.
/// `add(to, from, n)`: adds the n numbers at `from` to those at `to`.
const KERNELS: &str = include_str!("kernels.ptx");

/// What a node that records an event, or waits for one, knows of it: that does not keep the event.
fn event_of(node: &Node) -> EventParameters {
    node.with_parameters(|parameters| match parameters {
        Parameters::EventRecord(event) | Parameters::EventWait(event) => event.clone(),
        other => panic!("{other:?}"),
    })
    .expect("known")
}

/// What a node that launches a kernel knows of it: that does not keep the kernel.
fn launch_of(node: &Node) -> KernelParameters {
    node.with_parameters(|parameters| match parameters {
        Parameters::Kernel(kernel) => kernel.clone(),
        other => panic!("{other:?}"),
    })
    .expect("known")
}

/// Whether a buffer is still there: a range of its memory knows it, and does not keep it.
fn is_there(range: &Range) -> bool {
    range.to_string().contains(" in buffer ")
}

struct Scene {
    context: Context,
    stream: Stream,
    library: Library,
}

impl Scene {
    fn new() -> Self {
        let context = context();
        let stream = stream(&context);
        let image = Image::new(KERNELS).expect("an image");
        let library = Library::load(&context, &image, &LoadOptions::default()).expect("a library");
        Self { context, stream, library }
    }

    fn kernel(&self, name: &str) -> Kernel {
        self.library.kernel(name).expect("it is there")
    }

    fn graph(&self) -> Graph {
        Graph::create(&self.context).expect("a graph")
    }

    /// A buffer of device memory, all zero.
    fn buffer(&self, bytes: usize) -> Buffer {
        let buffer = Buffer::create(&Resource::device(&self.context), bytes, None).expect("a buffer");
        // SAFETY: the buffer has so many bytes.
        unsafe { self.context.run(&mut Memset::new(buffer.at(0), Value::U8(0), bytes)) }.expect("a memset");
        buffer
    }

    /// A buffer of device memory, as it comes.
    fn buffer_untouched(&self, bytes: usize) -> Buffer {
        Buffer::create(&Resource::device(&self.context), bytes, None).expect("a buffer")
    }

    /// Adds a launch of `append`.
    fn append(&self, graph: &Graph, after: &[&Node], to: &Buffer, digit: u32) -> Node {
        let kernel = self.kernel("append");
        let mut arguments = Arguments::new();
        arguments.push(Argument::Endpoint(to.at(0))).push(digit);
        add(graph, after, &mut Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments))
    }

    fn instantiate(&self, graph: &Graph) -> Exec {
        Exec::create(graph, &ExecOptions::default(), None).map_err(|failure| failure.error).expect("an exec")
    }

    /// Launches it and waits.
    fn launch(&self, exec: &Exec) {
        // SAFETY: the graph keeps what it uses.
        unsafe { exec.launch(&self.stream) }.expect("launched");
        self.stream.synchronize().expect("done");
    }

    fn read(&self, buffer: &Buffer) -> u32 {
        self.read_at(buffer, 0)
    }

    fn read_at(&self, buffer: &Buffer, offset: u64) -> u32 {
        let mut number = 0_u32;
        // SAFETY: there are so many bytes.
        unsafe { self.context.run(&mut Copy::new(Endpoint::host(&raw mut number), buffer.at(offset), 4)) }
            .expect("copied");
        number
    }

    fn write(&self, buffer: &Buffer, number: u32) {
        // SAFETY: there are so many bytes.
        unsafe { self.context.run(&mut Memset::new(buffer.at(0), Value::U32(number), 1)) }.expect("set");
    }
}

/// Whether the driver is of this version, at least.
fn at_least(scene: &Scene, version: u32) -> bool {
    scene.context.driver().version().is_none_or(|known| known.number() >= version)
}

/// Adds a node.
fn add<O: NodeOperation>(graph: &Graph, after: &[&Node], operation: &mut O) -> Node {
    // SAFETY: the tests keep what the graph does not.
    unsafe { graph.add(after, operation) }.expect("added").0
}

/// An owner, and how often it was released.
#[derive(Clone)]
struct Counted(Arc<AtomicU32>);

impl Counted {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn owner(&self) -> Owner {
        let count = Arc::clone(&self.0);
        Owner::new(move || _ = count.fetch_add(1, SeqCst))
    }

    /// How often by now, with what the worker has yet to do.
    fn released(&self) -> u32 {
        assert!(flush_callbacks(Duration::from_secs(20)).expect("not inside"), "the worker is stuck");
        self.0.load(SeqCst)
    }

    /// How often, when it comes to that: drivers release what a launch used on a thread of their own, some time after.
    fn soon_released(&self) -> u32 {
        let start = Instant::now();
        while self.released() == 0 && start.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.released()
    }
}
