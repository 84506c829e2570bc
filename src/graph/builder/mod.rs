//! Builders: work that is issued to a stream becomes a graph.
//!
//! | file | concept |
//! |---|---|
//! | `capture` | one capture of the driver's, and what it does with operations |
//! | `member` | streams that became part of a capture |
//! | `branches` | how far each stream of a capture is, and after what it comes |
//! | `fork` | builders that work beside each other, and are joined |
//! | `hybrid` | graphs and conditional nodes in what is captured |
//! | `mode` | what the driver refuses meanwhile |
//! | `phase`, `state` | how far a builder is; what it can be asked for, and when |
//! | `name` | what a builder is called, as its capture knows it |
//! | `refusal` | what a builder refuses |

mod branches;
mod capture;
mod fork;
mod hybrid;
mod member;
mod mode;
mod name;
mod phase;
mod refusal;
mod state;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::object::setters::setters;
use capture::Capture;
pub use hybrid::Embedding;
pub use mode::CaptureMode;
pub use phase::{BuilderKind, BuilderState};

use super::{Graph, Node};
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::calls::graph::capture as calls;
use crate::object::callback::ask_until;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::release::report;
use crate::stream::{Stream, StreamOptions};
use capture::{Body, Target};
use name::Name;
use parking_lot::Mutex;
use phase::Phase;
use std::fmt;
use std::sync::Arc;

/// How a builder captures.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct BuilderOptions {
    /// Which calls the driver refuses meanwhile.
    pub mode: CaptureMode,
}

setters!(BuilderOptions { mode: CaptureMode });

/// Captures what is issued to its stream as a graph.
///
/// Between [`begin`](Self::begin) and [`end`](Self::end), operations that are enqueued in [`stream`](Self::stream) are not done, but
/// become nodes of a graph, each after the one before. The graph keeps what they name, as it does for nodes that are added by hand:
/// kernels, buffers, events and owners. What is captured otherwise, by the driver's own calls on the native stream, becomes part of the
/// graph, too; what it uses is the caller's to keep.
///
/// Every function may be called from every thread.
pub struct Builder(Arc<BuilderObject>);

/// What handles of builders name.
pub(crate) struct BuilderObject {
    header: Header,
    kind: BuilderKind,
    mode: CaptureMode,
    stream: Stream,
    /// Whether nobody else has made the stream: it has the builder's name.
    has_own_stream: bool,
    /// Of a builder for a body: that body.
    body: Option<Body>,
    phase: Mutex<Phase>,
    name: Arc<Name>,
}

object!(BuilderObject as Builder: Builder, header);

/// Whose stream a builder captures.
enum Of<'a> {
    Builder(Stream),
    Caller(&'a Stream),
}

impl Builder {
    /// Creates a builder with a stream of its own in the context.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) without a driver; the driver's.
    pub fn create(context: &Context, options: &BuilderOptions) -> Result<Self, Error> {
        check_driver(context)?;
        let stream = Stream::create(context, &StreamOptions::default())?;
        stream.belongs_to_builder();
        Ok(Self::new(BuilderKind::Primary, options.mode, Of::Builder(stream), None, Phase::NotStarted))
    }

    /// Creates a builder that captures what is issued to a stream, which does nothing else meanwhile.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a default stream;
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) without a driver.
    pub fn create_on(stream: &Stream, options: &BuilderOptions) -> Result<Self, Error> {
        check_capturable(stream)?;
        check_driver(stream.context())?;
        Ok(Self::new(BuilderKind::Primary, options.mode, Of::Caller(stream), None, Phase::NotStarted))
    }

    fn new(kind: BuilderKind, mode: CaptureMode, stream: Of<'_>, body: Option<Body>, phase: Phase) -> Self {
        let (header, phase) = (Header::new::<BuilderObject>(), Mutex::new(phase));
        let (stream, has_own_stream) = match stream {
            Of::Builder(stream) => (stream, true),
            Of::Caller(stream) => (stream.clone(), false),
        };
        Self(Arc::new(BuilderObject {
            header,
            kind,
            mode,
            stream,
            has_own_stream,
            body,
            phase,
            name: Name::new(kind.name()),
        }))
    }

    /// The context of what is captured.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.stream.context()
    }

    /// The driver that the builder belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.0.stream.driver()
    }

    /// Begins to capture.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that was begun before, and for a stream that is being
    /// captured; the driver's.
    pub fn begin(&self) -> Result<(), Error> {
        let mut phase = self.0.phase.lock();
        self.check_not_started(&phase)?;
        let capture = match &self.0.body {
            None => self.capture(self.0.mode, Target::New)?,
            // Whatever invalidates the capture of a body takes the body away from under its node, and the driver crashes on that
            // (measured on 580): nothing else that the process does should.
            Some(body) => self.capture(CaptureMode::Relaxed, Target::Body(body))?,
        };
        *phase = Phase::Capturing(capture);
        Ok(())
    }

    /// Begins to capture into a graph that is there: what is captured takes the place of what its nodes do, and of what they keep. They
    /// are captured in the order in which they were added, with the same edges. Until the capture ends, other changes of the graph are refused.
    ///
    /// Whatever ends the capture otherwise, also another node than before, is the end of the graph. What was instantiated from it goes on.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) before driver 13.3: capture into another graph, and update from that.
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that was begun before, or captures a body, for a
    /// stream that is being captured, for a graph that is part of another, is being captured, or has child graphs, conditions or nodes
    /// that kernels update; the driver's.
    pub fn recapture(&self, graph: &Graph) -> Result<(), Error> {
        let mut phase = self.0.phase.lock();
        self.check_not_started(&phase)?;
        if self.0.body.is_some() {
            return Err(self.refused("captures a body, and nothing else; begin it".to_owned()));
        }
        *phase = Phase::Capturing(self.capture(self.0.mode, Target::Again(graph))?);
        Ok(())
    }

    fn capture(&self, mode: CaptureMode, target: Target<'_>) -> Result<Arc<Capture>, Error> {
        Capture::begin(&self.0.stream, mode, target, &self.0.name)
    }

    /// Ends the capture, and gives what was captured: a definition as any other, which lives on without the builder. Of a builder for a
    /// body, the body.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that does not capture, or was forked from another; for
    /// another thread than the one that began, unless the mode is relaxed; while there are forks to be joined, or bodies that are being
    /// captured. The capture goes on then. The driver's, for a capture that was invalidated: it is over then.
    pub fn end(&self) -> Result<Graph, Error> {
        let mut phase = self.0.phase.lock();
        let capture = Arc::clone(self.check_ends(&phase)?);
        capture.check_ends(self)?;
        match capture.end(self) {
            Ok(graph) => {
                *phase = Phase::Ended(graph.clone());
                Ok(graph)
            }
            Err(failure) => {
                if capture.is_over() {
                    *phase = Phase::Closed;
                }
                Err(failure)
            }
        }
    }

    /// The stream whose operations are captured.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`](crate::Status::INVALID_HANDLE) unless the builder captures.
    pub fn stream(&self) -> Result<Stream, Error> {
        let captures = self.0.phase.lock().capture().is_some();
        if captures { Ok(self.0.stream.clone()) } else { Err(self.no_stream()) }
    }

    /// Refuses a builder that does not capture, whose stream is stale.
    #[cfg(feature = "capi")]
    pub(crate) fn check_capturing(&self) -> Result<(), Error> {
        if self.0.phase.lock().capture().is_some() { Ok(()) } else { Err(self.no_stream()) }
    }

    /// The stream that it captures while it captures.
    #[cfg(feature = "capi")]
    pub(crate) fn own_stream(&self) -> &Stream {
        &self.0.stream
    }

    /// The definition. Of a builder for a body it is there before the capture begins, too.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) before the end, for a builder that was forked from another, and for
    /// a closed one; [`Status::INVALID_HANDLE`](crate::Status::INVALID_HANDLE) for a body that was removed with its node.
    pub fn graph(&self) -> Result<Graph, Error> {
        match (&*self.0.phase.lock(), &self.0.body) {
            (Phase::Ended(graph), _) => graph.still_there(),
            (Phase::NotStarted, Some(body)) => body.graph.still_there(),
            (phase, _) => Err(self.no_graph(phase)),
        }
    }

    /// What was captured last: the nodes that the next operation comes after.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a builder that does not capture; the driver's.
    pub fn tail(&self) -> Result<Vec<Node>, Error> {
        self.capturing("there is nothing that was captured last")?.tail(&self.0.stream)
    }

    /// Closes the builder. What it captures is given up, but a body keeps what was captured by now, also by forks that were not joined.
    /// The stream can be used again. Closing it again does nothing.
    ///
    /// # Errors
    /// The driver's, if it captures all the same: so does the builder then. Close it again.
    pub fn close(&self) -> Result<(), Error> {
        let Some(capture) = self.0.take_capture() else { return Ok(()) };
        capture.give_up().inspect_err(|_| *self.0.phase.lock() = Phase::Capturing(capture))
    }

    /// Names the builder in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
        self.0.name.set_label(label);
        if self.0.has_own_stream {
            self.0.stream.set_label(label);
        }
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }
}

impl BuilderObject {
    /// Closes the builder; answers with what is to be ended.
    fn take_capture(&self) -> Option<Arc<Capture>> {
        self.name.closes();
        match (std::mem::replace(&mut *self.phase.lock(), Phase::Closed), self.kind) {
            (Phase::Capturing(capture), BuilderKind::Primary | BuilderKind::Body) => Some(capture),
            _ => None,
        }
    }
}

impl Drop for BuilderObject {
    fn drop(&mut self) {
        let Some(capture) = self.take_capture() else { return };
        let Err(failure) = capture.give_up() else { return };
        report(self.stream.driver(), Err(failure));
        // Nobody else could: a stream of the program's would be captured for ever.
        ask_until(move || capture.give_up().is_ok());
    }
}

impl fmt::Display for BuilderObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// Refuses the driver "none".
fn check_driver(context: &Context) -> Result<(), Error> {
    calls::check_there(context.table()).map_err(|error| context.failed(error, context))
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builder({self})")
    }
}

/// Refuses streams that stand for another one on each thread, or in each context.
fn check_capturable(stream: &Stream) -> Result<(), Error> {
    if !stream.is_default() {
        return Ok(());
    }
    let refusal = format!("the {stream} cannot be captured by a builder; create a stream");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(stream))
}
