//! `cp.reduce.async.bulk` without tensors: of shared memory, into that of the cluster or into global memory.

use super::atomic::update;
use super::bulk_operands::{SPACES, size_of, without_policy};
use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::memory::Space;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::atomic::Update;
use crate::ptx::exec::bulk::{TELLS, WITHIN_CLUSTER};
use crate::ptx::exec::bulk_reduce::reduce_bulk;
use crate::ptx::exec::core::{Handler, Op};
use crate::ptx::exec::space::{Global, Shared};
use crate::ptx::types::Type;

/// What is done to each element.
const OPERATIONS: [&str; 8] = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    m.skip(&["async", "bulk"]);
    let (Some(to), Some(from)) = (m.one_of(&SPACES), m.one_of(&SPACES)) else {
        return Err(m.invalid("two state spaces are wanted: of the target and of the source"));
    };
    let is_global = match (to, from) {
        ("global", "shared::cta") => true,
        ("shared::cluster", "shared::cta") => false,
        _ => return Err(m.invalid(&format!("no bulk reduction leads from .{from} to .{to}"))),
    };
    let completion = if is_global { "bulk_group" } else { "mbarrier::complete_tx::bytes" };
    if !m.take(completion) {
        return Err(m.invalid(&format!("a reduction to .{to} is over as .{completion} says")));
    }
    if !is_global && i.modifiers.contains(&"L2::cache_hint") {
        return Err(m.invalid("a reduction within the cluster has no .L2::cache_hint"));
    }
    let what = m.one_of(&OPERATIONS).ok_or_else(|| m.invalid("an operation is wanted"))?;
    let keeps_subnormal = m.take("noftz");
    let ty = m.ty()?;
    let reduces = update_of(what, ty, is_global).ok_or_else(|| m.bad_type(ty))?;
    if keeps_subnormal != matches!(reduces, Update::AddF16 | Update::AddBf16) {
        return Err(m.invalid("sums of .f16 and .bf16 have .noftz, and only these"));
    }
    let operands = without_policy(l, i, m)?;
    let (target, source, size, barrier) = match operands {
        [target, source, size] if is_global => (target, source, size, None),
        [target, source, size, barrier] if !is_global => (target, source, size, Some(barrier)),
        _ => return Err(m.invalid("these are not its operands")),
    };
    let a = l.whole_address(target, if is_global { Space::Global } else { Space::Shared }, m)?;
    let b = l.whole_address(source, Space::Shared, m)?;
    let c = size_of(l, size, m)?;
    let d = match barrier {
        Some(barrier) => l.whole_address(barrier, Space::Shared, m)?,
        None => NIL,
    };
    let extra = if is_global { 0 } else { TELLS | WITHIN_CLUSTER };
    l.emit(Op { c, extra, imm: reduces as i64, ..op(handler(is_global, ty.size()), d, a, b) });
    Ok(())
}

/// Not all that atomic operations do is done in bulk, and shared memory computes with whole numbers only.
fn update_of(what: &str, ty: Type, is_global: bool) -> Option<Update> {
    use Type as T;
    match (what, ty) {
        ("add", T::S64 | T::F16x2 | T::Bf16x2) => None,
        ("min", T::F16) if is_global => Some(Update::MinF16),
        ("max", T::F16) if is_global => Some(Update::MaxF16),
        ("min", T::Bf16) if is_global => Some(Update::MinBf16),
        ("max", T::Bf16) if is_global => Some(Update::MaxBf16),
        ("add", T::U64) => update(what, ty),
        (_, T::U32 | T::S32 | T::B32) => update(what, ty),
        _ if is_global => update(what, ty),
        _ => None,
    }
}

fn handler(is_global: bool, bytes: u32) -> Handler {
    match (is_global, bytes) {
        (true, 2) => reduce_bulk::<Global, u64, u16>(),
        (true, 4) => reduce_bulk::<Global, u64, u32>(),
        (true, _) => reduce_bulk::<Global, u64, u64>(),
        (false, 4) => reduce_bulk::<Shared, u32, u32>(),
        (false, _) => reduce_bulk::<Shared, u32, u64>(),
    }
}
