//! Launches that would make their stream part of a capture.

use super::Exec;
use crate::event::{Event, awaited_in_captures};
use crate::graph::contents::Contents;
use crate::graph::record::Record;
use crate::graph::state::name;
use crate::object::error::{Error, Status};
use crate::op::node::{EventParameters, Parameters};
use crate::stream::Stream;

impl Exec {
    /// Refuses to launch what waits for an event that a capture under way has recorded: nobody would know that the stream takes part in it,
    /// and what is enqueued there afterwards would not run.
    #[cold]
    pub(super) fn check_joins_none<'a>(
        &self,
        all: impl Iterator<Item = &'a Contents>,
        stream: &Stream,
    ) -> Result<(), Error> {
        let captured = awaited_in_captures();
        if captured.is_empty() {
            return Ok(());
        }
        for (_, record) in all.flat_map(Contents::iter) {
            match &record.parameters {
                Parameters::EventWait(waits) if captured.contains(&waits.native()) => {
                    return Err(self.would_join(stream, record, waits));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn would_join(&self, stream: &Stream, record: &Record, waits: &EventParameters) -> Error {
        let label = self.0.tree.names.label(record.number);
        let node = name(record.node_type(), record.number, label.as_deref());
        let event = waits.event().map_or_else(|| "an event".to_owned(), |event| Event::to_string(&event));
        let refusal = format!(
            "{node} of {self} waits for {event}, which a capture under way has recorded: the launch would make {stream} part of that capture, and \
             what is enqueued there afterwards would not run. End the capture first, or let the node wait for another event"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }
}
