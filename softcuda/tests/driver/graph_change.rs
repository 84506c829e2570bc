//! Execs that are changed: what a launch that is under way does, and what the next one does. Which changes a driver takes, the
//! conformance suite asks.

use crate::common::graphs::{
    any_params, child_node, destroy, destroy_exec, graph, instantiate, launch, memset_node, memset_params,
    run,
};
use crate::common::streams::{Gate, Log, free_stream, synchronize};
use crate::common::{INVALID_VALUE, Library, alone, at, everywhere, first, with_context};
use std::time::{Duration, Instant};

const UPDATE_FAILURE: i32 = 910;

/// Types of nodes.
const MEMSET: u64 = 2;
const HOST: u64 = 3;

/// A word of memory.
fn word(cu: &Library, address: u64) -> u32 {
    let mut word = 0u32;
    assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut word), address, 4]), 0);
    word
}

#[test]
fn a_launch_under_way_does_what_it_began_with() {
    everywhere("a_launch_under_way_does_what_it_began_with", || {
        let cu = with_context();
        let (log, stream) = (Log::new(), free_stream(&cu));
        let (outer, inner, twin) = (graph(&cu), graph(&cu), graph(&cu));
        let inner_node = log.node(&cu, inner, &[], 1);
        let child = child_node(&cu, outer, &[], inner);
        let node = log.node(&cu, outer, &[child], 1);
        log.node(&cu, twin, &[], 9);
        let exec = instantiate(&cu, outer);
        let gate = Gate::in_stream(&cu, stream);
        launch(&cu, exec, stream);
        for number in 2..6 {
            let params = log.params(number);
            let any = any_params(HOST, &params);
            match number % 2 {
                0 => assert_eq!(cu.call("cuGraphExecHostNodeSetParams", &[exec, node, first(&params)]), 0),
                _ => assert_eq!(cu.call("cuGraphExecNodeSetParams", &[exec, node, first(&any)]), 0),
            }
            launch(&cu, exec, stream);
        }
        assert_eq!(cu.call("cuGraphExecChildGraphNodeSetParams", &[exec, child, twin]), 0);
        launch(&cu, exec, stream);
        // Only the copy is a node of the exec.
        let params = log.params(7);
        let arguments = [exec, inner_node, first(&params)];
        assert_eq!(cu.call("cuGraphExecHostNodeSetParams", &arguments), INVALID_VALUE);
        gate.open();
        assert_eq!(synchronize(&cu, stream), 0);
        assert_eq!(log.numbers(), [1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 9, 5]);
        destroy_exec(&cu, exec);
        [outer, inner, twin].into_iter().for_each(|graph| destroy(&cu, graph));
    });
}

/// All of an update, or nothing.
#[test]
fn an_update_that_is_refused_changes_nothing() {
    everywhere("an_update_that_is_refused_changes_nothing", || {
        let cu = with_context();
        let (log, stream, (_, memory)) = (Log::new(), free_stream(&cu), cu.allocate(64));
        let make = |number: i32, last: bool| {
            let graph = graph(&cu);
            let mut node = log.node(&cu, graph, &[], number);
            node = log.node(&cu, graph, &[node], number + 1);
            if last {
                memset_node(&cu, graph, &[node], &memset_params(memory, number as u32, 4, 16));
            } else {
                log.node(&cu, graph, &[node], number + 2);
            }
            graph
        };
        let (first_graph, other, changed) = (make(10, true), make(20, true), make(30, false));
        let exec = instantiate(&cu, first_graph);
        let mut info = [0u64; 3];
        let mut update =
            |graph: u64| (cu.call("cuGraphExecUpdate_v2", &[exec, graph, at(&mut info)]), info[0] as u32);
        assert_eq!(update(changed), (UPDATE_FAILURE, 3));
        run(&cu, exec, stream);
        assert_eq!(update(other), (0, 0));
        run(&cu, exec, stream);
        assert_eq!(update(changed), (UPDATE_FAILURE, 3));
        run(&cu, exec, stream);
        assert_eq!(log.numbers(), [10, 11, 20, 21, 20, 21]);
        assert_eq!(word(&cu, memory), 20);
    });
}

#[test]
fn what_is_disabled_is_left_out_and_keeps_its_place() {
    everywhere("what_is_disabled_is_left_out_and_keeps_its_place", || {
        let cu = with_context();
        let (stream, (_, memory)) = (free_stream(&cu), cu.allocate(64));
        let graph = graph(&cu);
        let first_node = memset_node(&cu, graph, &[], &memset_params(memory, 1, 4, 16));
        let second = memset_node(&cu, graph, &[first_node], &memset_params(memory, 2, 4, 16));
        memset_node(&cu, graph, &[second], &memset_params(memory + 4, 3, 4, 1));
        let exec = instantiate(&cu, graph);
        let enable = |enabled: u64| assert_eq!(cu.call("cuGraphNodeSetEnabled", &[exec, second, enabled]), 0);
        for round in 0..4 {
            enable(round % 2);
            let mut told = 7u32;
            assert_eq!(cu.call("cuGraphNodeGetEnabled", &[exec, second, at(&mut told)]), 0);
            assert_eq!(u64::from(told), round % 2);
            run(&cu, exec, stream);
            assert_eq!((word(&cu, memory), word(&cu, memory + 4)), (1 + told, 3));
        }
        // What it is to do can be set all the while.
        enable(0);
        let params = any_params(MEMSET, &memset_params(memory, 5, 4, 16));
        assert_eq!(cu.call("cuGraphExecNodeSetParams", &[exec, second, first(&params)]), 0);
        run(&cu, exec, stream);
        assert_eq!(word(&cu, memory), 1);
        enable(1);
        run(&cu, exec, stream);
        assert_eq!(word(&cu, memory), 5);
    });
}

/// Setting a node takes no longer in a large exec.
#[test]
fn each_of_many_nodes_is_set() {
    const COUNT: usize = 20_000;
    alone("each_of_many_nodes_is_set", &[], || {
        let cu = with_context();
        let (stream, (_, memory)) = (free_stream(&cu), cu.allocate(4 * COUNT as u64));
        let (graph, begin) = (graph(&cu), Instant::now());
        let place = |number: usize| memory + 4 * number as u64;
        let nodes: Vec<u64> =
            (0..COUNT).map(|n| memset_node(&cu, graph, &[], &memset_params(place(n), 1, 4, 1))).collect();
        let exec = instantiate(&cu, graph);
        launch(&cu, exec, stream);
        for (number, node) in nodes.into_iter().enumerate() {
            let params = any_params(MEMSET, &memset_params(place(number), number as u32, 4, 1));
            assert_eq!(cu.call("cuGraphExecNodeSetParams", &[exec, node, first(&params)]), 0);
        }
        run(&cu, exec, stream);
        assert_eq!([0, 1, COUNT - 1].map(|number| word(&cu, place(number))), [0, 1, COUNT as u32 - 1]);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    });
}
