//! Host memory that the driver pins.

use super::Section;
use crate::driver::{Answer, Cu, HUGE, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

pub(super) const SECTION: Section = Section { name: "hostmem", parts: 1, devices: 1, run };

const PAGE: usize = 4096;

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    cu.start()?;
    allocated(t, cu)?;
    registered(t, cu)
}

fn allocated(t: &mut Lines, cu: &Cu) -> Outcome {
    let mut host = without_provenance_mut::<c_void>(1);
    t.line("cuMemHostAlloc 0", || call!(cu, cuMemHostAlloc_2020(&raw mut host, 0, 0)));
    t.line("  pointer is null", || yes(host.is_null()));
    t.line("cuMemHostAlloc flags 8", || call!(cu, cuMemHostAlloc_2020(&raw mut host, 64, 8)));
    t.line("cuMemHostAlloc huge", || call!(cu, cuMemHostAlloc_2020(&raw mut host, HUGE, 0)));
    t.line("cuMemHostAlloc to NULL", || call!(cu, cuMemHostAlloc_2020(null_mut(), 64, 0)));
    t.line("cuMemAllocHost 0", || call!(cu, cuMemAllocHost_3020(&raw mut host, 0)));
    t.line("cuMemFreeHost NULL", || call!(cu, cuMemFreeHost_2000(null_mut())));
    let mut local = 0u64;
    t.line("cuMemFreeHost of pageable host", || call!(cu, cuMemFreeHost_2000((&raw mut local).cast())));
    need!(cu, cuMemHostAlloc_2020(&raw mut host, PAGE, 0))?;
    let address = host.addr() as u64;
    t.line("memory type of pinned memory", || memory_type(cu, address));
    let (mut device, mut flags) = (0, 99);
    t.line("its device pointer is the same", || {
        call!(cu, cuMemHostGetDevicePointer_3020(&raw mut device, host, 0)).then(|| yes(device == address))
    });
    t.line("device pointer with flags 1", || {
        call!(cu, cuMemHostGetDevicePointer_3020(&raw mut device, host, 1))
    });
    t.line("device pointer of pageable host", || {
        call!(cu, cuMemHostGetDevicePointer_3020(&raw mut device, (&raw mut local).cast(), 0))
    });
    t.line("its flags", || call!(cu, cuMemHostGetFlags_2030(&raw mut flags, host)).then(|| flags));
    t.line("flags of pageable host", || {
        call!(cu, cuMemHostGetFlags_2030(&raw mut flags, (&raw mut local).cast()))
    });
    t.line("cuMemFree of it", || call!(cu, cuMemFree_3020(address)));
    t.line("cuMemFreeHost interior", || call!(cu, cuMemFreeHost_2000(host.wrapping_byte_add(64))));
    t.line("cuMemFreeHost", || call!(cu, cuMemFreeHost_2000(host)));
    t.line("cuMemFreeHost again", || call!(cu, cuMemFreeHost_2000(host)));
    Ok(())
}

fn registered(t: &mut Lines, cu: &Cu) -> Outcome {
    let layout = Layout::from_size_align(4 * PAGE, PAGE).expect("a page is a power of two");
    // SAFETY: the size is not zero.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<c_void>();
    t.line("register", || call!(cu, cuMemHostRegister_6050(memory, 2 * PAGE, 0)));
    t.line("  memory type", || memory_type(cu, memory.addr() as u64));
    t.line("register twice", || call!(cu, cuMemHostRegister_6050(memory, 2 * PAGE, 0)));
    t.line("register what overlaps", || {
        call!(cu, cuMemHostRegister_6050(memory.wrapping_byte_add(PAGE), 2 * PAGE, 0))
    });
    t.line("cuMemFreeHost of it", || call!(cu, cuMemFreeHost_2000(memory)));
    t.line("unregister interior", || call!(cu, cuMemHostUnregister_4000(memory.wrapping_byte_add(64))));
    t.line("unregister", || call!(cu, cuMemHostUnregister_4000(memory)));
    t.line("unregister again", || call!(cu, cuMemHostUnregister_4000(memory)));
    t.line("unregister NULL", || call!(cu, cuMemHostUnregister_4000(null_mut())));
    t.line("register size 0", || call!(cu, cuMemHostRegister_6050(memory, 0, 0)));
    t.line("register flags 0x100", || call!(cu, cuMemHostRegister_6050(memory, PAGE, 0x100)));
    t.line("register NULL", || call!(cu, cuMemHostRegister_6050(null_mut(), PAGE, 0)));
    // SAFETY: allocated above with this layout, and no longer registered.
    unsafe { dealloc(memory.cast(), layout) };
    Ok(())
}

fn memory_type(cu: &Cu, address: u64) -> Answer {
    let mut kind = 0u32;
    call!(cu, cuPointerGetAttribute_4000((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))
        .then(|| kind)
}
