//! Threads of one kernel against each other: they use the same bytes without an order, or are apart at a barrier.

use super::access::{Kind, Memory, Op, Site};
use super::report::{Json, Report, bytes};
use super::side::Side;
use std::sync::Arc;

/// How far two threads are from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Apart {
    Warp,
    Block,
    Cluster,
    Grid,
    /// One has begun a copy, and has not waited for it.
    Copy,
}

/// What both use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes {
    /// An address of global memory.
    Global(u64),
    /// An offset in the shared memory of a block.
    Shared(u64, [u32; 3]),
}

/// What was found inside of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Inside {
    Race {
        sides: [(Kind, Site); 2],
        bytes: Bytes,
        size: u64,
        apart: Apart,
    },
    /// A thread waits at a barrier where another one does not come.
    Split {
        waits: Site,
        other: (Kind, Site),
        apart: Apart,
    },
}

impl Inside {
    /// Of global memory.
    pub(super) fn address(&self) -> Option<u64> {
        match self {
            Self::Race { bytes: Bytes::Global(address), .. } => Some(*address),
            _ => None,
        }
    }
}

/// One that was found, by a launch.
pub(super) struct Found {
    pub(super) op: Arc<Op>,
    pub(super) what: Inside,
    /// The allocation, if it is known.
    pub(super) memory: Option<Memory>,
}

impl Apart {
    fn text(self) -> &'static str {
        match self {
            Self::Warp => "two threads of one warp",
            Self::Block => "two threads of one block",
            Self::Cluster => "two blocks of one cluster",
            Self::Grid => "two blocks",
            Self::Copy => "a thread and an asynchronous copy",
        }
    }

    /// What would order two threads.
    fn advice(self, are_atomic: [bool; 2]) -> String {
        let barrier = match self {
            Self::Warp => "__syncwarp() (bar.warp.sync) between the two, or a barrier of the block",
            Self::Block => "__syncthreads() (bar.sync) between the two",
            Self::Cluster => "the cluster's barrier between the two: cluster.sync() (barrier.cluster)",
            Self::Copy => {
                "cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior()) by the thread that has begun the copy, and then \
                 __syncthreads() (bar.sync) if another thread uses the bytes"
            }
            Self::Grid => {
                "two launches, or a cooperative launch with grid.sync() between the two; or the first tells that it is done, \
                 __threadfence() and then an atomic operation, and the second reads that before"
            }
        };
        match are_atomic {
            _ if self == Self::Copy => barrier.to_owned(),
            [true, false] => format!("{barrier}; or let the second be atomic, too"),
            [false, true] => format!("{barrier}; or let the first be atomic, too"),
            _ => barrier.to_owned(),
        }
    }
}

impl Found {
    fn side(&self, kind: Kind, site: &Site) -> Side {
        Side::new(&self.op, kind, Some(site.clone()))
    }

    fn sides(&self) -> [Side; 2] {
        match &self.what {
            Inside::Race { sides: [one, other], .. } => {
                [one, other].map(|(kind, site)| self.side(*kind, site))
            }
            Inside::Split { waits, other: (kind, other), .. } => {
                [self.side(Kind::Wait, waits), self.side(*kind, other)]
            }
        }
    }

    pub(super) fn places(&self) -> String {
        let [first, second] = self.sides();
        match &self.what {
            Inside::Race { apart, .. } => {
                format!("race: {} / {}, {}", first.place(), second.place(), apart.text())
            }
            Inside::Split { .. } => format!("barrier: {} / {}", first.place(), second.place()),
        }
    }

    pub(super) fn report(&self, places: &str) -> Report {
        match &self.what {
            Inside::Race { bytes, size, apart, .. } => self.race(places, *bytes, *size, *apart),
            Inside::Split { other: (kind, _), apart, .. } => self.split(places, *kind == Kind::End, *apart),
        }
    }

    fn race(&self, places: &str, place: Bytes, size: u64, apart: Apart) -> Report {
        let [first, second] = self.sides();
        let are_atomic = match &self.what {
            Inside::Race { sides, .. } => {
                [0, 1].map(|at| matches!(sides[at].0, Kind::Atomic | Kind::AtomicRead))
            }
            Inside::Split { .. } => [false; 2],
        };
        let mut json = Json::new("races", places);
        let place = match (place, &self.memory) {
            (Bytes::Global(address), Some(memory)) => {
                let offset = address - memory.start;
                json = json.number("address", address).number("bytes", size);
                json = json.text("allocation", &memory.to_string()).number("offset", offset);
                format!("{} at {address:#x}, offset {offset} of {memory}", bytes(size))
            }
            (Bytes::Global(address), None) => {
                json = json.number("address", address).number("bytes", size);
                format!("{} at {address:#x}", bytes(size))
            }
            (Bytes::Shared(offset, [x, y, z]), _) => {
                let memory = format!("the shared memory of block ({x},{y},{z})");
                json = json.number("bytes", size).text("allocation", &memory).number("offset", offset);
                format!("{} at offset {offset} of {memory}", bytes(size))
            }
        };
        let advice = apart.advice(are_atomic);
        let text = format!(
            "race: {} of {} in {} use the same bytes: one {} them, the other one {} them, and nothing orders the two\n    \
             {place}\n    first:  {first}\n    second: {second}\n    order:  {advice}",
            apart.text(),
            first.work(),
            first.stream,
            first.verb(),
            second.verb(),
        );
        json = json.side("first", &first).side("second", &second).text("order", &advice);
        Report::new("races", text, json)
    }

    fn split(&self, places: &str, has_ended: bool, apart: Apart) -> Report {
        let [first, second] = self.sides();
        let what = match has_ended {
            true => "one waits at a barrier, and the other one goes on without it",
            false => "they wait at two barriers",
        };
        let advice = "let all threads of the block come to the same barrier: take it out of the condition";
        let text = format!(
            "barrier: {} of {} in {} have diverged: {what}\n    first:  {first}\n    second: {second}\n    order:  {advice}",
            apart.text(),
            first.work(),
            first.stream,
        );
        let json = Json::new("races", places).side("first", &first).side("second", &second);
        Report::new("races", text, json.text("order", advice))
    }
}
