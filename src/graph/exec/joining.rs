//! Launches that would make their stream part of a capture.

use super::{Exec, State};
use crate::event::{Event, awaited_in_captures};
use crate::object::error::{Error, Status};
use crate::op::node::{EventParameters, Parameters};
use crate::stream::Stream;

impl Exec {
    /// Refuses to launch what waits for an event that a capture under way has recorded: nobody would know that the stream takes part in it,
    /// and what is enqueued there afterwards would not run.
    #[cold]
    pub(super) fn check_joins_none(&self, state: &State, stream: &Stream) -> Result<(), Error> {
        let captured = awaited_in_captures();
        if captured.is_empty() {
            return Ok(());
        }
        let tree = self.tree.lock_unasked();
        if tree.root().is_none() {
            return Ok(());
        }
        let is_one = |parameters: &Parameters| match parameters {
            Parameters::EventWait(waits) => captured.contains(&waits.native()).then(|| waits.clone()),
            _ => None,
        };
        let nodes = tree.nodes().filter(|(_, node)| node.number < self.instance.born);
        for (id, _) in nodes {
            if let Ok(Some(waits)) = self.now(state, &tree, id, is_one) {
                return Err(self.would_join(stream, &tree.name_of(id), &waits));
            }
        }
        Ok(())
    }

    fn would_join(&self, stream: &Stream, node: &str, waits: &EventParameters) -> Error {
        let event = waits.event().map_or_else(|| "an event".to_owned(), |event| Event::to_string(&event));
        let refusal = format!(
            "{node} of {self} waits for {event}, which a capture under way has recorded: the launch would make {stream} part of that capture, and \
             what is enqueued there afterwards would not run. End the capture first, or let the node wait for another event"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }
}
