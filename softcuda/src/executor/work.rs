//! What queues are given.

use super::queue::Queue;
use super::sequence::Sequence;
use super::turn::Turn;
use crate::check::Stamp;
use std::sync::Arc;

/// Who runs a piece of work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// Anybody, at once: it takes no time.
    Instant,
    /// A worker of the device: it takes time, and waits for nothing.
    Device,
    /// A worker of the device: it may take long, or wait for what others do, and says so in between (`Turn::spend`).
    Paced,
    /// A thread for the caller's functions: they may wait for anything.
    Host,
}

/// What comes of a piece of work that has had its turn.
pub(crate) enum Outcome {
    Finished,
    /// It is not finished before all of a bundle is; then the rest of it has another turn.
    After(Bundle, Box<dyn Work>),
}

/// Something to run. The executor knows no more of it.
pub(crate) trait Work: Send {
    /// The same for the rest of it.
    fn kind(&self) -> WorkKind;

    /// The addresses of values that it waits for, before what comes next can run; asked only where somebody checks.
    fn awaits(&self) -> Vec<u64> {
        Vec::new()
    }

    /// It is submitted, and has this place in the order; called only where somebody checks. `piece` is its number in a bundle.
    fn placed(&mut self, _stamp: &Arc<Stamp>, _piece: Option<u32>) {}

    fn run(self: Box<Self>, turn: &Turn<'_>) -> Outcome;
}

/// Many pieces of work that are given at once. In the order of their queue they are one: they begin when everything has been
/// done that it must follow, and what comes next in the queue follows all of them. Among themselves they have the order of the
/// sequence, and no other.
pub(crate) struct Bundle {
    pub(crate) sequence: Arc<Sequence>,
    /// As many as the sequence has.
    pub(crate) pieces: Vec<Piece>,
    /// Pieces that follow something else, too; in the order of the pieces.
    pub(crate) after: Vec<(u32, Earlier)>,
}

/// A piece of a bundle.
pub(crate) struct Piece {
    pub(crate) work: Box<dyn Work>,
    /// Whose work it is. It has no place in this queue's order, but its group and its priority.
    pub(crate) queue: Arc<Queue>,
    /// In place of the queue's.
    pub(crate) priority: Option<i32>,
}

/// What a piece follows of which the sequence says nothing.
pub(crate) enum Earlier {
    /// Another piece, of a smaller number.
    Piece(u32),
    /// A task, by its number; and its place in the order, where somebody checks.
    Task(u64, Option<Arc<Stamp>>),
}

/// Work that only marks a place in the order.
pub(super) struct Nothing;

impl Work for Nothing {
    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn run(self: Box<Self>, _turn: &Turn<'_>) -> Outcome {
        Outcome::Finished
    }
}
