//! Which file knows which opcode.

use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::{
    arithmetic, atomic, bits, bulk, call, carry, collective, compare, control, convert, convert_bytes,
    matrix, mbarrier, memory, mma, packed, policy, transcendental, transfer,
};
use crate::ptx::ast::Instruction;
use crate::ptx::error::JitError;

/// Emits what the instruction does.
pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if carry::is_one(i) {
        return carry::lower(l, i, m);
    }
    if packed::is_pair(i) {
        return packed::pairs(l, i, m);
    }
    match i.opcode {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad"
        | "mul24" | "mad24" => arithmetic::lower(l, i, m),
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "bfind"
        | "brev" | "clz" | "popc" | "prmt" | "dp4a" | "dp2a" | "bmsk" | "copysign" => bits::lower(l, i, m),
        "setp" | "set" | "selp" | "slct" | "testp" => compare::lower(l, i, m),
        "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => transcendental::lower(l, i, m),
        "cvt" if convert_bytes::is_one(i) => convert_bytes::lower(l, i, m),
        "cvt" => convert::lower(l, i, m),
        "mov" | "cvta" | "isspacep" | "mapa" | "getctarank" => transfer::lower(l, i, m),
        "cp" if bulk::is_one(i) => bulk::lower(l, i, m),
        "cp" if i.modifiers.contains(&"mbarrier") => mbarrier::arrive_after_copies(l, i, m),
        "mbarrier" => mbarrier::lower(l, i, m),
        "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "cp" | "discard" | "applypriority" => {
            memory::lower(l, i, m)
        }
        "atom" | "red" => atomic::lower(l, i, m),
        "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => {
            collective::lower(l, i, m)
        }
        "ldmatrix" | "stmatrix" | "movmatrix" => matrix::lower(l, i, m),
        "mma" => mma::lower(l, i, m),
        "createpolicy" => policy::lower(l, i, m),
        "vabsdiff4" => packed::bytes(l, i, m),
        "call" => call::lower(l, i, m),
        "ret" | "exit" | "trap" | "brkpt" | "brx" | "membar" | "fence" | "nanosleep" | "griddepcontrol"
        | "setmaxnreg" | "pmevent" => control::lower(l, i, m),
        _ => Err(JitError::uncovered(i.line, format!("the instruction `{}` is not supported", m.name()))),
    }
}
