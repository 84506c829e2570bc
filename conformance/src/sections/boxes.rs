//! Copies and fills of two and three dimensions, and memory with a pitch.

use super::Section;
use crate::driver::{Answer, Cu, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_v2,
    CUdeviceptr, CUmemorytype,
};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section = Section { name: "boxes", parts: 1, devices: 1, run };

const PITCH: usize = 64;
const ROWS: usize = 16;

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    cu.start()?;
    let (a, b) = (cu.memory(PITCH * ROWS)?, cu.memory(PITCH * ROWS)?);
    need!(cu, cuMemsetD8_3020(a, 0, PITCH * ROWS))?;
    pitched(t, cu);
    fills(t, cu, a);
    planes(t, cu, a, b);
    volumes(t, cu, a, b);
    Ok(())
}

fn pitched(t: &mut Lines, cu: &Cu) {
    let (mut address, mut pitch) = (0, 0);
    let mut allocate = |width, height, element| {
        call!(cu, cuMemAllocPitch_3020(&raw mut address, &raw mut pitch, width, height, element))
            .then(|| pitch)
    };
    t.line("pitch of 100 bytes", || allocate(100, 4, 4));
    t.line("pitch of 513 bytes", || allocate(513, 4, 16));
    t.line("pitch with elements of 3 bytes", || allocate(100, 4, 3));
    t.line("pitch with elements of 32 bytes", || allocate(100, 4, 32));
    t.line("pitch of width 0", || allocate(0, 4, 4));
    t.line("pitch of height 0", || allocate(100, 0, 4));
}

fn fills(t: &mut Lines, cu: &Cu, memory: CUdeviceptr) {
    let fill = |pitch, width, height| call!(cu, cuMemsetD2D8_3020(memory, pitch, 7, width, height));
    t.line("fill 10 x 3", || fill(PITCH, 10, 3));
    t.line("  bytes", || read(cu, memory, [9, 10, 63, 64, 138, 192]));
    t.line("fill width 0", || fill(PITCH, 0, 3));
    t.line("fill height 0", || fill(PITCH, 10, 0));
    t.line("fill with a pitch below the width", || fill(8, 10, 3));
    t.line("fill one row with a pitch below the width", || fill(8, 10, 1));
    t.line("fill past the end", || fill(PITCH, 10, ROWS + 1));
    t.line("fill D32 misaligned", || call!(cu, cuMemsetD2D32_3020(memory + 2, PITCH, 7, 2, 2)));
    t.line("fill D32 with a misaligned pitch", || call!(cu, cuMemsetD2D32_3020(memory, 62, 7, 2, 2)));
}

/// Some bytes of the memory.
fn read<const N: usize>(cu: &Cu, memory: CUdeviceptr, places: [usize; N]) -> Answer {
    let mut host = [0u8; PITCH * ROWS];
    call!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), memory, host.len()))
        .then(|| places.map(|place| host[place].to_string()).join(","))
}

/// From device to device, rows of 10 bytes.
fn plane(from: CUdeviceptr, to: CUdeviceptr) -> CUDA_MEMCPY2D_v2 {
    CUDA_MEMCPY2D_v2 {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcHost: null(),
        srcDevice: from,
        srcArray: null_mut(),
        srcPitch: PITCH,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstHost: null_mut(),
        dstDevice: to,
        dstArray: null_mut(),
        dstPitch: PITCH,
        WidthInBytes: 10,
        Height: 3,
    }
}

fn planes(t: &mut Lines, cu: &Cu, a: CUdeviceptr, b: CUdeviceptr) {
    let usual = plane(a, b);
    let copy = |copy: CUDA_MEMCPY2D_v2| call!(cu, cuMemcpy2D_3020(&raw const copy));
    t.line("copy 10 x 3", || copy(usual));
    t.line("copy to x 5, y 2", || copy(CUDA_MEMCPY2D_v2 { dstXInBytes: 5, dstY: 2, ..usual }));
    t.line("  bytes", || read(cu, b, [133, 142, 143, 197]));
    t.line("copy unaligned", || call!(cu, cuMemcpy2DUnaligned_3020(&raw const usual)));
    t.line("copy width 0", || copy(CUDA_MEMCPY2D_v2 { WidthInBytes: 0, ..usual }));
    t.line("copy height 0", || copy(CUDA_MEMCPY2D_v2 { Height: 0, ..usual }));
    t.line("copy with a pitch below the width", || copy(CUDA_MEMCPY2D_v2 { srcPitch: 8, ..usual }));
    t.line("copy with pitch 0", || copy(CUDA_MEMCPY2D_v2 { srcPitch: 0, dstPitch: 0, ..usual }));
    t.line("copy past the end", || copy(CUDA_MEMCPY2D_v2 { Height: ROWS + 1, ..usual }));
    t.line("copy past the end by its offset", || copy(CUDA_MEMCPY2D_v2 { srcY: ROWS - 2, ..usual }));
    t.line("copy with memory type 0", || copy(CUDA_MEMCPY2D_v2 { srcMemoryType: CUmemorytype(0), ..usual }));
    t.line("copy with memory type 9", || copy(CUDA_MEMCPY2D_v2 { srcMemoryType: CUmemorytype(9), ..usual }));
    t.line("copy with unified type", || {
        copy(CUDA_MEMCPY2D_v2 { srcMemoryType: CU_MEMORYTYPE_UNIFIED, ..usual })
    });
    t.line("copy from NULL", || copy(CUDA_MEMCPY2D_v2 { srcDevice: 0, ..usual }));
    t.line("copy NULL", || call!(cu, cuMemcpy2D_3020(null())));
    let host = [3u8; PITCH * ROWS];
    let from_host =
        CUDA_MEMCPY2D_v2 { srcMemoryType: CU_MEMORYTYPE_HOST, srcHost: host.as_ptr().cast(), ..usual };
    t.line("copy from host", || copy(from_host));
    t.line("  bytes", || read(cu, b, [0, 9, 137, 138]));
}

fn volumes(t: &mut Lines, cu: &Cu, a: CUdeviceptr, b: CUdeviceptr) {
    let usual = CUDA_MEMCPY3D_v2 {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: CU_MEMORYTYPE_DEVICE,
        srcHost: null(),
        srcDevice: a,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: PITCH,
        srcHeight: 4,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: CU_MEMORYTYPE_DEVICE,
        dstHost: null_mut(),
        dstDevice: b,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: PITCH,
        dstHeight: 4,
        WidthInBytes: 10,
        Height: 3,
        Depth: 2,
    };
    let copy = |copy: CUDA_MEMCPY3D_v2| call!(cu, cuMemcpy3D_3020(&raw const copy));
    let filled = call!(cu, cuMemsetD8_3020(a, 8, PITCH * ROWS)).succeeded();
    t.line("copy 10 x 3 x 2", || if filled { copy(usual) } else { yes(filled).into() });
    t.line("  bytes", || read(cu, b, [9, 10, 128, 192, 256, 384]));
    t.line("copy depth 0", || copy(CUDA_MEMCPY3D_v2 { Depth: 0, ..usual }));
    t.line("copy with planes below the height", || copy(CUDA_MEMCPY3D_v2 { srcHeight: 2, ..usual }));
    t.line("copy past the end in depth", || copy(CUDA_MEMCPY3D_v2 { Depth: 5, ..usual }));
    t.line("copy with level of detail 1", || copy(CUDA_MEMCPY3D_v2 { srcLOD: 1, ..usual }));
}
