//! Allocation and free in the order of work.

use super::{Action, use_all};
use crate::abi::sys::CUresult;
use crate::check::Used;
use crate::check::access::Kind;
use crate::driver::context::Activation;
use crate::driver::memory::table::Allocation;
use crate::executor::{Turn, WorkKind};
use crate::instruments::complain::complain;
use std::sync::Arc;

/// The place in the order from which memory may be used.
#[derive(Clone)]
pub(crate) struct Allocate {
    pub(crate) allocation: Arc<Allocation>,
}

impl Action for Allocate {
    fn name(&self) -> &'static str {
        "an allocation"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn uses(&self, used: &mut Used) {
        use_all(used, &self.allocation, Kind::Allocate);
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        self.allocation.set_usable();
    }
}

/// The place in the order from which it may not.
#[derive(Clone)]
pub(crate) struct Free {
    pub(crate) allocation: Arc<Allocation>,
}

impl Action for Free {
    fn name(&self) -> &'static str {
        "a free"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn uses(&self, used: &mut Used) {
        use_all(used, &self.allocation, Kind::Free);
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        if self.allocation.of_graph().is_some() && !self.allocation.is_usable() {
            complain(
                "a graph's memory is freed where it is not allocated; order the free behind the allocation",
            );
        }
        self.allocation.set_freed();
    }

    fn give_up(&self, _fault: CUresult) {
        self.allocation.set_freed();
    }
}
