//! Forms of instructions one by one: what each makes of chosen operands.

use crate::device::{Arg, Device, load};
use std::fmt::Write as _;

/// Runs an instruction on `%a`, `%b`, `%c` of the types, once a case, and compares `%d`.
fn check(instruction: &str, d: &str, operands: &[&str], cases: &[(&[u64], u64)]) {
    let mut body = String::from(
        ".visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b64 %in, %out, %at; .reg .b32 %i; .reg .pred %p, %q;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %at, %i, 32, %in;\n",
    );
    let stored = |ty: &str| {
        format!("b{}", &ty[ty.find(|c: char| c.is_ascii_digit()).unwrap()..]).replace("16x2", "32")
    };
    for (name, ty) in ["a", "b", "c"].iter().zip(operands) {
        let offset = 8 * (name.as_bytes()[0] - b'a');
        writeln!(body, ".reg .{ty} %{name}; ld.global.{} %{name}, [%at+{offset}];", stored(ty)).unwrap();
    }
    writeln!(body, ".reg .{d} %d; mov.{} %d, 0;\n{instruction}", stored(d)).unwrap();
    writeln!(body, "mad.wide.u32 %at, %i, 8, %out; st.global.{} [%at], %d; ret; }}", stored(d)).unwrap();
    let device = Device::default();
    let loaded = load(&device, &format!(".version 8.6\n.target sm_90\n.address_size 64\n{body}"));
    let mut input = vec![0u64; 4 * cases.len()];
    for (place, (values, _)) in input.chunks_mut(4).zip(cases) {
        place[..values.len()].copy_from_slice(values);
    }
    let (din, dout) = (device.upload(&input), device.zeroed(8 * cases.len()));
    loaded.run(&device, "k", 1, cases.len() as u32, &[Arg::U64(din), Arg::U64(dout)]).unwrap();
    for (result, (values, expected)) in device.read::<u64>(dout, cases.len()).iter().zip(cases) {
        assert_eq!(result, expected, "{instruction} of {values:x?}: {result:#x}, not {expected:#x}");
    }
}

fn f(x: f32) -> u64 {
    x.to_bits().into()
}

fn d(x: f64) -> u64 {
    x.to_bits()
}

const NAN: u64 = 0x7fff_ffff;
const TINY: u64 = 1;
const MINUS: u64 = 0x8000_0000;

#[test]
fn flushing() {
    let all: [&str; 3] = ["f32"; 3];
    check("abs.ftz.f32 %d, %a;", "f32", &all[..1], &[(&[TINY | MINUS], 0), (&[f(-2.0)], f(2.0))]);
    check(
        "add.ftz.f32 %d, %a, %b;",
        "f32",
        &all[..2],
        &[(&[TINY, f(0.0)], 0), (&[0x0080_0001, 0x8080_0000], 0), (&[f(1.0), f(2.0)], f(3.0))],
    );
    check("add.f32 %d, %a, %b;", "f32", &all[..2], &[(&[TINY, TINY], 2), (&[0x7f80_0000, 0xff80_0000], NAN)]);
    check(
        "mul.ftz.f32 %d, %a, %b;",
        "f32",
        &all[..2],
        &[(&[0x0080_0000, f(-0.5)], MINUS), (&[TINY, f(1e30)], 0)],
    );
    check(
        "fma.rn.ftz.f32 %d, %a, %b, %c;",
        "f32",
        &all,
        &[(&[f(2.0), f(3.0), f(1.0)], f(7.0)), (&[TINY, f(1e38), f(0.0)], 0)],
    );
    check(
        "min.ftz.f32 %d, %a, %b;",
        "f32",
        &all[..2],
        &[(&[TINY | MINUS, f(1.0)], MINUS), (&[NAN, f(3.0)], f(3.0))],
    );
    check("neg.ftz.f32 %d, %a;", "f32", &all[..1], &[(&[TINY], MINUS), (&[f(1.0)], f(-1.0))]);
    check(
        "sub.sat.f32 %d, %a, %b;",
        "f32",
        &all[..2],
        &[(&[f(5.0), f(1.0)], f(1.0)), (&[f(1.0), f(5.0)], 0), (&[NAN, 0], 0)],
    );
}

#[test]
fn directions() {
    let all: [&str; 3] = ["f32"; 3];
    let third = 0x3eaa_aaaa;
    for (way, expected) in [("rn", third + 1), ("rz", third), ("rm", third), ("rp", third + 1)] {
        check(&format!("div.{way}.f32 %d, %a, %b;"), "f32", &all[..2], &[(&[f(1.0), f(3.0)], expected)]);
    }
    for (way, expected) in [("rn", 0x4b80_0000), ("rz", 0x4b80_0000), ("rp", 0x4b80_0001)] {
        check(&format!("add.{way}.f32 %d, %a, %b;"), "f32", &all[..2], &[(&[0x4b80_0000, f(1.0)], expected)]);
        check(
            &format!("fma.{way}.f32 %d, %a, %b, %c;"),
            "f32",
            &all,
            &[(&[0x4b80_0000, f(1.0), f(1.0)], expected)],
        );
    }
    check("sqrt.rp.f32 %d, %a;", "f32", &all[..1], &[(&[f(2.0)], 0x3fb5_04f4), (&[f(-1.0)], NAN)]);
    check("sqrt.rz.f32 %d, %a;", "f32", &all[..1], &[(&[f(2.0)], 0x3fb5_04f3)]);
    check("rcp.rm.f64 %d, %a;", "f64", &["f64"], &[(&[d(3.0)], 0x3fd5_5555_5555_5555)]);
    check("rcp.rp.f64 %d, %a;", "f64", &["f64"], &[(&[d(3.0)], 0x3fd5_5555_5555_5556)]);
    check("mul.rm.f64 %d, %a, %b;", "f64", &["f64", "f64"], &[(&[d(0.1), d(0.1)], d(0.1 * 0.1) - 1)]);
    check("mul.rp.f64 %d, %a, %b;", "f64", &["f64", "f64"], &[(&[d(0.1), d(0.1)], d(0.1 * 0.1))]);
}

#[test]
fn approximations() {
    let one: [&str; 1] = ["f32"];
    type Function = fn(f64) -> f64;
    let cases: [(&str, Function); 8] = [
        ("sin.approx.ftz.f32", f64::sin),
        ("cos.approx.ftz.f32", f64::cos),
        ("lg2.approx.ftz.f32", f64::log2),
        ("ex2.approx.f32", f64::exp2),
        ("tanh.approx.f32", f64::tanh),
        ("sqrt.approx.ftz.f32", f64::sqrt),
        ("rsqrt.approx.ftz.f32", |x| 1.0 / x.sqrt()),
        ("rcp.approx.f32", |x| 1.0 / x),
    ];
    for (name, function) in cases {
        for x in [0.25f32, 1.0, 1.7, 20.0] {
            let expected = f(function(x.into()) as f32);
            check(&format!("{name} %d, %a;"), "f32", &one, &[(&[f(x)], expected)]);
        }
    }
    check("rsqrt.approx.f32 %d, %a;", "f32", &one, &[(&[f(0.0)], 0x7f80_0000), (&[f(-1.0)], NAN)]);
    check("lg2.approx.f32 %d, %a;", "f32", &one, &[(&[f(0.0)], 0xff80_0000), (&[f(8.0)], f(3.0))]);
    check("div.approx.ftz.f32 %d, %a, %b;", "f32", &["f32", "f32"], &[(&[f(1.0), f(4.0)], f(0.25))]);
    check("rsqrt.approx.f64 %d, %a;", "f64", &["f64"], &[(&[d(4.0)], d(0.5))]);
}

#[test]
fn conversions() {
    check("cvt.rmi.f64.f64 %d, %a;", "f64", &["f64"], &[(&[d(-1.5)], d(-2.0)), (&[d(2.9)], d(2.0))]);
    check("cvt.rn.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(0.1)], f(0.1)), (&[d(1e300)], 0x7f80_0000)]);
    check("cvt.rz.f32.f64 %d, %a;", "f32", &["f64"], &[(&[d(1e300)], 0x7f7f_ffff), (&[d(0.1)], f(0.1) - 1)]);
    check(
        "cvt.rn.f64.u64 %d, %a;",
        "f64",
        &["u64"],
        &[(&[u64::MAX], d(1.8446744073709552e19)), (&[3], d(3.0))],
    );
    check("cvt.rz.f32.u64 %d, %a;", "f32", &["u64"], &[(&[u64::MAX], 0x5f7f_ffff)]);
    let from = ["f32"];
    check(
        "cvt.rni.s32.f32 %d, %a;",
        "b32",
        &from,
        &[(&[f(2.5)], 2), (&[f(-3.5)], (-4i32) as u32 as u64), (&[f(1e20)], 0x7fff_ffff), (&[NAN], 0)],
    );
    check("cvt.rzi.ftz.s32.f32 %d, %a;", "b32", &from, &[(&[f(-2.9)], (-2i32) as u32 as u64), (&[TINY], 0)]);
    check("cvt.rzi.ftz.s64.f32 %d, %a;", "b64", &from, &[(&[f(-2.9)], (-2i64) as u64)]);
    check("cvt.rzi.s64.f32 %d, %a;", "b64", &from, &[(&[f(3e18)], 3e18f32 as u64), (&[f(-1e30)], 1 << 63)]);
    check("cvt.rpi.u8.f32 %d, %a;", "b32", &from, &[(&[f(2.1)], 3), (&[f(-5.0)], 0), (&[f(300.0)], 255)]);
    check("cvt.s32.s8 %d, %a;", "b32", &["b32"], &[(&[0x180], (-128i32) as u32 as u64), (&[0x7f], 0x7f)]);
    check("cvt.u16.u32 %d, %a;", "b16", &["b32"], &[(&[0x12345], 0x2345)]);
    check("cvt.s64.s32 %d, %a;", "b64", &["b32"], &[(&[0x8000_0000], 0xffff_ffff_8000_0000)]);
    check("cvt.sat.u8.s32 %d, %a;", "b32", &["b32"], &[(&[0xffff_fff0], 0), (&[300], 255), (&[77], 77)]);
    check("cvt.sat.s8.s32 %d, %a;", "b32", &["b32"], &[(&[0xffff_0000], 0xffff_ff80), (&[300], 127)]);
    check("cvt.sat.u32.s64 %d, %a;", "b32", &["b64"], &[(&[1 << 40], 0xffff_ffff), (&[1 << 63], 0)]);
    check("cvt.sat.f32.f32 %d, %a;", "f32", &from, &[(&[f(1.5)], f(1.0)), (&[f(-1.0)], 0)]);
    check("cvt.rn.bf16x2.f32 %d, %a, %b;", "b32", &["f32", "f32"], &[(&[f(1.0), f(-2.0)], 0x3f80_c000)]);
    check("cvt.rn.relu.f16x2.f32 %d, %a, %b;", "b32", &["f32", "f32"], &[(&[f(1.0), f(-2.0)], 0x3c00_0000)]);
    check(
        "cvt.rna.tf32.f32 %d, %a;",
        "b32",
        &from,
        &[(&[0x3f80_1000], 0x3f80_2000), (&[0x3f80_0fff], 0x3f80_0000)],
    );
}

#[test]
fn comparisons() {
    // The predicate as a number.
    let test = |instruction: &str, ty: &str, cases: &[(&[u64], u64)]| {
        check(&format!("{instruction}\nselp.b32 %d, 1, 0, %p;"), "b32", &[ty, ty], cases);
    };
    let nan = u64::from(f32::NAN.to_bits());
    test("setp.ge.f32 %p, %a, %b;", "f32", &[(&[f(2.0), f(2.0)], 1), (&[nan, f(0.0)], 0)]);
    test("setp.geu.f32 %p, %a, %b;", "f32", &[(&[f(1.0), f(2.0)], 0), (&[nan, f(0.0)], 1)]);
    test("setp.geu.ftz.f32 %p, %a, %b;", "f32", &[(&[0, TINY], 1), (&[f(0.0), f(1.0)], 0)]);
    test("setp.gtu.f32 %p, %a, %b;", "f32", &[(&[f(2.0), f(2.0)], 0), (&[f(0.0), nan], 1)]);
    test(
        "setp.ltu.f32 %p, %a, %b;",
        "f32",
        &[(&[f(2.0), f(3.0)], 1), (&[f(3.0), f(2.0)], 0), (&[nan, nan], 1)],
    );
    test("setp.lt.ftz.f32 %p, %a, %b;", "f32", &[(&[0, TINY], 0), (&[f(0.0), f(1.0)], 1)]);
    test("setp.ne.f32 %p, %a, %b;", "f32", &[(&[nan, nan], 0), (&[f(1.0), f(2.0)], 1)]);
    test("setp.nan.f32 %p, %a, %b;", "f32", &[(&[nan, 0], 1), (&[0, 0], 0)]);
    test("setp.lt.f64 %p, %a, %b;", "f64", &[(&[d(-1.0), d(1.0)], 1), (&[d(1.0), d(1.0)], 0)]);
    test("setp.eq.s64 %p, %a, %b;", "b64", &[(&[1 << 40, 1 << 40], 1), (&[1 << 40, 0], 0)]);
    test("setp.gt.s64 %p, %a, %b;", "b64", &[(&[0, u64::MAX], 1), (&[0, 1], 0)]);
    test("setp.lt.s64 %p, %a, %b;", "b64", &[(&[u64::MAX, 0], 1), (&[1, 0], 0)]);
    test("setp.ge.u64 %p, %a, %b;", "b64", &[(&[u64::MAX, 0], 1), (&[0, 1], 0)]);
    test(
        "setp.eq.b32 %q, 0, 0; setp.lt.and.s32 %p|%q, %a, %b, %q; @%q mov.b32 %d, 5; not.pred %q, %q;",
        "b32",
        &[(&[1, 2], 1), (&[2, 1], 0)],
    );
    check("set.lt.u32.s32 %d, %a, %b;", "b32", &["b32", "b32"], &[(&[1, 2], 0xffff_ffff), (&[2, 1], 0)]);
    check(
        "slct.s32.f32 %d, %a, %b, %c;",
        "b32",
        &["b32", "b32", "f32"],
        &[(&[1, 2, f(0.5)], 1), (&[1, 2, f(-1.0)], 2)],
    );
    check(
        "setp.lt.s32 %p, %b, 0; selp.f64 %d, %a, 0d3FF0000000000000, %p;",
        "f64",
        &["f64", "b32"],
        &[(&[d(7.0), 0xffff_ffff], d(7.0)), (&[d(7.0), 0], d(1.0))],
    );
    test("testp.subnormal.f32 %p, %a;", "f32", &[(&[TINY, 0], 1), (&[f(1.0), 0], 0)]);
}

#[test]
fn whole_numbers() {
    let (two, three) = (["b32"; 2], ["b32"; 3]);
    check("min.s32 %d, %a, %b;", "b32", &two, &[(&[0xffff_ffff, 1], 0xffff_ffff)]);
    check(
        "mad.wide.u32 %d, %a, %b, %c;",
        "b64",
        &["b32", "b32", "b64"],
        &[(&[0xffff_ffff, 0xffff_ffff, 5], 0xffff_fffe_0000_0006)],
    );
    check(
        "div.s64 %d, %a, %b;",
        "b64",
        &["b64", "b64"],
        &[(&[(-7i64) as u64, 2], (-3i64) as u64), (&[5, 0], u64::MAX)],
    );
    check("rem.u32 %d, %a, %b;", "b32", &two, &[(&[17, 5], 2), (&[17, 0], 0xffff_ffff)]);
    check(
        "and.b64 %d, %a, %b;",
        "b64",
        &["b64", "b64"],
        &[(&[0xff00_ff00_ff00_ff00, 0xffff_0000_ffff_0000], 0xff00_0000_ff00_0000)],
    );
    check("lop3.b32 %d, %a, %b, %c, 0x96;", "b32", &three, &[(&[0xf0, 0xcc, 0xaa], 0x96)]);
    check("lop3.b32 %d, %a, %b, %c, 0xe8;", "b32", &three, &[(&[0xf0, 0xcc, 0xaa], 0xe8)]);
    check(
        "shf.l.clamp.b32 %d, %a, %b, %c;",
        "b32",
        &three,
        &[(&[0x8000_0001, 1, 4], 0x18), (&[7, 9, 40], 7)],
    );
    check("shf.r.wrap.b32 %d, %a, %b, %c;", "b32", &three, &[(&[0x10, 0xf, 36], 0xf000_0001)]);
    check(
        "bfe.s32 %d, %a, %b, %c;",
        "b32",
        &three,
        &[(&[0xf0, 4, 4], 0xffff_ffff), (&[0x70, 4, 4], 7), (&[1, 0, 0], 0)],
    );
    check("bfe.u64 %d, %a, %b, %c;", "b64", &["b64", "b32", "b32"], &[(&[u64::MAX, 60, 10], 15)]);
    check(
        "bfi.b32 %d, %a, %b, %c, 8;",
        "b32",
        &three,
        &[(&[0xab, 0xffff_ffff, 4], 0xffff_fabf), (&[0xab, 7, 40], 7)],
    );
    check("bfind.s32 %d, %a;", "b32", &["b32"], &[(&[0], 0xffff_ffff), (&[0xffff_fffe], 0), (&[256], 8)]);
    check("bfind.shiftamt.u32 %d, %a;", "b32", &["b32"], &[(&[1], 31), (&[0], 0xffff_ffff)]);
    check("prmt.b32 %d, %a, %b, %c;", "b32", &three, &[(&[0x8070_6050, 0x4030_2010, 0xb704], 0xff40_5010)]);
    check("prmt.b32.rc16 %d, %a, %b, %c;", "b32", &three, &[(&[0x8070_6050, 0, 1], 0x8070_8070)]);
    check("sad.u32 %d, %a, %b, %c;", "b32", &three, &[(&[3, 10, 100], 107)]);
    check("mul24.lo.s32 %d, %a, %b;", "b32", &two, &[(&[0x00ff_ffff, 5], (-5i32) as u32 as u64)]);
    check("mad24.hi.u32 %d, %a, %b, %c;", "b32", &three, &[(&[0xff_ffff, 0xff_ffff, 1], 0xffff_fe01)]);
    check(
        "dp4a.s32.u32 %d, %a, %b, %c;",
        "b32",
        &three,
        &[(&[0xff02_03fe, 0x0105_06ff, 10], (10 - 1 + 10 + 18 - 510i32) as u32 as u64)],
    );
    check("dp2a.hi.u32.u32 %d, %a, %b, %c;", "b32", &three, &[(&[0x0002_0003, 0x0405_ffff, 1], 1 + 15 + 8)]);
    check("shr.s32 %d, %a, %b;", "b32", &two, &[(&[MINUS, 40], 0xffff_ffff)]);
    check("shl.b64 %d, %a, %b;", "b64", &["b64", "b32"], &[(&[1, 64], 0), (&[3, 33], 3 << 33)]);
    check("cnot.b32 %d, %a;", "b32", &["b32"], &[(&[0], 1), (&[9], 0)]);
    check("add.sat.s32 %d, %a, %b;", "b32", &two, &[(&[0x7fff_ffff, 1], 0x7fff_ffff)]);
    check("mul.hi.u64 %d, %a, %b;", "b64", &["b64", "b64"], &[(&[u64::MAX, u64::MAX], u64::MAX - 1)]);
    check("redux.sync.add.s32 %d, %a, 3;", "b32", &["b32"], &[(&[5], 2), (&[0xffff_fffd], 2)]);
    check("vote.sync.uni.pred %p, %q, 1; selp.b32 %d, 1, 0, %p;", "b32", &[], &[(&[], 1)]);
    check("elect.sync %d|%p, 3; @!%p add.u32 %d, %d, 10;", "b32", &[], &[(&[], 0), (&[], 10)]);
    check("bmsk.clamp.b32 %d, %a, %b;", "b32", &two, &[(&[4, 8], 0xff0), (&[40, 8], 0)]);
    check("copysign.f32 %d, %a, %b;", "f32", &["f32", "f32"], &[(&[f(-1.0), f(3.0)], f(-3.0))]);
    check("max.xorsign.abs.f32 %d, %a, %b;", "f32", &["f32", "f32"], &[(&[f(-1.0), f(3.0)], f(-3.0))]);
    check("max.NaN.f32 %d, %a, %b;", "f32", &["f32", "f32"], &[(&[NAN, f(3.0)], NAN)]);
}

#[test]
fn side_by_side() {
    let (two, three) = (["b32"; 2], ["b32"; 3]);
    let apart: &[(&[u64], u64)] = &[(&[0x0102_0304, 0x0403_0201, 9], 0x0301_0103)];
    check("vabsdiff4.u32.u32.u32 %d, %a, %b, %c;", "b32", &three, apart);
    let sums: &[(&[u64], u64)] =
        &[(&[0x0102_0304, 0x0403_0201, 10], 18), (&[0xff00_0000, 0x0100_0000, 0], 254)];
    check("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", "b32", &three, sums);
    check("vabsdiff4.s32.s32.s32.add %d, %a, %b, %c;", "b32", &three, &[(&[0xff00_0000, 0x0100_0000, 5], 7)]);
    check("add.u16x2 %d, %a, %b;", "b32", &two, &[(&[0xffff_0001, 0x0001_0002], 3)]);
    check("min.s16x2 %d, %a, %b;", "b32", &two, &[(&[0x8000_0001, 0x7fff_ffff], 0x8000_ffff)]);
    check("min.u16x2 %d, %a, %b;", "b32", &two, &[(&[0x8000_0001, 0x7fff_ffff], 0x7fff_0001)]);
    check("max.relu.s16x2 %d, %a, %b;", "b32", &two, &[(&[0x8000_0003, 0xffff_ffff], 3)]);
}

#[test]
fn carries() {
    let all = ["b32"; 3];
    check(
        "add.cc.u32 %d, %a, %b; addc.u32 %d, 0, 0;",
        "b32",
        &all[..2],
        &[(&[0xffff_ffff, 1], 1), (&[1, 1], 0)],
    );
    check("sub.cc.u32 %d, %a, %b; subc.u32 %d, 10, 0;", "b32", &all[..2], &[(&[0, 1], 9), (&[1, 1], 10)]);
    check(
        "add.cc.u64 %d, %a, %b; addc.cc.u64 %d, %a, %b; addc.u64 %d, 0, 0;",
        "b64",
        &["b64", "b64"],
        &[(&[u64::MAX, u64::MAX], 1), (&[u64::MAX, 0], 0), (&[u64::MAX, 1], 1)],
    );
    check(
        "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;",
        "b32",
        &all,
        &[(&[0xffff_ffff, 0xffff_ffff, 0xffff_ffff], 0xffff_ffff), (&[2, 3, 4], 0)],
    );
}
