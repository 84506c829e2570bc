//! Values in memory that a stream writes, and that it waits for: streams, and the host, can let each other go with them.
//!
//! The ABIs of before 11.7 are refused, as by a device that does not have them switched on (`cuDeviceGetAttribute` says so).

use super::Stream;
use crate::context::Activation;
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::memory::span::{Access, Place, Span};
use crate::pointer::Out;
use crate::sys::{
    CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, CU_STREAM_MEM_OP_WAIT_VALUE_32,
    CU_STREAM_MEM_OP_WAIT_VALUE_64, CU_STREAM_MEM_OP_WRITE_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64,
    CU_STREAM_WAIT_VALUE_FLUSH, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUdeviceptr_v2, CUresult,
    CUstream, CUstreamBatchMemOpParams,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// As many operations can be in one batch.
const MOST: u32 = 255;
/// How long a wait rests between two looks: at first, and at most.
const FIRST_REST: Duration = Duration::from_micros(10);
const LONGEST_REST: Duration = Duration::from_millis(1);

const FLUSH: u32 = CU_STREAM_WAIT_VALUE_FLUSH.0 as u32;

/// An aligned word of memory.
struct Word {
    span: Span,
    wide: bool,
}

impl Word {
    /// The stream's device must have access.
    fn at(address: CUdeviceptr_v2, wide: bool, stream: &Stream) -> Result<Self, CUresult> {
        let (address, size) = (address as usize, if wide { 8 } else { 4 });
        if !address.is_multiple_of(size) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let span = Span::on_device(address, size)?;
        span.check_access(&stream.context)?;
        // Only plain device memory and the host's will do (measured).
        if span.is_pooled() || span.place() == Place::Managed {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Self { span, wide })
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

/// The work of writing.
struct Write {
    word: Word,
    value: u64,
}

impl Work for Write {
    fn name(&self) -> &'static str {
        "a write of a value"
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    fn accesses(&self) -> Vec<Access<'_>> {
        vec![Access::write(&self.word.span)]
    }

    fn run(&self) {
        self.word.write(self.value);
    }
}

/// What a wait waits for.
#[derive(Clone, Copy)]
enum Condition {
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
    fn of(flags: u32) -> Result<Self, CUresult> {
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

/// The work of waiting, which ends with its context if nothing else ends it.
struct Wait {
    word: Word,
    value: u64,
    condition: Condition,
    context: Arc<Activation>,
}

impl Work for Wait {
    fn name(&self) -> &'static str {
        "a wait for a value"
    }

    /// As a host function: what it waits for may be anything.
    fn duty(&self) -> Duty {
        Duty::Host
    }

    fn accesses(&self) -> Vec<Access<'_>> {
        vec![Access::read(&self.word.span)]
    }

    fn run(&self) {
        let mut rest = FIRST_REST;
        let goes_on = || !self.context.has_ended() && self.context.fault().is_ok();
        while !self.condition.holds(self.word.read(), self.value, self.word.wide) && goes_on() {
            std::thread::sleep(rest);
            rest = (rest * 2).min(LONGEST_REST);
        }
    }
}

/// A checked operation.
enum Operation {
    Write(Write),
    Wait(Wait),
    /// Everything here is in order anyway.
    Barrier,
}

impl Operation {
    fn write(
        stream: &Stream,
        address: CUdeviceptr_v2,
        value: u64,
        flags: u32,
        wide: bool,
    ) -> Result<Self, CUresult> {
        // The only flag there is, to write without a barrier, is refused (measured).
        if flags != 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Self::Write(Write { word: Word::at(address, wide, stream)?, value }))
    }

    fn wait(
        stream: &Stream,
        address: CUdeviceptr_v2,
        value: u64,
        flags: u32,
        wide: bool,
    ) -> Result<Self, CUresult> {
        let condition = Condition::of(flags)?;
        let context = Arc::clone(&stream.context);
        Ok(Self::Wait(Wait { word: Word::at(address, wide, stream)?, value, condition, context }))
    }

    /// One of a batch.
    fn of(stream: &Stream, params: CUstreamBatchMemOpParams) -> Result<Self, CUresult> {
        // SAFETY: every member starts with the operation, which says which one the caller has written; all are of plain
        // numbers. A wait and a write have the same fields.
        let (operation, value, barrier) =
            unsafe { (params.operation, params.writeValue, params.memoryBarrier.flags) };
        // SAFETY: as above.
        let (narrow, number) = unsafe { (u64::from(value.u16.value), value.u16.value64) };
        match operation {
            CU_STREAM_MEM_OP_WRITE_VALUE_32 => Self::write(stream, value.address, narrow, value.flags, false),
            CU_STREAM_MEM_OP_WRITE_VALUE_64 => Self::write(stream, value.address, number, value.flags, true),
            CU_STREAM_MEM_OP_WAIT_VALUE_32 => Self::wait(stream, value.address, narrow, value.flags, false),
            CU_STREAM_MEM_OP_WAIT_VALUE_64 => Self::wait(stream, value.address, number, value.flags, true),
            CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => Err(CUDA_ERROR_NOT_SUPPORTED),
            // Of all memory, or of the device's own.
            CU_STREAM_MEM_OP_BARRIER if barrier <= 1 => Ok(Self::Barrier),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn submit(self, stream: &Arc<Stream>) -> Answer {
        match self {
            Self::Write(work) => stream.submit(work).map(drop),
            Self::Wait(work) => stream.submit(work).map(drop),
            Self::Barrier => Ok(()),
        }
    }
}

fn write(stream: CUstream, address: CUdeviceptr_v2, value: u64, flags: u32, wide: bool) -> Answer {
    let stream = Stream::of(stream)?;
    Operation::write(&stream, address, value, flags, wide)?.submit(&stream)
}

fn wait(stream: CUstream, address: CUdeviceptr_v2, value: u64, flags: u32, wide: bool) -> Answer {
    let stream = Stream::of(stream)?;
    Operation::wait(&stream, address, value, flags, wide)?.submit(&stream)
}

pub(crate) fn cuStreamWriteValue32_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u32,
    flags: u32,
) -> Answer {
    write(stream, addr, value.into(), flags, false)
}

pub(crate) fn cuStreamWriteValue64_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u64,
    flags: u32,
) -> Answer {
    write(stream, addr, value, flags, true)
}

pub(crate) fn cuStreamWaitValue32_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u32,
    flags: u32,
) -> Answer {
    wait(stream, addr, value.into(), flags, false)
}

pub(crate) fn cuStreamWaitValue64_v2(
    stream: CUstream,
    addr: CUdeviceptr_v2,
    value: u64,
    flags: u32,
) -> Answer {
    wait(stream, addr, value, flags, true)
}

/// All of them, or none if one is wrong.
pub(crate) fn cuStreamBatchMemOp_v2(
    stream: CUstream,
    count: u32,
    paramArray: Out<CUstreamBatchMemOpParams>,
    flags: u32,
) -> Answer {
    let stream = Stream::of(stream)?;
    if flags != 0 || count > MOST {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let checked: Result<Vec<Operation>, CUresult> =
        (0..count as usize).map(|index| Operation::of(&stream, paramArray.item(index)?)).collect();
    checked?.into_iter().try_for_each(|operation| operation.submit(&stream))
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
