//! `mbarrier`, and what arrives there when copies are done.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::memory::Space;
use super::modifiers::Modifiers;
use super::operand::Place;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::copy::{ALL, wait_for_copies};
use crate::ptx::exec::core::{Handler, Op, Reg};
use crate::ptx::exec::map::unary;
use crate::ptx::exec::mbarrier::{BY_PARITY, Change, WAITS, change, pending, test};
use crate::ptx::exec::space::{Generic, Shared};
use crate::ptx::types::Type;
use Type::{B32, B64, Pred};

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let what = m.one_of(&[
        "init",
        "inval",
        "arrive",
        "arrive_drop",
        "expect_tx",
        "complete_tx",
        "test_wait",
        "try_wait",
        "pending_count",
    ]);
    match what {
        Some("pending_count") => {
            check_type(m)?;
            let [d, state] = l.operands(i)?;
            let a = l.source(state, B64)?;
            let d = l.destination(d, B32)?;
            l.emit(op(unary(pending), d, a, NIL));
            Ok(())
        }
        Some("init") => {
            let space = space(m, false);
            check_type(m)?;
            let [address, count] = l.operands(i)?;
            emit(l, m, space, Change::Init, (None, address, Some(count)))
        }
        Some("inval") => {
            let space = space(m, false);
            check_type(m)?;
            let [address] = l.operands(i)?;
            emit(l, m, space, Change::Invalidate, (None, address, None))
        }
        Some("expect_tx" | "complete_tx") => {
            let is_complete = what == Some("complete_tx");
            order(m, &["relaxed"])?;
            let space = space(m, true);
            check_type(m)?;
            let [address, bytes] = l.operands(i)?;
            let change = if is_complete { Change::Complete } else { Change::Expect };
            emit(l, m, space, change, (None, address, Some(bytes)))
        }
        Some("arrive" | "arrive_drop") => arrive(l, i, m, what == Some("arrive_drop")),
        Some(_) => wait(l, i, m, what == Some("try_wait")),
        None => Err(m.uncovered("this form is not supported")),
    }
}

/// `cp.async.mbarrier.arrive`: the barrier waits for what `cp.async` has begun, which is done at once.
pub(super) fn arrive_after_copies<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    if !m.take("async") || !m.take("mbarrier") || !m.take("arrive") {
        return Err(m.invalid("it has .async.mbarrier.arrive"));
    }
    let change = if m.take("noinc") { Change::Arrive } else { Change::Copied };
    let space = space(m, false);
    check_type(m)?;
    let [address] = l.operands(i)?;
    l.emit(Op { extra: ALL, ..op(wait_for_copies, NIL, NIL, NIL) });
    emit(l, m, space, change, (None, address, None))
}

fn arrive<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    drops: bool,
) -> Result<(), JitError> {
    let (expects, within) = (m.take("expect_tx"), m.take("noComplete"));
    order(m, &["release", "relaxed"])?;
    let is_remote = i.modifiers.contains(&"shared::cluster");
    let space = space(m, !within);
    check_type(m)?;
    let change = match (expects, within, drops) {
        (true, true, _) => return Err(m.invalid("it has .expect_tx or .noComplete, not both")),
        (true, false, false) => Change::ArriveExpecting,
        (true, false, true) => Change::DropExpecting,
        (false, true, false) => Change::ArriveWithin,
        (false, true, true) => Change::DropWithin,
        (false, false, false) => Change::Arrive,
        (false, false, true) => Change::Drop,
    };
    let (state, address, number) = match i.operands.as_slice() {
        [state, address, number] => (state, address, Some(number)),
        [state, address] if !expects && !within => (state, address, None),
        _ => return Err(m.invalid("a state, an address and a number are wanted")),
    };
    if is_remote && !matches!(state, Operand::Sink) {
        return Err(m.invalid("of a barrier in .shared::cluster there is no state: `_` is wanted"));
    }
    if !expects && matches!(number, Some(Operand::Integer(0))) {
        return Err(m.invalid("1 or more threads arrive, not 0"));
    }
    emit(l, m, space, change, (Some(state), address, number))
}

fn wait<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
    waits: bool,
) -> Result<(), JitError> {
    let by_parity = m.take("parity");
    order(m, &["acquire", "relaxed"])?;
    let space = space(m, false);
    check_type(m)?;
    let (d, address, phase) = match i.operands.as_slice() {
        [d, address, phase] => (d, address, phase),
        [d, address, phase, time] if waits => {
            // How long it may take at most; nothing is waited for here, and others have their turn.
            l.source(time, B32)?;
            (d, address, phase)
        }
        _ => return Err(m.invalid("a predicate, an address and a phase are wanted")),
    };
    if matches!(d, Operand::Sink) {
        return Err(m.invalid("a predicate is wanted, and not `_`"));
    }
    if by_parity && matches!(phase, Operand::Integer(2..)) {
        return Err(m.invalid("a parity is 0 or 1"));
    }
    let b = l.source(phase, if by_parity { B32 } else { B64 })?;
    let (a, imm) = address_in(l, m, address, space)?;
    let d = l.destination(d, Pred)?;
    let run = match space {
        Space::Shared => test::<Shared, u32>(),
        _ => test::<Generic, u64>(),
    };
    let extra = u32::from(by_parity) * BY_PARITY + u32::from(waits) * WAITS;
    let test = Op { imm, extra, ..op(run, d, a, b) };
    // One that waits may end the slice of time, which nothing under a guard does.
    if waits {
        l.emit_complex(test)
    } else {
        l.emit(test)
    }
    Ok(())
}

/// Where barriers are: in shared memory, which may be that of another block.
fn space(m: &mut Modifiers<'_>, also_remote: bool) -> Space {
    let names = ["shared", "shared::cta", "shared::cluster"];
    let known = if also_remote { &names[..] } else { &names[..2] };
    if m.one_of(known).is_some() { Space::Shared } else { Space::Generic }
}

fn check_type(m: &mut Modifiers<'_>) -> Result<(), JitError> {
    match m.ty()? {
        B64 => Ok(()),
        ty => Err(m.bad_type(ty)),
    }
}

/// An order and its scope, or neither. There is one order here.
fn order(m: &mut Modifiers<'_>, orders: &[&str]) -> Result<(), JitError> {
    if m.one_of(orders).is_some() == m.one_of(&["cta", "cluster"]).is_some() {
        Ok(())
    } else {
        Err(m.invalid("an order and a scope are given together"))
    }
}

/// A barrier's address, as wide as the space's are, and what is added to it.
fn address_in<'a>(
    l: &mut Lowering<'a, '_>,
    m: &Modifiers<'a>,
    operand: &Operand<'a>,
    space: Space,
) -> Result<(Reg, i64), JitError> {
    let place = l.address(operand)?;
    match l.place_in(place, space, m)? {
        Place::Register(reg, _, imm) => Ok((reg, imm)),
        _ => Err(m.invalid("the variable is not of this state space")),
    }
}

type Operands<'i, 'a> = (Option<&'i Operand<'a>>, &'i Operand<'a>, Option<&'i Operand<'a>>);

/// A change, with where the state goes, the barrier's address, and a number, which is 1 if there is none.
fn emit<'a>(
    l: &mut Lowering<'a, '_>,
    m: &Modifiers<'a>,
    space: Space,
    what: Change,
    (state, address, number): Operands<'_, 'a>,
) -> Result<(), JitError> {
    let b = match number {
        Some(number) => l.source(number, B32)?,
        None => l.constant(1, B32),
    };
    let (a, imm) = address_in(l, m, address, space)?;
    let d = match state {
        Some(state) => l.destination(state, B64)?,
        None => l.temporary(B64),
    };
    let run: Handler = match space {
        Space::Shared => change::<Shared, u32>(what),
        _ => change::<Generic, u64>(what),
    };
    l.emit(Op { imm, ..op(run, d, a, b) });
    Ok(())
}
