//! Values in memory that are written and waited for in the order of work.

use super::{Action, Operation, use_span};
use crate::abi::sys::{
    CU_STREAM_WAIT_VALUE_FLUSH, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_NOT_SUPPORTED,
    CUdeviceptr_v2, CUresult,
};
use crate::check::Used;
use crate::check::access::Kind;
use crate::driver::context::Activation;
use crate::driver::memory::span::{Access, Place, Span};
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How long a wait rests between two looks: at first, and at most.
const FIRST_REST: Duration = Duration::from_micros(10);
const LONGEST_REST: Duration = Duration::from_millis(1);

const FLUSH: u32 = CU_STREAM_WAIT_VALUE_FLUSH.0 as u32;

/// An aligned word of memory.
#[derive(Clone)]
pub(crate) struct Word {
    pub(crate) span: Span,
    pub(crate) wide: bool,
}

impl Word {
    /// The context's device must have access.
    pub(crate) fn at(address: CUdeviceptr_v2, wide: bool, context: &Activation) -> Result<Self, CUresult> {
        Self::check_aligned(address, wide)?;
        let span = Span::on_device(address as usize, size(wide))?;
        span.check_access(context)?;
        // Only plain device memory and the host's will do (measured).
        if span.is_pooled() || span.place() == Place::Managed {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Self { span, wide })
    }

    /// Refuses an address that no word has.
    pub(crate) fn check_aligned(address: CUdeviceptr_v2, wide: bool) -> Result<(), CUresult> {
        let is_aligned = (address as usize).is_multiple_of(size(wide));
        if is_aligned { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }

    fn uses(&self, used: &mut Used) {
        use_span(used, &self.span, self.span.address(), self.span.size(), Kind::Atomic);
    }

    fn address(&self) -> u64 {
        self.span.address() as u64
    }

    fn read(&self) -> u64 {
        // SAFETY: the range was checked, is aligned, and is held; whoever else uses it does so atomically or in order.
        unsafe {
            match self.wide {
                true => AtomicU64::from_ptr(self.span.bytes().cast()).load(Ordering::Acquire),
                false => AtomicU32::from_ptr(self.span.bytes().cast()).load(Ordering::Acquire).into(),
            }
        }
    }

    fn write(&self, value: u64) {
        // SAFETY: as in `read`.
        unsafe {
            match self.wide {
                true => AtomicU64::from_ptr(self.span.bytes().cast()).store(value, Ordering::Release),
                false => AtomicU32::from_ptr(self.span.bytes().cast()).store(value as u32, Ordering::Release),
            }
        }
    }
}

/// The sticky error of a value where the device may not use memory so (measured, of a write where it may only read).
const FORBIDDEN: CUresult = CUDA_ERROR_LAUNCH_FAILED;

/// How many bytes a word has.
fn size(wide: bool) -> usize {
    if wide { 8 } else { 4 }
}

/// Writes a value.
#[derive(Clone)]
pub(crate) struct WriteValue {
    pub(crate) word: Word,
    pub(crate) value: u64,
}

impl Action for WriteValue {
    fn name(&self) -> &'static str {
        "a write of a value"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn accesses<'a>(&'a self, look: &mut dyn FnMut(Access<'a>)) {
        look(Access::write(&self.word.span));
    }

    fn uses(&self, used: &mut Used) {
        self.word.uses(used);
    }

    fn gives(&self, addresses: &mut Vec<u64>) {
        addresses.push(self.word.address());
    }

    fn forbidden(&self) -> CUresult {
        FORBIDDEN
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        self.word.write(self.value);
    }
}

/// What a wait waits for.
#[derive(Clone, Copy)]
pub(crate) enum Condition {
    /// Not less, where numbers go round.
    NotLess,
    Equal,
    /// A bit of both.
    And,
    /// A bit of neither.
    Nor,
}

impl Condition {
    /// Refuses what is none. A flush of what other devices have written is something that the device cannot do.
    pub(crate) fn of(flags: u32) -> Result<Self, CUresult> {
        let condition = match flags & !FLUSH {
            0 => Self::NotLess,
            1 => Self::Equal,
            2 => Self::And,
            3 => Self::Nor,
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        if flags & FLUSH != 0 { Err(CUDA_ERROR_NOT_SUPPORTED) } else { Ok(condition) }
    }

    fn holds(self, there: u64, value: u64, wide: bool) -> bool {
        let difference = there.wrapping_sub(value);
        let (neither, mask) = (!(there | value), if wide { u64::MAX } else { u64::from(u32::MAX) });
        match self {
            Self::NotLess if wide => difference as i64 >= 0,
            Self::NotLess => difference as u32 as i32 >= 0,
            Self::Equal => there == value,
            Self::And => there & value != 0,
            Self::Nor => neither & mask != 0,
        }
    }
}

/// Waits for a value, until the context ends if nothing else ends it.
#[derive(Clone)]
pub(crate) struct WaitValue {
    pub(crate) word: Word,
    pub(crate) value: u64,
    pub(crate) condition: Condition,
}

impl Action for WaitValue {
    fn name(&self) -> &'static str {
        "a wait for a value"
    }

    /// As a host function: what it waits for may be anything.
    fn kind(&self) -> WorkKind {
        WorkKind::Host
    }

    fn accesses<'a>(&'a self, look: &mut dyn FnMut(Access<'a>)) {
        look(Access::read(&self.word.span));
    }

    fn uses(&self, used: &mut Used) {
        self.word.uses(used);
    }

    fn awaits(&self, addresses: &mut Vec<u64>) {
        addresses.push(self.word.address());
    }

    fn forbidden(&self) -> CUresult {
        FORBIDDEN
    }

    fn run(&self, context: &Arc<Activation>, _turn: &Turn<'_>) {
        let mut rest = FIRST_REST;
        let goes_on = || !context.has_ended() && context.fault().is_ok();
        while !self.condition.holds(self.word.read(), self.value, self.word.wide) && goes_on() {
            std::thread::sleep(rest);
            rest = (rest * 2).min(LONGEST_REST);
        }
    }
}

/// Values that are written and waited for, one after the other.
#[derive(Clone)]
pub(crate) struct Values(pub(crate) Vec<Operation>);

impl Action for Values {
    fn name(&self) -> &'static str {
        "an operation on values"
    }

    /// One that waits may wait for anything.
    fn kind(&self) -> WorkKind {
        let waits = self.0.iter().any(|part| part.action().kind() == WorkKind::Host);
        if waits { WorkKind::Host } else { WorkKind::Device }
    }

    fn accesses<'a>(&'a self, look: &mut dyn FnMut(Access<'a>)) {
        self.0.iter().for_each(|part| part.action().accesses(look));
    }

    fn uses(&self, used: &mut Used) {
        self.0.iter().for_each(|part| part.action().uses(used));
    }

    fn awaits(&self, addresses: &mut Vec<u64>) {
        self.0.iter().for_each(|part| part.action().awaits(addresses));
    }

    fn gives(&self, addresses: &mut Vec<u64>) {
        self.0.iter().for_each(|part| part.action().gives(addresses));
    }

    fn forbidden(&self) -> CUresult {
        FORBIDDEN
    }

    fn run(&self, context: &Arc<Activation>, turn: &Turn<'_>) {
        self.0.iter().for_each(|part| part.action().run(context, turn));
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn numbers_go_round_and_bits_count_within_the_width() {
        for (there, value, wide, holds) in [
            (5, 5, false, true),
            (5, 6, false, false),
            (5, 0xffff_ffff, false, true),
            (5, 0xffff_ffff, true, false),
            (0x8000_0005, 5, false, false),
            (1, u64::MAX, true, true),
        ] {
            assert_eq!(Condition::NotLess.holds(there, value, wide), holds, "{there:#x} {value:#x} {wide}");
        }
        assert!(Condition::And.holds(6, 2, false) && !Condition::And.holds(4, 2, false));
        assert!(Condition::Nor.holds(5, 2, false) && !Condition::Nor.holds(5, 0xffff_fffa, false));
        assert!(Condition::Nor.holds(5, 0xffff_fffa, true));
    }
}
