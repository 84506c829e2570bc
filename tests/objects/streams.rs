//! Default streams, and the current stream of a thread.

use crate::{Softcuda, alone, context, device, stream};
use cushim::{Context, Ownership, Status, Stream, StreamKind};

/// Wraps a default stream by its value.
fn by_value(context: &Context, value: usize) -> Stream {
    let native = std::ptr::without_provenance_mut(value);
    // SAFETY: the value names a default stream.
    unsafe { Stream::wrap(context, native, Ownership::Borrowed) }.expect("wrapped")
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

/// Whoever asks for a default stream gets the object that others hold.
#[test]
fn a_default_stream_is_the_same_object_while_somebody_holds_it() {
    let (context, other) = (Context::create(&device(), 0), Context::create(&device(), 0));
    let (context, other) = (context.expect("a context"), other.expect("a context"));
    let (legacy, own) = (Stream::legacy(&context), Stream::per_thread(&context));
    legacy.set_label(Some("the default"));
    for same in [Stream::legacy(&context), by_value(&context, 0), by_value(&context, 1)] {
        assert!(same == legacy);
        assert_eq!(same.label().as_deref(), Some("the default"));
    }
    for same in [Stream::per_thread(&context), by_value(&context, 2)] {
        assert!(same == own);
    }
    std::thread::scope(|scope| {
        let elsewhere = scope.spawn(|| (Stream::legacy(&context), Stream::per_thread(&context)));
        let (elsewhere, own_there) = elsewhere.join().expect("no panic");
        assert!(elsewhere == legacy && own_there == own);
    });
    assert!(legacy != own);
    assert!(legacy != Stream::legacy(&other), "each context has its own");
}

/// They are there as long as their context is, whoever holds them, and keep what they are called. Nobody who let go of one keeps
/// the context.
#[test]
fn default_streams_are_the_contexts() {
    alone("streams::default_streams_are_the_contexts", &[], || {
        let softcuda = Softcuda::open();
        let before = softcuda.live("context");
        let context = Context::create(&device(), 0).expect("a context");
        for (make, value) in [(Stream::legacy as fn(&Context) -> Stream, 1), (Stream::per_thread, 2)] {
            let first = make(&context);
            first.set_label(Some("the default"));
            first.push_current();
            drop(first); // which nobody else holds
            for again in [make(&context), by_value(&context, value), Stream::current().expect("pushed")] {
                assert_eq!(again.label().as_deref(), Some("the default"));
                assert!(again.is_default() && *again.context() == context);
                again.synchronize().expect("it works");
            }
            make(&context).set_label(None);
            assert_eq!(make(&context).label(), None);
        }
        assert_eq!(softcuda.live("context"), before + 1);
        let held = Stream::legacy(&context);
        drop(context);
        held.synchronize().expect("it keeps its context");
        assert!(Stream::current().is_ok());
        drop(held);
        assert_eq!(softcuda.live("context"), before, "nothing keeps the context");
        assert_eq!(Stream::current().expect_err("it went with its context").status, Status::INVALID_HANDLE);
        assert!(Stream::pop_current().expect("popped").is_none());
        assert!(Stream::pop_current().expect("popped").is_none());
    });
}

/// Many threads that let go of it and ask for it again never get two at a time.
#[test]
fn threads_that_ask_for_a_default_stream_meet_in_one_object() {
    let context = context();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let (first, second) = (Stream::per_thread(&context), Stream::per_thread(&context));
                    assert!(first == second);
                }
            });
        }
    });
}

#[test]
fn the_current_stream_is_the_threads_own() {
    let context = context();
    let (first, second) = (Stream::legacy(&context), stream(&context));
    assert_eq!(Stream::current().expect_err("none yet").status, Status::STREAM_REQUIRED);
    first.push_current();
    second.push_current();
    assert!(Stream::current().expect("pushed") == second);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(Stream::current().expect_err("none here").status, Status::STREAM_REQUIRED));
    });
    drop(second);
    assert_eq!(Stream::current().expect_err("it is gone").status, Status::INVALID_HANDLE);
    assert!(Stream::pop_current().expect("popped").is_none());
    assert!(Stream::pop_current().expect("popped").expect("alive") == first);
    assert_eq!(Stream::pop_current().expect_err("none left").status, Status::STREAM_REQUIRED);
}
