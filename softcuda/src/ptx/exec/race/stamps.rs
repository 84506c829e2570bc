//! Accesses by small numbers: those of a warp at an instruction in one tick are one.

use super::cells::Slot;

/// So many, of 16 bytes.
const MOST: usize = 8 << 20;

/// A warp at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) block: u32,
    pub(super) tick: u32,
    pub(super) op: u32,
    pub(super) warp: u32,
}

#[derive(Default)]
pub(super) struct Stamps {
    all: Vec<Stamp>,
    /// By the index of an instruction: its last one, counted from 1.
    last: Vec<u32>,
}

/// Which lane of the warp it is.
pub(super) fn lane(slot: Slot) -> u32 {
    slot % 32
}

impl Stamps {
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= MOST
    }

    pub(super) fn get(&self, slot: Slot) -> &Stamp {
        &self.all[(slot / 32 - 1) as usize]
    }

    /// The slot of a lane.
    pub(super) fn add(&mut self, stamp: Stamp, lane: u32) -> Slot {
        let op = stamp.op as usize;
        if self.last.len() <= op {
            self.last.resize(op + 1, 0);
        }
        let last = &mut self.last[op];
        if *last == 0 || self.all[*last as usize - 1] != stamp {
            self.all.push(stamp);
            *last = self.all.len() as u32;
        }
        *last * 32 + lane
    }
}
