//! Who may free memory that a capture has allocated, and when.

use super::super::graph::{self, Exec};
use super::super::scene::Scene;
use super::addresses::attribute;
use super::{alloc, copy_out, fill, free, keeping, with};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr};
use std::ptr::null_mut;

/// Frees without a graph, at times when they may be wrong.
pub(super) fn freed_outside(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut address) = (&s.cu, 0);
    let plain = |address| with(address, |address| call!(cu, cuMemFree_3020(address)));
    t.line("freed outside in the capture, relaxed", || {
        s.begin().and(|| alloc(s, s.stream, &mut address)).and(|| plain(address))
    });
    t.line("  in another stream", || free(s, s.side, address));
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    let (graph, address) = keeping(s);
    t.line("freed outside before it is instantiated", || plain(address));
    let exec = Exec::of(cu, graph, 0);
    t.line("  before it is launched", || plain(address));
    t.line("  in a stream before it is launched", || free(s, s.side, address));
    t.line("  runs", || exec.run(s.third));
    t.line("  inside", || plain(address + 8));
    t.line("  in a stream", || free(s, s.side, address));
    t.line("  in a stream again", || free(s, s.side, address));
    t.line("  runs", || exec.run(s.third));
    t.line("  in a stream, then used there", || free(s, s.side, address).and(|| fill(s, s.side, address, 1)));
    t.line("  context is well", || call!(cu, cuCtxSynchronize_2000()));
    graph::destroy(cu, graph);
    Ok(())
}

/// Freed by another graph.
pub(super) fn freed_elsewhere(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let (graph, address) = keeping(s);
    t.line("captured: freed in another capture", || s.begin().and(|| free(s, s.stream, address)));
    let other = s.finish(t, s.stream);
    let (first, second) = (Exec::of(cu, graph, 0), Exec::of(cu, other, 0));
    t.line("  both instantiated", || format!("{}, {}", first.made, second.made));
    for _ in 0..2 {
        t.line("  the first runs", || first.run(s.third));
        t.line("  the second runs", || second.run(s.third));
    }
    t.line("  the second runs again", || second.run(s.third));
    t.line("  captured once more: freed", || s.begin().and(|| free(s, s.stream, address)));
    s.done(t, s.stream);
    t.line("  context is well", || call!(cu, cuCtxSynchronize_2000()));
    graph::destroy(cu, other);
    graph::destroy(cu, graph);
    let mut pooled = 0;
    let _ = alloc(s, s.third, &mut pooled);
    t.line("a pool's memory freed in a capture", || s.begin().and(|| free(s, s.stream, pooled)));
    t.line("  status", || s.status(s.stream));
    s.done(t, s.stream);
    t.line("  used in a capture", || s.begin().and(|| fill(s, s.stream, pooled, 4)));
    s.done(t, s.stream);
    t.line("  freed", || free(s, s.third, pooled));
    Ok(())
}

/// Frees in the capture.
pub(super) fn frees(t: &mut Lines, s: &Scene) -> Outcome {
    let (stream, mut address) = (s.stream, 0);
    let mut story = |name: &str, then: &dyn Fn(CUdeviceptr) -> Answer| {
        t.line(name, || s.begin().and(|| alloc(s, stream, &mut address)).and(|| then(address)));
        t.line("  status", || s.status(stream));
        s.done(t, stream);
    };
    story("freed twice", &|address| free(s, stream, address).and(|| free(s, stream, address)));
    story("freed inside", &|address| free(s, stream, address + 8));
    story("freed, then used", &|address| free(s, stream, address).and(|| fill(s, stream, address, 1)));
    story("used past its end", &|address| call!(s.cu, cuMemsetD8Async_3020(address, 1, 1 << 30, stream)));
    story("freed on the legacy stream", &|address| free(s, null_mut(), address));
    story("freed without an order", &|address| {
        let set = 1;
        call!(s.cu, cuStreamUpdateCaptureDependencies_11030(stream, null_mut(), 0, set))
            .and(|| free(s, stream, address))
    });
    story("copied from, pageable", &|address| {
        let host = vec![0u8; 4].leak();
        call!(s.cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), address, 4, stream))
    });
    Ok(())
}

/// Allocated in one stream of a capture, freed in another.
pub(super) fn streams(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side, mut address) = (s.stream, s.side, 0);
    t.line("allocated, freed in the fork, joined", || {
        s.begin()
            .and(|| alloc(s, main, &mut address))
            .and(|| s.fork(main, side))
            .and(|| fill(s, side, address, 5))
            .and(|| copy_out(s, side, address))
            .and(|| free(s, side, address))
            .and(|| s.join(side, main))
    });
    s.done_and_run(t, main);
    t.line("allocated in the fork, freed after the join", || {
        s.begin()
            .and(|| s.fork(main, side))
            .and(|| alloc(s, side, &mut address))
            .and(|| fill(s, side, address, 6))
            .and(|| s.join(side, main))
            .and(|| copy_out(s, main, address))
            .and(|| free(s, main, address))
    });
    s.done_and_run(t, main);
    t.line("allocated in the fork, freed without a join", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| alloc(s, side, &mut address))
            .and(|| free(s, main, address))
    });
    t.line("  statuses", || s.statuses());
    let _ = s.join(side, main);
    s.done(t, main);
    t.line("used in the first without a join", || {
        s.begin()
            .and(|| s.append(main, 1))
            .and(|| s.fork(main, side))
            .and(|| alloc(s, side, &mut address))
            .and(|| fill(s, main, address, 1))
    });
    let _ = s.join(side, main);
    s.done(t, main);
    Ok(())
}

/// Captures that come to nothing.
pub(super) fn invalidated(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut address) = (&s.cu, 0);
    t.line("allocated, then invalidated", || {
        s.begin().and(|| alloc(s, s.stream, &mut address)).and(|| call!(cu, cuStreamQuery_2000(s.stream)))
    });
    t.line("  memory type", || attribute(s, address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
    t.line("  end", || s.end(s.stream).0);
    t.line("  memory type", || attribute(s, address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
    t.line("  freed", || free(s, s.side, address));
    t.line("  used", || fill(s, s.side, address, 1));
    t.line("  context is well", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}

/// Graphs that are gone before they were launched.
pub(super) fn graph_destroyed(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    t.line("allocated, graph destroyed: used", || {
        let (graph, address) = keeping(s);
        graph::destroy(cu, graph);
        fill(s, s.side, address, 1)
    });
    t.line("  context is well", || call!(cu, cuCtxSynchronize_2000()));
    Ok(())
}
