//! Launches that make a stream part of a capture.

use super::plan::Actions;
use crate::driver::event::Captured;
use crate::driver::graph::leaf::Leaf;

/// The place in a capture under way that a launch waits for. The stream of the launch takes part in that capture afterwards, as if it had
/// waited for the event itself (measured on driver 580, which leaves out a wait beside what it does in the stream).
pub(super) fn place(actions: &Actions) -> Option<Captured> {
    actions.steps.iter().filter(|step| step.enabled).find_map(|step| match &*step.leaf {
        Leaf::Wait(it) => it.event.captured().filter(|captured| captured.capture.is_valid()),
        _ => None,
    })
}
