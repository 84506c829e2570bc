//! Which streams wait for the legacy stream, and for which it waits.

use super::Section;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, Stop};
use crate::driver::{call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUdeviceptr, CUevent, CUstream};

pub(super) const SECTION: Section = Section { name: "legacy_sync", parts: SCENES.len(), devices: 1, run };

struct Scene<'a> {
    cu: &'a Cu,
    blocking: CUstream,
    other_blocking: CUstream,
    non_blocking: CUstream,
    memory: CUdeviceptr,
    event: CUevent,
}

impl Scene<'_> {
    /// What a query of the stream answers in the end.
    fn query(&self, stream: CUstream) -> Answer {
        self.cu.settled(|| call!(self.cu, cuStreamQuery_2000(stream)))
    }

    /// The same after a small piece of work was submitted to it.
    fn work(&self, stream: CUstream) -> Answer {
        match call!(self.cu, cuMemsetD8Async_3020(self.memory, 1, 64, stream)) {
            answer if answer.succeeded() => self.query(stream),
            answer => answer,
        }
    }

    /// What a query of an event answers in the end that was recorded on the stream.
    fn record(&self, stream: CUstream) -> Answer {
        match call!(self.cu, cuEventRecord_2000(self.event, stream)) {
            answer if answer.succeeded() => self.cu.settled(|| call!(self.cu, cuEventQuery_2000(self.event))),
            answer => answer,
        }
    }

    /// Lets the gate go and waits until nothing is under way.
    fn end(&self, gate: Gate) -> Outcome {
        gate.open();
        need!(self.cu, cuCtxSynchronize_2000())
    }
}

/// Each in a process of its own, for most answers are seen only after a while in which nothing happens.
const SCENES: &[fn(&mut Lines, &Scene) -> Outcome] =
    &[blocking_busy, per_thread_threads, non_blocking_busy, legacy_busy, per_thread_busy];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let scene = Scene {
        cu,
        blocking: cu.stream(0)?,
        other_blocking: cu.stream(0)?,
        non_blocking: cu.stream(NON_BLOCKING)?,
        memory: cu.memory(4096)?,
        event: cu.event(0)?,
    };
    // So that nothing of what follows is the first of its kind, for which a driver may have to wait.
    for stream in [LEGACY, PER_THREAD, scene.blocking, scene.other_blocking, scene.non_blocking] {
        need!(cu, cuMemsetD8Async_3020(scene.memory, 0, 64, stream))?;
    }
    need!(cu, cuCtxSynchronize_2000())?;
    SCENES[part](t, &scene)
}

fn blocking_busy(t: &mut Lines, scene: &Scene) -> Outcome {
    let gate = Gate::close(scene.cu, scene.blocking)?;
    t.line("blocking busy: query it", || scene.query(scene.blocking));
    t.line("  query legacy", || scene.query(LEGACY));
    t.line("  query other blocking", || scene.query(scene.other_blocking));
    t.line("  query non-blocking", || scene.query(scene.non_blocking));
    t.line("  query per-thread", || scene.query(PER_THREAD));
    t.line("  work on non-blocking", || scene.work(scene.non_blocking));
    t.line("  work on other blocking", || scene.work(scene.other_blocking));
    t.line("  work on per-thread", || scene.work(PER_THREAD));
    t.line("  event on legacy", || scene.record(LEGACY));
    t.line("  work on legacy", || scene.work(LEGACY));
    t.line("  query other blocking after it", || scene.query(scene.other_blocking));
    t.line("  work on other blocking after it", || scene.work(scene.other_blocking));
    t.line("  work on per-thread after it", || scene.work(PER_THREAD));
    t.line("  work on non-blocking after it", || scene.work(scene.non_blocking));
    scene.end(gate)
}

fn per_thread_threads(t: &mut Lines, scene: &Scene) -> Outcome {
    let gate = Gate::close(scene.cu, PER_THREAD)?;
    t.line("per-thread busy: query it", || scene.query(PER_THREAD));
    let mut context = std::ptr::null_mut();
    need!(scene.cu, cuCtxGetCurrent_4000(&raw mut context))?;
    let (cu, memory, context) = (*scene.cu, scene.memory, context.expose_provenance());
    let there = std::thread::spawn(move || -> Result<Answer, Stop> {
        need!(cu, cuCtxSetCurrent_4000(std::ptr::with_exposed_provenance_mut(context)))?;
        need!(cu, cuMemsetD8Async_3020(memory, 1, 64, PER_THREAD))?;
        Ok(cu.settled(|| call!(cu, cuStreamQuery_2000(PER_THREAD))))
    });
    let answer = there.join().map_err(|_| Stop("the other thread panicked".to_owned()))??;
    t.line("  work on another thread's", || answer);
    scene.end(gate)
}

fn non_blocking_busy(t: &mut Lines, scene: &Scene) -> Outcome {
    let gate = Gate::close(scene.cu, scene.non_blocking)?;
    t.line("non-blocking busy: query legacy", || scene.query(LEGACY));
    t.line("  work on legacy", || scene.work(LEGACY));
    t.line("  work on blocking", || scene.work(scene.blocking));
    t.line("  work on per-thread", || scene.work(PER_THREAD));
    scene.end(gate)
}

fn legacy_busy(t: &mut Lines, scene: &Scene) -> Outcome {
    let gate = Gate::close(scene.cu, LEGACY)?;
    t.line("legacy busy: query blocking", || scene.query(scene.blocking));
    t.line("  query per-thread", || scene.query(PER_THREAD));
    t.line("  query non-blocking", || scene.query(scene.non_blocking));
    t.line("  work on blocking", || scene.work(scene.blocking));
    t.line("  work on per-thread", || scene.work(PER_THREAD));
    t.line("  work on non-blocking", || scene.work(scene.non_blocking));
    scene.end(gate)
}

fn per_thread_busy(t: &mut Lines, scene: &Scene) -> Outcome {
    let gate = Gate::close(scene.cu, PER_THREAD)?;
    t.line("per-thread busy: query legacy", || scene.query(LEGACY));
    t.line("  work on blocking", || scene.work(scene.blocking));
    t.line("  work on legacy", || scene.work(LEGACY));
    scene.end(gate)
}
