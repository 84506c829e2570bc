//! Logic, shifts, fields, counting, permutation.

use super::arithmetic::{by_width, one, three, two};
use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op};
use crate::ptx::exec::map::{binary, logic, ternary, ternary_with, unary};
use crate::ptx::types::Type;
use Type::{B32, B64, F32, F64, Pred, S16, S32, S64, U16, U32, U64};

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "and" | "or" | "xor" | "not" | "cnot" => plain(l, i, m),
        "lop3" => lookup(l, i, m),
        "shl" | "shr" => shift(l, i, m),
        "shf" => funnel(l, i, m),
        "bfe" => extract(l, i, m),
        "bfi" => insert(l, i, m),
        "brev" | "clz" | "popc" | "bfind" => count(l, i, m),
        "prmt" => permute(l, i, m),
        "dp4a" | "dp2a" => dot(l, i, m),
        "copysign" => {
            let ty = m.ty()?;
            let run = match ty {
                F32 => binary(|a: f32, b: f32| b.copysign(a)),
                F64 => binary(|a: f64, b: f64| b.copysign(a)),
                _ => return Err(m.bad_type(ty)),
            };
            two(l, i, ty, run)
        }
        "bmsk" => {
            let clamp = m.take("clamp");
            m.take("wrap");
            let ty = m.ty()?;
            let run = if clamp {
                binary(|a: u32, b: u32| mask(u64::from(a).min(32) as u32, b.min(32)))
            } else {
                binary(|a: u32, b: u32| mask(a & 31, b & 31))
            };
            two(l, i, ty, run)
        }
        _ => Err(m.uncovered("this instruction is not supported")),
    }
}

#[inline(always)]
fn mask(position: u32, length: u32) -> u32 {
    ((((1u64 << length) - 1) << position) & 0xffff_ffff) as u32
}

fn plain<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let ty = m.ty()?;
    if ty == Pred {
        return predicates(l, i, m);
    }
    if ty.bits() != ty {
        return Err(m.bad_type(ty));
    }
    let run = match i.opcode {
        "and" => by_width!(ty, binary, |a, b| a & b),
        "or" => by_width!(ty, binary, |a, b| a | b),
        "xor" => by_width!(ty, binary, |a, b| a ^ b),
        "not" => by_width!(ty, unary, |a| !a),
        _ => match ty {
            Type::B16 => Some(unary(|a: u16| u16::from(a == 0))),
            B32 => Some(unary(|a: u32| u32::from(a == 0))),
            _ => Some(unary(|a: u64| u64::from(a == 0))),
        },
    };
    let run = run.ok_or_else(|| m.bad_type(ty))?;
    if matches!(i.opcode, "not" | "cnot") { one(l, i, ty, ty, run) } else { two(l, i, ty, run) }
}

fn predicates<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &Modifiers<'a>) -> Result<(), JitError> {
    let run = match i.opcode {
        "and" => logic(|a, b, _| a & b),
        "or" => logic(|a, b, _| a | b),
        "xor" => logic(|a, b, _| a ^ b),
        "not" => logic(|a, _, _| !a),
        _ => return Err(m.bad_type(Pred)),
    };
    let (d, a, b) = if i.opcode == "not" {
        let [d, a] = l.operands(i)?;
        (d, a, None)
    } else {
        let [d, a, b] = l.operands(i)?;
        (d, a, Some(b))
    };
    let a = l.predicate(a)?;
    let b = b.map_or(Ok(NIL), |b| l.predicate(b))?;
    let d = l.destination(d, Pred)?;
    l.emit(op(run, d, a, b));
    Ok(())
}

/// `lop3.b32 d, a, b, c, table`
fn lookup<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let ty = m.ty()?;
    if ty != B32 {
        return Err(m.bad_type(ty));
    }
    let [d, a, b, c, table] = l.operands(i)?;
    let Operand::Integer(table) = table else { return Err(m.invalid("the table is an immediate")) };
    let (a, b, c) = (l.source(a, ty)?, l.source(b, ty)?, l.source(c, ty)?);
    let d = l.destination(d, ty)?;
    let run = ternary_with(|a: u32, b: u32, c: u32, table: u32| {
        let mut d = 0;
        for row in 0..8 {
            let keep = 0u32.wrapping_sub(table >> row & 1);
            let x = if row & 4 != 0 { a } else { !a };
            let y = if row & 2 != 0 { b } else { !b };
            let z = if row & 1 != 0 { c } else { !c };
            d |= x & y & z & keep;
        }
        d
    });
    l.emit(Op { c, extra: *table as u32 & 0xff, ..op(run, d, a, b) });
    Ok(())
}

fn shift<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let ty = m.ty()?;
    let run = match (i.opcode, ty) {
        ("shl", Type::B16) => binary(|a: u16, b: u32| if b > 15 { 0 } else { a << b }),
        ("shl", B32) => binary(|a: u32, b: u32| if b > 31 { 0 } else { a << b }),
        ("shl", B64) => binary(|a: u64, b: u32| if b > 63 { 0 } else { a << b }),
        ("shr", Type::B16 | U16) => binary(|a: u16, b: u32| if b > 15 { 0 } else { a >> b }),
        ("shr", B32 | U32) => binary(|a: u32, b: u32| if b > 31 { 0 } else { a >> b }),
        ("shr", B64 | U64) => binary(|a: u64, b: u32| if b > 63 { 0 } else { a >> b }),
        ("shr", S16) => binary(|a: i16, b: u32| a >> b.min(15)),
        ("shr", S32) => binary(|a: i32, b: u32| a >> b.min(31)),
        ("shr", S64) => binary(|a: i64, b: u32| a >> b.min(63)),
        _ => return Err(m.bad_type(ty)),
    };
    let [d, a, b] = l.operands(i)?;
    let (a, b) = (l.source(a, ty)?, l.source(b, U32)?);
    let d = l.destination(d, ty)?;
    l.emit(op(run, d, a, b));
    Ok(())
}

/// `shf`: 32 bits out of 64, `a` below `b`.
fn funnel<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let left = m.one_of(&["l", "r"]).ok_or_else(|| m.invalid("one of .l and .r is wanted"))? == "l";
    let clamp = m.one_of(&["clamp", "wrap"]).ok_or_else(|| m.invalid("one of .clamp and .wrap is wanted"))?;
    let ty = m.ty()?;
    if ty != B32 {
        return Err(m.bad_type(ty));
    }
    #[inline(always)]
    fn both(a: u32, b: u32) -> u64 {
        u64::from(a) | u64::from(b) << 32
    }
    let run = match (left, clamp == "clamp") {
        (true, true) => ternary(|a: u32, b: u32, c: u32| (both(a, b) << c.min(32) >> 32) as u32),
        (true, false) => ternary(|a: u32, b: u32, c: u32| (both(a, b) << (c & 31) >> 32) as u32),
        (false, true) => ternary(|a: u32, b: u32, c: u32| (both(a, b) >> c.min(32)) as u32),
        (false, false) => ternary(|a: u32, b: u32, c: u32| (both(a, b) >> (c & 31)) as u32),
    };
    three(l, i, ty, run)
}

fn extract<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let ty = m.ty()?;
    /// The field, with copies of its highest bit above it if it is signed.
    #[inline(always)]
    fn field(a: u64, width: u32, position: u32, length: u32, signed: bool) -> u64 {
        let top = position.saturating_add(length).wrapping_sub(1).min(width - 1);
        let negative = signed && length > 0 && a >> top & 1 != 0;
        let value = if position < width { a >> position } else { 0 };
        let have = if position < width { (width - position).min(length) } else { 0 };
        let ones = if have >= 64 { u64::MAX } else { (1 << have) - 1 };
        value & ones | if negative { !ones } else { 0 }
    }
    let run = match ty {
        // Of 32 bits only the low bytes of position and length count, of 64 bits all of them (measured).
        U32 => ternary(|a: u32, b: u32, c: u32| field(a.into(), 32, b & 0xff, c & 0xff, false) as u32),
        S32 => ternary(|a: u32, b: u32, c: u32| field(a.into(), 32, b & 0xff, c & 0xff, true) as u32),
        U64 => ternary(|a: u64, b: u32, c: u32| field(a, 64, b, c, false)),
        S64 => ternary(|a: u64, b: u32, c: u32| field(a, 64, b, c, true)),
        _ => return Err(m.bad_type(ty)),
    };
    let [d, a, b, c] = l.operands(i)?;
    let (a, b, c) = (l.source(a, ty)?, l.source(b, U32)?, l.source(c, U32)?);
    let d = l.destination(d, ty)?;
    l.emit(Op { c, ..op(run, d, a, b) });
    Ok(())
}

fn insert<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let ty = m.ty()?;
    /// `place` has the position, and above it the length.
    #[inline(always)]
    fn inserted(a: u64, b: u64, place: u64) -> u64 {
        let (position, length) = (place as u32, place >> 32);
        if position > 63 {
            return b;
        }
        let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
        b & !(ones << position) | (a & ones) << position
    }
    let run = match ty {
        // As of `bfe`.
        B32 => ternary(|a: u32, b: u32, c: u64| inserted(a.into(), b.into(), c & 0xff_0000_00ff) as u32),
        B64 => ternary(|a: u64, b: u64, c: u64| inserted(a, b, c)),
        _ => return Err(m.bad_type(ty)),
    };
    let [to, a, b, position, length] = l.operands(i)?;
    let (a, b) = (l.source(a, ty)?, l.source(b, ty)?);
    let (position, length) = (l.source(position, U32)?, l.source(length, U32)?);
    let c = l.temporary(B64);
    l.emit(op(binary(|p: u32, n: u32| u64::from(p) | u64::from(n) << 32), c, position, length));
    let d = l.destination(to, ty)?;
    l.emit(Op { c, ..op(run, d, a, b) });
    Ok(())
}

fn count<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let amount = m.take("shiftamt");
    let ty = m.ty()?;
    let (d, run): (Type, Handler) = match (i.opcode, ty) {
        ("brev", B32) => (B32, unary(u32::reverse_bits)),
        ("brev", B64) => (B64, unary(u64::reverse_bits)),
        ("clz", B32) => (U32, unary(u32::leading_zeros)),
        ("clz", B64) => (U32, unary(u64::leading_zeros)),
        ("popc", B32) => (U32, unary(u32::count_ones)),
        ("popc", B64) => (U32, unary(u64::count_ones)),
        ("bfind", U32) if amount => (U32, unary(|a: u32| if a == 0 { !0 } else { a.leading_zeros() })),
        ("bfind", U64) if amount => (U32, unary(|a: u64| if a == 0 { !0 } else { a.leading_zeros() })),
        ("bfind", S32) if amount => (U32, unary(|a: i32| shift_amount32(magnitude32(a)))),
        ("bfind", S64) if amount => (U32, unary(|a: i64| shift_amount64(magnitude64(a)))),
        ("bfind", U32) => (U32, unary(|a: u32| 31u32.wrapping_sub(a.leading_zeros()))),
        ("bfind", U64) => (U32, unary(|a: u64| 63u32.wrapping_sub(a.leading_zeros()))),
        ("bfind", S32) => (U32, unary(|a: i32| 31u32.wrapping_sub(magnitude32(a).leading_zeros()))),
        ("bfind", S64) => (U32, unary(|a: i64| 63u32.wrapping_sub(magnitude64(a).leading_zeros()))),
        _ => return Err(m.bad_type(ty)),
    };
    if amount && i.opcode != "bfind" {
        return Err(m.invalid("`.shiftamt` goes with bfind"));
    }
    one(l, i, d, ty, run)
}

/// The bits that differ from the sign.
#[inline(always)]
fn magnitude32(a: i32) -> u32 {
    (a ^ a >> 31) as u32
}

#[inline(always)]
fn magnitude64(a: i64) -> u64 {
    (a ^ a >> 63) as u64
}

#[inline(always)]
fn shift_amount32(a: u32) -> u32 {
    if a == 0 { !0 } else { a.leading_zeros() }
}

#[inline(always)]
fn shift_amount64(a: u64) -> u32 {
    if a == 0 { !0 } else { a.leading_zeros() }
}

fn permute<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let ty = m.ty()?;
    if ty != B32 {
        return Err(m.bad_type(ty));
    }
    #[inline(always)]
    fn pick(a: u32, b: u32, selectors: [u32; 4]) -> u32 {
        let all = u64::from(a) | u64::from(b) << 32;
        let mut d = 0;
        for (at, selector) in selectors.into_iter().enumerate() {
            let byte = (all >> (8 * (selector & 7))) as u8;
            let byte = if selector & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
            d |= u32::from(byte) << (8 * at);
        }
        d
    }
    let run = match m.one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]) {
        None => {
            ternary(|a: u32, b: u32, c: u32| pick(a, b, [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15]))
        }
        Some("f4e") => ternary(|a: u32, b: u32, c: u32| {
            let c = c & 3;
            pick(a, b, [c, c + 1, c + 2, c + 3])
        }),
        Some("b4e") => ternary(|a: u32, b: u32, c: u32| {
            let c = c & 3;
            pick(a, b, [c, (c + 7) & 7, (c + 6) & 7, (c + 5) & 7])
        }),
        Some("rc8") => ternary(|a: u32, b: u32, c: u32| pick(a, b, [c & 3; 4])),
        Some("ecl") => ternary(|a: u32, b: u32, c: u32| {
            let c = c & 3;
            pick(a, b, [c, c.max(1), c.max(2), 3])
        }),
        Some("ecr") => ternary(|a: u32, b: u32, c: u32| {
            let c = c & 3;
            pick(a, b, [0, c.min(1), c.min(2), c])
        }),
        _ => ternary(|a: u32, b: u32, c: u32| {
            let c = 2 * (c & 1);
            pick(a, b, [c, c + 1, c, c + 1])
        }),
    };
    three(l, i, ty, run)
}

/// `dp4a` and `dp2a`: sums of products of parts.
fn dot<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let part = m.one_of(&["lo", "hi"]);
    let (x, y) = (m.ty()?, m.ty()?);
    if !matches!((x, y), (U32 | S32, U32 | S32)) || (i.opcode == "dp2a") != part.is_some() {
        return Err(m.uncovered("this form is not supported"));
    }
    #[inline(always)]
    fn parts(a: u32, bits: u32, at: u32, signed: bool) -> i64 {
        let value = i64::from(a >> (at * bits)) & ((1 << bits) - 1);
        if signed && value >> (bits - 1) != 0 { value - (1 << bits) } else { value }
    }
    macro_rules! dot {
        ($bits:expr, $count:expr, $skip:expr, $s:expr, $t:expr) => {
            ternary(|a: u32, b: u32, c: u32| {
                let products = (0..$count).map(|at| parts(a, $bits, at, $s) * parts(b, 8, at + $skip, $t));
                (products.sum::<i64>() as u32).wrapping_add(c)
            })
        };
        ($bits:expr, $count:expr, $skip:expr) => {
            match (x == S32, y == S32) {
                (false, false) => dot!($bits, $count, $skip, false, false),
                (false, true) => dot!($bits, $count, $skip, false, true),
                (true, false) => dot!($bits, $count, $skip, true, false),
                (true, true) => dot!($bits, $count, $skip, true, true),
            }
        };
    }
    let run = match part {
        None => dot!(8, 4, 0),
        Some("lo") => dot!(16, 2, 0),
        _ => dot!(16, 2, 2),
    };
    three(l, i, B32, run)
}
