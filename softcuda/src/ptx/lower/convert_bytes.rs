//! `cvt` from and to pairs of 8-bit floating-point numbers.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::byte_float::{ByteFloat, E4m3, E5m2};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::Handler;
use crate::ptx::exec::map::{binary, unary};
use crate::ptx::half::{F16, Half};
use crate::ptx::types::Type;

const FORMATS: [&str; 2] = ["e4m3x2", "e5m2x2"];

/// Whether the instruction is one of these.
pub(super) fn is_one(i: &Instruction<'_>) -> bool {
    i.modifiers.iter().any(|modifier| FORMATS.contains(modifier))
}

fn packed<B: ByteFloat>(high: f32, low: f32, relu: bool) -> u16 {
    let one = if relu { B::rectified } else { B::round };
    u16::from(one(high)) << 8 | u16::from(one(low))
}

fn of_singles<B: ByteFloat>(relu: bool) -> Handler {
    if relu {
        binary(|a: f32, b: f32| packed::<B>(a, b, true))
    } else {
        binary(|a: f32, b: f32| packed::<B>(a, b, false))
    }
}

fn of_halves<B: ByteFloat>(relu: bool) -> Handler {
    if relu {
        unary(|a: u32| packed::<B>(F16::to_f32((a >> 16) as u16), F16::to_f32(a as u16), true))
    } else {
        unary(|a: u32| packed::<B>(F16::to_f32((a >> 16) as u16), F16::to_f32(a as u16), false))
    }
}

fn to_halves<B: ByteFloat>(relu: bool) -> Handler {
    fn one<B: ByteFloat>(bits: u8, relu: bool) -> u32 {
        let half = B::to_f16(bits);
        u32::from(if relu { F16::rectify(half) } else { half })
    }
    if relu {
        unary(|a: u16| one::<B>((a >> 8) as u8, true) << 16 | one::<B>(a as u8, true))
    } else {
        unary(|a: u16| one::<B>((a >> 8) as u8, false) << 16 | one::<B>(a as u8, false))
    }
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if !m.take("rn") {
        return Err(m.invalid("it is rounded to nearest, by .rn"));
    }
    let (finite, relu) = (m.take("satfinite"), m.take("relu"));
    let to_bytes = i.modifiers.iter().position(|modifier| FORMATS.contains(modifier)) < source_at(i);
    let is_e4m3 = m.one_of(&FORMATS) == Some(FORMATS[0]);
    if to_bytes != finite {
        return Err(m.invalid("a result of 8 bits has .satfinite, and no other"));
    }
    let ty = m.ty()?;
    if to_bytes && ty == Type::F32 {
        let [to, high, low] = l.operands(i)?;
        let (a, b) = (l.source(high, ty)?, l.source(low, ty)?);
        let d = l.destination(to, Type::B16)?;
        let run = if is_e4m3 { of_singles::<E4m3>(relu) } else { of_singles::<E5m2>(relu) };
        l.emit(op(run, d, a, b));
        return Ok(());
    }
    if ty != Type::F16x2 {
        return Err(m.bad_type(ty));
    }
    let [to, from] = l.operands(i)?;
    let (target, source) = if to_bytes { (Type::B16, ty) } else { (ty, Type::B16) };
    let run = match (to_bytes, is_e4m3) {
        (true, true) => of_halves::<E4m3>(relu),
        (true, false) => of_halves::<E5m2>(relu),
        (false, true) => to_halves::<E4m3>(relu),
        (false, false) => to_halves::<E5m2>(relu),
    };
    let a = l.source(from, source)?;
    let d = l.destination(to, target)?;
    l.emit(op(run, d, a, NIL));
    Ok(())
}

/// The place of the other type among the modifiers.
fn source_at(i: &Instruction<'_>) -> Option<usize> {
    i.modifiers.iter().position(|modifier| Type::named(modifier).is_some())
}
