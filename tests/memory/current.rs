//! Which context is current, before and after.

use crate::{context, holding, stream};
use cushim::driver::sys;
use cushim::memory::{
    DeviceMemory, Extent, Fill, PinnedMemory, PinnedOptions, Place, Region, Registration, RegistrationOptions,
};
use cushim::{Context, Stream};
use std::sync::Arc;

/// Every call of this area, on this thread.
pub(crate) fn everything(context: &Arc<Context>) {
    let created = stream(context);
    let mut bytes = vec![0u8; 1 << 16];
    let host = Place::host(bytes.as_mut_slice());
    // SAFETY: all ends hold so many bytes, and last until the streams are done.
    unsafe {
        let memory = holding(context, &[0; 4096]);
        let (at, rows) = (memory.pointer(), Region::new(memory.place(), 64));
        let (there, extent) = (Region::new(host, 64), Extent::rectangle(64, 64));
        context.copy(host, memory.place(), 4096).unwrap();
        context.copy_box(&there, &rows, extent).unwrap();
        context.copy_peer((context, at), (context, at.offset(2048).unwrap()), 1024).unwrap();
        context.copy_box_peer((context, &rows), (context, &there), extent).unwrap();
        context.fill(at, Fill::U8(1), 4096).unwrap();
        context.fill_2d(at, 64, Fill::U8(1), 60, 64).unwrap();
        context.address_range(at).unwrap();
        context.memory_info().unwrap();
        for stream in [created, Stream::legacy(context), Stream::per_thread(context)] {
            stream.copy(host, memory.place(), 4096).unwrap();
            stream.copy_box(&there, &rows, extent).unwrap();
            stream.copy_peer((context, at), (context, at.offset(2048).unwrap()), 1024).unwrap();
            stream.copy_box_peer((context, &rows), (context, &there), extent).unwrap();
            stream.fill(at, Fill::U8(1), 4096).unwrap();
            stream.fill_2d(at, 64, Fill::U8(1), 60, 64).unwrap();
            stream.synchronize().unwrap();
            DeviceMemory::allocate_on(&stream, 64).unwrap().free().unwrap();
            DeviceMemory::allocate_on(&stream, 64).unwrap().free_on(&stream).unwrap();
            DeviceMemory::allocate(context, 64).unwrap().free_on(&stream).unwrap();
            stream.synchronize().unwrap();
        }
        let pinned = PinnedMemory::allocate(context, 64, PinnedOptions::default()).unwrap();
        pinned.device_pointer().unwrap();
        pinned.free().unwrap();
        let (address, options) = (bytes.as_mut_ptr().cast(), RegistrationOptions::default());
        let registration = Registration::register(context, address, bytes.len(), options).unwrap();
        registration.device_pointer().unwrap();
        registration.unregister().unwrap();
        memory.free().unwrap();
    }
}

fn current(context: &Context) -> sys::CUcontext {
    Context::current(context.driver()).expect("asked").map_or(std::ptr::null_mut(), |current| current.native)
}

/// Everything works where no context is current, and afterwards none is.
#[test]
fn no_context_is_needed_and_none_is_left() {
    let context = context();
    let new_thread = std::thread::spawn(move || {
        assert!(current(&context).is_null());
        everything(&context);
        current(&context).is_null()
    });
    assert!(new_thread.join().expect("no panic"));
}

/// Everything works where another context is current, and afterwards it still is.
#[test]
fn another_context_stays_current() {
    let context = context();
    let other = Context::create(context.device(), 0).expect("a context");
    std::thread::scope(|scope| {
        let new_thread = scope.spawn(|| {
            other.set_current().expect("current");
            everything(&context);
            assert_eq!(current(&context), other.native());
            Context::clear_current(context.driver()).expect("cleared");
        });
        new_thread.join().expect("no panic");
    });
}
