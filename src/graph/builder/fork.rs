//! Builders that work beside each other in one capture: forked from one, and joined into one.

use super::phase::Phase;
use super::{Builder, BuilderKind, Of};
use crate::event::{Event, EventOptions};
use crate::object::error::{Error, Status};
use crate::stream::{Stream, StreamOptions};
use std::sync::Arc;

impl Builder {
    /// Creates so many builders that go on beside this one, from where it is: what they capture comes after what was captured here by
    /// now, and is not ordered against what follows here. Each is joined before the capture ends.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for none, and for a builder that does not capture; the driver's.
    pub fn fork(&self, count: usize) -> Result<Vec<Self>, Error> {
        let capture = self.capturing("cannot be forked")?;
        if count == 0 {
            return Err(
                self.refused("is to be forked into fewer than two: fork at least one from it".to_owned())
            );
        }
        let context = self.context();
        let streams: Result<Vec<_>, _> =
            (0..count).map(|_| Stream::create(context, &StreamOptions::default())).collect();
        let (streams, event) = (streams?, Event::create(context, &EventOptions::default())?);
        // Nobody else has them: none of their calls is to be waited for.
        streams.iter().for_each(|stream| stream.belongs_to_builder());
        event.record(&self.0.stream)?;
        // What was forked and has no work need not be joined.
        streams.iter().try_for_each(|stream| stream.wait_event(&event))?;
        let forked = |stream: Stream| {
            let phase = Phase::Capturing(Arc::clone(&capture));
            let fork = Self::new(BuilderKind::Forked, self.0.mode, Of::Builder(stream), None, phase);
            capture.was_forked(&fork.0.name, &fork.0.stream);
            fork
        };
        Ok(streams.into_iter().map(forked).collect())
    }

    /// Joins other builders into this one: what is captured here from now on comes after what they captured. They are closed.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for none, for one that is not forked, is this one, comes twice, does not capture, or is part of
    /// another capture: nothing is joined then. The driver's; [`item`](crate::Failure::item) says which of them failed, those before it
    /// are joined.
    pub fn join(&self, others: &[&Self]) -> Result<(), Error> {
        let capture = self.capturing("nothing can be joined into it")?;
        if others.is_empty() {
            return Err(self.refused("is to be joined with none: name at least one other".to_owned()));
        }
        for (index, other) in others.iter().enumerate() {
            let why = if *other == self {
                "is the one to join into"
            } else if others[..index].iter().any(|before| before == other) {
                "is named twice"
            } else if other.0.kind != BuilderKind::Forked {
                "was not forked from another one, and cannot be joined into one; end it, and embed its graph (cushim_builder_add_child)"
            } else if !Arc::ptr_eq(&other.capturing("cannot be joined")?, &capture) {
                "is part of another capture; join it into a builder of that"
            } else {
                continue;
            };
            return Err(of_item(other.refused(why.to_owned()), index));
        }
        let event = Event::create(self.context(), &EventOptions::default())?;
        for (index, other) in others.iter().enumerate() {
            let joined = event.record(&other.0.stream).and_then(|()| self.0.stream.wait_event(&event));
            joined.map_err(|failure| of_item(failure, index))?;
            // Of one that was forked, nothing is ended.
            other.close()?;
        }
        Ok(())
    }
}

fn of_item(mut failure: Error, index: usize) -> Error {
    debug_assert_ne!(failure.status, Status::SUCCESS, "it failed");
    failure.item = Some(index);
    failure
}
