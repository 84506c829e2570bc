//! What was found in a launch: each pair of instructions once.

use super::super::seen::Use;
use std::collections::HashSet;

/// So many pairs are kept.
const MOST: usize = 256;

/// How far two threads are from each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Apart {
    /// They are of one warp.
    Warp,
    /// Of one block.
    Block,
    /// Of one cluster.
    Cluster,
    /// Of one grid.
    Grid,
    /// One has begun a copy, which it has not waited for: it may be the same thread.
    Copy,
}

/// A thread at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct By {
    /// The index of the instruction.
    pub op: u32,
    /// `%tid`, counted along x first.
    pub thread: u32,
    /// `%ctaid`
    pub block: [u32; 3],
}

/// Bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bytes {
    /// At this address.
    Global(u64),
    /// At this offset of a block's shared memory.
    Shared(u64, [u32; 3]),
}

/// Two threads use the same bytes, and nothing orders them.
#[derive(Clone, Copy, Debug)]
pub struct Clash {
    /// The two, and how they use it.
    pub sides: [(By, Use); 2],
    /// What both use.
    pub bytes: Bytes,
    /// How much of it.
    pub size: usize,
    /// How far from each other.
    pub apart: Apart,
}

/// Threads of a block that are not together where they must be.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// It waits at a barrier.
    pub waits: By,
    /// So does this one, at another one; or it has done something else.
    pub other: By,
    /// It has ended, without coming to the barrier.
    pub has_ended: bool,
    /// Whether they are of one warp, or only of one block.
    pub apart: Apart,
}

type Pair = (u32, u32, Apart, bool);

/// All of them.
#[derive(Default)]
pub struct Found {
    known: HashSet<Pair>,
    /// Plain reads, and the comparing operations by which the same thread then finds out whether the value still stands there.
    checked: HashSet<(u32, u32)>,
    /// Races.
    pub clashes: Vec<Clash>,
    /// Barriers in divergent code.
    pub splits: Vec<Split>,
    /// Whether there was more to remember than is remembered, so that something may not have been found.
    pub was_full: bool,
}

impl Found {
    fn is_new(&mut self, one: u32, other: u32, apart: Apart, is_split: bool) -> bool {
        self.known.len() < MOST && self.known.insert((one, other, apart, is_split))
    }

    /// The one whose instruction stands first in the text is named first: nothing else makes one the first.
    pub(super) fn add(&mut self, mut clash: Clash) {
        clash.sides.sort_by_key(|(by, _)| by.op);
        let [(first, _), (second, _)] = clash.sides;
        // Whoever uses what a copy may still write has often no order with its end, either.
        if clash.apart != Apart::Copy && self.known.contains(&(first.op, second.op, Apart::Copy, false)) {
            return;
        }
        if self.is_new(first.op, second.op, clash.apart, false) {
            self.clashes.push(clash);
        }
    }

    /// A thread has read a value at one instruction, and compares it at another one.
    pub(super) fn checks(&mut self, read: u32, compare: u32) {
        self.checked.insert((read, compare));
    }

    /// What is told: who reads a value that it then compares does not mind an old one.
    pub(in crate::ptx) fn tell(mut self) -> Self {
        let is_checked = |(read, how): (By, Use), (compare, its): (By, Use)| {
            (how, its) == (Use::Read, Use::Update) && self.checked.contains(&(read.op, compare.op))
        };
        let is_meant = |[one, other]: [(By, Use); 2]| is_checked(one, other) || is_checked(other, one);
        self.clashes.retain(|clash| !is_meant(clash.sides));
        self
    }

    pub(super) fn add_split(&mut self, split: Split) {
        if self.is_new(split.waits.op, split.other.op, split.apart, true) {
            self.splits.push(split);
        }
    }
}
