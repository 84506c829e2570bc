//! The program as it grows.

use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::program::Line;
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

/// An instruction to come, with what most do not need left out.
pub(super) fn op(run: Handler, d: Reg, a: Reg, b: Reg) -> Op {
    Op { run, d, a, b, c: NIL, imm: 0, extra: 0, line: 0, text: 0 }
}
