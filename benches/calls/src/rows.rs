//! The rows of the table: the same operation through the raw table, cushim's C ABI and cudarc.

use crate::world::{BYTES, World, entry};
use cudarc::driver::result as cudarc_result;
use cushim::capi::memory::{cushim_endpoint, cushim_endpoint_kind};
use cushim::driver::sys::{CU_EVENT_DISABLE_TIMING, CUDA_SUCCESS, CUresult};
use std::ptr::{null, null_mut};

/// Who is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Raw,
    Cushim,
    Cudarc,
    /// cudarc without its tracking of which stream uses which memory.
    Untracked,
}

impl Subject {
    pub(crate) const ALL: [Self; 4] = [Self::Raw, Self::Cushim, Self::Cudarc, Self::Untracked];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Cushim => "cushim",
            Self::Cudarc => "cudarc",
            Self::Untracked => "cudarc-untracked",
        }
    }
}

/// Makes so many calls.
pub(crate) type Burst = Box<dyn FnMut(u32)>;

/// One operation.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Calls in a row on a real driver: few enough that they do not fill its queue.
    pub(crate) burst: u32,
    /// What cushim may add at most, in nanoseconds.
    pub(crate) goal: Option<u32>,
    /// In the order of [`Subject::ALL`]; `None` where a subject has nothing like it.
    pub(crate) bursts: [Option<Burst>; 4],
}

macro_rules! burst {
    ($call:expr) => {
        Some(Box::new(move |calls: u32| {
            for _ in 0..calls {
                $call;
            }
        }) as Burst)
    };
}

/// A raw call that has to succeed.
pub(crate) fn cu(result: CUresult) {
    assert_eq!(result, CUDA_SUCCESS, "a raw call failed");
}

/// A row under construction.
fn row(name: &'static str, burst: u32, goal: Option<u32>) -> Row {
    Row { name, burst, goal, bursts: [None, None, None, None] }
}

impl Row {
    fn with(mut self, subject: Subject, burst: Option<Burst>) -> Self {
        self.bursts[subject as usize] = burst;
        self
    }

    fn raw(self, burst: Option<Burst>) -> Self {
        self.with(Subject::Raw, burst)
    }

    fn cushim(self, burst: Option<Burst>) -> Self {
        self.with(Subject::Cushim, burst)
    }

    fn cudarc(self, burst: Option<Burst>) -> Self {
        self.with(Subject::Cudarc, burst)
    }

    fn untracked(self, burst: Option<Burst>) -> Self {
        self.with(Subject::Untracked, burst)
    }
}

/// All rows.
pub(crate) fn all(world: &'static World) -> Vec<Row> {
    let mut rows = Vec::from(events(world));
    rows.extend(streams(world));
    rows.extend(memory(world));
    rows.extend(launches::launches(world));
    rows.extend(graphs::graphs(world));
    rows.extend(execs::execs(world));
    rows.extend(contexts(world));
    rows.extend(handles(world));
    rows
}

/// The status of a call of cushim that has to succeed.
macro_rules! ok {
    ($world:expr, $name:ident($($argument:expr),*)) => {{
        // SAFETY: every pointer is good, and handles are checked.
        let status = unsafe { ($world.shim.call.$name)($($argument),*) };
        if status != 0 {
            $world.shim.call.must(stringify!($name), status);
        }
    }};
}

/// A call through a function of the table that has to succeed.
macro_rules! raw {
    ($function:ident($($argument:expr),*)) => {
        // SAFETY: every pointer and handle is good.
        cu(unsafe { $function($($argument),*) })
    };
}

// Below the macros, which they use.
mod execs;
mod graphs;
mod launches;
pub(crate) mod typed;

fn events(w: &'static World) -> [Row; 5] {
    let (raw, shim, table) = (&w.raw, &w.shim, w.raw.table);
    let (record, query) = (entry!(table, cuEventRecord_2000), entry!(table, cuEventQuery_2000));
    let (synchronize, elapsed) =
        (entry!(table, cuEventSynchronize_2000), entry!(table, cuEventElapsedTime_2000));
    let (create, destroy) = (entry!(table, cuEventCreate_2000), entry!(table, cuEventDestroy_4000));
    let untimed = CU_EVENT_DISABLE_TIMING.0 as u32;
    [
        row("event create + destroy", 64, Some(100))
            .raw(burst!({
                let mut event = null_mut();
                raw!(create(&raw mut event, untimed));
                raw!(destroy(event));
            }))
            .cushim(burst!({
                let mut event = null_mut();
                ok!(w, cushim_event_create(shim.context, null(), &raw mut event));
                ok!(w, cushim_event_destroy(event));
            }))
            .cudarc(burst!(drop(w.cudarc.stream.context().new_event(None).expect("created")))),
        row("event record", 256, Some(15))
            .raw(burst!(raw!(record(raw.event, raw.stream))))
            .cushim(burst!(ok!(w, cushim_event_record(shim.event, shim.stream))))
            .cudarc(burst!(w.cudarc.event.record(&w.cudarc.stream).expect("recorded"))),
        row("event query", 256, Some(15))
            .raw(burst!(raw!(query(raw.event))))
            .cushim(burst!({
                let mut done = 0;
                ok!(w, cushim_event_query(shim.event, &raw mut done));
                assert_eq!(done, 1);
            }))
            .cudarc(burst!(assert!(w.cudarc.event.try_is_complete().expect("asked")))),
        row("event synchronize", 256, Some(40))
            .raw(burst!(raw!(synchronize(raw.event))))
            .cushim(burst!(ok!(w, cushim_event_synchronize(shim.event))))
            .cudarc(burst!(w.cudarc.event.synchronize().expect("waited"))),
        row("elapsed time", 256, None)
            .raw(burst!({
                let mut time = 0.0;
                raw!(elapsed(&raw mut time, raw.timed[0], raw.timed[1]));
            }))
            .cushim(burst!({
                let mut time = 0.0;
                ok!(w, cushim_event_elapsed(shim.timed[0], shim.timed[1], &raw mut time));
            }))
            // It synchronises both events first.
            .cudarc(burst!(w.cudarc.timed[0].elapsed_ms(&w.cudarc.timed[1]).expect("measured"))),
    ]
}

fn streams(w: &'static World) -> [Row; 5] {
    let (raw, shim, table) = (&w.raw, &w.shim, w.raw.table);
    let (query, synchronize) = (entry!(table, cuStreamQuery_2000), entry!(table, cuStreamSynchronize_2000));
    let wait = entry!(table, cuStreamWaitEvent_3020);
    // SAFETY: the function takes nothing.
    let current = unsafe { (shim.call.cushim_stream_current)() };
    [
        row("stream wait event", 256, Some(15))
            .raw(burst!(raw!(wait(raw.stream, raw.event, 0))))
            .cushim(burst!(ok!(w, cushim_stream_wait_event(shim.stream, shim.event))))
            .cudarc(burst!(w.cudarc.stream.wait(&w.cudarc.event).expect("waits"))),
        row("stream query", 256, Some(40)).raw(burst!(raw!(query(raw.stream)))).cushim(burst!({
            let mut done = 0;
            ok!(w, cushim_stream_query(shim.stream, &raw mut done));
            assert_eq!(done, 1);
        })),
        row("stream query, the current stream", 256, Some(40)).raw(burst!(raw!(query(raw.stream)))).cushim(
            burst!({
                let mut done = 0;
                ok!(w, cushim_stream_query(current, &raw mut done));
                assert_eq!(done, 1);
            }),
        ),
        row("stream synchronize", 256, Some(40))
            .raw(burst!(raw!(synchronize(raw.stream))))
            .cushim(burst!(ok!(w, cushim_stream_synchronize(shim.stream))))
            .cudarc(burst!(w.cudarc.stream.synchronize().expect("waited"))),
        row("current stream push + pop", 256, None).cushim(burst!({
            let mut popped = null_mut();
            ok!(w, cushim_stream_push_current(shim.stream));
            ok!(w, cushim_stream_pop_current(&raw mut popped));
        })),
    ]
}

fn memory(w: &'static World) -> Vec<Row> {
    let mut rows = vec![allocate_in_stream(w), buffer(w), allocate_synchronously(w), fill(w)];
    rows.extend(copies(w));
    rows.extend(copies_of_buffers(w));
    rows
}

fn allocate_in_stream(w: &'static World) -> Row {
    let (raw, shim) = (&w.raw, &w.shim);
    let (allocate, free) =
        (entry!(raw.table, cuMemAllocAsync_11020), entry!(raw.table, cuMemFreeAsync_11020));
    row("allocate + free, in a stream", 64, Some(40))
        .raw(burst!({
            let mut pointer = 0;
            raw!(allocate(&raw mut pointer, BYTES, raw.stream));
            raw!(free(pointer, raw.stream));
        }))
        .cushim(burst!({
            let mut pointer = 0;
            ok!(w, cushim_stream_allocate(shim.stream, BYTES, &raw mut pointer));
            ok!(w, cushim_stream_free(shim.stream, pointer));
        }))
        .cudarc(burst!(drop(w.cudarc.memory())))
        .untracked(burst!(drop(w.untracked.memory())))
}

/// Beside what a program does that frees by hand.
fn buffer(w: &'static World) -> Row {
    let (raw, shim) = (&w.raw, &w.shim);
    let (allocate, free) =
        (entry!(raw.table, cuMemAllocAsync_11020), entry!(raw.table, cuMemFreeAsync_11020));
    row("buffer create + destroy", 64, Some(150))
        .raw(burst!({
            let mut pointer = 0;
            raw!(allocate(&raw mut pointer, BYTES, raw.stream));
            raw!(free(pointer, raw.stream));
        }))
        .cushim(burst!({
            let mut buffer = null_mut();
            ok!(w, cushim_buffer_create(shim.pool, shim.stream, BYTES, &raw mut buffer));
            ok!(w, cushim_buffer_destroy(buffer));
        }))
        .cudarc(burst!(drop(w.cudarc.memory())))
        .untracked(burst!(drop(w.untracked.memory())))
}

fn allocate_synchronously(w: &'static World) -> Row {
    let (raw, shim) = (&w.raw, &w.shim);
    let (allocate, free) = (entry!(raw.table, cuMemAlloc_3020), entry!(raw.table, cuMemFree_3020));
    row("allocate + free, synchronous", 16, None)
        .raw(burst!({
            let mut pointer = 0;
            raw!(allocate(&raw mut pointer, BYTES));
            raw!(free(pointer));
        }))
        .cushim(burst!({
            let mut pointer = 0;
            ok!(w, cushim_context_allocate(shim.context, BYTES, &raw mut pointer));
            ok!(w, cushim_context_free(shim.context, pointer));
        }))
        // Its safe layer has this for devices without pools only; this is what it does there.
        .cudarc(burst!({
            w.cudarc.stream.context().bind_to_thread().expect("bound");
            // SAFETY: nobody uses the memory.
            unsafe {
                let pointer = cudarc_result::malloc_sync(BYTES).expect("allocated");
                cudarc_result::free_sync(pointer).expect("freed");
            }
        }))
}

fn fill(w: &'static World) -> Row {
    let (raw, shim) = (&w.raw, &w.shim);
    let fill = entry!(raw.table, cuMemsetD8Async_3020);
    let (mut tracked, mut untracked) = (w.cudarc.memory(), w.untracked.memory());
    let at = place(cushim_endpoint_kind::CUSHIM_ENDPOINT_DEVICE, raw.memory[0]);
    row("fill", 64, None)
        .raw(burst!(raw!(fill(raw.memory[0], 0, BYTES, raw.stream))))
        .cushim(burst!(ok!(
            w,
            cushim_stream_fill(shim.stream, &raw const at, [0u8].as_ptr().cast(), 1, BYTES)
        )))
        .cudarc(burst!(w.cudarc.stream.memset_zeros(&mut tracked).expect("filled")))
        .untracked(burst!(w.untracked.stream.memset_zeros(&mut untracked).expect("filled")))
}

fn place(kind: cushim_endpoint_kind, address: u64) -> cushim_endpoint {
    cushim_endpoint { kind: kind as i32, flags: 0, address, offset: 0, context: null_mut(), owner: null() }
}

/// Copies from one to the other in cushim's stream.
fn copy(w: &'static World, to: cushim_endpoint, from: cushim_endpoint) -> Option<Burst> {
    burst!(ok!(w, cushim_stream_copy(w.shim.stream, &raw const to, &raw const from, BYTES)))
}

fn copies(w: &'static World) -> [Row; 3] {
    use cushim_endpoint_kind::{CUSHIM_ENDPOINT_DEVICE, CUSHIM_ENDPOINT_HOST};
    let (raw, table) = (&w.raw, w.raw.table);
    let (up, down) = (entry!(table, cuMemcpyHtoDAsync_3020), entry!(table, cuMemcpyDtoHAsync_3020));
    let across = entry!(table, cuMemcpyDtoDAsync_3020);
    let [here, there] = raw.memory;
    let host = w.pinned;
    let [device, other] = raw.memory.map(|address| place(CUSHIM_ENDPOINT_DEVICE, address));
    let [pinned, pinned_sink] = [0, BYTES].map(|at| place(CUSHIM_ENDPOINT_HOST, (host.addr() + at) as u64));
    // SAFETY: the three parts of the memory live for ever. The device may write the sinks while these are references to them,
    // but nothing here reads them.
    let (source, sink, untracked_sink) = unsafe {
        let part = |index| std::slice::from_raw_parts_mut(host.add(index * BYTES), BYTES);
        (&*part(0), part(1), part(2))
    };
    let memory = || (w.cudarc.memory(), w.untracked.memory());
    let ((mut up_t, mut up_u), (down_t, down_u)) = (memory(), memory());
    let ((from_t, from_u), (mut to_t, mut to_u)) = (memory(), memory());
    [
        row("copy, host to device", 64, None)
            .raw(burst!(raw!(up(here, host.cast(), BYTES, raw.stream))))
            .cushim(copy(w, device, pinned))
            .cudarc(burst!(w.cudarc.stream.memcpy_htod(source, &mut up_t).expect("copied")))
            .untracked(burst!(w.untracked.stream.memcpy_htod(source, &mut up_u).expect("copied"))),
        row("copy, device to host", 64, None)
            .raw(burst!(raw!(down(host.wrapping_add(BYTES).cast(), here, BYTES, raw.stream))))
            .cushim(copy(w, pinned_sink, device))
            .cudarc(burst!(w.cudarc.stream.memcpy_dtoh(&down_t, sink).expect("copied")))
            .untracked(burst!(w.untracked.stream.memcpy_dtoh(&down_u, untracked_sink).expect("copied"))),
        row("copy, device to device", 64, None)
            .raw(burst!(raw!(across(there, here, BYTES, raw.stream))))
            .cushim(copy(w, other, device))
            .cudarc(burst!(w.cudarc.stream.memcpy_dtod(&from_t, &mut to_t).expect("copied")))
            .untracked(burst!(w.untracked.stream.memcpy_dtod(&from_u, &mut to_u).expect("copied"))),
    ]
}

/// Between the addresses that the buffers have, and from page-locked memory to one of them.
fn copies_of_buffers(w: &'static World) -> [Row; 2] {
    use cushim_endpoint_kind::{CUSHIM_ENDPOINT_BUFFER, CUSHIM_ENDPOINT_HOST};
    let (raw, shim, table) = (&w.raw, &w.shim, w.raw.table);
    let (across, up) = (entry!(table, cuMemcpyDtoDAsync_3020), entry!(table, cuMemcpyHtoDAsync_3020));
    let ([here, there], host) = (raw.memory, w.pinned);
    let [buffer, other] = shim.buffers.map(|buffer| place(CUSHIM_ENDPOINT_BUFFER, buffer.addr() as u64));
    let pinned = place(CUSHIM_ENDPOINT_HOST, host.addr() as u64);
    [
        row("copy, buffer to buffer", 64, None)
            .raw(burst!(raw!(across(there, here, BYTES, raw.stream))))
            .cushim(copy(w, other, buffer)),
        row("copy, host to buffer", 64, None)
            .raw(burst!(raw!(up(here, host.cast(), BYTES, raw.stream))))
            .cushim(copy(w, buffer, pinned)),
    ]
}

fn contexts(w: &'static World) -> [Row; 2] {
    let (raw, shim, table) = (&w.raw, &w.shim, w.raw.table);
    let (push, pop) = (entry!(table, cuCtxPushCurrent_4000), entry!(table, cuCtxPopCurrent_4000));
    let get = entry!(table, cuCtxGetCurrent_4000);
    [
        row("context get", 256, None)
            .raw(burst!({
                let mut context = null_mut();
                raw!(get(&raw mut context));
            }))
            .cushim(burst!({
                let mut context = null_mut();
                ok!(w, cushim_context_get_current(shim.driver, &raw mut context, null_mut()));
            }))
            .cudarc(burst!(cudarc_result::ctx::get_current().expect("asked"))),
        row("context push + pop", 256, None)
            .raw(burst!({
                let mut popped = null_mut();
                raw!(push(raw.context));
                raw!(pop(&raw mut popped));
            }))
            .cushim(burst!({
                let mut popped = null_mut();
                ok!(w, cushim_context_push(shim.context));
                ok!(w, cushim_context_pop(shim.driver, &raw mut popped, null_mut()));
            })),
    ]
}

fn handles(w: &'static World) -> [Row; 4] {
    let shim = &w.shim;
    let native = move |handle| {
        burst!({
            let mut native = null_mut();
            ok!(w, cushim_stream_native(handle, &raw mut native));
        })
    };
    [
        row("handle look-up", 256, None).cushim(native(shim.stream)),
        row("handle look-up, borrowed", 256, None).cushim(native(shim.borrowed)),
        row("two look-ups", 256, None).cushim(burst!({
            let mut same = 0;
            ok!(w, cushim_same(shim.stream.cast(), shim.borrowed.cast(), &raw mut same));
        })),
        row("reference + destroy", 256, None).cushim(burst!({
            let mut reference = null_mut();
            ok!(w, cushim_stream_ref(shim.stream, &raw mut reference));
            ok!(w, cushim_stream_destroy(reference));
        })),
    ]
}
