//! The compiler's options and logs.

use super::program::TARGET;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_JIT_BINARY_LOADER_THREAD_COUNT, CU_JIT_CACHE_MODE, CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_GLOBAL_SYMBOL_COUNT, CU_JIT_INFO_LOG_BUFFER,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS, CU_JIT_NUM_OPTIONS, CU_JIT_TARGET,
    CU_JIT_THREADS_PER_BLOCK, CU_JIT_WALL_TIME, CUDA_ERROR_INVALID_SOURCE, CUDA_ERROR_INVALID_VALUE,
    CUjit_option, CUresult,
};
use crate::instruments::complain::complain;
use std::ffi::{c_char, c_void};

/// What a caller asks of the compiler. Only the logs make a difference here, how many registers a kernel is said to need, and the target.
pub(super) struct Options {
    pub(super) most_registers: Option<u32>,
    /// Whether code is for a compute capability that the devices do not have.
    pub(super) foreign: bool,
    values: Out<*mut c_void>,
    info: Log,
    error: Log,
    wall_time: Option<usize>,
}

/// A caller's buffer for a log.
#[derive(Default)]
struct Log {
    buffer: Option<*mut c_void>,
    size: usize,
    /// Which option says the size, and is told the length.
    size_at: Option<usize>,
}

impl Options {
    /// Reads the options; refuses a number that no driver of this version knows.
    pub(super) fn read(
        count: u32,
        keys: Out<CUjit_option>,
        values: Out<*mut c_void>,
    ) -> Result<Self, CUresult> {
        let mut options = Self {
            most_registers: None,
            foreign: false,
            values,
            info: Log::default(),
            error: Log::default(),
            wall_time: None,
        };
        for index in 0..count as usize {
            let (key, value) = (keys.item(index)?, values.item(index)?);
            match key {
                CU_JIT_INFO_LOG_BUFFER => options.info.buffer = Some(value),
                CU_JIT_ERROR_LOG_BUFFER => options.error.buffer = Some(value),
                // A size is a number of 32 bits where a pointer has its place.
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => options.info.sized(index, value),
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => options.error.sized(index, value),
                CU_JIT_WALL_TIME => options.wall_time = Some(index),
                CU_JIT_MAX_REGISTERS | CU_JIT_THREADS_PER_BLOCK if value as u32 == 0 => {
                    return Err(CUDA_ERROR_INVALID_VALUE);
                }
                CU_JIT_MAX_REGISTERS => options.most_registers = Some(value as u32),
                CU_JIT_TARGET => options.foreign = is_foreign(value as u32)?,
                // Symbols come with a number of them; threads are for loading machine code (measured).
                CU_JIT_GLOBAL_SYMBOL_COUNT if value as u32 == 0 => return Err(CUDA_ERROR_INVALID_VALUE),
                CU_JIT_BINARY_LOADER_THREAD_COUNT => return Err(CUDA_ERROR_INVALID_VALUE),
                // A cache has three modes; "none" is the first (measured).
                CU_JIT_CACHE_MODE if value as u32 > 2 => return Err(CUDA_ERROR_INVALID_VALUE),
                key if (0..CU_JIT_NUM_OPTIONS.0.max(CU_JIT_CACHE_MODE.0)).contains(&key.0) => {}
                _ => return Err(CUDA_ERROR_INVALID_VALUE),
            }
        }
        options.info.check()?;
        options.error.check()?;
        Ok(options)
    }

    /// The options of code for the devices there are: for another target it would not run.
    pub(super) fn read_for_device(
        count: u32,
        keys: Out<CUjit_option>,
        values: Out<*mut c_void>,
    ) -> Result<Self, CUresult> {
        let options = Self::read(count, keys, values)?;
        if options.foreign { Err(CUDA_ERROR_INVALID_SOURCE) } else { Ok(options) }
    }

    /// Tells the caller what the compiler said. Where there is no place for it, it is said aloud: not all that a real
    /// driver compiles runs here.
    pub(super) fn report(&self, error: &str) {
        if self.error.buffer.is_none() {
            say(error);
        }
        self.info.write("", self.values);
        self.error.write(error, self.values);
        if let Some(index) = self.wall_time {
            // Milliseconds, as a float in the low half: compiling takes none here.
            let _ = self.values.set_item(index, std::ptr::null_mut());
        }
    }
}

/// Says the first line of a log, which names the instruction.
pub(super) fn say(log: &str) {
    if let Some(line) = log.lines().next() {
        complain(&format!("code is refused: {line}"));
    }
}

/// The capabilities that a `CUjit_target` may name; the higher digits of it say which variant.
const TARGETS: [u32; 27] = [
    20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 107, 110,
    120, 121,
];
const VARIANT: u32 = 0x1_0000;

/// Whether a target is another one than the devices'.
fn is_foreign(target: u32) -> Result<bool, CUresult> {
    match target % VARIANT {
        TARGET => Ok(false),
        other if TARGETS.contains(&other) => Ok(true),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

impl Log {
    fn sized(&mut self, index: usize, value: *mut c_void) {
        self.size = value as usize as u32 as usize;
        self.size_at = Some(index);
    }

    /// A log has a size, and a size a log (measured).
    fn check(&self) -> Answer {
        let has_place = self.buffer.is_some_and(|buffer| !buffer.is_null());
        if has_place == self.size_at.is_some() { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }

    /// Writes what fits, with a terminating zero. The length goes where the size stood; of a text that did not fit,
    /// with the zero, unless there is nothing else (measured).
    fn write(&self, text: &str, values: Out<*mut c_void>) {
        let (Some(buffer), Some(index)) = (self.buffer, self.size_at) else { return };
        if self.size > 0 {
            let size = i32::try_from(self.size).unwrap_or(i32::MAX);
            let _ = Out::<c_char>::untyped(buffer).set_text(text, size);
        }
        let told = match self.size {
            0 | 1 => 0,
            size if text.len() < size => text.len(),
            size => size,
        };
        let _ = values.set_item(index, told as *mut c_void);
    }
}
