//! A warp: groups of lanes, each with a program counter and a stack of frames.
//!
//! Lanes that diverge become groups, which all make progress: the one with the deepest call and the lowest counter runs,
//! until it meets another group and joins it, or until its slice of time is over and it is another's turn.

use super::barrier::{Action, Barrier};
use super::collective::{Collective, Inputs, Kind, exchange};
use super::core::{Bits, Core, FULL, LANES, Reg, Step};
use super::external::External;
use super::fault::{FaultKind, Trouble};
use super::program::{CALL_COST, Call, Line, Place, Program, Target};
use super::space::{CODE_STEP, CODE_WINDOW};

/// Instructions after which another group, warp or block has its turn.
pub(super) const SLICE: u32 = 1024;

/// No frame.
const NONE: u32 = u32::MAX;

/// What a group waits for; the number is that of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Nothing,
    Lanes {
        op: u32,
        members: u32,
    },
    Barrier {
        op: u32,
    },
    /// The time that the clock shows then.
    Time(u64),
}

#[derive(Clone, Copy, Debug)]
struct Group {
    mask: u32,
    pc: u32,
    frame: u32,
    wait: Wait,
}

impl Group {
    /// The barrier's instruction that it waits at, and a lane.
    fn at_barrier(&self) -> Option<(u32, u32)> {
        match self.wait {
            Wait::Barrier { op } => Some((op, self.mask.trailing_zeros())),
            _ => None,
        }
    }
}

/// A function's registers and local memory, of the lanes that were in one call.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// In lines of the warp's registers.
    registers: usize,
    lines: usize,
    /// In bytes of each lane's local memory.
    local: u32,
    /// What the calls up to this one take of the stack.
    stack: u32,
    routine: u32,
    parent: u32,
    /// The call's instruction.
    call: u32,
    depth: u32,
    lanes: u32,
}

/// Why a warp stopped.
#[derive(Debug)]
pub(super) enum Stop {
    Slice,
    Exited,
    /// All its lanes are at a barrier.
    Barrier(Arrival),
    /// Nobody can run before that time.
    Asleep(u64),
    Fault(Trouble, u32),
}

/// A warp at a barrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) action: Action,
    pub(super) number: u32,
    /// How many threads are waited for; 0 is all.
    pub(super) threads: u32,
    pub(super) votes: u32,
    pub(super) yes: u32,
}

#[derive(Default)]
pub(super) struct Warp {
    index: u32,
    live: u32,
    groups: Vec<Group>,
    frames: Vec<Frame>,
    registers: Vec<Line>,
    local: Vec<Line>,
    /// The group whose turn it is out of order.
    turn: Option<usize>,
}

impl Warp {
    /// Begins a kernel with so many threads; false if the host has no memory for them.
    #[must_use]
    pub(super) fn start(&mut self, program: &Program, index: u32, threads: u32, stride: u32) -> bool {
        let kernel = &program.routines[0];
        let lines = kernel.registers as usize / 64;
        self.index = index;
        self.live = if threads >= 32 { FULL } else { (1 << threads) - 1 };
        self.groups.clear();
        self.groups.push(Group { mask: self.live, pc: kernel.entry, frame: 0, wait: Wait::Nothing });
        self.frames.clear();
        let lanes = self.live;
        self.frames.push(Frame {
            registers: 0,
            lines,
            local: 0,
            stack: 0,
            routine: 0,
            parent: NONE,
            call: 0,
            depth: 0,
            lanes,
        });
        let kept = lines.min(self.registers.len());
        self.registers[..kept].fill(Line([0; 64]));
        if !self.has_registers(lines) {
            return false;
        }
        self.local.clear();
        self.turn = None;
        let local = (stride as usize * LANES).div_ceil(64);
        if self.local.try_reserve_exact(local).is_err() {
            return false;
        }
        self.local.resize(local, Line([0; 64]));
        true
    }

    /// Sees to it that there are so many lines of registers; false if the host has no memory for them.
    fn has_registers(&mut self, lines: usize) -> bool {
        let more = lines.saturating_sub(self.registers.len());
        if self.registers.try_reserve_exact(more).is_err() {
            return false;
        }
        self.registers.resize(self.registers.len() + more, Line([0; 64]));
        true
    }

    /// Runs for a slice of time at most.
    pub(super) fn run(&mut self, core: &mut Core<'_>) -> Stop {
        core.fuel = SLICE;
        core.warp = self.index;
        core.begin_turn();
        core.local = self.local.as_mut_ptr().cast();
        loop {
            let Some(at) = self.pick(core) else {
                if self.groups.is_empty() {
                    return Stop::Exited;
                }
                return self.first_to_wake().map_or_else(|| self.stuck(core), Stop::Asleep);
            };
            self.load(core, at);
            let step = core.go();
            self.groups[at].pc = core.pc;
            let done = match step {
                Step::Next | Step::Reschedule => Ok(()),
                Step::Yield => {
                    self.turn = Some(at + 1);
                    return Stop::Slice;
                }
                Step::Sleep => {
                    self.groups[at].wait = Wait::Time(core.clock.after(core.nap));
                    self.turn = Some(at + 1);
                    return Stop::Slice;
                }
                Step::Diverge => {
                    self.diverge(core, at);
                    Ok(())
                }
                Step::Scatter => {
                    self.scatter(core, at);
                    Ok(())
                }
                Step::Call => self.call(core, at),
                Step::Return => {
                    self.leave(core, at);
                    Ok(())
                }
                Step::Exit => {
                    self.exit(core, at);
                    self.settle(core);
                    Ok(())
                }
                Step::Collective => self.collective(core, at),
                Step::Barrier => {
                    if self.groups.iter().all(|group| group.at_barrier().is_none()) {
                        core.begin_to_wait();
                    }
                    self.groups[at].wait = Wait::Barrier { op: core.pc - 1 };
                    Ok(())
                }
                Step::Fault => Err(core.trouble.take()),
            };
            if let Err(trouble) = done {
                let none = Trouble {
                    kind: FaultKind::IllegalInstruction,
                    lane: core.mask.trailing_zeros(),
                    address: None,
                    message: String::new(),
                };
                return Stop::Fault(trouble.unwrap_or(none), core.pc - 1);
            }
        }
    }

    /// Joins groups at the same place and chooses who runs.
    fn pick(&mut self, core: &Core<'_>) -> Option<usize> {
        for group in &mut self.groups {
            if matches!(group.wait, Wait::Time(time) if core.clock.has_reached(time)) {
                group.wait = Wait::Nothing;
            }
        }
        if let [group] = self.groups.as_slice() {
            return (group.wait == Wait::Nothing).then_some(0);
        }
        self.join();
        let ready = |group: &Group| group.wait == Wait::Nothing;
        if let Some(turn) = self.turn.take()
            && !self.groups.is_empty()
        {
            let count = self.groups.len();
            let found = (0..count).map(|i| (turn + i) % count).find(|&at| ready(&self.groups[at]));
            if found.is_some() {
                return found;
            }
        }
        let order = |group: &Group| (u32::MAX - self.frames[group.frame as usize].depth, group.pc);
        let all = self.groups.iter().enumerate().filter(|(_, group)| ready(group));
        all.min_by_key(|(_, group)| order(group)).map(|(at, _)| at)
    }

    fn first_to_wake(&self) -> Option<u64> {
        let times = self.groups.iter().filter_map(|group| match group.wait {
            Wait::Time(time) => Some(time),
            _ => None,
        });
        times.min()
    }

    fn join(&mut self) {
        let mut at = 0;
        while at < self.groups.len() {
            let group = self.groups[at];
            let same = |other: &Group| {
                other.pc == group.pc && other.frame == group.frame && other.wait == group.wait
            };
            if let Some(before) = self.groups[..at].iter().position(same) {
                self.groups[before].mask |= group.mask;
                self.groups.remove(at);
                self.turn = None;
            } else {
                at += 1;
            }
        }
    }

    fn load(&mut self, core: &mut Core<'_>, at: usize) {
        let group = self.groups[at];
        self.view(core, group.frame, group.mask);
        core.pc = group.pc;
        core.alone = self.groups.len() == 1;
        core.stop = u32::MAX;
        if !core.alone {
            let others = self.groups.iter().filter(|other| {
                other.wait == Wait::Nothing && other.frame == group.frame && other.pc > group.pc
            });
            core.stop = others.map(|other| other.pc).min().unwrap_or(u32::MAX);
        }
    }

    /// Lets the core see a frame.
    fn view(&mut self, core: &mut Core<'_>, frame: u32, mask: u32) {
        let frame = &self.frames[frame as usize];
        core.enter(self.registers[frame.registers..frame.registers + frame.lines].as_mut_ptr().cast());
        core.local_frame = frame.local;
        core.mask = mask;
    }

    fn diverge(&mut self, core: &Core<'_>, at: usize) {
        let mut taken = self.groups[at];
        self.groups[at].mask &= !core.taken;
        taken.mask = core.taken;
        taken.pc = core.target;
        self.groups.push(taken);
    }

    fn scatter(&mut self, core: &Core<'_>, at: usize) {
        let op = &core.program.ops[core.pc as usize - 1];
        let index = core.get::<u32>(op.a);
        let targets = &core.program.jumps[core.target as usize];
        let group = self.groups.swap_remove(at);
        for lane in Bits(group.mask) {
            let pc = targets[index[lane] as usize];
            self.groups.push(Group { mask: 1 << lane, pc, ..group });
        }
        self.join();
    }

    fn exit(&mut self, core: &mut Core<'_>, at: usize) {
        let group = self.groups.remove(at);
        let waiting = self.groups.iter().find_map(|other| other.at_barrier());
        if let Some(waits) = waiting {
            core.end_apart(waits, core.pc - 1, group.mask);
        }
        self.live &= !group.mask;
        let mut frame = group.frame;
        while frame != NONE {
            self.frames[frame as usize].lanes &= !group.mask;
            frame = self.frames[frame as usize].parent;
        }
        self.drop_frames();
    }

    fn drop_frames(&mut self) {
        while self.frames.len() > 1 && self.frames.last().is_some_and(|frame| frame.lanes == 0) {
            self.frames.pop();
        }
    }

    fn call(&mut self, core: &mut Core<'_>, at: usize) -> Result<(), Option<Trouble>> {
        let program = core.program;
        let op = core.pc - 1;
        let call = &program.calls[program.ops[op as usize].extra as usize];
        let routine = match call.target {
            Target::Direct(routine) => routine,
            Target::External(external) => return self.external(core, external, call),
            Target::Indirect(reg) => {
                let targets = core.get::<u64>(reg);
                let first = targets[core.mask.trailing_zeros() as usize];
                let same =
                    core.active().fold(0, |bits, lane| bits | u32::from(targets[lane] == first) << lane);
                if same != core.mask {
                    // Two groups try again, the first of which agrees.
                    let group = &mut self.groups[at];
                    group.pc = op;
                    let mut rest = *group;
                    group.mask = same;
                    rest.mask &= !same;
                    self.groups.push(rest);
                    // They must not join at once: the agreeing one goes on from here.
                    self.view(core, self.groups[at].frame, same);
                    self.groups[at].pc = op + 1;
                }
                match routine_at(program, first) {
                    Some(routine) => routine,
                    None => return Err(trouble(core, FaultKind::InvalidPc, Some(first))),
                }
            }
        };
        self.push_frame(core, at, routine, op, call)
    }

    fn push_frame(
        &mut self,
        core: &mut Core<'_>,
        at: usize,
        routine: u32,
        op: u32,
        call: &Call,
    ) -> Result<(), Option<Trouble>> {
        let program = core.program;
        let callee = &program.routines[routine as usize];
        let group = self.groups[at];
        let parent = self.frames[group.frame as usize];
        let used = parent.local + program.routines[parent.routine as usize].local;
        let local = used.next_multiple_of(16) + CALL_COST;
        let stack = parent.stack.saturating_add(callee.cost());
        if stack > core.job.stack || u64::from(local) + u64::from(callee.local) > core.local_stride as u64 {
            return Err(trouble(core, FaultKind::StackOverflow, None));
        }
        for (place, slot) in call.params.iter().zip(&callee.params) {
            match *place {
                Place::Slot(from) => {
                    core.copy_local(parent.local + from.offset, local + slot.offset, slot.size)
                }
                Place::Register(reg, size) => core.register_to_local(reg, local + slot.offset, size),
            }
        }
        let registers = self.frames.last().map_or(0, |frame| frame.registers + frame.lines);
        let lines = callee.registers as usize / 64;
        if !self.has_registers(registers + lines) {
            return Err(trouble(core, FaultKind::OutOfMemory, None));
        }
        self.registers[registers..registers + lines].fill(Line([0; 64]));
        let (lanes, depth) = (group.mask, parent.depth + 1);
        let frame =
            Frame { registers, lines, local, stack, routine, parent: group.frame, call: op, depth, lanes };
        self.groups[at].frame = self.frames.len() as u32;
        self.groups[at].pc = callee.entry;
        self.frames.push(frame);
        Ok(())
    }

    fn leave(&mut self, core: &mut Core<'_>, at: usize) {
        let program = core.program;
        let group = self.groups[at];
        let frame = self.frames[group.frame as usize];
        if frame.parent == NONE {
            self.exit(core, at);
            self.settle(core);
            return;
        }
        let parent = self.frames[frame.parent as usize];
        let call = &program.calls[program.ops[frame.call as usize].extra as usize];
        self.view(core, frame.parent, group.mask);
        for (place, slot) in call.results.iter().zip(&program.routines[frame.routine as usize].results) {
            let from = frame.local + slot.offset;
            match *place {
                Place::Slot(to) => core.copy_local(from, parent.local + to.offset, to.size),
                Place::Register(reg, size) => core.local_to_register(from, reg, size),
            }
        }
        self.groups[at].frame = frame.parent;
        self.groups[at].pc = frame.call + 1;
        self.frames[group.frame as usize].lanes &= !group.mask;
        self.drop_frames();
    }

    fn external(
        &mut self,
        core: &mut Core<'_>,
        external: External,
        call: &Call,
    ) -> Result<(), Option<Trouble>> {
        for lane in core.active() {
            let mut values = [0u64; 8];
            for (value, place) in values.iter_mut().zip(&call.params) {
                *value = core.argument_of_call(lane, *place);
            }
            let result = match external {
                External::Print => match core.formatted(lane, values[0], values[1]) {
                    Ok((text, count)) => {
                        core.job.host.print(&text);
                        u64::from(count)
                    }
                    Err((address, kind)) => {
                        core.fail(kind, lane, Some(address));
                        return Err(core.trouble.take());
                    }
                },
                External::Assert => {
                    let texts = [0, 1, 3].map(|i| core.text_or_nothing(lane, values[i]));
                    let message = format!(
                        "{}:{}: {}: assertion `{}` failed",
                        texts[1], values[2] as u32, texts[2], texts[0]
                    );
                    core.fail_saying(FaultKind::Assert, lane, message);
                    return Err(core.trouble.take());
                }
                External::Conditional => {
                    if !core.job.host.set_conditional(values[0], values[1] as u32) {
                        let message = format!("{:#x} is no handle of a condition", values[0]);
                        core.fail_saying(FaultKind::IllegalAddress, lane, message);
                        return Err(core.trouble.take());
                    }
                    0
                }
                External::Allocate => core.job.host.allocate(values[0]),
                External::Release => {
                    core.regions = [super::host::Region::NONE; 4];
                    if values[0] != 0 && !core.job.host.release(values[0]) {
                        let message = format!(
                            "free of {:#x}, which malloc did not return, or which is freed already",
                            values[0]
                        );
                        core.fail_saying(FaultKind::Trap, lane, message);
                        return Err(core.trouble.take());
                    }
                    0
                }
            };
            if let Some(place) = call.results.first() {
                core.result_of_call(lane, *place, result);
            }
        }
        Ok(())
    }

    fn collective(&mut self, core: &mut Core<'_>, at: usize) -> Result<(), Option<Trouble>> {
        let op = core.pc - 1;
        let program = core.program;
        let what = &program.collectives[program.ops[op as usize].extra as usize];
        let Some(reg) = what.members else {
            self.exchange(core, what, &[at], core.mask);
            return Ok(());
        };
        let members = core.get::<u32>(reg);
        if let Some(lane) = core.active().find(|&lane| members[lane] >> lane & 1 == 0) {
            let message = format!("lane {lane} is not in its member mask {:#x}", members[lane]);
            core.fail_saying(FaultKind::IllegalInstruction, lane, message);
            return Err(core.trouble.take());
        }
        let first = members[core.mask.trailing_zeros() as usize];
        if core.active().all(|lane| members[lane] == first) {
            if first & self.live & !core.mask == 0 {
                self.exchange(core, what, &[at], core.mask);
                return Ok(());
            }
            self.groups[at].wait = Wait::Lanes { op, members: first };
        } else {
            let group = self.groups.swap_remove(at);
            for lane in Bits(group.mask) {
                let wait = Wait::Lanes { op, members: members[lane] };
                self.groups.push(Group { mask: 1 << lane, wait, ..group });
            }
            self.join();
        }
        self.settle(core);
        Ok(())
    }

    /// Lets those collective instructions happen whose lanes have all come.
    fn settle(&mut self, core: &mut Core<'_>) {
        let program = core.program;
        let what = |op: u32| &program.collectives[program.ops[op as usize].extra as usize];
        for at in 0..self.groups.len() {
            let Wait::Lanes { op, members } = self.groups[at].wait else { continue };
            let kind = what(op).kind;
            let partners: Vec<usize> = (0..self.groups.len())
                .filter(|&other| match self.groups[other].wait {
                    Wait::Lanes { op, members: theirs } => theirs == members && what(op).kind == kind,
                    _ => false,
                })
                .collect();
            let set = partners.iter().fold(0, |set, &other| set | self.groups[other].mask);
            if members & self.live & !set == 0 {
                self.exchange(core, what(op), &partners, set);
                for other in partners {
                    self.groups[other].wait = Wait::Nothing;
                }
            }
        }
    }

    fn exchange(&mut self, core: &mut Core<'_>, what: &Collective, groups: &[usize], set: u32) {
        let program = core.program;
        if what.kind == Kind::Wait {
            let op = match self.groups[groups[0]].wait {
                Wait::Lanes { op, .. } => op,
                _ => core.pc - 1,
            };
            core.meet_lanes(op, set, self.live);
        }
        let mut inputs = Inputs::new();
        // A group that is alone is at the instruction; others have it noted.
        let own = |group: &Group| match group.wait {
            Wait::Lanes { op, .. } => &program.collectives[program.ops[op as usize].extra as usize],
            _ => what,
        };
        for &at in groups {
            let group = self.groups[at];
            self.view(core, group.frame, group.mask);
            gather(core, own(&group), &mut inputs);
        }
        let outputs = exchange(what.kind, set, &inputs);
        for &at in groups {
            let group = self.groups[at];
            let what = own(&group);
            self.view(core, group.frame, group.mask);
            match what.result {
                Some((reg, 0)) => core.set_predicate(reg, truth(&outputs.value)),
                Some((reg, 4)) => core.put(reg, &outputs.value.map(|value| value as u32)),
                Some((reg, _)) => core.put(reg, &outputs.value),
                None => {}
            }
            if let Some(reg) = what.beside {
                core.set_predicate(reg, outputs.beside);
            }
        }
    }

    /// Nobody can run: all are at a barrier, or wait for ever.
    fn stuck(&mut self, core: &mut Core<'_>) -> Stop {
        let program = core.program;
        let mut arrival: Option<Arrival> = None;
        for at in 0..self.groups.len() {
            let group = self.groups[at];
            self.view(core, group.frame, group.mask);
            let (op, here) = match group.wait {
                Wait::Barrier { op } => {
                    let what = &program.barriers[program.ops[op as usize].extra as usize];
                    (op, Some(arrive(core, what)))
                }
                Wait::Lanes { op, .. } => (op, None),
                Wait::Nothing | Wait::Time(_) => (group.pc, None),
            };
            let same = |a: &Arrival, b: &Arrival| {
                a.number == b.number && a.threads == b.threads && a.action == b.action
            };
            match (&mut arrival, here) {
                (None, Some(here)) if at == 0 => arrival = Some(here),
                (Some(all), Some(here)) if same(all, &here) => {
                    let places = [self.groups[0], group].map(|group| group.at_barrier());
                    if let [Some(one), Some(other)] = places {
                        core.wait_apart(one, other);
                    }
                    all.votes += here.votes;
                    all.yes += here.yes;
                }
                _ => {
                    let message = "lanes of the warp wait at different instructions".to_owned();
                    let lane = group.mask.trailing_zeros();
                    core.wait_apart(self.place(), (op, lane));
                    let trouble = Trouble { kind: FaultKind::Deadlock, lane, address: None, message };
                    return Stop::Fault(trouble, op);
                }
            }
        }
        match arrival {
            Some(arrival) => Stop::Barrier(arrival),
            None => Stop::Exited,
        }
    }

    /// The barrier is met: of `votes` threads `yes` said so.
    pub(super) fn release(&mut self, core: &mut Core<'_>, votes: u32, yes: u32) {
        let program = core.program;
        for at in 0..self.groups.len() {
            let group = self.groups[at];
            let Wait::Barrier { op } = group.wait else { continue };
            let what = &program.barriers[program.ops[op as usize].extra as usize];
            self.view(core, group.frame, group.mask);
            if let Some(reg) = what.result {
                match what.action {
                    Action::All => core.set_predicate(reg, if yes == votes { FULL } else { 0 }),
                    Action::Any => core.set_predicate(reg, if yes > 0 { FULL } else { 0 }),
                    _ => core.put(reg, &[yes; LANES]),
                }
            }
            self.groups[at].wait = Wait::Nothing;
        }
    }

    /// An instruction at which it waits, for reports.
    pub(super) fn place(&self) -> (u32, u32) {
        let group = self.groups.first();
        let op = group.map_or(0, |group| match group.wait {
            Wait::Barrier { op } | Wait::Lanes { op, .. } => op,
            Wait::Nothing | Wait::Time(_) => group.pc,
        });
        (op, group.map_or(0, |group| group.mask.trailing_zeros()))
    }

    pub(super) fn threads(&self) -> u32 {
        self.live.count_ones()
    }

    /// The lanes that have not ended.
    pub(super) fn live(&self) -> u32 {
        self.live
    }
}

fn routine_at(program: &Program, address: u64) -> Option<u32> {
    let offset = address.checked_sub(CODE_WINDOW)?;
    if offset % CODE_STEP != 0 {
        return None;
    }
    let function = u32::try_from(offset / CODE_STEP).ok()?;
    program.addresses.get(&function).copied()
}

fn trouble(core: &mut Core<'_>, kind: FaultKind, address: Option<u64>) -> Option<Trouble> {
    core.fail(kind, core.mask.trailing_zeros() as usize, address);
    core.trouble.take()
}

fn truth(values: &[u64; LANES]) -> u32 {
    values.iter().enumerate().fold(0, |bits, (lane, value)| bits | u32::from(*value != 0) << lane)
}

fn spread(core: &Core<'_>, reg: Reg, negated: bool) -> u32 {
    let bits = core.predicate(reg);
    if negated { !bits } else { bits }
}

fn gather(core: &Core<'_>, what: &Collective, inputs: &mut Inputs) {
    let value: [u64; LANES] = match what.value {
        None => [0; LANES],
        Some((reg, 0)) => {
            let bits = spread(core, reg, what.negated);
            std::array::from_fn(|lane| u64::from(bits >> lane & 1))
        }
        Some((reg, 4)) => core.get::<u32>(reg).map(u64::from),
        Some((reg, _)) => core.get::<u64>(reg),
    };
    let of = |reg: Option<Reg>| reg.map_or([0; LANES], |reg| core.get::<u32>(reg));
    let (lane, clamp) = (of(what.lane), of(what.clamp));
    if core.mask == FULL {
        *inputs = Inputs { value, lane, clamp };
        return;
    }
    for at in core.active() {
        inputs.value[at] = value[at];
        inputs.lane[at] = lane[at];
        inputs.clamp[at] = clamp[at];
    }
}

fn arrive(core: &Core<'_>, what: &Barrier) -> Arrival {
    let lane = core.mask.trailing_zeros() as usize % LANES;
    let of = |reg: Option<Reg>| reg.map_or(0, |reg| core.get::<u32>(reg)[lane]);
    let yes = what.predicate.map_or(0, |(reg, negated)| spread(core, reg, negated) & core.mask);
    Arrival {
        action: what.action,
        number: of(what.number),
        threads: of(what.threads),
        votes: core.mask.count_ones(),
        yes: yes.count_ones(),
    }
}

impl Core<'_> {
    fn argument_of_call(&self, lane: usize, place: Place) -> u64 {
        let mut value = [0u8; 8];
        let (source, size) = match place {
            Place::Slot(slot) => {
                let offset = lane * self.local_stride + (self.local_frame + slot.offset) as usize;
                (self.local.wrapping_add(offset), slot.size.min(8))
            }
            Place::Register(reg, size) => {
                (self.place::<u8>(reg).wrapping_add(lane * size.max(2) as usize), size.min(8))
            }
        };
        // SAFETY: the frame's local memory or register, of at least `size` bytes.
        unsafe { std::ptr::copy_nonoverlapping(source, value.as_mut_ptr(), size as usize) };
        u64::from_le_bytes(value)
    }

    fn result_of_call(&mut self, lane: usize, place: Place, value: u64) {
        let (target, size) = match place {
            Place::Slot(slot) => {
                let offset = lane * self.local_stride + (self.local_frame + slot.offset) as usize;
                (self.local.wrapping_add(offset), slot.size.min(8))
            }
            Place::Register(reg, size) => {
                (self.place::<u8>(reg).wrapping_add(lane * size.max(2) as usize), size.min(8))
            }
        };
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), target, size as usize) };
    }
}
