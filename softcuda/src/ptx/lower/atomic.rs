//! `atom` and `red`.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::memory::{Space, space};
use super::modifiers::Modifiers;
use super::operand::Place;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::atomic::{Update, atomic, atomic_shared};
use crate::ptx::exec::core::{Handler, Op};
use crate::ptx::exec::space::{Generic, Global};
use crate::ptx::types::Type;

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    // Every operation is sequentially consistent, and of the whole system.
    m.skip(&["relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz"]);
    let policy = m.take("L2::cache_hint");
    if m.take("async") {
        return Err(m.uncovered("asynchronous reductions are not supported"));
    }
    if i.modifiers.contains(&"const") {
        return Err(m.invalid("constant memory cannot be written"));
    }
    let space = space(m);
    let what = m.one_of(&["add", "and", "or", "xor", "exch", "cas", "inc", "dec", "min", "max"]);
    let what = what.ok_or_else(|| m.uncovered("this operation is not supported"))?;
    let count = match m.one_of(&["v2", "v4", "v8"]) {
        None => 1,
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
    };
    let ty = m.ty()?;
    let update = update(what, ty).ok_or_else(|| m.bad_type(ty))?;
    let run = handler(space, ty).ok_or_else(|| m.uncovered("this state space is not supported"))?;
    let returns = i.opcode == "atom";
    let mut operands = i.operands.as_slice();
    if policy {
        operands = &operands[..operands.len().saturating_sub(1)];
    }
    let wanted = 2 + usize::from(returns) + usize::from(update == Update::Compare);
    if operands.len() != wanted || (count > 1 && update == Update::Compare) {
        return Err(m.invalid(&format!("{wanted} operands are wanted")));
    }
    let (to, operands) = if returns { (Some(&operands[0]), &operands[1..]) } else { (None, operands) };
    let place = l.address(&operands[0])?;
    let Place::Register(a, _, imm) = l.place_in(place, space, m)? else {
        return Err(m.invalid("the variable is not of this state space"));
    };
    fn parts<'i, 'a>(operand: &'i Operand<'a>) -> &'i [Operand<'a>] {
        match operand {
            Operand::Vector(parts) => parts,
            single => std::slice::from_ref(single),
        }
    }
    let values = parts(&operands[1]);
    let targets = to.map(parts);
    if values.len() != count || targets.is_some_and(|targets| targets.len() != count) {
        return Err(m.invalid(&format!("{count} values are wanted")));
    }
    for (at, value) in values.iter().enumerate() {
        let b = l.source(value, ty)?;
        let c = if update == Update::Compare { l.source(&operands[2], ty)? } else { NIL };
        let d = match targets {
            Some(targets) => l.destination(&targets[at], ty)?,
            None => l.temporary(ty),
        };
        let imm = imm.wrapping_add(at as i64 * i64::from(ty.size()));
        l.emit(Op { c, imm, extra: update as u32, ..op(run, d, a, b) });
    }
    Ok(())
}

/// The operation on elements of a type.
pub(super) fn update(what: &str, ty: Type) -> Option<Update> {
    use Type as T;
    Some(match (what, ty) {
        ("add", T::U32 | T::S32 | T::U64 | T::S64) => Update::Add,
        ("add", T::F16) => Update::AddF16,
        ("add", T::Bf16) => Update::AddBf16,
        ("add", T::F16x2) => Update::AddF16x2,
        ("add", T::Bf16x2) => Update::AddBf16x2,
        ("add", T::F32) => Update::AddF32,
        ("add", T::F64) => Update::AddF64,
        ("and", T::B32 | T::B64) => Update::And,
        ("or", T::B32 | T::B64) => Update::Or,
        ("xor", T::B32 | T::B64) => Update::Xor,
        ("exch", T::B32 | T::B64) => Update::Exchange,
        ("cas", T::B16 | T::B32 | T::B64) => Update::Compare,
        ("inc", T::U32) => Update::Increment,
        ("dec", T::U32) => Update::Decrement,
        ("min", T::U32 | T::U64) => Update::MinUnsigned,
        ("max", T::U32 | T::U64) => Update::MaxUnsigned,
        ("min", T::S32) => Update::MinSigned32,
        ("max", T::S32) => Update::MaxSigned32,
        ("min", T::S64) => Update::MinSigned64,
        ("max", T::S64) => Update::MaxSigned64,
        _ => return None,
    })
}

fn handler(space: Space, ty: Type) -> Option<Handler> {
    Some(match (space, ty.size()) {
        (Space::Global, 2) => atomic::<Global, u64, u16>(),
        (Space::Global, 4) => atomic::<Global, u64, u32>(),
        (Space::Global, 8) => atomic::<Global, u64, u64>(),
        (Space::Generic, 2) => atomic::<Generic, u64, u16>(),
        (Space::Generic, 4) => atomic::<Generic, u64, u32>(),
        (Space::Generic, 8) => atomic::<Generic, u64, u64>(),
        (Space::Shared, 2) => atomic_shared::<u16>(),
        (Space::Shared, 4) => atomic_shared::<u32>(),
        (Space::Shared, 8) => atomic_shared::<u64>(),
        _ => return None,
    })
}
