//! `cp.async.bulk` without tensors: between global and shared memory.

use super::bulk_operands::{SPACES, size_of, without_policy};
use super::bulk_reduce;
use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::memory::Space;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::bulk::{TELLS, TO_MANY, WITHIN_CLUSTER, copy_bulk};
use crate::ptx::exec::core::{Handler, Op};
use crate::ptx::exec::space::{Global, Shared};
use crate::ptx::types::Type;
use Type::B16;

/// Whether it is one of these instructions.
pub(super) fn is_one(i: &Instruction<'_>) -> bool {
    i.opcode == "cp" && i.modifiers.contains(&"bulk")
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if m.take("reduce") {
        return bulk_reduce::lower(l, i, m);
    }
    m.take("async");
    m.take("bulk");
    match m.one_of(&["commit_group", "wait_group", "prefetch"]) {
        // What belongs to a group is done.
        Some("commit_group") => l.operands::<0>(i).map(drop),
        Some("wait_group") => {
            m.take("read");
            match l.operands(i)? {
                [Operand::Integer(_)] => Ok(()),
                _ => Err(m.invalid("the number of groups is an immediate")),
            }
        }
        Some(_) => prefetch(l, i, m),
        None => copy(l, i, m),
    }
}

/// `cp.async.bulk.prefetch.L2`: a hint.
fn prefetch<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if !m.take("L2") || !m.take("global") {
        return Err(m.invalid("it has .L2.global"));
    }
    let operands = without_policy(l, i, m)?;
    let [from, size] = operands else { return Err(m.invalid("an address and a size are wanted")) };
    l.whole_address(from, Space::Global, m)?;
    size_of(l, size, m).map(drop)
}

fn copy<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let (Some(to), Some(from)) = (m.one_of(&SPACES), m.one_of(&SPACES)) else {
        return Err(m.invalid("two state spaces are wanted: of the target and of the source"));
    };
    let run: Handler = match (to, from) {
        ("shared::cluster" | "shared::cta", "global") => copy_bulk::<Shared, u32, Global, u64>(),
        ("shared::cluster", "shared::cta") => copy_bulk::<Shared, u32, Shared, u32>(),
        ("global", "shared::cta") => copy_bulk::<Global, u64, Shared, u32>(),
        _ => return Err(m.invalid(&format!("no bulk copy leads from .{from} to .{to}"))),
    };
    let tells = m.take("mbarrier::complete_tx::bytes");
    if tells == (to == "global") || !tells && !m.take("bulk_group") {
        let wanted = if to == "global" { "bulk_group" } else { "mbarrier::complete_tx::bytes" };
        return Err(m.invalid(&format!("a copy to .{to} is over as .{wanted} says")));
    }
    if m.take("cp_mask") || m.take("ignore_oob") {
        return Err(m.uncovered("copies of some bytes only are not of this compute capability"));
    }
    let to_many = m.take("multicast::cluster");
    if to_many && (to, from) != ("shared::cluster", "global") {
        return Err(m.invalid("only a copy from .global to .shared::cluster goes to several blocks"));
    }
    let within_cluster = (to, from) == ("shared::cluster", "shared::cta");
    if within_cluster && i.modifiers.contains(&"L2::cache_hint") {
        return Err(m.invalid("a copy within the cluster has no .L2::cache_hint"));
    }
    let operands = without_policy(l, i, m)?;
    let (target, source, size, barrier, blocks) = match operands {
        [target, source, size] if !tells => (target, source, size, None, None),
        [target, source, size, barrier] if tells && !to_many => (target, source, size, Some(barrier), None),
        [target, source, size, barrier, blocks] if to_many => {
            (target, source, size, Some(barrier), Some(blocks))
        }
        _ => return Err(m.invalid("these are not its operands")),
    };
    let space = |name| if name == "global" { Space::Global } else { Space::Shared };
    let a = l.whole_address(target, space(to), m)?;
    let b = l.whole_address(source, space(from), m)?;
    let c = size_of(l, size, m)?;
    let d = match barrier {
        Some(barrier) => l.whole_address(barrier, Space::Shared, m)?,
        None => NIL,
    };
    let mask = match blocks {
        Some(blocks) => l.source(blocks, B16)?,
        None => NIL,
    };
    let extra = [(tells, TELLS), (to_many, TO_MANY), (within_cluster, WITHIN_CLUSTER)];
    let extra = extra.iter().map(|(is, bit)| u32::from(*is) * bit).sum();
    l.emit(Op { c, extra, imm: mask.0.into(), ..op(run, d, a, b) });
    Ok(())
}
