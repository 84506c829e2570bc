//! What errors say of the objects that they are about.

use crate::{Softcuda, alone, context, device, stream};
use cushim::driver::OpenOptions;
use cushim::graph::Graph;
use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
use cushim::memory::{Buffer, DeviceMemory, DevicePoolOptions, PinnedMemory, PinnedOptions, Resource};
use cushim::op::{Arguments, Copy, Copy3d, Endpoint, Extent, Launch, Memset, Region, Value};
use cushim::{Context, Error, Event, EventOptions, Status, Stream, StreamOptions};
use std::collections::HashSet;

/// A driver's answer is a number for everything: the sentence names the object, by its label if it has one.
#[test]
fn an_answer_of_the_driver_comes_with_the_object() {
    alone("errors::an_answer_of_the_driver_comes_with_the_object", &[("SOFTCUDA_VERSION", "12.4")], each);
}

fn each() {
    const EMPTY: &str = ".version 7.0 .target sm_70 .address_size 64 .visible .entry nothing() { ret; }";
    let softcuda = Softcuda::open();
    let context = Context::create(&device(), 0).expect("a context");
    let (copying, unnamed) = (stream(&context), stream(&context));
    let event = Event::create(&context, &EventOptions::default()).expect("an event");
    let pool = Resource::device_pool(&device(), &DevicePoolOptions::default()).expect("a pool");
    let buffer = Buffer::create(&pool, 64, Some(&copying)).expect("a buffer");
    let image = Image::new(EMPTY).expect("an image");
    let library = Library::load(&context, &image, &LoadOptions::default()).expect("a library");
    let kernel = library.kernel("nothing").expect("a kernel");
    context.set_label(Some("worker"));
    copying.set_label(Some("copying"));
    event.set_label(Some("done"));
    buffer.set_label(Some("weights"));
    pool.set_label(Some("cache"));
    let mut host = [0u8; 64];
    let host = host.as_mut_ptr();
    let copy = || Copy::new(Endpoint::host(host), buffer.at(0), 64);
    let rows = || Region::new(buffer.at(0), 16);
    let box_in = || Copy3d::new(rows(), Region::new(Endpoint::host(host), 8), Extent::rectangle(8, 4));
    let set = || Memset::new(buffer.at(0), Value::U8(1), 64);
    let launch = || {
        let (config, mut arguments) = (LaunchConfig::new(1, 1), Arguments::new());
        // SAFETY: the kernel does nothing.
        unsafe { copying.enqueue(&mut Launch::new(&kernel, &config, &mut arguments)) }
    };
    type Call<'a> = &'a dyn Fn() -> Result<(), Error>;
    // SAFETY: everything is refused, or stays within its memory.
    let calls: [(&str, &str, Call); 18] = unsafe {
        [
            ("cuStreamSynchronize", "stream \"copying\"", &|| copying.synchronize()),
            ("cuStreamSynchronize", "stream", &|| unnamed.synchronize()),
            ("cuStreamQuery", "stream \"copying\"", &|| copying.query().map(drop)),
            ("cuStreamWaitEvent", "stream \"copying\"", &|| copying.wait_event(&event)),
            ("cuLaunchHostFunc", "stream \"copying\"", &|| copying.launch_host_function(|| ())),
            ("cuMemAllocAsync", "stream \"copying\"", &|| copying.allocate(64).map(drop)),
            ("cuMemcpyDtoHAsync", "stream \"copying\"", &|| copying.enqueue(&mut copy())),
            ("cuMemcpy3DAsync", "stream \"copying\"", &|| copying.enqueue(&mut box_in())),
            ("cuMemsetD8Async", "stream \"copying\"", &|| copying.enqueue(&mut set())),
            ("cuEventQuery", "event \"done\"", &|| event.query().map(drop)),
            ("cuEventRecord", "event \"done\"", &|| event.record(&copying)),
            ("cuLaunchKernelEx", "kernel nothing", &launch),
            ("cuCtxSynchronize", "context \"worker\" of device 0", &|| context.synchronize()),
            ("cuMemAlloc", "context \"worker\" of device 0", &|| {
                DeviceMemory::allocate(&context, 64).map(drop)
            }),
            ("cuMemHostAlloc", "context \"worker\" of device 0", &|| {
                PinnedMemory::allocate(&context, 64, PinnedOptions::default()).map(drop)
            }),
            ("cuMemcpyDtoH", "context \"worker\" of device 0", &|| context.run(&mut copy())),
            ("cuDeviceGetName", "device 0", &|| device().name().map(drop)),
            ("cuMemPoolTrimTo", "device pool \"cache\"", &|| pool.trim(0)),
        ]
    };
    for (function, object, call) in calls {
        softcuda.fault(&format!("{function}#1=999"));
        let error = call().expect_err(function);
        assert_eq!((error.status, error.driver_code), (Status(999), 999), "{error}");
        let expected = format!("{object}: {function} answered CUDA_ERROR_UNKNOWN (999)");
        assert!(error.message.starts_with(&expected), "{error}");
        assert_eq!((error.function.as_str(), error.object.as_str()), (function, object));
        assert_eq!(error.label, object.split('"').nth(1).unwrap_or_default());
        softcuda.fault("");
        assert_eq!(call(), Ok(()), "{function}: nothing is left of it");
    }
    copying.synchronize().expect("done");
}

/// What a destroy answers for names what was destroyed.
#[test]
fn a_release_that_fails_says_what_was_to_be_released() {
    alone("errors::a_release_that_fails_says_what_was_to_be_released", &[], || {
        let (softcuda, context) = (Softcuda::open(), context());
        let stream = stream(&context);
        stream.set_label(Some("copying"));
        let pool = Resource::device_pool(context.device(), &DevicePoolOptions::default()).expect("a pool");
        let buffer = Buffer::create(&pool, 64, Some(&stream)).expect("a buffer");
        buffer.set_label(Some("weights"));
        softcuda.fault("cuMemFreeAsync#1=999");
        let error = Buffer::destroy(buffer).expect_err("refused");
        assert_eq!((error.status, error.object.as_str()), (Status(999), "buffer \"weights\""));
        for part in ["cuMemFreeAsync answered", "64 bytes of", "are leaked", "stream \"copying\""] {
            assert!(error.message.contains(part), "{error}");
        }
    });
}

/// What `main` and `unwrap` print is the sentence, and not a page of fields.
#[test]
fn debug_of_an_error_is_its_sentence() {
    let context = device().primary_context().expect("a context");
    let error =
        Stream::create(&context, &StreamOptions::default().priority(1000)).expect_err("no such priority");
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(format!("{error:#?}").contains("driver_code: 0"), "the fields are there for those who ask");
    let refused = Library::load(
        &context,
        &Image::new(".version 7.0 .target sm_70 nonsense").expect("text"),
        &LoadOptions::default(),
    );
    let refused = refused.expect_err("no PTX");
    assert!(!refused.driver_log.is_empty() && format!("{refused:?}").contains(refused.driver_log.trim_end()));
    let missing = OpenOptions::new().path("/nonexistent/libcuda.so.1").open().expect_err("there is none");
    assert_eq!(format!("{missing:?}"), missing.to_string());
}

/// Objects are compared, and found in sets, by what they are and not by where a hold on them is.
#[test]
#[allow(clippy::mutable_key_type)] // what changes in an object is not what it is compared by
fn objects_are_keys() {
    let context = device().primary_context().expect("a context");
    let (one, other) = (stream(&context), stream(&context));
    let event = Event::create(&context, &EventOptions::default()).expect("an event");
    let streams = HashSet::from([one.clone(), other.clone(), one.clone()]);
    assert!(streams.len() == 2 && streams.contains(&one) && one != other);
    assert!(
        HashSet::from([event.clone()]).contains(&event)
            && HashSet::from([context.clone()]).contains(&context)
    );
    let graph = Graph::create(&context).expect("a graph");
    assert_eq!(HashSet::from([graph.clone(), graph.clone()]).len(), 1);
}
