//! Every form of `kernels/forms.txt` on softcuda, held against what a GPU answered.

use capi_tests::build::Link;
use capi_tests::run::{Driver, Run};
use capi_tests::{forms, repository};
use std::collections::BTreeMap;

/// What a GPU answered.
const CARD: &str = "docs/verified/forms-580.txt";

/// What each form gave: a checksum, or `near` with how far it may be off and the results.
fn answers(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once('\t')).collect()
}

fn on_softcuda() -> String {
    let program = forms::build().link(Link::Static).program();
    let program = program.unwrap_or_else(|failure| panic!("{failure}"));
    Run::new(program, Driver::Software("13.0")).output().unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn forms_do_what_a_gpu_does() {
    let text = on_softcuda();
    let answers = answers(&text);
    assert!(answers.len() > 1500, "{} forms", answers.len());
    let failed: Vec<_> =
        answers.iter().filter(|(_, answer)| answer.starts_with("fails") || **answer == "refused").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let card = std::fs::read_to_string(repository(CARD)).unwrap_or_else(|error| panic!("{CARD}: {error}"));
    let card = self::answers(&card);
    let different = |(form, wanted): (&&str, &&str)| {
        let given = answers.get(form).copied().unwrap_or("nothing");
        difference(given, wanted).map(|what| format!("{form}: {what}"))
    };
    let differing: Vec<_> = card.iter().filter_map(different).collect();
    assert!(differing.is_empty(), "{} forms: {differing:#?}", differing.len());
}

/// How what softcuda gives differs from what the card gave. What the card's compiler refuses is not looked at.
fn difference(given: &str, wanted: &str) -> Option<String> {
    if given == wanted || wanted == "refused" {
        return None;
    }
    let (Some(given), Some(wanted)) = (Near::read(given), Near::read(wanted)) else {
        return Some(format!("{given}, not {wanted}"));
    };
    if given.results.len() != wanted.results.len() {
        return Some("another number of results".to_owned());
    }
    let mut pairs = given.results.iter().zip(&wanted.results).enumerate();
    let far = pairs.find(|(_, (given, real))| given != real && !wanted.allows(**given, **real));
    far.map(|(at, (given, real))| format!("[{at}] is {given:x}, not {real:x}"))
}

/// Results that a GPU approximates.
struct Near {
    format: Format,
    /// Of `ulp`, `absolute`, `relative` or `either`.
    kind: String,
    bound: f64,
    results: Vec<u64>,
}

impl Near {
    /// `near f32 ulp 2 3f800000 …`; a bound that is no number of ulps is a power of two.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix("near ")?.split(' ');
        let format = Format::named(words.next()?)?;
        let (kind, number) = (words.next()?.to_owned(), words.next()?.parse::<i32>().ok()?);
        let bound = if kind == "ulp" { f64::from(number) } else { 2f64.powi(number) };
        let results = words.map(|word| u64::from_str_radix(word, 16)).collect::<Result<_, _>>().ok()?;
        Some(Self { format, kind, bound, results })
    }

    /// Whether a correctly rounded result and the card's may be those of one operand. What is not finite, and zeros, must
    /// be the same bits.
    fn allows(&self, given: u64, real: u64) -> bool {
        let parts = self.format.parts(given).into_iter().zip(self.format.parts(real));
        let mut differing = parts.filter(|(given, real)| given != real);
        differing.all(|(given, real)| {
            let (x, y) = (self.format.value(given), self.format.value(real));
            let ulp = self.format.ulp(y);
            let allowed = match self.kind.as_str() {
                "ulp" => self.bound * ulp,
                "absolute" => self.bound,
                "relative" => self.bound * y.abs(),
                _ => self.bound.max(self.bound * y.abs()),
            };
            x != y && y.is_finite() && (x - y).abs() <= allowed + ulp / 2.0
        })
    }
}

/// A format of floating-point numbers.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    mantissa: u32,
    /// Whether two stand side by side.
    paired: bool,
}

impl Format {
    fn named(name: &str) -> Option<Self> {
        let (bits, mantissa) = match name.trim_end_matches("x2") {
            "f32" => (32, 23),
            "f64" => (64, 52),
            "f16" => (16, 10),
            "bf16" => (16, 7),
            _ => return None,
        };
        Some(Self { bits, mantissa, paired: name.ends_with("x2") })
    }

    fn parts(self, bits: u64) -> Vec<u64> {
        if self.paired { vec![bits & 0xffff, bits >> 16] } else { vec![bits] }
    }

    fn least_exponent(self) -> i32 {
        2 - (1 << (self.bits - self.mantissa - 2))
    }

    fn value(self, bits: u64) -> f64 {
        if self.bits == 64 {
            return f64::from_bits(bits);
        }
        let (exponents, fraction) = (1 << (self.bits - self.mantissa - 1), bits & ((1 << self.mantissa) - 1));
        let exponent = (bits >> self.mantissa) as i32 & (exponents - 1);
        let sign = if bits >> (self.bits - 1) == 0 { 1.0 } else { -1.0 };
        let unit = 2f64.powi(self.least_exponent() + (exponent - 1).max(0) - self.mantissa as i32);
        match (exponent, fraction) {
            (e, 0) if e == exponents - 1 => sign * f64::INFINITY,
            (e, _) if e == exponents - 1 => f64::NAN,
            (0, _) => sign * fraction as f64 * unit,
            _ => sign * (fraction | 1 << self.mantissa) as f64 * unit,
        }
    }

    fn ulp(self, value: f64) -> f64 {
        let exponent = if value == 0.0 { i32::MIN } else { value.abs().log2().floor() as i32 };
        2f64.powi(exponent.max(self.least_exponent()) - self.mantissa as i32)
    }
}

#[test]
fn formats_are_read() {
    let single = Format::named("f32").expect("a format");
    assert_eq!(single.value(0xc020_0000), -2.5);
    assert_eq!((single.value(1), single.ulp(0.0)), (2f64.powi(-149), 2f64.powi(-149)));
    let half = Format::named("f16x2").expect("a format");
    assert_eq!(
        half.parts(0x3c00_7bff).into_iter().map(|x| half.value(x)).collect::<Vec<_>>(),
        [65504.0, 1.0]
    );
    let near = Near::read("near f32 ulp 2 3f800000").expect("an answer");
    assert!(near.allows(0x3f80_0002, 0x3f80_0000) && !near.allows(0x3f80_0003, 0x3f80_0000));
    assert!(
        !near.allows(0x7fff_ffff, 0x3f80_0000)
            && !near.allows(0x8000_0000, 0)
            && !near.allows(1, 0x7f80_0000)
    );
}
