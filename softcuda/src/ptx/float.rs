//! Arithmetic as a GPU does it: flushing, canonical NaN, rounding by instruction.

use std::hint::black_box;

/// How a result that is not representable is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Near,
    Zero,
    Down,
    Up,
}

/// Every operation on single precision gives this NaN. On bits: to the compiler one NaN is as good as another, and it may
/// leave a choice between numbers out.
#[inline(always)]
pub(super) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

const QUIET: u64 = 1 << 51;
/// What operations on double precision make of numbers for which there is no result.
const NO_NUMBER: u64 = 0xfff8_0000_0000_0000;

#[inline(always)]
fn is_nan(bits: u64) -> bool {
    bits & !(1 << 63) > 0x7ff0_0000_0000_0000
}

/// A NaN of double precision keeps its sign and its payload, and is quiet.
#[inline(always)]
pub(super) fn quiet(x: f64) -> f64 {
    let bits = x.to_bits();
    f64::from_bits(if is_nan(bits) { bits | QUIET } else { bits })
}

/// `result`, unless an operand is NaN: then that, the first of them.
#[inline(always)]
pub(super) fn passed<const N: usize>(result: f64, operands: [f64; N]) -> f64 {
    let mut bits = result.to_bits();
    bits = if is_nan(bits) { NO_NUMBER } else { bits };
    for operand in operands.into_iter().rev() {
        let operand = operand.to_bits();
        bits = if is_nan(operand) { operand | QUIET } else { bits };
    }
    f64::from_bits(bits)
}

/// Single precision of a number of double precision: of a NaN the sign, and of its payload what there is room for.
#[inline(always)]
pub(super) fn narrowed(x: f64, f: impl FnOnce(f64) -> f32) -> f32 {
    let bits = x.to_bits();
    let nan = (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff;
    let number = f(x).to_bits();
    f32::from_bits(if is_nan(bits) { nan } else { number })
}

/// Subnormal numbers become zero of their sign.
#[inline(always)]
pub(super) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    if bits & 0x7f80_0000 == 0 { f32::from_bits(bits & 0x8000_0000) } else { x }
}

/// What flushing makes of a rounded result: zero where the result, rounded with as many bits and exponents without end, is
/// less than the least normal number. That may be so though there are fewer bits down there and it was rounded up to it.
#[inline(always)]
pub(super) fn unless_tiny(rounded: f32, exact: f64, round: Round) -> f32 {
    const LEAST: f64 = f32::MIN_POSITIVE as f64;
    /// The distance of numbers just below it, in terms of it.
    const STEP: f64 = f32::EPSILON as f64 / 2.0;
    let away = match round {
        Round::Near => exact.abs() >= LEAST * (1.0 - STEP / 2.0),
        Round::Zero => false,
        Round::Down => exact < -LEAST * (1.0 - STEP),
        Round::Up => exact > LEAST * (1.0 - STEP),
    };
    let bits = rounded.to_bits();
    f32::from_bits(if exact.abs() < LEAST && !away { bits & 0x8000_0000 } else { bits })
}

/// `a * b`, which double precision holds.
#[inline(always)]
pub(super) fn exact_product(a: f32, b: f32) -> f64 {
    f64::from(a) * f64::from(b)
}

/// `a / b`, as exact as `unless_tiny` needs it.
#[inline(always)]
pub(super) fn near_quotient(a: f32, b: f32) -> f64 {
    f64::from(a) / f64::from(b)
}

/// `a * b + c`, exact but for what tells that it is not.
pub(super) fn exact_fused(a: f32, b: f32, c: f32) -> f64 {
    add_to_odd(exact_product(a, b), c.into())
}

/// `.sat`: into 0 … 1; NaN becomes 0.
#[inline(always)]
pub(super) fn saturate32(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

#[inline(always)]
pub(super) fn saturate64(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

unsafe extern "C" {
    fn fesetround(mode: i32) -> i32;
}

#[cfg(target_arch = "aarch64")]
const MODES: [i32; 4] = [0, 0xc0_0000, 0x80_0000, 0x40_0000];
#[cfg(not(target_arch = "aarch64"))]
const MODES: [i32; 4] = [0, 0xc00, 0x400, 0x800];

/// Computes `f(a, b, c)` while the processor rounds in a direction. The operands and the result are opaque to the
/// optimiser, so that nothing moves out from between.
#[inline(never)]
pub(super) fn directed<A: Copy, D: Copy>(round: Round, a: A, b: A, c: A, f: impl Fn(A, A, A) -> D) -> D {
    // SAFETY: a mode of the C library's; it is set back before anything else computes.
    unsafe { fesetround(MODES[round as usize]) };
    let d = black_box(f(black_box(a), black_box(b), black_box(c)));
    // SAFETY: as above.
    unsafe { fesetround(MODES[0]) };
    d
}

/// Minimum: a number wins over NaN, −0 is less than +0.
#[inline(always)]
pub(super) fn min32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return canonical(b);
    }
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

#[inline(always)]
pub(super) fn max32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return canonical(b);
    }
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

#[inline(always)]
pub(super) fn min64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return quiet(b);
    }
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

#[inline(always)]
pub(super) fn max64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return quiet(b);
    }
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

/// A function that a GPU approximates: worked out in double precision, rounded once.
#[inline(always)]
pub(super) fn by_double(x: f32, f: impl Fn(f64) -> f64) -> f32 {
    canonical(f(f64::from(x)) as f32)
}

/// The sum, with the last bit set if it is not exact: a second rounding to at most 51 bits is then right.
pub(super) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let virtual_b = sum - a;
    let error = (a - (sum - virtual_b)) + (b - virtual_b);
    if error == 0.0 || sum.to_bits() & 1 != 0 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

#[cfg(test)]
mod tests {
    use super::{Round, directed, max32, min32};

    #[test]
    fn directions() {
        let third = |round| directed(round, 1f32, 3.0, 0.0, |a, b, _| a / b);
        assert!(third(Round::Down) < third(Round::Up));
        assert_eq!(third(Round::Zero), third(Round::Down));
        assert_eq!(third(Round::Near), 1f32 / 3.0);
        let fused = |round| directed(round, 0.1f64, 0.1, 0.3, |a, b, c| a.mul_add(b, c));
        assert_eq!(fused(Round::Down).to_bits() + 1, fused(Round::Up).to_bits());
    }

    #[test]
    fn extremes() {
        assert!(min32(0.0, -0.0).is_sign_negative() && max32(-0.0, 0.0).is_sign_positive());
        assert_eq!((min32(f32::NAN, 1.0), max32(1.0, f32::NAN)), (1.0, 1.0));
        assert_eq!(min32(f32::NAN, f32::NAN).to_bits(), 0x7fff_ffff);
    }
}
