//! `mma`: the shapes and types that there are, and which function multiplies them.
//!
//! The lanes put their parts into registers of the instruction's own, and wait for each other before and after one has read those of all.

use super::emit::op;
use super::lowering::Lowering;
use super::matrix::wait;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::binary;
use crate::ptx::exec::mma::{
    InF16, InF32, InF64, InS32, InS32Clamped, OfBf16, OfE4m3, OfE5m2, OfF16, OfF64, OfS8, OfTf32, OfU8,
    multiply, registers, shape,
};
use crate::ptx::types::Type;
use Type::{B32, B64};

/// Rows of the first matrix, and its columns; the second has eight.
const SHAPES: [(&str, u32, u32); 6] = [
    ("m8n8k4", 8, 4),
    ("m8n8k16", 8, 16),
    ("m16n8k4", 16, 4),
    ("m16n8k8", 16, 8),
    ("m16n8k16", 16, 16),
    ("m16n8k32", 16, 32),
];

const TYPES: [&str; 10] = ["f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "f32", "s32"];

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if !m.take("sync") || !m.take("aligned") {
        return Err(m.invalid("it has .sync.aligned"));
    }
    let names = SHAPES.map(|(name, ..)| name);
    let Some(name) = m.one_of(&names) else { return Err(m.uncovered("this shape is not supported")) };
    let (_, rows, inner) = SHAPES[names.iter().position(|known| *known == name).unwrap_or(0)];
    if !m.take("row") || !m.take("col") {
        return Err(m.uncovered("the first matrix is .row, and the second .col"));
    }
    let is_clamped = m.take("satfinite");
    let mut ty = || m.one_of(&TYPES).unwrap_or_default();
    let types = [ty(), ty(), ty(), ty()];
    // Rounding to nearest is what there is; the other modes of double precision are refused as modifiers that nobody takes.
    if types[0] == "f64" {
        m.take("rn");
    }
    let Some(form) = form(types, rows, inner, is_clamped) else {
        return Err(m.uncovered("these types are not supported with this shape"));
    };
    let [d, a, b, c] = l.operands(i)?;
    let sum = registers(rows * 8, form.per_sum);
    let a = gather(l, m, a, form.width, registers(rows * inner, form.per))?;
    let b = gather(l, m, b, form.width, registers(inner * 8, form.per))?;
    let c = gather(l, m, c, form.width, sum)?;
    let own = l.temporaries(form.width, sum);
    wait(l);
    l.emit(Op { c, extra: shape(rows, inner), ..op(form.run, own, a, b) });
    wait(l);
    for (number, operand) in (0..).zip(parts(l, m, d, sum)?) {
        let (to, from) = (l.destination(&operand, form.width)?, nth(own, form.width, number));
        l.emit(op(copy(form.width), to, from, from));
    }
    Ok(())
}

/// How a combination of types is done.
struct Form {
    run: Handler,
    /// Of all registers.
    width: Type,
    /// Elements of a register: of the factors, and of the sum.
    per: usize,
    per_sum: usize,
}

/// The function of some types: of the result, the factors, and what is added.
fn form(types: [&str; 4], rows: u32, inner: u32, is_clamped: bool) -> Option<Form> {
    let [d, a, b, c] = types;
    let is_pair = |ty| a == ty && b == ty;
    let of_bytes = |ty| ["s8", "u8"].contains(&ty);
    let of_byte_floats = |ty| ["e4m3", "e5m2"].contains(&ty);
    // The columns of the first matrix that there are with each type.
    let fits = |large: &[u32], small: &[u32]| {
        if rows == 16 { large.contains(&inner) } else { small.contains(&inner) }
    };
    let (run, per): (Handler, usize) = match (d, c) {
        (_, _) if is_clamped && !of_bytes(a) => return None,
        ("f32", "f32") if is_pair("f16") && fits(&[8, 16], &[]) => (multiply::<OfF16, OfF16, InF32>, 2),
        ("f16", "f16") if is_pair("f16") && fits(&[8, 16], &[]) => (multiply::<OfF16, OfF16, InF16>, 2),
        ("f32", "f32") if is_pair("bf16") && fits(&[8, 16], &[]) => (multiply::<OfBf16, OfBf16, InF32>, 2),
        ("f32", "f32") if is_pair("tf32") && fits(&[4, 8], &[]) => (multiply::<OfTf32, OfTf32, InF32>, 1),
        ("f64", "f64") if is_pair("f64") && fits(&[4, 8, 16], &[4]) => (multiply::<OfF64, OfF64, InF64>, 1),
        ("f32", "f32") if of_byte_floats(a) && of_byte_floats(b) && fits(&[16, 32], &[]) => {
            (byte_floats(a, b), 4)
        }
        ("f16", "f16") if of_byte_floats(a) && of_byte_floats(b) && fits(&[16, 32], &[]) => {
            (byte_floats_in_halves(a, b), 4)
        }
        ("s32", "s32") if of_bytes(a) && of_bytes(b) && fits(&[16, 32], &[16]) => {
            (bytes(a, b, is_clamped), 4)
        }
        _ => return None,
    };
    let (width, per_sum) = (if d == "f64" { B64 } else { B32 }, if d == "f16" { 2 } else { 1 });
    Some(Form { run, width, per, per_sum })
}

fn byte_floats(a: &str, b: &str) -> Handler {
    match (a, b) {
        ("e4m3", "e4m3") => multiply::<OfE4m3, OfE4m3, InF32>,
        ("e4m3", _) => multiply::<OfE4m3, OfE5m2, InF32>,
        (_, "e4m3") => multiply::<OfE5m2, OfE4m3, InF32>,
        _ => multiply::<OfE5m2, OfE5m2, InF32>,
    }
}

fn byte_floats_in_halves(a: &str, b: &str) -> Handler {
    match (a, b) {
        ("e4m3", "e4m3") => multiply::<OfE4m3, OfE4m3, InF16>,
        ("e4m3", _) => multiply::<OfE4m3, OfE5m2, InF16>,
        (_, "e4m3") => multiply::<OfE5m2, OfE4m3, InF16>,
        _ => multiply::<OfE5m2, OfE5m2, InF16>,
    }
}

fn bytes(a: &str, b: &str, is_clamped: bool) -> Handler {
    match (a, b, is_clamped) {
        ("s8", "s8", false) => multiply::<OfS8, OfS8, InS32>,
        ("s8", _, false) => multiply::<OfS8, OfU8, InS32>,
        (_, "s8", false) => multiply::<OfU8, OfS8, InS32>,
        (_, _, false) => multiply::<OfU8, OfU8, InS32>,
        ("s8", "s8", true) => multiply::<OfS8, OfS8, InS32Clamped>,
        ("s8", _, true) => multiply::<OfS8, OfU8, InS32Clamped>,
        (_, "s8", true) => multiply::<OfU8, OfS8, InS32Clamped>,
        (_, _, true) => multiply::<OfU8, OfU8, InS32Clamped>,
    }
}

fn copy(width: Type) -> Handler {
    match width {
        B64 => binary(|a: u64, _: u64| a),
        _ => binary(|a: u32, _: u32| a),
    }
}

/// A register of several that stand one after the other.
fn nth(first: Reg, width: Type, number: u32) -> Reg {
    Reg(first.0 + number * width.size() * 32)
}

/// The registers in braces, of which so many are wanted; one may stand alone.
fn parts<'a>(
    l: &mut Lowering<'a, '_>,
    m: &Modifiers<'a>,
    operand: &Operand<'a>,
    count: u32,
) -> Result<Vec<Operand<'a>>, JitError> {
    let parts = match (operand, l.components(operand)) {
        (Operand::Vector(parts), _) => parts.clone(),
        (_, Some(parts)) => parts,
        (single, None) => vec![single.clone()],
    };
    if parts.len() == count as usize {
        Ok(parts)
    } else {
        Err(m.invalid(&format!("{count} registers in braces are wanted")))
    }
}

/// Puts a lane's part of a matrix into registers of the instruction's own.
fn gather<'a>(
    l: &mut Lowering<'a, '_>,
    m: &Modifiers<'a>,
    operand: &Operand<'a>,
    width: Type,
    count: u32,
) -> Result<Reg, JitError> {
    let own = l.temporaries(width, count);
    for (number, operand) in (0..).zip(parts(l, m, operand, count)?) {
        let from = l.source(&operand, width)?;
        l.emit(op(copy(width), nth(own, width, number), from, from));
    }
    Ok(own)
}
