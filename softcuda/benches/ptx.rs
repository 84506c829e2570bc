//! How many instructions of threads the engine executes in a second, on one core.
//!
//! `cargo bench -p softcuda --bench ptx`
#![allow(clippy::print_stdout)]

#[path = "../tests/ptx/device.rs"]
mod device;

use device::{Arg, Device, Loaded, load, text};
use std::time::Instant;

/// One element a thread.
const SAXPY: &str = "
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {
    .reg .pred %p; .reg .f32 %f<4>; .reg .b32 %r<5>; .reg .b64 %rd<6>;
    ld.param.f32 %f0, [a];
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.s32 %p, %r4, %r0;
    @%p bra done;
    cvta.to.global.u64 %rd2, %rd0;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.s32 %rd4, %r4, 4;
    add.s64 %rd2, %rd2, %rd4;
    add.s64 %rd3, %rd3, %rd4;
    ld.global.f32 %f1, [%rd2];
    ld.global.f32 %f2, [%rd3];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%rd3], %f3;
done:
    ret;
}";
const SAXPY_INSTRUCTIONS: f64 = 20.0;

/// Sums a block's numbers in shared memory.
const REDUCE: &str = "
.visible .entry reduce(.param .u64 in, .param .u64 out) {
    .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<6>;
    .shared .align 4 .b8 part[1024];
    ld.param.u64 %rd0, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    shl.b32 %r2, %r1, 8;
    add.s32 %r3, %r2, %r0;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd0, %rd2;
    ld.global.u32 %r4, [%rd3];
    shl.b32 %r5, %r0, 2;
    mov.u32 %r6, part;
    add.s32 %r7, %r6, %r5;
    st.shared.u32 [%r7], %r4;
    mov.u32 %r8, 128;
again:
    bar.sync 0;
    setp.ge.u32 %p0, %r0, %r8;
    @%p0 bra skip;
    shl.b32 %r9, %r8, 2;
    add.s32 %r9, %r7, %r9;
    ld.shared.u32 %r10, [%r9];
    ld.shared.u32 %r11, [%r7];
    add.s32 %r11, %r11, %r10;
    st.shared.u32 [%r7], %r11;
skip:
    shr.u32 %r8, %r8, 1;
    setp.ne.s32 %p1, %r8, 0;
    @%p1 bra again;
    setp.ne.s32 %p2, %r0, 0;
    @%p2 bra done;
    ld.shared.u32 %r4, [part];
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd5, %rd1, %rd4;
    st.global.u32 [%rd5], %r4;
done:
    ret;
}";
/// Of a thread: the head, eight rounds that all take part in, the tail; of a block the sums, and its result.
const REDUCE_INSTRUCTIONS: f64 = 14.0 + 8.0 * 6.0 + 3.0 + (255.0 * 6.0 + 4.0) / 256.0;

fn measure(name: &str, threads: u32, instructions: f64, run: impl Fn()) {
    run();
    let mut best = f64::MAX;
    for _ in 0..10 {
        let begun = Instant::now();
        run();
        best = best.min(begun.elapsed().as_secs_f64());
    }
    let rate = f64::from(threads) * instructions / best / 1e6;
    println!("{name:<20} {:8.2} ms  {rate:7.0} million thread-instructions/s", best * 1e3);
}

fn on_one_core(loaded: &Loaded, device: &Device, kernel: &str, blocks: u32, args: &[Arg]) {
    let done = loaded.run_with(device, kernel, args, |launch| {
        launch.grid = [blocks, 1, 1];
        launch.block = [256, 1, 1];
        launch.cores = 1;
    });
    done.expect("the kernel runs");
}

fn main() {
    let n = 1u32 << 20;
    let device = Device::default();
    let loaded = load(&device, &text(&format!("{SAXPY}{REDUCE}")));
    let (x, y) = (device.zeroed(4 << 20), device.zeroed(4 << 20));
    let args = [Arg::F32(1.5), Arg::U64(x), Arg::U64(y), Arg::U32(n)];
    measure("saxpy", n, SAXPY_INSTRUCTIONS, || on_one_core(&loaded, &device, "saxpy", n / 256, &args));
    let args = [Arg::U64(x), Arg::U64(y)];
    measure("reduce (shared)", n, REDUCE_INSTRUCTIONS, || {
        on_one_core(&loaded, &device, "reduce", n / 256, &args);
    });
}
