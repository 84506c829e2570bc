//! Additions and subtractions that leave or take a carry.
//!
//! The carry is a predicate of the function's, which has no name in the text. After a subtraction it is set where nothing
//! was borrowed (measured: an addition that follows takes it as that).

use super::arithmetic::by_width;
use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::{binary, compare, logic, select};
use crate::ptx::types::Type;
use Type::{Pred, S32, S64, U32, U64};

/// Whether the instruction leaves or takes a carry.
pub(super) fn is_one(i: &Instruction<'_>) -> bool {
    matches!(i.opcode, "addc" | "subc" | "madc") || i.modifiers.contains(&"cc")
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let leaves = m.take("cc");
    let part = m.one_of(&["lo", "hi"]);
    let ty = m.ty()?;
    if !matches!(ty, U32 | S32 | U64 | S64) {
        return Err(m.bad_type(ty));
    }
    let takes = i.opcode.ends_with('c');
    let subtracts = i.opcode.starts_with("sub");
    let (d, a, b) = if i.opcode.starts_with("mad") {
        let [d, a, b, c] = l.operands(i)?;
        let part = part.ok_or_else(|| m.invalid("one of .lo and .hi is wanted"))?;
        let (a, b, c) = (l.source(a, ty)?, l.source(b, ty)?, l.source(c, ty)?);
        let product = l.temporary(ty);
        let run = product_part(part, ty).ok_or_else(|| m.bad_type(ty))?;
        l.emit(op(run, product, a, b));
        (d, product, c)
    } else {
        let [d, a, b] = l.operands(i)?;
        (d, l.source(a, ty)?, l.source(b, ty)?)
    };
    let d = l.destination(d, ty)?;
    let width = ty.size();
    let (first, over) = (l.temporary(ty), l.temporary(Pred));
    l.emit(op(step(subtracts, width), first, a, b));
    l.emit(op(overflow(subtracts, width), over, first, a));
    let carry = l.carry();
    let last = if takes {
        let (one, zero, by) = (l.constant(1, ty), l.constant(0, ty), l.temporary(ty));
        let (second, again) = (l.temporary(ty), l.temporary(Pred));
        let choose = if width == 4 { select::<u32>() } else { select::<u64>() };
        let (if_set, if_not) = if subtracts { (zero, one) } else { (one, zero) };
        l.emit(Op { c: carry, ..op(choose, by, if_set, if_not) });
        l.emit(op(step(subtracts, width), second, first, by));
        l.emit(op(overflow(subtracts, width), again, second, first));
        l.emit(op(logic(|a, b, _| a | b), over, over, again));
        second
    } else {
        first
    };
    if leaves {
        let keep: Handler = if subtracts { logic(|a, _, _| !a) } else { logic(|a, _, _| a) };
        l.emit(op(keep, carry, over, NIL));
    }
    let copy: Handler = if width == 4 { binary(|a: u32, _: u32| a) } else { binary(|a: u64, _: u64| a) };
    l.emit(op(copy, d, last, last));
    Ok(())
}

fn step(subtracts: bool, width: u32) -> Handler {
    match (subtracts, width) {
        (false, 4) => binary(u32::wrapping_add),
        (false, _) => binary(u64::wrapping_add),
        (true, 4) => binary(u32::wrapping_sub),
        (true, _) => binary(u64::wrapping_sub),
    }
}

/// Whether `result`, the first operand, came over the end from `before`, the second.
fn overflow(subtracts: bool, width: u32) -> Handler {
    match (subtracts, width) {
        (false, 4) => compare(|result: u32, before: u32| result < before),
        (false, _) => compare(|result: u64, before: u64| result < before),
        (true, 4) => compare(|result: u32, before: u32| result > before),
        (true, _) => compare(|result: u64, before: u64| result > before),
    }
}

fn product_part(part: &str, ty: Type) -> Option<Handler> {
    match part {
        "lo" => by_width!(ty, binary, |a, b| a.wrapping_mul(b)),
        _ => super::arithmetic::high(ty),
    }
}

impl Lowering<'_, '_> {
    fn carry(&mut self) -> Reg {
        match self.carry {
            Some(carry) => carry,
            None => {
                let carry = self.temporary(Pred);
                self.carry = Some(carry);
                carry
            }
        }
    }
}
