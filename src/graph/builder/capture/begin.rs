//! How captures begin: into a new graph, a conditional node's body, or a graph whose nodes take over what is captured.

use super::super::branches::Branches;
use super::super::mode::CaptureMode;
use super::super::name::Name;
use super::counted::{Counted, PATIENCE, let_others_leave};
use super::{Capture, Parts};
use crate::driver::calls::graph::capture as calls;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::CUgraph;
use crate::driver::{CallError, Table};
use crate::graph::Graph;
use crate::graph::definition::Tree;
use crate::graph::relations;
use crate::object::error::Error;
use crate::object::owning::Ownership;
use crate::object::slot::Exposed;
use crate::object::thread::ThreadId;
use crate::op::capture::{Sink, info, known};
use crate::stream::{Blocking, Stream};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Weak};

/// A body of a conditional node that was captured.
pub(in crate::graph::builder) struct Body {
    pub(in crate::graph::builder) graph: Graph,
    /// The capture that the node is part of.
    pub(in crate::graph::builder) outer: Weak<Capture>,
}

/// What a capture goes into.
pub(in crate::graph::builder) enum Target<'a> {
    New,
    Body(&'a Body),
    /// A graph whose nodes take over what is captured.
    Again(&'a Graph),
}

/// A capture that is about to begin.
pub(super) struct Beginning<'a> {
    pub(super) stream: &'a Stream,
    pub(super) mode: CaptureMode,
    is_again: bool,
    builder: &'a Arc<Name>,
    outer: Weak<Capture>,
}

impl Capture {
    /// Begins to capture a stream.
    pub(in crate::graph::builder) fn begin(
        stream: &Stream,
        mode: CaptureMode,
        target: Target<'_>,
        builder: &Arc<Name>,
    ) -> Result<Arc<Self>, Error> {
        if stream.is_capturing()? {
            return Err(stream.under_capture("is captured once at a time"));
        }
        let is_again = matches!(target, Target::Again(_));
        let outer = if let Target::Body(body) = target { Weak::clone(&body.outer) } else { Weak::new() };
        let beginning = Beginning { stream, mode, is_again, builder, outer };
        match target {
            Target::New => beginning.into_new(),
            Target::Body(body) => beginning.into_body(body),
            Target::Again(graph) => beginning.into_again(graph),
        }
    }
}

impl Beginning<'_> {
    /// Has the driver begin: as soon as it has, the capture has the stream. The native graph is what is captured into.
    pub(super) fn begin(
        &self,
        begin: impl FnOnce() -> Result<(Graph, CUgraph), Error>,
    ) -> Result<Arc<Capture>, Error> {
        self.stream.capture_begins(|Blocking(is_blocking)| {
            // Before the driver knows of it, so that no query in between invalidates it.
            let counted = Counted::new(self.stream, is_blocking, PATIENCE);
            let_others_leave(self.stream, PATIENCE);
            let (graph, native) = begin()?;
            let capture = self.capture(graph, is_blocking);
            counted.stay();
            known::began(native, capture.weak());
            let sink = Arc::new(Sink(Arc::<Capture>::clone(&capture)));
            Ok((capture, sink as Arc<dyn Exposed>))
        })
    }

    fn capture(&self, graph: Graph, is_blocking: bool) -> Arc<Capture> {
        let number = if self.is_again { Tree::new_number() } else { graph.definition.tree.number() };
        Arc::new_cyclic(|this| Capture {
            graph,
            stream: self.stream.clone(),
            mode: self.mode,
            is_blocking,
            is_again: self.is_again,
            number,
            thread: ThreadId::current(),
            over: AtomicBool::new(false),
            is_broken: AtomicBool::new(false),
            last: AtomicU32::new(0),
            parts: Mutex::new(Parts::default()),
            branches: Mutex::new(Branches::of(self.stream)),
            builder: Arc::clone(self.builder),
            outer: Weak::clone(&self.outer),
            this: Weak::clone(this),
        })
    }

    /// Into a new graph, which belongs to the driver until the end.
    fn into_new(self) -> Result<Arc<Capture>, Error> {
        let (stream, table) = (self.stream, self.stream.context().table());
        let capture = self.begin(|| {
            stream.here(|raw| calls::begin(table, raw, self.mode.raw()))?;
            let begun = info(stream).inspect_err(|_| {
                destroy_unused(table, calls::end(table, stream.raw()));
            })?;
            // SAFETY: the driver has just named it.
            let native = unsafe { RawGraph::adopt(table, begun.graph) };
            let graph = Graph::new(stream.context(), native, Ownership::Borrowed);
            let mut state = graph.definition.tree.lock();
            state.is_new = true;
            state.is_shared = stream.may_be_known_to_others();
            // Nodes are captured after those that are there.
            state.graph_mut(graph.object.id).is_ordered = true;
            drop(state);
            Ok((graph, begun.graph))
        })?;
        // Nobody can end it before its builder has it.
        let mut state = capture.tree().lock_unasked();
        state.graph_mut(capture.object().id).captured_by = Some(capture.as_recorder());
        drop(state);
        Ok(capture)
    }

    /// Into a body, after the nodes that are in it. The definition is locked until the capture around it knows of this one, so that
    /// whoever ends that ends this first.
    fn into_body(self, body: &Body) -> Result<Arc<Capture>, Error> {
        let (stream, table, graph) = (self.stream, self.stream.context().table(), &body.graph);
        let mut state = graph.lock()?;
        if stream.may_be_known_to_others() {
            graph.definition.tree.share(&mut state)?;
        }
        let known = &state.graph(graph.object.id).native;
        let failed = |error| stream.context().failed(error, graph.object.as_ref());
        let after = known.leaves().map_err(failed)?;
        let native = known.handle();
        let capture = self.begin(|| {
            // SAFETY: the nodes are the body's, which the lock keeps.
            unsafe { calls::begin_to_graph(table, stream.raw(), native, &after, self.mode.raw()) }
                .map_err(failed)?;
            Ok((graph.clone(), native))
        })?;
        state.graph_mut(graph.object.id).captured_by = Some(capture.as_recorder());
        if let Some(outer) = body.outer.upgrade() {
            outer.parts.lock().inner.push(Arc::clone(&capture));
        }
        drop(state);
        Ok(capture)
    }
}

/// Destroys the graph of a capture that has ended, which nobody knows.
pub(super) fn destroy_unused(table: &'static Table, ended: Result<CUgraph, CallError>) {
    if let Ok(native) = ended {
        // It may hold copies of other graphs, which know of them.
        let _relatives = relations::changed();
        // SAFETY: the driver has just given it, and nobody knows it any more.
        let _ = unsafe { RawGraph::adopt(table, native).destroy() };
    }
}
