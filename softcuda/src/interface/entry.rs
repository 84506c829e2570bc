//! What every call of a driver function passes through: the one place for rules that hold for all of them.

use super::gates;
use crate::abi::Answer;
use crate::abi::names::EXPORTS;
use crate::abi::reach;
use crate::abi::sys::{
    CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, CUresult,
};
use crate::check;
use crate::driver::{call, context};
use crate::instruments::cancellation::Deferred;
use crate::instruments::complain::complain;
use crate::instruments::counts::{self, CHECKS, FAULTS, TRACE};
use crate::instruments::trace::{self, Arguments, Line};
use crate::instruments::{fault, log, setup};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the driver function behind export number `index`; `describe` tells its arguments to a trace. It is compiled once, and not
/// for each of the functions, which would be half of what there is to compile.
pub(super) fn call(index: usize, describe: &dyn Fn(&mut Arguments), body: &dyn Fn() -> Answer) -> CUresult {
    run(index, false, describe, body)
}

/// As `call`, for the variant of a function whose default stream is the per-thread one.
pub(super) fn call_per_thread(
    index: usize,
    describe: &dyn Fn(&mut Arguments),
    body: &dyn Fn() -> Answer,
) -> CUresult {
    run(index, true, describe, body)
}

/// What an export answers that nothing implements.
pub(super) fn refuse(index: usize) -> CUresult {
    call(index, &|_| {}, &|| Err(CUDA_ERROR_NOT_SUPPORTED))
}

fn run(
    index: usize,
    per_thread: bool,
    describe: &dyn Fn(&mut Arguments),
    body: &dyn Fn() -> Answer,
) -> CUresult {
    let _deferred = Deferred::new();
    reach::forget();
    let call = || {
        if !setup::ready() {
            return Err(CUDA_ERROR_SYSTEM_NOT_READY);
        }
        let admitted = || call::run(per_thread, || gates::admit(index).and_then(|()| body()));
        let answer = match counts::begin(index) {
            0 => admitted(),
            wanted => run_watched(wanted, index, describe, &admitted),
        };
        log::ended(index, answer);
        answer
    };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => defect(index),
    }
}

/// A panic stays inside: a driver does not end the process that calls it.
#[cold]
fn defect(index: usize) -> CUresult {
    complain(&format!("{} has met a defect of softcuda, as is said above", EXPORTS[index].name));
    CUDA_ERROR_UNKNOWN
}

/// A fault may take the call's place, and it may be traced.
#[cold]
fn run_watched(
    wanted: u8,
    index: usize,
    describe: &dyn Fn(&mut Arguments),
    body: &dyn Fn() -> Answer,
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
        None if wanted & CHECKS != 0 => check::call(EXPORTS[index].name, body),
        None => body(),
    };
    if let Some(line) = line {
        trace::write(line.end(answer, strike.is_some()));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::call;
    use crate::abi::names::EXPORTS;
    use crate::abi::sys::{CUDA_ERROR_UNKNOWN, CUDA_SUCCESS};

    #[test]
    fn a_panic_is_an_answer() {
        let always = EXPORTS.iter().position(|export| export.base == "cuDriverGetVersion").unwrap();
        let broken: fn() -> crate::abi::Answer = || panic!("a defect that a test has made");
        assert_eq!(call(always, &|_| {}, &broken), CUDA_ERROR_UNKNOWN);
        assert_eq!(call(always, &|_| {}, &|| Ok(())), CUDA_SUCCESS, "and it goes on");
    }
}
