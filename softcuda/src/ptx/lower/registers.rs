//! Where the registers of a function are, and how large.

use super::emit::NIL;
use crate::ptx::exec::core::Reg;
use crate::ptx::types::Type;

/// Bytes that one register of the type takes in a frame.
pub(super) fn room(ty: Type) -> u32 {
    match width(ty) {
        0 => 4,
        width => width * 32,
    }
}

/// Bytes of a lane in a register of the type; 0 is a predicate. Registers of 8 bits have 16.
pub(super) fn width(ty: Type) -> u32 {
    match ty.size() {
        1 => 2,
        size => size,
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
