//! Which calls about one device wait for the other.

use super::{SIZE, Scene};
use crate::driver::{Answer, Outcome, call};
use crate::gate::Gate;
use crate::transcript::Lines;
use std::ptr::null_mut;
use std::sync::mpsc;

type Question = (&'static str, fn(&Scene) -> Answer);

/// While the second device's stream is busy with the first one's memory, and the first is current.
pub(super) const QUESTIONS: &[Question] = &[
    ("the second is busy: cuMemFree of the first's memory", |s| call!(s.cu, cuMemFree_3020(s.here.memory))),
    ("cuMemFree of the second's memory", |s| call!(s.cu, cuMemFree_3020(s.there.memory))),
    ("cuCtxSynchronize of the first", |s| call!(s.cu, cuCtxSynchronize_2000())),
    ("cuMemcpyPeer", |s| {
        let (here, there) = (&s.here, &s.there);
        call!(s.cu, cuMemcpyPeer_4000(here.memory, here.context, there.memory, there.context, SIZE))
    }),
    ("cuMemcpyDtoH of the second's memory", |s| {
        let mut host = [0u8; SIZE];
        call!(s.cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), s.there.memory, SIZE))
    }),
    ("cuMemcpyHtoD to the second's memory", |s| {
        let host = [0u8; SIZE];
        call!(s.cu, cuMemcpyHtoD_3020(s.there.memory, host.as_ptr().cast(), SIZE))
    }),
    ("cuMemsetD8 of the first's memory", |s| call!(s.cu, cuMemsetD8_3020(s.here.memory, 0, SIZE))),
    ("cuMemAlloc", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, SIZE))
    }),
    ("cuCtxEnablePeerAccess", |s| call!(s.cu, cuCtxEnablePeerAccess_4000(s.there.context, 0))),
    ("cuDevicePrimaryCtxReset of the first", |s| call!(s.cu, cuDevicePrimaryCtxReset_11000(0))),
    ("cuMemHostAlloc", |s| {
        let mut host = null_mut();
        call!(s.cu, cuMemHostAlloc_2020(&raw mut host, SIZE, 0))
    }),
    ("cuMemFreeHost", |s| {
        let mut host = null_mut();
        match call!(s.cu, cuMemHostAlloc_2020(&raw mut host, SIZE, 0)) {
            answer if answer.succeeded() => call!(s.cu, cuMemFreeHost_2000(host)),
            answer => answer,
        }
    }),
];

// SAFETY: the driver's handles may be used from every thread.
unsafe impl Send for Scene {}

pub(super) fn run(t: &mut Lines, s: Scene, number: usize) -> Outcome {
    let (situation, ask) = QUESTIONS[number];
    let gate = Gate::close(&s.cu, s.there.stream)?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let scene = s;
        let answer = match scene.enter(&scene.here) {
            Ok(()) => ask(&scene),
            Err(stop) => stop.0.into(),
        };
        // Nobody listens any more if this took too long.
        let _ = sender.send(answer);
    });
    t.line(situation, || gate.holds_up(&receiver));
    Ok(())
}
