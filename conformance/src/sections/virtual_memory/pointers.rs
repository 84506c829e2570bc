//! What pointers to virtual memory are, and how its bytes are used.

use super::{UNIT, mapped, reserved};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
    CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CUdeviceptr, CUpointer_attribute,
};

/// Names of attributes that are numbers, and whether of eight bytes.
const ATTRIBUTES: [(&str, CUpointer_attribute); 10] = [
    ("context", CU_POINTER_ATTRIBUTE_CONTEXT),
    ("memory type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
    ("is managed", CU_POINTER_ATTRIBUTE_IS_MANAGED),
    ("device", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL),
    ("is mapped", CU_POINTER_ATTRIBUTE_MAPPED),
    ("handle types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES),
    ("pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE),
    ("range size", CU_POINTER_ATTRIBUTE_RANGE_SIZE),
    ("mapping size", CU_POINTER_ATTRIBUTE_MAPPING_SIZE),
    ("access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
];

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let address = reserved(cu, 4)?;
    let unit = UNIT as u64;
    attributes(t, cu, "reserved", address, address);
    let first = mapped(cu, address)?;
    let second = mapped(cu, address + unit)?;
    attributes(t, cu, "first", address, address + 4096);
    attributes(t, cu, "second", address, address + unit);
    let alias = reserved(cu, 1)?;
    need!(cu, cuMemMap_10020(alias, UNIT, 0, first, 0))?;
    need!(cu, cuMemSetAccess_10020(alias, UNIT, &raw const super::OPEN, 1))?;
    let read = |address| -> Answer {
        let mut bytes = [0u8; 8];
        call!(cu, cuMemcpyDtoH_3020(bytes.as_mut_ptr().cast(), address, 8)).then(|| format!("{bytes:?}"))
    };
    t.line("fill one address", || call!(cu, cuMemsetD8_3020(address, 7, UNIT)));
    t.line("  read by the other", || read(alias));
    t.line("fill over two mappings", || call!(cu, cuMemsetD8_3020(address + unit - 4, 9, 8)));
    t.line("  read over two mappings", || read(address + unit - 4));
    t.line("  by the other address of the first", || read(alias + unit - 8));
    t.line("read into a gap", || read(address + 2 * unit - 4));
    t.line("fill into a gap", || call!(cu, cuMemsetD8_3020(address + 2 * unit - 4, 9, 8)));
    t.line("read where nothing is mapped", || read(address + 2 * unit));
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("free it as memory", || call!(cu, cuMemFree_3020(address)));
    t.line("free it as memory, in a stream", || call!(cu, cuMemFreeAsync_11020(address, stream)));
    t.line("release both", || {
        Answer::all([call!(cu, cuMemRelease_10020(first)), call!(cu, cuMemRelease_10020(second))])
    });
    t.line("  read what is still mapped", || read(address));
    t.line("  unmap", || call!(cu, cuMemUnmap_10020(address, 2 * UNIT)));
    t.line("  read by the other address", || read(alias));
    let mut handle = 0;
    t.line("another reset of the context: read", || {
        let reset = call!(cu, cuDevicePrimaryCtxReset_11000(0));
        reset.and(|| cu.start().map_or_else(Answer::from, |_| read(alias)))
    });
    t.line("  its handle by address", || {
        let alias = std::ptr::without_provenance_mut(alias as usize);
        call!(cu, cuMemRetainAllocationHandle_11000(&raw mut handle, alias))
    });
    Ok(())
}

fn attributes(t: &mut Lines, cu: &Cu, what: &str, base: CUdeviceptr, address: CUdeviceptr) {
    let ask = |attribute, address| -> (Answer, u64) {
        let mut value = 0u64;
        (call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), attribute, address)), value)
    };
    for (name, attribute) in ATTRIBUTES {
        t.line(&format!("{what}: {name}"), || {
            let (answer, value) = ask(attribute, address);
            answer.then(|| value)
        });
    }
    t.line(&format!("{what}: range start"), || {
        let (answer, value) = ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
        answer.then(|| value as i64 - base as i64)
    });
}
