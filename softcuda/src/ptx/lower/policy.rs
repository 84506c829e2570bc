//! `createpolicy`: what tells a cache which lines to keep. Nothing here looks at it, but programs may: the bits are those of
//! compute capability 9.0.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::memory::Space;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Op, Reg};
use crate::ptx::exec::map::{binary, ternary, unary};
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
        Some(_) => range(l, i, m),
        None => Err(m.invalid("it has .fractional, .range or .cvt")),
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

/// The bits of the first priority and of the second.
fn priorities(m: &mut Modifiers<'_>) -> Result<u64, JitError> {
    let first = m.one_of(&PRIORITIES).ok_or_else(|| m.invalid("a priority is wanted"))?;
    let number = PRIORITIES.iter().position(|known| *known == first).unwrap_or(0) as u64;
    match m.one_of(&PRIORITIES) {
        None | Some("L2::evict_unchanged") => Ok(number << 5),
        Some("L2::evict_first") => Ok(number << 5 | 1 << 4),
        Some(_) => Err(m.invalid("the second priority is .L2::evict_unchanged or .L2::evict_first")),
    }
}

/// A part of the lines, in sixteenths and one more, gets the first priority, the others the second.
fn fractional<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let kind = 0x100 | priorities(m)?;
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
    let kind = l.constant(kind, Type::B64);
    let run = binary(|fraction: f32, kind: u64| {
        let parts = (fraction * 15.99) as u32 & 0xf;
        (kind | u64::from(parts)) << 52
    });
    l.emit(op(run, d, fraction, kind));
    Ok(())
}

/// Of `total` bytes, the first `primary` of which get the first priority, the others the second.
fn range<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    m.take("global");
    let kind = 0x180 | priorities(m)?;
    let d = result(l, i, m)?;
    let [_, address, primary, total] = l.operands(i)?;
    if let (Operand::Integer(primary), Operand::Integer(total)) = (primary, total)
        && primary > total
    {
        return Err(
            m.invalid(&format!("{primary} bytes are more than the {total} of which they are the first"))
        );
    }
    let a = l.whole_address(address, Space::Global, m)?;
    let (primary, total) = (l.source(primary, Type::U32)?, l.source(total, Type::U32)?);
    let kind = l.constant(kind, Type::B64);
    let sizes = l.temporary(Type::B64);
    l.emit(op(
        binary(|primary: u32, total: u32| u64::from(total) << 32 | u64::from(primary)),
        sizes,
        primary,
        total,
    ));
    l.emit(Op { c: kind, ..op(ternary(of_range), d, a, sizes) });
    Ok(())
}

/// The lines are counted in blocks of a size that the total has some 128 of: its logarithm less 12, the number of the first, modulo 128, and
/// how many belong to the first priority beside it.
fn of_range(address: u64, sizes: u64, kind: u64) -> u64 {
    let (primary, total) = (sizes as u32, (sizes >> 32) as u32);
    let bits = |kind: u64, block: u32, first: u64, count: u64| {
        ((kind | u64::from(block - LEAST_BLOCK) & 0xf) << 8 | first & 0x7f) << 7 | count
    };
    if total == 0 {
        return bits(0x180, LEAST_BLOCK, 0, 0) << 37;
    }
    // In single precision, as ptxas works it out.
    let logarithm = f64::from(total as f32).log2() as f32;
    let block = (logarithm.ceil() as u32).saturating_sub(7).max(LEAST_BLOCK);
    let first = address >> block;
    let end = address.wrapping_add(primary.wrapping_sub(1).wrapping_add(1 << block).into()) >> block;
    bits(kind, block, first, end.wrapping_sub(first).min(0x7f)) << 37
}

/// The logarithm of the smallest block, of 4 KiB.
const LEAST_BLOCK: u32 = 12;
