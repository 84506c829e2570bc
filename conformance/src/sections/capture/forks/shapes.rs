//! Shapes of graphs: chains, diamonds, joins in stages, and forks that are never joined.

use super::super::graph;
use super::super::scene::Scene;
use super::super::{begin, end};
use super::in_turn;
use crate::driver::{Answer, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CU_STREAM_CAPTURE_MODE_RELAXED, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;

extern "C" fn nothing(_: *mut c_void) {}

/// What the next operation depends on, after each step.
pub(super) fn steps(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, main, side) = (&s.cu, s.stream, s.side);
    let mut step = |name: &str, call: &dyn Fn() -> Answer, stream: CUstream| {
        t.line(name, call);
        t.line("  tail", || s.tail(stream));
    };
    step("begin", &|| s.begin(), main);
    step("record first of all", &|| s.record(s.event, main), main);
    step("launch", &|| s.append(main, 1), main);
    step("memset", &|| call!(cu, cuMemsetD32Async_3020(s.memory + 64, 1, 1, main)), main);
    step("copy", &|| call!(cu, cuMemcpyDtoDAsync_3020(s.memory + 128, s.memory + 64, 4, main)), main);
    step("host function", &|| call!(cu, cuLaunchHostFunc_10000(main, Some(nothing), null_mut())), main);
    step("record", &|| s.record(s.event, main), main);
    step("wait of the same stream", &|| s.wait(main, s.event), main);
    step("wait of the other stream", &|| s.wait(side, s.event), side);
    step("  this one", &|| s.status(main), main);
    step("launch in the other", &|| s.append_to(side, 1, 2), side);
    step("  this one", &|| s.status(main), main);
    step("record in the other", &|| s.record(s.joined, side), side);
    step("wait of this one for it", &|| s.wait(main, s.joined), main);
    step("launch", &|| s.append(main, 3), main);
    step("  the other one", &|| s.status(side), side);
    step("launch in the other after the join", &|| s.append_to(side, 1, 4), side);
    step("joined again", &|| s.join(side, main), main);
    step("joined once more", &|| s.join(side, main), main);
    step("the other waits for this one", &|| s.fork(main, side), side);
    step("  this one", &|| s.status(main), main);
    s.done_and_run(t, main);
    t.line("  the other number", || s.number(1));
    t.line("  the other stream", || s.status(side));
    Ok(())
}

/// The order in which dependencies are listed, as it is.
pub(super) fn order(t: &mut Lines, s: &Scene) -> Outcome {
    let main = s.stream;
    let raw = || {
        let info = s.info(main);
        let nodes = graph::nodes(&s.cu, info.graph).unwrap_or_default();
        let told: Vec<String> = info.tail.iter().map(|edge| graph::position(&nodes, edge)).collect();
        told.join(" ")
    };
    let many: Vec<Scene> = (0..4).map(|_| s.anew()).collect::<Outcome<_>>()?;
    t.line("forked four times, joined in this order", || {
        let _ = s.begin().and(|| s.append(main, 1)).and(|| s.record(s.event, main));
        for (number, other) in many.iter().enumerate() {
            let cell = number as u64 + 1;
            let _ = s.wait(other.side, s.event).and(|| s.append_to(other.side, cell, 2));
        }
        for other in &many {
            let _ = s.record(other.joined, other.side).and(|| s.wait(main, other.joined));
        }
        raw()
    });
    s.done(t, main);
    t.line("joined in the opposite order", || {
        let _ = s.begin().and(|| s.append(main, 1)).and(|| s.record(s.event, main));
        for (number, other) in many.iter().enumerate() {
            let cell = number as u64 + 1;
            let _ = s.wait(other.side, s.event).and(|| s.append_to(other.side, cell, 2));
        }
        for other in many.iter().rev() {
            let _ = s.record(other.joined, other.side).and(|| s.wait(main, other.joined));
        }
        raw()
    });
    t.line("  launch after it", || s.append(main, 3));
    s.done_and_run(t, main);
    t.line("launched in turn: the order of nodes", || {
        let _ = s.begin().and(|| s.append(main, 1)).and(|| s.fork(main, s.side));
        let _ = s.append_to(s.side, 1, 2).and(|| s.append(main, 3)).and(|| s.append_to(s.side, 1, 4));
        s.join(s.side, main).and(|| s.append(main, 5))
    });
    s.done_and_run(t, main);
    t.line("  the other number", || s.number(1));
    Ok(())
}

/// Forks of forks, and joins in stages.
pub(super) fn stages(t: &mut Lines, s: &Scene) -> Outcome {
    let (main, side, third) = (s.stream, s.side, s.third);
    let fork = |from, to| s.fork(from, to);
    let join = |from, to| s.join(from, to);
    let add = |stream, cell| s.append_to(stream, cell, 1);
    let mut story = |name: &str, calls: &[&dyn Fn() -> Answer]| {
        t.line(name, || s.begin().and(|| in_turn(calls)));
        t.line("  tail", || s.tail(main));
        t.line("  statuses", || s.statuses());
        s.done(t, main);
        t.line("  statuses", || s.statuses());
    };
    let (one, two, three) = (&|| add(main, 0), &|| add(side, 1), &|| add(third, 2));
    let (to_side, to_third) = (&|| fork(main, side), &|| fork(side, third));
    let (third_to_side, side_to_main) = (&|| join(third, side), &|| join(side, main));
    let third_to_main = &|| join(third, main);
    story("diamond", &[one, to_side, two, one, side_to_main, one]);
    story("fork without work, joined", &[one, to_side, side_to_main, one]);
    story("fork without work, not joined", &[one, to_side]);
    story("fork before anything", &[to_side, two, side_to_main]);
    story("fork of the fork, in stages", &[one, to_side, two, to_third, three, third_to_side, side_to_main]);
    story("joined in stages with work", &[one, to_side, to_third, three, third_to_side, two, side_to_main]);
    story("the last joined into the first", &[one, to_side, two, to_third, three, third_to_main]);
    story("the last has no work", &[one, to_side, two, to_third, third_to_main]);
    story("both joined, the fork last", &[one, to_side, two, to_third, three, third_to_main, side_to_main]);
    story("the fork works on, not joined", &[one, to_side, two, to_third, three, third_to_main, two]);
    story("joined, works on, not joined again", &[one, to_side, two, side_to_main, two]);
    story("joined, works on, joined again", &[one, to_side, two, side_to_main, two, side_to_main]);
    story("joined, then the first works on", &[one, to_side, two, side_to_main, one, one]);
    story(
        "two forks of one, joined into each other",
        &[one, to_side, &|| fork(main, third), two, three, third_to_side, side_to_main],
    );
    story("waits of the fork for later work", &[one, to_side, two, one, to_side, two, side_to_main]);
    Ok(())
}

/// Forks that are not joined at the end.
pub(super) fn unjoined(t: &mut Lines, s: &Scene) -> Outcome {
    let streams = |s: &Scene| [s.stream, s.side, s.third].map(|stream| s.usable(stream).number()).join(" ");
    let mut story = |name: &str, build: &dyn Fn(&Scene) -> Answer| -> Outcome {
        let s = &s.anew()?;
        t.line(name, || s.begin().and(|| s.append(s.stream, 1)).and(|| build(s)));
        t.line("  statuses", || s.statuses());
        let tail = format!("{}; {}", s.tail(s.side), s.tail(s.third));
        t.line("  tails of the forks", || tail);
        s.done(t, s.stream);
        t.line("  statuses", || s.statuses());
        t.line("  tails of the forks", || format!("{}; {}", s.tail(s.side), s.tail(s.third)));
        t.line("  ended again: each of them", || {
            [s.stream, s.side, s.third].map(|stream| end(&s.cu, stream).number()).join(" ")
        });
        t.line("  work in each of them", || streams(s));
        t.line("  a capture in each of them", || {
            let begun = |stream| begin(&s.cu, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
            [s.stream, s.side, s.third]
                .map(|stream| begun(stream).and(|| end(&s.cu, stream)).number())
                .join(" ")
        });
        t.line("  the event of the fork", || call!(s.cu, cuEventQuery_2000(s.event)));
        Ok(())
    };
    story("one with work", &|s| s.fork(s.stream, s.side).and(|| s.append_to(s.side, 1, 2)))?;
    story("two with work", &|s| {
        s.fork(s.stream, s.side)
            .and(|| s.wait(s.third, s.event))
            .and(|| s.append_to(s.side, 1, 2))
            .and(|| s.append_to(s.third, 2, 3))
    })?;
    story("one with work, one joined", &|s| {
        s.fork(s.stream, s.side)
            .and(|| s.wait(s.third, s.event))
            .and(|| s.append_to(s.side, 1, 2))
            .and(|| s.append_to(s.third, 2, 3))
            .and(|| s.join(s.third, s.stream))
    })?;
    story("one with work, one without", &|s| {
        s.fork(s.stream, s.side).and(|| s.wait(s.third, s.event)).and(|| s.append_to(s.side, 1, 2))
    })?;
    story("only ones without work", &|s| s.fork(s.stream, s.side).and(|| s.wait(s.third, s.event)))?;
    story("joined into another fork only", &|s| {
        s.fork(s.stream, s.side)
            .and(|| s.wait(s.third, s.event))
            .and(|| s.append_to(s.side, 1, 2))
            .and(|| s.join(s.side, s.third))
    })?;
    Ok(())
}

/// Forks to other kinds of streams.
pub(super) fn kinds(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, flags) in [("blocking", 0), ("non-blocking", NON_BLOCKING)] {
        let (first, second) = (cu.stream(flags)?, cu.stream(NON_BLOCKING - flags)?);
        let s = &Scene { stream: first, side: second, ..s.anew()? };
        t.line(&format!("from {name} to the other kind"), || {
            s.begin().and(|| s.append(first, 1)).and(|| s.fork(first, second)).and(|| s.append(second, 2))
        });
        t.line("  status of legacy", || s.status(LEGACY));
        t.line("  launch into legacy", || s.append_to(LEGACY, 1, 1));
        t.line("  statuses", || s.statuses());
        t.line("  joined", || s.join(second, first));
        s.done(t, first);
    }
    for (name, to) in [("legacy", LEGACY), ("NULL", null_mut()), ("per-thread", PER_THREAD)] {
        let s = &s.anew()?;
        t.line(&format!("{name} waits for a captured event"), || {
            s.begin().and(|| s.append(s.stream, 1)).and(|| s.fork(s.stream, to))
        });
        t.line("  its status, that of the first", || format!("{}, {}", s.status(to), s.status(s.stream)));
        t.line("  launch into it", || s.append_to(to, 1, 2));
        t.line("  joined", || s.join(to, s.stream));
        t.line("  status", || s.status(s.stream));
        s.done(t, s.stream);
        t.line("  its status", || s.status(to));
        t.line("  usable", || s.usable(to));
    }
    Ok(())
}
