//! Copies.

use super::super::scene::{SIZE, Scene};
use super::captured;
use super::parameters::Places;
use crate::driver::{Answer, BOGUS, Outcome, call};
use crate::sections::managed::DEVICE;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_AD_FORMAT_UNSIGNED_INT8, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CUDA_ARRAY_DESCRIPTOR_v2, CUDA_MEMCPY2D_v2,
    CUDA_MEMCPY3D_PEER_v1, CUDA_MEMCPY3D_v2, CUarray, CUdeviceptr, CUmemcpyAttributes, CUmemorytype,
};
use std::ffi::c_void;
use std::ptr::null_mut;

const N: usize = 64;

/// Memory of the program, for ever: captured copies may come later.
fn pageable() -> *mut c_void {
    vec![0u8; SIZE].leak().as_mut_ptr().cast()
}

fn address(host: *mut c_void) -> CUdeviceptr {
    host.addr() as CUdeviceptr
}

/// Everything that copies come from and go to.
struct Ends {
    places: Places,
    host: *mut c_void,
    other: *mut c_void,
    registered: *mut c_void,
    managed: CUdeviceptr,
    pooled: CUdeviceptr,
}

impl Ends {
    fn of(s: &Scene) -> Self {
        let (cu, mut managed, mut pooled) = (&s.cu, 0, 0);
        let (host, other, registered) = (pageable(), pageable(), pageable());
        // What fails here is 0, and said to be so in the answers.
        let _ = call!(cu, cuMemAllocManaged_6000(&raw mut managed, SIZE, 1));
        let _ = call!(cu, cuMemAllocAsync_11020(&raw mut pooled, SIZE, s.third))
            .and(|| call!(cu, cuStreamSynchronize_2000(s.third)));
        let _ = call!(cu, cuMemHostRegister_6050(registered, SIZE, 0));
        let mut places = Places::of(s);
        places.add_host("host", host, SIZE);
        places.add_host("other", other, SIZE);
        places.add_host("registered", registered, SIZE);
        places.add("managed", managed, SIZE as u64);
        places.add("pooled", pooled, SIZE as u64);
        Self { places, host, other, registered, managed, pooled }
    }
}

/// Copies of a row of bytes.
pub(super) fn linear(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, memory, e) = (&s.cu, s.stream, s.memory, Ends::of(s));
    let hosts = [("pageable", e.host), ("pinned", s.pinned), ("registered", e.registered)];
    let p = &e.places;
    for (name, host) in hosts {
        captured(t, s, p, &format!("cuMemcpyHtoDAsync, {name}"), || {
            call!(cu, cuMemcpyHtoDAsync_3020(memory, host, N, stream))
        });
        captured(t, s, p, &format!("cuMemcpyDtoHAsync, {name}"), || {
            call!(cu, cuMemcpyDtoHAsync_3020(host, memory, N, stream))
        });
        captured(t, s, p, &format!("cuMemcpyAsync from {name}"), || {
            call!(cu, cuMemcpyAsync_4000(memory, address(host), N, stream))
        });
        captured(t, s, p, &format!("cuMemcpyAsync to {name}"), || {
            call!(cu, cuMemcpyAsync_4000(address(host), memory, N, stream))
        });
        captured(t, s, p, &format!("cuMemcpyAsync, {name} to pageable"), || {
            call!(cu, cuMemcpyAsync_4000(address(e.other), address(host), N, stream))
        });
    }
    captured(t, s, p, "cuMemcpyHtoDAsync, pageable, 64 KiB", || {
        call!(cu, cuMemcpyHtoDAsync_3020(memory, e.host, SIZE, stream))
    });
    let devices = [("memory", memory + 4096), ("managed", e.managed), ("pool", e.pooled)];
    for (name, from) in devices {
        captured(t, s, p, &format!("cuMemcpyDtoDAsync from {name}"), || {
            call!(cu, cuMemcpyDtoDAsync_3020(memory, from, N, stream))
        });
        captured(t, s, p, &format!("cuMemcpyAsync, from {name}"), || {
            call!(cu, cuMemcpyAsync_4000(memory, from, N, stream))
        });
        captured(t, s, p, &format!("cuMemcpyAsync to {name} from pageable"), || {
            call!(cu, cuMemcpyAsync_4000(from, address(e.host), N, stream))
        });
    }
    captured(t, s, p, "cuMemcpyDtoDAsync to itself", || {
        call!(cu, cuMemcpyDtoDAsync_3020(memory, memory, N, stream))
    });
    captured(t, s, p, "cuMemcpyDtoDAsync of 0 bytes", || {
        call!(cu, cuMemcpyDtoDAsync_3020(memory, memory + 4096, 0, stream))
    });
    captured(t, s, p, "cuMemcpyHtoDAsync of 0 bytes", || {
        call!(cu, cuMemcpyHtoDAsync_3020(memory, e.host, 0, stream))
    });
    Ok(())
}

fn zeroed<T: Copy>() -> T {
    // SAFETY: called for parameters of copies only, in which zero is a value of every field.
    unsafe { std::mem::zeroed() }
}

/// A rectangle of 16 × 4 bytes at (8, 1) to one at (4, 2).
fn rectangle(from: (CUmemorytype, u64), to: (CUmemorytype, u64)) -> CUDA_MEMCPY2D_v2 {
    let host = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
    let is_host = |kind| kind == CU_MEMORYTYPE_HOST;
    CUDA_MEMCPY2D_v2 {
        srcXInBytes: 8,
        srcY: 1,
        srcMemoryType: from.0,
        srcHost: if is_host(from.0) { host(from.1) } else { null_mut() },
        srcDevice: if is_host(from.0) { 0 } else { from.1 },
        srcPitch: 64,
        dstXInBytes: 4,
        dstY: 2,
        dstMemoryType: to.0,
        dstHost: if is_host(to.0) { host(to.1) } else { null_mut() },
        dstDevice: if is_host(to.0) { 0 } else { to.1 },
        dstPitch: 128,
        WidthInBytes: 16,
        Height: 4,
        ..zeroed()
    }
}

/// A box of 16 × 4 × 2 bytes.
fn boxed(from: (CUmemorytype, u64), to: (CUmemorytype, u64)) -> CUDA_MEMCPY3D_v2 {
    let flat = rectangle(from, to);
    CUDA_MEMCPY3D_v2 {
        srcXInBytes: 8,
        srcY: 1,
        srcZ: 1,
        srcMemoryType: from.0,
        srcHost: flat.srcHost,
        srcDevice: flat.srcDevice,
        srcPitch: 64,
        srcHeight: 8,
        dstXInBytes: 4,
        dstY: 2,
        dstZ: 0,
        dstMemoryType: to.0,
        dstHost: flat.dstHost,
        dstDevice: flat.dstDevice,
        dstPitch: 128,
        dstHeight: 16,
        WidthInBytes: 16,
        Height: 4,
        Depth: 2,
        ..zeroed()
    }
}

/// Copies of rectangles, boxes, and arrays.
pub(super) fn shaped(t: &mut Lines, s: &Scene) -> Outcome {
    const DEVICES: CUmemorytype = CU_MEMORYTYPE_DEVICE;
    let (cu, stream, mut e) = (&s.cu, s.stream, Ends::of(s));
    let (here, there) = ((DEVICES, s.memory), (DEVICES, s.memory + 16384));
    let host = (CU_MEMORYTYPE_HOST, address(e.host).max(e.host.expose_provenance() as u64));
    let unified = (CU_MEMORYTYPE_UNIFIED, s.memory);
    let ways = [("device", here), ("host", host), ("unified", unified)];
    for (name, from) in ways {
        captured(t, s, &e.places, &format!("cuMemcpy2DAsync, {name} to device"), || {
            call!(cu, cuMemcpy2DAsync_3020(&raw const *Box::new(rectangle(from, there)), stream))
        });
        captured(t, s, &e.places, &format!("cuMemcpy3DAsync, {name} to device"), || {
            call!(cu, cuMemcpy3DAsync_3020(&raw const *Box::new(boxed(from, there)), stream))
        });
    }
    captured(t, s, &e.places, "cuMemcpy2DAsync, device to host", || {
        call!(cu, cuMemcpy2DAsync_3020(&raw const *Box::new(rectangle(here, host)), stream))
    });
    captured(t, s, &e.places, "cuMemcpy2DAsync of one row", || {
        let copy = CUDA_MEMCPY2D_v2 { Height: 1, ..rectangle(here, there) };
        call!(cu, cuMemcpy2DAsync_3020(&raw const copy, stream))
    });
    captured(t, s, &e.places, "cuMemcpy2DAsync of width 0", || {
        let copy = CUDA_MEMCPY2D_v2 { WidthInBytes: 0, ..rectangle(here, there) };
        call!(cu, cuMemcpy2DAsync_3020(&raw const copy, stream))
    });
    captured(t, s, &e.places, "cuMemcpy3DAsync of depth 1", || {
        let copy = CUDA_MEMCPY3D_v2 { Depth: 1, ..boxed(here, there) };
        call!(cu, cuMemcpy3DAsync_3020(&raw const copy, stream))
    });
    let array = array(s);
    e.places.add_host("array", array.cast(), 1);
    captured(t, s, &e.places, "cuMemcpyHtoAAsync", || {
        call!(cu, cuMemcpyHtoAAsync_3020(array, 16, e.host, N, stream))
    });
    captured(t, s, &e.places, "cuMemcpyAtoHAsync", || {
        call!(cu, cuMemcpyAtoHAsync_3020(e.host, array, 16, N, stream))
    });
    captured(t, s, &e.places, "cuMemcpy2DAsync, device to array", || {
        let copy = CUDA_MEMCPY2D_v2 {
            dstMemoryType: CU_MEMORYTYPE_ARRAY,
            dstArray: array,
            dstDevice: 0,
            dstPitch: 0,
            ..rectangle(here, there)
        };
        call!(cu, cuMemcpy2DAsync_3020(&raw const copy, stream))
    });
    Ok(())
}

/// An array of 64 × 64 bytes; NULL where the driver has none.
fn array(s: &Scene) -> CUarray {
    let what = CUDA_ARRAY_DESCRIPTOR_v2 {
        Width: 64,
        Height: 64,
        Format: CU_AD_FORMAT_UNSIGNED_INT8,
        NumChannels: 1,
    };
    let mut array = null_mut();
    let _ = call!(s.cu, cuArrayCreate_3020(&raw mut array, &raw const what));
    array
}

/// Copies that no graph takes, and what is wrong with any stream.
pub(super) fn refused(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, stream, memory, e) = (&s.cu, s.stream, s.memory, Ends::of(s));
    let p = &e.places;
    let size = SIZE as u64;
    let ways: [(&str, CUdeviceptr, CUdeviceptr); 5] = [
        ("to a bad address", BOGUS, memory),
        ("from a bad address", memory, BOGUS),
        ("to NULL", 0, memory),
        ("past the end", memory + size - 32, memory),
        ("from past the end", memory, memory + size - 32),
    ];
    for (name, to, from) in ways {
        captured(t, s, p, &format!("cuMemcpyDtoDAsync {name}"), || {
            call!(cu, cuMemcpyDtoDAsync_3020(to, from, N, stream))
        });
    }
    captured(t, s, p, "cuMemcpy2DAsync with a pitch below the width", || {
        let here = (CU_MEMORYTYPE_DEVICE, memory);
        let copy =
            CUDA_MEMCPY2D_v2 { srcPitch: 8, ..rectangle(here, (CU_MEMORYTYPE_DEVICE, memory + 16384)) };
        call!(cu, cuMemcpy2DAsync_3020(&raw const copy, stream))
    });
    captured(t, s, p, "cuMemcpyPeerAsync", || {
        call!(cu, cuMemcpyPeerAsync_4000(memory, s.context, memory + 4096, s.context, N, stream))
    });
    captured(t, s, p, "cuMemcpy3DPeerAsync", || {
        let copy = CUDA_MEMCPY3D_PEER_v1 {
            srcMemoryType: CU_MEMORYTYPE_DEVICE,
            srcDevice: memory,
            srcContext: s.context,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstDevice: memory + 4096,
            dstContext: s.context,
            WidthInBytes: N,
            Height: 1,
            Depth: 1,
            ..zeroed()
        };
        call!(cu, cuMemcpy3DPeerAsync_4000(&raw const copy, stream))
    });
    captured(t, s, p, "cuMemcpyBatchAsync", || batch(s, 13));
    captured(t, s, p, "cuMemcpyBatchAsync, the older ABI", || batch(s, 12));
    captured(t, s, p, "cuMemcpy3DBatchAsync of none", || {
        call!(cu, cuMemcpy3DBatchAsync_13000(0, null_mut(), 0, stream))
    });
    captured(t, s, p, "cuMemcpyHtoD on legacy", || call!(cu, cuMemcpyHtoD_3020(memory, e.host, N)));
    Ok(())
}

/// A batch of one copy, through the ABI of this major version.
fn batch(s: &Scene, major: u32) -> Answer {
    let (mut to, mut from, mut size, mut start, mut failed) = (s.memory, s.memory + 4096, N, 0usize, 0usize);
    let mut attributes = CUmemcpyAttributes {
        srcAccessOrder: CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        srcLocHint: DEVICE,
        dstLocHint: DEVICE,
        flags: 0,
    };
    let (to, from, size) = (&raw mut to, &raw mut from, &raw mut size);
    let (attributes, start, failed) = (&raw mut attributes, &raw mut start, &raw mut failed);
    if major == 13 {
        call!(s.cu, cuMemcpyBatchAsync_13000(to, from, size, 1, attributes, start, 1, s.stream))
    } else {
        call!(s.cu, cuMemcpyBatchAsync_12080(to, from, size, 1, attributes, start, 1, failed, s.stream))
    }
}
