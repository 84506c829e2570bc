//! What becomes of the invalid capture of a body: it is left to the captures around it.

use super::left::Left;
use super::{Capture, Parts};
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::CU_STREAM_CAPTURE_STATUS_INVALIDATED;
use crate::graph::definition::{GraphState, State};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};

impl Capture {
    /// Has the driver's graphs around the body let go of what their nodes use, while they can be touched: nobody destroys them. What an
    /// invalid capture has in its graph goes with that, when it ends.
    pub(super) fn take_back_around(&self, state: &mut State) {
        let is_invalid = |graph: &GraphState| {
            graph
                .captured_by
                .as_ref()
                .and_then(Weak::upgrade)
                .is_some_and(|capture| capture.graph_is_invalid())
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
    pub(super) fn has_invalid_graph(&self) -> bool {
        let info = calls::info(self.table(), self.stream.raw().handle());
        info.is_ok_and(|info| info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    }

    /// Leaves the invalid capture of a body, in which another one was left perhaps, to the captures around it.
    #[cold]
    pub(super) fn leave_to_those_around(&self) {
        // The end would destroy what is around those.
        let has_left = !self.parts.lock().left.is_empty();
        let left =
            Left { stream: self.stream.clone(), table: self.table(), is_lost: AtomicBool::new(has_left) };
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
