//! Functions of the caller that streams run: every expectation was measured on driver 580, but for the lines that say
//! otherwise.

use crate::common::streams::{
    Gate, INVALID_HANDLE, LEGACY, NOT_PERMITTED, NOT_READY, PER_THREAD, event, free_stream, pinned, record,
    stream, synchronize,
};
use crate::common::{INVALID_VALUE, Library, alone, at, with_context};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

/// Calls that a host function makes, and what they answer.
struct Probe {
    cu: Library,
    calls: Vec<(&'static str, Vec<u64>)>,
    answers: Mutex<(Vec<i32>, Option<ThreadId>)>,
}

impl Probe {
    extern "C" fn run(probe: *mut c_void) {
        // SAFETY: the probe that `launch` gave, which lives.
        let probe = unsafe { &*probe.cast::<Self>() };
        let answers = probe.calls.iter().map(|(name, arguments)| probe.cu.call(name, arguments)).collect();
        let thread = std::thread::current().id();
        *probe.answers.lock().unwrap_or_else(PoisonError::into_inner) = (answers, Some(thread));
    }

    extern "C" fn run_as_callback(_stream: u64, _status: i32, probe: *mut c_void) {
        Self::run(probe);
    }
}

/// As the conformance suite asks a host function, also a callback.
#[test]
fn what_a_host_function_may_call() {
    alone("what_a_host_function_may_call", &[], || {
        let cu = with_context();
        let (own, idle, e, mut out) = (free_stream(&cu), free_stream(&cu), event(&cu), [0u64; 8]);
        let place = at(&mut out);
        let expected: &[(&'static str, Vec<u64>, i32)] = &[
            ("cuStreamQuery", vec![own], NOT_READY),
            ("cuStreamQuery_ptsz", vec![0], NOT_PERMITTED),
            ("cuEventQuery", vec![e], 0),
            ("cuMemAlloc_v2", vec![place, 64], NOT_PERMITTED),
            ("cuGraphCreate", vec![place, 0], NOT_PERMITTED),
            // Chosen.
            ("cuStreamQuery", vec![LEGACY], NOT_PERMITTED),
            ("cuStreamQuery", vec![PER_THREAD], NOT_PERMITTED),
            ("cuEventRecord", vec![e, 0], NOT_PERMITTED),
            ("cuStreamDestroy_v2", vec![idle], NOT_PERMITTED),
            ("cuStreamSynchronize", vec![own], NOT_PERMITTED),
            ("cuEventRecord", vec![e, own], 0),
            ("cuEventSynchronize", vec![e], NOT_PERMITTED),
        ];
        let probe = Probe {
            cu: Library::core(),
            calls: expected.iter().map(|(name, arguments, _)| (*name, arguments.clone())).collect(),
            answers: Mutex::default(),
        };
        let data = std::ptr::from_ref(&probe) as u64;
        let launches: [(&str, Vec<u64>); 2] = [
            ("cuLaunchHostFunc", vec![own, Probe::run as *const () as u64, data]),
            ("cuStreamAddCallback", vec![own, Probe::run_as_callback as *const () as u64, data, 0]),
        ];
        for (name, arguments) in launches {
            assert_eq!(cu.call(name, &arguments), 0);
            assert_eq!(synchronize(&cu, own), 0);
            let (answers, thread) = probe.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for ((call, arguments, expected), answer) in expected.iter().zip(answers) {
                assert_eq!(answer, *expected, "{call} {arguments:x?} in {name}");
            }
            assert_ne!(thread, Some(std::thread::current().id()), "runs on a driver's thread");
        }
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0, "here all is allowed as before");
    });
}

#[test]
fn arguments() {
    alone("arguments", &[("SOFTCUDA_VERSION", "13.2")], || {
        extern "C" fn nothing(_: *mut c_void) {}
        let cu = with_context();
        let (s, function) = (stream(&cu), nothing as *const () as u64);
        assert_eq!(cu.call("cuLaunchHostFunc", &[0x1234, function, 0]), INVALID_HANDLE);
        for (mode, expected) in [(0, 0), (1, 0), (2, INVALID_VALUE)] {
            assert_eq!(cu.call("cuLaunchHostFunc_v2", &[s, function, 0, mode]), expected, "mode {mode}");
        }
        for default in [0, LEGACY, PER_THREAD] {
            assert_eq!(cu.call("cuLaunchHostFunc", &[default, function, 0]), 0);
        }
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
    });
}

/// Documented: a callback is told its stream as the caller named it, and success.
#[test]
fn what_a_callback_is_told() {
    alone("what_a_callback_is_told", &[], || {
        static TOLD: Mutex<Vec<(u64, i32, u64)>> = Mutex::new(Vec::new());
        extern "C" fn callback(stream: u64, status: i32, data: u64) {
            TOLD.lock().unwrap_or_else(PoisonError::into_inner).push((stream, status, data));
        }
        let cu = with_context();
        let s = stream(&cu);
        for (name, on, data) in [
            ("cuStreamAddCallback", s, 11),
            ("cuStreamAddCallback", 0, 12),
            ("cuStreamAddCallback", LEGACY, 13),
            ("cuStreamAddCallback_ptsz", 0, 14),
        ] {
            assert_eq!(cu.call(name, &[on, callback as *const () as u64, data, 0]), 0);
            assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        }
        let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(told, [(s, 0, 11), (0, 0, 12), (LEGACY, 0, 13), (0, 0, 14)]);
    });
}

/// The stream is not done before its host function is; what it wrote is there for what follows.
#[test]
fn a_host_function_is_work_of_the_stream() {
    alone("a_host_function_is_work_of_the_stream", &[], || {
        extern "C" fn write(place: *mut c_void) {
            std::thread::sleep(std::time::Duration::from_millis(10));
            // SAFETY: a byte of page-locked memory, which the stream reads later.
            unsafe { place.cast::<u8>().write(42) };
        }
        let cu = with_context();
        let (s, e, host) = (stream(&cu), event(&cu), pinned(&cu, 2));
        let mut device = 0u64;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut device), 64]), 0);
        let (from, to) = (host.as_mut_ptr() as u64, host.as_mut_ptr() as u64 + 1);
        assert_eq!(cu.call("cuLaunchHostFunc", &[s, write as *const () as u64, from]), 0);
        assert_eq!(cu.call("cuMemcpyHtoDAsync_v2", &[device, from, 1, s]), 0);
        assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[to, device, 1, s]), 0);
        record(&cu, e, s);
        assert_eq!(cu.call("cuEventSynchronize", &[e]), 0);
        assert_eq!(host, [42, 42]);
    });
}

/// A host function may wait for one of another stream, and for the program.
#[test]
fn host_functions_wait_for_each_other() {
    alone("host_functions_wait_for_each_other", &[], || {
        extern "C" fn open(gate: *mut c_void) {
            // SAFETY: the gate below, which lives for ever.
            let gate = unsafe { &*gate.cast::<Gate>() };
            assert!(gate.wait_until_reached());
            gate.open();
        }
        let cu = with_context();
        let (a, b) = (stream(&cu), stream(&cu));
        let gate = Gate::in_stream(&cu, a);
        let data = std::ptr::from_ref(gate) as u64;
        assert_eq!(cu.call("cuLaunchHostFunc", &[b, open as *const () as u64, data]), 0);
        assert_eq!(synchronize(&cu, a), 0);
        assert_eq!(synchronize(&cu, b), 0);
    });
}
