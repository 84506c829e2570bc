//! Functions that a GPU approximates, and those of the same names that are exact.

use super::arithmetic::{double, in_direction, one, single};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::core::Handler;
use crate::ptx::exec::map::{each1, unary};
use crate::ptx::float::{Round, by_double, canonical, directed, flush, near_quotient, passed, unless_tiny};
use crate::ptx::half::{Bf16, F16, Half};
use crate::ptx::types::Type;

/// A function worked out in double precision, flushing or not.
macro_rules! approximated {
    ($ftz:expr, |$x:ident| $e:expr) => {
        if $ftz {
            each1(|a: f32| flush(by_double(flush(a), |$x| $e)))
        } else {
            each1(|a: f32| by_double(a, |$x| $e))
        }
    };
}

macro_rules! approximated_half {
    ($ty:expr, |$x:ident| $e:expr) => {
        match $ty {
            Type::F16 => Some(each1(|a: u16| F16::through(a, |$x| $e))),
            Type::Bf16 => Some(each1(|a: u16| Bf16::through(a, |$x| $e))),
            Type::F16x2 => Some(each1(|a: u32| pair::<F16>(a, |$x| $e))),
            Type::Bf16x2 => Some(each1(|a: u32| pair::<Bf16>(a, |$x| $e))),
            _ => None,
        }
    };
}

#[inline(always)]
fn pair<H: Half>(a: u32, f: impl Fn(f64) -> f64) -> u32 {
    u32::from(H::through(a as u16, &f)) | u32::from(H::through((a >> 16) as u16, &f)) << 16
}

/// The fast forms of double precision look at the upper half of the bits only, give no more, and one NaN.
#[inline(always)]
fn by_upper_half(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    let upper = |x: f64| x.to_bits() >> 32 << 32;
    let d = f(flush64(f64::from_bits(upper(x))));
    f64::from_bits(if d.is_nan() { 0x7fff_ffff << 32 } else { upper(flush64(d)) })
}

/// Subnormal numbers become zero of their sign.
#[inline(always)]
fn flush64(x: f64) -> f64 {
    if x.is_subnormal() { 0.0f64.copysign(x) } else { x }
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let approximate = m.take("approx");
    let round = m.round();
    let ftz = m.take("ftz");
    let ty = m.ty()?;
    let run = match ty {
        Type::F32 if approximate && round.is_none() => approximation(i.opcode, ftz),
        Type::F32 => round.filter(|_| !approximate).and_then(|round| exact(i.opcode, round, ftz)),
        Type::F64 if approximate && round.is_none() => approximation64(i.opcode, ftz),
        Type::F64 => round.filter(|_| !approximate && !ftz).and_then(|round| exact64(i.opcode, round)),
        _ if approximate => match i.opcode {
            "ex2" => approximated_half!(ty, |x| x.exp2()),
            "tanh" => approximated_half!(ty, |x| x.tanh()),
            _ => None,
        },
        _ => None,
    };
    let run = run.ok_or_else(|| m.uncovered("this form is not supported"))?;
    one(l, i, ty, ty, run)
}

fn approximation(opcode: &str, ftz: bool) -> Option<Handler> {
    Some(match opcode {
        "rcp" => approximated!(ftz, |x| 1.0 / x),
        "sqrt" => approximated!(ftz, |x| x.sqrt()),
        "rsqrt" => approximated!(ftz, |x| 1.0 / x.sqrt()),
        "ex2" => approximated!(ftz, |x| x.exp2()),
        "lg2" => approximated!(ftz, |x| x.log2()),
        "sin" => approximated!(ftz, |x| x.sin()),
        "cos" => approximated!(ftz, |x| x.cos()),
        "tanh" if !ftz => approximated!(false, |x| x.tanh()),
        _ => return None,
    })
}

fn exact(opcode: &str, round: Round, ftz: bool) -> Option<Handler> {
    Some(match opcode {
        "rcp" => single!(round, ftz, unary, each1, |a| 1.0 / a, near_quotient(1.0, a)),
        "sqrt" => single!(round, ftz, unary, each1, |a| a.sqrt()),
        _ => return None,
    })
}

fn approximation64(opcode: &str, ftz: bool) -> Option<Handler> {
    Some(match (opcode, ftz) {
        ("rcp", true) => each1(|a: f64| by_upper_half(a, |a| 1.0 / a)),
        ("rsqrt", true) => each1(|a: f64| by_upper_half(a, |a| 1.0 / a.sqrt())),
        ("rsqrt", false) => each1(|a: f64| 1.0 / a.sqrt()),
        _ => return None,
    })
}

fn exact64(opcode: &str, round: Round) -> Option<Handler> {
    Some(match opcode {
        "rcp" => double!(round, unary, each1, |a| passed(1.0 / a, [a])),
        "sqrt" => double!(round, unary, each1, |a| passed(a.sqrt(), [a])),
        _ => return None,
    })
}
