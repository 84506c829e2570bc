//! Captures and threads: several at once, one on several threads, and who disturbs whom.

use crate::common::captures::{
    GLOBAL, ILLEGAL_STATE, RELAXED, THREAD_LOCAL, UNSUPPORTED, begin, end, graph_of, status,
};
use crate::common::graphs::{destroy, instantiate, nodes, run};
use crate::common::streams::{Log, free_stream, nop};
use crate::common::{Library, at, everywhere, with_context};
use std::ffi::c_void;
use std::sync::Barrier;

/// Runs a body on another thread, where the context is current too, and waits for its answer.
fn elsewhere<T: Send>(cu: &Library, body: impl FnOnce() -> T + Send) -> T {
    let mut context = 0u64;
    assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
    let body = || {
        assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
        body()
    };
    std::thread::scope(|scope| scope.spawn(body).join()).expect("the body does not panic")
}

/// The same on many threads at once, which begin together.
fn together<T: Send>(cu: &Library, count: usize, body: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (mut context, barrier) = (0u64, Barrier::new(count));
    assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
    let run = |number| {
        assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
        barrier.wait();
        body(number)
    };
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the body does not panic")).collect()
    })
}

/// A call that a capture may not bear.
fn allocate(cu: &Library) -> i32 {
    let mut memory = 0u64;
    cu.call("cuMemAlloc_v2", &[at(&mut memory), 64])
}

#[test]
fn threads_capture_side_by_side() {
    everywhere("threads_capture_side_by_side", || {
        let cu = with_context();
        let all = together(&cu, 4, |thread| {
            let (stream, log) = (free_stream(&cu), Log::new());
            assert_eq!(begin(&cu, stream, THREAD_LOCAL), 0);
            for number in 0..100 {
                let [function, data] = log.params(number);
                assert_eq!(cu.call("cuLaunchHostFunc", &[stream, function, data]), 0);
            }
            assert_eq!(status(&cu, stream), 1, "thread {thread}");
            (graph_of(&cu, stream), stream, log)
        });
        for (graph, stream, log) in all {
            run(&cu, instantiate(&cu, graph), stream);
            assert_eq!(log.numbers(), Vec::from_iter(0..100));
        }
    });
}

#[test]
fn a_relaxed_capture_takes_work_from_every_thread() {
    everywhere("a_relaxed_capture_takes_work_from_every_thread", || {
        let cu = with_context();
        let stream = free_stream(&cu);
        assert_eq!(begin(&cu, stream, RELAXED), 0);
        together(&cu, 4, |_| (0..100).for_each(|_| nop(&cu, stream)));
        let graph = elsewhere(&cu, || graph_of(&cu, stream));
        assert_eq!(nodes(&cu, graph).len(), 400);
        let mut edges = 0usize;
        assert_eq!(cu.call("cuGraphGetEdges", &[graph, 0, 0, at(&mut edges)]), 0);
        assert_eq!(edges, 399, "each follows the one before it");
    });
}

/// Of two ends at once one has the graph, and the other finds no capture.
#[test]
fn one_thread_ends_a_capture() {
    everywhere("one_thread_ends_a_capture", || {
        let cu = with_context();
        let stream = free_stream(&cu);
        for _ in 0..50 {
            assert_eq!(begin(&cu, stream, RELAXED), 0);
            nop(&cu, stream);
            let mut ends = together(&cu, 2, |_| end(&cu, stream));
            ends.sort_unstable();
            assert_eq!((ends[0].0, ends[1]), (0, (ILLEGAL_STATE, 0)));
            destroy(&cu, ends[0].1);
            assert_eq!(cu.live("graph"), 0);
        }
    });
}

/// An unsafe call invalidates the global captures of all threads and its own thread's, and no other.
#[test]
fn an_unsafe_call_meets_some_captures() {
    everywhere("an_unsafe_call_meets_some_captures", || {
        let cu = with_context();
        let streams: Vec<u64> = (0..3).map(|_| free_stream(&cu)).collect();
        let states = || streams.iter().map(|stream| status(&cu, *stream)).collect::<Vec<_>>();
        for (mode, stream) in [GLOBAL, THREAD_LOCAL, RELAXED].into_iter().zip(&streams) {
            assert_eq!(begin(&cu, *stream, mode), 0);
        }
        let mut relaxed = RELAXED as i32;
        let exchange = |mode: &mut i32| cu.call("cuThreadExchangeStreamCaptureMode", &[at(mode)]);
        assert_eq!((exchange(&mut relaxed), allocate(&cu), states()), (0, 0, vec![1, 1, 1]));
        assert_eq!(exchange(&mut relaxed), 0);
        let other = elsewhere(&cu, || {
            let mut mode = RELAXED as i32;
            let spared = (exchange(&mut mode), allocate(&cu), states());
            mode = GLOBAL as i32;
            assert_eq!(exchange(&mut mode), 0);
            (spared, allocate(&cu), states())
        });
        assert_eq!(other, ((0, 0, vec![1, 1, 1]), UNSUPPORTED, vec![2, 1, 1]));
        assert_eq!((allocate(&cu), states()), (UNSUPPORTED, vec![2, 2, 1]));
        let ends: Vec<i32> = streams.iter().map(|stream| end(&cu, *stream).0).collect();
        assert_eq!((ends, allocate(&cu)), (vec![901, 901, 0], 0));
    });
}

/// Work and invalidation race: what was taken is in the graph, and what was not was refused.
#[test]
fn invalidation_races_with_work() {
    extern "C" fn nothing(_: *mut c_void) {}
    everywhere("invalidation_races_with_work", || {
        let cu = with_context();
        for _ in 0..20 {
            let stream = free_stream(&cu);
            assert_eq!(begin(&cu, stream, GLOBAL), 0);
            let answers = together(&cu, 3, |thread| match thread {
                0 => vec![allocate(&cu)],
                _ => (0..20)
                    .map(|_| cu.call("cuLaunchHostFunc", &[stream, nothing as *const () as u64, 0]))
                    .collect(),
            });
            assert_eq!(answers[0], [UNSUPPORTED]);
            assert!(answers[1..].iter().all(|answers| answers.is_sorted()), "{answers:?}");
            assert_eq!((status(&cu, stream), end(&cu, stream)), (2, (901, 0)));
        }
    });
}
