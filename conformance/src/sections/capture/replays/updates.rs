//! Execs that are updated from other captures.

use super::super::graph::{self, Exec};
use super::super::scene::Scene;
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CUgraph, CUgraphExecUpdateResultInfo};

/// Captures these calls.
fn capture(s: &Scene, calls: &dyn Fn() -> Answer) -> CUgraph {
    let _ = s.begin().and(calls);
    s.end(s.stream).1
}

pub(super) fn from_captures(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side) = (&s.cu, s.stream, s.side);
    let row = |digits: [u32; 3]| {
        capture(s, &|| {
            let each = |answer: Answer, digit: &u32| answer.and(|| s.append(main, *digit));
            digits[1..].iter().fold(s.append(main, digits[0]), each)
        })
    };
    let first = row([1, 2, 3]);
    let exec = Exec::of(cu, first, 0);
    let mut update = |name: &str, graph: CUgraph| {
        t.line(name, || {
            // SAFETY: zero is a value of every field.
            let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
            match call!(cu, cuGraphExecUpdate_12000(exec.handle, graph, &raw mut info)) {
                answer @ Answer::Absent(_) => answer,
                answer => format!("{answer}, {}", info.result.0).into(),
            }
        });
        s.clear();
        t.line("  runs", || exec.run(s.third));
        t.line("  digits", || s.number(0));
    };
    update("updated from itself", first);
    let graphs = [
        ("updated from one with other digits", row([4, 5, 6])),
        ("of two kernels", capture(s, &|| s.append(main, 1).and(|| s.append(main, 2)))),
        (
            "of three, one of them a memset",
            capture(s, &|| {
                s.append(main, 1)
                    .and(|| call!(cu, cuMemsetD32Async_3020(s.memory, 7, 1, main)))
                    .and(|| s.append(main, 3))
            }),
        ),
        (
            "of three in another order",
            capture(s, &|| {
                s.append(main, 1)
                    .and(|| s.fork(main, side))
                    .and(|| s.append_to(side, 1, 2))
                    .and(|| s.append(main, 3))
                    .and(|| s.join(side, main))
            }),
        ),
        (
            "of three through a fork and back",
            capture(s, &|| {
                s.append(main, 7)
                    .and(|| s.fork(main, side))
                    .and(|| s.append(side, 8))
                    .and(|| s.join(side, main))
                    .and(|| s.append(main, 9))
            }),
        ),
    ];
    for (name, graph) in graphs {
        update(name, graph);
    }
    graph::destroy(cu, first);
    update("the first destroyed, updated from another", row([2, 4, 6]));
    Ok(())
}
