//! Instructions made of functions of one lane's values.
//!
//! The functions are closures without captures, so that a table of lowering says what an instruction computes in the
//! place where it names it; each becomes a handler of its own, with loops that the compiler vectorises.

use super::core::{Core, FULL, Handler, LANES, Lane, Op, Step};
use std::mem::transmute_copy;

/// Lanes that are read before any is written; a destination may be one of the sources.
const CHUNK: usize = 8;
const CHUNKS: usize = LANES / CHUNK;

/// A closure out of nothing: it has no captures, hence no bytes.
#[inline(always)]
fn conjure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "the closure captures something") };
    // SAFETY: a type without bytes has one value, and the caller was given one.
    unsafe { transmute_copy(&()) }
}

/// `[f(0), f(1), ...]`: `std::array::from_fn`, with a fifth of what the compiler has to do for each of a thousand functions.
#[inline(always)]
fn lanes<D: Lane>(f: impl Fn(usize) -> D) -> [D; CHUNK] {
    let mut all = [D::default(); CHUNK];
    for (i, one) in all.iter_mut().enumerate() {
        *one = f(i);
    }
    all
}

/// Writes what stands at the set bits of `part`. It is compiled once for a type, and not for each function.
///
/// # Safety
/// `place` can be read and written.
#[inline(never)]
unsafe fn write_some<D: Lane>(place: *mut [D; CHUNK], new: &[D; CHUNK], part: u32) {
    // SAFETY: the caller's word.
    let old = unsafe { place.read() };
    let kept = lanes(|i| if part >> i & 1 != 0 { new[i] } else { old[i] });
    // SAFETY: as above.
    unsafe { place.write(kept) };
}

impl Core<'_> {
    /// `d = f(lane numbers of a chunk)` for the active lanes.
    #[inline(always)]
    fn fill<D: Lane>(&mut self, op: &Op, f: impl Fn(&Self, usize) -> [D; CHUNK]) {
        let mask = self.mask;
        let d = self.place::<D>(op.d).cast::<[D; CHUNK]>();
        for chunk in 0..CHUNKS {
            let new = f(self, chunk);
            let place = d.wrapping_add(chunk);
            if mask == FULL {
                // SAFETY: a register of the frame with this width, as lowering promises.
                unsafe { place.write(new) };
            } else {
                // SAFETY: as above.
                unsafe { write_some(place, &new, mask >> (chunk * CHUNK)) };
            }
        }
    }

    #[inline(always)]
    fn chunk<T: Lane>(&self, reg: super::core::Reg, chunk: usize) -> [T; CHUNK] {
        // SAFETY: a register of the frame or a constant with this width, as lowering promises.
        unsafe { self.place::<T>(reg).cast::<[T; CHUNK]>().wrapping_add(chunk).read() }
    }
}

/// `d = f(a)`
pub(in crate::ptx) fn unary<A: Lane, D: Lane, F: Fn(A) -> D + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        core.fill(op, |core, chunk| {
            let a = core.chunk::<A>(op.a, chunk);
            lanes(|i| f(a[i]))
        });
        Step::Next
    }
}

/// `d = f(a, b)`
pub(in crate::ptx) fn binary<A: Lane, B: Lane, D: Lane, F: Fn(A, B) -> D + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        core.fill(op, |core, chunk| {
            let a = core.chunk::<A>(op.a, chunk);
            let b = core.chunk::<B>(op.b, chunk);
            lanes(|i| f(a[i], b[i]))
        });
        Step::Next
    }
}

/// `d = f(a, b, c)`
pub(in crate::ptx) fn ternary<A: Lane, B: Lane, C: Lane, D: Lane, F: Fn(A, B, C) -> D + Copy>(
    _: F,
) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        core.fill(op, |core, chunk| {
            let a = core.chunk::<A>(op.a, chunk);
            let b = core.chunk::<B>(op.b, chunk);
            let c = core.chunk::<C>(op.c, chunk);
            lanes(|i| f(a[i], b[i], c[i]))
        });
        Step::Next
    }
}

/// `d = f(a, b, c, extra)`, for instructions with an immediate.
pub(in crate::ptx) fn ternary_with<A: Lane, B: Lane, C: Lane, D: Lane, F>(_: F) -> Handler
where
    F: Fn(A, B, C, u32) -> D + Copy,
{
    |core, op| {
        let f = conjure::<F>();
        let extra = op.extra;
        core.fill(op, |core, chunk| {
            let a = core.chunk::<A>(op.a, chunk);
            let b = core.chunk::<B>(op.b, chunk);
            let c = core.chunk::<C>(op.c, chunk);
            lanes(|i| f(a[i], b[i], c[i], extra))
        });
        Step::Next
    }
}

/// `d = c ? a : b`
pub(in crate::ptx) fn select<T: Lane>() -> Handler {
    |core, op| {
        let choice = core.predicate(op.c);
        core.fill(op, |core, chunk| {
            let a = core.chunk::<T>(op.a, chunk);
            let b = core.chunk::<T>(op.b, chunk);
            let part = choice >> (chunk * CHUNK);
            lanes(|i| if part >> i & 1 != 0 { a[i] } else { b[i] })
        });
        Step::Next
    }
}

/// Predicate `d = f(a, b)`
pub(in crate::ptx) fn compare<A: Lane, B: Lane, F: Fn(A, B) -> bool + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        let mut bits = 0;
        for chunk in 0..CHUNKS {
            let a = core.chunk::<A>(op.a, chunk);
            let b = core.chunk::<B>(op.b, chunk);
            let mut part = 0;
            for i in 0..CHUNK {
                part |= u32::from(f(a[i], b[i])) << i;
            }
            bits |= part << (chunk * CHUNK);
        }
        core.set_predicate(op.d, bits);
        Step::Next
    }
}

/// Predicate `d = f(a, b, c)`, on masks
pub(in crate::ptx) fn logic<F: Fn(u32, u32, u32) -> u32 + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        let bits = f(core.predicate(op.a), core.predicate(op.b), core.predicate(op.c));
        core.set_predicate(op.d, bits);
        Step::Next
    }
}

/// `d = f(a)` a lane at a time, for what costs more than a vector loop saves or may only run for active lanes.
pub(in crate::ptx) fn each1<A: Lane, D: Lane, F: Fn(A) -> D + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        let a = core.get::<A>(op.a);
        let mut d = [D::default(); LANES];
        for lane in core.active() {
            d[lane] = f(a[lane]);
        }
        core.put(op.d, &d);
        Step::Next
    }
}

/// `d = f(a, b)` a lane at a time.
pub(in crate::ptx) fn each2<A: Lane, B: Lane, D: Lane, F: Fn(A, B) -> D + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        let (a, b) = (core.get::<A>(op.a), core.get::<B>(op.b));
        let mut d = [D::default(); LANES];
        for lane in core.active() {
            d[lane] = f(a[lane], b[lane]);
        }
        core.put(op.d, &d);
        Step::Next
    }
}

/// `d = f(a, b, c)` a lane at a time.
pub(in crate::ptx) fn each3<A: Lane, B: Lane, C: Lane, D: Lane, F: Fn(A, B, C) -> D + Copy>(_: F) -> Handler {
    |core, op| {
        let f = conjure::<F>();
        let (a, b, c) = (core.get::<A>(op.a), core.get::<B>(op.b), core.get::<C>(op.c));
        let mut d = [D::default(); LANES];
        for lane in core.active() {
            d[lane] = f(a[lane], b[lane], c[lane]);
        }
        core.put(op.d, &d);
        Step::Next
    }
}

/// `d = a * b + c`, rounded once, with the processor's own instruction; `None` where it has none and the C library is
/// called for each lane.
pub(in crate::ptx) fn fused(ftz: bool, single: bool) -> Option<Handler> {
    #[cfg(target_arch = "x86_64")]
    {
        if !std::is_x86_feature_detected!("fma") || !std::is_x86_feature_detected!("avx2") {
            return None;
        }
        Some(match (single, ftz) {
            (true, false) => |core, op| x86::run(core, op, x86::fused32),
            (true, true) => |core, op| x86::run(core, op, x86::fused32_flushed),
            (false, _) => |core, op| x86::run(core, op, x86::fused64),
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // Baseline aarch64 has the instruction, and the compiler uses it.
        let _ = (ftz, single);
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHUNK, Core, Lane, Op, Step, lanes};
    use crate::ptx::float::{Round, canonical, exact_fused, flush, passed, unless_tiny};

    type Chunk<T> = [T; CHUNK];

    #[inline(always)]
    pub(super) fn run<T: Lane>(
        core: &mut Core<'_>,
        op: &Op,
        f: unsafe fn(Chunk<T>, Chunk<T>, Chunk<T>) -> Chunk<T>,
    ) -> Step {
        core.fill(op, |core, chunk| {
            let (a, b, c) = (core.chunk(op.a, chunk), core.chunk(op.b, chunk), core.chunk(op.c, chunk));
            // SAFETY: `fused` has seen that the processor has the instructions.
            unsafe { f(a, b, c) }
        });
        Step::Next
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn fused32(a: Chunk<f32>, b: Chunk<f32>, c: Chunk<f32>) -> Chunk<f32> {
        lanes(|i| canonical(a[i].mul_add(b[i], c[i])))
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn fused32_flushed(a: Chunk<f32>, b: Chunk<f32>, c: Chunk<f32>) -> Chunk<f32> {
        let (a, b, c) = (a.map(flush), b.map(flush), c.map(flush));
        let d: Chunk<f32> = lanes(|i| canonical(flush(a[i].mul_add(b[i], c[i]))));
        if d.iter().all(|d| d.abs() != f32::MIN_POSITIVE) {
            return d;
        }
        lanes(|i| unless_tiny(d[i], exact_fused(a[i], b[i], c[i]), Round::Near))
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn fused64(a: Chunk<f64>, b: Chunk<f64>, c: Chunk<f64>) -> Chunk<f64> {
        lanes(|i| passed(a[i].mul_add(b[i], c[i]), [b[i], c[i], a[i]]))
    }
}
