//! What a process hands to others, asked in one process: handles of memory, events and pools, and what comes of one's own.

use super::Section;
use super::numa_and_pools::props;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_LOCATION_TYPE_DEVICE,
    CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CUdeviceptr,
    CUipcEventHandle, CUipcMemHandle, CUmemAllocationHandleType, CUmemLocation, CUmemLocation_v1_u4,
    CUmemPoolPtrExportData, CUmemoryPool, CUstream,
};
use std::ptr::{null_mut, without_provenance_mut};

pub(super) const SECTION: Section = Section { name: "processes", parts: 3, devices: 1, run };

const SIZE: usize = 4 << 20;
const FILES: CUmemAllocationHandleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const EVENT: u32 = 2 | 4; // CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    match part {
        0 => memory(t, cu),
        1 => events(t, cu),
        _ => pools(t, cu),
    }
}

fn attribute(cu: &Cu, memory: CUdeviceptr, which: cushim::driver::sys::CUpointer_attribute) -> Answer {
    let mut value = 0u64;
    call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, memory)).then(|| value)
}

fn memory(t: &mut Lines, cu: &Cu) -> Outcome {
    let (mut memory, mut other, mut host) = (0, 0, null_mut());
    need!(cu, cuMemAlloc_3020(&raw mut memory, SIZE))?;
    need!(cu, cuMemHostAlloc_2020(&raw mut host, 4096, 0))?;
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    t.line("memory handle", || call!(cu, cuIpcGetMemHandle_4010(&raw mut handle, memory)));
    let first = handle.reserved;
    t.line("  again: the same", || {
        call!(cu, cuIpcGetMemHandle_4010(&raw mut handle, memory)).then(|| yes(handle.reserved == first))
    });
    t.line("  of the middle: the same", || {
        let middle = memory + 4096;
        call!(cu, cuIpcGetMemHandle_4010(&raw mut handle, middle)).then(|| yes(handle.reserved == first))
    });
    t.line("  into NULL", || call!(cu, cuIpcGetMemHandle_4010(null_mut(), memory)));
    t.line("  of NULL", || call!(cu, cuIpcGetMemHandle_4010(&raw mut handle, 0)));
    let pinned = host.addr() as u64;
    t.line("  of page-locked memory", || call!(cu, cuIpcGetMemHandle_4010(&raw mut handle, pinned)));
    t.line("  capable, by its attribute", || {
        attribute(cu, memory, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    });
    handle.reserved = first;
    for flags in [0, 1, 2, 3] {
        let name = format!("open one's own, flags {flags}");
        t.line(&name, || call!(cu, cuIpcOpenMemHandle_11000(&raw mut other, handle, flags)));
    }
    let zeros = CUipcMemHandle { reserved: [0; 64] };
    t.line("open zeros", || call!(cu, cuIpcOpenMemHandle_11000(&raw mut other, zeros, 1)));
    t.line("open into NULL", || call!(cu, cuIpcOpenMemHandle_11000(null_mut(), handle, 1)));
    t.line("close memory of one's own", || call!(cu, cuIpcCloseMemHandle_4010(memory)));
    t.line("close NULL", || call!(cu, cuIpcCloseMemHandle_4010(0)));
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("memory handle without a context", || call!(cu, cuIpcGetMemHandle_4010(&raw mut handle, memory)));
    Ok(())
}

fn events(t: &mut Lines, cu: &Cu) -> Outcome {
    let (mut event, mut other) = (null_mut(), null_mut());
    need!(cu, cuEventCreate_2000(&raw mut event, EVENT))?;
    let mut handle = CUipcEventHandle { reserved: [0; 64] };
    t.line("event handle", || call!(cu, cuIpcGetEventHandle_4010(&raw mut handle, event)));
    t.line("  into NULL", || call!(cu, cuIpcGetEventHandle_4010(null_mut(), event)));
    t.line("open one's own", || call!(cu, cuIpcOpenEventHandle_4010(&raw mut other, handle)));
    t.line("open into NULL", || call!(cu, cuIpcOpenEventHandle_4010(null_mut(), handle)));
    for (name, byte) in [("zeros", 0), ("0xff", -1)] {
        let garbage = CUipcEventHandle { reserved: [byte; 64] };
        t.line(&format!("open {name}"), || call!(cu, cuIpcOpenEventHandle_4010(&raw mut other, garbage)));
    }
    Ok(())
}

fn pool_of(cu: &Cu, types: i32) -> Result<CUmemoryPool, crate::driver::Stop> {
    let location = CUmemLocation { type_: CU_MEM_LOCATION_TYPE_DEVICE, u4: CUmemLocation_v1_u4 { id: 0 } };
    let mut wanted = props(CU_MEM_ALLOCATION_TYPE_PINNED, location);
    wanted.handleTypes = CUmemAllocationHandleType(types);
    let mut pool = null_mut();
    need!(cu, cuMemPoolCreate_11020(&raw mut pool, &raw const wanted))?;
    Ok(pool)
}

fn from(cu: &Cu, pool: CUmemoryPool, stream: CUstream) -> Result<CUdeviceptr, crate::driver::Stop> {
    let mut memory = 0;
    need!(cu, cuMemAllocFromPoolAsync_11020(&raw mut memory, SIZE, pool, stream))?;
    Ok(memory)
}

fn pools(t: &mut Lines, cu: &Cu) -> Outcome {
    let stream = cu.stream(NON_BLOCKING)?;
    let (pool, plain) = (pool_of(cu, FILES.0)?, pool_of(cu, 0)?);
    let (memory, other) = (from(cu, pool, stream)?, from(cu, plain, stream)?);
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    let mut export = |at: CUdeviceptr| call!(cu, cuMemPoolExportPointer_11020(&raw mut data, at));
    t.line("export a pointer before its pool", || export(memory));
    let mut file = -1i32;
    let out = (&raw mut file).cast();
    t.line("export a pool", || call!(cu, cuMemPoolExportToShareableHandle_11020(out, pool, FILES, 0)));
    t.line("  with flags 1", || call!(cu, cuMemPoolExportToShareableHandle_11020(out, pool, FILES, 1)));
    t.line("  as nothing", || {
        call!(cu, cuMemPoolExportToShareableHandle_11020(out, pool, CUmemAllocationHandleType(0), 0))
    });
    t.line("  into NULL", || call!(cu, cuMemPoolExportToShareableHandle_11020(null_mut(), pool, FILES, 0)));
    t.line("export one without handle types", || {
        call!(cu, cuMemPoolExportToShareableHandle_11020(out, plain, FILES, 0))
    });
    t.line("handle types of its memory", || attribute(cu, memory, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES));
    t.line("export a pointer", || export(memory));
    t.line("  of the middle", || export(memory + 4096));
    t.line("  of a pool without handle types", || export(other));
    t.line("  NULL", || export(0));
    let mut imported = null_mut();
    let mut import = |descriptor: i32, flags: u64| {
        let handle = without_provenance_mut(descriptor as usize);
        call!(cu, cuMemPoolImportFromShareableHandle_11020(&raw mut imported, handle, FILES, flags))
    };
    t.line("import descriptor -1", || import(-1, 0));
    t.line("import a closed descriptor", || import(987, 0));
    t.line("import with flags 1", || import(file, 1));
    t.line("import it in the same process", || import(file, 0));
    let mut value = 0u64;
    t.line("  its threshold", || {
        call!(
            cu,
            cuMemPoolGetAttribute_11020(
                imported,
                cushim::driver::sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                (&raw mut value).cast()
            )
        )
    });
    let mut allocated = 0;
    t.line("  allocate", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut allocated, SIZE, imported, stream))
    });
    let mut at = 0;
    for (name, byte) in [("zeros", 0), ("0xff", 255)] {
        let mut garbage = CUmemPoolPtrExportData { reserved: [byte; 64] };
        t.line(&format!("  import {name}"), || {
            call!(cu, cuMemPoolImportPointer_11020(&raw mut at, imported, &raw mut garbage))
        });
    }
    t.line("  destroy", || call!(cu, cuMemPoolDestroy_11020(imported)));
    t.line("destroy the pool that was exported", || call!(cu, cuMemPoolDestroy_11020(pool)));
    Ok(())
}
