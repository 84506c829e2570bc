//! Captures begin, refuse what comes in their way, and end: every expectation was measured on driver 580, but for the
//! lines that say otherwise.
#![cfg(target_os = "linux")]

mod common;

use common::managed::{DEVICE, SIZE, managed};
use common::streams::{
    ILLEGAL_STATE, LEGACY, PER_THREAD, event, free_stream, query, record, stream, synchronize,
};
use common::{INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, first, with_context};

const UNSUPPORTED: i32 = 900;
const INVALIDATED: i32 = 901;
const ISOLATION: i32 = 905;
const IMPLICIT: i32 = 906;
const WRONG_THREAD: i32 = 908;

const GLOBAL: u64 = 0;
const THREAD_LOCAL: u64 = 1;
const RELAXED: u64 = 2;
const MODES: [u64; 3] = [GLOBAL, THREAD_LOCAL, RELAXED];

fn begin(cu: &Library, stream: u64, mode: u64) -> i32 {
    cu.call("cuStreamBeginCapture_v2", &[stream, mode])
}

fn status(cu: &Library, stream: u64) -> i32 {
    let mut status = 99;
    assert_eq!(cu.call("cuStreamIsCapturing", &[stream, at(&mut status)]), 0);
    status
}

/// The answer, and the graph.
fn end(cu: &Library, stream: u64) -> (i32, u64) {
    let mut graph = 7;
    (cu.call("cuStreamEndCapture", &[stream, at(&mut graph)]), graph)
}

/// Ends a capture that must be in good health.
fn end_well(cu: &Library, stream: u64) {
    let (answer, graph) = end(cu, stream);
    assert_eq!(answer, 0);
    assert_eq!(cu.call("cuGraphDestroy", &[graph]), 0);
}

/// Makes a call during a capture of this mode, which is to answer so, and ends the capture.
fn during(cu: &Library, stream: u64, mode: u64, expected: i32, call: &dyn Fn() -> i32) {
    assert_eq!(begin(cu, stream, mode), 0);
    assert_eq!(call(), expected, "mode {mode}");
    if expected == 0 {
        assert_eq!(status(cu, stream), 1, "mode {mode}");
        end_well(cu, stream);
    } else {
        assert_eq!(status(cu, stream), 2, "mode {mode}");
        assert_eq!(end(cu, stream), (INVALIDATED, 0), "mode {mode}");
    }
    assert_eq!(status(cu, stream), 0);
    assert_eq!(query(cu, stream), 0, "the stream can be used again");
}

/// Runs a test under each schedule.
fn everywhere(name: &str, body: impl Fn()) {
    for schedule in ["eager", "lazy", "seeded"] {
        alone(name, &[("SOFTCUDA_SCHEDULE", schedule)], &body);
    }
}

#[test]
fn begin_and_end() {
    everywhere("begin_and_end", || {
        let cu = with_context();
        let s = free_stream(&cu);
        assert_eq!(end(&cu, s), (ILLEGAL_STATE, 7));
        assert_eq!(begin(&cu, 0, GLOBAL), UNSUPPORTED);
        assert_eq!(begin(&cu, LEGACY, GLOBAL), UNSUPPORTED);
        assert_eq!(begin(&cu, s, 3), INVALID_VALUE);
        assert_eq!(status(&cu, s), 0);
        for stream in [s, PER_THREAD] {
            assert_eq!(begin(&cu, stream, GLOBAL), 0);
            assert_eq!(status(&cu, stream), 1);
            assert_eq!(begin(&cu, stream, RELAXED), ILLEGAL_STATE);
            assert_eq!(status(&cu, stream), 1, "unharmed");
            assert_eq!(cu.live("graph"), 0, "it is not the program's yet");
            let (answer, graph) = end(&cu, stream);
            assert_eq!(answer, 0);
            let mut nodes = 99u64;
            assert_eq!(cu.call("cuGraphGetNodes", &[graph, 0, at(&mut nodes)]), 0);
            assert_eq!((nodes, cu.live("graph")), (0, 1));
            assert_eq!(cu.call("cuGraphDestroy", &[graph]), 0);
            assert_eq!(cu.call("cuGraphDestroy", &[graph]), INVALID_VALUE, "chosen");
            assert_eq!((status(&cu, stream), cu.live("graph")), (0, 0));
        }
        assert_eq!(cu.call("cuGraphDestroy", &[0]), INVALID_VALUE);
        assert_eq!(begin(&cu, s, GLOBAL), 0);
        assert_eq!(cu.call("cuStreamDestroy_v2", &[s]), 0, "the capture goes with its stream");
        let mut plain = 0u64;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 64]), 0, "chosen");
    });
}

#[test]
fn info() {
    everywhere("info", || {
        let cu = with_context();
        let s = free_stream(&cu);
        let (mut status, mut id) = (99i32, 99u64);
        assert_eq!(cu.call("cuStreamGetCaptureInfo", &[s, at(&mut status), at(&mut id)]), 0);
        assert_eq!((status, id), (0, 99), "only the status is written");
        let update = |name: &str| cu.call(name, &[s, 0, 0, 0, 0]);
        assert_eq!(update("cuStreamUpdateCaptureDependencies"), ILLEGAL_STATE);
        assert_eq!(begin(&cu, s, GLOBAL), 0);
        let ask = |name: &str, with_edges: bool| {
            let (mut status, mut id, mut graph) = (99i32, 0u64, 0u64);
            let (mut nodes, mut edges, mut count) = (99u64, 99u64, 99u64);
            let mut arguments = vec![s, at(&mut status), at(&mut id), at(&mut graph), at(&mut nodes)];
            if with_edges {
                arguments.push(at(&mut edges));
            }
            arguments.push(at(&mut count));
            assert_eq!(cu.call(name, &arguments), 0);
            assert_eq!((status, nodes, count), (1, 0, 0));
            assert_eq!(cu.call(name, &[s, at(&mut status), 0, 0, 0, 0, 0]), 0, "the rest is optional");
            (id, graph)
        };
        let told = ask("cuStreamGetCaptureInfo_v2", false);
        assert_eq!(ask("cuStreamGetCaptureInfo_v3", true), told);
        assert_eq!(cu.call("cuStreamGetCaptureInfo", &[s, at(&mut status), at(&mut id)]), 0);
        assert_eq!((status, id), (1, told.0));
        assert_eq!(cu.call("cuGraphDestroy", &[told.1]), INVALID_VALUE, "chosen: the capture has it");
        assert_eq!(
            update("cuStreamUpdateCaptureDependencies_v2"),
            NOT_SUPPORTED,
            "chosen: there are no nodes"
        );
        assert_eq!(end(&cu, s), (0, told.1), "the same graph");
        assert_eq!(begin(&cu, s, GLOBAL), 0);
        let (next, _) = ask("cuStreamGetCaptureInfo_v2", false);
        assert_ne!(next, told.0, "documented: each capture has its own number");
    });
}

/// What the capturing stream cannot do, in any mode.
#[test]
fn what_the_stream_refuses() {
    extern "C" fn callback(_: u64, _: i32, _: u64) {}
    everywhere("what_the_stream_refuses", || {
        let cu = with_context();
        let (s, m) = (stream(&cu), managed(&cu, SIZE));
        let (pointers, sizes, attributes) = ([m, m + 64], [8u64, 8], [1u64, 0, 0]);
        let (places, starts) = ([DEVICE], [0u64]);
        let prefetch = [first(&pointers), first(&sizes), 1, first(&places), first(&starts), 1, 0, s];
        let copy = [
            first(&pointers),
            first(&pointers) + 8,
            first(&sizes),
            1,
            first(&attributes),
            first(&starts),
            1,
            s,
        ];
        for mode in MODES {
            let refuses = |call: &dyn Fn() -> i32| during(&cu, s, mode, UNSUPPORTED, call);
            refuses(&|| query(&cu, s));
            refuses(&|| synchronize(&cu, s));
            refuses(&|| cu.call("cuCtxSynchronize", &[]));
            refuses(&|| cu.call("cuStreamAddCallback", &[s, callback as *const () as u64, 0, 0]));
            refuses(&|| cu.call("cuMemPrefetchBatchAsync", &prefetch));
            refuses(&|| cu.call("cuMemPrefetchAsync_v2", &[m, SIZE, DEVICE, 0, s])); // chosen
        }
        // A batch of copies is refused, and the capture goes on.
        assert_eq!(begin(&cu, s, RELAXED), 0);
        assert_eq!(cu.call("cuMemcpyBatchAsync_v2", &copy), UNSUPPORTED);
        end_well(&cu, s);
        assert_eq!(begin(&cu, s, RELAXED), 0);
        assert_eq!(cu.call("cuMemPrefetchBatchAsync", &prefetch), UNSUPPORTED);
        assert_eq!(cu.call("cuMemcpyBatchAsync_v2", &copy), INVALIDATED, "it is invalid already");
        assert_eq!(end(&cu, s), (INVALIDATED, 0));
        assert_eq!(begin(&cu, s, RELAXED), 0);
        let mut none = copy;
        none[3] = 0;
        assert_eq!(cu.call("cuMemcpyBatchAsync_v2", &none), INVALID_VALUE);
        assert_eq!(cu.call("cuMemFreeAsync", &[m, s]), INVALID_VALUE, "it is no memory of the graph's");
        end_well(&cu, s);
    });
}

/// Chosen, as long as captures record nothing: no work is lost without a word.
#[test]
fn what_would_be_recorded_is_refused_loudly() {
    extern "C" fn function(_: u64) {}
    let said = alone("what_would_be_recorded_is_refused_loudly", &[], || {
        let cu = with_context();
        let (s, m, e) = (stream(&cu), managed(&cu, SIZE), event(&cu));
        let mut pointer = 7u64;
        let place = at(&mut pointer);
        let calls: &[(&str, &[u64])] = &[
            ("cuMemsetD8Async", &[m, 1, 8, s]),
            ("cuMemcpyAsync", &[m, m + 64, 8, s]),
            ("cuLaunchHostFunc", &[s, function as *const () as u64, 0]),
            ("cuEventRecord", &[e, s]),
            ("cuMemAllocAsync", &[place, 64, s]),
        ];
        for (name, arguments) in calls {
            during(&cu, s, RELAXED, NOT_SUPPORTED, &|| cu.call(name, arguments));
        }
        assert_eq!(pointer, 7);
        assert_eq!((cu.live("device memory"), cu.call("cuEventQuery", &[e])), (0, 0));
    });
    assert!(said.contains("a capture cannot record work yet"), "{said}");
}

#[test]
fn what_is_unsafe() {
    everywhere("what_is_unsafe", || {
        let cu = with_context();
        let (s, other, e) = (stream(&cu), stream(&cu), event(&cu));
        record(&cu, e, other);
        assert_eq!(synchronize(&cu, other), 0);
        let mut pool = 0u64;
        assert_eq!(cu.call("cuDeviceGetDefaultMemPool", &[at(&mut pool), 0]), 0);
        let mut memory = vec![0u8; 8192];
        let memory = at(&mut memory[0]);
        for mode in MODES {
            let expected = if mode == RELAXED { 0 } else { UNSUPPORTED };
            let is_unsafe = |call: &dyn Fn() -> i32| during(&cu, s, mode, expected, call);
            let mut pointer = 0u64;
            let place = at(&mut pointer);
            is_unsafe(&|| cu.call("cuMemAlloc_v2", &[place, 64]));
            assert_eq!(pointer != 0, mode == RELAXED);
            is_unsafe(&|| cu.call("cuMemHostAlloc", &[place, 64, 0]));
            is_unsafe(&|| cu.call("cuMemAllocManaged", &[place, 64, 1]));
            assert_eq!(cu.call("cuMemAlloc_v2", &[place, 64]), 0);
            is_unsafe(&|| cu.call("cuMemFree_v2", &[pointer]));
            is_unsafe(&|| cu.call("cuMemHostRegister_v2", &[memory, 4096, 0]));
            is_unsafe(&|| cu.call("cuCtxSetLimit", &[0, 1024]));
            is_unsafe(&|| cu.call("cuMemPoolTrimTo", &[pool, 0]));
            is_unsafe(&|| cu.call("cuEventQuery", &[e]));
            is_unsafe(&|| cu.call("cuEventSynchronize", &[e]));
            is_unsafe(&|| query(&cu, other));
            is_unsafe(&|| synchronize(&cu, other));

            let is_safe = |call: &dyn Fn() -> i32| during(&cu, s, mode, 0, call);
            is_safe(&|| cu.call("cuStreamCreate", &[place, 0]));
            is_safe(&|| cu.call("cuStreamDestroy_v2", &[pointer]));
            is_safe(&|| cu.call("cuEventCreate", &[place, 0]));
            is_safe(&|| cu.call("cuEventDestroy_v2", &[pointer]));
            is_safe(&|| cu.call("cuMemGetInfo_v2", &[place, place]));
            is_safe(&|| cu.call("cuCtxGetLimit", &[place, 0]));
            is_safe(&|| cu.call("cuStreamGetPriority", &[s, place]));
        }
    });
}

#[test]
fn the_legacy_stream() {
    everywhere("the_legacy_stream", || {
        let cu = with_context();
        let (blocking, free, m, e) = (stream(&cu), free_stream(&cu), managed(&cu, SIZE), event(&cu));
        for mode in MODES {
            for (stream, expected) in [(blocking, IMPLICIT), (free, 0)] {
                during(&cu, stream, mode, expected, &|| cu.call("cuMemsetD8_v2", &[m, 1, 8]));
                during(&cu, stream, mode, expected, &|| cu.call("cuEventRecord", &[e, 0]));
            }
            assert_eq!(begin(&cu, blocking, mode), 0);
            let mut told = 99i32;
            assert_eq!(cu.call("cuStreamIsCapturing", &[0, at(&mut told)]), IMPLICIT);
            assert_eq!(status(&cu, blocking), 1, "asking does no harm");
            end_well(&cu, blocking);
        }
        assert_eq!(begin(&cu, free, GLOBAL), 0);
        assert_eq!((status(&cu, 0), status(&cu, blocking)), (0, 0));
        end_well(&cu, free);
    });
}

/// Chosen: a capture ends with its context, and one context's legacy stream does not concern another's.
#[test]
fn contexts() {
    everywhere("contexts", || {
        let cu = with_context();
        let (mut own, mut other, mut plain) = (0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut own)]), 0);
        let memory = managed(&cu, SIZE);
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 0]), 0);
        let s = stream(&cu);
        assert_eq!(begin(&cu, s, GLOBAL), 0);
        assert_eq!(cu.call("cuCtxSetCurrent", &[own]), 0);
        assert_eq!(cu.call("cuMemsetD8_v2", &[memory, 1, 8]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(status(&cu, s), 1);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 64]), UNSUPPORTED);
        assert_eq!(cu.call("cuCtxDestroy_v2", &[other]), 0);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 64]), 0);
        assert_eq!(cu.live("graph"), 0);
    });
}

#[test]
fn waits_for_events() {
    everywhere("waits_for_events", || {
        let cu = with_context();
        let (s, other, e) = (free_stream(&cu), free_stream(&cu), event(&cu));
        let wait = || cu.call("cuStreamWaitEvent", &[s, e, 0]);
        during(&cu, s, RELAXED, 0, &wait);
        record(&cu, e, other);
        assert_eq!(synchronize(&cu, other), 0);
        during(&cu, s, RELAXED, ISOLATION, &wait);
    });
}

#[test]
fn threads() {
    everywhere("threads", || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let elsewhere = |call: &(dyn Fn() + Sync)| {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                    call();
                });
                thread.join().expect("the other thread is content");
            });
        };
        let (s, other, e) = (free_stream(&cu), free_stream(&cu), event(&cu));
        let allocate = || cu.call("cuMemAlloc_v2", &[at(&mut 0u64), 64]);
        let calls: [&(dyn Fn() -> i32 + Sync); 3] =
            [&allocate, &|| cu.call("cuEventQuery", &[e]), &|| synchronize(&cu, other)];
        for mode in MODES {
            let expected = if mode == GLOBAL { UNSUPPORTED } else { 0 };
            assert_eq!(begin(&cu, s, mode), 0);
            elsewhere(&|| calls.iter().for_each(|call| assert_eq!(call(), expected, "mode {mode}")));
            assert_eq!(status(&cu, s), if mode == GLOBAL { 2 } else { 1 });
            end(&cu, s);
            assert_eq!(begin(&cu, s, mode), 0);
            elsewhere(&|| assert_eq!(cu.call("cuCtxSynchronize", &[]), UNSUPPORTED));
            assert_eq!(end(&cu, s), (INVALIDATED, 0));

            assert_eq!(begin(&cu, s, mode), 0);
            elsewhere(&|| match mode {
                RELAXED => end_well(&cu, s),
                _ => {
                    assert_eq!(end(&cu, s), (WRONG_THREAD, 0));
                    assert_eq!(status(&cu, s), 0, "the capture is gone");
                }
            });
            assert_eq!(end(&cu, s).0, ILLEGAL_STATE);
        }

        let exchange = |mut mode: i32| {
            assert_eq!(cu.call("cuThreadExchangeStreamCaptureMode", &[at(&mut mode)]), 0);
            mode
        };
        assert_eq!(begin(&cu, s, GLOBAL), 0);
        elsewhere(&|| {
            assert_eq!(exchange(2), 0, "every thread begins so");
            calls.iter().for_each(|call| assert_eq!(call(), 0));
        });
        assert_eq!((exchange(2), allocate(), exchange(9), exchange(0)), (0, 0, 2, 9));
        end_well(&cu, s);
    });
}
