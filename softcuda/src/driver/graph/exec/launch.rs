//! Execs are launched.

use super::memory::Passing;
use super::objects::Objects;
use super::plan::Actions;
use super::run::{Prepared, Run};
use super::{Exec, State, drawn, operands};
use crate::abi::Answer;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, CUgraphExec, CUstream,
};
use crate::driver::memory::graph_allocation;
use crate::driver::operation::allocation::Free;
use crate::driver::stream::Stream;
use crate::executor::{self, Bundle, Bundled, Outcome, Turn, Work, WorkKind};
use std::sync::Arc;

const AUTO_FREE: u64 = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0 as u64;

/// The end of a launch: from here on it keeps nothing.
struct End {
    #[allow(dead_code)] // held for its drop
    objects: Arc<Objects>,
    #[allow(dead_code)] // as above: with nodes goes what they allocate
    actions: Arc<Actions>,
    passing: Passing,
}

impl Work for End {
    fn kind(&self) -> WorkKind {
        WorkKind::Instant
    }

    fn run(self: Box<Self>, _turn: &Turn<'_>) -> Outcome {
        // Where nothing orders a free behind its allocation, that may have come last.
        self.passing.iter().for_each(|allocation| allocation.set_freed());
        Outcome::Finished
    }
}

impl Exec {
    /// Launches it in a stream. One launch comes after the other, in whatever streams they are.
    fn launch(&self, stream: &Stream) -> Answer {
        let mut state = self.state.lock();
        let state = &mut *state;
        operands::check_launch(&state.actions)?;
        if stream.is_legacy()
            && let Some(captured) = drawn::place(&state.actions)
        {
            return stream.join_capture(&captured.capture, captured.tail);
        }
        self.prepare_memory(state, stream)?;
        let queues = Run::queues(&state.actions.steps, &stream.context, stream.queue(), &mut state.queues)?;
        let (plan, actions) = (Arc::clone(&state.plan), Arc::clone(&state.actions));
        let (own_priorities, exec) = (self.has_own_priorities(), self.id);
        let run = Arc::new(Run { plan, actions, queues, own_priorities, exec });
        let Prepared { bundle, records } = run.prepare(0);
        let others: Vec<_> = run.queues[1..].iter().map(|(_, queue)| Arc::clone(queue)).collect();
        let (objects, actions) = (Arc::clone(&state.objects), Arc::clone(&state.actions));
        let end = Box::new(End { objects, actions, passing: state.memory.passing() });
        let Bundled { pieces, end } = stream.submit_bundle(bundle, state.last.as_slice(), end, &others)?;
        for (piece, event) in records {
            event.set_recorded(&pieces[piece as usize], event.last_number());
        }
        state.last = Some(end);
        state.memory.launched();
        // The graph may have recorded the event itself.
        match drawn::place(&state.actions) {
            Some(captured) => stream.join_capture(&captured.capture, captured.tail),
            None => Ok(()),
        }
    }

    /// What the last launch has left allocated is freed before this one, if the exec is so; else the launch is refused.
    fn prepare_memory(&self, state: &mut State, stream: &Stream) -> Answer {
        if state.memory.is_none() {
            return Ok(());
        }
        state.memory.check()?;
        let left = state.memory.left();
        if !left.is_empty() && self.flags & AUTO_FREE == 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        state.memory.map()?;
        for allocation in left {
            // Refused if somebody has freed it meanwhile.
            if graph_allocation::take(&allocation).is_ok() {
                stream.submit_after(Free { allocation }, state.last.as_slice())?;
            }
        }
        Ok(())
    }

    /// Takes a place in a stream, and among the launches: there is nothing else to do.
    pub(super) fn upload(&self, stream: &Stream) -> Answer {
        let mut state = self.state.lock();
        state.memory.map()?;
        let nothing = Bundle { sequence: Arc::default(), pieces: Vec::new(), after: Vec::new() };
        let bundled = stream.submit_bundle(nothing, state.last.as_slice(), executor::nothing(), &[])?;
        state.last = Some(bundled.end);
        Ok(())
    }
}

pub(crate) fn cuGraphLaunch(hGraph: CUgraphExec, hStream: CUstream) -> Answer {
    Stream::refuse_captured(hStream)?;
    let exec = Exec::of(hGraph)?;
    let stream = Stream::of(hStream)?;
    exec.launch(&stream)?;
    stream.wait_if_launches_block()
}

pub(crate) fn cuGraphUpload(hGraph: CUgraphExec, hStream: CUstream) -> Answer {
    Stream::refuse_captured(hStream)?;
    let exec = Exec::of(hGraph)?;
    exec.upload(&*Stream::of(hStream)?)
}
