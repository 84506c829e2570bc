//! Captures beside what other threads do with their events, with each thread at a certain place.

use super::{Builder, BuilderOptions};
use crate::context::Context;
use crate::event::{Event, EventOptions};
use crate::graph::{Exec, ExecOptions, Graph};
use crate::memory::{Buffer, Resource};
use crate::object::callback::{Owner, flush_callbacks};
use crate::object::handle::Shared as _;
use crate::op::capture::Sink;
use crate::op::{HostFunction, Memset, Value};
use crate::stream::{CapturedBy, Stream, StreamOptions};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

struct Scene {
    builder: Builder,
    stream: Stream,
    event: Event,
    releases: Arc<AtomicU32>,
}

impl Scene {
    fn new() -> Self {
        let context = Context::on_softcuda();
        let builder = Builder::create(&context, &BuilderOptions::default()).expect("there is room");
        builder.begin().expect("it begins");
        let stream = Stream::create(&context, &StreamOptions::default()).expect("there is room");
        let event = Event::create(&context, &EventOptions::default()).expect("there is room");
        Self { builder, stream, event, releases: Arc::default() }
    }

    fn captured(&self) -> Stream {
        self.builder.stream().expect("it captures")
    }

    /// Calls a function in the stream that is not the builder's.
    fn call(&self) {
        let releases = Arc::clone(&self.releases);
        let owner = Owner::new(move || _ = releases.fetch_add(1, SeqCst));
        // SAFETY: the function needs nothing.
        unsafe { self.stream.enqueue(&mut HostFunction::new(|| ()).owned_by(owner)) }.expect("it is taken");
    }

    fn is_ours(&self) -> bool {
        matches!(self.stream.captured_by::<Sink>(), Ok(CapturedBy::Us(_)))
    }

    fn released(&self) -> u32 {
        assert_eq!(flush_callbacks(Duration::from_secs(20)), Ok(true));
        self.releases.load(SeqCst)
    }

    fn ends_with(self, nodes: usize) {
        let graph = self.builder.end().expect("all is joined");
        assert_eq!(graph.nodes().expect("it is there").len(), nodes);
        drop(graph);
        let Self { builder, releases, stream, event } = self;
        drop((builder, event));
        assert_eq!(flush_callbacks(Duration::from_secs(20)), Ok(true));
        assert_eq!(releases.load(SeqCst), 1);
        stream.synchronize().expect("nothing captures it");
        stream.context().synchronize().expect("nothing captures");
    }
}

/// Another thread's launch has recorded the event, too, and says so after a capture's record, which came last.
#[test]
fn a_stream_that_the_driver_has_made_part_of_a_capture_is_known_to_be() {
    let scene = Scene::new();
    scene.event.record(&scene.captured()).expect("it is captured");
    scene.event.is_not_captured();
    scene.stream.wait_event(&scene.event).expect("it waits");
    assert!(scene.is_ours());
    scene.call();
    assert_eq!(scene.released(), 0);
    scene.captured().wait_stream(&scene.stream).expect("it is joined");
    scene.ends_with(1);
}

/// The same where the capture's record comes between the question whether there was one and the wait.
#[test]
fn a_wait_that_came_just_after_the_first_record_of_a_capture_joins_it() {
    let scene = Scene::new();
    scene.event.record(&scene.captured()).expect("it is captured");
    scene.stream.here(|raw| raw.wait(scene.event.raw())).expect("it waits");
    assert!(!scene.is_ours());
    crate::op::capture::may_have_joined(&scene.stream).expect("the driver tells");
    assert!(scene.is_ours());
    crate::op::capture::may_have_joined(&scene.stream).expect("the driver tells");
    scene.call();
    scene.captured().wait_stream(&scene.stream).expect("it is joined");
    scene.ends_with(1);
}

/// Another thread has recorded the event elsewhere, and did not say so yet.
#[test]
fn a_stream_that_waits_for_work_is_no_part_of_a_capture_whatever_the_event_was_before() {
    let scene = Scene::new();
    scene.event.record(&scene.captured()).expect("it is captured");
    let other = Stream::create(scene.stream.context(), &StreamOptions::default()).expect("there is room");
    other.here(|raw| scene.event.raw().record(raw)).expect("it is recorded");
    scene.stream.wait_event(&scene.event).expect("it waits");
    assert!(!scene.is_ours());
    scene.call();
    scene.stream.synchronize().expect("nothing captures it");
    assert_eq!(scene.released(), 1);
    scene.ends_with(0);
}

/// What captures have recorded once, later records tell right of, too.
#[test]
fn an_event_of_captures_stands_for_work_again() {
    let scene = Scene::new();
    scene.event.record(&scene.captured()).expect("it is captured");
    assert!(scene.event.query().is_err());
    scene.event.record(&scene.stream).expect("it is recorded");
    scene.event.synchronize().expect("it stands for work");
    scene.call();
    scene.stream.wait_event(&scene.event).expect("it waits");
    assert!(!scene.is_ours());
    assert!(scene.captured().wait_event(&scene.event).is_err());
    scene.stream.synchronize().expect("nothing captures it");
    scene.ends_with(0);
}

/// A recapture refuses graphs with graphs in them, and nobody adds one meanwhile; what is part of a graph asks for the whole all the same.
#[test]
fn what_is_part_of_a_graph_is_not_used_while_the_whole_is_recaptured() {
    let scene = Scene::new();
    let graph = || Graph::create(scene.stream.context()).expect("there is room");
    let (whole, other) = (graph(), graph());
    let (node, child) = whole.add_child(&[], &other).expect("it is embedded");
    let copy = whole.clone_graph().expect("it is copied");
    whole.object.set_captured(true);
    assert!(child.nodes().is_err() && child.edges().is_err() && child.native().is_err());
    assert!(child.clone_graph().is_err() && other.add_child(&[], &child).is_err());
    assert!(child.add_child(&[], &other).is_err());
    assert!(child.add_edges(&[]).is_err() && node.remove().is_err());
    let exec = Exec::create(&copy, &ExecOptions::default(), None).expect("it is instantiated");
    let node = copy.nodes().expect("it is there").remove(0);
    // SAFETY: nothing is used.
    assert!(unsafe { exec.set_child(&node, &child) }.is_err());
    whole.object.set_captured(false);
    assert_eq!(child.nodes().expect("it is there").len(), 0);
    // SAFETY: as above.
    unsafe { exec.set_child(&node, &child) }.expect("they are alike");
    assert!(child.add_child(&[], &other).is_ok());
}

/// What a graph keeps of memory that is its own, or an arena's, is neither the buffer nor the resource.
#[test]
fn a_graph_keeps_no_resource_from_which_its_capture_allocates() {
    let scene = Scene::new();
    let (context, stream) = (scene.stream.context(), scene.captured());
    let graphs = Resource::graph(context.device());
    let arena = Resource::arena(context, 4096).expect("there is room");
    let resources = [graphs.downgrade(), arena.downgrade()];
    let buffers = [graphs, arena].map(|resource| {
        let buffer = Buffer::create(&resource, 4, Some(&stream)).expect("there is room");
        // SAFETY: there are four bytes.
        unsafe { stream.enqueue(&mut Memset::new(buffer.at(0), Value::U32(7), 1)) }.expect("it is captured");
        buffer.downgrade()
    });
    let graph = scene.builder.end().expect("all is joined");
    assert!(!buffers.iter().any(|buffer| buffer.is_there()), "the capture does not keep the buffers");
    assert!(!resources.iter().any(|resource| resource.is_there()), "nor does the graph the resources");
    assert_eq!(graph.nodes().expect("it is there").len(), 4);
}
