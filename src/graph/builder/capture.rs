//! One capture of the driver's, and what it does with operations: each becomes a node of a definition that is locked meanwhile, so
//! that what came last in a stream is what was just captured.

mod after_all;
mod begin;
mod beside;
mod counted;
mod end;
mod invalid;
mod left;
mod recapture;
mod tail;

use crate::graph::definition::{GraphObject, State, Tree};
use crate::graph::ids::{GraphId, NodeId};
use crate::graph::record::{Loose, Record};
use crate::graph::recorder::Recorder;
pub(super) use begin::{Body, Target};
use beside::Beside;
use counted::Counted;
use left::Left;

use super::branches::Branches;
use super::member::Member;
use super::mode::CaptureMode;
use super::name::Name;
use crate::context::Context;
use crate::driver::calls::graph::capture::{self as calls, RawCapture};
use crate::driver::sys::{
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUgraphNode,
};
use crate::driver::{CallError, Table};
use crate::event::{Event, HeldMark};
use crate::graph::{Graph, condition, keeping, relations, restriction};
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::object::slot::Exposed;
use crate::object::thread::ThreadId;
use crate::op::attachment::{Attachment, Prepared};
use crate::op::awaited::Awaited;
use crate::op::capture::{
    Capturable, CaptureSink, Captured, Clock, OUTSIDE, Position, Recorded, Sink, Under, ended, is_valid,
};
use crate::op::node::{Hold, Holds, Parameters};
use crate::stream::{Blocking, CapturedBy, Stream};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A capture that is under way, or is over.
pub(super) struct Capture {
    /// What is captured into.
    pub(super) graph: Graph,
    stream: Stream,
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
    /// Whoever locks it has the lock of the definition.
    branches: Mutex<Branches>,
    builder: Arc<Name>,
    /// Of a body: the capture in which its conditional node was added.
    outer: Weak<Self>,
    this: Weak<Self>,
}

/// What changes while it captures. Whoever needs the lock of the definition, too, takes that first.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    /// What came after all that was captured then, and that no stream waits for.
    beside: Vec<Beside>,
    /// Captures of bodies of conditional nodes in it, also those that are over: conditional nodes in them are captured later, perhaps.
    inner: Vec<Arc<Capture>>,
    /// Those of bodies in it that somebody has invalidated.
    left: Vec<Arc<Left>>,
    /// The nodes that were recaptured, and what they kept before.
    taken: HashSet<NodeId>,
    replaced: Vec<Attachment>,
    /// Why it is not valid any more.
    broken: Option<String>,
    /// Whether that is because a graph was recaptured, and another operation was there before.
    differs: bool,
}

impl Capture {
    fn weak(&self) -> Weak<dyn CaptureSink> {
        self.this.clone()
    }

    /// The same for the definition.
    fn as_recorder(&self) -> Weak<dyn Recorder> {
        self.this.clone()
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
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

    /// Remembers a builder that was forked, by which messages name what it captures.
    pub(super) fn was_forked(&self, fork: &Arc<Name>, stream: &Stream) {
        let mut parts = self.parts.lock();
        if let Some(member) = parts.members.iter_mut().find(|member| member.stream == *stream) {
            member.fork = Some(Arc::clone(fork));
        }
    }

    #[cold]
    fn failed(&self, error: CallError) -> Error {
        self.stream.context().failed(error, &self.stream)
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
                    .about(&self.stream)
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
        Error::new(Status(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.0), refusal).about(stream)
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
            Some((id, _)) => format!("{} {last} was captured", state.node_type(id)),
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

    /// Captures an operation as a node.
    ///
    /// # Safety
    /// As for [`CaptureSink::capture`].
    unsafe fn capture_node(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<bool, Error> {
        let (tree, graph) = (self.tree(), self.object().id);
        let checked = CheckedNode::of(tree, graph, stream, operation)?;
        let mut state = tree.lock_unasked();
        if self.is_over() {
            return Ok(false);
        }
        self.check_valid()?;
        // SAFETY: as the caller vouches.
        unsafe { self.capture_checked(&mut state, checked, stream, operation) }.map(|()| true)
    }

    /// The same for whoever has the definition locked, of a capture that is under way.
    ///
    /// # Safety
    /// As for [`CaptureSink::capture`].
    #[inline]
    unsafe fn capture_checked(
        &self,
        state: &mut State,
        checked: CheckedNode,
        stream: &Stream,
        operation: &mut dyn Capturable,
    ) -> Result<(), Error> {
        let (tree, graph) = (self.tree(), self.object().id);
        let CheckedNode { own, parameters, has_holds, is_ours } = checked;
        let at = own.as_ref().unwrap_or(stream.context());
        restriction::check(tree, state, graph, &parameters, at)?;
        state.check_parameters(&parameters)?;
        self.share_with_others_of(state, stream)?;
        if operation.records().is_some_and(|event| event.may_be_recorded_by_others()) {
            tree.share(state)?;
        }
        let failed = |error| tree.failed(error, self.object());
        let prepared = if has_holds { state.prepare(graph).map_err(failed)? } else { None };
        let related = relations::kept(state);
        let event = operation.records().cloned();
        let mut mark = event.as_ref().map(|event| event.held_mark());
        mark.iter_mut().for_each(HeldMark::is_about_to_be_captured);
        // SAFETY: as the caller vouches.
        let issued = unsafe { operation.issue(stream, own.as_ref()) };
        drop(related);
        let asks_later =
            self.is_root() && is_one_node(&parameters) && !self.is_again && state.may_ask_later();
        let ask = || calls::info(self.table(), stream.raw().handle());
        if let Err(failure) = issued {
            return Err(self.not_captured(state, failure, ask(), prepared, &parameters));
        }
        for (event, mark) in event.iter().zip(&mut mark) {
            self.was_recorded(event, mark, stream);
        }
        drop(mark);
        let attachment = keeping::kept(has_holds, prepared, || holds(operation));
        let context = Some(at).filter(|at| *at != tree.context()).cloned();
        if asks_later {
            self.last.store(state.made().wrapping_add(1), Relaxed);
            state.list_unasked((context, attachment), || Record::new(parameters), stream.raw().handle());
            return Ok(());
        }
        // SAFETY: nothing was called on the stream since.
        let tail = ask().ok().filter(is_valid).and_then(|info| unsafe { info.tail() });
        match tail {
            Some(native) => {
                let record = Record { is_ours, ..Record::new(parameters) };
                let node = Loose { record, context, attachment };
                match self.is_again {
                    true => self.takes_over(state, native, node),
                    false => self.was_captured(state, native, node),
                }
            }
            None => keep_for_graph(state, graph, attachment),
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
    fn was_recorded(&self, event: &Event, mark: &mut HeldMark<'_>, stream: &Stream) {
        event.was_recorded();
        let after = self.branches.lock().before_end_of(self.table(), stream);
        mark.was_captured(Arc::new(Recorded { sink: self.weak(), after }));
    }

    /// What comes before the place for which the event stands; `None` if nobody can tell, because others may have recorded it.
    fn before(&self, event: &Event, mark: &HeldMark<'_>) -> Option<Clock> {
        let recorded = mark.captured_in::<Recorded>().filter(|_| !event.may_be_recorded_by_others())?;
        let is_here = std::ptr::addr_eq(recorded.sink.as_ptr(), self);
        recorded.after.clone().filter(|_| is_here)
    }

    fn was_captured(&self, state: &mut State, native: CUgraphNode, node: Loose) {
        self.last.store(state.made().wrapping_add(1), Relaxed);
        state.list_node(self.object().id, native, node);
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

    /// Gives the driver something that is no node. `false`, without any effect, if the capture has ended meanwhile.
    fn capture_plainly(
        &self,
        what: &str,
        call: impl FnOnce() -> Result<(), Error>,
        stream: &Stream,
    ) -> Result<bool, Error> {
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Ok(false);
        }
        self.check_valid()?;
        call().map(|()| true).map_err(|mut failure| {
            let info = calls::info(self.table(), stream.raw().handle());
            if !info.as_ref().is_ok_and(is_valid) {
                self.is_broken_by(&state, what, &mut failure);
            }
            failure
        })
    }

    /// A stream waits for an event of the capture, and is part of it from then on;
    /// if the event was recorded elsewhere since, it only waits.
    fn takes_in(&self, stream: &Stream, event: &Event, before: Option<&Clock>) -> Result<(), Error> {
        let wait = || stream.here(|raw| raw.wait(event.raw()));
        let Some(this) = self.this.upgrade() else { return wait() };
        // To wait for all of another context than the capture's would invalidate the capture, too.
        let is_elsewhere = stream.context() != self.stream.context();
        let patience = if is_elsewhere { counted::PATIENCE_OF_JOIN } else { Duration::ZERO };
        let join = |is_blocking| -> Result<Option<bool>, Error> {
            let counted = Counted::new(stream, is_blocking, patience);
            wait()?;
            let has_joined = stream.here(|_| Ok(stream.may_capture_now()))?;
            Ok(has_joined.then(|| counted.stay()).map(|()| is_blocking))
        };
        // A default stream stands for another one on each thread: the driver is asked whether it captures.
        let joined = if stream.is_default() {
            join(true)?
        } else {
            let sink = Arc::new(Sink(this));
            stream.may_begin_capture(|Blocking(is_blocking)| {
                counted::let_others_leave(stream, counted::PATIENCE_OF_JOIN);
                Ok(join(is_blocking)?.map(|is_blocking| (is_blocking, sink as Arc<dyn Exposed>)))
            })?
        };
        if let Some(is_blocking) = joined {
            self.has_one_more(stream.clone(), is_blocking, before);
        }
        Ok(())
    }

    fn has_one_more(&self, stream: Stream, is_blocking: bool, before: Option<&Clock>) {
        self.branches.lock().was_forked(self.table(), &stream, before);
        self.parts.lock().members.push(Member::new(stream, is_blocking));
    }

    /// The driver has made a stream part of the capture. It is not to be asked whether the stream waits for the legacy default stream.
    fn takes_in_late(&self, stream: &Stream) {
        let Some(this) = self.this.upgrade() else { return };
        if !stream.is_default() && !stream.has_begun_capture(Arc::new(Sink(this))) {
            return;
        }
        Counted::new(stream, true, Duration::ZERO).stay();
        self.has_one_more(stream.clone(), true, None);
    }

    fn check_wait(&self, what: Awaited<'_>, mark: &HeldMark<'_>, stream: &Stream) -> Result<(), Error> {
        let event = what.event;
        let why = if let Some(recorded) = mark.captured_in::<Recorded>() {
            match recorded.sink.upgrade() {
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

impl Recorder for Capture {
    fn is_over(&self) -> bool {
        Self::is_over(self)
    }

    fn graph_is_invalid(&self) -> bool {
        self.has_invalid_graph()
    }

    fn builder(&self) -> String {
        self.builder.to_string()
    }
}

impl CaptureSink for Capture {
    fn is_over(&self) -> bool {
        Self::is_over(self)
    }

    unsafe fn capture(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<bool, Error> {
        let _current = stream.enter_if_default()?;
        match operation.captured() {
            // SAFETY: as the caller vouches.
            Captured::Node(_) | Captured::Plain(_) => unsafe { self.capture_node(stream, operation) },
            // SAFETY: as above.
            Captured::Nothing => unsafe { operation.issue(stream, None) }.map(|()| true),
            Captured::Refused(why) => Err(operation.refused(stream, why)),
            Captured::Record(event) => {
                let event = event.clone();
                self.share_with_others_if(event.may_be_recorded_by_others())?;
                // SAFETY: as above.
                let mut issue = || unsafe { operation.issue(stream, None) };
                let record = || {
                    let mut mark = event.held_mark();
                    mark.is_about_to_be_captured();
                    issue().map(|()| self.was_recorded(&event, &mut mark, stream))
                };
                self.capture_plainly("a record", record, stream)
            }
            Captured::Wait(what) => {
                let event = what.event.clone();
                self.check_wait(what, &event.held_mark(), stream)?;
                // SAFETY: as above.
                let issue = || unsafe { operation.issue(stream, None) };
                let wait = || {
                    let mark = event.held_mark();
                    // Another thread may have recorded it since.
                    self.check_wait(Awaited::of(&event), &mark, stream)?;
                    self.waits(stream, self.before(&event, &mark).as_ref(), issue)
                };
                self.capture_plainly("a wait", wait, stream)
            }
        }
    }

    unsafe fn capture_after_all(
        &self,
        stream: &Stream,
        operation: &mut dyn Capturable,
    ) -> Result<bool, Error> {
        let _current = stream.enter_if_default()?;
        // SAFETY: as the caller vouches.
        unsafe { self.capture_after_ends(stream, operation) }
    }

    fn position(&self, stream: &Stream) -> Result<Position, Error> {
        let _current = stream.enter_if_default()?;
        self.position_of(stream)
    }

    fn keep(&self, _: &Stream, hold: Hold) -> Result<(), Error> {
        let mut state = self.tree().lock_unasked();
        self.check_valid()?;
        let graph = self.object().id;
        let prepared = state.prepare(graph).map_err(|error| self.failed(error))?;
        let attachment = keeping::kept(true, prepared, || Holds::of_inner(hold));
        keep_for_graph(&mut state, graph, attachment);
        Ok(())
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
        // Under the lock, so that whoever ends the capture knows all of its streams.
        let wait = || {
            let mark = what.event.held_mark();
            let before = self.before(what.event, &mark);
            // It may have been recorded elsewhere since, or another thread has had the stream wait.
            self.check_wait(what, &mark, stream)?;
            match stream.captured_by::<Sink>()? {
                CapturedBy::Us(sink) if std::ptr::addr_eq(Arc::as_ptr(&sink.0), self) => {
                    self.waits(stream, before.as_ref(), || stream.here(|raw| raw.wait(what.event.raw())))
                }
                _ => self.takes_in(stream, what.event, before.as_ref()),
            }
        };
        let is_captured = self.capture_plainly("a fork", wait, &self.stream)?;
        if is_captured { Ok(()) } else { Err(ended(what)) }
    }

    fn has_joined(&self, stream: &Stream) {
        let _state = self.tree().lock_unasked();
        if !self.is_over() {
            self.takes_in_late(stream);
        }
    }
}

/// An operation that can be a node, and what is to be remembered of it.
struct CheckedNode {
    /// The context in which it runs, if that is not the stream's.
    own: Option<Context>,
    parameters: Parameters,
    has_holds: bool,
    /// Whether the parameters are all of it.
    is_ours: bool,
}

impl CheckedNode {
    fn of(
        tree: &Tree,
        graph: GraphId,
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
fn holds(operation: &mut dyn Capturable) -> Holds {
    match operation.captured() {
        Captured::Node(node) => node.holds().0,
        _ => Holds::default(),
    }
}

/// Nobody can tell which node it was: the graph as a whole keeps what it uses.
#[cold]
fn keep_for_graph(state: &mut State, graph: GraphId, attachment: Option<Attachment>) {
    state.contents.unplaced.extend(attachment.map(|attachment| (graph, attachment)));
}
