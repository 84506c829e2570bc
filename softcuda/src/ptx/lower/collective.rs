//! What several threads do together: barriers, votes, shuffles.

use super::emit::{NIL, op};
use super::lowering::Lowering;
use super::modifiers::Modifiers;
use crate::ptx::ast::{Instruction, Operand};
use crate::ptx::error::JitError;
use crate::ptx::exec::barrier::{Action, Barrier};
use crate::ptx::exec::collective::{Collective, Kind};
use crate::ptx::exec::control;
use crate::ptx::exec::core::{Op, Reg};
use crate::ptx::types::Type;
use Type::{B32, B64, Pred, S32, U32};

pub(super) fn lower<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    match i.opcode {
        "bar" | "barrier" => barrier(l, i, m),
        "shfl" => shuffle(l, i, m),
        "vote" => vote(l, i, m),
        "match" => find_same(l, i, m),
        "redux" => reduce(l, i, m),
        "elect" => elect(l, i, m),
        _ => {
            m.ty()?;
            let [d] = l.operands(i)?;
            let d = l.destination(d, B32)?;
            l.emit(op(control::active_mask, d, NIL, NIL));
            Ok(())
        }
    }
}

/// What most have not.
pub(super) const PLAIN: Collective = Collective {
    kind: Kind::Wait,
    result: None,
    beside: None,
    value: None,
    negated: false,
    lane: None,
    clamp: None,
    members: None,
};

pub(super) fn emit(l: &mut Lowering<'_, '_>, collective: Collective) {
    let extra = l.add_collective(collective);
    l.emit_complex(Op { extra, ..op(control::collective, NIL, NIL, NIL) });
}

/// The member mask of a `.sync` form: the last operand.
fn members<'a>(
    l: &mut Lowering<'a, '_>,
    i: &'_ Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(Option<Reg>, usize), JitError> {
    let count = i.operands.len();
    if !m.take("sync") {
        return Ok((None, count));
    }
    let last = i.operands.last().ok_or_else(|| m.invalid("a member mask is wanted"))?;
    Ok((Some(l.source(last, B32)?), count - 1))
}

fn barrier<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    if m.take("warp") {
        let (members, _) = members(l, i, m)?;
        if members.is_none() || i.operands.len() != 1 {
            return Err(m.uncovered("only bar.warp.sync is supported"));
        }
        emit(l, Collective { members, ..PLAIN });
        return Ok(());
    }
    let cluster = m.take("cluster");
    m.skip(&["cta", "aligned", "release", "acquire", "relaxed"]);
    let what = m.one_of(&["sync", "arrive", "red", "wait"]);
    let mut barrier =
        Barrier { action: Action::Wait, number: None, threads: None, result: None, predicate: None };
    let mut rest = i.operands.as_slice();
    barrier.action = match (cluster, what) {
        (true, Some("arrive")) => Action::ClusterArrive,
        (true, Some("wait")) => Action::ClusterWait,
        (false, Some("sync")) => Action::Wait,
        (false, Some("arrive")) => Action::Arrive,
        (false, Some("red")) => {
            let way = m.one_of(&["popc", "and", "or"]).ok_or_else(|| m.invalid("a reduction is wanted"))?;
            let ty = m.ty()?;
            let action = match (way, ty) {
                ("popc", U32) => Action::Count,
                ("and", Pred) => Action::All,
                ("or", Pred) => Action::Any,
                _ => return Err(m.bad_type(ty)),
            };
            let [d, middle @ .., predicate] = rest else { return Err(m.invalid("operands are wanted")) };
            barrier.result = Some(l.destination(d, ty)?);
            barrier.predicate = Some((l.predicate(predicate)?, false));
            rest = middle;
            action
        }
        _ => return Err(m.uncovered("this form is not supported")),
    };
    if cluster {
        if !rest.is_empty() {
            return Err(m.invalid("no operands are wanted"));
        }
    } else {
        match rest {
            [number] => barrier.number = Some(l.source(number, U32)?),
            [number, threads] => {
                barrier.number = Some(l.source(number, U32)?);
                barrier.threads = Some(l.source(threads, U32)?);
            }
            _ => return Err(m.invalid("a barrier, and perhaps a number of threads are wanted")),
        }
        if barrier.action == Action::Arrive && barrier.threads.is_none() {
            return Err(m.invalid("a number of threads is wanted"));
        }
    }
    let extra = l.add_barrier(barrier);
    l.emit_complex(Op { extra, ..op(control::barrier, NIL, NIL, NIL) });
    Ok(())
}

/// A result, and perhaps a predicate beside it.
fn results<'a>(
    l: &mut Lowering<'a, '_>,
    operand: &Operand<'a>,
    ty: Type,
) -> Result<(Reg, Option<Reg>), JitError> {
    match operand {
        Operand::Pair(d, p) => Ok((l.destination(d, ty)?, Some(l.destination(p, Pred)?))),
        single => Ok((l.destination(single, ty)?, None)),
    }
}

fn shuffle<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let (members, count) = members(l, i, m)?;
    let kind = match m.one_of(&["up", "down", "bfly", "idx"]) {
        Some("up") => Kind::ShuffleUp,
        Some("down") => Kind::ShuffleDown,
        Some("bfly") => Kind::ShuffleButterfly,
        Some(_) => Kind::ShuffleIndex,
        None => return Err(m.invalid("a direction is wanted")),
    };
    let ty = m.ty()?;
    if ty.size() != 4 || count != 4 {
        return Err(m.bad_type(ty));
    }
    let value = Some((l.source(&i.operands[1], ty)?, 4));
    let lane = Some(l.source(&i.operands[2], U32)?);
    let clamp = Some(l.source(&i.operands[3], U32)?);
    let (d, beside) = results(l, &i.operands[0], ty)?;
    emit(l, Collective { kind, result: Some((d, 4)), beside, value, lane, clamp, members, ..PLAIN });
    Ok(())
}

fn vote<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let (members, count) = members(l, i, m)?;
    let way = m.one_of(&["all", "any", "uni", "ballot"]);
    let ty = m.ty()?;
    let kind = match (way, ty) {
        (Some("all"), Pred) => Kind::VoteAll,
        (Some("any"), Pred) => Kind::VoteAny,
        (Some("uni"), Pred) => Kind::VoteUniform,
        (Some("ballot"), B32) => Kind::Ballot,
        _ => return Err(m.bad_type(ty)),
    };
    if count != 2 {
        return Err(m.invalid("a result and a predicate are wanted"));
    }
    let value = Some((l.predicate(&i.operands[1])?, 0));
    let d = l.destination(&i.operands[0], ty)?;
    emit(l, Collective { kind, result: Some((d, ty.size())), value, members, ..PLAIN });
    Ok(())
}

fn find_same<'a>(
    l: &mut Lowering<'a, '_>,
    i: &Instruction<'a>,
    m: &mut Modifiers<'a>,
) -> Result<(), JitError> {
    let (members, count) = members(l, i, m)?;
    let kind = match m.one_of(&["any", "all"]) {
        Some("any") => Kind::MatchAny,
        Some(_) => Kind::MatchAll,
        None => return Err(m.invalid("one of .any and .all is wanted")),
    };
    let ty = m.ty()?;
    if !matches!(ty, B32 | B64) || count != 2 || members.is_none() {
        return Err(m.bad_type(ty));
    }
    let value = Some((l.source(&i.operands[1], ty)?, ty.size()));
    let (d, beside) = results(l, &i.operands[0], B32)?;
    if beside.is_some() && kind == Kind::MatchAny {
        return Err(m.invalid("match.any has one result"));
    }
    emit(l, Collective { kind, result: Some((d, 4)), beside, value, members, ..PLAIN });
    Ok(())
}

fn reduce<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let (members, count) = members(l, i, m)?;
    let way = m.one_of(&["add", "min", "max", "and", "or", "xor"]);
    let ty = m.ty()?;
    let kind = match (way, ty) {
        (Some("add"), U32 | S32) => Kind::ReduceAdd,
        (Some("min"), U32) => Kind::ReduceMinUnsigned,
        (Some("max"), U32) => Kind::ReduceMaxUnsigned,
        (Some("min"), S32) => Kind::ReduceMinSigned,
        (Some("max"), S32) => Kind::ReduceMaxSigned,
        (Some("and"), B32) => Kind::ReduceAnd,
        (Some("or"), B32) => Kind::ReduceOr,
        (Some("xor"), B32) => Kind::ReduceXor,
        _ => return Err(m.bad_type(ty)),
    };
    if count != 2 || members.is_none() {
        return Err(m.invalid("a result, a value and a member mask are wanted"));
    }
    let value = Some((l.source(&i.operands[1], ty)?, 4));
    let d = l.destination(&i.operands[0], ty)?;
    emit(l, Collective { kind, result: Some((d, 4)), value, members, ..PLAIN });
    Ok(())
}

fn elect<'a>(l: &mut Lowering<'a, '_>, i: &Instruction<'a>, m: &mut Modifiers<'a>) -> Result<(), JitError> {
    let (members, count) = members(l, i, m)?;
    if count != 1 || members.is_none() {
        return Err(m.invalid("a result and a member mask are wanted"));
    }
    let (d, beside) = results(l, &i.operands[0], B32)?;
    emit(l, Collective { kind: Kind::Elect, result: Some((d, 4)), beside, members, ..PLAIN });
    Ok(())
}
