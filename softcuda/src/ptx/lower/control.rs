//! Jumps, ends, fences, and what is only a hint.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use super::names::Symbol;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::control;
use crate::ptx::exec::core::Op;
use crate::ptx::types::Type;

/// `bra`, with its guard.
pub(super) fn branch<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    m.take("uni");
    let [Operand::Name(label, None)] = i.operands.as_slice() else {
        return Err(m.invalid("a label is wanted"));
    };
    let Some(Symbol::Label(label)) = l.names.find(label) else {
        return Err(m.invalid(&format!("{label} is no label")));
    };
    match i.guard {
        None => l.emit_jump(control::jump, NIL, 0, label),
        Some((name, negated)) => {
            let predicate = l.named_predicate(name)?;
            l.emit_jump(control::branch, predicate, i64::from(negated), label);
        }
    }
    Ok(())
}

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "ret" => {
            m.take("uni");
            for (register, slot) in l.result_registers.clone() {
                l.store_slot(register.reg, register.ty, slot.offset);
            }
            l.emit_complex(op(control::leave, NIL, NIL, NIL));
        }
        "exit" => l.emit_complex(op(control::exit, NIL, NIL, NIL)),
        "trap" | "brkpt" => l.emit(op(control::trap, NIL, NIL, NIL)),
        "brx" => return jump_by_index(l, i, m),
        "membar" | "fence" => return fence(l, i, m),
        "nanosleep" => {
            m.ty()?;
            let [time] = l.operands(i)?;
            let a = l.source(time, Type::U32)?;
            l.emit_complex(op(control::sleep, NIL, a, NIL));
        }
        "griddepcontrol" => m.skip(&["launch_dependents", "wait"]),
        "setmaxnreg" => {
            m.skip(&["inc", "dec", "sync", "aligned"]);
            m.ty()?;
        }
        _ => {}
    }
    Ok(())
}

/// Fences of all kinds. There is one way to memory, so that one between proxies has nothing to order either.
fn fence<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    if i.modifiers.contains(&"tensormap::generic") {
        return fence_of_tensor_map(l, i, m);
    }
    let [] = l.operands(i)?;
    if m.take("proxy") {
        match m.one_of(&["alias", "async", "async::generic"]) {
            Some("async") => drop(m.one_of(&["global", "shared::cta", "shared::cluster"])),
            Some(_) => {}
            None => return Err(m.uncovered("this proxy is not supported")),
        }
    } else if i.opcode == "fence" {
        m.take("mbarrier_init");
    }
    let known = [
        "cta",
        "cluster",
        "gl",
        "gpu",
        "sys",
        "sc",
        "acq_rel",
        "acquire",
        "release",
        "sync_restrict::shared::cta",
        "sync_restrict::shared::cluster",
    ];
    m.skip(&known);
    l.emit(op(control::fence, NIL, NIL, NIL));
    Ok(())
}

/// `fence.proxy.tensormap::generic`: one that acquires names the map, of 128 bytes.
fn fence_of_tensor_map<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if !m.take("proxy") || !m.take("tensormap::generic") {
        return Err(m.invalid("it has .proxy.tensormap::generic"));
    }
    let order = m.one_of(&["acquire", "release"]);
    if m.one_of(&["cta", "cluster", "gpu", "sys"]).is_none() {
        return Err(m.invalid("it has an order and a scope"));
    }
    match (order, i.operands.as_slice()) {
        (Some("acquire"), [address, Operand::Integer(128)]) => {
            l.address(address)?;
        }
        (Some("acquire"), _) => return Err(m.invalid("the address of a tensor map and 128 are wanted")),
        (Some(_), []) => {}
        _ => return Err(m.invalid("it has .release, or .acquire with an address")),
    }
    l.emit(op(control::fence, NIL, NIL, NIL));
    Ok(())
}

/// `brx.idx index, targets`
fn jump_by_index<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    m.take("uni");
    if !m.take("idx") {
        return Err(m.uncovered("only brx.idx is supported"));
    }
    let [index, list] = l.operands(i)?;
    let a = l.source(index, Type::U32)?;
    let targets = match list {
        Operand::Name(name, None) => match l.names.find(name) {
            Some(Symbol::Targets(targets)) => targets,
            _ => return Err(m.invalid(&format!("{name} is no list of targets"))),
        },
        _ => return Err(m.invalid("a list of targets is wanted")),
    };
    let mut labels = Vec::new();
    for target in targets {
        match l.names.find(target) {
            Some(Symbol::Label(label)) => labels.push(label),
            _ => return Err(m.invalid(&format!("{target} is no label"))),
        }
    }
    let table = l.add_table(labels);
    l.emit_complex(Op { extra: table, ..op(control::scatter, NIL, a, NIL) });
    Ok(())
}
