//! Devices, contexts, the current context and the current stream, on softcuda.

use cushim::driver::{Choice, Driver, OpenOptions, sys};
use cushim::{Context, ContextKind, Device, Feature, Ownership, Status, Stream, StreamKind};
use std::sync::Arc;

fn driver() -> Driver {
    OpenOptions::new().choice(Choice::Software).open().expect("softcuda is beside the tests")
}

fn device() -> Arc<Device> {
    Device::get(&driver(), 0).expect("softcuda has a device")
}

#[test]
fn features_are_asked_by_name() {
    let device = device();
    for feature in Feature::all() {
        device.supports(feature.name).unwrap_or_else(|error| panic!("{}: {error}", feature.name));
    }
    assert!(device.supports("memory-pools").expect("known"));
    assert!(!device.supports("pageable-memory-access").expect("known"));
    let error = device.supports("pools").expect_err("no such feature");
    assert_eq!(error.status, Status::INVALID_ARGUMENT);
    assert!(error.message.contains("memory-pools"), "{error}");
}

#[test]
fn the_driver_hands_contexts_back_as_objects() {
    let (driver, device) = (driver(), device());
    let context = Context::create(&device, 0).expect("a context");
    assert!(Context::current(&driver).expect("asked").is_none(), "creating makes nothing current");
    context.push().expect("pushed");
    let current = Context::current(&driver).expect("asked").expect("one is current");
    assert!(Arc::ptr_eq(&current.object.expect("it is ours"), &context));
    let popped = Context::pop(&driver).expect("popped");
    assert_eq!(popped.native, context.native());
    assert!(Arc::ptr_eq(&popped.object.expect("it is ours"), &context));
    let error = Context::pop(&driver).expect_err("the stack is empty");
    assert_eq!(error.status.0, sys::CUDA_ERROR_INVALID_CONTEXT.0);
    assert_eq!(error.driver_code_name, "CUDA_ERROR_INVALID_CONTEXT");
}

#[test]
fn a_context_of_others_is_unknown_until_it_is_wrapped() {
    let (driver, device) = (driver(), device());
    let (mut native, mut popped) = (std::ptr::null_mut(), std::ptr::null_mut());
    let table = driver.table();
    // SAFETY: `native` outlives what wraps it.
    let wrapped = unsafe {
        table.cuCtxCreate_3020.expect("always there")(&raw mut native, 0, device.native());
        table.cuCtxPopCurrent_4000.expect("always there")(&raw mut popped);
        Context::wrap(&device, native, Ownership::Borrowed).expect("wrapped")
    };
    assert_eq!((wrapped.kind(), wrapped.native()), (ContextKind::Wrapped, native));
    wrapped.push().expect("pushed");
    let popped = Context::pop(&driver).expect("popped");
    assert!(popped.object.is_none() && popped.native == native);
    drop(wrapped);
    // SAFETY: nothing wraps it now but the new owner, and nobody else destroys it.
    let owner = unsafe { Context::wrap(&device, native, Ownership::Owned) }.expect("wrapped");
    // SAFETY: the owner keeps it alive.
    let same = unsafe { Context::wrap(&device, native, Ownership::Borrowed) }.expect("wrapped");
    assert!(Arc::ptr_eq(&owner, &same));
    // SAFETY: as above; it is refused.
    let error = unsafe { Context::wrap(&device, native, Ownership::Owned) }.expect_err("it has an owner");
    assert_eq!(error.status, Status::INVALID_ARGUMENT);
}

#[test]
fn default_streams_are_wrapped_by_their_values() {
    let context = device().primary_context().expect("a context");
    let wrap = |value, ownership| {
        // SAFETY: these values name default streams.
        unsafe { Stream::wrap(&context, std::ptr::without_provenance_mut(value), ownership) }
    };
    for (value, kind) in [(0, StreamKind::Legacy), (1, StreamKind::Legacy), (2, StreamKind::PerThread)] {
        assert_eq!(wrap(value, Ownership::Borrowed).expect("wrapped").kind(), kind);
        let error = wrap(value, Ownership::Owned).expect_err("the driver owns it");
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
    }
}

#[test]
fn the_current_stream_is_the_threads_own() {
    let context = device().primary_context().expect("a context");
    let (first, second) = (Stream::legacy(&context), Stream::per_thread(&context));
    assert_eq!(Stream::current().expect_err("none yet").status, Status::STREAM_REQUIRED);
    first.push_current();
    second.push_current();
    assert!(Arc::ptr_eq(&Stream::current().expect("pushed"), &second));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(Stream::current().expect_err("none here").status, Status::STREAM_REQUIRED));
    });
    drop(second);
    assert_eq!(Stream::current().expect_err("it is gone").status, Status::INVALID_HANDLE);
    assert!(Stream::pop_current().expect("popped").is_none());
    assert!(Arc::ptr_eq(&Stream::pop_current().expect("popped").expect("alive"), &first));
    assert_eq!(Stream::pop_current().expect_err("none left").status, Status::STREAM_REQUIRED);
}

#[test]
fn a_created_context_has_the_defaults() {
    let device = device();
    let context = Context::create(&device, 0).expect("a context");
    assert_eq!((context.kind(), context.lost()), (ContextKind::Created, None));
    assert_eq!(context.flags().expect("flags"), 0);
    assert_eq!(context.limit(sys::CU_LIMIT_STACK_SIZE).expect("a limit"), 1024);
}
