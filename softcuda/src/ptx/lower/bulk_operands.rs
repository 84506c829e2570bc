//! What copies and reductions in bulk (`cp.async.bulk`, `cp.reduce.async.bulk`) have alike among their operands.

use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::core::Reg;
use crate::ptx::types::Type::{B32, B64};

/// The state spaces of a target and a source.
pub(super) const SPACES: [&str; 3] = ["shared::cluster", "shared::cta", "global"];

/// The operands without that of a cache's policy, which is looked at and left out. The bits of blocks stand before it, byte masks after it.
pub(super) fn without_policy<'i, 'a>(
    l: &mut Lowering<'a, '_>,
    i: &'i Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<&'i [Operand<'a>], JitError> {
    if !m.take("L2::cache_hint") {
        return Ok(&i.operands);
    }
    let Some((policy, others)) = i.operands.split_last() else {
        return Err(m.invalid("a policy is wanted"));
    };
    l.source(policy, B64)?;
    Ok(others)
}

/// How many bytes there are: a multiple of 16.
pub(super) fn size_of<'a>(
    l: &mut Lowering<'a, '_>,
    operand: &Operand<'a>,
    m: &Modifiers<'a>,
) -> Result<Reg, JitError> {
    match operand {
        Operand::Integer(size) if !size.is_multiple_of(16) => {
            Err(m.invalid(&format!("a bulk copy has a multiple of 16 bytes, not {}", *size as i64)))
        }
        _ => l.source(operand, B32),
    }
}
