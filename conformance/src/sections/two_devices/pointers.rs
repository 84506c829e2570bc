//! What is told of memory where another device's context is current.

use super::{SIZE, Scene};
use crate::driver::{Answer, Cu, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    CUcontext, CUdeviceptr, CUpointer_attribute,
};
use std::ptr::null_mut;

/// A pointer's attribute that is a number of 32 bits.
pub(super) fn attribute(cu: &Cu, address: CUdeviceptr, which: CUpointer_attribute) -> Answer {
    let mut value = 0u32;
    call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, address)).then(|| value)
}

/// What the current context may do with memory: 0 nothing, 1 read, 3 write too.
pub(super) fn flags(cu: &Cu, address: CUdeviceptr) -> Answer {
    attribute(cu, address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS)
}

fn context_of(cu: &Cu, address: CUdeviceptr, context: CUcontext) -> Answer {
    let mut its: CUcontext = null_mut();
    let which = CU_POINTER_ATTRIBUTE_CONTEXT;
    call!(cu, cuPointerGetAttribute_4000((&raw mut its).cast(), which, address)).then(|| yes(its == context))
}

fn device_pointer(cu: &Cu, memory: CUdeviceptr) -> Answer {
    let (mut address, which) = (0u64, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
    call!(cu, cuPointerGetAttribute_4000((&raw mut address).cast(), which, memory))
        .then(|| yes(address == memory))
}

fn range(cu: &Cu, memory: CUdeviceptr) -> Answer {
    let (mut base, mut size) = (0, 0);
    call!(cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, memory + 8))
        .then(|| format!("{},{size}", base.wrapping_sub(memory)))
}

pub(super) fn seen(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, memory) = (&s.cu, s.there.memory);
    t.line("memory of the other: device", || attribute(cu, memory, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
    t.line("  kind", || attribute(cu, memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
    t.line("  its context is the other's", || context_of(cu, memory, s.there.context));
    t.line("  is mapped", || attribute(cu, memory, CU_POINTER_ATTRIBUTE_MAPPED));
    t.line("  device pointer", || device_pointer(cu, memory));
    t.line("  range", || range(cu, memory));
    t.line("  access", || flags(cu, memory));
    s.reach(&s.there)?;
    t.line("  access when it is enabled", || flags(cu, memory));
    t.line("  is mapped then", || attribute(cu, memory, CU_POINTER_ATTRIBUTE_MAPPED));
    t.line("  device pointer then", || device_pointer(cu, memory));
    t.line("  range then", || range(cu, memory));
    s.enter(&s.there)?;
    t.line("  access of the owner", || flags(cu, memory));
    t.line("  access of the owner to the first", || flags(cu, s.here.memory));
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("  access without a context", || flags(cu, memory));
    s.enter(&s.here)?;
    t.line("  free", || call!(cu, cuMemFree_3020(memory)));
    Ok(())
}

/// What is told in bulk of the second's memory: by allocation, and from its pool.
pub(super) fn attributes(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut pooled) = (&s.cu, 0);
    need!(cu, cuMemAllocAsync_11020(&raw mut pooled, SIZE, s.there.stream))?;
    need!(cu, cuStreamSynchronize_2000(s.there.stream))?;
    for (name, memory) in [("memory", s.there.memory), ("pool memory", pooled)] {
        t.line(&format!("the other's {name}: device pointer"), || device_pointer(cu, memory));
        t.line("  range", || range(cu, memory));
        for number in 1..=21 {
            let mut values = [[UNTOUCHED; 4]; 2];
            let [of_first, of_second] = &mut values;
            s.enter(&s.there)?;
            let _ = in_bulk(cu, memory, number, of_second);
            s.enter(&s.here)?;
            let answer = in_bulk(cu, memory, number, of_first);
            let same = if values[0] == values[1] { "as its own context is told" } else { "otherwise" };
            t.line(&format!("  attribute {number} in bulk"), || answer.then(|| same));
        }
    }
    let own = cu.context()?;
    t.line("a created context beside the first: range", || range(cu, s.here.memory));
    t.line("  device pointer", || device_pointer(cu, s.here.memory));
    need!(cu, cuCtxDestroy_4000(own))
}

const UNTOUCHED: u64 = 0xdead_beef_dead_beef;

fn in_bulk(cu: &Cu, memory: CUdeviceptr, number: i32, value: &mut [u64; 4]) -> Answer {
    let (mut attributes, mut places) = ([CUpointer_attribute(number)], [std::ptr::from_mut(value).cast()]);
    call!(cu, cuPointerGetAttributes_7000(1, attributes.as_mut_ptr(), places.as_mut_ptr(), memory))
}

/// Memory of the host that one context asked for.
pub(super) fn host(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    for (name, flags_of_it) in [("pinned", 0), ("portable", 1), ("mapped", 2)] {
        let mut host = null_mut();
        s.enter(&s.here)?;
        need!(cu, cuMemHostAlloc_2020(&raw mut host, SIZE, flags_of_it))?;
        let address = host.expose_provenance() as CUdeviceptr;
        s.enter(&s.there)?;
        t.line(&format!("{name} memory seen by the other: access"), || flags(cu, address));
        t.line("  device", || attribute(cu, address, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
        t.line("  its context is the first", || context_of(cu, address, s.here.context));
        t.line("  device pointer", || {
            let mut device = 0;
            call!(cu, cuMemHostGetDevicePointer_3020(&raw mut device, host, 0))
                .then(|| yes(device == address))
        });
        t.line("  copy from it in a stream", || {
            call!(cu, cuMemcpyHtoDAsync_3020(s.there.memory, host, SIZE, s.there.stream))
        });
        t.line("  fill it in a stream", || call!(cu, cuMemsetD8Async_3020(address, 1, SIZE, s.there.stream)));
        t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.there.stream)));
        t.line("  free", || call!(cu, cuMemFreeHost_2000(host)));
    }
    let layout = std::alloc::Layout::from_size_align(SIZE, SIZE).expect("a page is a power of two");
    // SAFETY: the size is not zero.
    let page = unsafe { std::alloc::alloc_zeroed(layout) }.cast();
    s.enter(&s.here)?;
    need!(cu, cuMemHostRegister_6050(page, SIZE, 0))?;
    let address = page.expose_provenance() as CUdeviceptr;
    s.enter(&s.there)?;
    t.line("registered memory seen by the other: access", || flags(cu, address));
    t.line("  fill it in a stream", || call!(cu, cuMemsetD8Async_3020(address, 1, SIZE, s.there.stream)));
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.there.stream)));
    t.line("  register it again", || call!(cu, cuMemHostRegister_6050(page, SIZE, 0)));
    t.line("  unregister", || call!(cu, cuMemHostUnregister_4000(page)));
    Ok(())
}
