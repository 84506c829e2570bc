//! Arithmetic of `f16` and `bf16`, single and in pairs.

use super::arithmetic::{one, three, two};
use super::function::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::core::Handler;
use crate::ptx::exec::map::{binary, each2, each3, unary};
use crate::ptx::half::{Bf16, F16, Half};
use crate::ptx::types::Type;

#[inline(always)]
fn pair2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Handlers of two operands for one format, alone and as a pair.
macro_rules! of_two {
    ($paired:expr, $H:ty, |$a:ident, $b:ident| $e:expr) => {
        if $paired { each2(|x: u32, y: u32| pair2(x, y, |$a, $b| $e)) } else { each2(|$a: u16, $b: u16| $e) }
    };
}

macro_rules! of_three {
    ($paired:expr, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        if $paired {
            each3(|x: u32, y: u32, z: u32| {
                let f = |$a: u16, $b: u16, $c: u16| $e;
                let low = f(x as u16, y as u16, z as u16);
                u32::from(low) | u32::from(f((x >> 16) as u16, (y >> 16) as u16, (z >> 16) as u16)) << 16
            })
        } else {
            each3(|$a: u16, $b: u16, $c: u16| $e)
        }
    };
}

/// What stands behind the opcode.
#[derive(Clone, Copy)]
struct Form {
    paired: bool,
    ftz: bool,
    sat: bool,
    relu: bool,
    nan: bool,
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    ty: Type,
) -> Result<(), JitError> {
    let form = Form {
        paired: matches!(ty, Type::F16x2 | Type::Bf16x2),
        ftz: m.take("ftz"),
        sat: m.take("sat"),
        relu: m.take("relu"),
        nan: m.take("NaN"),
    };
    m.take("rn");
    let brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
    let counted = [form.ftz, form.sat, form.relu, form.nan].iter().filter(|&&on| on).count();
    if counted > 1 || form.ftz && brain {
        return Err(m.uncovered("these modifiers are not supported together"));
    }
    let run = if brain { handler::<Bf16>(i.opcode, form) } else { handler::<F16>(i.opcode, form) };
    let run = run.ok_or_else(|| m.uncovered("this form is not supported"))?;
    match i.opcode {
        "fma" => three(l, i, ty, run),
        "abs" | "neg" => one(l, i, ty, ty, run),
        _ => two(l, i, ty, run),
    }
}

fn handler<H: Half + 'static>(opcode: &str, form: Form) -> Option<Handler> {
    let Form { paired, ftz, sat, relu, nan } = form;
    let plain = !(ftz || sat || relu || nan);
    Some(match opcode {
        "add" if plain => of_two!(paired, H, |a, b| H::add(a, b)),
        "add" if sat => of_two!(paired, H, |a, b| H::saturate(H::add(a, b))),
        "add" if ftz => of_two!(paired, H, |a, b| H::flush(H::add(H::flush(a), H::flush(b)))),
        "sub" if plain => of_two!(paired, H, |a, b| H::subtract(a, b)),
        "sub" if sat => of_two!(paired, H, |a, b| H::saturate(H::subtract(a, b))),
        "sub" if ftz => of_two!(paired, H, |a, b| H::flush(H::subtract(H::flush(a), H::flush(b)))),
        "mul" if plain => of_two!(paired, H, |a, b| H::multiply(a, b)),
        "mul" if sat => of_two!(paired, H, |a, b| H::saturate(H::multiply(a, b))),
        "mul" if ftz => of_two!(paired, H, |a, b| H::flush(H::multiply(H::flush(a), H::flush(b)))),
        "min" if plain => of_two!(paired, H, |a, b| H::min(a, b)),
        "min" if nan => of_two!(paired, H, |a, b| or_nan::<H>(a, b, H::min(a, b))),
        "min" if ftz => of_two!(paired, H, |a, b| H::min(H::flush(a), H::flush(b))),
        "max" if plain => of_two!(paired, H, |a, b| H::max(a, b)),
        "max" if nan => of_two!(paired, H, |a, b| or_nan::<H>(a, b, H::max(a, b))),
        "max" if ftz => of_two!(paired, H, |a, b| H::max(H::flush(a), H::flush(b))),
        "fma" if plain => of_three!(paired, |a, b, c| H::fused(a, b, c)),
        "fma" if sat => of_three!(paired, |a, b, c| H::saturate(H::fused(a, b, c))),
        "fma" if relu => of_three!(paired, |a, b, c| H::rectify(H::fused(a, b, c))),
        "fma" if ftz => {
            of_three!(paired, |a, b, c| H::flush(H::fused(H::flush(a), H::flush(b), H::flush(c))))
        }
        "neg" if plain && paired => unary(|a: u32| a ^ 0x8000_8000),
        "neg" if plain => unary(|a: u16| a ^ 0x8000),
        "abs" if plain && paired => unary(|a: u32| a & 0x7fff_7fff),
        "abs" if plain => unary(|a: u16| a & 0x7fff),
        "neg" if ftz && !paired => unary(|a: u16| H::flush(a ^ 0x8000)),
        "abs" if ftz && !paired => unary(|a: u16| H::flush(a & 0x7fff)),
        "neg" if ftz => binary(|a: u32, _: u32| pair2(a, a, |a, _| H::flush(a ^ 0x8000))),
        "abs" if ftz => binary(|a: u32, _: u32| pair2(a, a, |a, _| H::flush(a & 0x7fff))),
        _ => return None,
    })
}

fn or_nan<H: Half>(a: u16, b: u16, x: u16) -> u16 {
    if H::is_nan(a) || H::is_nan(b) { H::NAN } else { x }
}
