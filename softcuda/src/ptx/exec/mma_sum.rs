//! How `mma` sums products of floating-point numbers, as an H100 does (measured with some 890,000 sums): what is added is brought to the place of the
//! greatest exponent, or of 2^-133 if all are less. The exponent of a product is the sum of those of its factors, and that of a subnormal number is
//! the least of its format. Of each, bits beyond 25 behind the point are left out, and so is what a single does not hold of the sum; a half is the
//! nearest.

use crate::ptx::float::Round;
use crate::ptx::half::{F16, Half};

/// Bits behind the point that take part.
const BITS: i32 = 25;
/// What is added is brought to the place of this exponent at least.
const FLOOR: i32 = -133;

/// The least exponents of numbers that are not subnormal.
pub(super) const LEAST_OF_SINGLE: i32 = -126;
pub(super) const LEAST_OF_HALF: i32 = -14;

/// The sum of the products and of what they are added to, as a single. `least` is the least exponent of factors that are not subnormal.
pub(super) fn aligned(least: i32, before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    toward_zero(sum(least, (before, LEAST_OF_SINGLE), pairs))
}

/// The same as a half, which is rounded to nearest.
pub(super) fn aligned_half(least: i32, before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let half = F16::round(sum(least, (before, LEAST_OF_HALF), pairs), Round::Near);
    // No zero has a sign.
    if half & 0x7fff == 0 { 0.0 } else { F16::to_f32(half).into() }
}

/// The sum before it is rounded; what products are added to comes with the least exponent of its format.
fn sum(
    least: i32,
    (before, least_before): (f64, i32),
    pairs: impl Iterator<Item = (f64, f64)> + Clone,
) -> f64 {
    let plain = pairs.clone().fold(before, |sum, (a, b)| sum + a * b);
    if !plain.is_finite() {
        return plain;
    }
    let of_factor = |number| exponent(number).max(least);
    let of_products =
        pairs.clone().filter(|(a, b)| *a != 0.0 && *b != 0.0).map(|(a, b)| of_factor(a) + of_factor(b));
    let of_sum = (before != 0.0).then(|| exponent(before).max(least_before));
    let greatest = of_products.chain(of_sum).fold(FLOOR, i32::max);
    let scale = power(BITS - greatest);
    // Each is below 2^27, and there are 33 at most.
    let part = |number: f64| (number * scale) as i64;
    let sum = pairs.fold(part(before), |sum, (a, b)| sum + part(a * b));
    sum as f64 * power(greatest - BITS)
}

/// Elements of 8 bits are multiplied as those of 16: the first two of each four, then the others. The sum of that is rounded to what it is added to.
pub(super) fn in_two_steps(before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let first = aligned(LEAST_OF_HALF, 0.0, part_of(0, pairs.clone()));
    let products = aligned(LEAST_OF_HALF, first, part_of(1, pairs));
    (before as f32 + products as f32).into()
}

/// The same in half precision, to which each step is rounded.
pub(super) fn in_two_steps_half(before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let first = aligned_half(LEAST_OF_HALF, 0.0, part_of(0, pairs.clone()));
    let products = aligned_half(LEAST_OF_HALF, first, part_of(1, pairs));
    F16::to_f32(F16::round(before + products, Round::Near)).into()
}

/// The first two of each four, or the others.
fn part_of(
    part: usize,
    pairs: impl Iterator<Item = (f64, f64)> + Clone,
) -> impl Iterator<Item = (f64, f64)> + Clone {
    pairs.enumerate().filter(move |(at, _)| at % 4 / 2 == part).map(|(_, pair)| pair)
}

/// Of a number that is normal and not zero.
fn exponent(number: f64) -> i32 {
    (number.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// A single that is not greater in magnitude; what has an exponent that is too great is infinite, and no zero has a sign.
fn toward_zero(number: f64) -> f64 {
    if number.abs() >= power(128) {
        return f64::INFINITY.copysign(number);
    }
    let single = number as f32;
    let is_beyond = f64::from(single).abs() > number.abs();
    let cut = f32::from_bits(single.to_bits() - u32::from(is_beyond));
    if cut == 0.0 { 0.0 } else { cut.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 times 1, and `count` products 2^-power.
    fn beside_one(first: f64, count: usize, power: i32) -> Vec<(f64, f64)> {
        let small = (2f64.powi(-(power / 2)), 2f64.powi(power / 2 - power));
        std::iter::once((first, first)).chain(std::iter::repeat_n(small, count)).collect()
    }

    fn bits(sum: f64) -> u32 {
        (sum as f32).to_bits()
    }

    fn halves(before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
        aligned(LEAST_OF_HALF, before, pairs)
    }

    /// The answers of an H100, for m16n8k16 of half precision.
    #[test]
    fn sums_of_halves() {
        let sum =
            |first, count, power, before| bits(halves(before, beside_one(first, count, power).into_iter()));
        assert_eq!(sum(1.0, 1, 23, 0.0), 0x3f80_0001);
        assert_eq!(sum(1.0, 1, 24, 0.0), 0x3f80_0000);
        assert_eq!(sum(1.0, 15, 24, 0.0), 0x3f80_0007);
        assert_eq!(sum(1.0, 15, 25, 0.0), 0x3f80_0003);
        assert_eq!(sum(1.0, 15, 26, 0.0), 0x3f80_0000);
        // By the exponents of the factors the product 2.25 stands at 1, so what is 2^-25 takes part.
        assert_eq!(sum(1.5, 15, 25, 0.0), 0x4010_0001);
        assert_eq!(bits(halves(-1.0, beside_one(1.0, 1, 25).into_iter())), 0x3300_0000);
        assert_eq!(bits(halves(-1.0, beside_one(1.0, 1, 26).into_iter())), 0);
        assert_eq!(bits(halves(f32::MAX.into(), [(1.0, 1.0)].into_iter())), 0x7f7f_ffff);
        assert_eq!(bits(halves(-0.0, [(-0.0, 1.0)].into_iter())), 0);
        assert_eq!(bits(halves(f32::from_bits(1).into(), [(0.0, 0.0)].into_iter())), 1);
    }

    /// For m16n8k32 of `e5m2`.
    #[test]
    fn sums_of_bytes() {
        let sum = |pairs: Vec<(f64, f64)>, before| bits(in_two_steps(before, pairs.into_iter()));
        assert_eq!(sum(beside_one(1.0, 31, 24), 0.0), 0x3f80_000f);
        assert_eq!(sum(beside_one(1.0, 31, 25), 0.0), 0x3f80_0007);
        assert_eq!(sum(beside_one(1.5, 31, 23), 0.0), 0x4010_000f);
        let least_below_two = f32::from_bits((127 - 8) << 23 | 0x7f_ffff).into();
        assert_eq!(sum(vec![(1.0, 1.0)], least_below_two), 0x3f81_0000);
        // The last stands in the second step.
        let cancelled = |power: i32| {
            let mut pairs = vec![(0.0, 0.0); 32];
            (pairs[0], pairs[31]) = ((1.0, 1.0), (-1.0, 1.0));
            pairs[2] = (2f64.powi(-(power / 2)), 2f64.powi(power / 2 - power));
            pairs
        };
        assert_eq!(sum(cancelled(25), 0.0), 0x3300_0000);
        assert_eq!(sum(cancelled(26), 0.0), 0);
    }
}
