//! The program as it grows.

use super::names::{room, width};
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::program::Line;
use crate::ptx::types::Type;
use std::collections::HashMap;

/// Nothing, as an operand.
pub(super) const NIL: Reg = Reg(0);

/// Values that registers of 32 lanes hold, each once.
#[derive(Default)]
pub(super) struct Constants {
    lines: Vec<Line>,
    known: HashMap<(u64, u32), Reg>,
}

impl Constants {
    /// A constant of so many bytes a lane; 0 is a predicate.
    pub(super) fn get(&mut self, value: u64, width: u32) -> Reg {
        *self.known.entry((value, width)).or_insert_with(|| {
            let reg = Reg::constant(self.lines.len() as u32 * 64);
            let mut bytes = Vec::new();
            match width {
                0 => bytes.extend(if value != 0 { [0xff; 4] } else { [0; 4] }),
                width => {
                    let lane = u128::from(value).to_le_bytes();
                    for _ in 0..32 {
                        bytes.extend(&lane[..width as usize]);
                    }
                }
            }
            for chunk in bytes.chunks(64) {
                let mut line = Line([0; 64]);
                line.0[..chunk.len()].copy_from_slice(chunk);
                self.lines.push(line);
            }
            reg
        })
    }

    pub(super) fn finish(self) -> Vec<Line> {
        self.lines
    }
}

/// The most bytes of registers that a function may have, for 32 lanes: what a [`Reg`] can say.
const MOST: u64 = 1 << 31;

/// The registers of a function.
#[derive(Default)]
pub(super) struct Registers {
    used: u64,
    /// Bytes of registers that are declared and have no place.
    unnamed: u64,
    predicates: u64,
    predicate_end: u64,
}

impl Registers {
    /// So many registers of the type, one after the other. What lies beyond the most is never used: `size` refuses then.
    pub(super) fn take(&mut self, ty: Type, count: u32) -> Reg {
        let at = if width(ty) == 0 && count == 1 {
            if self.predicates == self.predicate_end {
                self.predicates = self.line(64);
                self.predicate_end = self.predicates + 64;
            }
            self.predicates += 4;
            self.predicates - 4
        } else {
            self.line((u64::from(room(ty)) * u64::from(count)).next_multiple_of(64))
        };
        if at < MOST { Reg(at as u32) } else { NIL }
    }

    /// Counts registers that are declared together, and get a place by `take_declared` if somebody names them.
    pub(super) fn declare(&mut self, ty: Type, count: u64) {
        self.unnamed = self.unnamed.saturating_add(count.saturating_mul(room(ty).into()));
    }

    pub(super) fn take_declared(&mut self, ty: Type, count: u32) -> Reg {
        self.unnamed = self.unnamed.saturating_sub(u64::from(room(ty)) * u64::from(count));
        self.take(ty, count)
    }

    /// Registers of 32 bits a thread, as the text declares them.
    pub(super) fn declared(&self) -> u32 {
        u32::try_from(self.used.saturating_add(self.unnamed) / 128).unwrap_or(u32::MAX)
    }

    fn line(&mut self, bytes: u64) -> u64 {
        self.used = self.used.saturating_add(bytes);
        self.used.saturating_sub(bytes)
    }

    /// Bytes, in whole lines; `None` is more than there can be.
    pub(super) fn size(&self) -> Option<u32> {
        (self.used <= MOST).then_some(self.used.max(64) as u32)
    }
}

/// An instruction to come, with what most do not need left out.
pub(super) fn op(run: Handler, d: Reg, a: Reg, b: Reg) -> Op {
    Op { run, d, a, b, c: NIL, imm: 0, extra: 0, line: 0, text: 0 }
}
