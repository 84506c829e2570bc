//! Copies between two devices, and fills of the other's memory, with and without access.

use super::{SIZE, Scene, Side};
use crate::driver::{Answer, BOGUS, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY2D_v2,
    CUDA_MEMCPY3D_PEER_v1, CUDA_MEMCPY3D_v2, CUcontext, CUdeviceptr, CUmemcpyAttributes, CUmemorytype,
    CUstream,
};
use std::ptr::null_mut;

type Way = (&'static str, fn(&Scene, CUdeviceptr) -> Answer);

/// All ways from the first device's memory to the second's.
const WAYS: &[Way] = &[
    ("cuMemcpyPeer", |s, from| {
        let (here, there) = (&s.here, &s.there);
        call!(s.cu, cuMemcpyPeer_4000(there.memory, there.context, from, here.context, SIZE))
    }),
    ("cuMemcpyPeerAsync in the first's stream", |s, from| {
        let (here, there) = (&s.here, &s.there);
        let ends = (there.memory, there.context, from, here.context);
        call!(s.cu, cuMemcpyPeerAsync_4000(ends.0, ends.1, ends.2, ends.3, SIZE, here.stream))
    }),
    ("cuMemcpyPeerAsync in the second's stream", |s, from| {
        let (here, there) = (&s.here, &s.there);
        let ends = (there.memory, there.context, from, here.context);
        call!(s.cu, cuMemcpyPeerAsync_4000(ends.0, ends.1, ends.2, ends.3, SIZE, there.stream))
    }),
    ("cuMemcpyDtoD", |s, from| call!(s.cu, cuMemcpyDtoD_3020(s.there.memory, from, SIZE))),
    ("cuMemcpy", |s, from| call!(s.cu, cuMemcpy_4000(s.there.memory, from, SIZE))),
    ("cuMemcpyDtoDAsync in the first's stream", |s, from| {
        call!(s.cu, cuMemcpyDtoDAsync_3020(s.there.memory, from, SIZE, s.here.stream))
    }),
    ("cuMemcpyDtoDAsync in the second's stream", |s, from| {
        call!(s.cu, cuMemcpyDtoDAsync_3020(s.there.memory, from, SIZE, s.there.stream))
    }),
    ("cuMemcpyAsync in the first's stream", |s, from| {
        call!(s.cu, cuMemcpyAsync_4000(s.there.memory, from, SIZE, s.here.stream))
    }),
    ("cuMemcpyAsync in the NULL stream", |s, from| {
        match call!(s.cu, cuMemcpyAsync_4000(s.there.memory, from, SIZE, null_mut())) {
            answer if answer.succeeded() => call!(s.cu, cuStreamSynchronize_2000(null_mut())),
            answer => answer,
        }
    }),
    ("a box with unified ends", |s, from| boxed(s, from, CU_MEMORYTYPE_UNIFIED)),
    ("a box with device ends", |s, from| boxed(s, from, CU_MEMORYTYPE_DEVICE)),
    ("a rectangle with device ends", |s, from| {
        let copy = CUDA_MEMCPY2D_v2 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: from,
            srcPitch: 64,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: s.there.memory,
            dstPitch: 64,
            WidthInBytes: 64,
            Height: 2,
            ..zeroed()
        };
        call!(s.cu, cuMemcpy2D_3020(&raw const copy))
    }),
    ("cuMemcpy3DPeer", |s, from| {
        let copy = peers(s, from, s.here.context, s.there.context);
        call!(s.cu, cuMemcpy3DPeer_4000(&raw const copy))
    }),
    ("cuMemcpy3DPeerAsync in the second's stream", |s, from| {
        let copy = peers(s, from, s.here.context, s.there.context);
        call!(s.cu, cuMemcpy3DPeerAsync_4000(&raw const copy, s.there.stream))
    }),
];

fn zeroed<T: Copy>() -> T {
    // SAFETY: called for the parameters of copies only, in which zero is a value of every field.
    unsafe { std::mem::zeroed() }
}

fn boxed(s: &Scene, from: CUdeviceptr, kind: CUmemorytype) -> Answer {
    let copy = CUDA_MEMCPY3D_v2 {
        srcMemoryType: kind,
        srcDevice: from,
        dstMemoryType: kind,
        dstDevice: s.there.memory,
        WidthInBytes: 64,
        Height: 1,
        Depth: 1,
        ..zeroed()
    };
    call!(s.cu, cuMemcpy3D_3020(&raw const copy))
}

fn peers(s: &Scene, memory: CUdeviceptr, from: CUcontext, to: CUcontext) -> CUDA_MEMCPY3D_PEER_v1 {
    CUDA_MEMCPY3D_PEER_v1 {
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcDevice: memory,
        srcContext: from,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstDevice: s.there.memory,
        dstContext: to,
        WidthInBytes: 64,
        Height: 1,
        Depth: 1,
        ..zeroed()
    }
}

pub(super) fn copies(t: &mut Lines, s: &Scene) -> Outcome {
    for (name, side) in [("first", &s.here), ("second", &s.there)] {
        s.enter(side)?;
        all_ways(t, s, &format!("{name} current"), s.here.memory)?;
    }
    s.enter(&s.here)?;
    s.reach(&s.there)?;
    all_ways(t, s, "with access", s.here.memory)
}

/// From memory of the first one's pool, to which the second has no access.
pub(super) fn pooled(t: &mut Lines, s: &Scene) -> Outcome {
    let memory = allocated(s, &s.here)?;
    for (name, side) in [("first", &s.here), ("second", &s.there)] {
        s.enter(side)?;
        all_ways(t, s, &format!("pool, {name}"), memory)?;
    }
    Ok(())
}

fn all_ways(t: &mut Lines, s: &Scene, name: &str, from: CUdeviceptr) -> Outcome {
    for ((way, copy), value) in WAYS.iter().zip(1..) {
        fill_first(s, from, value)?;
        s.fill(&s.there, 0)?;
        t.line(&format!("{name}: {way}"), || copy(s, from));
        t.line("  it arrived", || s.first_byte(&s.there).arrived(value));
    }
    Ok(())
}

/// A batch of one copy, from each kind of memory of the first to each of the second, in either's stream.
pub(super) fn batches(t: &mut Lines, s: &Scene) -> Outcome {
    let (from_pool, to_pool) = (allocated(s, &s.here)?, allocated(s, &s.there)?);
    for (name, from, to) in [
        ("memory to memory", s.here.memory, s.there.memory),
        ("pool to memory", from_pool, s.there.memory),
        ("memory to pool", s.here.memory, to_pool),
        ("pool to pool", from_pool, to_pool),
    ] {
        for (whose, stream) in [("first", s.here.stream), ("second", s.there.stream)] {
            t.line(&format!("a batch from {name} in the {whose}'s stream"), || batch(s, to, from, stream));
            t.line("  the stream", || call!(s.cu, cuStreamSynchronize_2000(stream)));
        }
    }
    Ok(())
}

/// Copies with no context current, which a driver may not survive: between the first's memory and the second's pool, in the
/// first's stream.
pub(super) const WITHOUT_CONTEXT: &[Way] = &[
    ("no context: from the other's pool", |s, pooled| {
        call!(s.cu, cuMemcpyDtoDAsync_3020(s.here.memory, pooled, SIZE, s.here.stream))
    }),
    ("no context: to the other's pool", |s, pooled| {
        call!(s.cu, cuMemcpyDtoDAsync_3020(pooled, s.here.memory, SIZE, s.here.stream))
    }),
    ("no context: from the other's pool, unified", |s, pooled| {
        call!(s.cu, cuMemcpyAsync_4000(s.here.memory, pooled, SIZE, s.here.stream))
    }),
    ("no context: from the other's pool to the host", |s, pooled| {
        let mut host = [0u8; SIZE];
        call!(s.cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), pooled, SIZE, s.here.stream))
    }),
    ("no context: fill the other's pool", |s, pooled| {
        call!(s.cu, cuMemsetD8Async_3020(pooled, 1, SIZE, s.here.stream))
    }),
    ("no context: fill the other's memory", |s, _| {
        call!(s.cu, cuMemsetD8Async_3020(s.there.memory, 1, SIZE, s.here.stream))
    }),
    ("no context: copy the other's memory", |s, _| {
        call!(s.cu, cuMemcpyDtoDAsync_3020(s.here.memory, s.there.memory, SIZE, s.here.stream))
    }),
];

pub(super) fn without_context(t: &mut Lines, s: &Scene, number: usize) -> Outcome {
    let (situation, ask) = WITHOUT_CONTEXT[number];
    let pooled = allocated(s, &s.there)?;
    need!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line(situation, || ask(s, pooled));
    Ok(())
}

/// Memory of a side's pool.
fn allocated(s: &Scene, side: &Side) -> Outcome<CUdeviceptr> {
    let mut memory = 0;
    need!(s.cu, cuMemAllocAsync_11020(&raw mut memory, SIZE, side.stream))?;
    need!(s.cu, cuStreamSynchronize_2000(side.stream))?;
    Ok(memory)
}

fn batch(s: &Scene, to: CUdeviceptr, from: CUdeviceptr, stream: CUstream) -> Answer {
    let (mut to, mut from, mut sizes) = ([to], [from], [SIZE]);
    let order = CUmemcpyAttributes { srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, ..zeroed() };
    let (mut attributes, mut which) = ([order], [0usize]);
    let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
    let (attributes, which) = (attributes.as_mut_ptr(), which.as_mut_ptr());
    call!(s.cu, cuMemcpyBatchAsync_13000(to, from, sizes, 1, attributes, which, 1, stream))
}

/// Fills memory of the first device with a value; the context that was current is so again.
fn fill_first(s: &Scene, memory: CUdeviceptr, value: u8) -> Outcome {
    let mut before = null_mut();
    need!(s.cu, cuCtxGetCurrent_4000(&raw mut before))?;
    s.enter(&s.here)?;
    need!(s.cu, cuMemsetD8_3020(memory, value, SIZE))?;
    need!(s.cu, cuStreamSynchronize_2000(null_mut()))?;
    need!(s.cu, cuCtxSetCurrent_4000(before))
}

impl Answer {
    /// Whether it is this value.
    fn arrived(self, value: u8) -> Self {
        match self {
            Self::Value(found) => crate::driver::yes(found == value.to_string()).into(),
            other => other,
        }
    }
}

/// The contexts that are named are others than those of the memory.
pub(super) fn contexts(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, here, there) = (&s.cu, s.here.context, s.there.context);
    let copy = |to, from, bytes| call!(cu, cuMemcpyPeer_4000(s.there.memory, to, s.here.memory, from, bytes));
    t.line("contexts swapped", || copy(here, there, SIZE));
    t.line("contexts NULL", || copy(null_mut(), null_mut(), SIZE));
    t.line("a byte too many", || copy(there, here, SIZE + 1));
    t.line("no bytes", || copy(there, here, 0));
    t.line("from nobody's memory", || call!(cu, cuMemcpyPeer_4000(s.there.memory, there, BOGUS, here, 64)));
    let mut host = [0u8; 64];
    let address = host.as_mut_ptr().expose_provenance() as u64;
    t.line("from the host's memory", || {
        call!(cu, cuMemcpyPeer_4000(s.there.memory, there, address, here, 64))
    });
    t.line("a box with contexts swapped", || {
        let copy = peers(s, s.here.memory, there, here);
        call!(cu, cuMemcpy3DPeer_4000(&raw const copy))
    });
    t.line("a box with contexts NULL", || {
        let copy = peers(s, s.here.memory, null_mut(), null_mut());
        call!(cu, cuMemcpy3DPeer_4000(&raw const copy))
    });
    Ok(())
}

/// Boxes that do not fit.
pub(super) fn boxes(t: &mut Lines, s: &Scene) -> Outcome {
    let wide = |width, height, pitch| {
        let mut copy = peers(s, s.here.memory, s.here.context, s.there.context);
        (copy.WidthInBytes, copy.Height) = (width, height);
        (copy.srcPitch, copy.dstPitch) = (pitch, pitch);
        call!(s.cu, cuMemcpy3DPeer_4000(&raw const copy))
    };
    t.line("a box past the end", || wide(64, 65, 64));
    t.line("a box that fits", || wide(64, 64, 64));
    t.line("a box with a pitch below its width", || wide(64, 2, 32));
    t.line("a box of no width", || wide(0, 2, 64));
    Ok(())
}

pub(super) fn fills(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, memory) = (&s.cu, s.there.memory);
    t.line("fill the other's memory", || call!(cu, cuMemsetD8_3020(memory, 1, SIZE)));
    t.line("  it arrived", || s.first_byte(&s.there).arrived(1));
    t.line("fill it in the own stream", || call!(cu, cuMemsetD8Async_3020(memory, 2, SIZE, s.here.stream)));
    t.line("  it arrived", || s.first_byte(&s.there).arrived(2));
    t.line("fill rows of it", || call!(cu, cuMemsetD2D8_3020(memory, 64, 1, 32, 2)));
    t.line("fill it in its device's stream", || {
        call!(cu, cuMemsetD8Async_3020(memory, 3, SIZE, s.there.stream))
    });
    t.line("  it arrived", || s.first_byte(&s.there).arrived(3));
    t.line("fill the own in the other's stream", || {
        call!(cu, cuMemsetD8Async_3020(s.here.memory, 4, SIZE, s.there.stream))
    });
    t.line("  it arrived", || s.first_byte(&s.here).arrived(4));
    s.reach(&s.there)?;
    t.line("with access: fill the other's memory", || call!(cu, cuMemsetD8_3020(memory, 5, SIZE)));
    t.line("  it arrived", || s.first_byte(&s.there).arrived(5));
    t.line("with access: fill it in the own stream", || {
        call!(cu, cuMemsetD8Async_3020(memory, 6, SIZE, s.here.stream))
    });
    t.line("  it arrived", || s.first_byte(&s.there).arrived(6));
    t.line("from the host", || s.fill(&s.there, 7).map_or_else(|stop| stop.0, |()| "well".to_owned()));
    t.line("to the host", || s.first_byte(&s.there).arrived(7));
    let mut host = null_mut();
    need!(cu, cuMemHostAlloc_2020(&raw mut host, SIZE, 0))?;
    t.line("to the host in the own stream", || {
        call!(cu, cuMemcpyDtoHAsync_3020(host, memory, SIZE, s.here.stream))
    });
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.here.stream)));
    Ok(())
}
