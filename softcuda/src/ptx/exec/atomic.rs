//! Atomic operations.

use super::access::Address;
use super::core::{Core, Handler, LANES, Lane, Op, Step};
use super::fault::FaultKind;
use super::space::{SHARED_WINDOW, Shared, Space};
use crate::ptx::float::{canonical, flush, passed};
use crate::ptx::half::{Bf16, F16, Half};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(in crate::ptx) enum Update {
    Add,
    AddF16,
    AddBf16,
    AddF16x2,
    AddBf16x2,
    AddF32,
    AddF64,
    And,
    Or,
    Xor,
    Exchange,
    Compare,
    Increment,
    Decrement,
    MinUnsigned,
    MaxUnsigned,
    MinSigned32,
    MaxSigned32,
    MinSigned64,
    MaxSigned64,
    MinF16,
    MaxF16,
    MinBf16,
    MaxBf16,
}

pub(super) const ALL: [Update; 24] = [
    Update::Add,
    Update::AddF16,
    Update::AddBf16,
    Update::AddF16x2,
    Update::AddBf16x2,
    Update::AddF32,
    Update::AddF64,
    Update::And,
    Update::Or,
    Update::Xor,
    Update::Exchange,
    Update::Compare,
    Update::Increment,
    Update::Decrement,
    Update::MinUnsigned,
    Update::MaxUnsigned,
    Update::MinSigned32,
    Update::MaxSigned32,
    Update::MinSigned64,
    Update::MaxSigned64,
    Update::MinF16,
    Update::MaxF16,
    Update::MinBf16,
    Update::MaxBf16,
];

fn halves<H: Half>(old: u64, b: u64) -> u64 {
    let add = |shift: u32| u64::from(H::add((old >> shift) as u16, (b >> shift) as u16)) << shift;
    add(0) | add(16)
}

/// A sum in global memory flushes subnormal numbers, as on a GPU.
fn add_f32(old: u64, b: u64, global: bool) -> u64 {
    let (old, b) = (f32::from_bits(old as u32), f32::from_bits(b as u32));
    let sum = if global { flush(flush(old) + flush(b)) } else { old + b };
    u64::from(canonical(sum).to_bits())
}

/// Global memory takes NaN as it is, the added one first; elsewhere it is made quiet, and what was there comes first.
fn add_f64(old: u64, b: u64, global: bool) -> u64 {
    let (x, y) = (f64::from_bits(old), f64::from_bits(b));
    match (global, x.is_nan(), y.is_nan()) {
        (true, _, true) => b,
        (true, true, false) => old,
        _ => passed(x + y, [x, y]).to_bits(),
    }
}

pub(super) fn new_value(update: Update, old: u64, b: u64, c: u64, global: bool) -> u64 {
    let signed = |choose: fn(i32, i32) -> i32| u64::from(choose(old as i32, b as i32) as u32);
    match update {
        Update::Add => old.wrapping_add(b),
        Update::AddF16 => u64::from(F16::add(old as u16, b as u16)),
        Update::AddBf16 => u64::from(Bf16::add(old as u16, b as u16)),
        Update::AddF16x2 => halves::<F16>(old, b),
        Update::AddBf16x2 => halves::<Bf16>(old, b),
        Update::AddF32 => add_f32(old, b, global),
        Update::AddF64 => add_f64(old, b, global),
        Update::And => old & b,
        Update::Or => old | b,
        Update::Xor => old ^ b,
        Update::Exchange => b,
        Update::Compare => {
            if old == b {
                c
            } else {
                old
            }
        }
        Update::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Update::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        Update::MinUnsigned => old.min(b),
        Update::MaxUnsigned => old.max(b),
        Update::MinSigned32 => signed(i32::min),
        Update::MaxSigned32 => signed(i32::max),
        Update::MinSigned64 => (old as i64).min(b as i64) as u64,
        Update::MaxSigned64 => (old as i64).max(b as i64) as u64,
        Update::MinF16 => F16::min(old as u16, b as u16).into(),
        Update::MaxF16 => F16::max(old as u16, b as u16).into(),
        Update::MinBf16 => Bf16::min(old as u16, b as u16).into(),
        Update::MaxBf16 => Bf16::max(old as u16, b as u16).into(),
    }
}

/// Memory that atomic operations work on.
pub(in crate::ptx) trait Word: Lane {
    fn to_bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
    /// Replaces the value by what `new` makes of it, and gives the old one.
    ///
    /// # Safety
    /// The word is memory that stays, and aligned.
    unsafe fn replace(word: *mut Self, new: impl Fn(u64) -> u64) -> Self;
}

macro_rules! words { ($($word:ty, $atomic:ty;)*) => { $(
    impl Word for $word {
        #[inline(always)]
        fn to_bits(self) -> u64 { self.into() }
        #[inline(always)]
        fn of_bits(bits: u64) -> Self { bits as Self }
        unsafe fn replace(word: *mut Self, new: impl Fn(u64) -> u64) -> Self {
            // SAFETY: the caller's promise.
            let word = unsafe { <$atomic>::from_ptr(word) };
            let mut old = word.load(Ordering::SeqCst);
            loop {
                let next = new(old.into()) as Self;
                match word.compare_exchange_weak(old, next, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(old) => return old,
                    Err(seen) => old = seen,
                }
            }
        }
    }
)* } }
words! { u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; }

/// Replaces a word by what `new` makes of it, and gives the old one. `own` is memory that only this thread uses.
///
/// # Safety
/// The word is memory that stays. It is aligned, or that of blocks that this thread runs.
pub(super) unsafe fn change<W: Word>(word: *mut W, own: bool, new: impl Fn(u64) -> u64) -> W {
    if !own && (word as usize).is_multiple_of(size_of::<W>()) {
        // SAFETY: the caller's promise; it is aligned.
        return unsafe { W::replace(word, new) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        let old = word.read_unaligned();
        word.write_unaligned(W::of_bits(new(old.to_bits())));
        old
    }
}

impl Core<'_> {
    fn atomic<S: Space, A: Address, W: Word>(&mut self, op: &Op, own: bool) -> Step {
        let update = ALL[op.extra as usize];
        let addresses = self.get::<A>(op.a);
        let b = self.get::<W>(op.b);
        let c = if update == Update::Compare { self.get::<W>(op.c) } else { [W::default(); LANES] };
        let mut old = [W::default(); LANES];
        for lane in self.active() {
            let address = addresses[lane].plus(op.imm);
            if !address.is_multiple_of(size_of::<W>() as u64) {
                return self.fail(FaultKind::MisalignedAddress, lane, Some(address));
            }
            let word = match S::locate(self, lane, address, size_of::<W>()) {
                Ok(place) => place.cast::<W>(),
                Err(kind) => return self.fail(kind, lane, Some(address)),
            };
            let new = |old| {
                new_value(update, old, b[lane].to_bits(), c[lane].to_bits(), !own && address < SHARED_WINDOW)
            };
            // SAFETY: `locate` gave the bytes; only blocks that this thread runs have them for themselves.
            old[lane] = unsafe { change(word, own, new) };
        }
        self.put(op.d, &old);
        Step::Next
    }
}

/// `d = [a + imm]`, which becomes `update([a + imm], b, c)`.
pub(in crate::ptx) fn atomic<S: Space, A: Address, W: Word>() -> Handler {
    |core, op| core.atomic::<S, A, W>(op, false)
}

/// The same on shared memory, whose block one thread runs.
pub(in crate::ptx) fn atomic_shared<W: Word>() -> Handler {
    |core, op| core.atomic::<Shared, u32, W>(op, true)
}

#[cfg(test)]
mod tests {
    use super::{ALL, Update, new_value};

    #[test]
    fn the_list_is_in_order() {
        assert!(ALL.iter().enumerate().all(|(at, update)| *update as usize == at));
    }

    #[test]
    fn wrapping_counters() {
        let of = |update, old, b| new_value(update, old, b, 0, false);
        assert_eq!((of(Update::Increment, 3, 3), of(Update::Increment, 2, 3)), (0, 3));
        assert_eq!(
            (of(Update::Decrement, 0, 3), of(Update::Decrement, 4, 3), of(Update::Decrement, 2, 3)),
            (3, 3, 1)
        );
    }
}
