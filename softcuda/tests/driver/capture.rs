//! Captures begin, refuse what comes in their way, and end: every expectation was measured on driver 580, but for the
//! lines that say otherwise.

use crate::common::captures::{
    GLOBAL, ILLEGAL_STATE, INVALIDATED, RELAXED, UNSUPPORTED, begin, end, graph_of, status,
};
use crate::common::graphs::{destroy, graph, nodes};
use crate::common::managed::{SIZE, managed};
use crate::common::streams::{PER_THREAD, free_stream, nop, stream};
use crate::common::{INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, everywhere, with_context};

/// Ends a capture that must be in good health.
fn end_well(cu: &Library, stream: u64) {
    destroy(cu, graph_of(cu, stream));
}

#[test]
fn the_graph_is_the_programs_at_the_end() {
    everywhere("the_graph_is_the_programs_at_the_end", || {
        let cu = with_context();
        let s = free_stream(&cu);
        for stream in [s, PER_THREAD] {
            assert_eq!(begin(&cu, stream, GLOBAL), 0);
            assert_eq!(cu.live("graph"), 0, "it is not the program's yet");
            let (answer, graph) = end(&cu, stream);
            assert_eq!((answer, cu.live("graph")), (0, 1));
            assert_eq!(cu.call("cuGraphDestroy", &[graph]), 0);
            assert_eq!(cu.call("cuGraphDestroy", &[graph]), INVALID_VALUE, "chosen");
            assert_eq!((status(&cu, stream), cu.live("graph")), (0, 0));
        }
    });
}

/// A capture adds nodes to a graph of the program's, which stays so; one that fails destroys it.
#[test]
fn a_graph_that_is_captured_into_is_the_programs() {
    everywhere("a_graph_that_is_captured_into_is_the_programs", || {
        let cu = with_context();
        let (s, target) = (free_stream(&cu), graph(&cu));
        let into = |stream| cu.call("cuStreamBeginCaptureToGraph", &[stream, target, 0, 0, 0, RELAXED]);
        for count in 1..4 {
            assert_eq!(into(s), 0);
            assert_eq!((into(free_stream(&cu)), cu.live("graph")), (ILLEGAL_STATE, 1));
            nop(&cu, s);
            assert_eq!(graph_of(&cu, s), target);
            assert_eq!(nodes(&cu, target).len(), count);
        }
        assert_eq!((into(s), cu.call("cuCtxSynchronize", &[])), (0, UNSUPPORTED));
        assert_eq!((end(&cu, s), cu.live("graph")), ((INVALIDATED, 0), 0));
        assert_eq!(cu.call("cuGraphDestroy", &[target]), INVALID_VALUE);
    });
}

#[test]
fn info() {
    everywhere("info", || {
        let cu = with_context();
        let s = free_stream(&cu);
        let (mut status, mut id) = (99i32, 99u64);
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
        assert_eq!(cu.call("cuGraphDestroy", &[told.1]), ILLEGAL_STATE, "the capture has it");
        assert_eq!(cu.call("cuStreamUpdateCaptureDependencies_v2", &[s, 0, 0, 0, 0]), 0);
        assert_eq!(end(&cu, s), (0, told.1), "the same graph");
        assert_eq!(begin(&cu, s, GLOBAL), 0);
        let (next, _) = ask("cuStreamGetCaptureInfo_v2", false);
        assert_ne!(next, told.0, "documented: each capture has its own number");
    });
}

/// What no graph can do is refused loudly, and nothing is made.
#[test]
fn allocations_of_the_host_are_refused_loudly() {
    let said = alone("allocations_of_the_host_are_refused_loudly", &[], || {
        let cu = with_context();
        let (s, mut pool, mut pointer) = (stream(&cu), 0u64, 7u64);
        let mut props = [0u64; 11];
        props[0] = 1; // pinned, and no handles
        props[1] = 2; // of the host
        assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut pool), at(&mut props)]), 0);
        assert_eq!(begin(&cu, s, RELAXED), 0);
        let place = at(&mut pointer);
        assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[place, 64, pool, s]), NOT_SUPPORTED);
        assert_eq!((status(&cu, s), pointer), (1, 0));
        end_well(&cu, s);
    });
    assert!(said.contains("a capture cannot record allocations from pools of the host"), "{said}");
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

/// A capture into a graph whose nodes take over what is captured (documented).
#[test]
fn a_graph_is_captured_once_more() {
    alone("a_graph_is_captured_once_more", &[("SOFTCUDA_VERSION", "13.5")], || {
        const RECAPTURE_FAILURE: i32 = 918;
        let cu = with_context();
        let (s, (_, memory)) = (free_stream(&cu), cu.allocate(8));
        let fill = |word: u64, value: u64| cu.call("cuMemsetD32Async", &[memory + 4 * word, value, 1, s]);
        let again = |graph: u64| cu.call("cuStreamBeginRecaptureToGraph", &[s, RELAXED, graph, 0, 0]);
        assert_eq!((begin(&cu, s, RELAXED), fill(0, 1), fill(1, 2)), (0, 0, 0));
        let (_, captured) = end(&cu, s);
        let before = nodes(&cu, captured);
        assert_eq!((again(captured), again(captured)), (0, ILLEGAL_STATE));
        assert_eq!((fill(1, 3), fill(0, 4)), (0, 0));
        assert_eq!(graph_of(&cu, s), captured);
        assert_eq!(nodes(&cu, captured), before);
        let exec = crate::common::graphs::instantiate(&cu, captured);
        crate::common::graphs::run(&cu, exec, s);
        let mut words = [0u32; 2];
        assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut words), memory, 8]), 0);
        assert_eq!(words, [4, 3]);

        // A node too few, a node too many: the graph stays, as it is by then.
        assert_eq!((again(captured), fill(0, 5)), (0, 0));
        assert_eq!(end(&cu, s), (RECAPTURE_FAILURE, 0));
        assert_eq!((again(captured), fill(0, 5), fill(0, 5), fill(0, 5)), (0, 0, 0, RECAPTURE_FAILURE));
        assert_eq!(end(&cu, s), (INVALIDATED, 0));
        assert_eq!((cu.live("graph"), again(0)), (1, INVALID_VALUE));
        // Invalidated otherwise, it goes.
        assert_eq!((again(captured), cu.call("cuCtxSynchronize", &[])), (0, UNSUPPORTED));
        assert_eq!((end(&cu, s), cu.live("graph")), ((INVALIDATED, 0), 0));
    });
    alone("a_graph_is_captured_once_more", &[("SOFTCUDA_VERSION", "13.2")], || {
        let cu = with_context();
        assert_ne!(
            cu.call("cuStreamBeginRecaptureToGraph", &[free_stream(&cu), RELAXED, graph(&cu), 0, 0]),
            0
        );
    });
}
