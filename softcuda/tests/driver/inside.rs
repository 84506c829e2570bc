//! `SOFTCUDA_CHECK=races`, inside of a kernel: kernels in which one instruction is missing that orders two threads, and the same kernels
//! mended. What is missing is found under every schedule; nothing is found in the mended ones.

use crate::common::graphs::function;
use crate::common::streams::free_stream;
use crate::common::{alone, first, with_context};
use crate::races::{Program, planted_for};
use std::ffi::CString;

/// What all kernels begin with: `%a` is 4 KiB of zeros, `%t` the thread, `%b` the block; `%at` is the thread's word of the memory, `%mine` and
/// `%other` are its word of shared memory, and that of the thread at the other end of the block.
const BEGIN: &str = "
.version 8.0
.target sm_90
.address_size 64
.file 1 \"kernel.cu\"
.visible .entry kernel(.param .u64 place) CLUSTER
{
    .shared .align 16 .b8 words[4096];
    .reg .u32 %t, %b, %n, %v, %w, %mine, %other, %mask;
    .reg .u64 %a, %at, %o;
    .reg .pred %p, %q;
    ld.param.u64 %a, [place];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mul.wide.u32 %o, %t, 4;
    add.u64 %at, %a, %o;
    mov.u32 %mine, words;
    mad.lo.u32 %other, %n, 4, %mine;
    mad.lo.u32 %mine, %t, 4, %mine;
    sub.u32 %other, %other, 4;
    mul.lo.u32 %v, %t, 4;
    sub.u32 %other, %other, %v;
";

/// Launches a kernel of so many blocks and threads; where it says MEND stands `mend`, or nothing.
fn launch(p: &Program, blocks: u64, threads: u64, body: &str, mend: &str) {
    let cluster = if body.contains("CLUSTER") { ".reqnctapercluster 2, 1, 1" } else { "" };
    let body = body.replace("CLUSTER", "");
    let text = format!("{}{}\nEND:\n    ret;\n}}\n", BEGIN.replace("CLUSTER", cluster), body);
    let text = text.replace("MEND", if p.mended { mend } else { "" });
    let text = CString::new(text).expect("no zero byte");
    let kernel = function(&p.cu, &text, c"kernel");
    let (stream, memory) = (free_stream(&p.cu), p.allocate(4096));
    p.ok("cuMemsetD8Async", &[memory, 0, 4096, stream]);
    let pointers = [std::ptr::from_ref(&memory) as u64];
    p.call_launch(&[kernel, blocks, 1, 1, threads, 1, 1, 0, stream, first(&pointers)]);
}

#[track_caller]
fn planted(name: &str, words: &[&str], body: fn(&Program)) {
    planted_for("races", "1", name, words, body);
}

#[test]
fn a_barrier_between_a_write_and_a_read_of_shared_memory() {
    let words = [
        "two threads of one block of kernel kernel",
        "of the shared memory of block (0,0,0)",
        "writes at line 26 of the PTX (st.shared.u32, kernel.cu:7)",
        "reads at line 29 of the PTX (ld.shared.u32, kernel.cu:9)",
        "__syncthreads() (bar.sync)",
    ];
    planted("a_barrier_between_a_write_and_a_read_of_shared_memory", &words, |p| {
        let body = "
    .loc 1 7 3
    st.shared.u32 [%mine], %t;
    MEND
    .loc 1 9 3
    ld.shared.u32 %v, [%other];
    st.global.u32 [%at], %v;";
        launch(p, 1, 256, body, "bar.sync 0;");
    });
}

#[test]
fn a_barrier_between_a_read_and_the_next_write() {
    let words = ["reads at line", "writes at line", "two threads of one block", "ld.shared", "st.shared"];
    planted("a_barrier_between_a_read_and_the_next_write", &words, |p| {
        let body = "
    st.shared.u32 [%mine], %t;
    bar.sync 0;
    ld.shared.u32 %v, [%other];
    MEND
    st.shared.u32 [%mine], %v;";
        launch(p, 2, 64, body, "bar.sync 0;");
    });
}

#[test]
fn two_blocks_write_to_one_address() {
    let words = [
        "two blocks of kernel kernel",
        "st.global.u32",
        "offset 0 of the 4096 bytes of device memory",
        "two launches",
    ];
    planted("two_blocks_write_to_one_address", &words, |p| {
        let body = "
    setp.ne.u32 %p, %t, 0;
    MEND
    @%p bra END;
    st.global.u32 [%a], %b;";
        launch(p, 2, 32, body, "setp.ne.or.u32 %p, %b, 0, %p;");
    });
}

#[test]
fn a_block_reads_what_another_one_writes() {
    planted(
        "a_block_reads_what_another_one_writes",
        &["two blocks", "ld.global.u32", "st.global.u32"],
        |p| {
            let body = "
    setp.ne.u32 %p, %t, 0;
    @%p bra END;
    mul.wide.u32 %o, %b, 4;
    add.u64 %at, %a, %o;
    st.global.u32 [%at], %b;
    mov.u32 %v, %b;
    xor.b32 %v, %v, 1;
    MEND
    mul.wide.u32 %o, %v, 4;
    add.u64 %at, %a, %o;
    ld.global.u32 %v, [%at];
    st.global.u32 [%at+1024], %v;";
            // Its own word, and nobody else's.
            launch(p, 2, 32, body, "mov.u32 %v, %b;");
        },
    );
}

#[test]
fn an_atomic_operation_and_a_plain_read() {
    let words = ["updates", "reads", "let the second be atomic, too", "atom.global.add.u32", "ld.global"];
    planted("an_atomic_operation_and_a_plain_read", &words, |p| {
        let ordering = if p.mended { ".relaxed.gpu" } else { "" };
        let body = "
    setp.ne.u32 %p, %t, 0;
    @%p bra END;
    setp.ne.u32 %p, %b, 0;
    @%p bra READ;
    atom.global.add.u32 %v, [%a], 1;
    bra.uni END;
READ:
    ldORDER.global.u32 %v, [%a];
    st.global.u32 [%a+8], %v;";
        launch(p, 2, 32, &body.replace("ORDER", ordering), "");
    });
}

#[test]
fn a_barrier_of_a_warp() {
    let words = ["two threads of one warp", "__syncwarp() (bar.warp.sync)", "st.shared.u32", "ld.shared.u32"];
    planted("a_barrier_of_a_warp", &words, |p| {
        let body = "
    st.shared.u32 [%mine], %t;
    MEND
    ld.shared.u32 %v, [%other];
    st.global.u32 [%at], %v;";
        launch(p, 1, 32, body, "bar.warp.sync 0xffffffff;");
    });
}

/// A shuffle has all lanes come, but orders no memory.
#[test]
fn a_shuffle_is_no_barrier() {
    planted("a_shuffle_is_no_barrier", &["two threads of one warp", "bar.warp.sync"], |p| {
        let body = "
    st.global.u32 [%at], %t;
    shfl.sync.idx.b32 %v, %t, 0, 31, 0xffffffff;
    MEND
    xor.b32 %v, %t, 1;
    mul.wide.u32 %o, %v, 4;
    add.u64 %at, %a, %o;
    ld.global.u32 %v, [%at];
    st.shared.u32 [%mine], %v;";
        launch(p, 1, 32, body, "bar.warp.sync 0xffffffff;");
    });
}

/// Each half of the warp waits for itself; then lanes read what those of the other half have written.
#[test]
fn a_barrier_of_half_a_warp() {
    planted(
        "a_barrier_of_half_a_warp",
        &["two threads of one warp", "st.shared.u32", "ld.shared.u32"],
        |p| {
            let body = "
    st.shared.u32 [%mine], %t;
    mov.u32 %mask, 0x0000ffff;
    setp.ge.u32 %p, %t, 16;
    @%p mov.u32 %mask, 0xffff0000;
    MEND
    bar.warp.sync %mask;
    ld.shared.u32 %v, [%other];
    st.global.u32 [%at], %v;";
            launch(p, 1, 32, body, "mov.u32 %mask, 0xffffffff;");
        },
    );
}

/// Half of the warp is at one barrier, and half at another: whatever they do then, they have not waited for each other.
#[test]
fn a_barrier_in_each_branch() {
    let words = [
        "barrier: two threads of one warp",
        "they wait at two barriers",
        "bar.sync",
        "take it out of the condition",
    ];
    planted("a_barrier_in_each_branch", &words, |p| {
        let branch = "@%p bra ODD;";
        let body = "
    and.b32 %v, %t, 1;
    setp.ne.u32 %p, %v, 0;
    BRANCH
    bar.sync 0;
    bra.uni JOIN;
ODD:
    bar.sync 0;
JOIN:
    st.global.u32 [%at], %t;";
        launch(p, 1, 64, &body.replace("BRANCH", if p.mended { "" } else { branch }), "");
    });
}

/// A warp waits at the barrier in the branch, the other one at that behind it: the first then waits for nobody.
#[test]
fn a_barrier_that_one_warp_comes_to() {
    let words = [
        "barrier: two threads of one block",
        "they wait at two barriers",
        "thread (0,0,0)",
        "thread (32,0,0)",
    ];
    planted("a_barrier_that_one_warp_comes_to", &words, |p| {
        let body = "
    setp.ge.u32 %p, %t, 32;
    MEND
    @%p bra PAST;
    bar.sync 0;
PAST:
    bar.sync 0;
    st.global.u32 [%at], %t;";
        launch(p, 1, 64, body, "setp.ge.u32 %p, %t, 64;");
    });
}

#[test]
fn a_barrier_that_part_of_the_warp_goes_past() {
    let words = ["barrier: two threads of one warp", "goes on without it", "waits at line", "ends at line"];
    planted("a_barrier_that_part_of_the_warp_goes_past", &words, |p| {
        let body = "
    setp.ge.u32 %p, %t, 16;
    MEND
    @%p bra PAST;
    bar.sync 0;
PAST:
    st.global.u32 [%at], %t;";
        launch(p, 1, 32, body, "setp.ge.u32 %p, %t, 32;");
    });
}

/// A block hands over a value: without a fence the flag may be seen before the value is.
#[test]
fn a_flag_without_a_fence() {
    let words = ["two blocks", "st.global.u32", "ld.global.u32", "__threadfence()"];
    planted("a_flag_without_a_fence", &words, |p| {
        let body = "
    setp.ne.u32 %p, %t, 0;
    @%p bra END;
    setp.ne.u32 %p, %b, 0;
    @%p bra TAKE;
    st.global.u32 [%a], 7;
    MEND
    st.volatile.global.u32 [%a+64], 1;
    bra.uni END;
TAKE:
    ld.volatile.global.u32 %v, [%a+64];
    setp.eq.u32 %p, %v, 0;
    @%p bra TAKE;
    membar.gl;
    ld.global.u32 %v, [%a];
    st.global.u32 [%a+128], %v;";
        launch(p, 2, 32, body, "membar.gl;");
    });
}

#[test]
fn a_flag_that_releases() {
    planted("a_flag_that_releases", &["two blocks", "st.global.u32", "ld.global.u32"], |p| {
        let release = if p.mended { "release" } else { "relaxed" };
        let body = "
    setp.ne.u32 %p, %t, 0;
    @%p bra END;
    setp.ne.u32 %p, %b, 0;
    @%p bra TAKE;
    st.global.u32 [%a], 7;
    atom.RELEASE.gpu.global.exch.b32 %v, [%a+64], 1;
    bra.uni END;
TAKE:
    ld.acquire.gpu.global.u32 %v, [%a+64];
    setp.eq.u32 %p, %v, 0;
    @%p bra TAKE;
    ld.global.u32 %v, [%a];
    st.global.u32 [%a+128], %v;";
        launch(p, 2, 32, &body.replace("RELEASE", release), "");
    });
}

/// The last block that comes adds what the others have written, as a sum over a grid does.
#[test]
fn the_last_block_reads_what_all_have_written() {
    planted("the_last_block_reads_what_all_have_written", &["two blocks", "st.global", "ld.global"], |p| {
        let body = "
    setp.ne.u32 %p, %t, 0;
    @%p bra END;
    mul.wide.u32 %o, %b, 4;
    add.u64 %at, %a, %o;
    st.global.u32 [%at], %b;
    MEND
    atom.global.inc.u32 %v, [%a+64], 3;
    setp.ne.u32 %p, %v, 3;
    @%p bra END;
    ld.global.u32 %v, [%a];
    st.global.u32 [%a+128], %v;
    RESET";
        // The counter is everybody's until the last one has come.
        let body = body.replace("RESET", if p.mended { "st.global.u32 [%a+64], 0;" } else { "" });
        launch(p, 4, 32, &body, "membar.gl;");
    });
}

/// All blocks wait for all others, as `grid.sync()` does.
#[test]
fn a_barrier_of_the_grid() {
    planted("a_barrier_of_the_grid", &["two blocks", "st.global", "ld.global"], |p| {
        let body = "
    mul.lo.u32 %v, %b, 32;
    add.u32 %v, %v, %t;
    mul.wide.u32 %o, %v, 4;
    add.u64 %at, %a, %o;
    st.global.u32 [%at], %v;
    bar.sync 0;
    setp.ne.u32 %p, %t, 0;
    @%p bra WAIT;
    MEND
    atom.global.add.u32 %v, [%a+1024], 1;
SPIN:
    ld.volatile.global.u32 %v, [%a+1024];
    setp.ne.u32 %q, %v, 4;
    @%q bra SPIN;
    membar.gl;
WAIT:
    bar.sync 0;
    mov.u32 %v, 3;
    sub.u32 %v, %v, %b;
    mad.lo.u32 %v, %v, 32, %t;
    mul.wide.u32 %o, %v, 4;
    add.u64 %at, %a, %o;
    ld.global.u32 %v, [%at];
    st.shared.u32 [%mine], %v;";
        launch(p, 4, 32, body, "membar.gl;");
    });
}

#[test]
fn a_lock_that_is_opened_without_a_fence() {
    planted(
        "a_lock_that_is_opened_without_a_fence",
        &["two blocks", "st.global.u32", "__threadfence()"],
        |p| {
            let body = "
    setp.ne.u32 %p, %t, 0;
    @%p bra END;
LOCK:
    atom.global.cas.b32 %v, [%a], 0, 1;
    setp.ne.u32 %p, %v, 0;
    @%p bra LOCK;
    membar.gl;
    st.global.u32 [%a+64], %b;
    MEND
    atom.global.exch.b32 %v, [%a], 0;";
            launch(p, 4, 32, body, "membar.gl;");
        },
    );
}

/// One warp fills, the other one takes; a named barrier lets the first go on.
#[test]
fn a_barrier_for_two_warps() {
    planted("a_barrier_for_two_warps", &["two threads of one block", "st.shared", "ld.shared"], |p| {
        let number = if p.mended { 1 } else { 2 };
        let body = "
    setp.ge.u32 %p, %t, 32;
    @%p bra TAKE;
    st.shared.u32 [%mine], %t;
    bar.arrive 1, 64;
    bar.arrive 2, 32;
    bra.uni END;
TAKE:
    bar.sync NUMBER, COUNT;
    ld.shared.u32 %v, [%other];
    st.global.u32 [%at], %v;";
        let body = body.replace("NUMBER", &number.to_string());
        launch(p, 1, 64, &body.replace("COUNT", if p.mended { "64" } else { "32" }), "");
    });
}

#[test]
fn shared_memory_of_another_block_of_the_cluster() {
    let words = ["two blocks of one cluster", "shared memory of block (", "barrier.cluster"];
    planted("shared_memory_of_another_block_of_the_cluster", &words, |p| {
        let body = "CLUSTER
    st.shared.u32 [%mine], %t;
    MEND
    xor.b32 %v, %b, 1;
    mapa.shared::cluster.u32 %w, %mine, %v;
    ld.shared::cluster.u32 %v, [%w];
    st.shared.u32 [%mine+2048], %v;
    barrier.cluster.arrive;
    barrier.cluster.wait;";
        launch(p, 4, 32, body, "barrier.cluster.arrive; barrier.cluster.wait;");
    });
}

/// A copy that a barrier in memory waits for.
#[test]
fn a_bulk_copy_that_is_not_waited_for() {
    let words = ["two threads of one block", "cp.async.bulk", "ld.shared.u32", "bar.sync"];
    planted("a_bulk_copy_that_is_not_waited_for", &words, |p| {
        let body = "
    .shared .align 8 .b64 barrier;
    setp.ne.u32 %p, %t, 0;
    @!%p mbarrier.init.shared.b64 [barrier], 1;
    bar.sync 0;
    @%p bra WAIT;
    mov.u32 %w, words;
    mov.u32 %v, barrier;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%w], [%a], 256, [%v];
    mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 256;
WAIT:
    MEND
    ld.shared.u32 %v, [%mine];
    st.global.u32 [%at+1024], %v;";
        let wait = "mbarrier.try_wait.parity.shared.b64 %q, [barrier], 0; @!%q bra WAIT;";
        launch(p, 3, 64, body, wait);
    });
}

/// A copy whose thread comes to a barrier, and has not waited for it.
#[test]
fn an_asynchronous_copy_that_is_not_waited_for() {
    let words = [
        "a thread and an asynchronous copy of kernel kernel",
        "one writes them, the other one reads them",
        "cp.async.ca.shared.global",
        "ld.shared.u32",
        "cp.async.wait_group or cp.async.wait_all",
    ];
    planted("an_asynchronous_copy_that_is_not_waited_for", &words, |p| {
        let body = "
    cp.async.ca.shared.global [%mine], [%at], 4;
    cp.async.commit_group;
    MEND
    bar.sync 0;
    ld.shared.u32 %v, [%other];
    st.global.u32 [%at+1024], %v;";
        launch(p, 3, 64, body, "cp.async.wait_group 0;");
    });
}

/// Two stages of a pipeline: one too many is left under way.
#[test]
fn a_stage_that_is_used_too_early() {
    let words = ["a thread and an asynchronous copy", "cp.async.ca.shared.global", "ld.shared.u32"];
    planted("a_stage_that_is_used_too_early", &words, |p| {
        let body = "
    cp.async.ca.shared.global [%mine], [%at], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%mine+1024], [%at+1024], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    MEND
    bar.sync 0;
    ld.shared.u32 %v, [%other+1024];
    st.global.u32 [%at+2048], %v;";
        launch(p, 1, 64, body, "cp.async.wait_group 0;");
    });
}

/// A wait tells the thread alone.
#[test]
fn a_copy_that_only_its_thread_has_waited_for() {
    // One warp has not even waited when the other one reads.
    let words = ["cp.async.ca.shared.global", "ld.shared.u32", "__syncthreads() (bar.sync)"];
    planted("a_copy_that_only_its_thread_has_waited_for", &words, |p| {
        let body = "
    cp.async.ca.shared.global [%mine], [%at], 4;
    bar.sync 0;
    cp.async.wait_all;
    MEND
    ld.shared.u32 %v, [%other];
    st.global.u32 [%at+1024], %v;";
        launch(p, 1, 64, body, "bar.sync 0;");
    });
}

/// A word and one of its bytes.
#[test]
fn a_byte_of_a_word() {
    planted(
        "a_byte_of_a_word",
        &["two threads of one block", "st.global.u8", "st.global.u32", "offset 258"],
        |p| {
            let body = "
    setp.eq.u32 %p, %t, 0;
    @%p st.global.u32 [%a+256], 7;
    MEND
    setp.eq.u32 %p, %t, 40;
    @%p st.global.u8 [%a+258], 9;";
            launch(p, 1, 64, body, "bar.sync 0;");
        },
    );
}

/// What looks like a race, and is none.
#[test]
fn quiet() {
    alone("quiet", &[("SOFTCUDA_CHECK", "races")], || {
        let p = Program { cu: with_context(), mended: false };
        // Bytes beside each other, of all threads of all blocks.
        let bytes = "
    mad.lo.u32 %v, %b, %n, %t;
    cvt.u64.u32 %o, %v;
    add.u64 %at, %a, %o;
    st.global.u8 [%at], %v;
    ld.global.u8 %v, [%at];";
        launch(&p, 4, 64, bytes, "");
        // All write the same, and read it when all have.
        launch(&p, 4, 64, "st.global.u32 [%a], 1;", "");
        launch(&p, 1, 64, "st.shared.u32 [%mine], 1; bar.sync 0; ld.shared.u32 %v, [%other];", "");
        // Volatile steps inside of a warp, as programs were written before warps had barriers.
        let steps = "
    st.shared.u32 [%mine], %t;
    bar.sync 0;
    ld.volatile.shared.u32 %v, [%other];
    st.volatile.shared.u32 [%mine], %v;";
        launch(&p, 1, 32, steps, "");
        // Counters, of which nobody reads a value otherwise.
        launch(&p, 4, 64, "red.global.add.u32 [%a], 1; atom.shared.add.u32 %v, [words], 1;", "");
        // A loop that begins with a plain read, of which the comparison finds out whether it still holds.
        let compares = "
    ld.global.u32 %v, [%a];
AGAIN:
    mov.u32 %w, %v;
    add.u32 %mine, %w, 1;
    atom.global.cas.b32 %v, [%a], %w, %mine;
    setp.ne.u32 %p, %v, %w;
    @%p bra AGAIN;";
        launch(&p, 4, 64, compares, "");
        // Threads that have ended are not waited for.
        launch(&p, 1, 64, "setp.gt.u32 %p, %t, 40; @%p bra END; bar.sync 0;", "");
        // The same shared memory is another block's afterwards.
        launch(&p, 8, 64, "st.shared.u32 [%other], %b;", "");
        // A pipeline of two stages, each waited for before it is used, and used before it is filled anew.
        let stages = "
    mov.u32 %w, 0;
    cp.async.ca.shared.global [%mine], [%at], 4;
    cp.async.commit_group;
AGAIN:
    cp.async.ca.shared.global [%mine+1024], [%at+1024], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.u32 %v, [%other];
    bar.sync 0;
    cp.async.ca.shared.global [%mine], [%at], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.u32 %v, [%other+1024];
    bar.sync 0;
    add.u32 %w, %w, 1;
    setp.lt.u32 %p, %w, 3;
    @%p bra AGAIN;";
        launch(&p, 2, 64, stages, "");
        // Bodies that are written anew after each barrier.
        let rounds = "
    mov.u32 %w, 0;
AGAIN:
    st.shared.u32 [%mine], %w;
    bar.sync 0;
    ld.shared.u32 %v, [%other];
    bar.sync 0;
    add.u32 %w, %w, 1;
    setp.lt.u32 %p, %w, 10;
    @%p bra AGAIN;";
        launch(&p, 2, 128, rounds, "");
        assert_eq!(p.reports(), Vec::<String>::new());
    });
}
