//! Copies between contexts, and between devices.

use crate::{alone, context, driver, holding, numbered, read, stream};
use cushim::driver::{Choice, OpenOptions};
use cushim::memory::{Extent, Place, Region};
use cushim::{Context, Device, Status};
use std::sync::Arc;
use std::time::Duration;

/// Copies there and back, all four ways.
fn between(here: &Arc<Context>, there: &Arc<Context>) {
    let data = numbered(4096);
    let (source, target) = (holding(here, &data), holding(there, &[0; 4096]));
    let (from, to) = ((here.as_ref(), source.pointer()), (there.as_ref(), target.pointer()));
    let stream = stream(here);
    let clear = || drop(holding(there, &[0; 4096]));
    let arrived = || read(there, target.place(), 4096);
    let (rows, flat) = (Region::new(target.place(), 64), Region::new(source.place(), 32));
    let expected: Vec<u8> = data
        .chunks(32)
        .take(16)
        .flat_map(|row| [row, &[0; 32]].concat())
        .chain(vec![0; 4096 - 16 * 64])
        .collect();
    // SAFETY: all ends hold so many bytes, and last until the stream is done.
    unsafe {
        here.copy_peer(to, from, 4096).expect("copied");
        assert!(arrived() == data, "at once");
        there.fill(target.pointer(), cushim::memory::Fill::U8(0), 4096).expect("cleared");
        stream.copy_peer(to, from, 4096).expect("copied");
        stream.synchronize().expect("done");
        assert!(arrived() == data, "in a stream");
        let (to, from, extent) = ((there.as_ref(), &rows), (here.as_ref(), &flat), Extent::rectangle(32, 16));
        there.fill(target.pointer(), cushim::memory::Fill::U8(0), 4096).expect("cleared");
        here.copy_box_peer(to, from, extent).expect("copied");
        assert!(arrived() == expected, "a box at once");
        there.fill(target.pointer(), cushim::memory::Fill::U8(0), 4096).expect("cleared");
        stream.copy_box_peer(to, from, extent).expect("copied");
        stream.synchronize().expect("done");
        assert!(arrived() == expected, "a box in a stream");
    }
    clear();
}

#[test]
fn two_contexts_of_a_device() {
    let context = context();
    let other = Context::create(context.device(), 0).expect("a context");
    between(&context, &other);
    between(&other, &context);
    between(&context, &context);
}

#[test]
fn two_devices() {
    alone("peers::two_devices", &[("SOFTCUDA_DEVICES", "2")], || {
        let driver = driver();
        if Device::count(&driver).expect("counted") < 2 {
            return; // a machine with one GPU
        }
        let contexts = [0, 1].map(|ordinal| {
            Device::get(&driver, ordinal).expect("a device").primary_context().expect("a context")
        });
        between(&contexts[0], &contexts[1]);
        between(&contexts[1], &contexts[0]);
    });
}

/// The driver would wait for the memory's own device, but not for another one.
#[test]
fn a_stream_of_another_device_is_waited_for_before_memory_goes() {
    alone(
        "peers::a_stream_of_another_device_is_waited_for_before_memory_goes",
        &[("SOFTCUDA_DEVICES", "2")],
        || {
            let driver = driver();
            if Device::count(&driver).expect("counted") < 2 {
                return; // a machine with one GPU
            }
            let memory = holding(&context(), &[0; 64]);
            let other = Device::get(&driver, 1).expect("a device").primary_context().expect("a context");
            let stream = stream(&other);
            stream.launch_host_function(|| std::thread::sleep(Duration::from_millis(100))).expect("launched");
            memory.free_on(&stream).expect("freed");
            assert!(stream.query().expect("asked"));
        },
    );
}

#[test]
fn ends_are_checked() {
    let context = context();
    let memory = holding(&context, &[0; 64]);
    let (good, null) =
        ((context.as_ref(), memory.pointer()), (context.as_ref(), cushim::memory::DevicePointer::NULL));
    let stream = stream(&context);
    // SAFETY: everything is refused, or copies nothing.
    unsafe {
        for (result, end) in [
            (context.copy_peer(null, good, 8), "the destination is NULL"),
            (stream.copy_peer(good, null, 8), "the source is NULL"),
        ] {
            let error = result.expect_err(end);
            assert_eq!((error.status, error.message.as_str()), (Status::INVALID_ARGUMENT, end));
        }
        assert_eq!(stream.copy_peer(null, null, 0), Ok(()));
        let nothing = Region::new(Place::Auto(0), 0);
        let ends = ((context.as_ref(), &nothing), (context.as_ref(), &nothing));
        assert_eq!(context.copy_box_peer(ends.0, ends.1, Extent::rectangle(0, 1)), Ok(()));
    }
}

#[test]
fn two_drivers_do_not_mix() {
    let context = context();
    let none = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    let foreign = Device::get(&none, 0).expect("a device").primary_context().expect("a context");
    let memory = holding(&context, &[0; 64]);
    let stream = stream(&foreign);
    let (here, there) = ((context.as_ref(), memory.pointer()), (foreign.as_ref(), memory.pointer()));
    // SAFETY: everything is refused.
    unsafe {
        for result in [context.copy_peer(here, there, 8), stream.copy_peer(here, there, 8)] {
            let error = result.expect_err("another driver's");
            assert_eq!(error.status, Status::INVALID_HANDLE);
            assert!(error.message.contains("another driver"), "{error}");
        }
    }
    let error = memory.free_on(&stream).expect_err("another driver's");
    assert_eq!(error.status, Status::INVALID_HANDLE);
    assert!(error.message.contains("64 bytes of device memory at 0x"), "{error}");
}
