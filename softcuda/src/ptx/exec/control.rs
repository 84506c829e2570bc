//! Instructions that change who goes where.

use super::core::{Core, LANES, Op, Step};
use super::fault::FaultKind;

/// All jump to `extra`.
pub(in crate::ptx) fn jump(core: &mut Core<'_>, op: &Op) -> Step {
    core.pc = op.extra;
    if core.alone { Step::Next } else { Step::Reschedule }
}

/// The lanes whose predicate `a` is `imm == 0` jump to `extra`.
pub(in crate::ptx) fn branch(core: &mut Core<'_>, op: &Op) -> Step {
    let predicate = core.predicate(op.a);
    let taken = core.mask & if op.imm == 0 { predicate } else { !predicate };
    if taken == 0 {
        return Step::Next;
    }
    if taken == core.mask {
        return jump(core, op);
    }
    core.taken = taken;
    core.target = op.extra;
    Step::Diverge
}

/// Each lane jumps to the target that `a` picks from table `extra`.
pub(in crate::ptx) fn scatter(core: &mut Core<'_>, op: &Op) -> Step {
    let index = core.get::<u32>(op.a);
    let size = core.program.jumps[op.extra as usize].len();
    if let Some(lane) = core.active().find(|&lane| index[lane] as usize >= size) {
        return core.fail(FaultKind::InvalidPc, lane, None);
    }
    core.target = op.extra;
    Step::Scatter
}

/// The next `imm` instructions, all of them simple, are for the lanes whose predicate `a` is `extra == 0`.
pub(in crate::ptx) fn guard(core: &mut Core<'_>, op: &Op) -> Step {
    let held = core.mask;
    let predicate = core.predicate(op.a);
    let (first, end) = (core.pc as usize, core.pc + op.imm as u32);
    core.mask = held & if op.extra == 0 { predicate } else { !predicate };
    if core.mask != 0 {
        let program = core.program;
        for op in &program.ops[first..first + op.imm as usize] {
            core.pc += 1;
            let step = (op.run)(core, op);
            if step != Step::Next {
                core.mask = held;
                return step;
            }
        }
    }
    core.pc = end;
    core.mask = held;
    Step::Next
}

/// What the warp does itself.
pub(in crate::ptx) fn call(_: &mut Core<'_>, _: &Op) -> Step {
    Step::Call
}

pub(in crate::ptx) fn leave(_: &mut Core<'_>, _: &Op) -> Step {
    Step::Return
}

pub(in crate::ptx) fn exit(_: &mut Core<'_>, _: &Op) -> Step {
    Step::Exit
}

pub(in crate::ptx) fn collective(_: &mut Core<'_>, _: &Op) -> Step {
    Step::Collective
}

pub(in crate::ptx) fn barrier(_: &mut Core<'_>, _: &Op) -> Step {
    Step::Barrier
}

/// The lanes sleep for `a` nanoseconds, those that ask for less as long as the others.
pub(in crate::ptx) fn sleep(core: &mut Core<'_>, op: &Op) -> Step {
    let wanted = core.get::<u32>(op.a);
    core.nap = core.active().map(|lane| wanted[lane]).max().unwrap_or(0);
    Step::Sleep
}

pub(in crate::ptx) fn trap(core: &mut Core<'_>, _: &Op) -> Step {
    core.fail(FaultKind::Trap, core.mask.trailing_zeros() as usize, None)
}

/// Nothing, for hints.
pub(in crate::ptx) fn fence(core: &mut Core<'_>, _: &Op) -> Step {
    core.make_fence();
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    Step::Next
}

/// `d =` the active lanes.
pub(in crate::ptx) fn active_mask(core: &mut Core<'_>, op: &Op) -> Step {
    let mask = core.mask;
    core.put(op.d, &[mask; LANES]);
    Step::Next
}
