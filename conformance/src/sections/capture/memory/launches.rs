//! Graphs that allocate, launched once and again.

use super::super::graph::{self, Exec, picture};
use super::super::modes::pools;
use super::super::scene::Scene;
use super::{alloc, copy_out, fill, free, keeping, with};
use crate::driver::{Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CUgraphMem_attribute,
};
use std::ptr::null_mut;

const AUTO_FREE: u64 = 1;

/// Used and freed in the same capture.
pub(super) fn used(t: &mut Lines, s: &Scene) -> Outcome {
    let (stream, mut address) = (s.stream, 0);
    t.line("allocated, filled, copied out, freed", || {
        s.begin()
            .and(|| alloc(s, stream, &mut address))
            .and(|| fill(s, stream, address, 12))
            .and(|| copy_out(s, stream, address))
            .and(|| free(s, stream, address))
    });
    let graph = s.finish(t, stream);
    let exec = Exec::of(&s.cu, graph, 0);
    t.line("  instantiated", || exec.made.clone());
    for _ in 0..2 {
        s.clear();
        t.line("  runs", || exec.run(s.third));
        t.line("  number", || s.number(0));
    }
    t.line("  instantiated a second time", || Exec::of(&s.cu, graph, 0).made.clone());
    t.line("  cloned", || match graph.is_null() {
        true => "no graph".into(),
        false => {
            let mut clone = null_mut();
            call!(s.cu, cuGraphClone_10000(&raw mut clone, graph))
        }
    });
    t.line("  launched in two streams", || exec.launch(s.third).and(|| exec.run(s.side)));
    t.line("  wait for the other one", || call!(s.cu, cuStreamSynchronize_2000(s.third)));
    graph::destroy(&s.cu, graph);
    t.line("a kernel uses it", || {
        s.begin()
            .and(|| alloc(s, stream, &mut address))
            .and(|| fill(s, stream, address, 3))
            .and(|| with(address, |memory| Scene { memory, ..*s }.append(stream, 4)))
    });
    t.line("  copied out, freed", || copy_out(s, stream, address).and(|| free(s, stream, address)));
    s.done_and_run(t, stream);
    Ok(())
}

/// Memory that the graph does not free.
pub(super) fn launched_again(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, flags) in [("not freed", 0), ("not freed, AUTO_FREE", AUTO_FREE)] {
        let (graph, address) = keeping(s);
        let exec = Exec::of(cu, graph, flags);
        t.line(name, || exec.made.clone());
        t.line("  graph", || picture(cu, graph));
        for _ in 0..2 {
            s.clear();
            t.line("  runs", || exec.run(s.third));
            t.line("  number", || s.number(0));
        }
        t.line("  freed outside", || with(address, |address| call!(cu, cuMemFree_3020(address))));
        t.line("  again", || with(address, |address| call!(cu, cuMemFree_3020(address))));
        t.line("  runs", || exec.run(s.third));
        t.line("  freed outside in a stream", || free(s, s.side, address));
        t.line("  runs", || exec.run(s.side));
        t.line("  cuStreamSynchronize", || call!(cu, cuStreamSynchronize_2000(s.side)));
        drop(exec);
        t.line("  exec destroyed: freed outside", || {
            with(address, |address| call!(cu, cuMemFree_3020(address)))
        });
        graph::destroy(cu, graph);
    }
    Ok(())
}

/// Pools that are asked by name, and what becomes of them.
pub(super) fn from_pools(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, pool) = (&s.cu, s.stream, pools::pool(&s.cu));
    let mut address = 0;
    t.line("from a pool of its own", || {
        s.begin().and(|| call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut address, 64, pool, stream)))
    });
    t.line("  status", || s.status(stream));
    t.line("  filled, copied out, freed", || {
        fill(s, stream, address, 8).and(|| copy_out(s, stream, address)).and(|| free(s, stream, address))
    });
    let graph = s.finish(t, stream);
    t.line("  runs", || graph::replay(cu, graph, s.third));
    t.line("  pool destroyed", || match pool.is_null() {
        true => "no pool".into(),
        false => call!(cu, cuMemPoolDestroy_11020(pool)),
    });
    s.clear();
    t.line("  runs", || graph::replay(cu, graph, s.third));
    t.line("  number", || s.number(0));
    graph::destroy(cu, graph);
    Ok(())
}

/// Memory that stays after a launch.
pub(super) fn read_outside(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let (graph, address) = keeping(s);
    let exec = Exec::of(cu, graph, 0);
    t.line("not freed: runs", || exec.run(s.third));
    t.line("  read by a synchronous copy", || {
        let mut value = 0u32;
        with(address, |address| {
            call!(cu, cuMemcpyDtoH_3020((&raw mut value).cast(), address, 4)).then(|| value)
        })
    });
    t.line("  written by a synchronous copy", || {
        with(address, |address| call!(cu, cuMemcpyHtoD_3020(address, [9u8; 4].as_ptr().cast(), 4)))
    });
    t.line("  a kernel uses it", || {
        let used = with(address, |memory| Scene { memory, ..*s }.append(s.side, 1));
        used.and(|| call!(cu, cuStreamSynchronize_2000(s.side)))
    });
    t.line("  captured: used by another graph", || s.begin().and(|| copy_out(s, s.stream, address)));
    s.done_and_run(t, s.stream);
    t.line("  freed", || free(s, s.side, address));
    t.line("  wait", || call!(cu, cuStreamSynchronize_2000(s.side)));
    t.line("  freed: filled past its end", || {
        with(address, |address| call!(cu, cuMemsetD8_3020(address, 0, 1 << 30)))
    });
    graph::destroy(cu, graph);
    Ok(())
}

/// How much memory graphs have, in so far as it is none.
pub(super) fn usage(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let some = |which: CUgraphMem_attribute| {
        let mut value = 0u64;
        call!(cu, cuDeviceGetGraphMemAttribute_11040(0, which, (&raw mut value).cast()))
            .then(|| if value == 0 { "none" } else { "some" })
            .to_string()
    };
    let told = || {
        let (used, reserved) = (CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
        format!("{}, {}", some(used), some(reserved))
    };
    t.line("memory of graphs, used and reserved: before", told);
    let (graph, address) = keeping(s);
    t.line("  captured", told);
    let exec = Exec::of(cu, graph, 0);
    t.line("  instantiated", told);
    let _ = exec.run(s.third);
    t.line("  launched", told);
    t.line("  trimmed while in use", || call!(cu, cuDeviceGraphMemTrim_11040(0)));
    t.line("  then", told);
    let _ = free(s, s.third, address);
    let _ = call!(cu, cuStreamSynchronize_2000(s.third));
    t.line("  freed", told);
    t.line("  trimmed", || call!(cu, cuDeviceGraphMemTrim_11040(0)));
    t.line("  then", told);
    drop(exec);
    graph::destroy(cu, graph);
    t.line("  destroyed", told);
    t.line("  trimmed", || call!(cu, cuDeviceGraphMemTrim_11040(0)));
    t.line("  then", told);
    Ok(())
}
