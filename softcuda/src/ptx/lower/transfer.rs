//! `mov`, and what becomes of addresses.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::operand::{named_components, resize};
use super::registers::width;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, compare, logic, ternary, unary};
use crate::ptx::exec::space::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_BITS, SHARED_WINDOW, within};
use crate::ptx::exec::{copy, special};
use crate::ptx::types::Type;
use Type::{B16, B32, B64, Pred, U32, U64};

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "mov" => mov(l, i, m),
        "cvta" => to_generic(l, i, m),
        "isspacep" => is_in_space(l, i, m),
        "mapa" => map_address(l, i, m),
        _ => rank(l, i, m),
    }
}

fn mov<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let is_vector = m.one_of(&["v2", "v4"]).is_some();
    let ty = m.ty()?;
    let [to, from] = l.operands(i)?;
    let [to_parts, from_parts] = [l.parts(to, is_vector), l.parts(from, is_vector)];
    match (to_parts, from_parts) {
        (Some(to), Some(from)) if is_vector && i.modifiers.contains(&vector_name(to.len())) => {
            return move_parts(l, &to, &from, ty, m);
        }
        _ if is_vector => return Err(m.invalid("two vectors of this length are wanted")),
        (Some(_), Some(_)) => return Err(m.invalid("one of the operands is a scalar")),
        (Some(parts), None) => return unpack(l, &parts, from, ty, m),
        (None, Some(parts)) => return pack(l, to, &parts, ty, m),
        _ => {}
    }
    if ty == Pred {
        let a = l.predicate(from)?;
        let d = l.destination(to, Pred)?;
        l.emit(op(logic(|a, _, _| a), d, a, NIL));
        return Ok(());
    }
    let a = l.address_or_value(from, ty)?;
    let d = l.destination(to, ty)?;
    let run = resize(width(ty), width(ty), false).ok_or_else(|| m.bad_type(ty))?;
    l.emit(op(run, d, a, NIL));
    Ok(())
}

fn vector_name(count: usize) -> &'static str {
    if count == 2 { "v2" } else { "v4" }
}

impl<'a> Lowering<'a, '_> {
    fn address_or_value(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Reg, JitError> {
        match self.address_value(operand, ty)? {
            Some(address) => Ok(address),
            None => self.source(operand, ty),
        }
    }

    /// The components of a vector, in registers or in braces, and if a vector is moved, of a special one.
    fn parts(&mut self, operand: &Operand<'a>, is_vector: bool) -> Option<Vec<Operand<'a>>> {
        match operand {
            Operand::Vector(parts) => Some(parts.clone()),
            Operand::Name(name, None) if is_vector && special::named(name, Some("x")).is_some() => {
                Some(named_components(name, 4))
            }
            _ => self.components(operand),
        }
    }
}

/// `mov.v4`: all components are read before one is written, for the vectors may be the same.
fn move_parts<'a>(
    l: &mut Lowering<'a, '_>,
    to: &[Operand<'a>],
    from: &[Operand<'a>],
    ty: Type,
    m: &Modifiers<'a>,
) -> Result<(), JitError> {
    if to.len() != from.len() || !matches!(to.len(), 2 | 4) {
        return Err(m.invalid("two vectors of one length are wanted"));
    }
    let run = resize(width(ty), width(ty), false).ok_or_else(|| m.bad_type(ty))?;
    let mut copies = Vec::new();
    for operand in from {
        let (a, copy) = (l.source(operand, ty)?, l.temporary(ty));
        l.emit(op(run, copy, a, NIL));
        copies.push(copy);
    }
    for (operand, copy) in to.iter().zip(copies) {
        let d = l.destination(operand, ty)?;
        l.emit(op(run, d, copy, NIL));
    }
    Ok(())
}

fn part_type(ty: Type, parts: usize) -> Option<Type> {
    Some(match (ty.size(), parts) {
        (4, 2) => B16,
        (8, 2) => B32,
        (8, 4) => B16,
        (2, 2) => Type::B8,
        (4, 4) => Type::B8,
        (16, 2) => B64,
        (16, 4) => B32,
        _ => return None,
    })
}

fn bad_parts(ty: Type, parts: usize, m: &Modifiers<'_>) -> JitError {
    let fitting: Vec<String> =
        [2, 4].into_iter().filter(|&n| part_type(ty, n).is_some()).map(|n: usize| n.to_string()).collect();
    if fitting.is_empty() {
        return m.bad_type(ty);
    }
    let name = format!("{ty:?}").to_lowercase();
    m.invalid(&format!("a .{name} has no {parts} parts, but {}", fitting.join(" or ")))
}

fn unpack<'a>(
    l: &mut Lowering<'a, '_>,
    parts: &[Operand<'a>],
    from: &Operand<'a>,
    ty: Type,
    m: &Modifiers<'a>,
) -> Result<(), JitError> {
    let part = part_type(ty, parts.len()).ok_or_else(|| bad_parts(ty, parts.len(), m))?;
    let source = l.source(from, ty)?;
    // One of the parts may be the source.
    let a = l.temporary(ty);
    let copy = resize(width(ty), width(ty), false).ok_or_else(|| m.bad_type(ty))?;
    l.emit(op(copy, a, source, NIL));
    for (at, operand) in parts.iter().enumerate() {
        if matches!(operand, Operand::Sink) {
            continue;
        }
        let d = l.destination(operand, part)?;
        let shift = l.constant(at as u64 * u64::from(part.size()) * 8, U32);
        let run: Handler = match (ty.size(), part.size()) {
            (4, 2) => binary(|a: u32, by: u32| (a >> by) as u16),
            (8, 4) => binary(|a: u64, by: u32| (a >> by) as u32),
            (8, 2) => binary(|a: u64, by: u32| (a >> by) as u16),
            (2, 1) => binary(|a: u16, by: u32| a >> by & 0xff),
            (4, 1) => binary(|a: u32, by: u32| (a >> by) as u16 & 0xff),
            (16, 8) => binary(|a: u128, by: u32| (a >> by) as u64),
            _ => binary(|a: u128, by: u32| (a >> by) as u32),
        };
        l.emit(op(run, d, a, shift));
    }
    Ok(())
}

/// `a` with the part `b` put in at bit `c`, where it has zeros.
pub(super) fn join(whole: Type, part: Type) -> Handler {
    match (whole.size(), part.size()) {
        (4, 2) => ternary(|d: u32, a: u16, by: u32| d | u32::from(a) << by),
        (8, 4) => ternary(|d: u64, a: u32, by: u32| d | u64::from(a) << by),
        (8, 2) => ternary(|d: u64, a: u16, by: u32| d | u64::from(a) << by),
        (1 | 2, 1) => ternary(|d: u16, a: u16, by: u32| d | (a & 0xff) << by),
        (4, 1) => ternary(|d: u32, a: u16, by: u32| d | u32::from(a & 0xff) << by),
        (8, 1) => ternary(|d: u64, a: u16, by: u32| d | u64::from(a & 0xff) << by),
        (_, 1) => ternary(|d: u128, a: u16, by: u32| d | u128::from(a & 0xff) << by),
        (16, 8) => ternary(|d: u128, a: u64, by: u32| d | u128::from(a) << by),
        _ => ternary(|d: u128, a: u32, by: u32| d | u128::from(a) << by),
    }
}

fn pack<'a>(
    l: &mut Lowering<'a, '_>,
    to: &Operand<'a>,
    parts: &[Operand<'a>],
    ty: Type,
    m: &Modifiers<'a>,
) -> Result<(), JitError> {
    let part = part_type(ty, parts.len()).ok_or_else(|| bad_parts(ty, parts.len(), m))?;
    let d = l.destination(to, ty)?;
    let mut sources = Vec::new();
    for operand in parts {
        sources.push(l.source(operand, part)?);
    }
    // The destination may be one of the parts only if that is as wide, which it is not.
    let zero = l.constant(0, ty);
    let copy = resize(width(ty), width(ty), false).ok_or_else(|| m.bad_type(ty))?;
    l.emit(op(copy, d, zero, NIL));
    for (at, source) in sources.into_iter().enumerate() {
        let c = l.constant(at as u64 * u64::from(part.size()) * 8, U32);
        l.emit(Op { c, ..op(join(ty, part), d, d, source) });
    }
    Ok(())
}

/// `cvta` between a space's addresses and generic ones; constant and global memory have the same.
fn to_generic<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let back = m.take("to");
    let space = m.one_of(&[
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
    ]);
    let space = space.ok_or_else(|| m.invalid("a state space is wanted"))?;
    let ty = m.ty()?;
    if width(ty) != 8 {
        return Err(m.bad_type(ty));
    }
    let [to, from] = l.operands(i)?;
    let a = l.address_or_value(from, ty)?;
    let d = l.destination(to, ty)?;
    let window = match space {
        "global" | "const" => 0,
        "local" => LOCAL_WINDOW,
        // A function's parameters lie in local memory.
        "param" | "param::entry" if l.is_kernel => PARAM_WINDOW,
        "param" | "param::entry" => LOCAL_WINDOW,
        _ => SHARED_WINDOW,
    };
    let b = l.constant(window, U64);
    let run = if back { binary(|a: u64, b: u64| a.wrapping_sub(b)) } else { binary(|a: u64, b: u64| a | b) };
    l.emit(op(run, d, a, b));
    Ok(())
}

fn is_in_space<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let space = m.one_of(&[
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
    ]);
    let [p, a] = l.operands(i)?;
    let a = l.source(a, B64)?;
    let p = l.destination(p, Pred)?;
    let run = match space {
        Some("global") => compare(|a: u64, _: u64| a < SHARED_WINDOW),
        Some("shared" | "shared::cta") => {
            compare(|a: u64, _: u64| within(a, SHARED_WINDOW) && a >> SHARED_BITS & 0xff == 0)
        }
        Some("shared::cluster") => compare(|a: u64, _: u64| within(a, SHARED_WINDOW)),
        Some("local") => compare(|a: u64, _: u64| within(a, LOCAL_WINDOW)),
        Some("param" | "param::entry") => compare(|a: u64, _: u64| within(a, PARAM_WINDOW)),
        _ => return Err(m.uncovered("this state space is not supported")),
    };
    l.emit(op(run, p, a, a));
    Ok(())
}

/// `mapa`: the address that a shared variable has in another block of the cluster.
fn map_address<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let shared = m.take("shared::cluster");
    let ty = m.ty()?;
    let [to, from, rank] = l.operands(i)?;
    let a = l.address_or_value(from, ty)?;
    let rank = l.source(rank, B32)?;
    let d = l.destination(to, ty)?;
    let (mut narrow, mapped) = (a, l.temporary(B32));
    if width(ty) == 8 {
        narrow = l.temporary(B32);
        l.emit(op(unary(|a: u64| a as u32), narrow, a, NIL));
    }
    l.emit(op(copy::map_shared, mapped, narrow, rank));
    let window = l.constant(if shared { 0 } else { SHARED_WINDOW }, U64);
    match width(ty) {
        4 if shared => l.emit(op(unary(|a: u32| a), d, mapped, NIL)),
        8 => l.emit(op(binary(|a: u32, window: u64| u64::from(a) | window), d, mapped, window)),
        _ => return Err(m.bad_type(ty)),
    }
    Ok(())
}

/// `getctarank`: the block that a shared address belongs to.
fn rank<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    m.take("shared::cluster");
    let ty = m.ty()?;
    let [to, from] = l.operands(i)?;
    let a = l.source(from, ty)?;
    let d = l.destination(to, B32)?;
    let own = l.special(crate::ptx::exec::special::Special::ClusterRank);
    let run = match width(ty) {
        4 => binary(|a: u32, own: u32| (a >> SHARED_BITS).checked_sub(1).unwrap_or(own)),
        8 => binary(|a: u64, own: u32| (a as u32 >> SHARED_BITS).checked_sub(1).unwrap_or(own)),
        _ => return Err(m.bad_type(ty)),
    };
    l.emit(op(run, d, a, own));
    Ok(())
}
