//! Floating-point numbers of 8 bits, against a search among all of them.

use crate::device::{self, Arg, Device, load};

/// What the format's 128 positive codes are worth; `None` is no number.
fn values(format: &str) -> Vec<Option<f64>> {
    let (mantissa, bias) = if format == "e4m3" { (3, 7) } else { (2, 15) };
    let worth = |code: u32| {
        let (exponent, fraction) =
            (code >> mantissa, f64::from(code % (1 << mantissa)) / f64::from(1 << mantissa));
        match (format, exponent, code) {
            ("e4m3", _, 0x7f) => None,
            ("e5m2", 31, 0x7c) => Some(f64::INFINITY),
            ("e5m2", 31, _) => None,
            (_, 0, _) => Some(fraction * 2f64.powi(1 - bias)),
            _ => Some((1.0 + fraction) * 2f64.powi(exponent as i32 - bias)),
        }
    };
    (0..128).map(worth).collect()
}

/// The finite code that is nearest, of two the even one.
fn nearest(values: &[Option<f64>], value: f64, relu: bool) -> u8 {
    if value.is_nan() {
        return 0x7f;
    }
    if relu && value.is_sign_negative() {
        return 0;
    }
    let finite = |code: &usize| values[*code].is_some_and(f64::is_finite);
    let most = (0..128).filter(finite).max().unwrap();
    let distance = |code: usize| (values[code].unwrap() - value.abs().min(values[most].unwrap())).abs();
    let rank = |a: &usize, b: &usize| distance(*a).total_cmp(&distance(*b)).then((a % 2).cmp(&(b % 2)));
    let code = (0..128).filter(finite).min_by(rank).unwrap() as u8;
    code | if value.is_sign_negative() { 0x80 } else { 0 }
}

/// Runs `instruction` on `%a` and `%b`, words, once a thread, and gives the lower `bits` of `%h` or `%r`.
fn run(instruction: &str, result: &str, input: &[[u32; 2]]) -> Vec<u32> {
    let text = format!(
        ".version 8.1\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
    .reg .b64 %in, %out; .reg .b32 %a, %b, %r, %i, %n, %m; .reg .b16 %h, %c;
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    mov.u32 %i, %tid.x; mov.u32 %n, %ctaid.x; mov.u32 %m, %ntid.x; mad.lo.u32 %i, %n, %m, %i;
    mad.wide.u32 %in, %i, 8, %in; ld.global.v2.u32 {{%a, %b}}, [%in]; cvt.u16.u32 %c, %a;
    {instruction}
    mad.wide.u32 %out, %i, 4, %out; st.global.u32 [%out], {result}; ret; }}"
    )
    .replace("st.global.u32 [%out], %h", "cvt.u32.u16 %r, %h; st.global.u32 [%out], %r");
    let device = Device::default();
    let flat: Vec<u32> = input.iter().flatten().copied().collect();
    let (din, out) = (device.upload(&flat), device.zeroed(4 * input.len()));
    assert!(input.len().is_multiple_of(256));
    let blocks = input.len() as u32 / 256;
    load(&device, &text).run(&device, "k", blocks, 256, &[Arg::U64(din), Arg::U64(out)]).unwrap();
    device.read(out, input.len())
}

/// Numbers that are codes, halfway between two, and just beside that; what is too large, too small, and none.
fn singles(values: &[Option<f64>]) -> Vec<f32> {
    let finite: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    let mut all =
        vec![0.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, f32::INFINITY, 1e6, 57344.0, 61440.0];
    for pair in finite.windows(2) {
        let middle = ((pair[0] + pair[1]) / 2.0) as f32;
        let beside = [middle.to_bits() - 1, middle.to_bits() + 1].map(f32::from_bits);
        all.extend([pair[1] as f32, middle, beside[0], beside[1]]);
    }
    let negative: Vec<f32> = all.iter().map(|value| -value).collect();
    all.extend(negative);
    all.extend([f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)]);
    all.resize(all.len().next_multiple_of(256), 1.0);
    all
}

#[test]
fn from_single_precision() {
    for format in ["e4m3", "e5m2"] {
        let values = values(format);
        let singles = singles(&values);
        let input: Vec<[u32; 2]> =
            singles.iter().zip(singles.iter().rev()).map(|(a, b)| [a.to_bits(), b.to_bits()]).collect();
        for (relu, rectified) in [("", false), (".relu", true)] {
            let instruction = format!("cvt.rn.satfinite{relu}.{format}x2.f32 %h, %a, %b;");
            for ([a, b], result) in input.iter().zip(run(&instruction, "%h", &input)) {
                let code = |bits: u32| u32::from(nearest(&values, f32::from_bits(bits).into(), rectified));
                let expected = (code(*a) << 8) | code(*b);
                assert_eq!(
                    result, expected,
                    "{instruction} of {a:08x} {b:08x}: {result:04x}, not {expected:04x}"
                );
            }
        }
    }
}

/// What an `f16` is worth.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff) / 1024.0);
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

#[test]
fn from_every_half() {
    let input: Vec<[u32; 2]> =
        (0..=u32::from(u16::MAX)).map(|bits| [(bits << 16) | (bits ^ 0x8001), 0]).collect();
    for format in ["e4m3", "e5m2"] {
        let values = values(format);
        for (relu, rectified) in [("", false), (".relu", true)] {
            let codes: Vec<u32> =
                (0..=u16::MAX).map(|bits| nearest(&values, half(bits), rectified).into()).collect();
            let instruction = format!("cvt.rn.satfinite{relu}.{format}x2.f16x2 %h, %a;");
            for ([pair, _], result) in input.iter().zip(run(&instruction, "%h", &input)) {
                let expected = (codes[(pair >> 16) as usize] << 8) | codes[(pair & 0xffff) as usize];
                assert_eq!(result, expected, "{instruction} of {pair:08x}: {result:04x}, not {expected:04x}");
            }
        }
    }
}

#[test]
fn to_halves() {
    let input: Vec<[u32; 2]> = (0..=u32::from(u16::MAX)).map(|pair| [pair, 0]).collect();
    for format in ["e4m3", "e5m2"] {
        let values = values(format);
        let half_of = |code: u32, rectified: bool| {
            let sign = (code & 0x80) << 8;
            match values[code as usize % 128] {
                None => 0x7fff,
                Some(_) if rectified && sign != 0 => 0,
                Some(value) => sign | (0..0x7c01).find(|bits| half(*bits as u16) == value).unwrap(),
            }
        };
        for (relu, rectified) in [("", false), (".relu", true)] {
            let halves: Vec<u32> = (0..256).map(|code| half_of(code, rectified)).collect();
            let instruction = format!("cvt.rn{relu}.f16x2.{format}x2 %r, %c;");
            for ([pair, _], result) in input.iter().zip(run(&instruction, "%r", &input)) {
                let expected = (halves[(pair >> 8) as usize] << 16) | halves[(pair & 0xff) as usize];
                assert_eq!(result, expected, "{instruction} of {pair:04x}: {result:08x}, not {expected:08x}");
            }
        }
    }
}

#[test]
fn what_is_no_conversion() {
    for (instruction, sentence) in [
        ("cvt.satfinite.e4m3x2.f32 %h, %f, %f;", "it is rounded to nearest"),
        ("cvt.rz.satfinite.e4m3x2.f32 %h, %f, %f;", "it is rounded to nearest"),
        ("cvt.rn.e4m3x2.f32 %h, %f, %f;", "a result of 8 bits has .satfinite"),
        ("cvt.rn.satfinite.f16x2.e5m2x2 %r, %h;", "a result of 8 bits has .satfinite"),
        ("cvt.rn.satfinite.e4m3x2.bf16x2 %h, %r;", "the type .bf16x2 is not supported here"),
        ("cvt.rn.ftz.satfinite.e4m3x2.f32 %h, %f, %f;", "`.ftz` is not supported here"),
        ("cvt.rn.satfinite.e4m3x2.f32 %r, %f, %f;", "a register of type .b32 stands where .b16"),
        ("cvt.rn.satfinite.e4m3x2.f32 %h, %f;", "cvt has 3 operands, not 2"),
        ("cvt.rn.f16x2.e4m3x2 %r, %r;", "a register of type .b32 stands where .b16"),
        ("cvt.rn.satfinite.e4m3x2.e5m2x2 %h, %h;", "a result of 8 bits has .satfinite"),
    ] {
        let body = format!(".entry k() {{ .reg .b32 %r; .reg .f32 %f; .reg .b16 %h; {instruction} ret; }}");
        let log = device::compile(&device::text(&body))
            .err()
            .unwrap_or_else(|| panic!("{instruction} is accepted"))
            .log;
        assert!(log.contains(sentence), "{instruction}: {log}");
    }
}
