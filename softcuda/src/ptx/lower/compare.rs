//! Comparisons, selections, tests.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, compare, logic, select, unary};
use crate::ptx::float::flush;
use crate::ptx::half::{Bf16, F16, Half};
use crate::ptx::types::Type;
use Type::{Bf16 as TBf16, F16 as TF16, F32, F64, Pred, S16, S32, S64, U16, U32, U64};

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "setp" => set_predicate(l, i, m),
        "set" => set(l, i, m),
        "selp" => select_by(l, i, m),
        "slct" => select_by_sign(l, i, m),
        _ => test(l, i, m),
    }
}

const OPERATORS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
    "num", "nan",
];

/// Integers know six comparisons.
macro_rules! integers {
    ($operator:expr, $t:ty) => {
        Some(match $operator {
            "eq" => compare(|a: $t, b: $t| a == b),
            "ne" => compare(|a: $t, b: $t| a != b),
            "lt" | "lo" => compare(|a: $t, b: $t| a < b),
            "le" | "ls" => compare(|a: $t, b: $t| a <= b),
            "gt" | "hi" => compare(|a: $t, b: $t| a > b),
            "ge" | "hs" => compare(|a: $t, b: $t| a >= b),
            _ => return None,
        })
    };
}

/// Bits know two.
macro_rules! bits {
    ($operator:expr, $t:ty) => {
        Some(match $operator {
            "eq" => compare(|a: $t, b: $t| a == b),
            "ne" => compare(|a: $t, b: $t| a != b),
            _ => return None,
        })
    };
}

/// Floating-point numbers know what happens to NaN.
macro_rules! floats {
    ($operator:expr, $t:ty, $of:expr) => {{
        Some(match $operator {
            "eq" => compare(|a: $t, b: $t| $of(a) == $of(b)),
            "ne" => compare(|a: $t, b: $t| $of(a) < $of(b) || $of(a) > $of(b)),
            "lt" => compare(|a: $t, b: $t| $of(a) < $of(b)),
            "le" => compare(|a: $t, b: $t| $of(a) <= $of(b)),
            "gt" => compare(|a: $t, b: $t| $of(a) > $of(b)),
            "ge" => compare(|a: $t, b: $t| $of(a) >= $of(b)),
            "equ" => compare(|a: $t, b: $t| !($of(a) < $of(b) || $of(a) > $of(b))),
            "neu" => compare(|a: $t, b: $t| $of(a) != $of(b)),
            "ltu" => compare(|a: $t, b: $t| !($of(a) >= $of(b))),
            "leu" => compare(|a: $t, b: $t| !($of(a) > $of(b))),
            "gtu" => compare(|a: $t, b: $t| !($of(a) <= $of(b))),
            "geu" => compare(|a: $t, b: $t| !($of(a) < $of(b))),
            "num" => compare(|a: $t, b: $t| !$of(a).is_nan() && !$of(b).is_nan()),
            "nan" => compare(|a: $t, b: $t| $of(a).is_nan() || $of(b).is_nan()),
            _ => return None,
        })
    }};
}

#[inline(always)]
fn same<T>(x: T) -> T {
    x
}

#[allow(clippy::neg_cmp_op_on_partial_ord)] // NaN makes the difference
fn comparison(operator: &str, ty: Type, ftz: bool) -> Option<Handler> {
    if matches!(operator, "lo" | "ls" | "hi" | "hs") && !matches!(ty, U16 | U32 | U64) {
        return None;
    }
    match ty {
        U16 => integers!(operator, u16),
        U32 => integers!(operator, u32),
        U64 => integers!(operator, u64),
        S16 => integers!(operator, i16),
        S32 => integers!(operator, i32),
        S64 => integers!(operator, i64),
        Type::B16 => bits!(operator, u16),
        Type::B32 => bits!(operator, u32),
        Type::B64 => bits!(operator, u64),
        F32 if ftz => floats!(operator, f32, flush),
        F32 => floats!(operator, f32, same),
        F64 => floats!(operator, f64, same),
        TF16 if ftz => floats!(operator, u16, |a| F16::to_f32(F16::flush(a))),
        TF16 => floats!(operator, u16, F16::to_f32),
        TBf16 => floats!(operator, u16, Bf16::to_f32),
        _ => None,
    }
}

/// The comparison of operands `a` and `b`, joined with predicate `c`, in a predicate register; and its complement's.
struct Compared {
    yes: Reg,
    no: Reg,
}

fn compared<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<Compared, JitError> {
    let operator = m.one_of(&OPERATORS).ok_or_else(|| m.invalid("a comparison is wanted"))?;
    let join = m.one_of(&["and", "or", "xor"]);
    let ftz = ty.is_float() && m.take("ftz");
    let run = comparison(operator, ty, ftz).ok_or_else(|| m.bad_type(ty))?;
    let wanted = if join.is_some() { 4 } else { 3 };
    if i.operands.len() != wanted {
        return Err(m.invalid(&format!("{wanted} operands are wanted")));
    }
    let (a, b) = (l.source(&i.operands[1], ty)?, l.source(&i.operands[2], ty)?);
    let c = match join {
        Some(_) => l.predicate(&i.operands[3])?,
        None => NIL,
    };
    let (yes, no) = (l.temporary(Pred), l.temporary(Pred));
    l.emit(op(run, yes, a, b));
    let (join_yes, join_no): (Handler, Handler) = match join {
        None => {
            l.emit(op(logic(|a, _, _| !a), no, yes, NIL));
            return Ok(Compared { yes, no });
        }
        Some("and") => (logic(|a, b, _| a & b), logic(|a, b, _| !a & b)),
        Some("or") => (logic(|a, b, _| a | b), logic(|a, b, _| !a | b)),
        _ => (logic(|a, b, _| a ^ b), logic(|a, b, _| !a ^ b)),
    };
    l.emit(op(join_no, no, yes, c));
    l.emit(op(join_yes, yes, yes, c));
    Ok(Compared { yes, no })
}

fn set_predicate<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let ty = m.ty()?;
    if matches!(ty, Type::F16x2 | Type::Bf16x2) {
        return set_predicates(l, i, m, ty);
    }
    let first = i.operands.first().ok_or_else(|| m.invalid("a predicate is wanted"))?;
    let plain = i.operands.len() == 3 && !matches!(first, Operand::Pair(..));
    if plain {
        // The usual form, in one step.
        let operator = m.one_of(&OPERATORS).ok_or_else(|| m.invalid("a comparison is wanted"))?;
        let ftz = ty.is_float() && m.take("ftz");
        let run = comparison(operator, ty, ftz).ok_or_else(|| m.bad_type(ty))?;
        let (a, b) = (l.source(&i.operands[1], ty)?, l.source(&i.operands[2], ty)?);
        let d = l.destination(first, Pred)?;
        l.emit(op(run, d, a, b));
        return Ok(());
    }
    let result = compared(l, i, m, ty)?;
    let copy = logic(|a, _, _| a);
    match first {
        Operand::Pair(p, q) => {
            for (operand, from) in [(p, result.yes), (q, result.no)] {
                let d = l.destination(operand, Pred)?;
                l.emit(op(copy, d, from, NIL));
            }
        }
        operand => {
            let d = l.destination(operand, Pred)?;
            l.emit(op(copy, d, result.yes, NIL));
        }
    }
    Ok(())
}

/// `setp.f16x2 p|q, a, b`: a predicate for each half.
fn set_predicates<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<(), JitError> {
    let operator = m.one_of(&OPERATORS).ok_or_else(|| m.invalid("a comparison is wanted"))?;
    let ftz = m.take("ftz");
    let [to, a, b] = l.operands(i)?;
    let Operand::Pair(p, q) = to else { return Err(m.invalid("two predicates are wanted")) };
    let (a, b) = (l.source(a, ty)?, l.source(b, ty)?);
    let (p, q) = (l.destination(p, Pred)?, l.destination(q, Pred)?);
    let part = if ty == Type::F16x2 { TF16 } else { TBf16 };
    let run = comparison(operator, part, ftz).ok_or_else(|| m.bad_type(ty))?;
    let halves: [(Handler, Reg); 2] = [(unary(|a: u32| a as u16), p), (unary(|a: u32| (a >> 16) as u16), q)];
    for (half, d) in halves {
        let (x, y) = (l.temporary(Type::B16), l.temporary(Type::B16));
        l.emit(op(half, x, a, NIL));
        l.emit(op(half, y, b, NIL));
        l.emit(op(run, d, x, y));
    }
    Ok(())
}

/// `set`: all bits, or 1.0, where the comparison holds.
fn set<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let to = m.ty()?;
    let from = m.ty()?;
    if to == from && matches!(to, Type::F16x2 | Type::Bf16x2) {
        return set_halves(l, i, m, to);
    }
    let bits = match to {
        U32 | S32 => 0xffff_ffff,
        F32 => u64::from(1f32.to_bits()),
        U16 | S16 => 0xffff,
        TF16 => 0x3c00,
        TBf16 => 0x3f80,
        _ => return Err(m.bad_type(to)),
    };
    let result = compared(l, i, m, from)?;
    let (a, b) = (l.constant(bits, to), l.constant(0, to));
    let d = l.destination(&i.operands[0], to)?;
    let run = if to.size() == 4 { select::<u32>() } else { select::<u16>() };
    l.emit(Op { c: result.yes, ..op(run, d, a, b) });
    Ok(())
}

/// `set.f16x2.f16x2`: 1.0 in each half where the comparison holds.
fn set_halves<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<(), JitError> {
    let operator = m.one_of(&OPERATORS).ok_or_else(|| m.invalid("a comparison is wanted"))?;
    let ftz = m.take("ftz");
    let [d, a, b] = l.operands(i)?;
    let (part, one) = if ty == Type::F16x2 { (TF16, 0x3c00) } else { (TBf16, 0x3f80) };
    let run = comparison(operator, part, ftz).ok_or_else(|| m.bad_type(ty))?;
    let (a, b) = (l.source(a, ty)?, l.source(b, ty)?);
    let d = l.destination(d, ty)?;
    let (x, y, holds) = (l.temporary(Type::B16), l.temporary(Type::B16), l.temporary(Pred));
    let (low, high) = (l.temporary(Type::B32), l.temporary(Type::B32));
    let zero = l.constant(0, Type::B32);
    for (half, bits, to) in
        [(unary(|a: u32| a as u16), one, low), (unary(|a: u32| (a >> 16) as u16), one << 16, high)]
    {
        l.emit(op(half, x, a, NIL));
        l.emit(op(half, y, b, NIL));
        l.emit(op(run, holds, x, y));
        let bits = l.constant(bits, Type::B32);
        l.emit(Op { c: holds, ..op(select::<u32>(), to, bits, zero) });
    }
    l.emit(op(binary(|a: u32, b: u32| a | b), d, low, high));
    Ok(())
}

fn selection(ty: Type) -> Option<Handler> {
    Some(match ty.size() {
        2 => select::<u16>(),
        4 => select::<u32>(),
        8 => select::<u64>(),
        _ => return None,
    })
}

fn select_by<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let ty = m.ty()?;
    let run = selection(ty).ok_or_else(|| m.bad_type(ty))?;
    let [d, a, b, c] = l.operands(i)?;
    let (a, b, c) = (l.source(a, ty)?, l.source(b, ty)?, l.predicate(c)?);
    let d = l.destination(d, ty)?;
    l.emit(Op { c, ..op(run, d, a, b) });
    Ok(())
}

fn select_by_sign<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let ftz = m.take("ftz");
    let (ty, by) = (m.ty()?, m.ty()?);
    let run = selection(ty).ok_or_else(|| m.bad_type(ty))?;
    let positive = match by {
        S32 => compare(|a: i32, _: i32| a >= 0),
        F32 if ftz => compare(|a: f32, _: f32| flush(a) >= 0.0),
        F32 => compare(|a: f32, _: f32| a >= 0.0),
        _ => return Err(m.bad_type(by)),
    };
    let [d, a, b, c] = l.operands(i)?;
    let (a, b, c) = (l.source(a, ty)?, l.source(b, ty)?, l.source(c, by)?);
    let choice = l.temporary(Pred);
    let d = l.destination(d, ty)?;
    l.emit(op(positive, choice, c, c));
    l.emit(Op { c: choice, ..op(run, d, a, b) });
    Ok(())
}

fn test<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let property = m.one_of(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
    let property = property.ok_or_else(|| m.invalid("a property is wanted"))?;
    let ty = m.ty()?;
    macro_rules! tests {
        ($t:ty) => {
            match property {
                "finite" => compare(|a: $t, _: $t| a.is_finite()),
                "infinite" => compare(|a: $t, _: $t| a.is_infinite()),
                "number" => compare(|a: $t, _: $t| !a.is_nan()),
                "notanumber" => compare(|a: $t, _: $t| a.is_nan()),
                // Zero counts as normal.
                "normal" => compare(|a: $t, _: $t| a.is_normal() || a == 0.0),
                _ => compare(|a: $t, _: $t| a.is_subnormal()),
            }
        };
    }
    let run = match ty {
        F32 => tests!(f32),
        F64 => tests!(f64),
        _ => return Err(m.bad_type(ty)),
    };
    let [p, a] = l.operands(i)?;
    let a = l.source(a, ty)?;
    let p = l.destination(p, Pred)?;
    l.emit(op(run, p, a, a));
    Ok(())
}
