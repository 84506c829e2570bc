//! What the driver knows of a pointer.

use crate::{NOWHERE, context, driver, stream};
use cushim::Status;
use cushim::driver::sys;
use cushim::memory::{DeviceMemory, DevicePointer, PinnedMemory, PinnedOptions, PointerAttributes};

fn attributes(address: u64) -> PointerAttributes {
    context().pointer_attributes(address).expect("attributes of any address")
}

#[test]
fn device_memory() {
    let context = context();
    let (memory, other) = (
        DeviceMemory::allocate(&context, 4096).expect("memory"),
        DeviceMemory::allocate(&context, 4096).expect("memory"),
    );
    let inside = memory.pointer().offset(100).expect("an address");
    let known = attributes(inside.0);
    assert_eq!(known.memory_type, Some(sys::CU_MEMORYTYPE_DEVICE));
    assert_eq!((known.device, known.context), (Some(0), context.native()));
    assert_eq!((known.device_pointer, known.host_pointer.is_null()), (inside, true));
    assert_eq!(known.range, Some((memory.pointer(), 4096)));
    assert_eq!((known.managed, known.mapped, known.pool.is_null()), (false, true, true));
    assert!(known.buffer_id.is_some() && known.buffer_id != attributes(other.pointer().0).buffer_id);
}

#[test]
fn pinned_memory() {
    let context = context();
    let memory = PinnedMemory::allocate(&context, 4096, PinnedOptions::default()).expect("memory");
    let known = attributes(memory.address().expose_provenance() as u64);
    assert_eq!(known.memory_type, Some(sys::CU_MEMORYTYPE_HOST));
    assert_eq!(known.host_pointer, memory.address());
    assert_eq!(known.device_pointer, memory.device_pointer().expect("the device reaches it"));
    assert_eq!(known.range.map(|(_, bytes)| bytes), Some(4096));
}

#[test]
fn memory_of_a_pool() {
    let stream = stream(&context());
    let memory = DeviceMemory::allocate_on(&stream, 4096).expect("memory");
    stream.synchronize().expect("done");
    let known = attributes(memory.pointer().0);
    assert_eq!(known.memory_type, Some(sys::CU_MEMORYTYPE_DEVICE));
    assert!(!known.pool.is_null());
}

#[test]
fn what_is_none_of_the_drivers() {
    let local = 0u64;
    for address in [0, NOWHERE, (&raw const local).expose_provenance() as u64] {
        let unknown = attributes(address);
        assert_eq!((unknown.memory_type, unknown.device, unknown.range), (None, None, None));
        assert!(
            unknown.context.is_null() && unknown.device_pointer.is_null() && unknown.host_pointer.is_null()
        );
        assert!(unknown.pool.is_null() && !unknown.managed && unknown.buffer_id.is_none());
    }
}

/// Any thread may ask, although no context is current there.
#[test]
fn no_context_is_needed() {
    let memory = DeviceMemory::allocate(&context(), 64).expect("memory");
    let address = memory.pointer().0;
    let ask = move || {
        let known = PointerAttributes::of(&driver(), address).expect("attributes");
        (known.memory_type, known.range)
    };
    let known = std::thread::spawn(ask).join().expect("no panic");
    assert_eq!(known, (Some(sys::CU_MEMORYTYPE_DEVICE), Some((memory.pointer(), 64))));
}

#[test]
fn address_ranges() {
    let context = context();
    let memory = DeviceMemory::allocate(&context, 4096).expect("memory");
    for offset in [0, 1, 4095] {
        let inside = memory.pointer().offset(offset).expect("an address");
        assert_eq!(context.address_range(inside), Ok((memory.pointer(), 4096)));
    }
    for outside in [DevicePointer::NULL, DevicePointer(NOWHERE)] {
        let error = context.address_range(outside).expect_err("nothing there");
        assert_eq!((error.status, error.function.as_str()), (Status(500), "cuMemGetAddressRange"));
    }
}

#[test]
fn free_memory_is_part_of_all() {
    let (free, total) = context().memory_info().expect("known");
    assert!(0 < free && free <= total, "{free} of {total}");
}

#[test]
fn pointers_are_numbers() {
    let pointer = DevicePointer(0xff00);
    assert_eq!(pointer.offset(0xff), Some(DevicePointer(0xffff)));
    assert_eq!(DevicePointer(u64::MAX).offset(1), None);
    assert!(DevicePointer::NULL.is_null() && !pointer.is_null());
    assert_eq!(
        (pointer.to_string(), format!("{pointer:?}")),
        ("0xff00".into(), "DevicePointer(0xff00)".into())
    );
}
