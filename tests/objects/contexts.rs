//! Devices, contexts, and which context is current.

use crate::{device, driver};
use cushim::driver::sys;
use cushim::{Context, ContextKind, Feature, Status};

#[test]
fn features_are_asked_by_name() {
    let device = device();
    for feature in Feature::ALL {
        device.supports(*feature).unwrap_or_else(|error| panic!("{feature}: {error}"));
        assert_eq!(feature.name().parse(), Ok(*feature));
    }
    assert!(device.supports(Feature::MemoryPools).expect("known"));
    assert!(!device.supports(Feature::PageableMemoryAccess).expect("known"));
    let error = "pools".parse::<Feature>().expect_err("no such feature");
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
    assert!(current.object.expect("it is ours") == context);
    let popped = Context::pop(&driver).expect("popped");
    assert_eq!(popped.native, context.native());
    assert!(popped.object.expect("it is ours") == context);
    let error = Context::pop(&driver).expect_err("the stack is empty");
    assert_eq!(error.status.0, sys::CUDA_ERROR_INVALID_CONTEXT.0);
    assert_eq!(error.driver_code_name, "CUDA_ERROR_INVALID_CONTEXT");
}

#[test]
fn a_created_context_has_the_defaults() {
    let device = device();
    let context = Context::create(&device, 0).expect("a context");
    assert_eq!((context.kind(), context.lost()), (ContextKind::Created, None));
    assert_eq!(context.flags().expect("flags"), 0);
    assert_eq!(context.limit(sys::CU_LIMIT_STACK_SIZE).expect("a limit"), 1024);
}
