//! `SOFTCUDA_CHECK=races`: programs in which one event or wait is missing, and the same programs mended. What is missing is found under
//! every schedule; nothing is found in the mended ones. No two miss the same order in the same kind of work.

use crate::common::captures::{RELAXED, begin, graph_of};
use crate::common::graphs::{
    any_params, function, graph, instantiate, kernel_node, launch, memset_node, memset_params,
};
use crate::common::streams::{LEGACY, PER_THREAD, event, free_stream, pinned, record, stream, synchronize};
use crate::common::{Library, NOT_FOUND, SYSTEM_NOT_READY, alone, at, first, text, with_context};
use std::ffi::{CStr, c_char, c_void};

/// `set` writes a word for each thread, `get` reads one and writes it elsewhere, `count` adds to one atomically, `note` writes a variable.
const KERNELS: &CStr = c"
.version 7.4
.target sm_80
.address_size 64
.file 1 \"total.cu\"
.visible .global .align 4 .u32 total;
.visible .entry set(.param .u64 place)
{
    .reg .u32 %t;
    .reg .u64 %a, %o;
    ld.param.u64 %a, [place];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4;
    add.u64 %a, %a, %o;
    st.global.u32 [%a], %t;
    ret;
}
.visible .entry get(.param .u64 place, .param .u64 result)
{
    .reg .u32 %t;
    .reg .u64 %a, %r;
    .reg .pred %p;
    ld.param.u64 %a, [place];
    ld.param.u64 %r, [result];
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 0;
    ld.global.u32 %t, [%a];
    @%p st.global.u32 [%r], %t;
    ret;
}
.visible .entry count(.param .u64 place)
{
    .reg .u32 %t;
    .reg .u64 %a;
    ld.param.u64 %a, [place];
    atom.global.add.u32 %t, [%a], 1;
    ret;
}
.visible .entry note(.param .u64 place)
{
    .reg .u64 %a;
    mov.u64 %a, total;
    .loc 1 7 3
    st.global.u32 [%a], 7;
    ret;
}
";

const SIZE: u64 = 1024;

/// A program, as it is or mended.
pub(crate) struct Program {
    pub(crate) cu: Library,
    pub(crate) mended: bool,
}

impl Program {
    pub(crate) fn allocate(&self, size: u64) -> u64 {
        let mut pointer = 0;
        self.ok("cuMemAlloc_v2", &[at(&mut pointer), size]);
        pointer
    }

    #[track_caller]
    pub(crate) fn ok(&self, name: &str, arguments: &[u64]) {
        assert_eq!(self.cu.call(name, arguments), 0, "{name}");
    }

    pub(crate) fn kernel(&self, name: &CStr) -> u64 {
        function(&self.cu, KERNELS, name)
    }

    /// 256 threads.
    pub(crate) fn launch(&self, function: u64, stream: u64, arguments: &[u64]) {
        let pointers: Vec<u64> =
            arguments.iter().map(|argument| std::ptr::from_ref(argument) as u64).collect();
        let shape = [function, 1, 1, 1, 256, 1, 1, 0, stream, first(&pointers)];
        self.call_launch(&shape);
    }

    /// `cuLaunchKernel`, which has one argument more than `call` takes.
    pub(crate) fn call_launch(&self, shape: &[u64; 10]) {
        type Launch = extern "C" fn(u64, u32, u32, u32, u32, u32, u32, u32, u64, u64, u64) -> i32;
        // SAFETY: `cuLaunchKernel`, whose parameters these are.
        let launch = unsafe { std::mem::transmute::<usize, Launch>(self.cu.symbol("cuLaunchKernel")) };
        let [f, a, b, c, d, e, g, h, stream, parameters] = *shape;
        let [a, b, c, d, e, g, h] = [a, b, c, d, e, g, h].map(|n| n as u32);
        assert_eq!(launch(f, a, b, c, d, e, g, h, stream, parameters, 0), 0);
    }

    pub(crate) fn fill(&self, place: u64, size: u64, stream: u64) {
        self.ok("cuMemsetD8Async", &[place, 1, size, stream]);
    }

    pub(crate) fn copy(&self, to: u64, from: u64, size: u64, stream: u64) {
        self.ok("cuMemcpyAsync", &[to, from, size, stream]);
    }

    /// What one stream was given until now comes before what the other is given next.
    fn order(&self, earlier: u64, later: u64) {
        let event = event(&self.cu);
        record(&self.cu, event, earlier);
        self.ok("cuStreamWaitEvent", &[later, event, 0]);
    }

    /// The same in a program that is mended.
    fn order_if_mended(&self, earlier: u64, later: u64) {
        if self.mended {
            self.order(earlier, later);
        }
    }

    pub(crate) fn streams(&self) -> [u64; 2] {
        [free_stream(&self.cu), free_stream(&self.cu)]
    }

    /// The reports, when all work is done. A program that uses memory too early may have lost its context.
    pub(crate) fn reports(&self) -> Vec<String> {
        for device in 0..2u64 {
            let (mut context, mut active, mut flags) = (0u64, 0i32, 0u32);
            let state = [device, at(&mut flags), at(&mut active)];
            if self.cu.call("cuDevicePrimaryCtxGetState", &state) == 0 && active == 1 {
                self.cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), device]);
                self.cu.call("cuCtxSynchronize_v2", &[context]);
                self.cu.call("cuCtxPushCurrent_v2", &[context]);
                self.cu.call("cuCtxSynchronize", &[]);
                self.cu.call("cuCtxPopCurrent_v2", &[at(&mut context)]);
            }
        }
        let count = self.cu.call_wide("softcuda_check_count", &[]);
        let report = |number| text(self.cu.call_wide("softcuda_check_report", &[number]) as *const c_char);
        (0..count).map(report).collect()
    }
}

/// Runs a program as it is and mended, under each schedule. The report names all of these words.
#[track_caller]
fn planted(name: &str, words: &[&str], body: fn(&Program)) {
    planted_on("1", name, words, body);
}

#[track_caller]
fn planted_on(devices: &str, name: &str, words: &[&str], body: fn(&Program)) {
    planted_for("races", devices, name, words, body);
}

/// The same for another check.
#[track_caller]
pub(crate) fn planted_for(check: &str, devices: &str, name: &str, words: &[&str], body: fn(&Program)) {
    let schedules = [("eager", "0"), ("lazy", "0"), ("in-order", "0"), ("seeded", "1"), ("seeded", "2")];
    for (schedule, seed) in schedules {
        for mended in [false, true] {
            let variables = [
                ("SOFTCUDA_CHECK", check),
                ("SOFTCUDA_SCHEDULE", schedule),
                ("SOFTCUDA_SEED", seed),
                ("SOFTCUDA_DEVICES", devices),
                ("SOFTCUDA_TEST_CASE", if mended { "mended" } else { "planted" }),
            ];
            alone(name, &variables, || {
                let program = Program { cu: with_context(), mended };
                body(&program);
                let reports = program.reports();
                assert_eq!(reports.len(), usize::from(!mended), "{schedule}: {reports:#?}");
                for (report, word) in
                    reports.iter().flat_map(|report| words.iter().map(move |word| (report, word)))
                {
                    assert!(report.contains(word), "{word} in {report}");
                }
            });
        }
    }
}

#[test]
fn a_copy_to_the_device_and_a_kernel_that_reads_it() {
    let words =
        ["cuMemcpyAsync", "kernel get", "ld.global.u32", "cuStreamWaitEvent", "1024 bytes of device memory"];
    planted("a_copy_to_the_device_and_a_kernel_that_reads_it", &words, |p| {
        let ([a, b], host) = (p.streams(), pinned(&p.cu, SIZE as usize));
        let (input, output) = (p.allocate(SIZE), p.allocate(SIZE));
        p.copy(input, host.as_ptr() as u64, SIZE, a);
        p.order_if_mended(a, b);
        p.launch(p.kernel(c"get"), b, &[input, output]);
    });
}

#[test]
fn a_kernel_and_a_copy_to_the_host() {
    planted("a_kernel_and_a_copy_to_the_host", &["kernel set", "st.global.u32", "cuMemcpyAsync"], |p| {
        let ([a, b], host, memory) = (p.streams(), pinned(&p.cu, SIZE as usize), p.allocate(SIZE));
        p.launch(p.kernel(c"set"), a, &[memory]);
        p.order_if_mended(a, b);
        p.copy(host.as_ptr() as u64, memory, SIZE, b);
    });
}

/// What the program calls its streams and its memory stands in the report.
#[test]
fn streams_and_memory_are_called_by_their_labels() {
    let words = [
        "\"filling\" writes the same bytes",
        "in stream 0x",
        "\"reading\", device 0: a copy reads",
        "device memory at 0x",
        " \"image\"\n",
        "\"filling\") after operation",
    ];
    planted("streams_and_memory_are_called_by_their_labels", &words, |p| {
        let ([a, b], mut memory, other) = (p.streams(), 0u64, p.allocate(SIZE));
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, a]);
        let label = |object, label: &CStr| p.cu.call("softcuda_label_set", &[object, label.as_ptr() as u64]);
        let labels = [(a, c"filling"), (b, c"was"), (b, c"reading"), (memory, c"image"), (other, c"other")];
        labels.iter().for_each(|(object, text)| assert_eq!(label(*object, text), 0, "{text:?}"));
        p.ok("softcuda_label_set", &[other, 0]);
        for nothing in [LEGACY, memory + 4, 0] {
            assert_eq!(label(nothing, c"none"), NOT_FOUND);
        }
        p.order(a, b);
        p.fill(memory, SIZE, a);
        p.order_if_mended(a, b);
        p.copy(other, memory, SIZE, b);
        p.order(b, a);
        p.ok("cuMemFreeAsync", &[memory, a]);
        assert_eq!(label(memory, c"freed"), NOT_FOUND);
    });
}

/// Where a native kernel finds the bytes that it reads and writes.
struct Places {
    reads: extern "C" fn(u64, usize) -> *const u32,
    writes: extern "C" fn(u64, usize) -> *mut u32,
}

/// The native `get`: reads 1 KiB, and writes the first word of it elsewhere.
extern "C" fn native_get(launch: *const c_void, data: *mut c_void) {
    // SAFETY: a launch as the control interface has it, whose parameters are two addresses, and what was registered with this.
    unsafe {
        let parameters = *launch.cast::<*const [u64; 2]>().add(4);
        let ([from, to], Places { reads, writes }) = (*parameters, &*data.cast::<Places>());
        *writes(to, 4) = *reads(from, SIZE as usize);
    }
}

/// Two that only read do not race, and each does with what is written beside it.
#[test]
fn native_kernels_that_say_what_they_do() {
    let words = ["kernel get reads\n", "a fill writes\n", "1024 bytes at", "operation 3 (cuLaunchKernel)"];
    planted("native_kernels_that_say_what_they_do", &words, |p| {
        // SAFETY: two functions of the control interface, whose types these are.
        let places: &'static Places = Box::leak(Box::new(unsafe {
            Places {
                reads: std::mem::transmute::<usize, extern "C" fn(u64, usize) -> *const u32>(
                    p.cu.symbol("softcuda_reads"),
                ),
                writes: std::mem::transmute::<usize, extern "C" fn(u64, usize) -> *mut u32>(
                    p.cu.symbol("softcuda_writes"),
                ),
            }
        }));
        let (sizes, data) = ([8usize, 8], std::ptr::from_ref(places) as u64);
        let function = native_get as *const () as u64;
        p.ok("softcuda_kernel_register", &[first(b"get\0"), first(&sizes), 2, function, data]);
        let ([a, b], memory, kernel) = (p.streams(), p.allocate(SIZE), p.kernel(c"get"));
        let results = [p.allocate(4), p.allocate(4)];
        p.fill(memory, SIZE, a);
        p.order(a, b);
        p.launch(kernel, a, &[memory, results[0]]);
        p.launch(kernel, b, &[memory, results[1]]);
        p.order_if_mended(b, a);
        p.fill(memory, SIZE, a);
        p.ok("cuCtxSynchronize", &[]);
        let mut seen = 0u32;
        p.ok("cuMemcpyDtoH_v2", &[at(&mut seen), results[1], 4]);
        assert_eq!(seen, 0x0101_0101);
    });
}

/// Quadrants' mistake: a non-blocking stream does not wait for the default one.
#[test]
fn a_memset_on_the_default_stream_and_a_kernel_on_a_free_one() {
    let words = ["the legacy default stream", "kernel get"];
    planted("a_memset_on_the_default_stream_and_a_kernel_on_a_free_one", &words, |p| {
        let (memory, output) = (p.allocate(SIZE), p.allocate(4));
        let stream = if p.mended { stream(&p.cu) } else { free_stream(&p.cu) };
        p.fill(memory, SIZE, LEGACY);
        p.launch(p.kernel(c"get"), stream, &[memory, output]);
    });
}

#[test]
fn the_per_thread_default_stream_and_a_blocking_one() {
    let words = ["a per-thread default stream", "cuMemsetD8Async"];
    planted("the_per_thread_default_stream_and_a_blocking_one", &words, |p| {
        let (memory, other) = (p.allocate(SIZE), stream(&p.cu));
        p.fill(memory, SIZE, PER_THREAD);
        let later = if p.mended { LEGACY } else { other };
        p.fill(memory, SIZE, later);
    });
}

#[test]
fn an_event_that_is_recorded_too_early() {
    planted("an_event_that_is_recorded_too_early", &["kernel set", "cuMemcpyAsync"], |p| {
        let ([a, b], memory, copy) = (p.streams(), p.allocate(SIZE), p.allocate(SIZE));
        let (event, kernel) = (event(&p.cu), p.kernel(c"set"));
        if !p.mended {
            record(&p.cu, event, a);
        }
        p.launch(kernel, a, &[memory]);
        if p.mended {
            record(&p.cu, event, a);
        }
        p.ok("cuStreamWaitEvent", &[b, event, 0]);
        p.copy(copy, memory, SIZE, b);
    });
}

#[test]
fn a_wait_before_the_record_waits_for_nothing() {
    planted("a_wait_before_the_record_waits_for_nothing", &["kernel count", "kernel set"], |p| {
        let ([a, b], memory, event) = (p.streams(), p.allocate(SIZE), event(&p.cu));
        let wait = || p.ok("cuStreamWaitEvent", &[b, event, 0]);
        if !p.mended {
            wait();
        }
        p.launch(p.kernel(c"count"), a, &[memory]);
        record(&p.cu, event, a);
        if p.mended {
            wait();
        }
        p.launch(p.kernel(c"set"), b, &[memory]);
    });
}

#[test]
fn the_host_waits_for_the_wrong_stream() {
    planted("the_host_waits_for_the_wrong_stream", &["cuMemsetD32Async", "kernel get"], |p| {
        let ([a, b], memory, output) = (p.streams(), p.allocate(SIZE), p.allocate(4));
        p.ok("cuMemsetD32Async", &[memory, 1, SIZE / 4, a]);
        assert_eq!(synchronize(&p.cu, if p.mended { a } else { b }), 0);
        p.launch(p.kernel(c"get"), b, &[memory, output]);
    });
}

#[test]
fn an_allocation_in_the_order_of_another_stream() {
    let words = ["cuMemAllocAsync", "allocates", "cuMemsetD8Async"];
    planted("an_allocation_in_the_order_of_another_stream", &words, |p| {
        let ([a, b], mut memory) = (p.streams(), 0u64);
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, a]);
        p.order_if_mended(a, b);
        p.fill(memory, SIZE, b);
    });
}

#[test]
fn a_free_that_does_not_wait_for_the_last_use() {
    let words = ["cuMemFreeAsync", "frees", "kernel set"];
    planted("a_free_that_does_not_wait_for_the_last_use", &words, |p| {
        let ([a, b], mut memory) = (p.streams(), 0u64);
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, a]);
        p.order(a, b);
        p.launch(p.kernel(c"set"), b, &[memory]);
        p.order_if_mended(b, a);
        p.ok("cuMemFreeAsync", &[memory, a]);
    });
}

/// `cuMemFree` waits for work that uses plain memory, and does not for memory of a pool.
#[test]
fn a_free_by_the_host_of_a_pools_memory() {
    let words = [
        "kernel set in stream",
        "writes the same bytes, a free by the host frees them",
        "(cuMemFree_v2) by the host, device 0: a free frees",
        "offset 0 of the 1024 bytes of device memory at",
        "let the host wait for operation 2 (cuStreamSynchronize)",
    ];
    planted("a_free_by_the_host_of_a_pools_memory", &words, |p| {
        let ([stream, _], mut memory, plain) = (p.streams(), 0u64, p.allocate(SIZE));
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, stream]);
        p.launch(p.kernel(c"set"), stream, &[memory]);
        if p.mended {
            assert_eq!(synchronize(&p.cu, stream), 0);
        }
        p.ok("cuMemFree_v2", &[memory]);
        if p.mended {
            p.launch(p.kernel(c"set"), stream, &[plain]);
            p.ok("cuMemFree_v2", &[plain]);
        }
    });
}

#[test]
fn two_nodes_of_a_graph() {
    let words = ["cuGraphLaunch", "piece 1 of the graph", "cuGraphAddDependencies", "kernel get"];
    planted("two_nodes_of_a_graph", &words, |p| {
        let (memory, output, [stream, _]) = (p.allocate(SIZE), p.allocate(4), p.streams());
        let graph = graph(&p.cu);
        let fill = memset_node(&p.cu, graph, &[], &memset_params(memory, 1, 1, SIZE));
        let after = if p.mended { vec![fill] } else { vec![] };
        kernel_node(&p.cu, graph, &after, p.kernel(c"get"), &[memory, output]);
        launch(&p.cu, instantiate(&p.cu, graph), stream);
    });
}

/// The event that the second stream begins from is recorded before the kernel.
#[test]
fn a_capture_that_forks_too_early() {
    planted("a_capture_that_forks_too_early", &["cuGraphLaunch", "kernel set", "a copy"], |p| {
        let ([a, b], memory, copy) = (p.streams(), p.allocate(SIZE), p.allocate(SIZE));
        let kernel = p.kernel(c"set");
        assert_eq!(begin(&p.cu, a, RELAXED), 0);
        if !p.mended {
            p.order(a, b);
        }
        p.launch(kernel, a, &[memory]);
        if p.mended {
            p.order(a, b);
        }
        p.copy(copy, memory, SIZE, b);
        p.order(b, a);
        launch(&p.cu, instantiate(&p.cu, graph_of(&p.cu, a)), a);
    });
}

#[test]
fn a_graph_and_a_copy_in_another_stream() {
    planted("a_graph_and_a_copy_in_another_stream", &["cuGraphLaunch", "a fill", "cuMemcpyAsync"], |p| {
        let ([a, b], memory, copy) = (p.streams(), p.allocate(SIZE), p.allocate(SIZE));
        let graph = graph(&p.cu);
        memset_node(&p.cu, graph, &[], &memset_params(memory, 1, 1, SIZE));
        launch(&p.cu, instantiate(&p.cu, graph), a);
        p.order_if_mended(a, b);
        p.copy(copy, memory, SIZE, b);
    });
}

/// One launch of an executable graph follows the other, whatever streams they are in; what lies between them does not.
#[test]
fn two_launches_of_a_graph_and_what_lies_between() {
    planted("two_launches_of_a_graph_and_what_lies_between", &["cuMemsetD8Async", "cuGraphLaunch"], |p| {
        let ([a, b], memory) = (p.streams(), p.allocate(SIZE));
        let graph = graph(&p.cu);
        memset_node(&p.cu, graph, &[], &memset_params(memory, 1, 1, SIZE));
        let exec = instantiate(&p.cu, graph);
        launch(&p.cu, exec, a);
        p.fill(memory, SIZE, a);
        p.order_if_mended(a, b);
        launch(&p.cu, exec, b);
    });
}

/// What runs inside of a conditional node has the node's place.
#[test]
fn the_body_of_a_condition() {
    planted("the_body_of_a_condition", &["cuGraphLaunch", "kernel set", "cuMemcpyAsync"], |p| {
        let ([a, b], memory, copy) = (p.streams(), p.allocate(SIZE), p.allocate(SIZE));
        let (graph, mut context, mut condition, mut node) = (graph(&p.cu), 0u64, 0u64, 0u64);
        p.ok("cuCtxGetCurrent", &[at(&mut context)]);
        p.ok("cuGraphConditionalHandleCreate", &[at(&mut condition), graph, context, 1, 1]);
        let mut params = any_params(13, &[condition, 1 << 32, 0, context]);
        p.ok("cuGraphAddNode_v2", &[at(&mut node), graph, 0, 0, 0, at(&mut params)]);
        // SAFETY: the driver has written the address of one handle.
        let body = unsafe { *(params[4] as *const u64) };
        kernel_node(&p.cu, body, &[], p.kernel(c"set"), &[memory]);
        launch(&p.cu, instantiate(&p.cu, graph), a);
        p.order_if_mended(a, b);
        p.copy(copy, memory, SIZE, b);
    });
}

#[test]
fn managed_memory_in_two_kernels() {
    planted("managed_memory_in_two_kernels", &["managed memory", "kernel count", "kernel get"], |p| {
        let ([a, b], output, mut memory) = (p.streams(), p.allocate(4), 0u64);
        p.ok("cuMemAllocManaged", &[at(&mut memory), SIZE, 1]);
        p.launch(p.kernel(c"count"), a, &[memory]);
        p.order_if_mended(a, b);
        p.launch(p.kernel(c"get"), b, &[memory, output]);
    });
}

/// A copy between devices is ordered only in the stream that it is in.
#[test]
fn two_devices() {
    planted_on("2", "two_devices", &["kernel set", "cuMemcpyPeerAsync", "device 1"], |p| {
        let (mut here, mut there) = (0u64, 0u64);
        p.ok("cuCtxGetCurrent", &[at(&mut here)]);
        let (a, memory) = (free_stream(&p.cu), p.allocate(SIZE));
        p.launch(p.kernel(c"set"), a, &[memory]);
        let event = event(&p.cu);
        record(&p.cu, event, a);
        p.ok("cuDevicePrimaryCtxRetain", &[at(&mut there), 1]);
        p.ok("cuCtxSetCurrent", &[there]);
        let (b, copy) = (free_stream(&p.cu), p.allocate(SIZE));
        if p.mended {
            p.ok("cuStreamWaitEvent", &[b, event, 0]);
        }
        p.ok("cuMemcpyPeerAsync", &[copy, there, memory, here, SIZE, b]);
    });
}

#[test]
fn a_page_locked_buffer_that_is_filled_again() {
    let words = ["pinned memory", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"];
    planted("a_page_locked_buffer_that_is_filled_again", &words, |p| {
        let ([a, b], host) = (p.streams(), pinned(&p.cu, SIZE as usize).as_ptr() as u64);
        let (one, other) = (p.allocate(SIZE), p.allocate(SIZE));
        p.ok("cuMemcpyHtoDAsync_v2", &[one, host, SIZE, a]);
        p.order_if_mended(a, b);
        p.ok("cuMemcpyDtoHAsync_v2", &[host, other, SIZE, b]);
    });
}

/// Rows that overlap, and the same without: what lies between rows is not used.
#[test]
fn rectangles_that_overlap_in_a_column() {
    planted("rectangles_that_overlap_in_a_column", &["1 byte at", "cuMemsetD2D8Async"], |p| {
        let ([a, b], memory) = (p.streams(), p.allocate(64 * 16));
        p.ok("cuMemsetD2D8Async", &[memory, 64, 1, 33, 1, a]);
        p.ok("cuMemsetD2D8Async", &[memory + 64, 64, 1, 32, 15, a]);
        p.ok("cuMemsetD2D8Async", &[memory + if p.mended { 33 } else { 32 }, 64, 2, 31, 16, b]);
    });
}

#[test]
fn a_value_that_is_written_too_early() {
    planted("a_value_that_is_written_too_early", &["kernel set", "cuMemcpyAsync"], |p| {
        let ([a, b], memory, copy, flag) = (p.streams(), p.allocate(SIZE), p.allocate(SIZE), p.allocate(4));
        p.ok("cuMemsetD32_v2", &[flag, 0, 1]);
        p.ok("cuCtxSynchronize", &[]);
        let write = || p.ok("cuStreamWriteValue32_v2", &[a, flag, 1, 0]);
        if !p.mended {
            write();
        }
        p.launch(p.kernel(c"set"), a, &[memory]);
        if p.mended {
            write();
        }
        p.ok("cuStreamWaitValue32_v2", &[b, flag, 1, 0]);
        p.copy(copy, memory, SIZE, b);
    });
}

/// Of what comes before a value that the host writes nobody knows. What is submitted when that has been waited for is known again.
#[test]
fn a_value_of_the_hosts_hides_nothing_that_comes_later() {
    planted(
        "a_value_of_the_hosts_hides_nothing_that_comes_later",
        &["cuMemsetD8Async", "cuMemcpyAsync"],
        |p| {
            let ([a, b], memory, result, flag) =
                (p.streams(), p.allocate(SIZE), p.allocate(SIZE), pinned(&p.cu, 4));
            let (early, copy) = (p.allocate(SIZE), p.allocate(SIZE));
            p.fill(early, SIZE, b);
            flag[0] = 1;
            p.ok("cuStreamWaitValue32_v2", &[a, flag.as_ptr() as u64, 1, 1]);
            p.copy(copy, early, SIZE, a);
            assert_eq!(synchronize(&p.cu, a), 0);
            p.copy(copy, early, SIZE, a);
            p.fill(memory, SIZE, a);
            p.order_if_mended(a, b);
            p.copy(result, memory, SIZE, b);
        },
    );
}

#[test]
fn a_variable_of_a_module() {
    planted("a_variable_of_a_module", &["kernel note", "a variable of a module", "total.cu:7"], |p| {
        let ([a, b], copy) = (p.streams(), p.allocate(4));
        let (mut module, mut kernel, mut total, mut size) = (0u64, 0u64, 0u64, 0u64);
        p.ok("cuModuleLoadData", &[at(&mut module), KERNELS.as_ptr() as u64]);
        p.ok("cuModuleGetFunction", &[at(&mut kernel), module, c"note".as_ptr() as u64]);
        p.ok("cuModuleGetGlobal_v2", &[at(&mut total), at(&mut size), module, c"total".as_ptr() as u64]);
        p.launch(kernel, a, &[0]);
        p.order_if_mended(a, b);
        p.copy(copy, total, 4, b);
    });
}

/// The parts of a batch have no order among themselves, and the batch has its place in its stream only.
#[test]
fn a_batch_of_copies() {
    planted("a_batch_of_copies", &["cuMemcpyBatchAsync_v2", "cuMemsetD8Async"], |p| {
        let ([a, b], from) = (p.streams(), p.allocate(SIZE));
        let (one, other) = (p.allocate(SIZE), p.allocate(SIZE));
        p.fill(other, SIZE, a);
        p.order_if_mended(a, b);
        let (to, sources, sizes) = ([one, other], [from, from], [SIZE, SIZE]);
        let (attributes, starts) = ([1u32, 0, 0, 0, 0, 0], [0u64]);
        let arguments =
            [first(&to), first(&sources), first(&sizes), 2, first(&attributes), first(&starts), 1, b];
        p.ok("cuMemcpyBatchAsync_v2", &arguments);
    });
}

/// A host function has its place in its stream; what it tells the host is the host's affair.
#[test]
fn registered_memory_in_two_streams() {
    planted(
        "registered_memory_in_two_streams",
        &["registered memory", "cuMemcpyAsync", "cuMemsetD8Async"],
        |p| {
            let ([a, b], copy) = (p.streams(), p.allocate(4096));
            let host: &'static mut [u64] = Box::leak(vec![0u64; 1024].into_boxed_slice());
            let host = (host.as_ptr() as u64).next_multiple_of(4096);
            p.ok("cuMemHostRegister_v2", &[host, 4096, 2]);
            let mut device = 0u64;
            p.ok("cuMemHostGetDevicePointer_v2", &[at(&mut device), host, 0]);
            p.copy(copy, host, 4096, a);
            p.order_if_mended(a, b);
            p.fill(device, 16, b);
        },
    );
}

/// Memory that begins in the middle of what other memory was: only its bytes are new.
#[test]
fn memory_that_begins_where_other_was() {
    let said = alone("memory_that_begins_where_other_was", &[("SOFTCUDA_CHECK", "races")], || {
        let p = Program { cu: with_context(), mended: false };
        let [a, b] = p.streams();
        for size in [4096, 1024, 512, 2048] {
            let memory = [p.allocate(size), p.allocate(size)];
            memory.iter().for_each(|memory| p.fill(*memory, size, a));
            p.ok("cuCtxSynchronize", &[]);
            p.fill(memory[1], 16, b);
            memory.iter().for_each(|memory| p.ok("cuMemFree_v2", &[*memory]));
        }
        assert!(p.reports().is_empty(), "{:#?}", p.reports());
    });
    assert!(!said.contains("panicked"), "{said}");
}

/// Each pair of places is told once, on the standard error stream too, and atomic operations do not conflict with each other.
#[test]
fn a_pair_of_places_is_told_once() {
    let said = alone("a_pair_of_places_is_told_once", &[("SOFTCUDA_CHECK", "races")], || {
        let p = Program { cu: with_context(), mended: false };
        let ([a, b], memory, counter) = (p.streams(), p.allocate(SIZE), p.allocate(4));
        let (count, set) = (p.kernel(c"count"), p.kernel(c"set"));
        for _ in 0..3 {
            p.launch(count, a, &[counter]);
            p.launch(count, b, &[counter]);
            p.launch(set, a, &[memory]);
            p.fill(memory, SIZE, b);
            p.ok("cuCtxSynchronize", &[]);
        }
        assert_eq!(p.reports().len(), 1, "{:#?}", p.reports());
    });
    assert_eq!(said.matches("softcuda: race:").count(), 1, "{said}");
    assert!(said.contains("softcuda: races: 1 reported, 0 suppressed"), "{said}");
}

/// What becomes of reports: a log, suppressions, an exit status; and settings that are wrong.
#[test]
fn what_becomes_of_reports() {
    let [log, list] =
        ["races.log", "races.list"].map(|name| format!("{}/{name}", env!("CARGO_TARGET_TMPDIR")));
    let (log, list) = (&*log, &*list);
    if std::env::var_os("SOFTCUDA_TEST_CHILD").is_none() {
        let _ = std::fs::remove_file(log);
        std::fs::write(list, "# ours\n\nrace: cuMemset* / *\n").expect("it is written");
    }
    let race = || {
        let p = Program { cu: with_context(), mended: false };
        let ([a, b], memory) = (p.streams(), p.allocate(SIZE));
        p.fill(memory, SIZE, a);
        p.fill(memory, SIZE, b);
        p.ok("cuCtxSynchronize", &[]);
        p.cu.call_wide("softcuda_check_count", &[])
    };
    let name = "what_becomes_of_reports";
    alone(name, &[("SOFTCUDA_CHECK", "races"), ("SOFTCUDA_CHECK_LOG", log)], || assert_eq!(race(), 1));
    if std::env::var_os("SOFTCUDA_TEST_CHILD").is_none() {
        let text = std::fs::read_to_string(log).expect("there is a log");
        let line: serde_json::Value = serde_json::from_str(text.trim()).expect("a line of JSON");
        assert_eq!(line["check"], "races");
        assert_eq!(line["bytes"], SIZE);
        assert_eq!(line["first"]["call"], "cuMemsetD8Async");
        assert_eq!(line["second"]["does"], "writes");
    }
    let said = alone(name, &[("SOFTCUDA_CHECK", "races"), ("SOFTCUDA_CHECK_SUPPRESSIONS", list)], || {
        assert_eq!(race(), 0);
    });
    if !said.is_empty() {
        assert!(said.contains("races: 0 reported, 1 suppressed"), "{said}");
    }
    alone(name, &[], || assert_eq!(race(), 0, "nobody checks"));
    for (variable, value) in [
        ("SOFTCUDA_CHECK", "race"),
        ("SOFTCUDA_CHECK", "races,"),
        ("SOFTCUDA_CHECK_EXIT", "256"),
        ("SOFTCUDA_CHECK_LOG", "/nowhere/log"),
        ("SOFTCUDA_CHECK_SUPPRESSIONS", "/nowhere/list"),
    ] {
        let said = alone(name, &[(variable, value)], || {
            assert_eq!(Library::core().call("cuInit", &[0]), SYSTEM_NOT_READY);
        });
        if !said.is_empty() {
            assert!(said.contains(&format!("{variable}={value} is not")), "{said}");
        }
    }
}

/// Random programs of fills, copies, graphs, captures, frees, events and waits, on two devices, of which a search says what is ordered. `RACES_RANDOM_PROGRAMS`
/// says how many there are under each schedule, 300 if nothing is said.
mod random {
    use super::{
        LEGACY, PER_THREAD, Program, RELAXED, at, begin, event, free_stream, graph, graph_of, instantiate,
        launch, memset_node, memset_params, record, stream, text,
    };
    use crate::common::graphs::{destroy, destroy_exec};
    use crate::common::{alone, with_context};
    use std::ffi::c_char;
    use std::ops::Range;

    /// Numbers that look random; the same in every run.
    pub(super) struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }

        /// Some words of memory.
        fn range(&mut self) -> Range<u64> {
            let start = self.below(16) * 4;
            start..start + (1 + self.below(4)) * 4
        }
    }

    /// Bytes that are used.
    struct Use {
        /// Which memory: 0 is that of the program, others come from the pool.
        memory: u64,
        range: Range<u64>,
        writes: bool,
    }

    /// A piece of work: what comes before it, as a bit each.
    struct Piece {
        /// `None` for a node of a graph.
        stream: Option<usize>,
        before: u128,
        /// The number of the call's first operation that uses memory.
        operation: u64,
        uses: Vec<Use>,
    }

    struct Model<'p> {
        program: &'p Program,
        /// The legacy default stream first, those that are not ordered with the default ones last, of these one of the other device.
        streams: [u64; 6],
        /// The last is of the other device, as those have to be that are recorded there.
        events: [(u64, Option<usize>); 4],
        pieces: Vec<Piece>,
        /// What the host has waited for.
        waited: u128,
        /// Operations of all of the process that use memory.
        operations: &'p mut u64,
        /// Memory of the pool that is not freed, by its number.
        pooled: Vec<(u64, u64)>,
        allocations: u64,
        /// Whether work runs in the order of the calls: only then nothing runs into memory that is freed too early.
        frees: bool,
    }

    const FREE: usize = 3;
    /// The stream of the other device, and its event.
    const ELSEWHERE: usize = 5;
    const EVENT_ELSEWHERE: usize = 3;

    impl Model<'_> {
        /// The pieces of the streams of which a condition holds.
        fn of(&self, is: impl Fn(usize) -> bool) -> u128 {
            let pieces = self.pieces.iter().enumerate().filter(|(_, piece)| piece.stream.is_some_and(&is));
            pieces.fold(0, |all, (number, piece)| all | 1 << number | piece.before)
        }

        fn with(&self, piece: usize) -> u128 {
            1 << piece | self.pieces[piece].before
        }

        fn push(&mut self, stream: Option<usize>, before: u128, uses: Vec<Use>) {
            let operation = *self.operations;
            self.pieces.push(Piece { stream, before, operation, uses });
        }

        fn add(&mut self, stream: usize, after: Option<usize>, uses: Vec<Use>) {
            let follows = |other: usize| match stream {
                0 => other < FREE,
                1 | 2 => other == stream || other == 0,
                _ => other == stream,
            };
            let before = self.of(follows) | self.waited | after.map_or(0, |piece| self.with(piece));
            *self.operations += u64::from(!uses.is_empty());
            self.push(Some(stream), before, uses);
        }

        /// A graph of fills, each behind some of those before it, is launched.
        fn launch_graph(&mut self, random: &mut Random, stream: usize, memory: u64) {
            let p = self.program;
            let graph = graph(&p.cu);
            self.add(stream, None, Vec::new());
            let (begin, first) = (self.pieces.len() - 1, *self.operations + 1);
            let (mut nodes, mut all): (Vec<(u64, usize)>, u128) = (Vec::new(), self.with(begin));
            for _ in 0..1 + random.below(4) {
                let range = random.range();
                let earlier: Vec<(u64, usize)> =
                    nodes.iter().filter(|_| random.below(2) == 0).copied().collect();
                let handles: Vec<u64> = earlier.iter().map(|(node, _)| *node).collect();
                let params = memset_params(memory + range.start, 1, 4, (range.end - range.start) / 4);
                let node = memset_node(&p.cu, graph, &handles, &params);
                let before = earlier.iter().fold(self.with(begin), |all, (_, piece)| all | self.with(*piece));
                *self.operations += 1;
                let uses = vec![Use { memory: 0, range, writes: true }];
                self.pieces.push(Piece { stream: None, before, operation: first, uses });
                nodes.push((node, self.pieces.len() - 1));
                all |= self.with(self.pieces.len() - 1);
            }
            let exec = instantiate(&p.cu, graph);
            launch(&p.cu, exec, self.streams[stream]);
            destroy_exec(&p.cu, exec);
            destroy(&p.cu, graph);
            self.push(Some(stream), all, Vec::new());
        }

        /// Two streams are captured, the second from some point of the first on, with fills and events in both; what that makes is launched.
        fn launch_captured(&mut self, random: &mut Random, stream: usize, memory: u64) {
            let (p, captured) = (self.program, [self.streams[FREE], self.streams[FREE + 1]]);
            self.add(stream, None, Vec::new());
            let (start, first) = (self.with(self.pieces.len() - 1), *self.operations + 1);
            let (mut ends, mut all, mut has_forked) = ([start; 2], start, false);
            assert_eq!(begin(&p.cu, captured[0], RELAXED), 0);
            for _ in 0..2 + random.below(4) {
                let (one, links) = (random.below(2) as usize, random.below(3) == 0);
                if !has_forked && (one == 1 || links) {
                    link(p, captured[0], captured[1]);
                    (has_forked, ends[1]) = (true, ends[0]);
                } else if links {
                    link(p, captured[one], captured[1 - one]);
                    ends[1 - one] |= ends[one];
                }
                let range = random.range();
                p.fill(memory + range.start, range.end - range.start, captured[one]);
                *self.operations += 1;
                let uses = vec![Use { memory: 0, range, writes: true }];
                self.pieces.push(Piece { stream: None, before: ends[one], operation: first, uses });
                ends[one] = self.with(self.pieces.len() - 1);
                all |= ends[one];
            }
            if has_forked {
                link(p, captured[1], captured[0]);
            }
            let graph = graph_of(&p.cu, captured[0]);
            let exec = instantiate(&p.cu, graph);
            launch(&p.cu, exec, self.streams[stream]);
            destroy_exec(&p.cu, exec);
            destroy(&p.cu, graph);
            self.push(Some(stream), all, Vec::new());
        }

        /// Memory begins, and the host waits for that; or what there is is used, or freed.
        fn use_pool(&mut self, random: &mut Random, stream: usize) {
            let (p, handle) = (self.program, self.streams[stream]);
            let of_all = |number| vec![Use { memory: number, range: 0..64, writes: true }];
            match (self.pooled.pop(), random.below(3)) {
                (None, _) => {
                    let mut pointer = 0u64;
                    p.ok("cuMemAllocAsync", &[at(&mut pointer), 64, handle]);
                    self.allocations += 1;
                    self.add(stream, None, of_all(self.allocations));
                    // Memory that was freed in another stream may come again, and then waits for that.
                    p.ok("cuCtxSynchronize", &[]);
                    self.waited |= self.of(|other| other != ELSEWHERE);
                    self.pooled.push((self.allocations, pointer));
                }
                (Some((number, pointer)), 0) => {
                    p.ok("cuMemFreeAsync", &[pointer, handle]);
                    self.add(stream, None, of_all(number));
                }
                (Some((number, pointer)), _) => {
                    let range = random.range();
                    p.ok("cuMemsetD8Async", &[pointer + range.start % 32, 1, 4, handle]);
                    let start = range.start % 32;
                    self.add(
                        stream,
                        None,
                        vec![Use { memory: number, range: start..start + 4, writes: true }],
                    );
                    self.pooled.push((number, pointer));
                }
            }
        }

        fn wait_for(&mut self, stream: usize) {
            self.waited |= self.of(|other| other == stream || stream == 0 && other < FREE);
        }

        fn step(&mut self, random: &mut Random, memory: u64) {
            let (stream, one) = (random.below(6) as usize, random.below(3) as usize);
            let (handle, (event, recorded)) = (self.streams[stream], self.events[random.below(4) as usize]);
            let p = self.program;
            match random.below(17) {
                0 | 1 => {
                    let one = if stream == ELSEWHERE { EVENT_ELSEWHERE } else { one };
                    p.ok("cuEventRecord", &[self.events[one].0, handle]);
                    self.add(stream, None, Vec::new());
                    self.events[one].1 = Some(self.pieces.len() - 1);
                }
                2..=4 => {
                    p.ok("cuStreamWaitEvent", &[handle, event, 0]);
                    if recorded.is_some() {
                        self.add(stream, recorded, Vec::new());
                    }
                }
                5 if random.below(3) == 0 => {
                    p.ok("cuStreamSynchronize", &[handle]);
                    self.wait_for(stream);
                }
                5 if random.below(3) == 0 => {
                    p.ok("cuEventSynchronize", &[event]);
                    self.waited |= recorded.map_or(0, |piece| self.with(piece));
                }
                5 if random.below(4) == 0 => {
                    p.ok("cuCtxSynchronize", &[]);
                    self.waited |= self.of(|other| other != ELSEWHERE);
                }
                // The other device copies alone.
                number if stream == ELSEWHERE || (6..=8).contains(&number) => {
                    let (to, from) = (random.range(), random.range());
                    let size = (to.end - to.start).min(from.end - from.start);
                    p.copy(memory + to.start, memory + from.start, size, handle);
                    let used = |start, writes| Use { memory: 0, range: start..start + size, writes };
                    self.add(stream, None, vec![used(from.start, false), used(to.start, true)]);
                }
                9 => self.launch_graph(random, stream, memory),
                16 => self.launch_captured(random, stream, memory),
                10 | 11 if self.frees => self.use_pool(random, stream),
                _ => {
                    let range = random.range();
                    let (name, unit) =
                        [("cuMemsetD8Async", 1), ("cuMemsetD16Async", 2), ("cuMemsetD32Async", 4)][one];
                    p.ok(name, &[memory + range.start, 7, (range.end - range.start) / unit, handle]);
                    self.add(stream, None, vec![Use { memory: 0, range, writes: true }]);
                }
            }
        }

        /// The pairs of calls that share bytes, one of them writing, and have no order.
        fn races(&self) -> Vec<(u64, u64)> {
            let conflict = |one: &Use, two: &Use| {
                one.memory == two.memory
                    && (one.writes || two.writes)
                    && one.range.start < two.range.end
                    && two.range.start < one.range.end
            };
            let mut races = Vec::new();
            for (number, later) in self.pieces.iter().enumerate() {
                for (earlier, other) in self.pieces[..number].iter().enumerate() {
                    let meet = other.uses.iter().any(|one| later.uses.iter().any(|two| conflict(one, two)));
                    if meet && later.before >> earlier & 1 == 0 {
                        races.push((other.operation, later.operation));
                    }
                }
            }
            races
        }

        /// The number by which the model knows an operation: that of the first one of its call.
        fn known(&self, operation: u64) -> u64 {
            let numbers =
                self.pieces.iter().filter(|piece| !piece.uses.is_empty()).map(|piece| piece.operation);
            numbers.filter(|number| *number <= operation).max().unwrap_or(0)
        }
    }

    /// What one stream was given until now comes before what the other is given next.
    fn link(p: &Program, earlier: u64, later: u64) {
        let event = event(&p.cu);
        record(&p.cu, event, earlier);
        p.ok("cuStreamWaitEvent", &[later, event, 0]);
        p.ok("cuEventDestroy_v2", &[event]);
    }

    /// Waits for both devices.
    fn wait_for_all(p: &Program, streams: &[u64; 6]) {
        p.ok("cuCtxSynchronize", &[]);
        p.ok("cuStreamSynchronize", &[streams[ELSEWHERE]]);
    }

    /// The numbers of the operations that the reports name.
    fn reported(p: &Program, streams: &[u64; 6]) -> Vec<(u64, u64)> {
        wait_for_all(p, streams);
        let count = p.cu.call_wide("softcuda_check_count", &[]);
        let report = |number| {
            let json = text(p.cu.call_wide("softcuda_check_json", &[number]) as *const c_char);
            let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            let side = |name: &str| json[name]["operation"].as_u64().expect("a number");
            (side("first"), side("second"))
        };
        let pairs = (0..count).map(report).collect();
        p.cu.call("softcuda_check_reset", &[]);
        pairs
    }

    fn run(seed: u64, programs: u64, frees: bool) {
        let p = Program { cu: with_context(), mended: false };
        let (mut random, mut operations, mut memory, mut with_races) = (Random(seed), 0u64, 0u64, 0);
        p.ok("cuMemAlloc_v2", &[at(&mut memory), 128]);
        let created = [stream(&p.cu), free_stream(&p.cu), free_stream(&p.cu)];
        let (mut here, mut there) = (0u64, 0u64);
        p.ok("cuCtxGetCurrent", &[at(&mut here)]);
        p.ok("cuDevicePrimaryCtxRetain", &[at(&mut there), 1]);
        p.ok("cuCtxSetCurrent", &[there]);
        let elsewhere = free_stream(&p.cu);
        p.ok("cuCtxSetCurrent", &[here]);
        let streams = [LEGACY, PER_THREAD, created[0], created[1], created[2], elsewhere];
        for number in 0..programs {
            // No event was recorded before: a wait for it would be work in its stream.
            let own = [(); 3].map(|()| event(&p.cu));
            p.ok("cuCtxSetCurrent", &[there]);
            let events = [own[0], own[1], own[2], event(&p.cu)];
            p.ok("cuCtxSetCurrent", &[here]);
            let mut model = Model {
                program: &p,
                streams,
                events: events.map(|event| (event, None)),
                pieces: Vec::new(),
                waited: 0,
                operations: &mut operations,
                pooled: Vec::new(),
                allocations: 0,
                frees,
            };
            for _ in 0..3 + random.below(12) {
                model.step(&mut random, memory);
            }
            let (expected, found) = (model.races(), reported(&p, &streams));
            let found: Vec<_> =
                found.iter().map(|(one, two)| (model.known(*one), model.known(*two))).collect();
            assert_eq!(found.is_empty(), expected.is_empty(), "program {number}: {expected:?} {found:?}");
            assert!(found.iter().all(|pair| expected.contains(pair)), "{number}: {found:?} of {expected:?}");
            with_races += u64::from(!expected.is_empty());
            for (_, pointer) in std::mem::take(&mut model.pooled) {
                p.ok("cuMemFreeAsync", &[pointer, streams[4]]);
                operations += 1;
            }
            wait_for_all(&p, &streams);
            p.cu.call("softcuda_check_reset", &[]);
            events.iter().for_each(|event| p.ok("cuEventDestroy_v2", &[*event]));
        }
        assert!((programs / 6..programs * 19 / 20).contains(&with_races), "{with_races} of {programs}");
    }

    #[test]
    fn random_programs_under_each_schedule() {
        let programs = std::env::var("RACES_RANDOM_PROGRAMS");
        let programs = programs.map_or(300, |text| text.parse().expect("a number of programs"));
        for (schedule, seed) in [("eager", 11), ("lazy", 12), ("in-order", 13), ("seeded", 14)] {
            let variables =
                [("SOFTCUDA_CHECK", "races"), ("SOFTCUDA_SCHEDULE", schedule), ("SOFTCUDA_DEVICES", "2")];
            let frees = schedule == "in-order";
            alone("random::random_programs_under_each_schedule", &variables, || run(seed, programs, frees));
        }
    }
}
