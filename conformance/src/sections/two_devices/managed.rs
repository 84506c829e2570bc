//! Managed memory that has two devices.

use super::Scene;
use crate::code::{Arguments, KERNELS, Shape};
use crate::driver::{Answer, Cu, Outcome, call, need};
use crate::sections::managed::{SIZE, last_prefetch, managed, place, preferred};
use crate::sections::numa_and_pools::props;
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_ACCESSED_BY,
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CUdeviceptr, CUmem_advise, CUmemAccess_flags, CUmemAccessDesc,
    CUmemLocation,
};
use std::ptr::null_mut;

const FIRST: CUmemLocation = place(CU_MEM_LOCATION_TYPE_DEVICE, 0);
const SECOND: CUmemLocation = place(CU_MEM_LOCATION_TYPE_DEVICE, 1);

fn accessed_by(cu: &Cu, address: CUdeviceptr) -> Answer {
    let mut those = [77i32; 4];
    let which = CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    call!(cu, cuMemRangeGetAttribute_8000(those.as_mut_ptr().cast(), 16, which, address, SIZE))
        .then(|| those.map(|one| one.to_string()).join(","))
}

pub(super) fn places(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, memory) = (&s.cu, managed(&s.cu)?);
    let advise = |advice: CUmem_advise, to| call!(cu, cuMemAdvise_12020(memory, SIZE, advice, to));
    let prefetch = |to, stream| call!(cu, cuMemPrefetchAsync_12020(memory, SIZE, to, 0, stream));
    t.line("managed memory's device", || {
        super::pointers::attribute(cu, memory, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    });
    t.line("preferred <- device 1", || advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, SECOND));
    t.line("  ordinal,type,id", || preferred(cu, memory));
    t.line("accessed by device 1", || advise(CU_MEM_ADVISE_SET_ACCESSED_BY, SECOND));
    t.line("accessed by device 0", || advise(CU_MEM_ADVISE_SET_ACCESSED_BY, FIRST));
    t.line("  those", || accessed_by(cu, memory));
    t.line("no longer by device 0", || advise(CU_MEM_ADVISE_UNSET_ACCESSED_BY, FIRST));
    t.line("  those", || accessed_by(cu, memory));
    t.line("prefetch to device 1 in its stream", || prefetch(SECOND, s.there.stream));
    t.line("  ordinal,type,id", || last_prefetch(cu, memory));
    t.line("prefetch to device 1 in the first's stream", || prefetch(SECOND, s.here.stream));
    t.line("prefetch to device 0 in the second's stream", || prefetch(FIRST, s.there.stream));
    t.line("  ordinal,type,id", || last_prefetch(cu, memory));
    for stream in [s.here.stream, s.there.stream] {
        t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(stream)));
    }
    for (name, side) in [("first", &s.here), ("second", &s.there)] {
        s.enter(side)?;
        let store = cu.function(cu.module(KERNELS)?, c"store")?;
        t.line(&format!("a kernel of the {name} stores there"), || {
            let mut arguments = Arguments::new([memory, 5]);
            match cu.launch(store, Shape::ONE, side.stream, &mut arguments.pointers()) {
                answer if answer.succeeded() => call!(cu, cuStreamSynchronize_2000(side.stream)),
                answer => answer,
            }
        });
        t.line("  access", || super::pointers::flags(cu, memory));
    }
    need!(cu, cuMemFree_3020(memory))
}

/// Memory of a managed pool, to which a device is given access or not.
pub(super) fn pooled(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut pool, mut memory) = (&s.cu, null_mut(), 0);
    let props = props(CU_MEM_ALLOCATION_TYPE_MANAGED, FIRST);
    // NULL where there are none yet.
    let _ = call!(cu, cuMemPoolCreate_11020(&raw mut pool, &raw const props));
    t.line("memory of a managed pool", || {
        call!(cu, cuMemAllocFromPoolAsync_11020(&raw mut memory, SIZE, pool, s.here.stream))
    });
    t.line("  accessed by", || accessed_by(cu, memory));
    for access in [3, 0] {
        for location in [FIRST, SECOND] {
            let map = CUmemAccessDesc { location, flags: CUmemAccess_flags(access) };
            t.line(&format!("  access of a device set to {access}"), || {
                call!(cu, cuMemPoolSetAccess_11020(pool, &raw const map, 1))
            });
            t.line("  accessed by", || accessed_by(cu, memory));
        }
    }
    for (name, advice) in [("set", CU_MEM_ADVISE_SET_ACCESSED_BY), ("unset", CU_MEM_ADVISE_UNSET_ACCESSED_BY)]
    {
        for location in [FIRST, SECOND] {
            t.line(&format!("  {name} accessed by a device"), || {
                call!(cu, cuMemAdvise_12020(memory, SIZE, advice, location))
            });
        }
    }
    t.line("  accessed by, at last", || accessed_by(cu, memory));
    need!(cu, cuMemFreeAsync_11020(memory, s.here.stream))?;
    need!(cu, cuStreamSynchronize_2000(s.here.stream))
}

/// Ranges that go to different devices in one call.
pub(super) fn batches(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let (first, second) = (managed(cu)?, managed(cu)?);
    t.line("a batch to both devices", || {
        let (mut addresses, mut sizes) = ([first, second], [SIZE, SIZE]);
        let (mut places, mut which) = ([SECOND, FIRST], [0usize, 1]);
        call!(
            cu,
            cuMemPrefetchBatchAsync_13000(
                addresses.as_mut_ptr(),
                sizes.as_mut_ptr(),
                2,
                places.as_mut_ptr(),
                which.as_mut_ptr(),
                2,
                0,
                s.here.stream
            )
        )
    });
    let batched = cu.table.cuMemPrefetchBatchAsync_13000.is_some();
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(s.here.stream)));
    t.line("  the first range", || if batched { last_prefetch(cu, first) } else { "1,1,1".into() });
    t.line("  the second range", || if batched { last_prefetch(cu, second) } else { "0,1,0".into() });
    need!(cu, cuMemFree_3020(first))?;
    need!(cu, cuMemFree_3020(second))
}
