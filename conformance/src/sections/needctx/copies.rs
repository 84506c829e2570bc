//! Fills and copies with no current context.

use super::{Question, Scene};
use crate::driver::{LEGACY, call};
use cushim::driver::sys::{CU_MEMORYTYPE_DEVICE, CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_PEER_v1, CUDA_MEMCPY3D_v2};

/// A structure of numbers and pointers that are all zero.
fn zeroed<T: Copy>() -> T {
    // SAFETY: called for the parameters of copies only, in which zero is a value of every field.
    unsafe { std::mem::zeroed() }
}

/// Copies of 64 bytes within the memory.
impl Scene {
    fn plane(&self) -> CUDA_MEMCPY2D_v2 {
        CUDA_MEMCPY2D_v2 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: self.memory,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: self.memory + 2048,
            WidthInBytes: 64,
            Height: 1,
            ..zeroed()
        }
    }

    fn volume(&self) -> CUDA_MEMCPY3D_v2 {
        CUDA_MEMCPY3D_v2 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: self.memory,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: self.memory + 2048,
            WidthInBytes: 64,
            Height: 1,
            Depth: 1,
            ..zeroed()
        }
    }

    fn peers(&self) -> CUDA_MEMCPY3D_PEER_v1 {
        CUDA_MEMCPY3D_PEER_v1 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: self.memory,
            srcContext: self.context,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: self.memory + 2048,
            dstContext: self.context,
            WidthInBytes: 64,
            Height: 1,
            Depth: 1,
            ..zeroed()
        }
    }
}

/// Fills that wait.
const FILLS: &[Question] = &[
    ("cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, 64))),
    ("cuMemsetD16", |s| call!(s.cu, cuMemsetD16_3020(s.memory, 0, 8))),
    ("cuMemsetD32", |s| call!(s.cu, cuMemsetD32_3020(s.memory, 0, 8))),
    ("cuMemsetD2D8", |s| call!(s.cu, cuMemsetD2D8_3020(s.memory, 64, 0, 8, 2))),
    ("cuMemsetD2D16", |s| call!(s.cu, cuMemsetD2D16_3020(s.memory, 64, 0, 8, 2))),
    ("cuMemsetD2D32", |s| call!(s.cu, cuMemsetD2D32_3020(s.memory, 64, 0, 8, 2))),
];

/// Fills in the order of a stream.
const ORDERED_FILLS: &[Question] = &[
    ("cuMemsetD16Async", |s| call!(s.cu, cuMemsetD16Async_3020(s.memory, 0, 8, s.stream))),
    ("cuMemsetD32Async", |s| call!(s.cu, cuMemsetD32Async_3020(s.memory, 0, 8, s.stream))),
    ("cuMemsetD2D8Async", |s| call!(s.cu, cuMemsetD2D8Async_3020(s.memory, 64, 0, 8, 2, s.stream))),
    ("cuMemsetD2D16Async", |s| call!(s.cu, cuMemsetD2D16Async_3020(s.memory, 64, 0, 8, 2, s.stream))),
    ("cuMemsetD2D32Async", |s| call!(s.cu, cuMemsetD2D32Async_3020(s.memory, 64, 0, 8, 2, s.stream))),
    ("cuMemsetD8Async on legacy", |s| call!(s.cu, cuMemsetD8Async_3020(s.memory, 0, 64, LEGACY))),
];

/// Copies that wait.
const COPIES: &[Question] = &[
    ("cuMemcpyDtoD", |s| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.memory + 2048, 64))),
    ("cuMemcpyHtoD", |s| {
        let host = [0u8; 64];
        call!(s.cu, cuMemcpyHtoD_3020(s.memory, host.as_ptr().cast(), 64))
    }),
    ("cuMemcpyDtoH", |s| {
        let mut host = [0u8; 64];
        call!(s.cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), s.memory, 64))
    }),
    ("cuMemcpy", |s| call!(s.cu, cuMemcpy_4000(s.memory, s.memory + 2048, 64))),
    ("cuMemcpyPeer", |s| call!(s.cu, cuMemcpyPeer_4000(s.memory, s.context, s.memory + 2048, s.context, 64))),
    ("cuMemcpy2D", |s| call!(s.cu, cuMemcpy2D_3020(&s.plane()))),
    ("cuMemcpy2DUnaligned", |s| call!(s.cu, cuMemcpy2DUnaligned_3020(&s.plane()))),
    ("cuMemcpy3D", |s| call!(s.cu, cuMemcpy3D_3020(&s.volume()))),
    ("cuMemcpy3DPeer", |s| call!(s.cu, cuMemcpy3DPeer_4000(&s.peers()))),
];

/// Copies in the order of a stream.
const ORDERED_COPIES: &[Question] = &[
    ("cuMemcpyPeerAsync", |s| {
        call!(s.cu, cuMemcpyPeerAsync_4000(s.memory, s.context, s.memory + 2048, s.context, 64, s.stream))
    }),
    ("cuMemcpy2DAsync", |s| call!(s.cu, cuMemcpy2DAsync_3020(&s.plane(), s.stream))),
    ("cuMemcpy3DAsync", |s| call!(s.cu, cuMemcpy3DAsync_3020(&s.volume(), s.stream))),
    ("cuMemcpy3DPeerAsync", |s| call!(s.cu, cuMemcpy3DPeerAsync_4000(&s.peers(), s.stream))),
    ("cuMemcpyAsync on legacy", |s| call!(s.cu, cuMemcpyAsync_4000(s.memory, s.memory + 2048, 64, LEGACY))),
    ("cuMemcpyHtoDAsync on legacy", |s| call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, s.host, 64, LEGACY))),
];

/// Each runs in a process of its own.
pub(super) const GROUPS: &[&[Question]] = &[FILLS, ORDERED_FILLS, COPIES, ORDERED_COPIES];
