//! What an instruction sees of the machine.

use super::block::BlockView;
use super::clock::Clock;
use super::fault::{FaultKind, Trouble};
use super::grid::Job;
use super::host::Region;
use super::program::Program;
use super::race::Races;
use super::read_only::ReadOnly;
use super::seen::{Seen, Use};

/// Lanes of a warp.
pub(in crate::ptx) const LANES: usize = 32;
/// All lanes.
pub(in crate::ptx) const FULL: u32 = !0;

/// A register: bytes from the start of the frame, or with the top bit set from the start of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::ptx) struct Reg(pub(in crate::ptx) u32);

impl Reg {
    const CONSTANT: u32 = 1 << 31;

    pub(in crate::ptx) fn constant(offset: u32) -> Self {
        Self(offset | Self::CONSTANT)
    }

    pub(in crate::ptx) fn is_constant(self) -> bool {
        self.0 & Self::CONSTANT != 0
    }
}

/// What executes an instruction.
pub(in crate::ptx) type Handler = for<'c> fn(&mut Core<'c>, &Op) -> Step;

/// An instruction, decoded. Lowering sees to it that registers lie within the frame and have the handler's width.
#[derive(Clone)]
pub(in crate::ptx) struct Op {
    pub(in crate::ptx) run: Handler,
    pub(in crate::ptx) d: Reg,
    pub(in crate::ptx) a: Reg,
    pub(in crate::ptx) b: Reg,
    pub(in crate::ptx) c: Reg,
    pub(in crate::ptx) imm: i64,
    /// What else the handler wants to know.
    pub(in crate::ptx) extra: u32,
    pub(in crate::ptx) line: u32,
    /// Index of the instruction's text.
    pub(in crate::ptx) text: u32,
}

/// How it goes on after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) enum Step {
    Next,
    /// The program counter has reached another group's, or has jumped while there are other groups.
    Reschedule,
    /// Some lanes (`taken`) jump to `target`, the others do not.
    Diverge,
    /// As `Diverge`, with the targets of the lanes in the table `target`.
    Scatter,
    Call,
    Return,
    Exit,
    Collective,
    Barrier,
    /// The slice of time is over.
    Yield,
    /// The lanes sleep for `nap`.
    Sleep,
    Fault,
}

/// Marks values that registers hold.
///
/// # Safety
/// Every bit pattern is a value, and there is no padding.
pub(in crate::ptx) unsafe trait Lane: Copy + Default + 'static {}

macro_rules! lanes { ($($t:ty)*) => { $(
    // SAFETY: a number.
    unsafe impl Lane for $t {}
)* } }
lanes!(u8 u16 u32 u64 u128 i8 i16 i32 i64 f32 f64);

/// The running group's view.
pub(in crate::ptx) struct Core<'c> {
    /// The frame's registers.
    registers: *mut u8,
    constants: *const u8,
    /// The lanes that take part.
    pub(in crate::ptx) mask: u32,
    /// The next instruction.
    pub(in crate::ptx) pc: u32,
    /// Where another group of the frame waits to be joined.
    pub(in crate::ptx) stop: u32,
    /// Whether there is no other group.
    pub(in crate::ptx) alone: bool,
    /// Instructions until the slice ends.
    pub(in crate::ptx) fuel: u32,
    pub(in crate::ptx) taken: u32,
    pub(in crate::ptx) target: u32,
    /// The local memory of lane 0, and the distance to the next lane's.
    pub(in crate::ptx) local: *mut u8,
    pub(in crate::ptx) local_stride: usize,
    /// Where the frame begins in each lane's local memory.
    pub(in crate::ptx) local_frame: u32,
    pub(in crate::ptx) warp: u32,
    pub(in crate::ptx) block: BlockView,
    pub(in crate::ptx) program: &'c Program,
    pub(in crate::ptx) job: &'c Job<'c>,
    /// Memory used lately.
    pub(in crate::ptx) regions: [Region; 4],
    pub(in crate::ptx) next_region: usize,
    pub(super) read_only: ReadOnly,
    /// What is used, if the launch is watched: then no region is remembered above.
    pub(super) seen: Option<Box<Seen>>,
    /// Of a launch that is watched: how many lanes use the memory that is looked up, one after the other.
    pub(super) run: usize,
    /// What is done to it, where the instruction alone does not say that.
    pub(super) doing: Option<Use>,
    /// Nanoseconds that the lanes want to sleep.
    pub(in crate::ptx) nap: u32,
    pub(in crate::ptx) clock: Clock,
    pub(in crate::ptx) trouble: Option<Trouble>,
}

impl<'c> Core<'c> {
    pub(in crate::ptx) fn new(program: &'c Program, job: &'c Job<'c>) -> Self {
        Self {
            registers: std::ptr::null_mut(),
            constants: program.constants.as_ptr().cast(),
            mask: 0,
            pc: 0,
            stop: u32::MAX,
            alone: true,
            fuel: 0,
            taken: 0,
            target: 0,
            local: std::ptr::null_mut(),
            local_stride: 0,
            local_frame: 0,
            warp: 0,
            block: BlockView::default(),
            program,
            job,
            regions: [Region::NONE; 4],
            next_region: 0,
            read_only: ReadOnly::default(),
            seen: job
                .watch
                .map(|watch| Box::new(Seen::new(watch.races.then(|| Races::new(job.grid, job.cluster))))),
            run: 1,
            doing: None,
            nap: 0,
            clock: Clock::default(),
            trouble: None,
        }
    }

    /// Goes to a frame's registers, which must be as long as its routine says.
    pub(in crate::ptx) fn enter(&mut self, registers: *mut u8) {
        self.registers = registers;
    }

    /// Executes until something wants more than the next instruction.
    pub(in crate::ptx) fn go(&mut self) -> Step {
        let ops: &'c [Op] = &self.program.ops;
        loop {
            if self.fuel == 0 {
                return Step::Yield;
            }
            self.fuel -= 1;
            let op = &ops[self.pc as usize];
            self.pc += 1;
            let step = (op.run)(self, op);
            if step != Step::Next {
                return step;
            }
            if self.pc >= self.stop {
                return Step::Reschedule;
            }
        }
    }

    #[inline(always)]
    pub(in crate::ptx) fn place<T: Lane>(&self, reg: Reg) -> *mut T {
        let base = if reg.is_constant() { self.constants.cast_mut() } else { self.registers };
        base.wrapping_add((reg.0 & !Reg::CONSTANT) as usize).cast()
    }

    /// All lanes' values, of inactive lanes too.
    #[inline(always)]
    pub(in crate::ptx) fn get<T: Lane>(&self, reg: Reg) -> [T; LANES] {
        // SAFETY: lowering gives registers of the frame or constants, of this width and aligned to 64 bytes.
        unsafe { self.place::<[T; LANES]>(reg).cast::<[T; LANES]>().read() }
    }

    /// Sets the active lanes' values.
    #[inline(always)]
    pub(in crate::ptx) fn put<T: Lane>(&mut self, reg: Reg, values: &[T; LANES]) {
        let place = self.place::<[T; LANES]>(reg);
        // SAFETY: as in `get`; destinations are never constants.
        let held = unsafe { &mut *place };
        if self.mask == FULL {
            *held = *values;
        } else {
            for (lane, (held, value)) in held.iter_mut().zip(values).enumerate() {
                if self.mask >> lane & 1 != 0 {
                    *held = *value;
                }
            }
        }
    }

    /// The active lanes of a predicate that is true.
    #[inline(always)]
    pub(in crate::ptx) fn predicate(&self, reg: Reg) -> u32 {
        // SAFETY: as in `get`; a predicate is one bit a lane.
        unsafe { self.place::<u32>(reg).read() }
    }

    #[inline(always)]
    pub(in crate::ptx) fn set_predicate(&mut self, reg: Reg, bits: u32) {
        let held = self.predicate(reg);
        // SAFETY: as in `put`.
        unsafe { self.place::<u32>(reg).write(held & !self.mask | bits & self.mask) }
    }

    /// The numbers of the active lanes.
    #[inline(always)]
    pub(in crate::ptx) fn active(&self) -> Bits {
        Bits(self.mask)
    }

    /// Ends the kernel with an error of one lane.
    #[cold]
    pub(in crate::ptx) fn fail(&mut self, kind: FaultKind, lane: usize, address: Option<u64>) -> Step {
        self.trouble = Some(Trouble { kind, lane: lane as u32, address, message: String::new() });
        Step::Fault
    }

    /// As `fail`, with a sentence.
    #[cold]
    pub(in crate::ptx) fn fail_saying(&mut self, kind: FaultKind, lane: usize, message: String) -> Step {
        self.trouble = Some(Trouble { kind, lane: lane as u32, address: None, message });
        Step::Fault
    }
}

// SAFETY note for `[T; 32]`: an array of lanes is a lane's value thirty-two times.
// SAFETY: an array of numbers.
unsafe impl<T: Lane, const N: usize> Lane for [T; N] where [T; N]: Default {}

/// The set bits of a mask, from the lowest.
pub(in crate::ptx) struct Bits(pub(in crate::ptx) u32);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}
