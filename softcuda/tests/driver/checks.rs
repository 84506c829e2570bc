//! `SOFTCUDA_CHECK=memory,uninitialised,leaks`: programs with one mistake, found under every schedule, and the same programs mended, in
//! which nothing is found.

use crate::common::captures::{RELAXED, begin, graph_of};
use crate::common::graphs::{graph, instantiate, launch};
use crate::common::streams::{Gate, event, free_stream, pinned, synchronize};
use crate::common::{alone, at, text, with_context};
use crate::races::{Program, planted_for};
use std::ffi::c_char;

const SIZE: u64 = 1024;
const ALL: &str = "races,memory,uninitialised";

#[track_caller]
fn planted(name: &str, words: &[&str], body: fn(&Program)) {
    planted_for(ALL, "1", name, words, body);
}

#[test]
fn a_kernel_beyond_an_end() {
    let words = ["memory: kernel set", "st.global.u32", "thread (255,0,0)", "after the 1020 bytes"];
    planted("a_kernel_beyond_an_end", &words, |p| {
        let memory = p.allocate(if p.mended { SIZE } else { SIZE - 4 });
        p.launch(p.kernel(c"set"), 0, &[memory]);
    });
}

#[test]
fn a_misaligned_address() {
    planted("a_misaligned_address", &["memory: kernel set", "misaligned address"], |p| {
        let memory = p.allocate(SIZE + 4);
        p.launch(p.kernel(c"set"), 0, &[memory + if p.mended { 0 } else { 2 }]);
    });
}

#[test]
fn a_kernel_behind_the_free_in_its_stream() {
    let words = ["kernel set", "freed:  operation 2 (cuMemFreeAsync)", "made by cuMemAllocAsync", "order:"];
    planted("a_kernel_behind_the_free_in_its_stream", &words, |p| {
        let ([stream, _], mut memory, kernel) = (p.streams(), 0u64, p.kernel(c"set"));
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, stream]);
        let free = || p.ok("cuMemFreeAsync", &[memory, stream]);
        if !p.mended {
            free();
        }
        p.launch(kernel, stream, &[memory]);
        if p.mended {
            free();
        }
    });
}

#[test]
fn a_kernel_after_the_free() {
    let words = ["kernel set", "freed:  cuMemFree_v2", "made by cuMemAlloc_v2"];
    planted("a_kernel_after_the_free", &words, |p| {
        let (memory, kernel) = (p.allocate(SIZE), p.kernel(c"set"));
        let free = || p.ok("cuMemFree_v2", &[memory]);
        if !p.mended {
            free();
        }
        p.launch(kernel, 0, &[memory]);
        if p.mended {
            free();
        }
    });
}

#[test]
fn a_kernel_whose_memory_the_host_frees_meanwhile() {
    let words =
        ["kernel set", "that was freed", "freed:  cuMemFree_v2, behind operation", "made by cuMemAllocAsync"];
    planted_for("memory", "1", "a_kernel_whose_memory_the_host_frees_meanwhile", &words, |p| {
        let ([stream, _], mut memory, kernel) = (p.streams(), 0u64, p.kernel(c"set"));
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, stream]);
        let gate = Gate::in_stream(&p.cu, stream);
        p.launch(kernel, stream, &[memory]);
        if p.mended {
            gate.open();
            assert_eq!(synchronize(&p.cu, stream), 0);
        }
        p.ok("cuMemFree_v2", &[memory]);
        gate.open();
    });
}

#[test]
fn a_node_behind_the_free_of_its_graph() {
    let words = ["kernel set", "piece 2 of the graph", "freed:  operation", "a free"];
    planted("a_node_behind_the_free_of_its_graph", &words, |p| {
        let ([stream, _], mut memory, kernel) = (p.streams(), 0u64, p.kernel(c"set"));
        assert_eq!(begin(&p.cu, stream, RELAXED), 0);
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, stream]);
        let free = || p.ok("cuMemFreeAsync", &[memory, stream]);
        if !p.mended {
            free();
        }
        p.launch(kernel, stream, &[memory]);
        if p.mended {
            free();
        }
        launch(&p.cu, instantiate(&p.cu, graph_of(&p.cu, stream)), stream);
    });
}

#[test]
fn a_kernel_that_reads_what_nothing_has_written() {
    let words = ["uninitialised: kernel get", "ld.global.u32", "reads 4 bytes", "made by cuMemAlloc_v2"];
    planted("a_kernel_that_reads_what_nothing_has_written", &words, |p| {
        let (memory, output) = (p.allocate(SIZE), p.allocate(4));
        if p.mended {
            p.fill(memory, 4, 0);
        }
        p.launch(p.kernel(c"get"), 0, &[memory, output]);
    });
}

#[test]
fn a_copy_to_the_host_of_too_much() {
    let words = ["uninitialised: a copy", "reads 4 bytes", "offset 1020 of the 1024 bytes"];
    planted("a_copy_to_the_host_of_too_much", &words, |p| {
        let (memory, host) = (p.allocate(SIZE), pinned(&p.cu, SIZE as usize));
        p.fill(memory, if p.mended { SIZE } else { SIZE - 4 }, 0);
        p.copy(host.as_ptr() as u64, memory, SIZE, 0);
    });
}

/// A copy inside of a device is no use; what comes of it is.
#[test]
fn what_was_never_written_stays_so_in_a_copy() {
    let words = ["uninitialised: kernel get", "offset 512 of the 1024 bytes"];
    planted("what_was_never_written_stays_so_in_a_copy", &words, |p| {
        let (memory, other, output) = (p.allocate(SIZE), p.allocate(SIZE), p.allocate(4));
        p.fill(other, SIZE, 0);
        if p.mended {
            p.fill(memory, SIZE, 0);
        }
        p.copy(other + 512, memory, 256, 0);
        p.launch(p.kernel(c"get"), 0, &[other, output]);
        p.launch(p.kernel(c"get"), 0, &[other + 512, output]);
    });
}

#[test]
fn memory_of_a_pool_that_somebody_had_before() {
    let words = ["uninitialised: kernel get", "made by cuMemAllocAsync"];
    planted("memory_of_a_pool_that_somebody_had_before", &words, |p| {
        let ([stream, _], output, mut memory) = (p.streams(), p.allocate(4), 0u64);
        for time in 0..2 {
            p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, stream]);
            if time == 0 || p.mended {
                p.fill(memory, SIZE, stream);
            }
            p.launch(p.kernel(c"get"), stream, &[memory, output]);
            p.ok("cuMemFreeAsync", &[memory, stream]);
        }
    });
}

#[test]
fn the_gaps_between_rows() {
    let words = ["uninitialised: a copy", "reads 8 bytes", "offset 8 of"];
    planted("the_gaps_between_rows", &words, |p| {
        let (memory, host) = (p.allocate(SIZE), pinned(&p.cu, SIZE as usize));
        let width = if p.mended { 16 } else { 8 };
        p.ok("cuMemsetD2D8Async", &[memory, 16, 1, width, SIZE / 16, 0]);
        p.copy(host.as_ptr() as u64, memory, SIZE, 0);
    });
}

#[test]
fn a_counter_that_begins_somewhere() {
    let words = ["uninitialised: kernel count", "atom.global.add.u32"];
    planted("a_counter_that_begins_somewhere", &words, |p| {
        let counter = p.allocate(4);
        if p.mended {
            p.fill(counter, 4, 0);
        }
        p.launch(p.kernel(c"count"), 0, &[counter]);
        p.launch(p.kernel(c"count"), 0, &[counter]);
    });
}

#[test]
fn memory_of_a_graph() {
    let words = ["uninitialised: kernel get", "piece 1 of the graph"];
    planted("memory_of_a_graph", &words, |p| {
        let ([stream, _], output, kernel, mut memory) = (p.streams(), p.allocate(4), p.kernel(c"get"), 0u64);
        assert_eq!(begin(&p.cu, stream, RELAXED), 0);
        p.ok("cuMemAllocAsync", &[at(&mut memory), SIZE, stream]);
        if p.mended {
            p.fill(memory, SIZE, stream);
        }
        p.launch(kernel, stream, &[memory, output]);
        p.ok("cuMemFreeAsync", &[memory, stream]);
        let exec = instantiate(&p.cu, graph_of(&p.cu, stream));
        launch(&p.cu, exec, stream);
        launch(&p.cu, exec, stream);
    });
}

/// Each kind of object, and the function that has made it; nothing of what was released.
#[test]
fn what_is_never_released() {
    let name = "what_is_never_released";
    alone(name, &[("SOFTCUDA_CHECK", "leaks")], || {
        let p = Program { cu: with_context(), mended: false };
        let reports = || {
            p.cu.call("softcuda_check_reset", &[]);
            p.cu.call("softcuda_check_leaks", &[]);
            let count = p.cu.call_wide("softcuda_check_count", &[]);
            let report = |number| text(p.cu.call_wide("softcuda_check_report", &[number]) as *const c_char);
            (0..count).map(report).collect::<Vec<_>>()
        };
        let before = reports();
        let (one, more) = (p.allocate(4096), [p.allocate(16), p.allocate(16)]);
        let (stream, event, mut pooled, mut host) = (free_stream(&p.cu), event(&p.cu), 0u64, 0u64);
        p.ok("cuMemAllocAsync", &[at(&mut pooled), 64, stream]);
        p.ok("cuMemHostAlloc", &[at(&mut host), 32, 0]);
        let exec = instantiate(&p.cu, graph(&p.cu));
        p.ok("cuCtxSynchronize", &[]);
        for (object, label) in [(event, c"done"), (host, c"staging"), (exec, c"step")] {
            p.ok("softcuda_label_set", &[object, label.as_ptr() as u64]);
        }
        let found = reports();
        let expected = [
            ["device memory", "cuMemAlloc_v2", ", and 2 more of this kind (4128 bytes in all)"],
            ["device memory", "cuMemAllocAsync", "64 bytes"],
            ["pinned memory", "cuMemHostAlloc", " \"staging\", 32 bytes"],
            ["leak: stream", "cuStreamCreate", "never released"],
            ["leak: event", "cuEventCreate", " \"done\", device 0"],
            ["leak: graph", "cuGraphCreate", "never released"],
            ["executable graph", "cuGraphInstantiate", " \"step\" was never released"],
        ];
        for words in expected {
            let fits = |report: &&String| words.iter().all(|word| report.contains(word));
            assert_eq!(found.iter().filter(fits).count(), 1, "{words:?} in {found:#?}");
        }
        assert_eq!(found.len(), before.len() + expected.len(), "{found:#?}");
        p.ok("cuGraphExecDestroy", &[exec]);
        p.ok("cuMemFreeHost", &[host]);
        p.ok("cuMemFreeAsync", &[pooled, stream]);
        p.ok("cuStreamDestroy_v2", &[stream]);
        p.ok("cuEventDestroy_v2", &[event]);
        [one].iter().chain(&more).for_each(|memory| p.ok("cuMemFree_v2", &[*memory]));
        p.ok("cuCtxSynchronize", &[]);
        assert_eq!(reports().len(), before.len() + 1, "the graph's definition is left: {:#?}", reports());
    });
}
