//! What comes after the present ends of all branches of a capture: memory of the graph is freed there, for each branch may use it.

use super::beside::Beside;
use super::{Capture, CheckedNode};
use crate::driver::CallError;
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::CUgraphNode;
use crate::graph::definition::State;
use crate::object::error::Error;
use crate::op::capture::{Capturable, Clock, Position, is_valid};
use crate::stream::Stream;
use std::sync::Weak;

/// What was captured last in all branches.
struct Ends {
    nodes: Vec<CUgraphNode>,
    /// `None` if there may be branches that nobody knows.
    clock: Option<Clock>,
}

impl Capture {
    /// Captures an operation after the present ends of all branches. A stream that comes after all of them goes on with it; if there is
    /// none, nothing waits for it until the capture's own stream does come after them: it would wait for all branches, too.
    ///
    /// # Safety
    /// As for [`CaptureSink::capture`](crate::op::capture::CaptureSink::capture).
    pub(super) unsafe fn capture_after_ends(
        &self,
        named: &Stream,
        operation: &mut dyn Capturable,
    ) -> Result<bool, Error> {
        let mut state = self.tree().lock_unasked();
        if self.is_over() {
            return Ok(false);
        }
        self.check_valid()?;
        let ends = self.present_ends(&state, named)?;
        let last = ends.clock.as_ref().and_then(|clock| self.branches.lock().find_last(clock, named));
        let stream = last.as_ref().unwrap_or(named);
        let checked = CheckedNode::of(self.tree(), self.object().id, stream, operation)?;
        if last.is_some() {
            // SAFETY: as the caller vouches.
            unsafe { self.capture_checked(&mut state, checked, stream, operation) }?;
            return Ok(true);
        }
        let before = self.native_tail(stream)?;
        self.goes_on_after(stream, ends.nodes).map_err(|error| self.failed(error))?;
        // SAFETY: as the caller vouches.
        let captured = unsafe { self.capture_checked(&mut state, checked, stream, operation) };
        let node = captured.is_ok().then(|| self.native_tail(stream)).transpose();
        // If this fails, the stream goes on after the node, which is right, too.
        let _ = self.goes_on_after(stream, before);
        captured?;
        if let Ok(Some([node])) = node.as_ref().map(|node| node.as_deref()) {
            self.parts.lock().beside.push(Beside { node: *node, after: ends.clock });
        }
        Ok(true)
    }

    fn present_ends(&self, state: &State, stream: &Stream) -> Result<Ends, Error> {
        let mut branches = self.branches.lock();
        let clock = branches.now(self.table(), stream);
        let mut nodes = branches.ends();
        drop(branches);
        if !state.is_shared {
            return Ok(Ends { nodes, clock: Some(clock) });
        }
        let strangers = self.strangers(state, &nodes).map_err(|error| self.failed(error))?;
        let is_all = strangers.as_ref().is_some_and(Vec::is_empty);
        nodes.extend(strangers.into_iter().flatten());
        Ok(Ends { nodes, clock: is_all.then_some(clock) })
    }

    /// What others have captured last, in streams of theirs; `None` where nobody can tell.
    fn strangers(&self, state: &State, known: &[CUgraphNode]) -> Result<Option<Vec<CUgraphNode>>, CallError> {
        // In a recapture all nodes are there from the start. And of an invalid capture the graph must not be touched.
        let info = calls::info(self.table(), self.stream.raw().handle())?;
        if self.is_again || !is_valid(&info) {
            return Ok(None);
        }
        let mut leaves = state.graph(self.object().id).native.leaves()?;
        let parts = self.parts.lock();
        let is_beside = |leaf: &CUgraphNode| parts.beside.iter().any(|beside| beside.node == *leaf);
        leaves.retain(|leaf| !known.contains(leaf) && !is_beside(leaf));
        Ok(Some(leaves))
    }

    fn goes_on_after(&self, stream: &Stream, mut nodes: Vec<CUgraphNode>) -> Result<(), CallError> {
        // SAFETY: the nodes are those of the graph that is captured.
        unsafe { calls::set_dependencies(self.table(), stream.raw(), &mut nodes) }
    }

    /// A stream of the capture waits for an event of it, which comes after this; `None` if nobody can tell.
    pub(super) fn waits(
        &self,
        stream: &Stream,
        after: Option<&Clock>,
        wait: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.branches.lock().waits(self.table(), stream, after, wait)?;
        if *stream == self.stream {
            self.goes_on_with_those_beside();
        }
        Ok(())
    }

    /// The capture's own stream goes on after the nodes that nothing waits for, if it comes after all ends that they do: then memory which
    /// they free is there again for what is allocated next. Where that fails, it is allocated anew.
    fn goes_on_with_those_beside(&self) {
        let mut parts = self.parts.lock();
        if parts.beside.is_empty() {
            return;
        }
        let mut branches = self.branches.lock();
        let here = branches.after_own();
        let is_before = |beside: &Beside| beside.after.as_ref().is_some_and(|after| here.covers(after));
        let passed: Vec<_> =
            parts.beside.iter().filter(|beside| is_before(beside)).map(|beside| beside.node).collect();
        let Ok(mut nodes) = self.native_tail(&self.stream) else { return };
        nodes.extend(&passed);
        if !passed.is_empty() && self.goes_on_after(&self.stream, nodes).is_ok() {
            branches.own_has_waited(self.table());
            parts.beside.retain(|beside| !passed.contains(&beside.node));
        }
    }

    /// Where the stream is among the branches.
    pub(super) fn position_of(&self, stream: &Stream) -> Result<Position, Error> {
        let whose: Weak<Self> = Weak::clone(&self.this);
        let state = self.tree().lock_unasked();
        if self.is_over() {
            return Ok(Position::new(whose, None, Clock::default()));
        }
        let ends = self.present_ends(&state, stream)?;
        Ok(Position::new(whose, ends.clock, self.branches.lock().after(stream)))
    }
}
