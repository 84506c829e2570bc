//! Addition to division, of integers and floating-point numbers.

use super::emit::{NIL, op};
use super::halves;
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, each2, each3, ternary, unary};
use crate::ptx::float::{
    Round, canonical, directed, exact_fused, exact_product, flush, max32, max64, min32, min64, near_quotient,
    passed, saturate32, saturate64, unless_tiny,
};
use crate::ptx::types::Type;
use Type::{Bf16, Bf16x2, F16, F16x2, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

/// A handler for each width of integers, whatever their sign.
macro_rules! by_width {
    ($ty:expr, $map:ident, |$($x:ident),*| $e:expr) => {
        match $ty.size() {
            2 => Some($map(|$($x: u16),*| $e)),
            4 => Some($map(|$($x: u32),*| $e)),
            8 => Some($map(|$($x: u64),*| $e)),
            _ => None,
        }
    };
}

/// A handler for each integer type.
macro_rules! by_sign {
    ($ty:expr, $map:ident, |$($x:ident),*| $e:expr) => {
        match $ty {
            U16 => Some($map(|$($x: u16),*| $e)),
            U32 => Some($map(|$($x: u32),*| $e)),
            U64 => Some($map(|$($x: u64),*| $e)),
            S16 => Some($map(|$($x: i16),*| $e)),
            S32 => Some($map(|$($x: i32),*| $e)),
            S64 => Some($map(|$($x: i64),*| $e)),
            _ => None,
        }
    };
}
pub(super) use by_width;

/// A handler for single precision in each rounding, flushing or not. A result that may be less than the least normal
/// number and not exact comes with the exact one.
macro_rules! single {
    ($round:expr, $ftz:expr, $map:ident, $each:ident, |$($x:ident),*| $e:expr) => {
        single!($round, $ftz, $map, $each, |$($x),*| $e, 1.0)
    };
    ($round:expr, $ftz:expr, $map:ident, $each:ident, |$($x:ident),*| $e:expr, $exact:expr) => {
        match ($round, $ftz) {
            (Round::Near, false) => $map(|$($x: f32),*| canonical($e)),
            (Round::Near, true) => $map(|$($x: f32),*| {
                $(let $x = flush($x);)*
                canonical(flush(unless_tiny($e, $exact, Round::Near)))
            }),
            (Round::Zero, ftz) => single!(Round::Zero, ftz, $each, |$($x),*| $e, $exact),
            (Round::Down, ftz) => single!(Round::Down, ftz, $each, |$($x),*| $e, $exact),
            (Round::Up, ftz) => single!(Round::Up, ftz, $each, |$($x),*| $e, $exact),
        }
    };
    ($round:path, $ftz:expr, $each:ident, |$($x:ident),*| $e:expr, $exact:expr) => {
        if $ftz {
            $each(|$($x: f32),*| {
                $(let $x = flush($x);)*
                canonical(flush(unless_tiny(in_direction!($round, |$($x),*| $e), $exact, $round)))
            })
        } else {
            $each(|$($x: f32),*| canonical(in_direction!($round, |$($x),*| $e)))
        }
    };
}

macro_rules! in_direction {
    ($round:path, |$a:ident| $e:expr) => {
        directed($round, $a, $a, $a, |$a, _, _| $e)
    };
    ($round:path, |$a:ident, $b:ident| $e:expr) => {
        directed($round, $a, $b, $b, |$a, $b, _| $e)
    };
    ($round:path, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        directed($round, $a, $b, $c, |$a, $b, $c| $e)
    };
}

/// The same for double precision.
macro_rules! double {
    ($round:expr, $map:ident, $each:ident, |$($x:ident),*| $e:expr) => {
        match $round {
            Round::Near => $map(|$($x: f64),*| $e),
            Round::Zero => $each(|$($x: f64),*| in_direction!(Round::Zero, |$($x),*| $e)),
            Round::Down => $each(|$($x: f64),*| in_direction!(Round::Down, |$($x),*| $e)),
            Round::Up => $each(|$($x: f64),*| in_direction!(Round::Up, |$($x),*| $e)),
        }
    };
}
pub(super) use {double, in_direction, single};

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "mul24" | "mad24" => return times24(l, i, m),
        "mul" | "mad" if !is_float(i) => return times(l, i, m),
        "sad" => {
            let ty = m.ty()?;
            let run = by_sign!(ty, ternary, |a, b, c| c.wrapping_add(a.abs_diff(b) as _));
            return three(l, i, ty, run.ok_or_else(|| m.bad_type(ty))?);
        }
        _ => {}
    }
    let ty = m.ty()?;
    if matches!(ty, F16 | F16x2 | Bf16 | Bf16x2) {
        return halves::lower(l, i, m, ty);
    }
    match ty {
        F32 | F64 => floats(l, i, m, ty),
        _ => integers(l, i, m, ty),
    }
}

fn is_float(i: &Instruction<'_>) -> bool {
    i.modifiers.iter().any(|m| Type::named(m).is_some_and(Type::is_float))
}

/// `op d, a;`
pub(super) fn one<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    d: Type,
    a: Type,
    run: Handler,
) -> Result<(), JitError> {
    let [to, from] = l.operands(i)?;
    let a = l.source(from, a)?;
    let d = l.destination(to, d)?;
    l.emit(op(run, d, a, NIL));
    Ok(())
}

/// `op d, a, b;` all of one type.
pub(super) fn two<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    ty: Type,
    run: Handler,
) -> Result<(), JitError> {
    let [d, a, b] = l.operands(i)?;
    let (a, b) = (l.source(a, ty)?, l.source(b, ty)?);
    let d = l.destination(d, ty)?;
    l.emit(op(run, d, a, b));
    Ok(())
}

/// `op d, a, b, c;` all of one type.
pub(super) fn three<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    ty: Type,
    run: Handler,
) -> Result<(), JitError> {
    let [d, a, b, c] = l.operands(i)?;
    let (a, b, c) = (l.source(a, ty)?, l.source(b, ty)?, l.source(c, ty)?);
    let d = l.destination(d, ty)?;
    l.emit(Op { c, ..op(run, d, a, b) });
    Ok(())
}

fn integers<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<(), JitError> {
    let bad = m.bad_type(ty);
    if matches!(ty, U8 | S8) || ty.bits() == ty {
        return Err(bad);
    }
    let sat = m.take("sat");
    if sat && (ty != S32 || !matches!(i.opcode, "add" | "sub")) {
        return Err(m.uncovered("the modifier `.sat` is for .s32"));
    }
    let relu = m.take("relu");
    if relu && (ty != S32 || !matches!(i.opcode, "min" | "max")) {
        return Err(m.uncovered("the modifier `.relu` is for .s32"));
    }
    let run = match i.opcode {
        "add" if sat => Some(binary(i32::saturating_add)),
        "sub" if sat => Some(binary(i32::saturating_sub)),
        "add" => by_width!(ty, binary, |a, b| a.wrapping_add(b)),
        "sub" => by_width!(ty, binary, |a, b| a.wrapping_sub(b)),
        "min" if relu => Some(binary(|a: i32, b: i32| a.min(b).max(0))),
        "max" if relu => Some(binary(|a: i32, b: i32| a.max(b).max(0))),
        "min" => by_sign!(ty, binary, |a, b| a.min(b)),
        "max" => by_sign!(ty, binary, |a, b| a.max(b)),
        // Division by zero gives what a GPU gives: all bits set.
        "div" => by_sign!(ty, each2, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => by_sign!(ty, each2, |a, b| if b == 0 { !0 } else { a.wrapping_rem(b) }),
        "neg" if ty.is_signed() => by_width!(ty, unary, |a| a.wrapping_neg()),
        "abs" => match ty {
            S16 => Some(unary(i16::wrapping_abs)),
            S32 => Some(unary(i32::wrapping_abs)),
            S64 => Some(unary(i64::wrapping_abs)),
            _ => None,
        },
        _ => None,
    };
    let run = run.ok_or(bad)?;
    if matches!(i.opcode, "neg" | "abs") { one(l, i, ty, ty, run) } else { two(l, i, ty, run) }
}

/// `mul` and `mad` of integers.
fn times<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let part = m.one_of(&["lo", "hi", "wide"]);
    let sat = m.take("sat");
    let ty = m.ty()?;
    let mad = i.opcode == "mad";
    let bad = m.bad_type(ty);
    let part = part.ok_or_else(|| m.invalid("one of .lo, .hi and .wide is wanted"))?;
    if sat && !(mad && part == "hi" && ty == S32) {
        return Err(m.uncovered("the modifier `.sat` is for mad.hi.s32"));
    }
    if part == "wide" {
        return wide(l, i, ty, mad, bad);
    }
    let run = match (part, mad) {
        ("lo", false) if ty.bits() != ty => by_width!(ty, binary, |a, b| a.wrapping_mul(b)),
        ("lo", true) if ty.bits() != ty => {
            by_width!(ty, ternary, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        ("hi", false) => high(ty),
        ("hi", true) if sat => Some(ternary(|a: i32, b: i32, c: i32| {
            (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
        })),
        ("hi", true) => high_plus(ty),
        _ => None,
    };
    let run = run.ok_or(bad)?;
    if mad { three(l, i, ty, run) } else { two(l, i, ty, run) }
}

pub(super) fn high(ty: Type) -> Option<Handler> {
    Some(match ty {
        U16 => binary(|a: u16, b: u16| ((u32::from(a) * u32::from(b)) >> 16) as u16),
        S16 => binary(|a: i16, b: i16| ((i32::from(a) * i32::from(b)) >> 16) as i16),
        U32 => binary(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        S32 => binary(|a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32),
        U64 => binary(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        S64 => binary(|a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 64) as i64),
        _ => return None,
    })
}

fn high_plus(ty: Type) -> Option<Handler> {
    Some(match ty {
        U16 => {
            ternary(|a: u16, b: u16, c: u16| (((u32::from(a) * u32::from(b)) >> 16) as u16).wrapping_add(c))
        }
        S16 => {
            ternary(|a: i16, b: i16, c: i16| (((i32::from(a) * i32::from(b)) >> 16) as i16).wrapping_add(c))
        }
        U32 => {
            ternary(|a: u32, b: u32, c: u32| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c))
        }
        S32 => {
            ternary(|a: i32, b: i32, c: i32| (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c))
        }
        U64 => {
            ternary(|a: u64, b: u64, c: u64| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c))
        }
        S64 => {
            ternary(|a: i64, b: i64, c: i64| (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c))
        }
        _ => return None,
    })
}

/// `mul.wide` and `mad.wide`: the product has twice the bits.
fn wide<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    ty: Type,
    mad: bool,
    bad: JitError,
) -> Result<(), JitError> {
    let (double, run) = match (ty, mad) {
        (U16, false) => (U32, binary(|a: u16, b: u16| u32::from(a) * u32::from(b))),
        (S16, false) => (S32, binary(|a: i16, b: i16| i32::from(a) * i32::from(b))),
        (U32, false) => (U64, binary(|a: u32, b: u32| u64::from(a) * u64::from(b))),
        (S32, false) => (S64, binary(|a: i32, b: i32| i64::from(a) * i64::from(b))),
        (U16, true) => (U32, ternary(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c))),
        (S16, true) => (S32, ternary(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c))),
        (U32, true) => (U64, ternary(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c))),
        (S32, true) => (S64, ternary(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c))),
        _ => return Err(bad),
    };
    let (d, a, b, c) = if mad {
        let [d, a, b, c] = l.operands(i)?;
        (d, a, b, Some(c))
    } else {
        let [d, a, b] = l.operands(i)?;
        (d, a, b, None)
    };
    let (a, b) = (l.source(a, ty)?, l.source(b, ty)?);
    let c = c.map_or(Ok(NIL), |c| l.source(c, double))?;
    let d = l.destination(d, double)?;
    l.emit(Op { c, ..op(run, d, a, b) });
    Ok(())
}

fn times24<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let part = m.one_of(&["lo", "hi"]).ok_or_else(|| m.invalid("one of .lo and .hi is wanted"))?;
    let ty = m.ty()?;
    macro_rules! product {
        (S, $a:ident, $b:ident) => {
            (i64::from($a << 8 >> 8) * i64::from($b << 8 >> 8))
        };
        (U, $a:ident, $b:ident) => {
            (u64::from($a & 0xff_ffff) * u64::from($b & 0xff_ffff))
        };
    }
    let run = match (i.opcode, part, ty) {
        ("mul24", "lo", S32) => binary(|a: i32, b: i32| product!(S, a, b) as i32),
        ("mul24", "hi", S32) => binary(|a: i32, b: i32| (product!(S, a, b) >> 16) as i32),
        ("mul24", "lo", U32) => binary(|a: u32, b: u32| product!(U, a, b) as u32),
        ("mul24", "hi", U32) => binary(|a: u32, b: u32| (product!(U, a, b) >> 16) as u32),
        ("mad24", "lo", S32) => ternary(|a: i32, b: i32, c: i32| (product!(S, a, b) as i32).wrapping_add(c)),
        ("mad24", "hi", S32) => {
            ternary(|a: i32, b: i32, c: i32| ((product!(S, a, b) >> 16) as i32).wrapping_add(c))
        }
        ("mad24", "lo", U32) => ternary(|a: u32, b: u32, c: u32| (product!(U, a, b) as u32).wrapping_add(c)),
        ("mad24", "hi", U32) => {
            ternary(|a: u32, b: u32, c: u32| ((product!(U, a, b) >> 16) as u32).wrapping_add(c))
        }
        _ => return Err(m.bad_type(ty)),
    };
    if i.opcode == "mul24" { two(l, i, ty, run) } else { three(l, i, ty, run) }
}

/// Brings a floating-point result into 0 … 1.
pub(super) fn saturate(l: &mut Lowering<'_, '_>, ty: Type, d: Reg) {
    let run = if ty == F32 { unary(saturate32) } else { unary(saturate64) };
    l.emit(op(run, d, d, NIL));
}

fn floats<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<(), JitError> {
    let single_type = ty == F32;
    let ftz = single_type && m.take("ftz");
    match i.opcode {
        "abs" | "neg" => {
            let run = match (i.opcode, single_type, ftz) {
                ("abs", true, false) => unary(|a: f32| canonical(a.abs())),
                ("abs", true, true) => unary(|a: f32| canonical(flush(a.abs()))),
                ("abs", false, _) => unary(|a: f64| passed(a.abs(), [a])),
                (_, true, false) => unary(|a: f32| canonical(-a)),
                (_, true, true) => unary(|a: f32| canonical(flush(-a))),
                _ => unary(|a: f64| passed(-a, [a])),
            };
            return one(l, i, ty, ty, run);
        }
        "min" | "max" => return extremes(l, i, m, ty, ftz),
        _ => {}
    }
    let sat = m.take("sat");
    if sat && !single_type {
        return Err(m.uncovered("the modifier `.sat` is for .f32"));
    }
    let approximate = i.opcode == "div" && (m.take("approx") || m.take("full"));
    let round = m.round();
    let needs = matches!(i.opcode, "div" | "fma") || i.opcode == "mad";
    if needs && round.is_none() && !approximate {
        return Err(m.invalid("a rounding mode is wanted"));
    }
    let round = round.unwrap_or(Round::Near);
    let run = match (i.opcode, single_type) {
        ("add", true) => single!(round, ftz, binary, each2, |a, b| a + b),
        ("sub", true) => single!(round, ftz, binary, each2, |a, b| a - b),
        ("mul", true) => single!(round, ftz, binary, each2, |a, b| a * b, exact_product(a, b)),
        ("div", true) => single!(round, ftz, binary, each2, |a, b| a / b, near_quotient(a, b)),
        ("add", false) => double!(round, binary, each2, |a, b| passed(a + b, [b, a])),
        ("sub", false) => double!(round, binary, each2, |a, b| passed(a - b, [b, a])),
        ("mul", false) => double!(round, binary, each2, |a, b| passed(a * b, [b, a])),
        ("div", false) => double!(round, binary, each2, |a, b| passed(a / b, [a, b])),
        ("fma" | "mad", _) => fused(round, ftz, single_type),
        _ => return Err(m.bad_type(ty)),
    };
    if matches!(i.opcode, "fma" | "mad") {
        three(l, i, ty, run)?
    } else {
        two(l, i, ty, run)?
    }
    if sat {
        let d = l.destination(&i.operands[0], ty)?;
        saturate(l, ty, d);
    }
    Ok(())
}

/// Fused multiplication and addition, by the processor's own instruction where it has one.
fn fused(round: Round, ftz: bool, single_type: bool) -> Handler {
    if round == Round::Near
        && let Some(run) = crate::ptx::exec::map::fused(ftz, single_type)
    {
        return run;
    }
    if single_type {
        single!(round, ftz, ternary, each3, |a, b, c| a.mul_add(b, c), exact_fused(a, b, c))
    } else {
        double!(round, ternary, each3, |a, b, c| passed(a.mul_add(b, c), [b, c, a]))
    }
}

/// `min` or `max` of single precision, flushing or not; `.NaN` gives it if an operand is one; with `.xorsign` it is that of
/// the magnitudes, and the sign is the product's.
macro_rules! extreme {
    ($of:ident, $ftz:expr, $nan:expr, $xorsign:expr) => {
        match ($ftz, $nan, $xorsign) {
            (false, false, false) => binary($of),
            (true, false, false) => binary(|a: f32, b: f32| $of(flush(a), flush(b))),
            (false, true, false) => binary(|a: f32, b: f32| or_nan(a, b, $of(a, b))),
            (true, true, false) => binary(|a: f32, b: f32| or_nan(a, b, $of(flush(a), flush(b)))),
            (false, false, true) => binary(|a: f32, b: f32| crossed(a, b, $of)),
            (true, false, true) => binary(|a: f32, b: f32| crossed(flush(a), flush(b), $of)),
            (false, true, true) => binary(|a: f32, b: f32| or_nan(a, b, crossed(a, b, $of))),
            (true, true, true) => binary(|a: f32, b: f32| or_nan(a, b, crossed(flush(a), flush(b), $of))),
        }
    };
}

fn extremes<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
    ftz: bool,
) -> Result<(), JitError> {
    let nan = ty == F32 && m.take("NaN");
    let xorsign = ty == F32 && m.take("xorsign");
    if xorsign && !m.take("abs") {
        return Err(m.invalid("`.xorsign` goes with `.abs`"));
    }
    let run = match (ty, i.opcode == "min") {
        (F32, true) => extreme!(min32, ftz, nan, xorsign),
        (F32, false) => extreme!(max32, ftz, nan, xorsign),
        (_, true) => binary(min64),
        (_, false) => binary(max64),
    };
    if i.operands.len() == 4 && ty == F32 {
        // Three operands: the extreme of two, and of that and the third.
        let [d, a, b, c] = l.operands(i)?;
        let (a, b, c) = (l.source(a, ty)?, l.source(b, ty)?, l.source(c, ty)?);
        let (between, d) = (l.temporary(ty), l.destination(d, ty)?);
        l.emit(op(run, between, a, b));
        l.emit(op(run, d, between, c));
        return Ok(());
    }
    two(l, i, ty, run)
}

#[inline(always)]
fn or_nan(a: f32, b: f32, x: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

#[inline(always)]
fn crossed(a: f32, b: f32, of: impl Fn(f32, f32) -> f32) -> f32 {
    let x = of(a.abs(), b.abs());
    if x.is_nan() { x } else { f32::from_bits(x.to_bits() | (a.to_bits() ^ b.to_bits()) & 0x8000_0000) }
}
