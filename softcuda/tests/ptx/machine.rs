//! Handwritten texts on what compilers seldom emit: clusters, asynchronous copies, jump tables, windows of generic addresses,
//! vectors, registers as parameters, variables of a module.

use crate::device::{Arg, Device, load};
use softcuda::ptx::{FaultKind, Host, Launch, Region};

fn modern(body: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}")
}

#[test]
fn clusters_share_memory() {
    let device = Device::default();
    let loaded = load(
        &device,
        &modern(
            "
.visible .entry k(.param .u64 out) .reqnctapercluster 4 {
    .reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .pred %p;
    .shared .align 4 .b32 mine[32];
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 100, %r0;
    shl.b32 %r4, %r0, 2;
    mov.u32 %r5, mine;
    add.u32 %r6, %r5, %r4;
    st.shared.u32 [%r6], %r3;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    add.u32 %r7, %r1, 1;
    and.b32 %r7, %r7, 3;
    mapa.shared::cluster.u32 %r8, %r6, %r7;
    ld.shared::cluster.u32 %r9, [%r8];
    // The same through a generic address.
    cvta.shared.u64 %rd1, %rd5;
    cvt.u64.u32 %rd5, %r6;
    cvta.shared.u64 %rd1, %rd5;
    mapa.u64 %rd2, %rd1, %r7;
    ld.u32 %r10, [%rd2];
    add.u32 %r9, %r9, %r10;
    isspacep.shared::cta %p, %rd2;
    @%p add.u32 %r9, %r9, 1000000;
    mov.u32 %r11, %ntid.x;
    mad.lo.u32 %r11, %r2, %r11, %r0;
    mad.wide.u32 %rd3, %r11, 4, %rd0;
    st.global.u32 [%rd3], %r9;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}",
        ),
    );
    assert_eq!(loaded.module.functions()[0].required_cluster, Some([4, 1, 1]));
    let out = device.zeroed(4 * 8 * 32);
    let run = |cluster: u32| {
        loaded.run_with(&device, "k", &[Arg::U64(out)], |launch: &mut Launch<'_>| {
            launch.grid = [8, 1, 1];
            launch.block = [32, 1, 1];
            launch.cluster = Some([cluster, 1, 1]);
        })
    };
    run(4).unwrap();
    let expected: Vec<u32> = (0..8u32 * 32)
        .map(|at| {
            let (block, thread) = (at / 32, at % 32);
            let neighbour = block / 4 * 4 + (block + 1) % 4;
            2 * (neighbour * 100 + thread)
        })
        .collect();
    assert_eq!(device.read::<u32>(out, 256), expected);
    // Two blocks a cluster have no third neighbour.
    assert_eq!(run(2).unwrap_err().kind, FaultKind::NotInCluster);
}

#[test]
fn copies_and_tables() {
    let device = Device::default();
    let loaded = load(
        &device,
        &modern(
            "
.visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .pred %p;
    .shared .align 16 .b8 buffer[1024];
    ld.param.u64 %rd0, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, buffer;
    mad.lo.u32 %r2, %r0, 16, %r1;
    mad.wide.u32 %rd2, %r0, 16, %rd0;
    shr.u32 %r3, %r0, 1;
    cp.async.ca.shared.global [%r2], [%rd2], 16, %r3;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];
    and.b32 %r8, %r0, 3;
    mov.u32 %r9, 0;
    table: .branchtargets zero, one, two;
    setp.eq.u32 %p, %r8, 3;
    @%p bra end;
    brx.idx %r8, table;
zero:
    add.u32 %r9, %r9, 1;
one:
    add.u32 %r9, %r9, 10;
two:
    add.u32 %r9, %r9, 100;
end:
    mad.wide.u32 %rd3, %r0, 16, %rd1;
    st.global.v2.u32 [%rd3], {%r4, %r5};
    st.global.v2.u32 [%rd3+8], {%r7, %r9};
    ret;
}",
        ),
    );
    let input: Vec<u32> = (1..=32 * 4).map(|i| i * 0x0101_0101).collect();
    let (din, out) = (device.upload(&input), device.zeroed(16 * 32));
    loaded.run(&device, "k", 1, 32, &[Arg::U64(din), Arg::U64(out)]).unwrap();
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let expected: Vec<u32> = (0..32usize)
        .flat_map(|i| {
            let mut cell = bytes[16 * i..16 * i + 16].to_vec();
            cell[i / 2..].fill(0);
            let word = |at: usize| u32::from_le_bytes(cell[4 * at..4 * at + 4].try_into().unwrap());
            [word(0), word(1), word(3), [111, 110, 100, 0][i % 4]]
        })
        .collect();
    assert_eq!(device.read::<u32>(out, 128), expected);
    let fault = loaded.run(&device, "k", 1, 32, &[Arg::U64(din + 8), Arg::U64(out)]).unwrap_err();
    assert_eq!((fault.kind, fault.address), (FaultKind::MisalignedAddress, Some(din + 8)));
}

#[test]
fn generic_addresses_know_their_space() {
    let device = Device::default();
    let loaded = load(
        &device,
        &modern(
            "
.visible .const .align 4 .b32 fixed[2] = {11, 22};
.visible .global .align 8 .u64 where[2] = {generic(fixed), fixed+4};
.visible .entry k(.param .u64 out, .param .align 8 .b8 block[16]) {
    .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .pred %p<6>;
    .shared .align 4 .b32 mine;
    .local .align 4 .b32 own[4];
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mov.u64 %rd1, mine;
    cvta.shared.u64 %rd2, %rd1;
    mov.u64 %rd3, own;
    cvta.local.u64 %rd4, %rd3;
    mov.b64 %rd5, block;
    cvta.param.u64 %rd6, %rd5;
    st.u32 [%rd4+8], %r0;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 st.u32 [%rd2], 7;
    bar.sync 0;
    ld.local.u32 %r1, [%rd3+8];
    ld.shared.u32 %r2, [mine];
    ld.u32 %r3, [%rd6+4];
    ld.param.u32 %r4, [block+8];
    ld.const.u32 %r5, [fixed+4];
    ld.global.u64 %rd7, [where+8];
    ld.u32 %r6, [%rd7];
    mov.u32 %r7, 0;
    isspacep.shared %p1, %rd2;
    @%p1 or.b32 %r7, %r7, 1;
    isspacep.local %p2, %rd4;
    @%p2 or.b32 %r7, %r7, 2;
    isspacep.global %p3, %rd0;
    @%p3 or.b32 %r7, %r7, 4;
    isspacep.global %p4, %rd2;
    @%p4 or.b32 %r7, %r7, 8;
    mad.wide.u32 %rd8, %r0, 32, %rd0;
    st.global.v4.u32 [%rd8], {%r1, %r2, %r3, %r4};
    st.global.v4.u32 [%rd8+16], {%r5, %r6, %r7, 0};
    ret;
}",
        ),
    );
    let function = loaded.module.function("k").unwrap();
    assert_eq!((function.shared_bytes, function.local_bytes, function.const_bytes), (4, 16, 8));
    let out = device.zeroed(32 * 40);
    let mut block = out.to_le_bytes().to_vec();
    for word in [1u32, 2, 3, 4] {
        block.extend(word.to_le_bytes());
    }
    let mut launch = Launch::new(&device);
    launch.block = [40, 1, 1];
    launch.args = &block;
    launch.globals = &loaded.globals;
    function.launch(&launch).unwrap();
    let expected: Vec<u32> = (0..40).flat_map(|i| [i, 7, 2, 3, 22, 22, 7, 0]).collect();
    assert_eq!(device.read::<u32>(out, 320), expected);
}

#[test]
fn registers_as_parameters() {
    let device = Device::default();
    let loaded = load(
        &device,
        &modern(
            "
.func (.reg .b32 sum) add3(.reg .b32 a, .reg .b32 b, .param .b32 c) {
    .reg .b32 %t;
    ld.param.b32 %t, [c];
    add.u32 sum, a, b;
    add.u32 sum, sum, %t;
    ret;
}
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .v2 .b32 pair; .reg .pred %p;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    setp.gt.u32 %p, %r0, 3;
    {
        .param .b32 last;
        st.param.b32 [last], 5;
        mov.u32 %r1, 0;
        @%p call (%r1), add3, (%r0, 100, last);
    }
    mov.b32 pair.x, %r1;
    mov.b32 pair.y, %r0;
    mad.wide.u32 %rd1, %r0, 8, %rd0;
    mov.b64 %rd2, {pair.x, pair.y};
    st.global.u64 [%rd1], %rd2;
}",
        ),
    );
    let out = device.zeroed(8 * 8);
    loaded.run(&device, "k", 1, 8, &[Arg::U64(out)]).unwrap();
    let expected: Vec<u64> = (0..8).map(|i| (i << 32) | if i > 3 { i + 105 } else { 0 }).collect();
    assert_eq!(device.read::<u64>(out, 8), expected);
}

#[test]
fn spinning_lanes_warps_and_blocks_make_progress() {
    let device = Device::default();
    // Thread n waits for thread n-1, in whatever lane, warp or block that is, from the last to the first.
    let loaded = load(
        &device,
        &modern(
            "
.visible .entry k(.param .u64 turn) {
    .reg .b32 %r<6>; .reg .b64 %rd; .reg .pred %p;
    ld.param.u64 %rd, [turn];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r0, %r1, %r2, %r0;
    mul.lo.u32 %r4, %r4, %r2;
    sub.u32 %r0, %r4, %r0;
    sub.u32 %r0, %r0, 1;
wait:
    ld.relaxed.gpu.global.u32 %r3, [%rd];
    setp.ne.u32 %p, %r3, %r0;
    @%p bra wait;
    add.u32 %r3, %r3, 1;
    st.release.gpu.global.u32 [%rd], %r3;
    exit;
}",
        ),
    );
    let turn = device.zeroed(4);
    loaded.run(&device, "k", 3, 40, &[Arg::U64(turn)]).unwrap();
    assert_eq!(device.read::<u32>(turn, 1), [120]);
}

#[test]
fn what_cannot_go_well_is_named() {
    let device = Device::default();
    let run = |body: &str| {
        let text = modern(&format!(
            ".visible .entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>; .shared .align 8 .b8 s[64];\n{body}\nret; }}"
        ));
        load(&device, &text).run(&device, "k", 1, 64, &[]).unwrap_err()
    };
    let fault = run("mov.u32 %r0, %tid.x; ld.shared.u32 %r1, [%r0+60];");
    assert_eq!((fault.kind, fault.thread), (FaultKind::MisalignedAddress, [1, 0, 0]), "{fault}");
    // The block has 128 bytes, though the kernel names 64 of them.
    let fault = run("mov.u32 %r0, 128; st.shared.u32 [%r0], 1;");
    assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(128)), "{fault}");
    let fault =
        run("ld.shared.u32 %r1, [124]; mov.u32 %r0, 120; ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r0+8];");
    assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(128)), "{fault}");
    let fault = run("mov.u64 %rd0, 0; ld.u32 %r1, [%rd0];");
    assert_eq!((fault.kind, fault.address), (FaultKind::IllegalAddress, Some(0)), "{fault}");
    let fault = run(
        "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 7; @%p0 bra skip; bar.sync 0; bra.uni end; skip: bar.sync 1; end:",
    );
    assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
    let fault = run("mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bar.sync 3, 64;");
    assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
    assert!(fault.message.contains("32 of 64 threads are at barrier 3"), "{fault}");
    let fault = run("vote.sync.any.pred %p0, %p1, 0xf;");
    assert_eq!(fault.kind, FaultKind::IllegalInstruction, "{fault}");
    let fault = run("mov.u64 %rd0, 12345; call %rd0, (), f; f: .callprototype _ ();");
    assert_eq!(fault.kind, FaultKind::InvalidPc, "{fault}");
    assert!(fault.to_string().contains("kernel k: jump to what is no function or label"), "{fault}");
}

/// A device that sees which threads of the host use its memory.
struct Watched {
    device: Device,
    threads: parking_lot::Mutex<std::collections::HashSet<std::thread::ThreadId>>,
}

// SAFETY: as the device.
unsafe impl Host for Watched {
    fn region(&self, address: u64) -> Option<Region> {
        self.threads.lock().insert(std::thread::current().id());
        self.device.region(address)
    }

    fn print(&self, _: &[u8]) {}

    fn set_conditional(&self, handle: u64, value: u32) -> bool {
        self.device.set_conditional(handle, value)
    }

    fn allocate(&self, size: u64) -> u64 {
        self.device.allocate(size)
    }

    fn release(&self, address: u64) -> bool {
        self.device.release(address)
    }
}

#[test]
fn atomic_operations_are_atomic_across_cores() {
    let watched = Watched { device: Device::default(), threads: parking_lot::Mutex::default() };
    let loaded = load(
        &watched.device,
        &modern(
            "
.visible .entry k(.param .u64 sums) {
    .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p; .reg .f64 %fd;
    ld.param.u64 %rd0, [sums];
    mov.u32 %r0, 0;
again:
    atom.global.add.u32 %r1, [%rd0], 1;
    red.global.add.f64 [%rd0+8], 0d3FE0000000000000;
    atom.add.u64 %rd1, [%rd0+16], 3;
    red.global.xor.b32 [%rd0+4], 1;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p, %r0, 20;
    @%p bra again;
    ret;
}",
        ),
    );
    let sums = watched.device.zeroed(24);
    let args = sums.to_le_bytes();
    let mut launch = Launch::new(&watched);
    launch.grid = [200, 1, 1];
    launch.block = [96, 1, 1];
    launch.cores = 4;
    launch.args = &args;
    loaded.module.function("k").unwrap().launch(&launch).unwrap();
    let count = 200 * 96 * 20u64;
    assert_eq!(watched.device.read::<u32>(sums, 2), [count as u32, 0]);
    assert_eq!(watched.device.read::<f64>(sums + 8, 1), [count as f64 / 2.0]);
    assert_eq!(watched.device.read::<u64>(sums + 16, 1), [3 * count]);
    assert!(watched.threads.lock().len() > 1, "several threads have run blocks");
}

#[test]
fn kernels_allocate() {
    let device = Device::default();
    let loaded = load(
        &device,
        &modern(
            "
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry k(.param .u64 out, .param .u32 late) {
    .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .pred %p;
    ld.param.u64 %rd0, [out];
    ld.param.u32 %r2, [late];
    mov.u32 %r0, %tid.x;
    { .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call.uni (r), malloc, (n); ld.param.b64 %rd1, [r]; }
    st.u32 [%rd1+60], %r0;
    ld.u32 %r1, [%rd1+60];
    mad.wide.u32 %rd2, %r0, 4, %rd0;
    st.global.u32 [%rd2], %r1;
    { .param .b64 p; st.param.b64 [p], %rd1; call.uni free, (p); }
    setp.eq.u32 %p, %r2, 1;
    @%p ld.u32 %r1, [%rd1];
    ret;
}",
        ),
    );
    let out = device.zeroed(4 * 40);
    loaded.run(&device, "k", 1, 40, &[Arg::U64(out), Arg::U32(0)]).unwrap();
    assert_eq!(device.read::<u32>(out, 40), (0..40).collect::<Vec<_>>());
    let fault = loaded.run(&device, "k", 1, 1, &[Arg::U64(out), Arg::U32(1)]).unwrap_err();
    assert_eq!((fault.kind, fault.instruction.as_str()), (FaultKind::IllegalAddress, "ld.u32"), "{fault}");
    let loaded = load(
        &device,
        &modern(
            "
.extern .func free(.param .b64 p);
.visible .entry k() {
    { .param .b64 p; st.param.b64 [p], 0x3039; call.uni free, (p); }
    ret;
}",
        ),
    );
    let fault = loaded.run(&device, "k", 1, 1, &[]).unwrap_err();
    assert_eq!(fault.message, "free of 0x3039, which malloc did not return, or which is freed already");
}

/// The bits that ptxas of CUDA 13.0 makes for compute capability 9.0.
#[test]
fn policies() {
    for (form, expected) in [
        ("fractional.L2::evict_last.b64 %p", 0x14f0u64),
        ("fractional.L2::evict_last.L2::evict_unchanged.b64 %p, 1.0", 0x14f0),
        ("fractional.L2::evict_last.L2::evict_first.b64 %p", 0x15f0),
        ("fractional.L2::evict_first.b64 %p", 0x12f0),
        ("fractional.L2::evict_first.L2::evict_first.b64 %p", 0x13f0),
        ("fractional.L2::evict_normal.b64 %p", 0x16f0),
        ("fractional.L2::evict_unchanged.b64 %p", 0x10f0),
        ("fractional.L2::evict_last.b64 %p, 0.5", 0x1470),
        ("fractional.L2::evict_last.b64 %p, 0.3", 0x1440),
        ("fractional.L2::evict_last.b64 %p, 0.01", 0x1400),
        ("fractional.L2::evict_last.b64 %p, 0f3F7D70A4", 0x14f0),
        ("fractional.L2::evict_last.b64 %p, %f", 0x1430),
        ("cvt.L2.b64 %p, %q", 0x1230),
    ] {
        policy_is(form, expected << 48);
    }
    for (primary, address, sizes, expected) in [
        ("L2::evict_last", 0x7f12_3456_7890u64, "65536, 1048576", 0x1c13_3120u64),
        ("L2::evict_first.L2::evict_unchanged", 0x7f12_3456_7890, "65536, 1048576", 0x1a13_3120),
        ("L2::evict_last.L2::evict_first", 0x7f00_0000_0000, "4096, 8192", 0x1d00_0020),
        ("L2::evict_last", 0xffff_ffff_ffff, "0x80000000, 0xffffffff", 0x1cd7_f820),
        ("L2::evict_normal.L2::evict_first", 0x1000, "12345678, 87654321", 0x1f80_0180),
        ("L2::evict_last", 0x7f12_3456_78ff, "1, 1", 0x1c06_7020),
        ("L2::evict_last", 0x1000, "0, 0", 0x1800_0000),
        ("L2::evict_unchanged", 0x7f00_0000_0000, "1000000, 3000000", 0x1830_03e0),
    ] {
        policy_is(
            &format!(
                "cvt.L2.b64 %p, %q; mov.b64 %a, {address}; createpolicy.range.{primary}.b64 %p, [%a], {sizes}"
            ),
            expected << 32,
        );
    }
    refused_policies();
}

/// Whether a form of `createpolicy` gives these bits, and others take what it gives.
fn policy_is(form: &str, expected: u64) {
    let text = modern(&format!(
            ".visible .entry k(.param .u64 out) {{ .reg .b64 %o, %p, %q, %a; .reg .f32 %f; .reg .b32 %r; .shared .align 16 .b8 s[16];
    ld.param.u64 %o, [out]; mov.f32 %f, 0.25; mov.b64 %q, 0x1230000000000000;
    createpolicy.{form};
    ld.global.L2::cache_hint.u32 %r, [%o], %p; cp.async.cg.shared.global.L2::cache_hint [s], [%o], 16, %p;
    cp.async.ca.shared.global.L2::cache_hint.L2::128B [s], [%o], 8, 4, %p;
    fence.proxy.async; fence.proxy.alias; fence.proxy.async.shared::cta; fence.proxy.async.global;
    fence.proxy.tensormap::generic.release.cta; fence.proxy.tensormap::generic.acquire.sys [%o], 128;
    fence.mbarrier_init.release.cluster; fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
    st.global.u64 [%o], %p; ret; }}"
        ));
    // `cp.async` takes 16 bytes.
    let device = Device::default();
    let out = device.zeroed(16);
    load(&device, &text).run(&device, "k", 1, 1, &[Arg::U64(out)]).unwrap();
    assert_eq!(device.read::<u64>(out, 1), [expected], "{form}");
}

fn refused_policies() {
    for (line, sentence) in [
        ("createpolicy.fractional.L2::evict_last.b64 %p, 0.0;", "more than 0 and at most 1"),
        ("createpolicy.fractional.L2::evict_last.b64 %p, 2.0;", "more than 0 and at most 1"),
        ("createpolicy.fractional.b64 %p;", "a priority is wanted"),
        ("createpolicy.fractional.L2::evict_last.L2::evict_last.b64 %p;", "the second priority is"),
        ("createpolicy.fractional.L2::evict_last.b32 %r;", "the type .b32 is not supported here"),
        ("createpolicy.fractional.L2::evict_last.b64 %r;", "a register of type .b32 stands where .b64"),
        ("createpolicy.L2::evict_last.b64 %p;", "it has .fractional, .range or .cvt"),
        ("createpolicy.range.shared.L2::evict_last.b64 %p, [%p], 1, 2;", "`.shared` is not supported here"),
        ("createpolicy.range.L2::evict_last.b64 %p, [%p], 2, 1;", "2 bytes are more than the 1"),
        ("createpolicy.range.L2::evict_last.b64 %p, [%p], 2;", "createpolicy has 4 operands, not 3"),
        ("createpolicy.range.L2::evict_last.L2::evict_normal.b64 %p, [%p], 1, 2;", "the second priority is"),
        ("fence.proxy;", "this proxy is not supported"),
        ("fence.proxy.generic;", "this proxy is not supported"),
        ("fence.proxy.tensormap::generic.release;", "an order and a scope"),
        ("fence.proxy.tensormap::generic.release.gpu [%p], 128;", "or .acquire with an address"),
        ("fence.proxy.tensormap::generic.acquire.gpu;", "the address of a tensor map and 128"),
        ("fence.proxy.tensormap::generic.acquire.gpu [%p], 64;", "the address of a tensor map and 128"),
        ("fence.proxy.tensormap::generic.sc.gpu;", "it has .release, or .acquire with an address"),
        ("cp.async.wait_group %r;", "the number of groups is an immediate"),
        ("cp.async.wait_group;", "cp has 1 operands, not 0"),
        ("cp.async.commit_group 1;", "cp has 0 operands, not 1"),
        ("fence.proxy.async.local;", "`.local` is not supported here"),
        ("fence.sc.cta 5;", "fence has 0 operands, not 1"),
    ] {
        let text = modern(&format!(".entry k() {{ .reg .b64 %p; .reg .b32 %r; {line} ret; }}"));
        let log = crate::device::compile(&text).err().unwrap_or_else(|| panic!("{line} is accepted")).log;
        assert!(log.contains(sentence), "{line}: {log}");
    }
}
