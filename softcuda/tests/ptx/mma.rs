//! `mma`: products of matrices that a warp holds together, against the same product by rows and columns.

use crate::device::{Arg, Device, compile, load};

/// A form: how many registers each operand has, and how wide elements are.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    /// Bits of an element: of factors, and of sums.
    pub(crate) bits: usize,
    pub(crate) sum_bits: usize,
}

const LANES: usize = 32;

impl Form {
    pub(crate) fn word(&self) -> usize {
        if self.bits == 64 { 64 } else { 32 }
    }

    pub(crate) fn registers(&self, elements: usize, bits: usize) -> usize {
        elements * bits / (LANES * self.word())
    }

    /// A kernel in which lane `n` has the words from `n * 16` on: of the first matrix, from 8 of the second, and from 12 of the sum.
    fn kernel(&self) -> String {
        let (bits, bytes) = (self.word(), self.word() / 8);
        let list = |name: &str, first: usize, count: usize| -> String {
            let names: Vec<_> = (first..first + count).map(|at| format!("%{name}{at}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let (sum, loads): (usize, String) = (
            self.registers(self.rows * 8, self.sum_bits),
            (0..16).map(|at| format!("ld.global.b{bits} %r{at}, [%at+{}];\n", at * bytes)).collect(),
        );
        let stores: String =
            (0..sum).map(|at| format!("st.global.b{bits} [%to+{}], %d{at};\n", at * bytes)).collect();
        format!(
            ".version 8.4\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
    .reg .b64 %at, %to; .reg .b32 %i; .reg .b{bits} %r<16>, %d<4>; .reg .pred %p;
    ld.param.u64 %at, [in]; ld.param.u64 %to, [out]; mov.u32 %i, %laneid;
    mad.wide.u32 %at, %i, {}, %at; mad.wide.u32 %to, %i, {}, %to;
    {loads}
    setp.lt.u32 %p, %i, 7; @%p bra early; nanosleep.u32 1000;
early:
    mma.sync.aligned.{} {}, {}, {}, {};
    {stores} ret; }}",
            16 * bytes,
            4 * bytes,
            self.name,
            list("d", 0, sum),
            list("r", 0, self.registers(self.rows * self.inner, self.bits)),
            list("r", 8, self.registers(self.inner * 8, self.bits)),
            list("r", 12, sum),
        )
    }

    fn element(&self, words: &[u64], lane: usize, register: usize, at: usize, bits: usize) -> u64 {
        let word = words[lane * 16 + register];
        if bits == 64 { word } else { word >> (bits * at) & ((1 << bits) - 1) }
    }

    /// Where an element of the first matrix is, of the second, and of the sum, as the documentation of PTX has them: in which lane, register of
    /// the operand, and part of the register.
    pub(crate) fn place_of_first(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let per = self.word() / self.bits;
        let (lane, block) = (row % 8 * 4 + column / per % 4, column / (4 * per));
        (lane, row / 8 + block * (self.rows / 8), column % per)
    }

    pub(crate) fn place_of_second(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let per = self.word() / self.bits;
        (column * 4 + row / per % 4, row / (4 * per), row % per)
    }

    fn first(&self, words: &[u64], row: usize, column: usize) -> u64 {
        let (lane, register, at) = self.place_of_first(row, column);
        self.element(words, lane, register, at, self.bits)
    }

    fn second(&self, words: &[u64], row: usize, column: usize) -> u64 {
        let (lane, register, at) = self.place_of_second(row, column);
        self.element(words, lane, 8 + register, at, self.bits)
    }

    pub(crate) fn place_of_sum(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let per = self.word() / self.sum_bits;
        let element = row / 8 * 2 + column % 2;
        (row % 8 * 4 + column / 2, element / per, element % per)
    }

    pub(crate) fn run(&self, words: &[u64]) -> Vec<u64> {
        let device = Device::default();
        let run = |input: u64, out: u64| {
            let args = [Arg::U64(input), Arg::U64(out)];
            load(&device, &self.kernel())
                .run(&device, "k", 1, 32, &args)
                .unwrap_or_else(|fault| panic!("{}: {fault}", self.name));
        };
        if self.word() == 64 {
            let (input, out) = (device.upload(words), device.zeroed(LANES * 4 * 8));
            run(input, out);
            return device.read::<u64>(out, LANES * 4);
        }
        let words: Vec<u32> = words.iter().map(|word| *word as u32).collect();
        let (input, out) = (device.upload(&words), device.zeroed(LANES * 4 * 4));
        run(input, out);
        device.read::<u32>(out, LANES * 4).into_iter().map(u64::from).collect()
    }

    /// Holds each element of the result against the sum of products.
    fn check(
        &self,
        words: &[u64],
        value: impl Fn(u64) -> f64,
        other: impl Fn(u64) -> f64,
        sum: impl Fn(u64) -> f64,
    ) {
        let out = self.run(words);
        for row in 0..self.rows {
            for column in 0..8 {
                let (lane, register, at) = self.place_of_sum(row, column);
                let start = sum(self.element(words, lane, 12 + register, at, self.sum_bits));
                let products = (0..self.inner).map(|inner| {
                    value(self.first(words, row, inner)) * other(self.second(words, inner, column))
                });
                let wanted = start + products.sum::<f64>();
                let got = out[lane * 4 + register];
                let got = if self.sum_bits == 64 {
                    got
                } else {
                    got >> (self.sum_bits * at) & ((1 << self.sum_bits) - 1)
                };
                assert_eq!(sum(got), wanted, "{}: row {row}, column {column}", self.name);
            }
        }
    }
}

/// Words that are all different.
fn words() -> Vec<u64> {
    let mut state = 7u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    std::iter::repeat_with(next).take(LANES * 16).collect()
}

/// Words whose elements are 2, 3, -2 or -3 in a format of so many bits, of which `digit` is the one below the leading one.
fn small(bits: usize, digit: u64) -> Vec<u64> {
    let (repeated, sign) =
        (if bits == 64 { 1 } else { (0..64 / bits).map(|at| 1u64 << (bits * at)).sum() }, 1 << (bits - 1));
    words()
        .into_iter()
        .map(|word| (word & ((digit | sign) * repeated)) | ((1 << (bits - 2)) * repeated))
        .collect()
}

fn by_digits(bits: usize, digit: u64) -> impl Fn(u64) -> f64 {
    move |element| {
        let magnitude = if element & digit != 0 { 3.0 } else { 2.0 };
        if element >> (bits - 1) != 0 { -magnitude } else { magnitude }
    }
}

/// Sums of single precision among words of other formats.
fn with_sums(mut words: Vec<u64>, sum: impl Fn(usize) -> u64) -> Vec<u64> {
    for (at, word) in words.iter_mut().enumerate() {
        if at % 16 >= 12 {
            *word = sum(at);
        }
    }
    words
}

fn single(element: u64) -> f64 {
    f32::from_bits(element as u32).into()
}

#[test]
fn integers() {
    let (signed, unsigned) = (|element: u64| f64::from(element as u8 as i8), |element: u64| element as f64);
    let sum = |element: u64| f64::from(element as u32 as i32);
    let words = with_sums(words(), |at| (at as u64).wrapping_mul(0x9e37) & 0xffff);
    for (rows, inner, shape) in [(16, 32, "m16n8k32"), (16, 16, "m16n8k16"), (8, 16, "m8n8k16")] {
        for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
            for clamp in ["", ".satfinite"] {
                let name = format!("{shape}.row.col{clamp}.s32.{a}.{b}.s32").leak();
                let form = Form { name, rows, inner, bits: 8, sum_bits: 32 };
                let of = |ty| move |element| if ty == "s8" { signed(element) } else { unsigned(element) };
                form.check(&words, of(a), of(b), sum);
            }
        }
    }
}

/// What is more than a sum can hold wraps around, or stays at the end.
#[test]
fn integers_at_the_end() {
    // 4 * (16 * 16 + 16 * 16 + 8 * 8 + 8 * 8)
    const PRODUCTS: u64 = 2560;
    for (clamp, start, wanted) in [
        ("", 0x7fff_ffff, 0x7fff_ffff + PRODUCTS),
        (".satfinite", 0x7fff_ffff, 0x7fff_ffff),
        (".satfinite", 0x7fff_f000, 0x7fff_f000 + PRODUCTS),
    ] {
        let name = format!("m8n8k16.row.col{clamp}.s32.u8.u8.s32").leak();
        let form = Form { name, rows: 8, inner: 16, bits: 8, sum_bits: 32 };
        let words = with_sums(vec![0x0808_1010; LANES * 16], |_| start);
        assert_eq!(form.run(&words)[0], wanted, "{clamp}");
    }
}

#[test]
fn floats() {
    for (a, b, bits, digit, other, shapes) in [
        ("f16", "f16", 16, 0x200, 0x200, &[(16, "m16n8k16"), (8, "m16n8k8")][..]),
        ("bf16", "bf16", 16, 0x40, 0x40, &[(16, "m16n8k16"), (8, "m16n8k8")]),
        ("tf32", "tf32", 32, 0x40_0000, 0x40_0000, &[(8, "m16n8k8"), (4, "m16n8k4")]),
        ("e4m3", "e4m3", 8, 4, 4, &[(32, "m16n8k32"), (16, "m16n8k16")]),
        ("e5m2", "e5m2", 8, 2, 2, &[(32, "m16n8k32"), (16, "m16n8k16")]),
    ] {
        for &(inner, shape) in shapes {
            let name = format!("{shape}.row.col.f32.{a}.{b}.f32").leak();
            let form = Form { name, rows: 16, inner, bits, sum_bits: 32 };
            let words = with_sums(small(bits, digit), |at| (at as f32 - 200.0).to_bits().into());
            form.check(&words, by_digits(bits, digit), by_digits(bits, other), single);
        }
    }
    let double = f64::from_bits;
    for (rows, inner, shape) in
        [(8, 4, "m8n8k4"), (16, 4, "m16n8k4"), (16, 8, "m16n8k8"), (16, 16, "m16n8k16")]
    {
        let name = format!("{shape}.row.col.f64.f64.f64.f64").leak();
        let form = Form { name, rows, inner, bits: 64, sum_bits: 64 };
        if form.registers(rows * inner, 64) <= 8 {
            form.check(&small(64, 1 << 51), double, double, double);
        }
    }
    // Sums of half precision: two in a register.
    let form = Form { name: "m16n8k16.row.col.f16.f16.f16.f16", rows: 16, inner: 16, bits: 16, sum_bits: 16 };
    let half = |element: u64| {
        let (exponent, fraction) = ((element >> 10 & 31) as i32, (element & 0x3ff) as f64);
        let magnitude = if exponent == 0 {
            fraction * 2f64.powi(-24)
        } else {
            (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15)
        };
        if element & 0x8000 != 0 { -magnitude } else { magnitude }
    };
    form.check(&small(16, 0x200), half, half, half);
}

/// Bits below those of tf32 are not looked at.
#[test]
fn single_precision_is_cut() {
    let form = Form { name: "m16n8k4.row.col.f32.tf32.tf32.f32", rows: 16, inner: 4, bits: 32, sum_bits: 32 };
    let words = with_sums(vec![0x3f80_1fff; LANES * 16], |_| 0);
    assert_eq!(form.run(&words)[0], u64::from(4f32.to_bits()));
}

#[test]
fn what_there_is_not_is_refused() {
    for (name, says) in [
        ("m16n8k32.row.col.f32.f16.f16.f32", "these types are not supported with this shape"),
        ("m8n8k4.row.col.f32.f16.f16.f32", "these types are not supported with this shape"),
        ("m16n8k16.row.row.f32.f16.f16.f32", "the first matrix is .row, and the second .col"),
        ("m16n8k256.row.col.s32.b1.b1.s32", "this shape is not supported"),
        ("m16n8k16.row.col.satfinite.f32.f16.f16.f32", "these types are not supported with this shape"),
        ("m8n8k4.row.col.f64.f64.f64.f64.rz", "the modifier `.rz` is not supported here"),
    ] {
        let form = Form { name, rows: 8, inner: 4, bits: 64, sum_bits: 64 };
        let error = compile(&form.kernel()).err().map(|error| error.log).unwrap_or_default();
        assert!(error.contains(says), "{name}: {error}");
    }
}
