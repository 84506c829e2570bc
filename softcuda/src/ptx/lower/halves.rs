//! Arithmetic of `f16` and `bf16`, single and in pairs.

use super::emit::op;
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op};
use crate::ptx::exec::map::ternary_with;
use crate::ptx::float::Round;
use crate::ptx::half::{Bf16, F16, Half};
use crate::ptx::types::Type;

/// What stands behind the opcode, as bits that the handlers are given.
mod flag {
    pub(super) const FTZ: u32 = 1;
    pub(super) const SAT: u32 = 2;
    pub(super) const RELU: u32 = 4;
    pub(super) const NAN: u32 = 8;
    pub(super) const XORSIGN: u32 = 16;
}

/// The modifiers that an opcode may have besides `.ftz`, and its operands. `bf16` is neither flushed nor saturated.
fn knows(opcode: &str) -> Option<(&'static [(&'static str, u32)], usize)> {
    Some(match opcode {
        "add" | "sub" | "mul" => (&[("sat", flag::SAT)], 2),
        "fma" => (&[("sat", flag::SAT), ("relu", flag::RELU)], 3),
        "min" | "max" => (&[("NaN", flag::NAN), ("xorsign", flag::XORSIGN)], 2),
        "abs" | "neg" => (&[], 1),
        _ => return None,
    })
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<(), JitError> {
    let (modifiers, count) = knows(i.opcode).ok_or_else(|| m.bad_type(ty))?;
    let brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
    let mut flags = if !brain && m.take("ftz") { flag::FTZ } else { 0 };
    for (name, flag) in modifiers {
        if !(brain && *name == "sat") && m.take(name) {
            flags |= flag;
        }
    }
    if flags & flag::XORSIGN != 0 && !m.take("abs") {
        return Err(m.invalid("`.xorsign` goes with `.abs`"));
    }
    if count > 1 && !matches!(i.opcode, "min" | "max") {
        m.take("rn");
    }
    let paired = matches!(ty, Type::F16x2 | Type::Bf16x2);
    let run = if brain { handler::<Bf16>(i.opcode, paired) } else { handler::<F16>(i.opcode, paired) };
    let [to, from @ ..] = i.operands.as_slice() else { return Err(m.invalid("operands are wanted")) };
    if from.len() != count {
        return Err(m.invalid(&format!("{} operands are wanted", count + 1)));
    }
    let mut sources = Vec::new();
    for operand in from {
        sources.push(l.source(operand, ty)?);
    }
    // Operands that the opcode has not are not looked at.
    let at = |index: usize| sources.get(index).copied().unwrap_or(sources[0]);
    let (a, b, c) = (at(0), at(1), at(2));
    let d = l.destination(to, ty)?;
    l.emit(Op { c, extra: flags, ..op(run, d, a, b) });
    Ok(())
}

fn handler<H: Half + 'static>(opcode: &str, paired: bool) -> Handler {
    macro_rules! of {
        ($f:expr) => {
            if paired {
                ternary_with(|a: u32, b: u32, c: u32, flags| {
                    let part = |at: u32| {
                        let d =
                            applied::<H>([(a >> at) as u16, (b >> at) as u16, (c >> at) as u16], flags, $f);
                        u32::from(d) << at
                    };
                    part(16) | part(0)
                })
            } else {
                ternary_with(|a: u16, b: u16, c: u16, flags| applied::<H>([a, b, c], flags, $f))
            }
        };
    }
    match opcode {
        "add" => of!(|[a, b, _], flags| finish::<H>(H::sum(a, b), flags)),
        "sub" => of!(|[a, b, _], flags| finish::<H>(H::sum(a, b ^ 0x8000), flags)),
        "mul" => of!(|[a, b, _], flags| finish::<H>(H::product(a, b), flags)),
        "fma" => of!(|[a, b, c], flags| finish::<H>(H::fused(a, b, c), flags)),
        "min" => of!(|[a, b, _], flags| extreme::<H>(a, b, flags, H::min)),
        "max" => of!(|[a, b, _], flags| extreme::<H>(a, b, flags, H::max)),
        "abs" => of!(|[a, ..], _| H::canonical(a & 0x7fff)),
        _ => of!(|[a, ..], _| H::canonical(a ^ 0x8000)),
    }
}

/// The result of the operands that `.ftz` makes of these.
#[inline(always)]
fn applied<H: Half>(operands: [u16; 3], flags: u32, f: impl Fn([u16; 3], u32) -> u16) -> u16 {
    let flushed = |x| if flags & flag::FTZ != 0 { H::flush(x) } else { x };
    f(operands.map(flushed), flags)
}

/// The exact result rounded, and what the modifiers make of it.
#[inline(always)]
fn finish<H: Half>(exact: f64, flags: u32) -> u16 {
    let d = if flags & flag::FTZ != 0 { H::round_flushing(exact) } else { H::round(exact, Round::Near) };
    if flags & flag::SAT != 0 {
        H::saturate(d)
    } else if flags & flag::RELU != 0 {
        H::rectify(d)
    } else {
        d
    }
}

/// `min` or `max`; with `.xorsign` of the magnitudes, and the sign is the product's.
#[inline(always)]
fn extreme<H: Half>(a: u16, b: u16, flags: u32, of: impl Fn(u16, u16) -> u16) -> u16 {
    if flags & flag::NAN != 0 && (H::is_nan(a) || H::is_nan(b)) {
        return H::NAN;
    }
    if flags & flag::XORSIGN == 0 {
        return of(a, b);
    }
    let d = of(a & 0x7fff, b & 0x7fff);
    if H::is_nan(d) { d } else { d | (a ^ b) & 0x8000 }
}
