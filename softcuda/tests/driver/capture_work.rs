//! What streams are given while they capture is done by the graph, in the order that streams and events demand, under every
//! schedule.

use crate::common::captures::{INVALIDATED, RELAXED, begin, end, graph_of, status};
use crate::common::graphs::{destroy, destroy_exec, instantiate, nodes, run};
use crate::common::streams::{Log, event, free_stream, nop, pinned, query, record, synchronize};
use crate::common::{Library, alone, at, everywhere, with_context};
use std::ffi::c_void;
use std::time::{Duration, Instant};

/// Numbers that repeat, for programs of no particular form.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

/// A node that writes the number at each launch.
fn note(cu: &Library, log: &'static Log, stream: u64, number: i32) {
    let [function, data] = log.params(number);
    assert_eq!(cu.call("cuLaunchHostFunc", &[stream, function, data]), 0);
}

fn wait(cu: &Library, stream: u64, event: u64) {
    assert_eq!(cu.call("cuStreamWaitEvent", &[stream, event, 0]), 0);
}

/// Streams of a capture, and which notes the next one in each must follow.
struct Program<'a> {
    cu: &'a Library,
    streams: Vec<u64>,
    tails: Vec<Vec<usize>>,
    events: Vec<(u64, Vec<usize>)>,
    /// For each note, those that it must follow.
    before: Vec<Vec<usize>>,
}

impl<'a> Program<'a> {
    /// A capture with three streams.
    fn begin(cu: &'a Library, log: &'static Log) -> Self {
        let streams: Vec<u64> = (0..3).map(|_| free_stream(cu)).collect();
        assert_eq!(begin(cu, streams[0], RELAXED), 0);
        let (tails, events, before) = (vec![Vec::new(); 3], Vec::new(), Vec::new());
        let mut program = Self { cu, streams, tails, events, before };
        program.note(log, 0);
        program.record(0);
        program.wait(1, 0);
        program.wait(2, 0);
        program
    }

    fn note(&mut self, log: &'static Log, stream: usize) {
        let number = self.before.len();
        note(self.cu, log, self.streams[stream], number as i32);
        self.before.push(std::mem::replace(&mut self.tails[stream], vec![number]));
    }

    fn record(&mut self, stream: usize) {
        let event = event(self.cu);
        record(self.cu, event, self.streams[stream]);
        self.events.push((event, self.tails[stream].clone()));
    }

    fn wait(&mut self, stream: usize, event: usize) {
        let (event, tail) = &self.events[event];
        wait(self.cu, self.streams[stream], *event);
        self.tails[stream].extend(tail);
    }

    fn step(&mut self, log: &'static Log, numbers: &mut Numbers) {
        let stream = numbers.below(3);
        match numbers.below(4) {
            0 => self.record(stream),
            1 => self.wait(stream, numbers.below(self.events.len())),
            _ => self.note(log, stream),
        }
    }

    /// The graph, when all streams have been joined.
    fn end(&mut self) -> u64 {
        for stream in [1, 2] {
            self.record(stream);
            self.wait(0, self.events.len() - 1);
        }
        graph_of(self.cu, self.streams[0])
    }

    fn is_kept_by(&self, noted: &[i32]) -> bool {
        let at = |note: usize| noted.iter().position(|one| *one as usize == note);
        let later = |note: usize| self.before[note].iter().all(|earlier| at(*earlier) < at(note));
        noted.len() == self.before.len() && (0..self.before.len()).all(later)
    }
}

#[test]
fn graphs_keep_the_order_of_streams_and_events() {
    everywhere("graphs_keep_the_order_of_streams_and_events", || {
        let cu = with_context();
        for seed in 0..8 {
            let (log, mut numbers) = (Log::new(), Numbers(seed));
            let mut program = Program::begin(&cu, log);
            (0..60).for_each(|_| program.step(log, &mut numbers));
            let graph = program.end();
            assert_eq!(nodes(&cu, graph).len(), program.before.len());
            assert!(log.numbers().is_empty(), "nothing has run");
            let (exec, s) = (instantiate(&cu, graph), free_stream(&cu));
            destroy(&cu, graph);
            for launch in 1..=2 {
                run(&cu, exec, s);
                let noted = log.numbers();
                let last = &noted[noted.len() - noted.len() / launch..];
                assert!(program.is_kept_by(last), "seed {seed}: {last:?}");
            }
            destroy_exec(&cu, exec);
        }
    });
}

/// Memory is read and written when the graph runs, also ordinary memory.
#[test]
fn captured_copies_read_what_is_there_at_the_launch() {
    everywhere("captured_copies_read_what_is_there_at_the_launch", || {
        let cu = with_context();
        let (s, mut memory) = (free_stream(&cu), 0u64);
        let (mut source, target) = (vec![1u8; 64], pinned(&cu, 64));
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut memory), 64]), 0);
        let from = source.as_ptr() as u64;
        assert_eq!(begin(&cu, s, RELAXED), 0);
        assert_eq!(cu.call("cuMemcpyHtoDAsync_v2", &[memory, from, 64, s]), 0);
        assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[target.as_mut_ptr() as u64, memory, 64, s]), 0);
        let graph = graph_of(&cu, s);
        let exec = instantiate(&cu, graph);
        for round in 2..5 {
            source.fill(round);
            run(&cu, exec, s);
            assert_eq!(target, vec![round; 64]);
        }
    });
}

/// What a capture forbids ends it without a graph: what it kept goes, on this thread, and its streams work.
#[test]
fn nothing_is_left_of_a_capture_that_fails() {
    everywhere("nothing_is_left_of_a_capture_that_fails", || {
        extern "C" fn destroy(log: *mut c_void) {
            // SAFETY: the log below, which lives for ever.
            unsafe { &*log.cast::<Log>() }.add(1);
        }
        let cu = with_context();
        let (main, side, e, log) = (free_stream(&cu), free_stream(&cu), event(&cu), Log::new());
        assert_eq!(begin(&cu, main, RELAXED), 0);
        nop(&cu, main);
        record(&cu, e, main);
        wait(&cu, side, e);
        let (mut state, mut graph, mut object) = (0i32, 0u64, 0u64);
        let told = [main, at(&mut state), 0, at(&mut graph), 0, 0];
        assert_eq!(cu.call("cuStreamGetCaptureInfo_v2", &told), 0);
        let data = std::ptr::from_ref(log) as u64;
        let arguments = [at(&mut object), data, destroy as *const () as u64, 1, 1];
        assert_eq!(cu.call("cuUserObjectCreate", &arguments), 0);
        assert_eq!(cu.call("cuGraphRetainUserObject", &[graph, object, 1, 1]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 900);
        assert_eq!((status(&cu, main), status(&cu, side)), (2, 2));
        assert!(log.numbers().is_empty());
        assert_eq!(end(&cu, main), (INVALIDATED, 0));
        assert_eq!(log.numbers(), [1]);
        assert_eq!((status(&cu, main), status(&cu, side)), (0, 0));
        assert_eq!((cu.live("graph"), cu.live("user object")), (0, 0));
        for stream in [main, side] {
            nop(&cu, stream);
            assert_eq!((synchronize(&cu, stream), query(&cu, stream)), (0, 0));
        }
    });
}

/// A hundred thousand nodes take seconds, also when forks have to be found joined.
#[test]
fn large_captures_take_linear_time() {
    alone("large_captures_take_linear_time", &[], || {
        let cu = with_context();
        let (main, side, e) = (free_stream(&cu), free_stream(&cu), event(&cu));
        let began = Instant::now();
        assert_eq!(begin(&cu, main, RELAXED), 0);
        for _ in 0..50_000 {
            nop(&cu, main);
        }
        record(&cu, e, main);
        wait(&cu, side, e);
        for _ in 0..50_000 {
            nop(&cu, side);
        }
        record(&cu, e, side);
        wait(&cu, main, e);
        let graph = graph_of(&cu, main);
        assert_eq!(nodes(&cu, graph).len(), 100_000);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    });
}
