//! What every call of a driver function passes through: the one place for rules that hold for all of them.

use super::gates;
use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_SYSTEM_NOT_READY, CUDA_SUCCESS, CUresult};
use crate::driver::{call, context};
use crate::instruments::counts::{self, FAULTS, TRACE};
use crate::instruments::trace::{self, Arguments, Line};
use crate::instruments::{fault, log, setup};

/// Runs the driver function behind export number `index`; `describe` tells its arguments to a trace.
pub(super) fn call(
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> CUresult {
    run(index, false, describe, body)
}

/// As `call`, for the variant of a function whose default stream is the per-thread one.
pub(super) fn call_per_thread(
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> CUresult {
    run(index, true, describe, body)
}

/// What an export answers that nothing implements.
pub(super) fn refuse(index: usize) -> CUresult {
    call(index, |_| {}, || Err(CUDA_ERROR_NOT_SUPPORTED))
}

fn run(
    index: usize,
    per_thread: bool,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> CUresult {
    if !setup::ready() {
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
    let admitted = || call::run(per_thread, || gates::admit(index).and_then(|()| body()));
    let answer = match counts::begin(index) {
        0 => admitted(),
        wanted => run_watched(wanted, index, describe, admitted),
    };
    log::ended(index, answer);
    match answer {
        Ok(()) => CUDA_SUCCESS,
        Err(code) => code,
    }
}

/// A fault may take the call's place, and it may be traced.
#[cold]
fn run_watched(
    wanted: u8,
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> Answer {
    let line = (wanted & TRACE != 0).then(|| Line::begin(index, describe));
    let strike = if wanted & FAULTS != 0 { fault::strike(index) } else { None };
    let answer = match &strike {
        Some(strike) => {
            if strike.sticky {
                context::poison(strike.code);
            }
            Err(strike.code)
        }
        None => body(),
    };
    if let Some(line) = line {
        trace::write(line.end(answer, strike.is_some()));
    }
    answer
}
