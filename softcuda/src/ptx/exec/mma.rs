//! `mma`: a matrix of a warp's is multiplied by another one, and added to a third one.
//!
//! Of matrices with `M` rows, `K` columns of the first and 8 columns of the second, lane `n` has in register `r`:
//!
//! - of the first: row `n / 4 + 8 * (r % (M / 8))`, and `PER` columns from `(r / (M / 8) * 4 + n % 4) * PER` on;
//! - of the second: column `n / 4`, and `PER` rows from `(r * 4 + n % 4) * PER` on;
//! - of the sum: row `n / 4 + 8 * (e / 2)` and column `n % 4 * 2 + e % 2` as element `e` of its registers.

use super::core::{Core, LANES, Lane, Op, Reg, Step};
use super::mma_sum::{
    LEAST_OF_HALF, LEAST_OF_SINGLE, aligned, aligned_half, in_two_steps, in_two_steps_half,
};
use crate::ptx::byte_float::{ByteFloat, E4m3, E5m2};
use crate::ptx::float::{Round, canonical, passed};
use crate::ptx::half::{Bf16, F16, Half};

const MOST_ROWS: usize = 16;
const MOST_INNER: usize = 32;
const COLUMNS: usize = 8;

/// What is multiplied and summed.
pub(in crate::ptx) trait Number: Copy + Default {
    fn fused(self, b: Self, sum: Self) -> Self;
}

impl Number for f64 {
    fn fused(self, b: Self, sum: Self) -> Self {
        // Measured on an H100: a NaN of the second matrix passes first, then that of the sum.
        passed(self.mul_add(b, sum), [b, sum, self])
    }
}

impl Number for i64 {
    fn fused(self, b: Self, sum: Self) -> Self {
        self * b + sum
    }
}

/// A type of elements that are multiplied.
pub(in crate::ptx) trait Factor {
    /// A register.
    type Word: Lane;
    type Number: Number;
    /// Elements of a register.
    const PER: usize;
    /// Whether they are multiplied as elements of 16 bits, in two steps.
    const IN_TWO_STEPS: bool = false;
    /// The least exponent of a number that is not subnormal, of a format with as many exponents as singles have if none is said.
    const LEAST: i32 = LEAST_OF_SINGLE;

    fn number(word: Self::Word, at: usize) -> Self::Number;
}

/// A type of elements that are summed.
pub(in crate::ptx) trait Sum {
    type Word: Lane;
    type Number: Number;
    const PER: usize;

    fn number(word: Self::Word, at: usize) -> Self::Number;
    fn put(word: &mut Self::Word, at: usize, sum: Self::Number);

    /// The products of the pairs and what they are added to.
    fn total<A: Factor<Number = Self::Number>>(
        before: Self::Number,
        pairs: impl Iterator<Item = (Self::Number, Self::Number)> + Clone,
    ) -> Self::Number {
        pairs.fold(before, |sum, (a, b)| a.fused(b, sum))
    }
}

macro_rules! factors {
    ($($name:ident: $word:ty, $number:ty, $per:literal $(in two steps $two:literal)? $(least $least:ident)?, $of:expr;)*) => { $(
        pub(in crate::ptx) struct $name;

        impl Factor for $name {
            type Word = $word;
            type Number = $number;
            const PER: usize = $per;
            $(const IN_TWO_STEPS: bool = $two;)?
            $(const LEAST: i32 = $least;)?

            fn number(word: $word, at: usize) -> $number {
                let of: fn($word, usize) -> $number = $of;
                of(word, at)
            }
        }
    )* };
}

fn half(word: u32, at: usize) -> u16 {
    (word >> (16 * at)) as u16
}

fn byte(word: u32, at: usize) -> u8 {
    (word >> (8 * at)) as u8
}

factors! {
    OfF16: u32, f64, 2 least LEAST_OF_HALF, |word, at| F16::to_f32(half(word, at)).into();
    OfBf16: u32, f64, 2, |word, at| Bf16::to_f32(half(word, at)).into();
    // The bits below those of the format are not looked at.
    OfTf32: u32, f64, 1, |word, _| f32::from_bits(word & !0x1fff).into();
    OfE4m3: u32, f64, 4 in two steps true, |word, at| F16::to_f32(E4m3::to_f16(byte(word, at))).into();
    OfE5m2: u32, f64, 4 in two steps true, |word, at| F16::to_f32(E5m2::to_f16(byte(word, at))).into();
    OfF64: f64, f64, 1, |word, _| word;
    OfS8: u32, i64, 4, |word, at| (byte(word, at) as i8).into();
    OfU8: u32, i64, 4, |word, at| byte(word, at).into();
}

pub(in crate::ptx) struct InF32;
pub(in crate::ptx) struct InF16;
pub(in crate::ptx) struct InF64;
pub(in crate::ptx) struct InS32;
/// `.satfinite`
pub(in crate::ptx) struct InS32Clamped;

impl Sum for InF32 {
    type Word = u32;
    type Number = f64;
    const PER: usize = 1;

    fn number(word: u32, _: usize) -> f64 {
        f32::from_bits(word).into()
    }

    fn put(word: &mut u32, _: usize, sum: f64) {
        *word = canonical(sum as f32).to_bits();
    }

    fn total<A: Factor<Number = f64>>(before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
        if A::IN_TWO_STEPS { in_two_steps(before, pairs) } else { aligned(A::LEAST, before, pairs) }
    }
}

impl Sum for InF16 {
    type Word = u32;
    type Number = f64;
    const PER: usize = 2;

    fn number(word: u32, at: usize) -> f64 {
        F16::to_f32(half(word, at)).into()
    }

    fn put(word: &mut u32, at: usize, sum: f64) {
        // It is one already.
        let bits = F16::round(sum, Round::Near);
        *word = *word & !(0xffff << (16 * at)) | u32::from(bits) << (16 * at);
    }

    fn total<A: Factor<Number = f64>>(before: f64, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
        if A::IN_TWO_STEPS { in_two_steps_half(before, pairs) } else { aligned_half(A::LEAST, before, pairs) }
    }
}

impl Sum for InF64 {
    type Word = f64;
    type Number = f64;
    const PER: usize = 1;

    fn number(word: f64, _: usize) -> f64 {
        word
    }

    fn put(word: &mut f64, _: usize, sum: f64) {
        *word = sum;
    }
}

impl Sum for InS32 {
    type Word = u32;
    type Number = i64;
    const PER: usize = 1;

    fn number(word: u32, _: usize) -> i64 {
        (word as i32).into()
    }

    fn put(word: &mut u32, _: usize, sum: i64) {
        *word = sum as u32;
    }
}

impl Sum for InS32Clamped {
    type Word = u32;
    type Number = i64;
    const PER: usize = 1;

    fn number(word: u32, at: usize) -> i64 {
        InS32::number(word, at)
    }

    fn put(word: &mut u32, _: usize, sum: i64) {
        *word = sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
    }
}

/// The shape, in an instruction's `extra`: rows of the first matrix and its columns.
pub(in crate::ptx) fn shape(rows: u32, inner: u32) -> u32 {
    rows << 8 | inner
}

/// How many registers of a type hold so many elements of a warp's.
pub(in crate::ptx) fn registers(elements: u32, per: usize) -> u32 {
    elements / (LANES * per) as u32
}

/// A register of several that stand one after the other.
fn nth<T: Lane>(first: Reg, number: usize) -> Reg {
    Reg(first.0 + (number * size_of::<[T; LANES]>()) as u32)
}

/// `d = a * b + c`. All lanes have put their parts of `a`, `b` and `c` into these registers, which are the instruction's own; each lane of
/// the running group gets its part of `d`.
pub(in crate::ptx) fn multiply<A, B, C>(core: &mut Core<'_>, op: &Op) -> Step
where
    A: Factor,
    B: Factor<Number = A::Number>,
    C: Sum<Number = A::Number>,
{
    let (rows, inner) = ((op.extra >> 8) as usize, (op.extra & 0xff) as usize);
    let blocks = rows / 8;
    let mut first = [[A::Number::default(); MOST_INNER]; MOST_ROWS];
    for register in 0..rows * inner / (LANES * A::PER) {
        let words = core.get::<A::Word>(nth::<A::Word>(op.a, register));
        for (lane, word) in words.into_iter().enumerate() {
            let (row, column) =
                (lane / 4 + 8 * (register % blocks), (register / blocks * 4 + lane % 4) * A::PER);
            for at in 0..A::PER {
                first[row][column + at] = A::number(word, at);
            }
        }
    }
    let mut second = [[A::Number::default(); MOST_INNER]; COLUMNS];
    for register in 0..inner * COLUMNS / (LANES * B::PER) {
        let words = core.get::<B::Word>(nth::<B::Word>(op.b, register));
        for (lane, word) in words.into_iter().enumerate() {
            for at in 0..B::PER {
                second[lane / 4][(register * 4 + lane % 4) * B::PER + at] = B::number(word, at);
            }
        }
    }
    for register in 0..rows * COLUMNS / (LANES * C::PER) {
        let mut words = core.get::<C::Word>(nth::<C::Word>(op.c, register));
        for (lane, word) in words.iter_mut().enumerate() {
            for at in 0..C::PER {
                let element = register * C::PER + at;
                let (row, column) = (lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2);
                let pairs = first[row][..inner].iter().copied().zip(second[column]);
                C::put(word, at, C::total::<A>(C::number(*word, at), pairs));
            }
        }
        core.put(nth::<C::Word>(op.d, register), &words);
    }
    Step::Next
}
