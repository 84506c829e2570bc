//! `cvt`

use super::arithmetic::{in_direction, saturate};
use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::operand::resize;
use super::registers::width;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Reg};
use crate::ptx::exec::map::{binary, each1, each2, unary};
use crate::ptx::float::{Round, canonical, directed, flush, narrowed, passed};
use crate::ptx::half::{Bf16, F16, Half};
use crate::ptx::types::Type;
use Type::{Bf16 as TBf16, F16 as TF16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

/// What stands between `cvt` and the types.
#[derive(Clone, Copy)]
struct Form {
    /// Rounding to an integer.
    whole: Option<Round>,
    round: Option<Round>,
    ftz: bool,
    sat: bool,
    relu: bool,
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if m.take("pack") {
        return Err(m.uncovered("cvt.pack is not supported"));
    }
    if m.take("rna") {
        return to_tf32(l, i, m);
    }
    let whole = m.one_of(&["rni", "rzi", "rmi", "rpi"]).map(|name| match name {
        "rni" => Round::Near,
        "rzi" => Round::Zero,
        "rmi" => Round::Down,
        _ => Round::Up,
    });
    let form = Form { whole, round: m.round(), ftz: m.take("ftz"), sat: m.take("sat"), relu: m.take("relu") };
    let d = m.ty()?;
    let a = m.ty()?;
    if matches!(d, Type::F16x2 | Type::Bf16x2) {
        return to_pair(l, i, m, form, d, a);
    }
    if [d, a].iter().any(|ty| ty.bits() == *ty || matches!(ty, Type::F16x2 | Type::Bf16x2)) {
        return Err(m.invalid("these types cannot be converted"));
    }
    let [to, from] = l.operands(i)?;
    let source = l.source_narrowed(from, a)?;
    let (target, widen) = l.destination_widened(to, d)?;
    match (d.is_float(), a.is_float()) {
        (false, false) => integer_to_integer(l, m, form, (d, target), (a, source))?,
        (true, false) => integer_to_float(l, m, form, (d, target), (a, source))?,
        (false, true) => float_to_integer(l, m, form, (d, target), (a, source))?,
        (true, true) => float_to_float(l, m, form, (d, target), (a, source))?,
    }
    if let Some(widen) = widen {
        l.emit(widen);
    }
    Ok(())
}

type Typed = (Type, Reg);

/// The integer in 64 bits; whether it has its sign there.
fn in_64_bits(l: &mut Lowering<'_, '_>, (ty, reg): Typed) -> Reg {
    let run: Handler = match ty {
        U8 => unary(|a: u16| u64::from(a & 0xff)),
        S8 => unary(|a: u16| i64::from(a as i8)),
        U16 => unary(|a: u16| u64::from(a)),
        S16 => unary(|a: i16| i64::from(a)),
        U32 => unary(|a: u32| u64::from(a)),
        S32 => unary(|a: i32| i64::from(a)),
        _ => return reg,
    };
    let d = l.temporary(U64);
    l.emit(op(run, d, reg, NIL));
    d
}

fn integer_to_integer(
    l: &mut Lowering<'_, '_>,
    m: &Modifiers<'_>,
    form: Form,
    (d, target): Typed,
    (a, source): Typed,
) -> Result<(), JitError> {
    if form.whole.is_some() || form.round.is_some() || form.ftz || form.relu {
        return Err(m.invalid("integers are not rounded"));
    }
    let bytes = d.size() == 1 || a.size() == 1;
    if !form.sat && !bytes {
        let run = resize(width(a), width(d), a.is_signed()).ok_or_else(|| m.bad_type(d))?;
        l.emit(op(run, target, source, NIL));
        return Ok(());
    }
    let from = in_64_bits(l, (a, source));
    macro_rules! clamped {
        ($t:ty, $held:ty) => {
            match (form.sat, a) {
                (false, _) => unary(|a: u64| <$held>::from(a as $t)),
                (true, U64) => unary(|a: u64| <$held>::from(<$t>::try_from(a).unwrap_or(<$t>::MAX))),
                (true, _) => unary(|a: i64| {
                    let limit = if a < 0 { <$t>::MIN } else { <$t>::MAX };
                    <$held>::from(<$t>::try_from(a).unwrap_or(limit))
                }),
            }
        };
    }
    let run = match d {
        U8 => clamped!(u8, u16),
        // A signed byte is held without its sign; who widens it puts it back.
        S8 => match (form.sat, a) {
            (false, _) => unary(|a: u64| a as u16 & 0xff),
            (true, U64) => unary(|a: u64| a.min(127) as u16),
            (true, _) => unary(|a: i64| a.clamp(-128, 127) as u16 & 0xff),
        },
        U16 => clamped!(u16, u16),
        S16 => clamped!(i16, i16),
        U32 => clamped!(u32, u32),
        S32 => clamped!(i32, i32),
        U64 => clamped!(u64, u64),
        _ => clamped!(i64, i64),
    };
    l.emit(op(run, target, from, NIL));
    Ok(())
}

fn integer_to_float(
    l: &mut Lowering<'_, '_>,
    m: &Modifiers<'_>,
    form: Form,
    (d, target): Typed,
    (a, source): Typed,
) -> Result<(), JitError> {
    let round = form.round.ok_or_else(|| m.invalid("a rounding mode is wanted"))?;
    if form.whole.is_some() || form.relu {
        return Err(m.invalid("this form has no meaning"));
    }
    let direct: Option<Handler> = match (d, a, round) {
        (F32, S32, Round::Near) => Some(unary(|a: i32| a as f32)),
        (F32, U32, Round::Near) => Some(unary(|a: u32| a as f32)),
        (F64, S32, _) => Some(unary(|a: i32| f64::from(a))),
        (F64, U32, _) => Some(unary(|a: u32| f64::from(a))),
        _ => None,
    };
    let from = if direct.is_some() { source } else { in_64_bits(l, (a, source)) };
    macro_rules! rounded {
        ($from:ty, $to:ty) => {
            match round {
                Round::Near => unary(|a: $from| a as $to),
                Round::Zero => each1(|a: $from| in_direction!(Round::Zero, |a| a as $to)),
                // The processor makes -0 of an unsigned 0 in this direction.
                Round::Down => each1(|a: $from| in_direction!(Round::Down, |a| a as $to) + 0.0),
                Round::Up => each1(|a: $from| in_direction!(Round::Up, |a| a as $to)),
            }
        };
    }
    macro_rules! to_half {
        ($H:ty, $from:ty) => {
            match round {
                Round::Near => each1(|a: $from| <$H>::round(in_double(a.into()), Round::Near)),
                Round::Zero => each1(|a: $from| <$H>::round(in_double(a.into()), Round::Zero)),
                Round::Down => each1(|a: $from| <$H>::round(in_double(a.into()), Round::Down)),
                Round::Up => each1(|a: $from| <$H>::round(in_double(a.into()), Round::Up)),
            }
        };
    }
    let run = match (direct, d, a) {
        (Some(run), ..) => run,
        (_, F32, U64) => rounded!(u64, f32),
        (_, F32, _) => rounded!(i64, f32),
        (_, F64, U64) => rounded!(u64, f64),
        (_, F64, _) => rounded!(i64, f64),
        (_, TF16, U64) => to_half!(F16, u64),
        (_, TF16, _) => to_half!(F16, i64),
        (_, TBf16, U64) => to_half!(Bf16, u64),
        (_, TBf16, _) => to_half!(Bf16, i64),
        _ => return Err(m.bad_type(d)),
    };
    l.emit(op(run, target, from, NIL));
    if form.sat {
        saturate_float(l, m, (d, target))?;
    }
    Ok(())
}

fn saturate_float(l: &mut Lowering<'_, '_>, m: &Modifiers<'_>, (d, target): Typed) -> Result<(), JitError> {
    match d {
        F32 | F64 => saturate(l, d, target),
        TF16 => l.emit(op(each1(F16::saturate), target, target, NIL)),
        _ => return Err(m.bad_type(d)),
    }
    Ok(())
}

#[inline(always)]
fn whole(round: Round, a: f64) -> f64 {
    match round {
        Round::Near => a.round_ties_even(),
        Round::Zero => a.trunc(),
        Round::Down => a.floor(),
        Round::Up => a.ceil(),
    }
}

/// The integer in double precision. What does not fit leaves its mark in the last bit, so that rounding to fewer is right.
fn in_double(a: i128) -> f64 {
    let marked = |a: u64| if a >> 53 == 0 { a } else { (a >> 11 | u64::from(a & 0x7ff != 0)) << 11 };
    let magnitude = marked(a.unsigned_abs() as u64) as f64;
    if a < 0 { -magnitude } else { magnitude }
}

/// The value in double precision, which holds every other one.
fn widened(
    l: &mut Lowering<'_, '_>,
    m: &Modifiers<'_>,
    ftz: bool,
    (ty, reg): Typed,
) -> Result<Reg, JitError> {
    let run: Handler = match ty {
        F64 => return Ok(reg),
        F32 if ftz => unary(|a: f32| f64::from(flush(a))),
        F32 => unary(|a: f32| f64::from(a)),
        TF16 => each1(|a: u16| f64::from(F16::to_f32(a))),
        TBf16 => each1(|a: u16| f64::from(Bf16::to_f32(a))),
        _ => return Err(m.bad_type(ty)),
    };
    let d = l.temporary(F64);
    l.emit(op(run, d, reg, NIL));
    Ok(d)
}

fn float_to_integer(
    l: &mut Lowering<'_, '_>,
    m: &Modifiers<'_>,
    form: Form,
    (d, target): Typed,
    (a, source): Typed,
) -> Result<(), JitError> {
    let round = form.whole.ok_or_else(|| m.invalid("a rounding to integers is wanted"))?;
    if form.round.is_some() || form.relu {
        return Err(m.invalid("this form has no meaning"));
    }
    let from = widened(l, m, form.ftz, (a, source))?;
    // What is out of range becomes the nearest number in it. NaN becomes the highest bit where one of the types has 64
    // bits, otherwise 0 (measured).
    macro_rules! to {
        ($nan:expr, |$x:ident| $e:expr) => {
            match round {
                Round::Near => to!(Round::Near, $nan, |$x| $e),
                Round::Zero => to!(Round::Zero, $nan, |$x| $e),
                Round::Down => to!(Round::Down, $nan, |$x| $e),
                Round::Up => to!(Round::Up, $nan, |$x| $e),
            }
        };
        ($round:path, $nan:expr, |$x:ident| $e:expr) => {
            unary(|a: f64| {
                let $x = whole($round, a);
                if a.is_nan() { $nan } else { $e }
            })
        };
    }
    let run = match (d, a == F64) {
        (U8, false) => to!(0, |x| u16::from(x as u8)),
        (U8, true) => to!(0x80, |x| u16::from(x as u8)),
        (S8, false) => to!(0, |x| u16::from(x as i8 as u8)),
        (S8, true) => to!(0x80, |x| u16::from(x as i8 as u8)),
        (U16, false) => to!(0, |x| x as u16),
        (U16, true) => to!(1 << 15, |x| x as u16),
        (S16, false) => to!(0, |x| x as i16),
        (S16, true) => to!(i16::MIN, |x| x as i16),
        (U32, false) => to!(0, |x| x as u32),
        (U32, true) => to!(1 << 31, |x| x as u32),
        (S32, false) => to!(0, |x| x as i32),
        (S32, true) => to!(i32::MIN, |x| x as i32),
        (U64, _) => to!(1 << 63, |x| x as u64),
        (S64, _) => to!(i64::MIN, |x| x as i64),
        _ => return Err(m.bad_type(d)),
    };
    l.emit(op(run, target, from, NIL));
    Ok(())
}

fn float_to_float(
    l: &mut Lowering<'_, '_>,
    m: &Modifiers<'_>,
    form: Form,
    (d, target): Typed,
    (a, source): Typed,
) -> Result<(), JitError> {
    if form.relu && !matches!(d, TF16 | TBf16) {
        return Err(m.uncovered("the modifier `.relu` is not supported here"));
    }
    if let Some(round) = form.whole {
        if d != a || form.round.is_some() {
            return Err(m.invalid("rounding to integers does not change the type"));
        }
        return to_whole(l, m, form, round, (d, target), source);
    }
    let narrower = d.size() < a.size() || d.size() == a.size() && d != a;
    if narrower && form.round.is_none() {
        return Err(m.invalid("a rounding mode is wanted"));
    }
    let round = form.round.unwrap_or(Round::Near);
    let ftz = form.ftz;
    macro_rules! halved {
        ($H:ty) => {{
            if ftz && a != F32 {
                return Err(m.uncovered("this form is not supported"));
            }
            // Nothing is flushed here, whatever the modifier says (measured).
            let from = widened(l, m, false, (a, source))?;
            let run = match (a == F64, round) {
                (false, Round::Near) => each1(|a: f64| <$H>::round(a, Round::Near)),
                (false, Round::Zero) => each1(|a: f64| <$H>::round(a, Round::Zero)),
                (false, Round::Down) => each1(|a: f64| <$H>::round(a, Round::Down)),
                (false, Round::Up) => each1(|a: f64| <$H>::round(a, Round::Up)),
                (true, Round::Near) => each1(|a: f64| <$H>::narrowed(a, Round::Near)),
                (true, Round::Zero) => each1(|a: f64| <$H>::narrowed(a, Round::Zero)),
                (true, Round::Down) => each1(|a: f64| <$H>::narrowed(a, Round::Down)),
                (true, Round::Up) => each1(|a: f64| <$H>::narrowed(a, Round::Up)),
            };
            l.emit(op(run, target, from, NIL));
            if form.relu {
                l.emit(op(each1(<$H>::rectify), target, target, NIL));
            }
        }};
    }
    match (d, a) {
        (F32, F32) if ftz => l.emit(op(unary(|a: f32| canonical(flush(a))), target, source, NIL)),
        (F32, F32) => l.emit(op(unary(|a: f32| a), target, source, NIL)),
        (F64, F64) => l.emit(op(unary(|a: f64| a), target, source, NIL)),
        (F64, _) => {
            let run: Handler = match a {
                F32 if ftz => unary(|a: f32| f64::from(canonical(flush(a)))),
                F32 => unary(|a: f32| f64::from(a)),
                TF16 => each1(F16::to_f64),
                _ => each1(Bf16::to_f64),
            };
            l.emit(op(run, target, source, NIL));
        }
        (F32, TF16) => l.emit(op(unary(F16::to_f32), target, source, NIL)),
        (F32, TBf16) if ftz => {
            l.emit(op(unary(|a: u16| canonical(flush(Bf16::to_f32(a)))), target, source, NIL));
        }
        (F32, TBf16) => l.emit(op(unary(Bf16::to_f32), target, source, NIL)),
        (F32, F64) => {
            let run = match round {
                Round::Near => unary(|a: f64| narrowed(a, |a| a as f32)),
                Round::Zero => each1(|a: f64| narrowed(a, |a| in_direction!(Round::Zero, |a| a as f32))),
                Round::Down => each1(|a: f64| narrowed(a, |a| in_direction!(Round::Down, |a| a as f32))),
                Round::Up => each1(|a: f64| narrowed(a, |a| in_direction!(Round::Up, |a| a as f32))),
            };
            l.emit(op(run, target, source, NIL));
            if ftz {
                l.emit(op(unary(flush), target, target, NIL));
            }
        }
        (TF16, TF16) => l.emit(op(unary(F16::canonical), target, source, NIL)),
        (TBf16, TBf16) => l.emit(op(unary(|a: u16| a), target, source, NIL)),
        (TF16, _) => halved!(F16),
        (TBf16, _) => halved!(Bf16),
        _ => return Err(m.bad_type(d)),
    }
    if form.sat {
        saturate_float(l, m, (d, target))?;
    }
    Ok(())
}

fn to_whole(
    l: &mut Lowering<'_, '_>,
    m: &Modifiers<'_>,
    form: Form,
    round: Round,
    (d, target): Typed,
    source: Reg,
) -> Result<(), JitError> {
    let from = widened(l, m, form.ftz, (d, source))?;
    let run: Handler = match round {
        Round::Near => unary(|a: f64| passed(whole(Round::Near, a), [a])),
        Round::Zero => unary(|a: f64| passed(whole(Round::Zero, a), [a])),
        Round::Down => unary(|a: f64| passed(whole(Round::Down, a), [a])),
        Round::Up => unary(|a: f64| passed(whole(Round::Up, a), [a])),
    };
    let between = if d == F64 { target } else { l.temporary(F64) };
    l.emit(op(run, between, from, NIL));
    let back: Option<Handler> = match d {
        F32 => Some(unary(|a: f64| canonical(a as f32))),
        TF16 => Some(each1(|a: f64| F16::round(a, Round::Near))),
        TBf16 => Some(each1(|a: f64| Bf16::round(a, Round::Near))),
        _ => None,
    };
    if let Some(back) = back {
        l.emit(op(back, target, between, NIL));
    }
    if form.sat {
        saturate_float(l, m, (d, target))?;
    }
    Ok(())
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half.
fn to_pair<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &Modifiers<'a>,
    form: Form,
    d: Type,
    a: Type,
) -> Result<(), JitError> {
    #[inline(always)]
    fn pair<H: Half>(a: f32, b: f32, round: Round, relu: bool) -> u32 {
        let one = |x: f32| {
            let bits = H::round(x.into(), round);
            u32::from(if relu { H::rectify(bits) } else { bits })
        };
        one(a) << 16 | one(b)
    }
    if a != F32 || form.ftz || form.sat || form.whole.is_some() {
        return Err(m.uncovered("this form is not supported"));
    }
    macro_rules! pairs {
        ($H:ty) => {
            match (form.round, form.relu) {
                (Some(Round::Near), false) => each2(|a: f32, b: f32| pair::<$H>(a, b, Round::Near, false)),
                (Some(Round::Near), true) => each2(|a: f32, b: f32| pair::<$H>(a, b, Round::Near, true)),
                (Some(Round::Zero), false) => each2(|a: f32, b: f32| pair::<$H>(a, b, Round::Zero, false)),
                (Some(Round::Zero), true) => each2(|a: f32, b: f32| pair::<$H>(a, b, Round::Zero, true)),
                _ => return Err(m.invalid("a rounding mode is wanted")),
            }
        };
    }
    let run = if d == Type::F16x2 { pairs!(F16) } else { pairs!(Bf16) };
    let [to, a, b] = l.operands(i)?;
    let (a, b) = (l.source(a, F32)?, l.source(b, F32)?);
    let d = l.destination(to, d)?;
    l.emit(op(run, d, a, b));
    Ok(())
}

/// `cvt.rna.tf32.f32`: ten bits of fraction, ties away from zero.
fn to_tf32<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    if !m.take("tf32") || m.ty()? != F32 {
        return Err(m.uncovered("only cvt.rna.tf32.f32 is supported"));
    }
    let [to, from] = l.operands(i)?;
    let a = l.source(from, F32)?;
    let d = l.destination(to, Type::B32)?;
    let mask = l.constant(0xffff_e000, Type::B32);
    let run = binary(|a: u32, mask: u32| {
        let rounded = if a & 0x7f80_0000 == 0x7f80_0000 { a } else { a.wrapping_add(0x1000) };
        rounded & mask
    });
    l.emit(op(run, d, a, mask));
    Ok(())
}
