//! Native handles that others made: each has one object, and at most one owner.

use crate::{Softcuda, alone, context, device, driver, stream};
use cushim::driver::{Table, sys};
use cushim::graph::Graph;
use cushim::{Context, ContextKind, Device, Event, EventOptions, Ownership, Status, Stream, StreamKind};
use std::ptr::null_mut;
use std::sync::Barrier;

fn table() -> &'static Table {
    driver().table()
}

/// A context of others, which is not current.
fn foreign_context(device: &Device) -> sys::CUcontext {
    let (mut native, mut popped) = (null_mut(), null_mut());
    // SAFETY: each writes a handle.
    unsafe {
        let created = table().cuCtxCreate_3020.expect("always there")(&raw mut native, 0, device.native());
        let result = table().cuCtxPopCurrent_4000.expect("always there")(&raw mut popped);
        assert_eq!((created, result), (sys::CUDA_SUCCESS, sys::CUDA_SUCCESS));
    }
    native
}

/// A stream of others in the context.
fn foreign_stream(context: &Context) -> sys::CUstream {
    let mut native = null_mut();
    context.push().expect("pushed");
    // SAFETY: writes a handle; the context is current.
    let result = unsafe { table().cuStreamCreate_2000.expect("always there")(&raw mut native, 1) };
    assert_eq!(result, sys::CUDA_SUCCESS);
    Context::pop(context.driver()).expect("popped");
    native
}

/// An event of others in the context.
fn foreign_event(context: &Context) -> sys::CUevent {
    let mut native = null_mut();
    context.push().expect("pushed");
    // SAFETY: writes a handle; the context is current.
    let result = unsafe { table().cuEventCreate_2000.expect("always there")(&raw mut native, 0) };
    assert_eq!(result, sys::CUDA_SUCCESS);
    Context::pop(context.driver()).expect("popped");
    native
}

/// A graph of others.
fn foreign_graph() -> sys::CUgraph {
    let mut native = null_mut();
    // SAFETY: writes a handle.
    let result = unsafe { table().cuGraphCreate_10000.expect("always there")(&raw mut native, 0) };
    assert_eq!(result, sys::CUDA_SUCCESS);
    native
}

/// Wraps a handle again and again: it has one object, which becomes its owner once, and destroys it.
fn one_object_and_one_owner<T: std::fmt::Debug + PartialEq>(
    kind: &str,
    wrap: impl Fn(Ownership) -> Result<T, cushim::Error>,
) {
    let softcuda = Softcuda::open();
    let before = softcuda.live(kind);
    let first = wrap(Ownership::Borrowed).expect("wrapped");
    let again = wrap(Ownership::Borrowed).expect("wrapped");
    assert_eq!(first, again);
    // A borrower destroys nothing.
    drop((first, again));
    assert_eq!(softcuda.live(kind), before);
    let first = wrap(Ownership::Borrowed).expect("wrapped");
    let owner = wrap(Ownership::Owned).expect("it has no owner yet");
    assert_eq!(first, owner);
    let error = wrap(Ownership::Owned).expect_err("it has an owner");
    assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0));
    assert!(error.message.contains("owns this native handle already; wrap it as borrowed"), "{error}");
    let again = wrap(Ownership::Borrowed).expect("wrapped");
    assert_eq!(first, again);
    // Whoever lets go last, the object is the owner.
    drop((owner, again));
    assert_eq!(softcuda.live(kind), before);
    drop(first);
    assert_eq!(softcuda.live(kind), before - 1, "destroyed by its owner");
}

/// Does something on two threads at once.
fn at_once<T: Send>(act: impl Fn() -> T + Sync) -> [T; 2] {
    let ready = Barrier::new(2);
    let act = || {
        ready.wait();
        act()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(act);
        let mine = act();
        [mine, other.join().expect("it does not panic")]
    })
}

/// Wraps a handle on two threads at once, again and again: both get the same object.
fn one_object_for_threads<T: Send + PartialEq>(wrap: impl Fn() -> T + Sync) {
    for round in 0..ROUNDS {
        let [first, second] = at_once(&wrap);
        assert!(first == second, "in round {round} the handle got two objects");
    }
}

/// A native handle, which threads may share.
#[derive(Clone, Copy)]
struct Shared<T>(T);

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        self.0
    }
}

// SAFETY: the driver takes handles on every thread.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

const ROUNDS: usize = 300;

#[test]
fn an_event_that_threads_wrap_at_once() {
    let context = context();
    let native = Shared(foreign_event(&context));
    let (options, borrowed) = (EventOptions::default(), Ownership::Borrowed);
    // SAFETY: the event lives until both objects are gone.
    let wrap = || unsafe { Event::wrap(&context, native.get(), borrowed, &options) }.expect("wrapped");
    one_object_for_threads(wrap);
    // SAFETY: nobody uses it any more.
    let result = unsafe { table().cuEventDestroy_4000.expect("always there")(native.get()) };
    assert_eq!(result, sys::CUDA_SUCCESS);
}

#[test]
fn a_stream_that_threads_wrap_at_once() {
    let context = context();
    let native = Shared(foreign_stream(&context));
    // SAFETY: the stream lives until both objects are gone.
    let wrap = || unsafe { Stream::wrap(&context, native.get(), Ownership::Borrowed) }.expect("wrapped");
    one_object_for_threads(wrap);
    // SAFETY: nobody uses it any more.
    let result = unsafe { table().cuStreamDestroy_4000.expect("always there")(native.get()) };
    assert_eq!(result, sys::CUDA_SUCCESS);
}

#[test]
fn a_context_that_threads_wrap_at_once() {
    let device = device();
    let native = Shared(foreign_context(&device));
    // SAFETY: the context lives until both objects are gone.
    let wrap = || unsafe { Context::wrap(&device, native.get(), Ownership::Borrowed) }.expect("wrapped");
    one_object_for_threads(wrap);
    // SAFETY: nobody uses it any more.
    let result = unsafe { table().cuCtxDestroy_4000.expect("always there")(native.get()) };
    assert_eq!(result, sys::CUDA_SUCCESS);
}

#[test]
fn a_graph_that_threads_wrap_at_once() {
    let context = context();
    let native = Shared(foreign_graph());
    // SAFETY: the graph lives until both objects are gone.
    let wrap = || unsafe { Graph::wrap(&context, native.get(), Ownership::Borrowed) }.expect("wrapped");
    one_object_for_threads(wrap);
    // SAFETY: nobody uses it any more.
    let result = unsafe { table().cuGraphDestroy_10000.expect("always there")(native.get()) };
    assert_eq!(result, sys::CUDA_SUCCESS);
}

#[test]
fn of_threads_that_would_own_a_stream_one_does() {
    alone("wrapping::of_threads_that_would_own_a_stream_one_does", &[], || {
        let (context, softcuda) = (context(), Softcuda::open());
        let before = softcuda.live("stream");
        for round in 0..ROUNDS / 10 {
            let native = Shared(foreign_stream(&context));
            // SAFETY: the object that owns the stream destroys it, and no other does.
            let owners = at_once(|| unsafe { Stream::wrap(&context, native.get(), Ownership::Owned) });
            assert_eq!(owners.iter().filter(|owner| owner.is_ok()).count(), 1, "in round {round}");
            drop(owners);
            assert_eq!(softcuda.live("stream"), before, "it is destroyed, once");
        }
    });
}

#[test]
fn a_stream() {
    alone("wrapping::a_stream", &[], || {
        let context = context();
        let native = foreign_stream(&context);
        // SAFETY: the stream lives until the last object is gone, which destroys it once.
        one_object_and_one_owner("stream", |ownership| unsafe { Stream::wrap(&context, native, ownership) });
    });
}

#[test]
fn an_event() {
    alone("wrapping::an_event", &[], || {
        let context = context();
        let native = foreign_event(&context);
        let options = EventOptions::default();
        // SAFETY: the event lives until the last object is gone, which destroys it once.
        let wrap = |ownership| unsafe { Event::wrap(&context, native, ownership, &options) };
        one_object_and_one_owner("event", wrap);
    });
}

#[test]
fn a_context() {
    alone("wrapping::a_context", &[], || {
        let device = device();
        let native = foreign_context(&device);
        // SAFETY: the context lives until the last object is gone, which destroys it once.
        one_object_and_one_owner("context", |ownership| unsafe { Context::wrap(&device, native, ownership) });
    });
}

#[test]
fn what_was_created_here_is_found_and_has_its_owner() {
    let context = context();
    let created = stream(&context);
    let event = Event::create(&context, &EventOptions::default()).expect("an event");
    let other = Context::create(&device(), 0).expect("a context");
    // SAFETY: all of them are alive; what would own them is refused.
    unsafe {
        let found = Stream::wrap(&context, created.native(), Ownership::Borrowed).expect("wrapped");
        assert!(found == created);
        assert_eq!(found.kind(), StreamKind::Created);
        let options = EventOptions::default();
        let found = Event::wrap(&context, event.native(), Ownership::Borrowed, &options).expect("wrapped");
        assert!(found == event);
        let found = Context::wrap(&device(), other.native(), Ownership::Borrowed).expect("wrapped");
        assert!(found == other);
        for error in [
            Stream::wrap(&context, created.native(), Ownership::Owned).expect_err("it has an owner"),
            Event::wrap(&context, event.native(), Ownership::Owned, &options).expect_err("it has an owner"),
            Context::wrap(&device(), other.native(), Ownership::Owned).expect_err("it has an owner"),
        ] {
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains("owns this native handle already"), "{error}");
        }
    }
}

/// A handle belongs to one context, by what is known here.
#[test]
fn another_context_is_refused() {
    let (context, other) = (context(), Context::create(&device(), 0).expect("a context"));
    let (created, foreign) = (stream(&context), foreign_stream(&context));
    let event = Event::create(&context, &EventOptions::default()).expect("an event");
    // SAFETY: all of them are alive.
    unsafe {
        let wrapped = Stream::wrap(&context, foreign, Ownership::Owned).expect("wrapped");
        let options = EventOptions::default();
        for error in [
            Stream::wrap(&other, created.native(), Ownership::Borrowed).expect_err("another context's"),
            Stream::wrap(&other, foreign, Ownership::Borrowed).expect_err("another context's"),
            Event::wrap(&other, event.native(), Ownership::Borrowed, &options)
                .expect_err("another context's"),
        ] {
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains("name its own context"), "{error}");
        }
        drop(wrapped);
    }
}

/// Of a wrapped event only its users know how it was created.
#[test]
fn who_wraps_an_event_again_may_know_more_of_it() {
    let context = context();
    let native = foreign_event(&context);
    let with = |set: fn(&mut EventOptions)| {
        let mut options = EventOptions::default();
        set(&mut options);
        // SAFETY: the event lives until its one owner is gone.
        unsafe { Event::wrap(&context, native, Ownership::Borrowed, &options) }.expect("wrapped")
    };
    let event = with(|options| options.timing = true);
    let known = |event: &Event| (event.options().timing, event.options().blocking_sync);
    assert_eq!(known(&event), (true, false));
    with(|options| options.blocking_sync = true);
    assert_eq!(known(&event), (true, true), "what was said before stays");
    // SAFETY: as above.
    drop(unsafe { Event::wrap(&context, native, Ownership::Owned, &EventOptions::default()) });

    let created = Event::create(&context, &EventOptions::default()).expect("an event");
    let mut timed = EventOptions::default();
    timed.timing = true;
    // SAFETY: the event is alive.
    let same = unsafe { Event::wrap(&context, created.native(), Ownership::Borrowed, &timed) };
    assert!(!same.expect("wrapped").options().timing, "of a created event it is known");
}

#[test]
fn a_context_of_others_is_unknown_until_it_is_wrapped() {
    let (driver, device) = (driver(), device());
    let native = foreign_context(&device);
    let handed_back = || {
        // SAFETY: the context is alive.
        let pushed = unsafe { table().cuCtxPushCurrent_4000.expect("always there")(native) };
        assert_eq!(pushed, sys::CUDA_SUCCESS);
        let popped = Context::pop(&driver).expect("popped");
        assert_eq!(popped.native, native);
        popped.object
    };
    assert!(handed_back().is_none());
    // SAFETY: `native` outlives what wraps it.
    let wrapped = unsafe { Context::wrap(&device, native, Ownership::Borrowed) }.expect("wrapped");
    assert_eq!((wrapped.kind(), wrapped.native()), (ContextKind::Wrapped, native));
    assert!(handed_back().is_some_and(|known| known == wrapped));
    drop(wrapped);
    assert!(handed_back().is_none());
    // SAFETY: nothing wraps it now but the owner, and nobody else destroys it.
    drop(unsafe { Context::wrap(&device, native, Ownership::Owned) }.expect("wrapped"));
}

/// A primary context that others hold may be wrapped before it is retained here: then it is the same object.
#[test]
fn a_primary_context_that_was_wrapped_is_retained_by_its_object() {
    alone("wrapping::a_primary_context_that_was_wrapped_is_retained_by_its_object", &[], || {
        let device = device();
        let mut native = null_mut();
        // SAFETY: writes a handle.
        let retained = unsafe {
            table().cuDevicePrimaryCtxRetain_7000.expect("always there")(&raw mut native, device.native())
        };
        assert_eq!(retained, sys::CUDA_SUCCESS);
        // SAFETY: it is retained until the end of the test.
        let wrapped = unsafe { Context::wrap(&device, native, Ownership::Borrowed) }.expect("wrapped");
        let primary = device.primary_context().expect("retained");
        assert!(wrapped == primary);
        assert_eq!(wrapped.kind(), ContextKind::Primary);
        // SAFETY: gives back what was retained above.
        let released =
            unsafe { table().cuDevicePrimaryCtxRelease_11000.expect("always there")(device.native()) };
        assert_eq!(released, sys::CUDA_SUCCESS);
        primary.synchronize().expect("it is held here");
        drop((wrapped, primary));
        assert!(!device.primary_context_state().expect("asked").0, "nobody holds it any more");
    });
}
