//! Integers side by side in a register: bytes and pairs of 16 bits.

use super::arithmetic::{three, two};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;
use crate::ptx::exec::map::{binary, ternary};
use crate::ptx::types::Type::{B32, S32, U32};

/// `vabsdiff4`: how far the bytes lie apart or, with `.add`, the sum of that and of the third operand. Without it the
/// third operand is for bytes that a mask leaves out; masks are refused with the operand that has them. Of the instructions
/// on bytes compilers write no other.
pub(super) fn bytes<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let sum = m.take("add");
    let types = (m.ty()?, m.ty()?, m.ty()?);
    let (U32 | S32, x @ (U32 | S32), y @ (U32 | S32)) = types else {
        return Err(m.uncovered("this form is not supported"));
    };
    macro_rules! by_sign {
        ($x:expr, $y:expr) => {
            if sum {
                ternary(|a: u32, b: u32, c: u32| {
                    apart(a, $x, b, $y).into_iter().fold(c, |sum, byte| sum.wrapping_add(byte))
                })
            } else {
                ternary(|a: u32, b: u32, _: u32| {
                    u32::from_le_bytes(apart(a, $x, b, $y).map(|byte| byte as u8))
                })
            }
        };
    }
    let run = match (x == S32, y == S32) {
        (false, false) => by_sign!(false, false),
        (false, true) => by_sign!(false, true),
        (true, false) => by_sign!(true, false),
        (true, true) => by_sign!(true, true),
    };
    three(l, i, B32, run)
}

#[inline(always)]
fn apart(a: u32, a_has_sign: bool, b: u32, b_has_sign: bool) -> [u32; 4] {
    let byte = |of: u32, at: usize, has_sign: bool| {
        let byte = of.to_le_bytes()[at];
        if has_sign { i32::from(byte as i8) } else { i32::from(byte) }
    };
    std::array::from_fn(|at| byte(a, at, a_has_sign).abs_diff(byte(b, at, b_has_sign)))
}

/// Whether it works on pairs: `add`, `min` or `max`, since PTX 8.0.
pub(super) fn is_pair(i: &Instruction<'_>) -> bool {
    matches!(i.opcode, "add" | "min" | "max") && i.modifiers.iter().any(|m| matches!(*m, "u16x2" | "s16x2"))
}

pub(super) fn pairs<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let has_sign = m.one_of(&["u16x2", "s16x2"]) == Some("s16x2");
    let relu = has_sign && i.opcode != "add" && m.take("relu");
    macro_rules! pair {
        ($ty:ty, $of:expr) => {
            binary(|a: u32, b: u32| {
                let part = |at: u32| u32::from($of((a >> at) as $ty, (b >> at) as $ty) as u16) << at;
                part(16) | part(0)
            })
        };
    }
    let run = match (i.opcode, has_sign, relu) {
        ("add", ..) => pair!(u16, u16::wrapping_add),
        ("min", false, _) => pair!(u16, u16::min),
        ("min", true, false) => pair!(i16, i16::min),
        ("min", true, true) => pair!(i16, |a: i16, b: i16| a.min(b).max(0)),
        (_, false, _) => pair!(u16, u16::max),
        (_, true, false) => pair!(i16, i16::max),
        (_, true, true) => pair!(i16, |a: i16, b: i16| a.max(b).max(0)),
    };
    two(l, i, B32, run)
}
