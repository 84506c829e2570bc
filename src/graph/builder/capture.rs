//! One capture of the driver's, and what it does with operations: each becomes a node of a definition that is locked meanwhile, so
//! that what came last in a stream is what was just captured.

mod begin;
mod recapture;

use super::hybrid::Body;
use super::member::{self, Joined, Member, Unjoined};
use super::{Builder, CaptureMode};
use crate::context::Context;
use crate::driver::calls::graph::capture::{self as calls, RawCapture};
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::{
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUgraph, CUgraphNode,
};
use crate::driver::{CallError, Table};
use crate::event::Event;
use crate::graph::object::GraphObject;
use crate::graph::state::{NodeId, NodeState, State};
use crate::graph::tree::Tree;
use crate::graph::{Graph, GraphKind, Node, condition, foreign, keeping, relations, restriction};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::object::thread::ThreadId;
use crate::op::attachment::{Attachment, Prepared};
use crate::op::capture::{
    Capturable, CaptureSink, Captured, OUTSIDE, Recorded, Sink, Under, ended, is_valid, known,
};
use crate::op::event::Awaited;
use crate::op::node::Parameters;
use crate::stream::Stream;
use begin::{begin_body, begin_new, destroy_unused, leaves};
use parking_lot::{Mutex, MutexGuard};
use recapture::begin_again;
use std::collections::HashSet;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// What a capture goes into.
pub(super) enum Target<'a> {
    New,
    Body(&'a Body),
    /// A graph whose nodes take over what is captured.
    Again(&'a Graph),
}

/// A capture that is under way, or is over.
pub(in crate::graph) struct Capture {
    /// What is captured into.
    pub(super) graph: Graph,
    stream: Arc<Stream>,
    mode: CaptureMode,
    /// Whether the stream waits for the legacy default stream.
    is_blocking: bool,
    /// Whether the graph was there, and its nodes take over what is captured.
    is_again: bool,
    /// That of the definition; another one if it is recaptured, for what was captured before is replaced.
    number: u64,
    thread: ThreadId,
    over: AtomicBool,
    /// Whether it is known to be invalid; `Parts` says why.
    is_broken: AtomicBool,
    /// The number of the node that was captured last, and one more; 0: none.
    last: AtomicU32,
    parts: Mutex<Parts>,
    builder: Weak<Builder>,
    this: Weak<Self>,
}

/// What changes while it captures. Whoever needs the lock of the definition, too, takes that first.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    /// Captures of bodies of conditional nodes in it, also those that are over: conditional nodes in them are captured later, perhaps.
    inner: Vec<Arc<Capture>>,
    /// The nodes that were recaptured, and what they kept before.
    taken: HashSet<NodeId>,
    replaced: Vec<Attachment>,
    /// Why it is not valid any more.
    broken: Option<String>,
    /// Whether that is because a graph was recaptured, and another operation was there before.
    differs: bool,
}

/// Nothing of this library captures the stream any more.
pub(super) fn sink_ends(stream: &Stream) {
    stream.capture_ends();
}

impl Capture {
    /// Begins to capture a stream.
    pub(super) fn begin(
        stream: &Arc<Stream>,
        mode: CaptureMode,
        target: Target<'_>,
        builder: &Weak<Builder>,
    ) -> Result<Arc<Self>, Error> {
        if stream.is_capturing()? {
            return Err(stream.under_capture("is captured once at a time"));
        }
        let is_blocking = !stream.is_non_blocking()?;
        // Before the driver knows of it, so that no query in between invalidates it.
        stream.context().capture_began();
        let is_again = matches!(target, Target::Again(_));
        let capture_into = |graph: Graph| {
            let number = if is_again { Tree::new_number() } else { graph.definition.tree.number() };
            Arc::new_cyclic(|this| Self {
                graph,
                stream: Arc::clone(stream),
                mode,
                is_blocking,
                is_again,
                number,
                thread: ThreadId::current(),
                over: AtomicBool::new(false),
                is_broken: AtomicBool::new(false),
                last: AtomicU32::new(0),
                parts: Mutex::default(),
                builder: Weak::clone(builder),
                this: Weak::clone(this),
            })
        };
        let begun = match target {
            Target::New => begin_new(stream, mode, capture_into),
            Target::Body(body) => begin_body(stream, mode, capture_into(body.graph.clone())),
            Target::Again(graph) => begin_again(stream, mode, graph).map(capture_into),
        };
        let capture = begun.inspect_err(|_| stream.context().capture_ended())?;
        if let Target::Body(Body { outer, .. }) = target
            && let Some(outer) = outer.upgrade()
        {
            outer.parts.lock().inner.push(Arc::clone(&capture));
        }
        if is_blocking {
            stream.context().blocking_stream_captured();
        }
        stream.capture_begins(Arc::new(Sink(Arc::<Self>::clone(&capture))));
        known::began(capture.native(), capture.weak());
        Ok(capture)
    }

    /// The driver's graph.
    fn native(&self) -> CUgraph {
        self.tree().lock_unasked().graph(self.object().id).native.handle()
    }

    fn weak(&self) -> Weak<dyn CaptureSink> {
        self.this.clone()
    }

    pub(in crate::graph) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Who captures, for messages.
    pub(in crate::graph) fn builder(&self) -> String {
        self.builder.upgrade().map_or_else(|| "a builder".to_owned(), |builder| builder.to_string())
    }

    pub(super) fn tree(&self) -> &Arc<Tree> {
        &self.graph.definition.tree
    }

    fn table(&self) -> &'static Table {
        self.tree().table()
    }

    fn object(&self) -> &GraphObject {
        &self.graph.object
    }

    /// What the next operation in a stream of the capture comes after.
    pub(super) fn tail(&self, stream: &Stream) -> Result<Vec<Node>, Error> {
        let (tree, graph) = (self.tree(), self.object().id);
        let mut state = tree.lock();
        self.check_valid()?;
        let natives = self.native_tail(stream)?;
        let ids: Result<Vec<_>, _> =
            natives.into_iter().map(|native| foreign::known(tree, &mut state, graph, native)).collect();
        Ok(ids?.into_iter().map(|id| Node::of(tree, &mut state, id)).collect())
    }

    /// Remembers a builder that was forked, by which messages name what it captures.
    pub(super) fn was_forked(&self, fork: &Arc<Builder>) {
        let mut parts = self.parts.lock();
        if let Some(member) =
            parts.members.iter_mut().find(|member| Arc::ptr_eq(&member.stream, &fork.stream))
        {
            member.fork = Some(Arc::downgrade(fork));
        }
    }

    fn native_tail(&self, stream: &Stream) -> Result<Vec<CUgraphNode>, Error> {
        member::tail(self.table(), stream).map_err(|error| self.failed(error))
    }

    /// The next operation in the stream comes after this node.
    pub(super) fn go_on_after(&self, stream: &Stream, node: &Node) -> Result<(), Error> {
        let mut after = [node.own_native()?];
        // SAFETY: the node is one of the graph that is captured.
        unsafe { calls::set_dependencies(self.table(), stream.raw(), &mut after) }
            .map_err(|error| self.failed(error))
    }

    #[cold]
    fn failed(&self, error: CallError) -> Error {
        self.stream.context().failed(error, self.stream.as_ref())
    }

    /// Refuses a capture that is known to be over, or invalid.
    #[inline]
    fn check_valid(&self) -> Result<(), Error> {
        let is_valid = !self.is_over() && !self.is_broken.load(Relaxed) && !self.object().is_gone();
        if is_valid { Ok(()) } else { Err(self.not_valid()) }
    }

    #[cold]
    fn not_valid(&self) -> Error {
        match &self.parts.lock().broken {
            _ if self.is_over() => {
                Error::new(Status::INVALID_ARGUMENT, format!("the capture of {} is over", self.stream))
                    .about(self.stream.as_ref())
            }
            Some(why) => self.invalid(why),
            None => self.given_up(),
        }
    }

    /// A body's capture was invalidated, and with it all that it was part of.
    #[cold]
    fn given_up(&self) -> Error {
        self.invalid("that of a body in it was invalidated")
    }

    #[cold]
    fn invalid(&self, why: &str) -> Error {
        let stream = &self.stream;
        let refusal = format!("the capture of {stream} was invalidated: {why}. End it, and capture anew");
        Error::new(Status(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.0), refusal).about(stream.as_ref())
    }

    /// Notes that the capture is not valid any more, as was found by `what`, which the driver may have refused.
    #[cold]
    fn breaks(&self, state: &State, what: &str, refused: Option<&Error>) -> String {
        let why = format!("it was valid when {}, and was not any more at {what}", self.until_when(state));
        let differs = |failure: &Error| failure.status.0 == CUDA_ERROR_GRAPH_RECAPTURE_FAILURE.0;
        let mut parts = self.parts.lock();
        parts.differs |= refused.is_some_and(differs);
        let why = parts.broken.get_or_insert(why).clone();
        self.is_broken.store(true, Relaxed);
        why
    }

    /// When it was known to be valid last.
    #[cold]
    fn until_when(&self, state: &State) -> String {
        let Some(last) = self.last.load(Relaxed).checked_sub(1) else { return "it began".to_owned() };
        match state.nodes().find(|(_, node)| node.number == last) {
            Some((_, node)) => format!("{} {last} was captured", node.node_type()),
            // It was removed since.
            None => format!("node {last} was captured"),
        }
    }

    /// The same for what the driver refused, whose failure says it.
    #[cold]
    fn is_broken_by(&self, state: &State, what: &str, failure: &mut Error) {
        let why = self.breaks(state, what, Some(failure));
        failure.message.push_str(&format!(". The capture was invalidated: {why}. End it, and capture anew"));
    }

    /// Refuses to end a capture that would be lost with it.
    pub(super) fn check_ends(&self, builder: &Builder) -> Result<(), Error> {
        if self.mode != CaptureMode::Relaxed && self.thread != ThreadId::current() {
            return Err(builder.refused(
                "captures in a mode in which the thread that began has to end; end it there, or capture in the relaxed mode"
                    .to_owned(),
            ));
        }
        if let Some(inner) = self.under_way_inside() {
            return Err(builder.refused(format!(
                "cannot end while {} of a conditional node in it is being captured; end that first, or, if that fails, close this builder \
                 (cushim_builder_close)",
                inner.object()
            )));
        }
        let Unjoined { names, lost } = self.unjoined()?;
        match (lost, names.as_slice()) {
            (Some(lost), _) => Err(builder.refused(format!(
                "cannot end any more: the {lost} was closed or destroyed before its work was joined; close the builder \
                 (cushim_builder_close), and capture anew"
            ))),
            (_, []) => Ok(()),
            (_, names) => {
                let names = names.join(", ");
                Err(builder.refused(format!("cannot end before what was forked from it is joined: {names}")))
            }
        }
    }

    fn inner(&self) -> Vec<Arc<Self>> {
        self.parts.lock().inner.clone()
    }

    /// A body in it, at any depth, that is being captured.
    fn under_way_inside(&self) -> Option<Arc<Self>> {
        let under_way =
            |inner: Arc<Self>| if inner.is_over() { inner.under_way_inside() } else { Some(inner) };
        self.inner().into_iter().find_map(under_way)
    }

    /// The work of other streams that was not joined.
    fn unjoined(&self) -> Result<Unjoined, Error> {
        let _state = self.tree().lock_unasked();
        let parts = self.parts.lock();
        if parts.members.is_empty() || parts.broken.is_some() {
            return Ok(Unjoined::default());
        }
        let end = self.native_tail(&self.stream)?;
        let joined = match self.is_again {
            true => Joined::before(self.table(), end).map_err(|error| self.failed(error))?,
            false => Joined::Followed(end),
        };
        Unjoined::of(self.table(), &parts.members, &joined).map_err(|error| self.failed(error))
    }

    /// Ends it, with the graph that was captured.
    pub(super) fn end(&self) -> Result<Graph, Error> {
        match (self.is_again, self.is_root()) {
            (true, _) => self.end_again(),
            (_, true) => self.end_root(),
            (_, false) => self.end_body(),
        }
    }

    fn is_root(&self) -> bool {
        self.graph.kind() == GraphKind::Root
    }

    fn end_root(&self) -> Result<Graph, Error> {
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Err(self.not_valid());
        }
        let refused = match self.end_driver(&state) {
            // The driver has destroyed it, also one that was there before (measured of captures into a graph).
            Err(error) => {
                let failure = self.not_ended(&state, error);
                self.tree().abandon(state);
                Some(failure)
            }
            // The driver's graph has a body that must not be looked at: it stays where it is.
            Ok(_) if self.object().is_gone() => {
                drop(state);
                Some(self.given_up())
            }
            Ok(_) => {
                self.tree().own(state);
                None
            }
        };
        self.is_over_now();
        refused.map_or_else(|| Ok(self.graph.clone()), Err)
    }

    /// Has the driver end it. Whoever calls this has the lock of the definition, so that what other threads capture comes before the end, or
    /// finds that the capture is over: in between, the driver would do it at once, and nobody would keep what it uses.
    fn end_driver(&self, state: &State) -> Result<CUgraph, CallError> {
        // The driver may destroy the graph.
        let _relatives = state.has_relatives.then(relations::changed);
        let ended = calls::end(self.table(), self.stream.raw());
        self.over.store(true, Relaxed);
        ended
    }

    /// The driver ended it without a graph.
    #[cold]
    fn not_ended(&self, state: &State, error: CallError) -> Error {
        let mut failure = self.failed(error);
        let why = self.breaks(state, "the end", Some(&failure));
        match failure.status.0 {
            status if status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.0 => {
                failure.message.push_str(&format!(". The capture was invalidated: {why}"));
            }
            status if status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED.0 => {
                let parts = self.parts.lock();
                for member in parts.members.iter().filter(|member| member.is_elsewhere()) {
                    failure.message.push_str(&format!(
                        ". The {} of another thread takes part, and is joined there only (cushim_stream_wait_stream)",
                        member.name()
                    ));
                }
            }
            _ => {}
        }
        failure
    }

    /// Where the driver ends a body's capture without a graph, it destroys the body, and crashes when the graph around it is looked at
    /// (measured on 580). So what is not joined is joined first: forks of a builder that is given up, streams that others have forked, and
    /// work that came since the builder was checked. An invalid capture is left as it is. If this fails otherwise, the capture goes on.
    fn end_body(&self) -> Result<Graph, Error> {
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Err(self.not_valid());
        }
        let info = crate::op::capture::info(&self.stream)?;
        if !is_valid(&info) {
            let why = self.breaks(&state, "the end", None);
            self.leave_body(state);
            return Err(self.invalid(&why));
        }
        self.join_all(info.graph).map_err(|error| self.failed(error))?;
        let ended = calls::end(self.table(), self.stream.raw());
        if let Err(error) = ended
            && crate::op::capture::info(&self.stream).is_ok_and(|info| is_valid(&info))
        {
            return Err(self.failed(error));
        }
        self.over.store(true, Relaxed);
        let refused = ended.err().map(|error| self.not_ended(&state, error));
        match refused {
            Some(_) => self.tree().abandon(state),
            None => drop(state),
        }
        self.is_over_now();
        match refused {
            Some(failure) => Err(failure),
            None if self.object().is_gone() => Err(self.given_up()),
            None => Ok(self.graph.clone()),
        }
    }

    /// Has the end of the capture's own stream come after all that is in the graph.
    fn join_all(&self, graph: CUgraph) -> Result<(), CallError> {
        // SAFETY: the driver has just named it.
        let mut last = leaves(self.table(), &unsafe { RawGraph::adopt(self.table(), graph) })?;
        if last.is_empty() {
            return Ok(());
        }
        // SAFETY: the nodes are those of the graph that is captured.
        unsafe { calls::set_dependencies(self.table(), self.stream.raw(), &mut last) }
    }

    /// Leaves a body's capture under way, with its stream, and gives up the graph around the body: nothing of it is touched any more.
    #[cold]
    fn leave_body(&self, state: MutexGuard<'_, State>) {
        std::mem::forget(Arc::clone(&self.stream));
        self.over.store(true, Relaxed);
        self.tree().abandon(state);
        self.is_over_now();
    }

    /// Nothing is captured any more: each stream is as it was.
    fn is_over_now(&self) {
        self.over.store(true, Relaxed);
        known::is_over(&self.weak());
        self.stream.context().capture_ended();
        if self.is_blocking {
            self.stream.context().blocking_stream_released();
        }
        sink_ends(&self.stream);
        let members = std::mem::take(&mut self.parts.lock().members);
        drop(members);
    }

    /// Ends it, and gives up what was captured; the streams can be used again.
    pub(super) fn give_up(&self) {
        self.inner().iter().for_each(|inner| inner.give_up());
        if self.is_over() {
            return;
        }
        if !self.is_root() {
            return self.give_up_body();
        }
        // Another thread than the one that began ends it, too; the driver destroys the graph then.
        if self.is_again {
            return self.give_up_again();
        }
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return;
        }
        let ended = self.end_driver(&state);
        let was_there = !self.object().is_gone();
        self.tree().abandon(state);
        self.is_over_now();
        if was_there {
            destroy_unused(self.table(), ended);
        }
    }

    /// The body keeps what was captured by now.
    fn give_up_body(&self) {
        let _ = self.end_body();
        let state = self.tree().lock_unasked();
        if !self.is_over() {
            self.leave_body(state);
        }
    }

    /// Captures an operation as a node.
    ///
    /// # Safety
    /// As for [`CaptureSink::capture`].
    unsafe fn capture_node(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<(), Error> {
        let (tree, graph) = (self.tree(), self.object().id);
        let checked = CheckedNode::of(tree, graph, stream, operation)?;
        let CheckedNode { own, parameters, has_holds, is_ours } = checked;
        let at = own.as_ref().unwrap_or(stream.context());
        let mut state = tree.lock_unasked();
        self.check_valid()?;
        restriction::check(tree, &state, graph, &parameters, at)?;
        state.check_parameters(&parameters)?;
        self.share_with_others_of(&mut state, stream)?;
        if operation.records().is_some_and(|event| event.may_be_recorded_by_others()) {
            tree.share(&mut state)?;
        }
        let failed = |error| tree.failed(error, self.object());
        let prepared = if has_holds { state.prepare(graph).map_err(failed)? } else { None };
        let related = relations::kept(&state);
        // SAFETY: as the caller vouches.
        let issued = unsafe { operation.issue(stream, own.as_deref()) };
        drop(related);
        let asks_later =
            self.is_root() && is_one_node(&parameters) && !self.is_again && state.may_ask_later();
        let ask = || calls::info(self.table(), stream.raw().handle());
        if let Err(failure) = issued {
            return Err(self.not_captured(&state, failure, ask(), prepared, &parameters));
        }
        operation.records().into_iter().for_each(|event| self.was_recorded(event));
        let attachment = keeping::kept(has_holds, prepared, || holds(operation));
        let context = Some(at).filter(|at| !Arc::ptr_eq(at, tree.context())).map(Arc::clone);
        if asks_later {
            self.last.store(state.made().wrapping_add(1), Relaxed);
            let node = || NodeState::keeping(null_mut(), parameters, attachment, context);
            state.list_unasked(node, stream.raw().handle());
            return Ok(());
        }
        // SAFETY: nothing was called on the stream since.
        let tail = ask().ok().filter(is_valid).and_then(|info| unsafe { info.tail() });
        match tail {
            Some(native) => {
                let mut node = NodeState::keeping(native, parameters, attachment, context);
                node.is_ours = is_ours;
                match self.is_again {
                    true => self.takes_over(&mut state, node),
                    false => self.was_captured(&mut state, node),
                }
            }
            None => keep_for_graph(&mut state, graph, attachment),
        }
        Ok(())
    }

    /// Who has the native stream can ask it for the graph that it is captured into.
    #[inline]
    fn share_with_others_of(&self, state: &mut State, stream: &Stream) -> Result<(), Error> {
        if stream.may_be_known_to_others() { self.tree().share(state) } else { Ok(()) }
    }

    fn share_with_others_if(&self, is_known: bool) -> Result<(), Error> {
        if is_known { self.tree().share(&mut self.tree().lock()) } else { Ok(()) }
    }

    /// The event stands for a place in the graph from now on.
    fn was_recorded(&self, event: &Event) {
        event.was_recorded();
        event.was_captured(Arc::new(Recorded(self.weak())));
    }

    fn was_captured(&self, state: &mut State, node: NodeState) {
        self.last.store(state.made().wrapping_add(1), Relaxed);
        state.list_node(self.object().id, node);
    }

    /// The driver refused an operation, perhaps because the capture was invalid, or is from now on.
    #[cold]
    fn not_captured(
        &self,
        state: &State,
        mut failure: Error,
        info: Result<RawCapture, CallError>,
        prepared: Option<Prepared<'_>>,
        parameters: &Parameters,
    ) -> Error {
        if info.as_ref().is_ok_and(is_valid) {
            failure.message.push_str(". The capture is still valid");
            return failure;
        }
        // What was prepared goes when the driver destroys the graph.
        if let Some(prepared) = prepared {
            prepared.leave();
        }
        self.is_broken_by(state, &format!("this {}", parameters.node_type()), &mut failure);
        failure
    }

    /// Gives the driver something that is no node.
    fn capture_plainly(
        &self,
        what: &str,
        call: impl FnOnce() -> Result<(), Error>,
        stream: &Stream,
    ) -> Result<(), Error> {
        let state = self.tree().lock_unasked();
        self.check_valid()?;
        call().map_err(|mut failure| {
            let info = calls::info(self.table(), stream.raw().handle());
            if !info.as_ref().is_ok_and(is_valid) {
                self.is_broken_by(&state, what, &mut failure);
            }
            failure
        })
    }

    /// A stream is part of the capture from now on.
    fn takes_in(&self, stream: &Stream, is_blocking: bool) {
        let (Some(stream), Some(this)) = (stream.shared(), self.this.upgrade()) else { return };
        // A default stream stands for another one on each thread: the driver is asked whether it captures.
        if !stream.is_default() {
            stream.capture_begins(Arc::new(Sink(this)));
        }
        self.parts.lock().members.push(Member::new(stream, is_blocking));
    }

    fn check_wait(&self, what: Awaited<'_>, stream: &Stream) -> Result<(), Error> {
        let event = what.event;
        let why = if let Some(recorded) = event.captured_in::<Recorded>() {
            match recorded.0.upgrade() {
                None => return Err(ended(what)),
                Some(sink) if std::ptr::eq(Arc::as_ptr(&sink).cast(), std::ptr::from_ref(self)) => {
                    return if self.is_over() { Err(ended(what)) } else { Ok(()) };
                }
                Some(_) => "was recorded in another capture, and what two captures have cannot be joined",
            }
        } else if event.may_be_recorded_by_others() || !event.is_recorded() {
            return Ok(());
        } else if event.may_be_captured_by_others() {
            "was recorded in another capture, and what two captures have cannot be joined"
        } else {
            OUTSIDE
        };
        Err(stream.under_capture(&format!("{what} {why}")))
    }
}

impl CaptureSink for Capture {
    fn is_over(&self) -> bool {
        Self::is_over(self)
    }

    unsafe fn capture(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<(), Error> {
        let _current = stream.enter_if_default()?;
        match operation.captured() {
            // SAFETY: as the caller vouches.
            Captured::Node(_) | Captured::Plain(_) => unsafe { self.capture_node(stream, operation) },
            // SAFETY: as above.
            Captured::Nothing => unsafe { operation.issue(stream, None) },
            Captured::Refused(why) => Err(operation.refused(stream, why)),
            Captured::Record(event) => {
                let event = Arc::clone(event);
                self.share_with_others_if(event.may_be_recorded_by_others())?;
                // SAFETY: as above.
                self.capture_plainly("a record", || unsafe { operation.issue(stream, None) }, stream)?;
                self.was_recorded(&event);
                Ok(())
            }
            Captured::Wait(what) => {
                self.check_wait(what, stream)?;
                // SAFETY: as above.
                self.capture_plainly("a wait", || unsafe { operation.issue(stream, None) }, stream)
            }
        }
    }

    fn is_known_to_others(&self) {
        if !self.is_over() {
            // Where it fails, the next operation that is captured tries again, and answers for it.
            report(self.tree().driver(), self.share_with_others_if(true));
        }
    }

    fn under(&self) -> Under {
        let lasts: Weak<dyn Send + Sync> = match self.is_again {
            true => self.this.clone(),
            false => Arc::downgrade(self.tree()) as Weak<_>,
        };
        Under { capture: self.number, is_body: !self.is_root(), lasts: Some(lasts) }
    }

    fn fork(&self, stream: &Stream, what: Awaited<'_>) -> Result<(), Error> {
        if self.is_over() {
            return Err(ended(what));
        }
        self.share_with_others_if(stream.may_be_known_to_others())?;
        let is_blocking = stream.is_default() || !stream.is_non_blocking()?;
        // Under the lock, so that whoever ends the capture knows all of its streams.
        let wait = || {
            stream.here(|raw| raw.wait(what.event.raw()))?;
            self.takes_in(stream, is_blocking);
            Ok(())
        };
        self.capture_plainly("a fork", wait, &self.stream)
    }
}

/// An operation that can be a node, and what is to be remembered of it.
struct CheckedNode {
    /// The context in which it runs, if that is not the stream's.
    own: Option<Arc<Context>>,
    parameters: Parameters,
    has_holds: bool,
    /// Whether the parameters are all of it.
    is_ours: bool,
}

impl CheckedNode {
    fn of(
        tree: &Tree,
        graph: crate::graph::state::GraphId,
        stream: &Stream,
        operation: &mut dyn Capturable,
    ) -> Result<Self, Error> {
        match operation.captured() {
            Captured::Node(node) => {
                let conditions = node.conditions().0;
                if !conditions.is_empty() {
                    condition::check_own(tree, graph, &conditions)?;
                }
                drop(conditions);
                let own = node.node_context(stream.context());
                let parameters = node
                    .parameters(own.as_ref().unwrap_or(stream.context()))
                    .map_err(|failure| in_stream(failure, stream))?;
                Ok(Self { own, parameters, has_holds: node.has_holds(), is_ours: true })
            }
            Captured::Plain(node_type) => {
                let parameters = Parameters::Plain(node_type);
                Ok(Self { own: None, parameters, has_holds: false, is_ours: false })
            }
            _ => Err(Error::new(Status::INTERNAL, "an operation that is no node was captured as one")),
        }
    }
}

/// Names the stream in a refusal that names nothing.
#[cold]
fn in_stream(mut failure: Error, stream: &Stream) -> Error {
    if !failure.object.is_empty() {
        return failure;
    }
    failure.message = format!("{stream} is being captured: {}", failure.message);
    failure.about(stream)
}

/// Whether the driver makes one node of it, and nothing else.
#[inline]
fn is_one_node(parameters: &Parameters) -> bool {
    matches!(parameters, Parameters::Kernel(kernel) if kernel.attributes().is_empty())
}

/// What the node of an operation keeps.
fn holds(operation: &mut dyn Capturable) -> crate::op::node::Holds {
    match operation.captured() {
        Captured::Node(node) => node.holds().0,
        _ => crate::op::node::Holds::default(),
    }
}

/// Nobody can tell which node it was: the graph as a whole keeps what it uses.
#[cold]
fn keep_for_graph(state: &mut State, graph: crate::graph::state::GraphId, attachment: Option<Attachment>) {
    state.unplaced.extend(attachment.map(|attachment| (graph, attachment)));
}
