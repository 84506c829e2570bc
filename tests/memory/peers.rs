//! Copies between contexts, and between devices.

use crate::{alone, context, driver, holding, numbered, read, stream};
use cushim::driver::{Choice, OpenOptions};
use cushim::memory::DevicePointer;
use cushim::op::{Copy, Copy3d, Endpoint, Extent, Memset, Region, Value};
use cushim::{Context, Device, Status};
use std::time::Duration;

/// Copies from one context's memory to another's, all four ways.
fn between(here: &Context, there: &Context) {
    let data = numbered(4096);
    let (source, target) = (holding(here, &data), holding(there, &[0; 4096]));
    let (from, to) = (|| source.at(0).in_context(here), || target.at(0).in_context(there));
    let all = || Copy::new(to(), from(), 4096);
    let rows = || Copy3d::new(Region::new(to(), 64), Region::new(from(), 32), Extent::rectangle(32, 16));
    let stream = stream(here);
    let arrived = || {
        let arrived = read(there, target.at(0), 4096);
        // SAFETY: the memory holds so many bytes, and nothing uses it.
        unsafe { there.run(&mut Memset::new(target.at(0), Value::U8(0), 4096)) }.expect("cleared");
        arrived
    };
    let expected: Vec<u8> = data
        .chunks(32)
        .take(16)
        .flat_map(|row| [row, &[0; 32]].concat())
        .chain(vec![0; 4096 - 16 * 64])
        .collect();
    // SAFETY: all ends hold so many bytes, and last until the stream is done.
    unsafe {
        here.run(&mut all()).expect("copied");
        assert!(arrived() == data, "at once");
        stream.enqueue(&mut all()).expect("copied");
        stream.synchronize().expect("done");
        assert!(arrived() == data, "in a stream");
        here.run(&mut rows()).expect("copied");
        assert!(arrived() == expected, "a box at once");
        stream.enqueue(&mut rows()).expect("copied");
        stream.synchronize().expect("done");
        assert!(arrived() == expected, "a box in a stream");
    }
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
fn endpoints_are_checked() {
    let context = context();
    let memory = holding(&context, &[0; 64]);
    let good = || memory.at(0).in_context(&context);
    let null = || Endpoint::device(DevicePointer::NULL).in_context(&context);
    let stream = stream(&context);
    // SAFETY: everything is refused, or copies nothing.
    unsafe {
        for (result, end) in [
            (context.run(&mut Copy::new(null(), good(), 8)), "the destination is NULL"),
            (stream.enqueue(&mut Copy::new(good(), null(), 8)), "the source is NULL"),
        ] {
            let error = result.expect_err(end);
            assert_eq!((error.status, error.message.as_str()), (Status::INVALID_ARGUMENT, end));
        }
        assert_eq!(stream.enqueue(&mut Copy::new(null(), null(), 0)), Ok(()));
        let nothing = || Region::new(null(), 0);
        let mut copy = Copy3d::new(nothing(), nothing(), Extent::rectangle(0, 1));
        assert_eq!(context.run(&mut copy), Ok(()));
    }
}

#[test]
fn two_drivers_do_not_mix() {
    let context = context();
    let none = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    let foreign = Device::get(&none, 0).expect("a device").primary_context().expect("a context");
    let memory = holding(&context, &[0; 64]);
    let stream = stream(&foreign);
    let copy = || Copy::new(memory.at(0).in_context(&context), memory.at(32).in_context(&foreign), 8);
    // SAFETY: everything is refused.
    unsafe {
        for result in [context.run(&mut copy()), stream.enqueue(&mut copy())] {
            let error = result.expect_err("another driver's");
            assert_eq!(error.status, Status::INVALID_HANDLE);
            assert!(error.message.contains("another driver"), "{error}");
        }
    }
    let error = memory.free_on(&stream).expect_err("another driver's");
    assert_eq!(error.status, Status::INVALID_HANDLE);
    assert!(error.message.contains("64 bytes of device memory at 0x"), "{error}");
}
