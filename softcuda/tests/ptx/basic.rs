//! The engine on small texts: arithmetic, memory, branches, special registers.

use crate::device::{self, Arg, Device, load, text};
use softcuda::ptx::{FaultKind, Refusal};

const SAXPY: &str = "
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {
    .reg .pred %p;
    .reg .f32 %f<4>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<6>;
    ld.param.f32 %f0, [a];
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra done;
    cvta.to.global.u64 %rd2, %rd0;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.u32 %rd4, %r4, 4;
    add.s64 %rd2, %rd2, %rd4;
    add.s64 %rd3, %rd3, %rd4;
    ld.global.f32 %f1, [%rd2];
    ld.global.f32 %f2, [%rd3];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%rd3], %f3;
done:
    ret;
}";

#[test]
fn saxpy() {
    let device = Device::default();
    let loaded = load(&device, &text(SAXPY));
    let function = loaded.module.function("saxpy").unwrap();
    assert_eq!(
        function.params.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>(),
        [(0, 4), (8, 8), (16, 8), (24, 4)]
    );
    let n = 1000usize;
    let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
    let y: Vec<f32> = (0..n).map(|i| 1.0 / (i + 1) as f32).collect();
    let (dx, dy) = (device.upload(&x), device.upload(&y));
    let args = [Arg::F32(1.1), Arg::U64(dx), Arg::U64(dy), Arg::U32(n as u32)];
    loaded.run(&device, "saxpy", 4, 256, &args).unwrap();
    let result = device.read::<f32>(dy, n);
    for i in 0..n {
        assert_eq!(result[i].to_bits(), 1.1f32.mul_add(x[i], y[i]).to_bits(), "{i}");
    }
}

#[test]
fn a_write_behind_the_end_names_the_thread() {
    let device = Device::default();
    let loaded = load(&device, &text(SAXPY));
    let (x, y) = (device.upload(&[0f32; 64]), device.upload(&[0f32; 40]));
    let args = [Arg::F32(1.0), Arg::U64(x), Arg::U64(y), Arg::U32(64)];
    let fault = loaded.run(&device, "saxpy", 2, 32, &args).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert_eq!((fault.block, fault.thread), ([1, 0, 0], [8, 0, 0]));
    assert_eq!((fault.address, fault.instruction.as_str()), (Some(y + 160), "ld.global.f32"));
    let line = text(SAXPY).lines().position(|line| line.contains("%f2, [%rd3]")).unwrap() + 1;
    assert_eq!(fault.line, line as u32, "{fault}");
    let args = [Arg::F32(1.0), Arg::U64(x + 2), Arg::U64(y), Arg::U32(1)];
    let fault = loaded.run(&device, "saxpy", 1, 1, &args).unwrap_err();
    assert_eq!((fault.kind, fault.address), (FaultKind::MisalignedAddress, Some(x + 2)));
}

#[test]
fn loops_diverge_and_join() {
    let device = Device::default();
    // Collatz: each thread takes its own number of steps.
    let loaded = load(
        &device,
        &text(
            "
.visible .entry collatz(.param .u64 out) {
    .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    add.u32 %r1, %r0, 1;
    mov.u32 %r2, 0;
again:
    setp.eq.u32 %p0, %r1, 1;
    @%p0 bra done;
    and.b32 %r3, %r1, 1;
    setp.eq.b32 %p1, %r3, 0;
    @%p1 bra even;
    mad.lo.u32 %r1, %r1, 3, 1;
    bra.uni next;
even:
    shr.u32 %r1, %r1, 1;
next:
    add.u32 %r2, %r2, 1;
    bra again;
done:
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1], %r2;
    ret;
}",
        ),
    );
    let out = device.zeroed(4 * 100);
    loaded.run(&device, "collatz", 1, 100, &[Arg::U64(out)]).unwrap();
    let expected: Vec<u32> = (1..=100u64)
        .map(|mut n| {
            let mut steps = 0;
            while n != 1 {
                n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
                steps += 1;
            }
            steps
        })
        .collect();
    assert_eq!(device.read::<u32>(out, 100), expected);
}

#[test]
fn refusals_name_line_instruction_and_modifier() {
    let refuse = |body: &str| {
        let all =
            text(&format!(".entry k() {{\n.reg .b32 %r<4>; .reg .pred %p; .reg .f32 %f<3>;\n{body}\n}}"));
        device::compile(&all).err().unwrap_or_else(|| panic!("{body} is accepted"))
    };
    let error = refuse("add.foo.u32 %r1, %r2, %r3;");
    assert_eq!(error.log, "line 6: `add.foo.u32`: the modifier `.foo` is not supported here");
    assert_eq!(error.refusal, Refusal::Uncovered);
    let error = refuse("\nwgmma.fence.sync.aligned;");
    assert_eq!(error.log, "line 7: the instruction `wgmma.fence.sync.aligned` is not supported");
    let error = refuse("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f0}, [texture, {%f0, %f1}];");
    assert_eq!(error.log, "line 6: the instruction `tex.2d.v4.f32.f32` is not supported");
    assert_eq!(error.refusal, Refusal::Uncovered);
    assert!(refuse("setp.lt.ftz.s32 %p, %r2, %r3;").log.contains("`.ftz` is not supported here"));
    assert!(refuse("st.const.u32 [%r1], %r2;").log.contains("constant memory cannot be written"));
    assert_eq!(refuse("bra nowhere;").refusal, Refusal::Invalid);
    assert_eq!(refuse("add.u32 %r1, %r9, 1;").log, "line 6: unknown name %r9");
    assert_eq!(refuse("mov.b32 %r1, %r4294967295;").log, "line 6: unknown name %r4294967295");
    assert_eq!(refuse("add.u32 %r1, %r2 1;").refusal, Refusal::Invalid);
    assert!(refuse("add.u64 %r1, %r2, %r3;").log.contains(".b32 stands where .u64 is wanted"));
    let version = device::compile(".version 9.1\n.target sm_90\n").err().unwrap();
    assert_eq!(version.refusal, Refusal::Version);
    let target = device::compile(".version 8.6\n.target sm_100\n").err().unwrap();
    assert_eq!(target.refusal, Refusal::Target);
    let older = device::compile(".version 8.0\n.target sm_100\n").err().unwrap();
    assert_eq!(older.log, "line 2: the target sm_100 needs PTX 8.6 or newer");
    let none = device::compile(".version 8.0\n.address_size 64\n").err().unwrap();
    assert_eq!(none.log, "line 2: no .target before this");
    assert_eq!(device::compile("garbage").err().unwrap().refusal, Refusal::NotPtx);
    let version = device::compile(".version 99999999999999999999.0\n.target sm_90\n").err().unwrap();
    assert_eq!(version.log, "line 1: this .version is none that PTX has");
    assert_eq!(version.refusal, Refusal::Version);
    let parts = refuse("{ .reg .b64 %d; mov.b64 %d, {%r1, %r2, %r3}; }");
    assert_eq!(parts.log, "line 6: `mov.b64`: a .b64 has no 3 parts, but 2 or 4");
    let outside = |line: &str| device::compile(&text(line)).err().unwrap().log;
    assert!(outside(".global .align 1073741824 .b8 g;").contains("a power of two and at most 65536"));
    assert!(outside(".global .b8 g[-1];").ends_with("the array g has a negative size, -1"));
}
