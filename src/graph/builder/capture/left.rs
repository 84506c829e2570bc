//! Captures of bodies that somebody has invalidated. The driver destroys a body when such a capture ends, and crashes on what looks at the
//! graph around it from then on, also to destroy that, as the end of a capture that fails does (measured on 580). So it ends once nothing
//! captures around it any more: that graph is given up by then, and stays where it is.

use super::end::ATTEMPTS;
use super::{Capture, Parts};
use crate::driver::Table;
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::CU_STREAM_CAPTURE_STATUS_INVALIDATED;
use crate::graph::relations;
use crate::graph::state::{GraphState, State};
use crate::stream::Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The capture of a body, which ends when the last capture around it lets go of this.
pub(super) struct Left {
    stream: Arc<Stream>,
    table: &'static Table,
    /// Whether the driver has destroyed what is around the body, and with it the body: it crashes on the end.
    is_lost: AtomicBool,
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.is_lost.load(Relaxed) || !self.ends() {
            // The driver crashes on a stream that is destroyed while it captures.
            std::mem::forget(Arc::clone(&self.stream));
        }
    }
}

impl Left {
    /// Ends it, with what joined it. The driver says that it was invalid, and that is no news.
    fn ends(&self) -> bool {
        let raw = self.stream.raw();
        let is_there = || {
            calls::info(self.table, raw.handle())
                .is_ok_and(|info| info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        };
        let _relatives = relations::changed();
        (0..ATTEMPTS).any(|_| {
            let _ = calls::end(self.table, raw);
            !is_there()
        })
    }
}

impl Capture {
    /// Has the driver's graphs around the body let go of what their nodes use, while they can be touched: nobody destroys them. What an
    /// invalid capture has in its graph goes with that, when it ends.
    pub(super) fn take_back_around(&self, state: &mut State) {
        let is_invalid = |graph: &GraphState| {
            graph.captured_by.upgrade().is_some_and(|capture| capture.graph_is_invalid())
        };
        let invalid: Vec<_> =
            state.graphs().filter(|graph| is_invalid(graph)).map(|graph| graph.object.id).collect();
        let lost: Vec<_> = state
            .graphs()
            .map(|graph| graph.object.id)
            .filter(|graph| invalid.iter().any(|invalid| state.is_above(*invalid, *graph)))
            .collect();
        self.tree().release_attached(state, |graph| !lost.contains(&graph));
    }

    /// Whether its graph must not be touched: it is invalid, or was left as such.
    fn graph_is_invalid(&self) -> bool {
        let info = calls::info(self.table(), self.stream.raw().handle());
        info.is_ok_and(|info| info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    }

    /// Leaves the invalid capture of a body, in which another one was left perhaps, to the captures around it.
    #[cold]
    pub(super) fn leave_to_those_around(&self) {
        // The end would destroy what is around those.
        let has_left = !self.parts.lock().left.is_empty();
        let left = Left {
            stream: Arc::clone(&self.stream),
            table: self.table(),
            is_lost: AtomicBool::new(has_left),
        };
        let left = Arc::new(left);
        let mut around = self.outer.upgrade();
        while let Some(capture) = around {
            if !capture.is_over() {
                capture.parts.lock().left.push(Arc::clone(&left));
            }
            around = capture.outer.upgrade();
        }
    }
}

impl Parts {
    /// The driver ended the capture without a graph.
    pub(super) fn lose_left(&self) {
        self.left.iter().for_each(|left| left.is_lost.store(true, Relaxed));
    }
}
