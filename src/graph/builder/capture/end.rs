//! How captures end: with a graph, or given up.

use super::super::member::{Joined, Unjoined};
use super::super::mode::CaptureMode;
use super::super::refusal::refused;
use super::Capture;
use super::begin::destroy_unused;
use super::left::ATTEMPTS;
use crate::driver::CallError;
use crate::driver::calls::graph::capture as calls;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::{
    CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUgraph,
};
use crate::graph::definition::State;
use crate::graph::{Graph, GraphKind, relations};
use crate::object::error::{Error, Subject};
use crate::object::thread::ThreadId;
use crate::op::capture::{is_valid, known};
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Capture {
    /// Refuses to end a capture that would be lost with it.
    pub(in crate::graph::builder) fn check_ends(&self, builder: &dyn Subject) -> Result<(), Error> {
        if self.mode != CaptureMode::Relaxed && self.thread != ThreadId::current() {
            return Err(refused(
                builder,
                "captures in a mode in which the thread that began has to end; end it there, or capture in the relaxed mode",
            ));
        }
        self.check_inside(builder)?;
        let Unjoined { names, lost } = self.unjoined()?;
        match (lost, names.as_slice()) {
            (Some(lost), _) => Err(refused(
                builder,
                &format!(
                    "cannot end any more: the {lost} was closed or destroyed before its work was joined; close the builder \
                 (cushim_builder_close), and capture anew"
                ),
            )),
            (_, []) => Ok(()),
            (_, names) => {
                let names = names.join(", ");
                Err(refused(
                    builder,
                    &format!("cannot end before what was forked from it is joined: {names}"),
                ))
            }
        }
    }

    /// Refuses to end while a body in it is being captured.
    fn check_inside(&self, builder: &dyn Subject) -> Result<(), Error> {
        let Some(inner) = self.under_way_inside() else { return Ok(()) };
        Err(refused(
            builder,
            &format!(
                "cannot end while {} of a conditional node in it is being captured; end that first, or, if that fails, close this builder \
             (cushim_builder_close)",
                inner.object()
            ),
        ))
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
        // In a recapture edges are there before their nodes are captured; and a free that nothing waits for joins nothing.
        let joined = match self.is_again || !parts.beside.is_empty() {
            true => Joined::before(self.table(), end).map_err(|error| self.failed(error))?,
            false => Joined::Followed(end),
        };
        Unjoined::of(self.table(), &parts.members, &joined).map_err(|error| self.failed(error))
    }

    /// Ends it, with the graph that was captured.
    pub(in crate::graph::builder) fn end(&self, builder: &dyn Subject) -> Result<Graph, Error> {
        match (self.is_again, self.is_root()) {
            (true, _) => self.end_again(),
            (_, true) => self.end_root(builder),
            (_, false) => self.end_body(|| self.check_inside(builder)),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.graph.kind() == GraphKind::Root
    }

    fn end_root(&self, builder: &dyn Subject) -> Result<Graph, Error> {
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Err(self.not_valid());
        }
        // One may have begun since that was asked.
        self.check_inside(builder)?;
        let refused = match self.end_driver(&state) {
            Err(error) if !self.is_over() => return Err(self.still_goes_on(error)),
            // The driver has destroyed it, also one that was there before (measured of captures into a graph).
            Err(error) => {
                let failure = self.not_ended(&state, error);
                self.lose_left();
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
    /// finds that the capture is over: in between, the driver would do it at once, and nobody would keep what it uses. Where the driver
    /// fails, the capture may go on ([`is_over`](Self::is_over)).
    pub(super) fn end_driver(&self, state: &State) -> Result<CUgraph, CallError> {
        // The driver may destroy the graph.
        let _relatives = state.has_relatives.then(relations::changed);
        let ended = calls::end(self.table(), self.stream.raw());
        self.over.store(ended.is_ok() || !self.goes_on(), Relaxed);
        ended
    }

    /// Whether the driver captures although it was to end that. An invalid capture is ended once more.
    #[cold]
    fn goes_on(&self) -> bool {
        let status = || calls::info(self.table(), self.stream.raw().handle()).map(|info| info.status);
        match status() {
            Ok(CU_STREAM_CAPTURE_STATUS_ACTIVE) => true,
            Ok(CU_STREAM_CAPTURE_STATUS_INVALIDATED) => {
                let _ = calls::end(self.table(), self.stream.raw());
                false
            }
            // It has ended, or nobody can tell.
            _ => false,
        }
    }

    /// The driver failed to end a capture that goes on.
    #[cold]
    pub(super) fn still_goes_on(&self, error: CallError) -> Error {
        let mut failure = self.failed(error);
        failure
            .message
            .push_str(". The capture goes on: end it again, or close the builder (cushim_builder_close)");
        failure
    }

    /// The driver ended it without a graph.
    #[cold]
    pub(super) fn not_ended(&self, state: &State, error: CallError) -> Error {
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
    /// work that came since the builder was checked. An invalid capture is left to those around it. If this fails otherwise, the capture goes on.
    fn end_body(&self, check_inside: impl FnOnce() -> Result<(), Error>) -> Result<Graph, Error> {
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Err(self.not_valid());
        }
        check_inside()?;
        let info = crate::op::capture::info(&self.stream)?;
        if !is_valid(&info) {
            return Err(self.ends_invalid(state));
        }
        self.join_all(info.graph).map_err(|error| self.failed(error))?;
        let relatives = state.has_relatives.then(relations::changed);
        let ended = calls::end(self.table(), self.stream.raw());
        drop(relatives);
        if let Err(error) = ended {
            match calls::info(self.table(), self.stream.raw().handle()).map(|info| info.status) {
                Ok(CU_STREAM_CAPTURE_STATUS_ACTIVE) => return Err(self.still_goes_on(error)),
                Ok(CU_STREAM_CAPTURE_STATUS_INVALIDATED) => return Err(self.ends_invalid(state)),
                _ => self.lose_left(),
            }
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
        let mut last = unsafe { RawGraph::adopt(self.table(), graph) }.leaves()?;
        if last.is_empty() {
            return Ok(());
        }
        // SAFETY: the nodes are those of the graph that is captured.
        unsafe { calls::set_dependencies(self.table(), self.stream.raw(), &mut last) }
    }

    /// A body's capture was invalidated, and is not valid at its end.
    #[cold]
    fn ends_invalid(&self, state: MutexGuard<'_, State>) -> Error {
        let why = self.breaks(&state, "the end", None);
        self.leave_body(state);
        self.invalid(&why)
    }

    /// Leaves a body's capture to those around it, and gives up the graph around the body: nothing of it is touched any more.
    #[cold]
    fn leave_body(&self, mut state: MutexGuard<'_, State>) {
        self.over.store(true, Relaxed);
        self.take_back_around(&mut state);
        self.tree().abandon(state);
        self.leave_to_those_around();
        self.is_over_now();
    }

    /// The driver ended it without a graph, and has destroyed the bodies that are left.
    #[cold]
    fn lose_left(&self) {
        self.parts.lock().lose_left();
    }

    /// Nothing is captured any more: each stream is as it was.
    pub(super) fn is_over_now(&self) {
        self.over.store(true, Relaxed);
        known::is_over(&self.weak());
        self.stream.context().capture_ended(self.is_blocking);
        self.stream.capture_ends();
        let (members, left) = {
            let mut parts = self.parts.lock();
            (std::mem::take(&mut parts.members), std::mem::take(&mut parts.left))
        };
        let branches = self.branches.lock().take();
        drop((members, branches, left));
    }

    /// Ends it, and gives up what was captured; the streams can be used again.
    ///
    /// # Errors
    /// The driver's, where it captures all the same: the capture goes on.
    pub(in crate::graph::builder) fn give_up(&self) -> Result<(), Error> {
        while !self.gives_up()? {}
        Ok(())
    }

    /// `false` if a body in it began to be captured meanwhile: the driver must not destroy the graph around that.
    fn gives_up(&self) -> Result<bool, Error> {
        self.inner().iter().try_for_each(|inner| inner.give_up())?;
        if !self.is_root() {
            // The body keeps what was captured by now.
            self.again_while_it_goes_on(|| self.end_body(|| Ok(())).map(drop))?;
        }
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Ok(true);
        }
        if self.under_way_inside().is_some() {
            return Ok(false);
        }
        // Another thread than the one that began ends it, too; the driver destroys the graph then.
        match self.is_root() {
            false => self.leave_body(state),
            true => self.give_up_root(state)?,
        }
        Ok(true)
    }

    /// Tries once more where the driver fails and captures all the same: who gives a builder up may have no other time to.
    fn again_while_it_goes_on(&self, mut end: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
        for _ in 1..ATTEMPTS {
            if end().is_ok() || self.is_over() || !self.is_valid_now() {
                return Ok(());
            }
        }
        end().or_else(|failure| if self.is_over() || !self.is_valid_now() { Ok(()) } else { Err(failure) })
    }

    fn is_valid_now(&self) -> bool {
        crate::op::capture::info(&self.stream).is_ok_and(|info| is_valid(&info))
    }

    fn give_up_root(&self, state: MutexGuard<'_, State>) -> Result<(), Error> {
        let mut ended = self.end_driver(&state);
        for _ in 1..ATTEMPTS {
            if !self.is_over() {
                ended = self.end_driver(&state);
            }
        }
        match ended {
            Err(error) if !self.is_over() => return Err(self.still_goes_on(error)),
            _ if self.is_again => {
                self.was_given_up_again(state, ended);
                return Ok(());
            }
            Err(_) => self.lose_left(),
            _ => {}
        }
        let was_there = !self.object().is_gone();
        self.tree().abandon(state);
        self.is_over_now();
        if was_there {
            destroy_unused(self.table(), ended);
        }
        Ok(())
    }
}
