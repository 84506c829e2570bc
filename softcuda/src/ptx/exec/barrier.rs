//! Barriers of a block.

use super::core::Reg;

/// What an instruction does at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) enum Action {
    Wait,
    /// Counts, and goes on.
    Arrive,
    /// Waits, and gets how many predicates are true, whether all or any are.
    Count,
    All,
    Any,
    ClusterArrive,
    ClusterWait,
}

/// The operands of a barrier instruction.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Barrier {
    pub(in crate::ptx) action: Action,
    /// The barrier's number, and how many threads it is for.
    pub(in crate::ptx) number: Option<Reg>,
    pub(in crate::ptx) threads: Option<Reg>,
    /// A reduction's result: a register of 32 bits for `Count`, else a predicate.
    pub(in crate::ptx) result: Option<Reg>,
    pub(in crate::ptx) predicate: Option<(Reg, bool)>,
}

/// How many barriers a block has.
pub(in crate::ptx) const BARRIERS: usize = 16;

/// One barrier's state.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ptx) struct State {
    /// Warps that have arrived.
    pub(in crate::ptx) arrived: u32,
    /// The number of threads that is waited for; 0 is the whole block.
    pub(in crate::ptx) threads: u32,
    /// Of the threads that have arrived: all, and those whose predicate is true.
    pub(in crate::ptx) votes: u32,
    pub(in crate::ptx) yes: u32,
}

impl State {
    /// Whether enough have come, where `exited` of `warps` are gone.
    pub(in crate::ptx) fn is_met(&self, warps: u32, exited: u32) -> bool {
        self.arrived > 0
            && match self.threads {
                0 => self.arrived + exited >= warps,
                threads => self.arrived * 32 >= threads,
            }
    }
}
