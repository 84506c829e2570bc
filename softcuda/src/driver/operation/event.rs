//! Records of events, and waits for them. There is nothing to do but to look at the clock, and to tell other processes.

use super::Action;
use crate::abi::sys::CUresult;
use crate::check;
use crate::driver::context::Activation;
use crate::driver::event::{Distant, Event};
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;

/// Records an event: each submission is its last record.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) event: Arc<Event>,
    /// The submission's number among the records of all processes; 0 for none.
    pub(super) number: u64,
}

impl Record {
    pub(crate) fn of(event: Arc<Event>) -> Self {
        Self { event, number: 0 }
    }
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
        self.event.reach(self.number);
    }

    /// Who waits in another process waits for the place, whatever became of the work.
    fn give_up(&self, _fault: CUresult) {
        self.event.reach(self.number);
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

/// Waits for a record of another process's.
#[derive(Clone)]
pub(crate) struct WaitDistant {
    pub(crate) record: Distant,
}

impl Action for WaitDistant {
    fn name(&self) -> &'static str {
        "a wait for another process's event"
    }

    /// As a host function: what it waits for may be anything.
    fn kind(&self) -> WorkKind {
        WorkKind::Host
    }

    fn awaits(&self, addresses: &mut Vec<u64>) {
        addresses.push(check::UNKNOWN);
    }

    fn run(&self, context: &Arc<Activation>, _turn: &Turn<'_>) {
        self.record.wait_for(|| !context.has_ended() && context.fault().is_ok());
    }
}
