//! What is told about the address of memory that was allocated in a capture.

use super::super::graph::{self, Exec};
use super::super::scene::Scene;
use super::{alloc, free, keeping, with};
use crate::driver::{Answer, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MAPPED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    CUdeviceptr, CUpointer_attribute,
};

/// What is told about an address at each time.
pub(super) fn addresses(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, mut address, mut second) = (&s.cu, 0, 0);
    t.line("allocated in a capture", || s.begin().and(|| alloc(s, s.stream, &mut address)));
    known(t, s, "  meanwhile", address);
    t.line("  a second: another address", || alloc(s, s.stream, &mut second).then(|| yes(second != address)));
    t.line("  both freed, a third: an address of theirs", || {
        let mut third = 0;
        free(s, s.stream, address)
            .and(|| free(s, s.stream, second))
            .and(|| alloc(s, s.stream, &mut third))
            .then(|| yes(third == address || third == second))
    });
    s.done(t, s.stream);
    let (graph, address) = keeping(s);
    known(t, s, "ended", address);
    let exec = Exec::of(cu, graph, 0);
    t.line("instantiated", || exec.made.clone());
    known(t, s, "  then", address);
    t.line("launched", || exec.run(s.third));
    known(t, s, "  then", address);
    t.line("freed outside", || with(address, |address| call!(cu, cuMemFree_3020(address))));
    known(t, s, "  then", address);
    drop(exec);
    graph::destroy(cu, graph);
    known(t, s, "exec and graph destroyed", address);
    Ok(())
}

/// Attributes of an address.
fn known(t: &mut Lines, s: &Scene, when: &str, address: CUdeviceptr) {
    for (name, which) in [
        ("memory type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
        ("managed", CU_POINTER_ATTRIBUTE_IS_MANAGED),
        ("mapped", CU_POINTER_ATTRIBUTE_MAPPED),
        ("range size", CU_POINTER_ATTRIBUTE_RANGE_SIZE),
    ] {
        t.line(&format!("{when}: {name}"), || attribute(s, address, which));
    }
    t.line(&format!("{when}: device pointer is the same"), || {
        let mut value = 0u64;
        let which = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
        call!(s.cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, address))
            .then(|| yes(value == address))
    });
    t.line(&format!("{when}: a pool"), || {
        let mut value = 0u64;
        let which = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
        call!(s.cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, address))
            .then(|| yes(value != 0))
    });
    t.line(&format!("{when}: address range"), || {
        let (mut base, mut size) = (0, 0);
        call!(s.cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut size, address))
            .then(|| format!("{}, {size}", yes(base == address)))
    });
}

pub(super) fn attribute(s: &Scene, address: CUdeviceptr, which: CUpointer_attribute) -> Answer {
    let mut value = 0u64;
    call!(s.cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, address)).then(|| value)
}
