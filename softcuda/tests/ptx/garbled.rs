//! Texts with something changed, left out or doubled: they are refused, or run to an end or a fault; nothing panics. `GARBLED_TEXTS` says how many
//! of each, for longer runs; a text that panics, or takes a minute, is left in a file.

use crate::device::{self, Device};
use softcuda::ptx::{Launch, Module};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Words, and what is between them.
fn words(text: &str) -> Vec<&str> {
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}

/// What stands at the edges of what numbers, names and lists can be.
const ODD: [&str; 20] = [
    "0,",
    "1,",
    "-1,",
    "31,",
    "32,",
    "0x7fffffff,",
    "0x80000000,",
    "4294967295,",
    "0xffffffffffffffff,",
    "18446744073709551616,",
    "0f7fc00000,",
    "0d7ff0000000000000,",
    "_,",
    "WARP_SZ,",
    "%laneid,",
    "{",
    "}",
    "[",
    ".",
    "@!",
];

fn garbled<'t>(words: &[&'t str], random: &mut Random) -> Vec<&'t str> {
    let mut changed = words.to_vec();
    for _ in 0..1 + random.below(4) {
        let (at, from) = (random.below(changed.len()), random.below(changed.len()));
        match random.below(6) {
            0 => drop(changed.remove(at)),
            1 => changed.insert(at, words[from.min(words.len() - 1)]),
            2 => changed.swap(at, from),
            3 => changed[at] = ODD[random.below(ODD.len())],
            _ => changed[at] = words[random.below(words.len())],
        }
    }
    changed
}

fn try_all(module: &Module, device: &Device) -> usize {
    let buffer = device.zeroed(1 << 16);
    let globals: Vec<u64> =
        module.globals().iter().map(|global| device.zeroed(global.size.clamp(1, 1 << 20))).collect();
    for function in module.functions() {
        let args: Vec<u8> = buffer.to_le_bytes().into_iter().cycle().take(function.param_bytes).collect();
        let mut launch = Launch::new(device);
        launch.args = &args;
        launch.globals = &globals;
        launch.block = [48, 1, 1];
        launch.shared = 1024;
        launch.budget = Some(5_000);
        // An end or a fault: both are well.
        let _ = function.launch(&launch);
    }
    module.functions().len()
}

fn garble(source: &str, rounds: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels").join(source);
    garble_text(source, &std::fs::read_to_string(path).expect("a kernel can be read"), rounds);
}

/// The text that is tried, which is left in a file if it panics or takes long.
struct Tried<'t> {
    text: &'t str,
    begun: Instant,
}

#[allow(clippy::print_stderr)] // where the text is
impl Drop for Tried<'_> {
    fn drop(&mut self) {
        let is_slow = self.begun.elapsed() > Duration::from_secs(60);
        if std::thread::panicking() || is_slow {
            let file: PathBuf = std::env::temp_dir().join(format!("garbled.{}.ptx", std::process::id()));
            std::fs::write(&file, self.text).expect("the text is kept");
            eprintln!("{} has the text", file.display());
            assert!(std::thread::panicking(), "it took {:?}", self.begun.elapsed());
        }
    }
}

fn garble_text(source: &str, text: &str, rounds: usize) {
    let words = words(text);
    let rounds =
        std::env::var("GARBLED_TEXTS").map_or(rounds, |texts| texts.parse().expect("a number of texts"));
    let mut random = Random(source.len() as u64);
    let (mut refused, mut run) = (0, 0);
    for _ in 0..rounds {
        let text = garbled(&words, &mut random).concat();
        let _tried = Tried { text: &text, begun: Instant::now() };
        match device::compile(&text) {
            Ok(module) => run += try_all(&module, &Device::default()),
            Err(error) => {
                assert!(!error.log.is_empty());
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && run > 0, "{source}: {refused} refused, {run} kernels run");
}

#[test]
fn vector() {
    garble("nvrtc-12.8-sm_90/vector.ptx", 200);
}

#[test]
fn language() {
    garble("nvrtc-13.0-sm_80/language.ptx", 100);
}

#[test]
fn warps() {
    garble("nvrtc-12.2-sm_80/warps.ptx", 200);
}

#[test]
fn halves() {
    garble("nvrtc-12.8-sm_90/halves.ptx", 150);
}

#[test]
fn atomics() {
    garble("nvrtc-13.0-sm_80/atomics.ptx", 100);
}

#[test]
fn numeric() {
    garble("nvrtc-12.2-sm_80/numeric.ptx", 50);
}

#[test]
fn reduce() {
    garble("nvrtc-12.8-sm_90/reduce.ptx", 100);
}

/// Barriers in memory, copies and reductions in bulk, matrices, policies.
#[test]
fn transfers_and_matrices() {
    let kernel = ".visible .entry k(.param .u64 data) .maxntid 64 {
    .reg .b64 %d, %s, %w; .reg .b32 %b, %bar, %to, %r<9>, %c<4>; .reg .b16 %k; .reg .pred %p, %q; .reg .f64 %x, %y, %z;
    .shared .align 128 .b8 area[512]; .shared .align 8 .b64 bar;
    ld.param.u64 %d, [data]; mov.u32 %b, area; mov.u32 %bar, bar; mov.u32 %r0, %tid.x;
    setp.ne.u32 %p, %r0, 0; @%p bra READY;
    mbarrier.init.shared.b64 [%bar], 3; fence.mbarrier_init.release.cluster; fence.proxy.async;
    mbarrier.arrive.expect_tx.shared.b64 %s, [%bar], 64;
    mbarrier.arrive.shared.b64 %w, [%bar]; mbarrier.arrive_drop.shared.b64 _, [%bar];
    mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 16; mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%d], 64, [%bar];
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0; @!%q bra AGAIN;
    mbarrier.test_wait.shared.b64 %q, [%bar], %s; mbarrier.pending_count.b64 %r1, %w;
    mapa.shared::cluster.u32 %to, %b, 0;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d+64], [%b], 32;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%d+96], [%b], 16;
    cp.async.bulk.global.shared::cta.bulk_group [%d+128], [%b], 48; cp.async.bulk.prefetch.L2.global [%d], 64;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
    mbarrier.inval.shared.b64 [%bar];
READY:
    bar.sync 0; createpolicy.fractional.L2::evict_first.b64 %w, 0f3f000000; createpolicy.range.L2::evict_last.b64 %w, [%d], 64, 128;
    cp.async.cg.shared.global [%b+256], [%d], 16; cp.async.commit_group; cp.async.wait_all;
    mov.u32 %c0, 0x3c003c00; mov.u32 %c1, %c0; mov.u32 %c2, 0x38383838; mov.f64 %x, 0d3ff0000000000000; mov.f64 %y, %x;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%c0, %c1, %c0, %c1}, {%c0, %c1}, {%r5, %r6, %r7, %r8};
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2, %r3, %r4}, {%c0, %c1, %c0, %c1}, {%c0, %c1}, {%r1, %r2, %r3, %r4};
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r1, %r2, %r3, %r4}, {%c0, %c1, %c0, %c2}, {%c0, %c1}, {%r1, %r2, %r3, %r4};
    mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%r1, %r2, %r3, %r4}, {%c2, %c2, %c2, %c2}, {%c2, %c2}, {%r1, %r2, %r3, %r4};
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%x, %y}, {%x}, {%y}, {%x, %y};
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%b]; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%b], {%r1};
    movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; barrier.cluster.arrive; barrier.cluster.wait;
    st.global.u32 [%d], %r1; ret; }";
    let text = format!(".version 8.4\n.target sm_90\n.address_size 64\n{kernel}");
    device::compile(&text).unwrap_or_else(|error| panic!("{}", error.log));
    garble_text("transfers and matrices", &text, 400);
}

/// What compilers seldom write: elements, vectors in registers, constant expressions, bytes that are not used.
#[test]
fn operands() {
    let text = device::text(
        "# 1 \"a.cu\"
.global .u32 g[1 < 2 ? 8 : 4] = {2, WARP_SZ / 2, (.s64)-5 >> 1, 07 && 3, ~1U, 0xff(g)};
.global .f32 f[2] = {.5 * 2.0, -1.0};
.extern .shared .align 8 .b8 open[32];
.func (.param .b32 r) part(.param .align 16 .b8 p[12]) {
    .reg .b32 %r<5>;
    .pragma \"used_bytes_mask 0x7ff\";
    ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [p];
    st.param.b32 [r], %r3; ret; }
.visible .entry k(.param .u64 out, .param .align 4 .u16 q[4]) {
    .reg .b64 %o, %d<4>; .reg .b32 %r<20>; .reg .v4 .u32 %v<2>; .reg .v2 .b32 %u; .reg .pred %p<2>;
    .local .u32 l[4]; .local .align 8 .u32 n<3>; .shared .u32 s[8];
    ld.param.u64 %o, [out];
    mov.v4.u32 %v0, %tid; mov.v4.u32 {%r1, %r2, _, %r4}, %v0;
    ld.param.u16 %r5, q[%r2+1]; st.local.u32 l[%r2+2], %r5; ld.local.u32 %r6, l[3];
    st.shared.u32 s[%r2+1], 1 ? 2 : 3; ld.global.u32 %r7, g[%r2+3]; mov.u64 %d1, g[%r2];
    st.shared.v2.u32 [open+8], {%r5, 3 > 2}; st.local.u32 [n2], 5;
    mov.b64 %d2, %u; mov.u32 %v1.y, %r7; st.global.v4.u32 [%o], %v1;
    { .param .align 16 .b8 a[12]; .param .b32 b; call (b), part, (a); ld.param.b32 %r8, [b]; }
    .pragma \"used_bytes_mask 0x30\"; ld.global.v2.u32 %u, [%d1];
    mov.u32 %r9, s; ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 %v1, [%r9]; movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r10;
    stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], {%r9, 5};
    { .reg .b16 %h; cvt.rn.satfinite.relu.e4m3x2.f32 %h, %r1, %r2; cvt.rn.f16x2.e5m2x2 %r3, %h; }
    ret; }",
    );
    garble_text("operands", &text, 600);
}

#[test]
fn deep_nesting_is_refused() {
    let all = ["{", "(", "-", "[", "{ (", "1 ? ", "1 + (", "!", "0 ? 1 : ", "(.u64)", "x[", "1 < "];
    let all = all.map(|mark| mark.repeat(100_000));
    for inner in all {
        for head in ["", "add.u32 %r, ", ".reg .b32 x", ".reg .b32 x = "] {
            let text = device::text(&format!(".entry k() {{ {head}{inner}"));
            assert!(device::compile(&text).is_err());
            assert!(device::compile(&device::text(&format!(".global .b32 x[1] = {inner}"))).is_err());
        }
    }
}

#[test]
fn what_is_too_large_is_refused() {
    for body in [
        ".global .b32 x[4294967296][4294967296][9];",
        ".global .b32 x[2][4294967296][4294967296] = {{1}, {2}};",
        ".entry k(.param .b8 x[1000000]) { }",
        ".entry k() { .reg .b32 %r<4000000000>; }",
        ".entry k() { .reg .pred %p<4000000000>; }",
        ".entry k() { .local .b8 a[500000]; .local .b8 b[500000]; .local .b8 c[500000]; }",
        ".entry k() { .shared .b8 a[4000000000]; .shared .b8 b[4000000000]; }",
    ] {
        assert!(device::compile(&device::text(body)).is_err(), "{body}");
    }
}

/// What loading costs grows with the text: with its square, either would take minutes.
#[test]
fn many_functions_load_in_seconds() {
    const MANY: usize = 8_000;
    let kernels: String = (0..MANY).map(|n| format!(".entry k{n}(.param .u64 p) {{ ret; }}\n")).collect();
    let links: String = (1..MANY).map(|n| format!(".func f{n}() {{ call f{}; ret; }}\n", n - 1)).collect();
    let chain = format!(".func f0() {{ ret; }}\n{links}.entry k() {{ call f{}; ret; }}", MANY - 1);
    let begun = Instant::now();
    for (text, count) in [(kernels, MANY), (chain, 1)] {
        let module = device::compile(&device::text(&text)).unwrap();
        assert_eq!(module.functions().len(), count);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// What ptxas says of a text, if it refuses it.
fn refusal(body: &str) -> Option<String> {
    device::compile(&device::text(body)).err().map(|error| error.log)
}

#[test]
fn shared_memory_is_limited_per_kernel() {
    let used = "mov.u64 %rd1, a;";
    let kernel = |name: &str, body: &str| format!(".entry {name}() {{ .reg .b64 %rd<3>; {body} ret; }}\n");
    let too_much = |bytes: &str| {
        Some(format!("Entry function 'k' uses too much shared data ({bytes} bytes, 0xc000 max)"))
    };
    assert_eq!(refusal(&format!(".shared .b8 a[49152];\n{}", kernel("k", used))), None);
    assert_eq!(refusal(&format!(".shared .b8 a[49153];\n{}", kernel("k", used))), too_much("0xc001"));
    assert_eq!(refusal(&format!(".shared .b8 a[49153];\n{}", kernel("k", ""))), None, "it is not used");
    assert_eq!(refusal(&kernel("k", ".shared .b8 a[500000];")), too_much("0x7a120"));
    // Each kernel has its own, with that of what it calls.
    let two = kernel("one", ".shared .b8 a[30000];") + &kernel("two", ".shared .b8 a[30000];");
    assert_eq!(refusal(&two), None);
    let called = ".func f() { .shared .b8 a[30000]; ret; }\n".to_owned();
    assert_eq!(refusal(&(called.clone() + &kernel("k", ".shared .b8 b[19152]; call f;"))), None);
    let more = called + &kernel("k", ".shared .b8 b[19153]; call f;");
    assert_eq!(refusal(&more).map(|log| log.contains("too much shared data")), Some(true));
    // What the launch says does not count.
    let dynamic =
        format!(".extern .shared .b8 a[];\n{}", kernel("k", &format!(".shared .b8 b[49152]; {used}")));
    assert_eq!(refusal(&dynamic), None);
}

#[test]
fn constant_memory_is_limited_per_module() {
    assert_eq!(refusal(".const .b8 a[65535];\n.const .b8 b;"), None);
    let said = "File uses too much global constant data (0x10004 bytes, 0x10000 max)".to_owned();
    assert_eq!(refusal(".const .b8 a[65533];\n.const .b32 b;"), Some(said));
}
