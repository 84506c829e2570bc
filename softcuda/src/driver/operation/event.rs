//! Records of events, and waits for them. There is nothing to do but to look at the clock.

use super::Action;
use crate::driver::context::Activation;
use crate::driver::event::Event;
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;

/// Records an event: each submission is its last record.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) event: Arc<Event>,
}

impl Action for Record {
    fn name(&self) -> &'static str {
        "an event's record"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn run(&self, _context: &Arc<Activation>, turn: &Turn<'_>) {
        turn.mark();
    }
}

/// Waits for an event: each submission for the record that is the last one then.
#[derive(Clone)]
pub(crate) struct Wait {
    pub(crate) event: Arc<Event>,
}

impl Action for Wait {
    fn name(&self) -> &'static str {
        "a wait for an event"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {}
}
