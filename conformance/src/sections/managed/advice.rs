//! Advice, prefetches, and what is read back.

use super::{
    CURRENT_NODE, DEVICE, HOST, INVALID, NO_DEVICE, NO_NODE, NODE, SIZE, attribute, last_prefetch, managed,
    preferred, stream,
};
use crate::driver::{Answer, Cu, LEGACY, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_READ_MOSTLY,
    CU_MEM_ADVISE_UNSET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_READ_MOSTLY,
    CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CUdeviceptr, CUmem_advise,
    CUmem_range_attribute, CUmemLocation, CUstream,
};
use std::ptr::null_mut;

const READ_MOSTLY: CUmem_range_attribute = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (memory, stream) = (managed(cu)?, stream(cu)?);
    defaults(t, cu, memory)?;
    read_mostly(t, cu, memory);
    places(t, cu, memory, stream);
    unset(t, cu, memory);
    refusals(t, cu, memory, stream)?;
    parts(t, cu, memory, stream)?;
    without_context(t, cu, memory, stream)
}

fn advise(cu: &Cu, address: CUdeviceptr, size: usize, advice: CUmem_advise, to: CUmemLocation) -> Answer {
    call!(cu, cuMemAdvise_12020(address, size, advice, to))
}

fn prefetch(cu: &Cu, address: CUdeviceptr, size: usize, to: CUmemLocation, stream: CUstream) -> Answer {
    call!(cu, cuMemPrefetchAsync_12020(address, size, to, 0, stream))
}

/// The first `N` of those that access the range.
fn accessed_by<const N: usize>(cu: &Cu, address: CUdeviceptr) -> Answer {
    let mut those = [77i32; N];
    let which = CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    let asked =
        call!(cu, cuMemRangeGetAttribute_8000(those.as_mut_ptr().cast(), 4 * N, which, address, SIZE));
    asked.then(|| those.map(|one| one.to_string()).join(","))
}

fn defaults(t: &mut Lines, cu: &Cu, memory: CUdeviceptr) -> Outcome {
    t.line("preferred default", || attribute(cu, memory, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
    t.line("  legacy,type,id", || preferred(cu, memory));
    let last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    t.line("last prefetch default", || attribute(cu, memory, SIZE, last));
    t.line("  legacy,type,id", || last_prefetch(cu, memory));
    t.line("read mostly default", || attribute(cu, memory, SIZE, READ_MOSTLY));
    t.line("accessed by default", || accessed_by::<3>(cu, memory));
    let mut data = [0i32; 4];
    let mut ask = |size: usize, which: CUmem_range_attribute, address: CUdeviceptr, count: usize| {
        call!(cu, cuMemRangeGetAttribute_8000(data.as_mut_ptr().cast(), size, which, address, count))
    };
    t.line("attribute in 8 bytes", || ask(8, READ_MOSTLY, memory, SIZE));
    t.line("attribute 99", || ask(4, CUmem_range_attribute(99), memory, SIZE));
    t.line("attribute of 0 bytes", || ask(4, READ_MOSTLY, memory, 0));
    t.line("attribute past the end", || ask(4, READ_MOSTLY, memory, 2 * SIZE));
    t.line("accessed by in 6 bytes", || ask(6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE));
    t.line("accessed by in 0 bytes", || ask(0, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE));
    let plain = cu.memory(4096)?;
    t.line("attribute of device memory", || ask(4, READ_MOSTLY, plain, 4096));
    several(t, cu, memory);
    need!(cu, cuMemFree_3020(plain))
}

/// Several attributes in one call.
fn several(t: &mut Lines, cu: &Cu, memory: CUdeviceptr) {
    let (mut first, mut second) = (77i32, [77i32; 2]);
    let mut places = [(&raw mut first).cast(), (&raw mut second).cast()];
    let mut which = [CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY];
    for (name, sizes, count) in
        [("two attributes at once", [4, 8], 2), ("  in 7 bytes", [4, 7], 2), ("  none of them", [4, 8], 0)]
    {
        let mut sizes: [usize; 2] = sizes;
        t.line(name, || {
            let (places, sizes, which) = (places.as_mut_ptr(), sizes.as_mut_ptr(), which.as_mut_ptr());
            call!(cu, cuMemRangeGetAttributes_8000(places, sizes, which, count, memory, SIZE))
        });
    }
}

fn read_mostly(t: &mut Lines, cu: &Cu, memory: CUdeviceptr) {
    let set = CU_MEM_ADVISE_SET_READ_MOSTLY;
    t.line("advise read mostly, invalid location", || advise(cu, memory, SIZE, set, INVALID));
    t.line("  read mostly", || attribute(cu, memory, SIZE, READ_MOSTLY));
    t.line("unset, invalid location", || advise(cu, memory, SIZE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, INVALID));
    t.line("set on half", || advise(cu, memory, SIZE / 2, set, DEVICE));
    t.line("  read mostly half range", || attribute(cu, memory, SIZE / 2, READ_MOSTLY));
    t.line("  read mostly mixed range", || attribute(cu, memory, SIZE, READ_MOSTLY));
    t.line("advise read mostly, device 99", || advise(cu, memory, SIZE, set, NO_DEVICE));
    t.line("advise read mostly, host_numa 0", || advise(cu, memory, SIZE, set, NODE));
    t.line("  read mostly", || attribute(cu, memory, SIZE, READ_MOSTLY));
    t.line("unset", || advise(cu, memory, SIZE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, HOST));
    t.line("  read mostly", || attribute(cu, memory, SIZE, READ_MOSTLY));
}

fn places(t: &mut Lines, cu: &Cu, memory: CUdeviceptr, stream: CUstream) {
    for (name, to) in [
        ("device", DEVICE),
        ("host", HOST),
        ("host_numa 0", NODE),
        ("host_numa_current", CURRENT_NODE),
        ("device 99", NO_DEVICE),
        ("invalid", INVALID),
        ("host_numa 99", NO_NODE),
    ] {
        t.line(&format!("preferred <- {name}"), || {
            advise(cu, memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, to)
        });
        t.line("  legacy,type,id", || preferred(cu, memory));
        t.line(&format!("accessed by <- {name}"), || {
            advise(cu, memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, to)
        });
        t.line("  accessed by", || accessed_by::<2>(cu, memory));
        t.line(&format!("prefetch -> {name}"), || prefetch(cu, memory, SIZE, to, stream));
        t.line("  last prefetch legacy,type,id", || last_prefetch(cu, memory));
    }
}

fn unset(t: &mut Lines, cu: &Cu, memory: CUdeviceptr) {
    let unset = CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    t.line("unset preferred, invalid location", || advise(cu, memory, SIZE, unset, INVALID));
    t.line("unset preferred", || advise(cu, memory, SIZE, unset, HOST));
    t.line("  legacy,type,id", || preferred(cu, memory));
    t.line("preferred <- host_numa 0, from none", || {
        advise(cu, memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, NODE)
    });
    t.line("  legacy,type,id", || preferred(cu, memory));
    let unset = CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    t.line("unset accessed by device", || advise(cu, memory, SIZE, unset, DEVICE));
    t.line("  accessed by", || accessed_by::<2>(cu, memory));
    t.line("unset accessed by device, which is not set", || advise(cu, memory, SIZE, unset, DEVICE));
    t.line("accessed by device, after the host", || {
        advise(cu, memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, DEVICE)
    });
    t.line("  accessed by", || accessed_by::<3>(cu, memory));
    t.line("  accessed by, the first", || accessed_by::<1>(cu, memory));
}

fn refusals(t: &mut Lines, cu: &Cu, memory: CUdeviceptr, stream: CUstream) -> Outcome {
    let (plain, set) = (cu.memory(SIZE)?, CU_MEM_ADVISE_SET_READ_MOSTLY);
    let pageable = vec![0u8; 1 << 16];
    let pageable = pageable.as_ptr().addr() as u64;
    t.line("advise on device memory", || advise(cu, plain, SIZE, set, DEVICE));
    t.line("prefetch of device memory", || prefetch(cu, plain, SIZE, DEVICE, stream));
    t.line("advise on pageable memory", || advise(cu, pageable, 1 << 16, set, DEVICE));
    t.line("prefetch of pageable memory", || prefetch(cu, pageable, 1 << 16, DEVICE, stream));
    t.line("advise size 0", || advise(cu, memory, 0, set, DEVICE));
    t.line("prefetch size 0", || prefetch(cu, memory, 0, DEVICE, stream));
    t.line("advise past the end", || advise(cu, memory, 2 * SIZE, set, DEVICE));
    t.line("prefetch past the end", || prefetch(cu, memory, 2 * SIZE, DEVICE, stream));
    t.line("prefetch flags 1", || call!(cu, cuMemPrefetchAsync_12020(memory, SIZE, DEVICE, 1, stream)));
    t.line("prefetch misaligned sub-range", || prefetch(cu, memory + 100, 1000, DEVICE, stream));
    t.line("prefetch on legacy", || prefetch(cu, memory, SIZE, DEVICE, LEGACY));
    t.line("bad advice", || advise(cu, memory, SIZE, CUmem_advise(99), DEVICE));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    need!(cu, cuMemFree_3020(plain))
}

/// A page belongs to a range as soon as a byte of it does.
fn parts(t: &mut Lines, cu: &Cu, memory: CUdeviceptr, stream: CUstream) -> Outcome {
    const PAGE: usize = 4096;
    t.line("two bytes about the end of a page", || {
        advise(cu, memory + PAGE as u64 - 1, 2, CU_MEM_ADVISE_SET_READ_MOSTLY, DEVICE)
    });
    t.line("  read mostly of both pages", || attribute(cu, memory, 2 * PAGE, READ_MOSTLY));
    t.line("  and of the next one", || attribute(cu, memory, 3 * PAGE, READ_MOSTLY));
    t.line("prefetch of half", || prefetch(cu, memory, SIZE / 2, HOST, stream));
    let last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    t.line("  last prefetch of the half", || attribute(cu, memory, SIZE / 2, last));
    t.line("  and of all", || attribute(cu, memory, SIZE, last));
    need!(cu, cuStreamSynchronize_2000(stream))
}

fn without_context(t: &mut Lines, cu: &Cu, memory: CUdeviceptr, stream: CUstream) -> Outcome {
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("no current context: advise", || advise(cu, memory, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, DEVICE));
    t.line("  prefetch", || prefetch(cu, memory, SIZE, DEVICE, stream));
    t.line("  attribute", || attribute(cu, memory, SIZE, READ_MOSTLY));
    need!(cu, cuStreamSynchronize_2000(stream))
}

/// The ABIs of 8.0, which know devices and the host.
pub(super) fn with_ordinals(t: &mut Lines, cu: &Cu) -> Outcome {
    const HOST: i32 = -1;
    let (memory, stream) = (managed(cu)?, stream(cu)?);
    let advise = |advice, device| call!(cu, cuMemAdvise_8000(memory, SIZE, advice, device));
    let place = || attribute(cu, memory, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
    for (name, device) in [("device", 0), ("host", HOST), ("device 99", 99), ("-2", -2)] {
        t.line(&format!("8.0: preferred <- {name}"), || advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
        t.line("  preferred", place);
        t.line(&format!("8.0: accessed by <- {name}"), || advise(CU_MEM_ADVISE_SET_ACCESSED_BY, device));
        t.line("  accessed by", || accessed_by::<2>(cu, memory));
        t.line(&format!("8.0: prefetch -> {name}"), || {
            call!(cu, cuMemPrefetchAsync_8000(memory, SIZE, device, stream))
        });
        t.line("  last prefetch", || {
            attribute(cu, memory, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION)
        });
    }
    t.line("8.0: read mostly, device 99", || advise(CU_MEM_ADVISE_SET_READ_MOSTLY, 99));
    t.line("  read mostly", || attribute(cu, memory, SIZE, READ_MOSTLY));
    t.line("8.0: unset preferred, device 99", || advise(CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 99));
    t.line("  preferred", place);
    need!(cu, cuStreamSynchronize_2000(stream))?;
    need!(cu, cuMemFree_3020(memory))
}
