//! The 16-bit floating-point types: `f16` and `bf16`.

use super::float::{Round, add_to_odd, max32, min32};

/// A 16-bit format. Values are their bits.
pub(super) trait Half: Copy {
    const MANTISSA: u32;
    const EXPONENT: u32;
    const NAN: u16 = 0x7fff;

    fn to_f32(bits: u16) -> f32;

    fn round(value: f64, round: Round) -> u16 {
        encode(value, Self::EXPONENT, Self::MANTISSA, round)
    }

    /// As `round`, but NaN keeps its sign and what there is room for of its payload.
    fn narrowed(value: f64, round: Round) -> u16 {
        if !value.is_nan() {
            return Self::round(value, round);
        }
        let bits = value.to_bits();
        let fraction = (bits >> (52 - Self::MANTISSA)) as u16 & ((1 << Self::MANTISSA) - 1);
        (bits >> 48) as u16 & 0x8000 | 0x7fff << (Self::MANTISSA - 1) & 0x7fff | fraction
    }

    /// NaN keeps its sign and its payload.
    fn to_f64(bits: u16) -> f64 {
        if !Self::is_nan(bits) {
            return Self::to_f32(bits).into();
        }
        let fraction = u64::from(bits) << (52 - Self::MANTISSA) & ((1 << 52) - 1);
        f64::from_bits(u64::from(bits & 0x8000) << 48 | 0x7ff8 << 48 | fraction)
    }

    fn of_f32(value: f32) -> u16 {
        Self::round(f64::from(value), Round::Near)
    }

    fn add(a: u16, b: u16) -> u16 {
        Self::round(Self::sum(a, b), Round::Near)
    }

    /// `a + b`, exact but for what tells that it is not; rounding that to 16 bits is right.
    fn sum(a: u16, b: u16) -> f64 {
        add_to_odd(Self::to_f32(a).into(), Self::to_f32(b).into())
    }

    /// `a * b`, exact.
    fn product(a: u16, b: u16) -> f64 {
        f64::from(Self::to_f32(a)) * f64::from(Self::to_f32(b))
    }

    /// `a * b + c`, as `sum`.
    fn fused(a: u16, b: u16, c: u16) -> f64 {
        add_to_odd(Self::product(a, b), Self::to_f32(c).into())
    }

    /// Rounds to nearest. What with exponents without end were less than the least normal number becomes zero of its sign.
    fn round_flushing(exact: f64) -> u16 {
        let rounded = Self::round(exact, Round::Near);
        let least = 2f64.powi(2 - (1 << (Self::EXPONENT - 1)));
        let half_step = 2f64.powi(-(Self::MANTISSA as i32) - 2);
        if exact.abs() < least * (1.0 - half_step) { rounded & 0x8000 } else { rounded }
    }

    fn min(a: u16, b: u16) -> u16 {
        Self::of_f32(min32(Self::to_f32(a), Self::to_f32(b)))
    }

    fn max(a: u16, b: u16) -> u16 {
        Self::of_f32(max32(Self::to_f32(a), Self::to_f32(b)))
    }

    /// As `f` of single precision says.
    fn through(a: u16, f: impl Fn(f64) -> f64) -> u16 {
        Self::round(f(Self::to_f32(a).into()), Round::Near)
    }

    fn is_nan(bits: u16) -> bool {
        Self::to_f32(bits).is_nan()
    }

    /// Operations give this NaN only.
    fn canonical(bits: u16) -> u16 {
        if Self::is_nan(bits) { Self::NAN } else { bits }
    }

    /// Subnormal numbers become zero of their sign.
    fn flush(bits: u16) -> u16 {
        let exponent = ((1 << Self::EXPONENT) - 1) << Self::MANTISSA;
        if bits & exponent == 0 { bits & 0x8000 } else { bits }
    }

    fn saturate(bits: u16) -> u16 {
        Self::of_f32(super::float::saturate32(Self::to_f32(bits)))
    }

    /// `.relu`: negative numbers become 0.
    fn rectify(bits: u16) -> u16 {
        if Self::is_nan(bits) {
            Self::NAN
        } else if bits & 0x8000 != 0 {
            0
        } else {
            bits
        }
    }
}

/// IEEE half precision.
#[derive(Clone, Copy)]
pub(super) struct F16;

/// The upper half of single precision.
#[derive(Clone, Copy)]
pub(super) struct Bf16;

impl Half for F16 {
    const MANTISSA: u32 = 10;
    const EXPONENT: u32 = 5;

    fn to_f32(bits: u16) -> f32 {
        let sign = u32::from(bits & 0x8000) << 16;
        let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
        match exponent {
            0 => {
                let magnitude = fraction as f32 / 16_777_216.0;
                f32::from_bits(magnitude.to_bits() | sign)
            }
            31 if fraction != 0 => f32::from_bits(0x7fff_ffff),
            31 => f32::from_bits(sign | 0x7f80_0000),
            _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
        }
    }
}

impl Half for Bf16 {
    const MANTISSA: u32 = 7;
    const EXPONENT: u32 = 8;

    fn to_f32(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
}

/// Rounds to a format of 16 bits.
fn encode(value: f64, exponent_bits: u32, mantissa: u32, round: Round) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    if value.is_nan() {
        return 0x7fff;
    }
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let infinity = (((1u32 << exponent_bits) - 1) << mantissa) as u16;
    if value.is_infinite() {
        return sign | infinity;
    }
    if value == 0.0 {
        return sign;
    }
    // The significand with its leading one at bit 52; a subnormal double is far below every 16-bit number.
    let exponent = ((bits >> 52 & 0x7ff) as i32 - 1023).max(-1022);
    let lead = if bits >> 52 & 0x7ff == 0 { 0 } else { 1u64 << 52 };
    let significand = bits & ((1 << 52) - 1) | lead;
    let least = 1 - bias;
    let drop = (52 - mantissa as i32 + (least - exponent).max(0)).min(63) as u32;
    let (kept, rest) = (significand >> drop, significand & ((1u64 << drop) - 1));
    let half = 1u64 << (drop - 1);
    let up = match round {
        Round::Near => rest > half || rest == half && kept & 1 == 1,
        Round::Zero => false,
        Round::Down => sign != 0 && rest != 0,
        Round::Up => sign == 0 && rest != 0,
    };
    let kept = kept + u64::from(up);
    // A carry out of the fraction raises the exponent by itself.
    let base = if exponent < least { 0 } else { ((exponent - least) as u64) << mantissa };
    let magnitude = base + kept;
    if magnitude >= u64::from(infinity) {
        let stays = matches!((round, sign), (Round::Zero, _) | (Round::Down, 0) | (Round::Up, 0x8000));
        return sign | if stays { infinity - 1 } else { infinity };
    }
    sign | magnitude as u16
}

#[cfg(test)]
mod tests {
    use super::{Bf16, F16, Half, Round};

    #[test]
    fn every_half_goes_there_and_back() {
        for bits in 0..=u16::MAX {
            if !F16::is_nan(bits) {
                assert_eq!(F16::of_f32(F16::to_f32(bits)), bits);
            }
            if !Bf16::is_nan(bits) {
                assert_eq!(Bf16::of_f32(Bf16::to_f32(bits)), bits);
            }
        }
    }

    #[test]
    fn rounding() {
        assert_eq!(F16::of_f32(65519.0), 0x7bff);
        assert_eq!(F16::of_f32(65520.0), 0x7c00);
        assert_eq!(F16::round(65520.0, Round::Zero), 0x7bff);
        assert_eq!(F16::of_f32(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(F16::of_f32(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(F16::of_f32(2f32.powi(-25)), 0);
        assert_eq!(F16::of_f32(1.5 * 2f32.powi(-25)), 1);
        assert_eq!(Bf16::of_f32(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(Bf16::of_f32(f32::from_bits(0x3f81_8000)), 0x3f82);
    }
}
