//! An operation to whoever checks: what it does to memory, and its place in the order.

use super::Action;
use crate::check::access::{Described, Misuse};
use crate::check::{self, Entry, Running, Stamp, Used};
use crate::driver::context::Activation;
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;

/// One submission of an operation, as it is checked.
pub(super) struct Checked {
    stamp: Arc<Stamp>,
    /// `None` if it uses no memory that is checked.
    entry: Option<Arc<Entry>>,
}

impl Checked {
    /// It is submitted to the stream of this number.
    pub(super) fn new(
        action: &dyn Action,
        stamp: &Arc<Stamp>,
        stream: u64,
        node: Option<u32>,
        device: usize,
    ) -> Self {
        let (mut used, mut given) = (Used::default(), Vec::new());
        action.uses(&mut used);
        action.gives(&mut given);
        given.into_iter().for_each(|address| check::writes_value(address, stamp));
        let (what, kernel) = (action.name(), action.kernel().to_owned());
        let is_of_interest = !kernel.is_empty() || !used.ranges.is_empty() || !used.moves.is_empty();
        let described = Described { what, kernel, stream, node, device };
        let entry = is_of_interest.then(|| check::note(described, stamp, used));
        Self { stamp: Arc::clone(stamp), entry }
    }

    /// Does it.
    pub(super) fn run(&self, action: &dyn Action, context: &Arc<Activation>, turn: &Turn<'_>) {
        let running = self.entry.as_ref().map(|_| Running::begin());
        let more = action.run_checked(context, turn);
        if let Some(entry) = &self.entry {
            check::has_run(entry, more);
            drop(running);
        } else if action.kind() == WorkKind::Host {
            // A function of the program's may have told any thread that the work before it is done.
            check::host_waited(std::iter::once(&self.stamp));
        }
    }

    /// It is not done, because something went wrong, with it or before: what it would have done is known from the call, but of a kernel.
    pub(super) fn give_up(&self, misuse: Option<&Misuse>) {
        let more = || Used { misuse: misuse.cloned(), ..Used::default() };
        self.entry.iter().for_each(|entry| check::has_run(entry, more()));
    }
}
