//! What is left after the primary context was reset under somebody's feet.

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_CONTEXT,
    CUcontext, CUdeviceptr, CUevent, CUmemoryPool, CUstream,
};
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "reset", parts: 2 + APART.len(), devices: 1, run };

type Question = (&'static str, fn(&Cu, CUstream, CUevent) -> Answer);

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("old stream query", |cu, stream, _| call!(cu, cuStreamQuery_2000(stream))),
    ("old stream destroy", |cu, stream, _| call!(cu, cuStreamDestroy_4000(stream))),
    ("old stream synchronize", |cu, stream, _| call!(cu, cuStreamSynchronize_2000(stream))),
    ("old stream waits for old event", |cu, stream, event| {
        call!(cu, cuStreamWaitEvent_3020(stream, event, 0))
    }),
    ("old event query", |cu, _, event| call!(cu, cuEventQuery_2000(event))),
    ("old event record", |cu, stream, event| call!(cu, cuEventRecord_2000(event, stream))),
    ("old event synchronize", |cu, _, event| call!(cu, cuEventSynchronize_2000(event))),
    ("old event destroy", |cu, _, event| call!(cu, cuEventDestroy_4000(event))),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    if part > APART.len() {
        return memory_of_a_pool(t, cu);
    }
    let context = cu.start()?;
    let (stream, event, memory) = (cu.stream(NON_BLOCKING)?, cu.event(0)?, cu.memory(4096)?);
    if let Some(apart) = part.checked_sub(1) {
        need!(cu, cuDevicePrimaryCtxReset_11000(0))?;
        let (situation, ask) = APART[apart];
        t.line(situation, || ask(cu, stream, event));
        return Ok(());
    }
    let (mut flags, mut active, mut current, mut again, mut address) = (99, 99, null_mut(), null_mut(), 0);
    t.line("primary reset", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    t.line("active", || {
        call!(cu, cuDevicePrimaryCtxGetState_7000(0, &raw mut flags, &raw mut active)).then(|| active)
    });
    t.line("current after reset is same", || {
        call!(cu, cuCtxGetCurrent_4000(&raw mut current)).then(|| yes(current == context))
    });
    t.line("old memory free", || call!(cu, cuMemFree_3020(memory)));
    t.line("alloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("retain again", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut again, 0)));
    t.line("same handle", || yes(again == context));
    t.line("alloc after retain", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("stream after retain", || {
        let mut stream = null_mut();
        call!(cu, cuStreamCreate_2000(&raw mut stream, NON_BLOCKING))
    });
    need!(cu, cuDevicePrimaryCtxRelease_11000(0))?;
    t.line("release of the retain before the reset", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("release over count", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    Ok(())
}

fn context_of(cu: &Cu, address: CUdeviceptr) -> Answer {
    let mut context: CUcontext = null_mut();
    let asked = call!(
        cu,
        cuPointerGetAttribute_4000((&raw mut context).cast(), CU_POINTER_ATTRIBUTE_CONTEXT, address)
    );
    asked.then(|| if context.is_null() { "NULL" } else { "a context" })
}

fn id_of(cu: &Cu, address: CUdeviceptr) -> u64 {
    let mut id = 0u64;
    let _ =
        call!(cu, cuPointerGetAttribute_4000((&raw mut id).cast(), CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    id
}

fn used(cu: &Cu, pool: CUmemoryPool) -> Answer {
    let mut bytes = 0u64;
    let which = CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    call!(cu, cuMemPoolGetAttribute_11020(pool, which, (&raw mut bytes).cast())).then(|| bytes)
}

/// Memory of the default pool, of streams of the context that is reset and of one that is not.
fn memory_of_a_pool(t: &mut Lines, cu: &Cu) -> Outcome {
    let reset = cu.start()?;
    let (gone, pool) = (cu.stream(NON_BLOCKING)?, cu.default_pool()?);
    let mine = cu.context()?;
    let there = cu.stream(NON_BLOCKING)?;
    need!(cu, cuCtxSetCurrent_4000(reset))?;
    let [mut first, mut second, mut living] = [0; 3];
    for (address, stream) in [(&mut first, gone), (&mut second, gone), (&mut living, there)] {
        need!(cu, cuMemAllocAsync_11020(&raw mut *address, 4096, stream))?;
        need!(cu, cuStreamSynchronize_2000(stream))?;
    }
    let id = id_of(cu, first);
    t.line("memory of a pool: its context", || context_of(cu, first));
    t.line("  and that of another context's stream", || context_of(cu, living));
    t.line("  used", || used(cu, pool));
    need!(cu, cuDevicePrimaryCtxReset_11000(0))?;
    need!(cu, cuCtxSetCurrent_4000(mine))?;
    t.line("after the reset: its context", || context_of(cu, first));
    t.line("  has the same buffer ID", || yes(id_of(cu, first) == id));
    t.line("  used", || used(cu, pool));
    t.line("  memset in a stream of another context", || {
        call!(cu, cuMemsetD8Async_3020(first, 1, 4096, there))
            .and(|| call!(cu, cuStreamSynchronize_2000(there)))
    });
    t.line("  cuMemFreeAsync in a stream of the reset one", || call!(cu, cuMemFreeAsync_11020(living, gone)));
    t.line("  cuMemFreeAsync in a stream of another", || {
        call!(cu, cuMemFreeAsync_11020(first, there)).and(|| call!(cu, cuStreamSynchronize_2000(there)))
    });
    t.line("  used", || used(cu, pool));
    t.line("  cuMemFree after it", || call!(cu, cuMemFree_3020(first)));
    t.line("  cuMemFreeAsync of another stream's", || {
        call!(cu, cuMemFreeAsync_11020(living, there)).and(|| call!(cu, cuStreamSynchronize_2000(there)))
    });
    t.line("  used", || used(cu, pool));
    t.line("  cuMemFree of what is left", || call!(cu, cuMemFree_3020(second)));
    t.line("  and again", || call!(cu, cuMemFree_3020(second)));
    Ok(())
}
