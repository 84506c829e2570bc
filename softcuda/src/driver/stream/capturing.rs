//! Streams that capture: what they are given is recorded, and does not run.

use super::{Kind, Stream};
use crate::abi::Answer;
use crate::abi::sys::{
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUdeviceptr_v2, CUgraph,
    CUgraphDeviceNode, CUlaunchAttribute, CUresult, CUstream, CUstreamBatchMemOpParams, CUstreamCaptureMode,
};
use crate::driver::capture::tail::{Dependency, Tail};
use crate::driver::capture::{self, Capture, Place, refuse};
use crate::driver::context::{self, Activation};
use crate::driver::device::Device;
use crate::driver::operation::Operation;
use crate::driver::operation::launch::Launch;
use crate::driver::signal::Listener;
use crate::executor::Task;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a capture records.
pub(crate) enum Recorded {
    Operation(Operation),
    Launch(RecordedLaunch),
    /// Values that are written and waited for, one after the other, as the caller describes them.
    Values(Box<[CUstreamBatchMemOpParams]>),
    /// So many bytes of a device's memory, which others may use, too.
    Allocate {
        size: usize,
        device: Device,
        peers: Box<[Device]>,
    },
    /// What a graph has allocated at this address.
    Free(CUdeviceptr_v2),
}

impl<T: Into<Operation>> From<T> for Recorded {
    fn from(operation: T) -> Self {
        Self::Operation(operation.into())
    }
}

/// A launch.
pub(crate) struct RecordedLaunch {
    pub(crate) launch: Launch,
    /// Whether the arguments were given in one block.
    pub(crate) packed: bool,
    /// Those of the stream, and then those of the launch.
    pub(crate) attributes: Vec<CUlaunchAttribute>,
    /// Whether it may begin before the kernels that it follows are done.
    pub(crate) early: bool,
}

/// A node that a capture has added.
pub(crate) struct NewNode {
    pub(crate) handle: usize,
    /// Where the memory is that it allocates; else 0.
    pub(crate) address: CUdeviceptr_v2,
    /// The handle by which kernels update it, if they can.
    pub(crate) device_node: Option<CUgraphDeviceNode>,
}

/// What a capture makes.
pub(crate) trait Recorder: Send + Sync {
    /// The graph that becomes of it.
    fn graph(&self) -> CUgraph;

    /// Adds a node with work for a context.
    fn record(
        &self,
        work: Recorded,
        context: &Arc<Activation>,
        after: &[Dependency],
    ) -> Result<NewNode, CUresult>;

    /// The capture has ended well: the graph is the program's. Refused if it lacks something.
    fn finish(&self) -> Answer;

    /// The capture has ended without a graph.
    fn discard(&self);
}

/// Those of the captures under way, by the capture's number.
static RECORDERS: Mutex<BTreeMap<u64, Arc<dyn Recorder>>> = Mutex::new(BTreeMap::new());

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, forget_context);

/// Takes the recorder of a capture that has ended.
pub(crate) fn recorder_of(capture: &Capture) -> Option<Arc<dyn Recorder>> {
    RECORDERS.lock().remove(&capture.id)
}

fn recorder(capture: &Capture) -> Result<Arc<dyn Recorder>, CUresult> {
    RECORDERS.lock().get(&capture.id).cloned().ok_or(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
}

/// The graph that a capture under way is to become.
pub(crate) fn graph_of(capture: &Capture) -> Option<CUgraph> {
    recorder(capture).ok().map(|recorder| recorder.graph())
}

fn discard(capture: &Capture) {
    if let Some(recorder) = recorder_of(capture) {
        recorder.discard();
    }
}

/// A stream is destroyed, and a capture that began on it.
pub(super) fn forget(stream: &Stream) {
    if let Some(capture) = capture::leave(stream.id()) {
        discard(&capture);
    }
}

/// A context has ended, and the captures that began on its streams.
fn forget_context(context: &Arc<Activation>) {
    capture::end_all(context.id()).iter().for_each(|capture| discard(capture));
}

impl Stream {
    fn place(&self) -> Place {
        Place { stream: self.id(), context: self.context.id(), coupling: self.kind.coupling() }
    }

    /// Begins a capture, whose first node follows these; not on a stream that takes part in one.
    pub(crate) fn begin_capture(
        &self,
        mode: CUstreamCaptureMode,
        recorder: Arc<dyn Recorder>,
        tail: Tail,
    ) -> Answer {
        ENDS.begin();
        // Who ends it finds the recorder.
        let mut recorders = RECORDERS.lock();
        let capture = capture::begin(self.place(), mode, tail).ok_or(CUDA_ERROR_ILLEGAL_STATE)?;
        recorders.insert(capture.id, recorder);
        Ok(())
    }

    /// The capture that it takes part in.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        capture::of(self.id())
    }

    pub(crate) fn is_capturing(&self) -> bool {
        self.capture().is_some()
    }

    /// Takes part in a capture from now on, behind these nodes. The legacy stream cannot.
    pub(crate) fn join_capture(&self, capture: &Arc<Capture>, tail: Tail) -> Answer {
        if self.kind == Kind::Legacy {
            return Err(capture.refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
        }
        match capture::join(capture, self.place(), tail) {
            true => Ok(()),
            false => Err(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        }
    }

    /// Whether it is the legacy default stream.
    pub(crate) fn is_legacy(&self) -> bool {
        self.kind == Kind::Legacy
    }

    /// The captures that use of this stream would come in the way of.
    pub(crate) fn entangled(&self) -> Vec<Arc<Capture>> {
        if self.kind == Kind::Legacy { capture::entangled(self.context.id()) } else { Vec::new() }
    }

    /// Refuses a use that comes in the way of a capture, which becomes invalid.
    pub(crate) fn check_untangled(&self) -> Answer {
        refuse(&self.entangled(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    }

    /// Invalidates the capture, if there is one.
    pub(crate) fn invalidate_capture(&self) {
        self.capture().inspect(|capture| capture.invalidate());
    }

    /// Refuses a call that no capture can record.
    pub(crate) fn refuse_capture(&self) -> Answer {
        self.check_untangled()?;
        self.capture().map_or(Ok(()), |capture| Err(capture.refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)))
    }

    /// Refuses a call that no capture can record, and lets the capture go on: so driver 580 does with batches of copies.
    pub(crate) fn spare_capture(&self) -> Answer {
        let Some(capture) = self.capture() else { return Ok(()) };
        capture.check()?;
        Err(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Refuses to wait for the stream or to ask whether it is done, where a capture forbids that.
    pub(super) fn refuse_question(&self) -> Answer {
        self.refuse_capture()?;
        capture::check_unsafe()
    }

    /// Refuses work that would come in the way of a capture, or that an invalid one does not take.
    pub(crate) fn admit_work(&self) -> Answer {
        if !capture::is_any() {
            return Ok(());
        }
        self.check_untangled()?;
        self.capture().map_or(Ok(()), |capture| capture.check())
    }

    /// The stream of a call that gives it work.
    pub(crate) fn for_work(handle: CUstream) -> Result<Arc<Self>, CUresult> {
        let stream = Self::of(handle)?;
        stream.admit_work()?;
        Ok(stream)
    }

    /// The stream of a call that no capture can record.
    pub(crate) fn for_uncaptured(handle: CUstream) -> Result<Arc<Self>, CUresult> {
        let stream = Self::of(handle)?;
        stream.refuse_capture()?;
        Ok(stream)
    }

    /// As `for_work`, ahead of a call that looks at something else before it looks at its stream.
    pub(crate) fn admit(handle: CUstream) -> Answer {
        if capture::is_any() { Self::of(handle).map_or(Ok(()), |stream| stream.admit_work()) } else { Ok(()) }
    }

    /// As `for_uncaptured`, likewise.
    pub(crate) fn refuse_captured(handle: CUstream) -> Answer {
        if capture::is_any() {
            Self::of(handle).map_or(Ok(()), |stream| stream.refuse_capture())
        } else {
            Ok(())
        }
    }

    /// Gives the stream an operation, or if it captures, the graph a node; there is no task then.
    pub(crate) fn give(&self, operation: impl Into<Operation>) -> Result<Option<Arc<Task>>, CUresult> {
        match self.capture() {
            Some(capture) => self.record(&capture, operation).map(|_| None),
            None => self.submit(operation).map(Some),
        }
    }

    /// Adds a node to the graph of its capture.
    pub(crate) fn record(&self, capture: &Capture, work: impl Into<Recorded>) -> Result<NewNode, CUresult> {
        let recorder = recorder(capture)?;
        let recorded = capture.record(self.id(), |tail| {
            let node = recorder.record(work.into(), &self.context, tail.items())?;
            Ok((node.handle, node))
        });
        // What differs from the graph that is recaptured ends that (documented).
        if recorded.as_ref().is_err_and(|error| *error == CUDA_ERROR_GRAPH_RECAPTURE_FAILURE) {
            capture.invalidate();
        }
        recorded
    }
}
