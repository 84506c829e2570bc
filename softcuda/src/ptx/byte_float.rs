//! Floating-point numbers of 8 bits: `e4m3`, which has no infinity and one NaN of each sign, and `e5m2`, the upper half of an
//! `f16`.

use super::half::{F16, Half};

/// A format of 8 bits. Values are their bits.
pub(super) trait ByteFloat {
    const MANTISSA: u32;
    /// The exponent of the least normal number.
    const LEAST: i32;
    /// The largest finite number.
    const MOST: u8;

    fn to_f16(bits: u8) -> u16;

    /// Rounds to nearest; what is larger than the largest number becomes that.
    fn round(value: f32) -> u8 {
        if value.is_nan() {
            return 0x7f;
        }
        let sign = (value.to_bits() >> 24) as u8 & 0x80;
        let magnitude = f64::from(value.abs());
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(Self::LEAST);
        // In units of the last place, which is exact; a carry raises the exponent by itself.
        let kept = (magnitude * 2f64.powi(Self::MANTISSA as i32 - exponent)).round_ties_even();
        let bits = f64::from((exponent - Self::LEAST) << Self::MANTISSA) + kept;
        sign | bits.min(Self::MOST.into()) as u8
    }

    /// `.relu`: negative numbers become 0.
    fn rectified(value: f32) -> u8 {
        let bits = Self::round(value);
        if bits & 0x80 != 0 { 0 } else { bits }
    }
}

pub(super) struct E4m3;
pub(super) struct E5m2;

impl ByteFloat for E4m3 {
    const MANTISSA: u32 = 3;
    const LEAST: i32 = -6;
    const MOST: u8 = 0x7e;

    fn to_f16(bits: u8) -> u16 {
        if bits & 0x7f == 0x7f {
            return F16::NAN;
        }
        // The same digits eight exponents lower, which may be less than a normal `f16`.
        let digits = u16::from(bits & 0x80) << 8 | u16::from(bits & 0x7f) << 7;
        F16::of_f32(F16::to_f32(digits) * 256.0)
    }
}

impl ByteFloat for E5m2 {
    const MANTISSA: u32 = 2;
    const LEAST: i32 = -14;
    const MOST: u8 = 0x7b;

    fn to_f16(bits: u8) -> u16 {
        F16::canonical(u16::from(bits) << 8)
    }
}
