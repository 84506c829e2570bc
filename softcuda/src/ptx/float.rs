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

/// Every operation on single precision gives this NaN.
#[inline(always)]
pub(super) fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

/// Subnormal numbers become zero of their sign.
#[inline(always)]
pub(super) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    if bits & 0x7f80_0000 == 0 { f32::from_bits(bits & 0x8000_0000) } else { x }
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
        return b;
    }
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

#[inline(always)]
pub(super) fn max64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return b;
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
