//! What questions about captures begin with: streams, events, memory, a kernel.

use super::graph::{self, Edge, PLAIN, good};
use super::{begin, status};
use crate::code::{Arguments, CAPTURES, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::process;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphEdgeData,
    CUgraphNode, CUmodule, CUresult, CUstream, CUstreamCaptureStatus,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Bytes of each memory.
pub(super) const SIZE: usize = 1 << 16;

/// Objects of the primary context, which is current. The streams are non-blocking.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) cu: Cu,
    pub(super) context: CUcontext,
    /// Where captures begin.
    pub(super) stream: CUstream,
    /// Where they fork to.
    pub(super) side: CUstream,
    /// One more, for what a question needs it for.
    pub(super) third: CUstream,
    /// For forks, and for joins.
    pub(super) event: CUevent,
    pub(super) joined: CUevent,
    /// On the device, and page-locked.
    pub(super) memory: CUdeviceptr,
    pub(super) pinned: *mut c_void,
    pub(super) module: CUmodule,
    pub(super) append: CUfunction,
}

// SAFETY: the driver's handles may be used by every thread, and so may the memory of the host, which lives as long as the
// process.
unsafe impl Send for Scene {}
// SAFETY: as above; the fields are never changed.
unsafe impl Sync for Scene {}

/// What is known of a stream's capture.
pub(super) struct Info {
    pub(super) answer: Answer,
    pub(super) status: CUstreamCaptureStatus,
    pub(super) id: u64,
    pub(super) graph: CUgraph,
    /// What the next operation depends on, in the driver's order.
    pub(super) tail: Vec<Edge>,
}

/// Questions that share a process with others.
pub(super) type Story = fn(&mut Lines, &Scene) -> Outcome;

/// Tells stories one after the other, each with streams of its own and memory that is zero. One that cannot go on does not keep
/// the others from it; nor does a crash, or an error that sticks.
pub(super) fn tell(t: &mut Lines, scene: &Scene, stories: &[Story]) -> Outcome {
    for story in stories {
        if !t.begins_story() {
            continue;
        }
        scene.clear();
        if let Err(stop) = story(t, &scene.anew()?) {
            t.stop(&stop);
        }
        if scene.is_spoilt() {
            process::end_spoilt();
        }
    }
    Ok(())
}

impl Scene {
    pub(super) fn new(cu: &Cu) -> Outcome<Self> {
        Self::of_device(cu, 0)
    }

    /// The same of a device's primary context.
    pub(super) fn of_device(cu: &Cu, device: i32) -> Outcome<Self> {
        let (mut context, mut pinned) = (null_mut(), null_mut());
        need!(cu, cuInit_2000(0))?;
        need!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, device))?;
        need!(cu, cuCtxSetCurrent_4000(context))?;
        need!(cu, cuMemHostAlloc_2020(&raw mut pinned, SIZE, 0))?;
        let module = cu.module(CAPTURES)?;
        let scene = Self {
            cu: *cu,
            context,
            stream: null_mut(),
            side: null_mut(),
            third: null_mut(),
            event: null_mut(),
            joined: null_mut(),
            memory: cu.memory(SIZE)?,
            pinned,
            module,
            append: cu.function(module, c"append")?,
        };
        scene.clear();
        scene.anew()
    }

    /// The same with other streams and events, so that nothing of an earlier capture is left.
    pub(super) fn anew(&self) -> Outcome<Self> {
        let cu = &self.cu;
        let (stream, side, third) =
            (cu.stream(NON_BLOCKING)?, cu.stream(NON_BLOCKING)?, cu.stream(NON_BLOCKING)?);
        Ok(Self { stream, side, third, event: cu.event(0)?, joined: cu.event(0)?, ..*self })
    }

    /// Whether the context has an error that sticks: those of kernels. What a capture refuses is none.
    fn is_spoilt(&self) -> bool {
        let _ = call!(self.cu, cuCtxSetCurrent_4000(self.context));
        matches!(call!(self.cu, cuCtxSynchronize_2000()), Answer::Result(CUresult(700..800)))
    }

    /// Begins a relaxed capture, which other calls disturb least.
    pub(super) fn begin(&self) -> Answer {
        begin(&self.cu, self.stream, CU_STREAM_CAPTURE_MODE_RELAXED)
    }

    /// Appends a digit to the number at the beginning of the memory, by a kernel.
    pub(super) fn append(&self, stream: CUstream, digit: u32) -> Answer {
        self.append_to(stream, 0, digit)
    }

    /// The same to another number.
    pub(super) fn append_to(&self, stream: CUstream, cell: u64, digit: u32) -> Answer {
        let mut arguments = Arguments::new([self.memory + cell * 4, u64::from(digit)]);
        self.cu.launch(self.append, Shape::ONE, stream, &mut arguments.pointers())
    }

    /// A number in the memory, by a synchronous copy.
    pub(super) fn number(&self, cell: u64) -> Answer {
        let mut value = 0u32;
        call!(self.cu, cuMemcpyDtoH_3020((&raw mut value).cast(), self.memory + cell * 4, 4)).then(|| value)
    }

    /// Sets the memory to zero, when the streams that do not capture have done their work. No blocking stream may capture, and no
    /// capture may be global.
    pub(super) fn clear(&self) {
        for stream in [self.stream, self.side, self.third] {
            if !stream.is_null() && self.status(stream).number() == "0" {
                let _ = call!(self.cu, cuStreamSynchronize_2000(stream));
            }
        }
        let _ = call!(self.cu, cuMemsetD8_3020(self.memory, 0, SIZE)).and(|| self.settle());
    }

    /// Waits until a memset is done: the call does not wait for it, and neither do streams that are not blocking.
    pub(super) fn settle(&self) -> Answer {
        call!(self.cu, cuStreamSynchronize_2000(null_mut()))
    }

    pub(super) fn record(&self, event: CUevent, stream: CUstream) -> Answer {
        call!(self.cu, cuEventRecord_2000(event, stream))
    }

    pub(super) fn wait(&self, stream: CUstream, event: CUevent) -> Answer {
        call!(self.cu, cuStreamWaitEvent_3020(stream, event, 0))
    }

    /// Lets a stream wait for another one, so that it captures, too.
    pub(super) fn fork(&self, from: CUstream, to: CUstream) -> Answer {
        self.record(self.event, from).and(|| self.wait(to, self.event))
    }

    /// Lets the other wait for that one again.
    pub(super) fn join(&self, from: CUstream, to: CUstream) -> Answer {
        self.record(self.joined, from).and(|| self.wait(to, self.joined))
    }

    pub(super) fn status(&self, stream: CUstream) -> Answer {
        status(&self.cu, stream)
    }

    /// The states of the three streams.
    pub(super) fn statuses(&self) -> String {
        [self.stream, self.side, self.third].map(|stream| self.status(stream).number()).join(" ")
    }

    /// What is known of a stream's capture, by the newest ABI that the driver has.
    pub(super) fn info(&self, stream: CUstream) -> Info {
        let cu = &self.cu;
        let (mut status, mut id, mut graph) = (CUstreamCaptureStatus(77), 0, null_mut());
        let (mut nodes, mut data, mut count): (*const CUgraphNode, *const CUgraphEdgeData, usize) =
            (null(), null(), 0);
        let (to_status, to_id, to_graph) = (&raw mut status, &raw mut id, &raw mut graph);
        let (to_nodes, to_data, to_count) = (&raw mut nodes, &raw mut data, &raw mut count);
        let answer = if cu.table.cuStreamGetCaptureInfo_12030.is_some() {
            call!(
                cu,
                cuStreamGetCaptureInfo_12030(stream, to_status, to_id, to_graph, to_nodes, to_data, to_count)
            )
        } else {
            call!(cu, cuStreamGetCaptureInfo_11030(stream, to_status, to_id, to_graph, to_nodes, to_count))
        };
        let count = if answer.succeeded() && !nodes.is_null() { count } else { 0 };
        let edge = |at: usize| -> Edge {
            // SAFETY: the driver has told that so many nodes are there, and nothing was called since.
            let node = unsafe { *nodes.add(at) };
            // SAFETY: the driver has told that there are as many data, if any.
            let data = if data.is_null() { PLAIN } else { unsafe { *data.add(at) } };
            (node, data)
        };
        let tail = (0..count).map(edge).collect();
        Info { answer, status, id, graph, tail }
    }

    /// The graph that a stream's capture makes; NULL if there is none.
    pub(super) fn graph(&self, stream: CUstream) -> CUgraph {
        self.info(stream).graph
    }

    /// The nodes on which a stream's next operation would depend.
    pub(super) fn tail_nodes(&self, stream: CUstream) -> Vec<CUgraphNode> {
        self.info(stream).tail.into_iter().map(|(node, _)| node).collect()
    }

    /// The same as positions in the graph, in order.
    pub(super) fn tail(&self, stream: CUstream) -> Answer {
        let info = self.info(stream);
        if let Err(answer) = good(info.answer) {
            return answer;
        }
        match graph::nodes(&self.cu, info.graph) {
            Ok(_) if info.tail.is_empty() => "none".into(),
            Ok(nodes) => graph::positions(&nodes, &info.tail).into(),
            Err(answer) => answer,
        }
    }

    /// Ends a capture: what was answered, and the graph; NULL if there is none.
    pub(super) fn end(&self, stream: CUstream) -> (Answer, CUgraph) {
        let mut graph = null_mut();
        let ended = call!(self.cu, cuStreamEndCapture_10000(stream, &raw mut graph));
        let graph = if ended.succeeded() { graph } else { null_mut() };
        (ended, graph)
    }

    /// Ends a capture, tells how, and what is in the graph, which the caller destroys.
    pub(super) fn finish(&self, t: &mut Lines, stream: CUstream) -> CUgraph {
        let (mut ended, mut graph) = (Answer::Value(String::new()), null_mut());
        t.line("  end", || {
            (ended, graph) = self.end(stream);
            ended.clone()
        });
        t.line("  graph", || graph::picture(&self.cu, graph));
        graph
    }

    /// The same, and destroys the graph.
    pub(super) fn done(&self, t: &mut Lines, stream: CUstream) {
        graph::destroy(&self.cu, self.finish(t, stream));
    }

    /// The same, and runs the graph once before: the number at the beginning of the memory tells the order.
    pub(super) fn done_and_run(&self, t: &mut Lines, stream: CUstream) {
        let graph = self.finish(t, stream);
        self.clear();
        t.line("  runs", || graph::replay(&self.cu, graph, self.third));
        t.line("  digits", || self.number(0));
        graph::destroy(&self.cu, graph);
    }

    /// Ends what may be left of a capture and destroys it, without a word.
    pub(super) fn drop_capture(&self, stream: CUstream) {
        let (_, graph) = self.end(stream);
        graph::destroy(&self.cu, graph);
    }

    /// Whether a stream does ordinary work: appends a digit and waits.
    pub(super) fn usable(&self, stream: CUstream) -> Answer {
        self.append_to(stream, 9, 1).and(|| call!(self.cu, cuStreamSynchronize_2000(stream)))
    }

    /// Calls on another thread, where the context is current too, and waits for the answer.
    pub(super) fn elsewhere(&self, ask: impl FnOnce(&Self) -> Answer) -> Answer {
        let carried = Carried(|| call!(self.cu, cuCtxSetCurrent_4000(self.context)).and(|| ask(self)));
        std::thread::scope(|scope| scope.spawn(|| carried.call()).join())
            .unwrap_or_else(|_| "the thread has panicked".into())
    }
}

/// What is called on another thread.
struct Carried<F>(F);

// SAFETY: it is made of handles and addresses, which every thread may use, and of references to what the asking thread does
// not touch, since it waits for the other one.
unsafe impl<F> Send for Carried<F> {}

impl<F: FnOnce() -> Answer> Carried<F> {
    fn call(self) -> Answer {
        (self.0)()
    }
}
