//! Allocation, what the pointer is, and who reads what the other has written.

use super::{SIZE, managed, stream};
use crate::driver::{Answer, Cu, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUdeviceptr, CUpointer_attribute,
};
use std::ptr::null_mut;

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    refusals(t, cu);
    pointer(t, cu)?;
    content(t, cu)?;
    released(t, cu)
}

fn refusals(t: &mut Lines, cu: &Cu) {
    let mut address = 0;
    t.line("allocate 0", || call!(cu, cuMemAllocManaged_6000(&raw mut address, 0, 1)));
    for flags in [0, 3, 4] {
        t.line(&format!("allocate with flags {flags}"), || {
            call!(cu, cuMemAllocManaged_6000(&raw mut address, SIZE, flags))
        });
    }
    t.line("allocate for the host", || call!(cu, cuMemAllocManaged_6000(&raw mut address, SIZE, 2)));
    t.line("allocate to NULL", || call!(cu, cuMemAllocManaged_6000(null_mut(), SIZE, 1)));
    t.line("allocate huge", || call!(cu, cuMemAllocManaged_6000(&raw mut address, crate::driver::HUGE, 1)));
}

fn pointer(t: &mut Lines, cu: &Cu) -> Outcome {
    let memory = managed(cu)?;
    let narrow = |which: CUpointer_attribute| -> Answer {
        let mut value = 0u32;
        call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, memory + 100)).then(|| value)
    };
    let wide = |which: CUpointer_attribute| -> Answer {
        let mut value: CUdeviceptr = 0;
        let asked = call!(cu, cuPointerGetAttribute_4000((&raw mut value).cast(), which, memory + 100));
        asked.then(|| yes(value == memory + 100))
    };
    t.line("is managed", || narrow(CU_POINTER_ATTRIBUTE_IS_MANAGED));
    t.line("memory type", || narrow(CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
    t.line("host pointer is the same", || wide(CU_POINTER_ATTRIBUTE_HOST_POINTER));
    t.line("device pointer is the same", || wide(CU_POINTER_ATTRIBUTE_DEVICE_POINTER));
    let host = std::ptr::without_provenance_mut(memory as usize);
    t.line("register it", || call!(cu, cuMemHostRegister_6050(host, 4096, 0)));
    t.line("its flags as host memory", || {
        let mut flags = 0;
        call!(cu, cuMemHostGetFlags_2030(&raw mut flags, host)).then(|| flags)
    });
    Ok(())
}

fn content(t: &mut Lines, cu: &Cu) -> Outcome {
    let (a, b, stream) = (managed(cu)?, managed(cu)?, stream(cu)?);
    // The driver gives these addresses to the host too.
    let byte = |address: CUdeviceptr| std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    let read = |address: CUdeviceptr| {
        // SAFETY: managed memory of this section, while no work is under way.
        unsafe { byte(address).read_volatile() }
    };
    t.line("memset", || call!(cu, cuMemsetD8_3020(a, 5, SIZE)));
    t.line("  the host reads it at once", || read(a + SIZE as u64 - 1).to_string());
    // SAFETY: as above.
    unsafe { byte(a).write_volatile(9) };
    t.line("copy async", || call!(cu, cuMemcpyAsync_4000(b, a, SIZE, stream)));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("  what the host wrote is copied", || read(b).to_string());
    t.line("copy past the end", || call!(cu, cuMemcpyAsync_4000(b, a, 2 * SIZE, stream)));
    need!(cu, cuMemFree_3020(a))?;
    need!(cu, cuMemFree_3020(b))
}

fn released(t: &mut Lines, cu: &Cu) -> Outcome {
    let (memory, stream) = (managed(cu)?, stream(cu)?);
    t.line("cuMemFree interior", || call!(cu, cuMemFree_3020(memory + 4096)));
    t.line("cuMemFreeAsync", || call!(cu, cuMemFreeAsync_11020(memory, stream)));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("cuMemFree after it", || call!(cu, cuMemFree_3020(memory)));
    let memory = managed(cu)?;
    t.line("cuMemFree", || call!(cu, cuMemFree_3020(memory)));
    t.line("cuMemFree again", || call!(cu, cuMemFree_3020(memory)));
    Ok(())
}
