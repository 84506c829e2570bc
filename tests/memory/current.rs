//! Which context is current, before and after.

use crate::{context, holding, stream};
use cushim::driver::sys;
use cushim::memory::{DeviceMemory, PinnedMemory, PinnedOptions, Registration, RegistrationOptions};
use cushim::op::{Copy, Copy3d, Endpoint, Extent, Memset, Region, Value};
use cushim::{Context, Stream};

/// Every call of this area, on this thread.
pub(crate) fn everything(context: &Context) {
    let created = stream(context);
    let mut bytes = vec![0u8; 1 << 16];
    let host = bytes.as_mut_ptr();
    // SAFETY: all ends hold so many bytes, and last until the streams are done.
    unsafe {
        let memory = holding(context, &[0; 4096]);
        let named = |offset| memory.at(offset).in_context(context);
        let out = || Copy::new(Endpoint::host(host), memory.at(0), 4096);
        let within = || Copy::new(named(0), named(2048), 1024);
        let box_out = || {
            let (to, from) = (Region::new(Endpoint::host(host), 64), Region::new(memory.at(0), 64));
            Copy3d::new(to, from, Extent::rectangle(64, 64))
        };
        let box_in = || {
            let (to, from) = (Region::new(named(0), 64), Region::new(Endpoint::host(host), 64));
            Copy3d::new(to, from, Extent::rectangle(64, 64))
        };
        let set = || Memset::new(memory.at(0), Value::U8(1), 4096);
        let rows = || Memset::rectangle(memory.at(0), 64, Value::U8(1), 60, 64);
        context.run(&mut out()).unwrap();
        context.run(&mut box_out()).unwrap();
        context.run(&mut within()).unwrap();
        context.run(&mut box_in()).unwrap();
        context.run(&mut set()).unwrap();
        context.run(&mut rows()).unwrap();
        context.address_range(memory.pointer()).unwrap();
        context.memory_info().unwrap();
        for stream in [created, Stream::legacy(context), Stream::per_thread(context)] {
            stream.enqueue(&mut out()).unwrap();
            stream.enqueue(&mut box_out()).unwrap();
            stream.enqueue(&mut within()).unwrap();
            stream.enqueue(&mut box_in()).unwrap();
            stream.enqueue(&mut set()).unwrap();
            stream.enqueue(&mut rows()).unwrap();
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
