//! `createpolicy`: what tells a cache which lines to keep. Nothing here looks at it, but programs may: the bits are those of
//! compute capability 9.0.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::Reg;
use crate::ptx::exec::map::{binary, unary};
use crate::ptx::types::Type;

const PRIORITIES: [&str; 4] =
    ["L2::evict_unchanged", "L2::evict_first", "L2::evict_last", "L2::evict_normal"];

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match m.one_of(&["fractional", "cvt", "range"]) {
        Some("fractional") => fractional(l, i, m),
        Some("cvt") => {
            if !m.take("L2") {
                return Err(m.invalid("it has .L2"));
            }
            let d = result(l, i, m)?;
            let [_, from] = l.operands(i)?;
            let a = l.source(from, Type::B64)?;
            l.emit(op(unary(|a: u64| a), d, a, NIL));
            Ok(())
        }
        _ => Err(m.uncovered("only the forms .fractional and .cvt are supported")),
    }
}

fn result<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<Reg, JitError> {
    let ty = m.ty()?;
    if ty != Type::B64 {
        return Err(m.bad_type(ty));
    }
    let d = i.operands.first().ok_or_else(|| m.invalid("a register for the policy is wanted"))?;
    l.destination(d, ty)
}

/// A part of the lines, in sixteenths and one more, gets the first priority, the others the second.
fn fractional<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let first = m.one_of(&PRIORITIES).ok_or_else(|| m.invalid("a priority is wanted"))?;
    let number = PRIORITIES.iter().position(|known| *known == first).unwrap_or(0) as u64;
    let others_go_first = match m.one_of(&PRIORITIES) {
        None | Some("L2::evict_unchanged") => 0,
        Some("L2::evict_first") => 1,
        Some(_) => return Err(m.invalid("the second priority is .L2::evict_unchanged or .L2::evict_first")),
    };
    let d = result(l, i, m)?;
    let fraction = match i.operands.as_slice() {
        [_] => l.constant(u64::from(1f32.to_bits()), Type::F32),
        [_, fraction] => {
            let value = match *fraction {
                Operand::Single(bits) => f64::from(f32::from_bits(bits)),
                Operand::Double(bits) => f64::from_bits(bits),
                _ => 1.0,
            };
            if !(value > 0.0 && value <= 1.0) {
                return Err(m.invalid("a fraction is more than 0 and at most 1"));
            }
            l.source(fraction, Type::F32)?
        }
        _ => return Err(m.invalid("a register for the policy, and perhaps a fraction are wanted")),
    };
    let kind = l.constant(0x100 | number << 5 | others_go_first << 4, Type::B64);
    let run = binary(|fraction: f32, kind: u64| {
        let parts = (fraction * 15.99) as u32 & 0xf;
        (kind | u64::from(parts)) << 52
    });
    l.emit(op(run, d, fraction, kind));
    Ok(())
}
