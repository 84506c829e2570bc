//! The order of work in graphs, under every schedule: what follows is done later, and nothing else waits.
#![allow(clippy::print_stderr)] // how a child tells its parent what happened

use crate::common::graphs::{
    child_node, destroy, destroy_exec, empty_node, graph, host_node, instantiate, launch, memset_node,
    memset_params,
};
use crate::common::streams::{
    LEGACY, Log, NOT_READY, PER_THREAD, event, free_stream, nop, pinned, query, record, stream, synchronize,
};
use crate::common::{Library, alone, at, everywhere, first, with_context};
use std::ffi::c_void;
use std::sync::Barrier;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

/// Numbers that repeat, for graphs of no particular form.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

/// A graph of noting nodes, and which of them follow which.
fn random(cu: &Library, log: &'static Log, numbers: &mut Numbers, count: usize) -> (u64, Vec<Vec<usize>>) {
    let graph = graph(cu);
    let (mut nodes, mut edges): (Vec<u64>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for node in 0..count {
        let mut before: Vec<usize> =
            (0..numbers.below(4)).filter(|_| node > 0).map(|_| numbers.below(node)).collect();
        before.sort_unstable();
        before.dedup();
        let after: Vec<u64> = before.iter().map(|earlier| nodes[*earlier]).collect();
        // Some take no time, and leave no note.
        nodes.push(match node % 5 {
            4 => empty_node(cu, graph, &after),
            _ => log.node(cu, graph, &after, node as i32),
        });
        edges.push(before);
    }
    (graph, edges)
}

/// Whether what was noted keeps the order, through nodes that note nothing, too.
fn keeps(noted: &[i32], edges: &[Vec<usize>]) -> bool {
    let at = |node: usize| noted.iter().position(|one| *one as usize == node);
    (0..edges.len()).all(|node| {
        let Some(place) = at(node) else { return node % 5 == 4 };
        let (mut waiting, mut fine) = (edges[node].clone(), true);
        while let Some(earlier) = waiting.pop() {
            match at(earlier) {
                Some(before) => fine &= before < place,
                None => waiting.extend(&edges[earlier]),
            }
        }
        fine
    })
}

#[test]
fn every_schedule_keeps_the_order_of_any_graph() {
    everywhere("every_schedule_keeps_the_order_of_any_graph", || {
        let cu = with_context();
        let mut numbers = Numbers(5);
        for count in [1, 2, 7, 40] {
            let log = Log::new();
            let (graph, edges) = random(&cu, log, &mut numbers, count);
            let exec = instantiate(&cu, graph);
            destroy(&cu, graph);
            let stream = free_stream(&cu);
            for _ in 0..5 {
                let before = log.numbers().len();
                launch(&cu, exec, stream);
                assert_eq!(synchronize(&cu, stream), 0);
                let noted = &log.numbers()[before..];
                assert_eq!(noted.len(), (0..count).filter(|node| node % 5 != 4).count());
                assert!(keeps(noted, &edges), "{noted:?} {edges:?}");
            }
        }
    });
}

#[test]
fn a_seed_repeats_the_order_of_a_graph() {
    let run = |seed: &str| {
        let said = alone(
            "a_seed_repeats_the_order_of_a_graph",
            &[("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", seed)],
            || {
                let cu = with_context();
                let (log, graph, stream) = (Log::new(), graph(&cu), free_stream(&cu));
                for number in 0..12 {
                    log.node(&cu, graph, &[], number);
                }
                launch(&cu, instantiate(&cu, graph), stream);
                assert_eq!(synchronize(&cu, stream), 0);

                eprintln!("order {:?}", log.numbers());
            },
        );
        said.lines().find(|line| line.starts_with("order")).map(str::to_owned)
    };
    let orders: Vec<_> = ["1", "2", "3", "4"].iter().map(|seed| run(seed)).collect();
    assert_eq!(run("2"), orders[1]);
    if orders.iter().all(Option::is_some) {
        assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
    }
}

/// Work in the stream comes before and after the whole of a launch.
#[test]
fn a_launch_has_its_place_in_its_stream() {
    everywhere("a_launch_has_its_place_in_its_stream", || {
        let cu = with_context();
        for stream in [stream(&cu), free_stream(&cu), LEGACY, PER_THREAD] {
            let (log, graph) = (Log::new(), graph(&cu));
            let first = log.node(&cu, graph, &[], 1);
            log.node(&cu, graph, &[], 1);
            log.node(&cu, graph, &[first], 2);
            let exec = instantiate(&cu, graph);
            for _ in 0..3 {
                log.note(&cu, stream, 0);
                launch(&cu, exec, stream);
                log.note(&cu, stream, 3);
            }
            assert_eq!(synchronize(&cu, stream), 0);
            let noted = log.numbers();
            assert!(noted.chunks(5).all(|one| one[0] == 0 && one[4] == 3), "{noted:?}");
            assert_eq!(noted.len(), 15);
            assert_eq!(query(&cu, stream), 0);
        }
    });
}

/// The legacy stream waits for a launch in a stream that blocks it, and the other way round.
#[test]
fn launches_and_the_legacy_stream_wait_for_each_other() {
    everywhere("launches_and_the_legacy_stream_wait_for_each_other", || {
        let cu = with_context();
        let (log, graph, stream) = (Log::new(), graph(&cu), stream(&cu));
        log.node(&cu, graph, &[], 1);
        let exec = instantiate(&cu, graph);
        for _ in 0..5 {
            log.note(&cu, LEGACY, 0);
            launch(&cu, exec, stream);
            log.note(&cu, LEGACY, 2);
        }
        assert_eq!(synchronize(&cu, LEGACY), 0);
        assert_eq!(log.numbers(), [0, 1, 2].repeat(5));
    });
}

#[test]
fn launches_of_one_exec_come_one_after_the_other_in_any_streams() {
    everywhere("launches_of_one_exec_come_one_after_the_other_in_any_streams", || {
        let cu = with_context();
        let (log, graph) = (Log::new(), graph(&cu));
        let begin = log.node(&cu, graph, &[], 1);
        let middle = [log.node(&cu, graph, &[begin], 2), log.node(&cu, graph, &[begin], 2)];
        log.node(&cu, graph, &middle, 3);
        let exec = instantiate(&cu, graph);
        let streams = [free_stream(&cu), free_stream(&cu), stream(&cu)];
        for round in 0..9 {
            launch(&cu, exec, streams[round % 3]);
        }
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(log.numbers(), [1, 2, 2, 3].repeat(9));
    });
}

/// Functions that wait for each other: none of them comes back before all of them are there.
#[test]
fn branches_run_side_by_side() {
    extern "C" fn meet(barrier: *mut c_void) {
        // SAFETY: the barrier below, which lives for ever.
        unsafe { &*barrier.cast::<Barrier>() }.wait();
    }
    everywhere("branches_run_side_by_side", || {
        let cu = with_context();
        let (graph, stream): (u64, u64) = (graph(&cu), free_stream(&cu));
        let barrier: &'static Barrier = Box::leak(Box::new(Barrier::new(4)));
        let begin = empty_node(&cu, graph, &[]);
        for _ in 0..4 {
            let one = empty_node(&cu, graph, &[begin]);
            host_node(&cu, graph, &[one], meet, barrier);
        }
        launch(&cu, instantiate(&cu, graph), stream);
        assert_eq!(synchronize(&cu, stream), 0);
    });
}

#[test]
fn child_graphs_run_as_a_whole() {
    everywhere("child_graphs_run_as_a_whole", || {
        let cu = with_context();
        let (log, inner, middle, outer) = (Log::new(), graph(&cu), graph(&cu), graph(&cu));
        log.node(&cu, inner, &[], 2);
        log.node(&cu, inner, &[], 2);
        let begin = log.node(&cu, middle, &[], 1);
        let child = child_node(&cu, middle, &[begin], inner);
        let nothing = graph(&cu);
        let nothing = child_node(&cu, middle, &[child], nothing);
        log.node(&cu, middle, &[nothing], 3);
        let begin = log.node(&cu, outer, &[], 0);
        let first = child_node(&cu, outer, &[begin], middle);
        let end = log.node(&cu, outer, &[first], 4);
        child_node(&cu, outer, &[end], middle);
        let exec = instantiate(&cu, outer);
        [inner, middle, outer].into_iter().for_each(|graph| destroy(&cu, graph));
        let stream = free_stream(&cu);
        for _ in 0..3 {
            launch(&cu, exec, stream);
        }
        assert_eq!(synchronize(&cu, stream), 0);
        assert_eq!(log.numbers(), [0, 1, 2, 2, 3, 4, 1, 2, 2, 3].repeat(3));
    });
}

/// What a launch waits for, and who waits for it, across streams and events of nodes.
#[test]
fn nodes_record_events_and_wait_for_them() {
    everywhere("nodes_record_events_and_wait_for_them", || {
        let cu = with_context();
        let (log, streams) = (Log::new(), [free_stream(&cu), free_stream(&cu)]);
        let (before, inside) = (event(&cu), event(&cu));
        let graph = graph(&cu);
        let mut node = 0;
        assert_eq!(cu.call("cuGraphAddEventWaitNode", &[at(&mut node), graph, 0, 0, before]), 0);
        let noted = log.node(&cu, graph, &[node], 2);
        assert_eq!(
            cu.call("cuGraphAddEventRecordNode", &[at(&mut node), graph, first(&[noted]), 1, inside]),
            0
        );
        // Waits for the record of the same launch.
        let mut wait = 0;
        assert_eq!(cu.call("cuGraphAddEventWaitNode", &[at(&mut wait), graph, first(&[node]), 1, inside]), 0);
        log.node(&cu, graph, &[wait], 3);
        let exec = instantiate(&cu, graph);
        for _ in 0..5 {
            log.note(&cu, streams[0], 1);
            record(&cu, before, streams[0]);
            launch(&cu, exec, streams[1]);
            // The program sees the record from the launch on.
            assert_eq!(cu.call("cuStreamWaitEvent", &[streams[0], inside, 0]), 0);
        }
        for stream in streams {
            assert_eq!(synchronize(&cu, stream), 0);
        }
        let noted: Vec<i32> = log.numbers().into_iter().filter(|number| *number != 3).collect();
        assert_eq!(noted, [1, 2].repeat(5));
        assert_eq!(cu.call("cuEventQuery", &[inside]), 0);
    });
}

/// Under the lazy schedule, nothing of a launch runs before something asks for it.
#[test]
fn lazy_launches_wait_until_they_are_asked_for() {
    alone("lazy_launches_wait_until_they_are_asked_for", &[("SOFTCUDA_SCHEDULE", "lazy")], || {
        let cu = with_context();
        let (log, graph, stream) = (Log::new(), graph(&cu), free_stream(&cu));
        log.node(&cu, graph, &[], 1);
        let exec = instantiate(&cu, graph);
        launch(&cu, exec, stream);
        std::thread::sleep(Duration::from_millis(50));
        assert!(log.numbers().is_empty());
        assert_eq!(query(&cu, stream), NOT_READY);
        assert_eq!(synchronize(&cu, stream), 0);
        assert_eq!(log.numbers(), [1]);
    });
}

/// What is written and waited for in a node is so in the order of its list, and what comes behind waits.
#[test]
fn operations_on_values_keep_their_order() {
    everywhere("operations_on_values_keep_their_order", || {
        const WRITE: u64 = 2;
        const WAIT: u64 = 1;
        let cu = with_context();
        let (log, graph, stream) = (Log::new(), graph(&cu), free_stream(&cu));
        let memory = pinned(&cu, 8);
        let address = memory.as_ptr() as u64;
        // Kind, address, value, flags: written 1, waited for 1, written 2, waited for 3, which the program writes.
        let list: Vec<u64> = [(WRITE, 1, 0), (WAIT, 1, 1), (WRITE, 2, 0), (WAIT, 3, 1)]
            .iter()
            .flat_map(|(kind, value, flags)| [*kind, address, *value, *flags, 0, 0])
            .collect();
        let (mut context, mut node) = (0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let params = [context, 4, first(&list), 0];
        assert_eq!(cu.call("cuGraphAddBatchMemOpNode", &[at(&mut node), graph, 0, 0, first(&params)]), 0);
        log.node(&cu, graph, &[node], 1);
        let exec = instantiate(&cu, graph);
        launch(&cu, exec, stream);
        let word = memory.as_mut_ptr().cast::<u32>();
        let begin = Instant::now();
        // SAFETY: page-locked memory, which the driver reads and writes as a whole word.
        while unsafe { AtomicU32::from_ptr(word) }.load(Acquire) != 2 {
            assert_eq!(query(&cu, stream), NOT_READY);
            assert!(begin.elapsed() < Duration::from_secs(20));
        }
        assert!(log.numbers().is_empty());
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(word) }.store(3, Release);
        assert_eq!(synchronize(&cu, stream), 0);
        assert_eq!(log.numbers(), [1]);
    });
}

/// A node's memory is what it is when its turn comes.
#[test]
fn nodes_read_memory_when_they_run() {
    everywhere("nodes_read_memory_when_they_run", || {
        let cu = with_context();
        let (_, memory) = cu.allocate(4);
        let (graph, stream, host) = (graph(&cu), free_stream(&cu), pinned(&cu, 4));
        let fill = memset_node(&cu, graph, &[], &memset_params(memory, 7, 1, 4));
        let mut copy = [0u64; 25];
        // From device to host memory: types, addresses, extent.
        (copy[4], copy[6], copy[15], copy[16]) = (2, memory, 1, host.as_ptr() as u64);
        (copy[22], copy[23], copy[24]) = (4, 1, 1);
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let mut node = 0u64;
        let after = [fill];
        let arguments = [at(&mut node), graph, first(&after), 1, first(&copy), context];
        assert_eq!(cu.call("cuGraphAddMemcpyNode", &arguments), 0);
        let exec = instantiate(&cu, graph);
        for _ in 0..3 {
            host.fill(0);
            launch(&cu, exec, stream);
            assert_eq!(synchronize(&cu, stream), 0);
            assert_eq!(host, [7; 4]);
        }
    });
}

/// A launch goes on when its exec and its graph are gone, and so is the stream.
#[test]
fn a_launch_outlives_its_exec() {
    everywhere("a_launch_outlives_its_exec", || {
        let cu = with_context();
        let (log, stream) = (Log::new(), free_stream(&cu));
        let mut done = Vec::new();
        for number in 0..5 {
            let graph = graph(&cu);
            let begin = log.node(&cu, graph, &[], number);
            log.node(&cu, graph, &[begin], number + 10);
            let exec = instantiate(&cu, graph);
            launch(&cu, exec, stream);
            launch(&cu, exec, stream);
            destroy_exec(&cu, exec);
            destroy(&cu, graph);
            done.extend([number, number + 10, number, number + 10]);
        }
        nop(&cu, stream);
        assert_eq!(cu.call("cuStreamDestroy_v2", &[stream]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert_eq!(log.numbers(), done);
        assert_eq!((cu.live("graph"), cu.live("executable graph")), (0, 0));
    });
}

/// Built one after the other, launched and taken apart: time grows with the number of nodes, in whatever form.
#[test]
fn a_hundred_thousand_nodes() {
    const COUNT: usize = 100_000;
    let body = || {
        let cu = with_context();
        let stream = free_stream(&cu);
        let (_, memory) = cu.allocate(64);
        for form in ["chain", "star", "none"] {
            let begin = Instant::now();
            let graph = graph(&cu);
            let mut last = empty_node(&cu, graph, &[]);
            for number in 1..COUNT {
                let after = if form == "none" { &[][..] } else { std::slice::from_ref(&last) };
                let node = match number % 2 {
                    0 => empty_node(&cu, graph, after),
                    _ => memset_node(&cu, graph, after, &memset_params(memory, 1, 4, 16)),
                };
                if form == "chain" {
                    last = node;
                }
            }
            let exec = instantiate(&cu, graph);
            for _ in 0..2 {
                launch(&cu, exec, stream);
                assert_eq!(synchronize(&cu, stream), 0);
            }
            destroy_exec(&cu, exec);
            destroy(&cu, graph);
            let time = begin.elapsed();
            assert!(time < Duration::from_secs(30), "{form}: {time:?}");
        }
    };
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        alone("a_hundred_thousand_nodes", &[("SOFTCUDA_SCHEDULE", schedule)], body);
    }
}

/// Each thread has a graph of its own, which it builds, edits, launches and destroys.
#[test]
fn threads_edit_different_graphs() {
    everywhere("threads_edit_different_graphs", || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cu = &cu;
                scope.spawn(move || {
                    assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                    let (stream, mut numbers) = (free_stream(cu), Numbers(thread));
                    for _ in 0..8 {
                        let log = Log::new();
                        let (graph, edges) = random(cu, log, &mut numbers, 30);
                        let mut copy = 0;
                        assert_eq!(cu.call("cuGraphClone", &[at(&mut copy), graph]), 0);
                        for node in crate::common::graphs::nodes(cu, graph) {
                            assert_eq!(cu.call("cuGraphDestroyNode", &[node]), 0);
                        }
                        let exec = instantiate(cu, copy);
                        launch(cu, exec, stream);
                        assert_eq!(synchronize(cu, stream), 0);
                        assert!(keeps(&log.numbers(), &edges));
                        destroy_exec(cu, exec);
                        [graph, copy].into_iter().for_each(|graph| destroy(cu, graph));
                    }
                });
            }
        });
        assert_eq!((cu.live("graph"), cu.live("executable graph")), (0, 0));
    });
}
