//! Streams and events with the driver `none`: no-ops that succeed.

use cushim::driver::{Choice, Driver, OpenOptions};
use cushim::{Context, Device, Event, EventOptions, Status, Stream, StreamOptions};
use std::time::Duration;

fn context() -> Context {
    let driver: Driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    Device::get(&driver, 0).expect("none has one device").primary_context().expect("none has a context")
}

#[test]
fn streams_and_events_are_no_ops() {
    let context = context();
    let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let other = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let mut timed = EventOptions::default();
    timed.timing = true;
    let (start, end) = (
        Event::create(&context, &timed).expect("an event"),
        Event::create(&context, &timed).expect("an event"),
    );
    start.record(&stream).expect("recorded");
    other.wait_event(&start).expect("waits");
    other.wait_stream(&stream).expect("waits");
    end.record(&other).expect("recorded");
    assert!(stream.query().expect("done") && end.query().expect("done"));
    assert!(end.synchronize_within(Duration::ZERO).expect("done"));
    assert_eq!(end.elapsed_since(&start).expect("measured"), 0.0);
    assert!(
        stream.native().is_null() && other.native().is_null(),
        "there is nothing that a handle could name"
    );
}

#[test]
fn elapsed_time_is_refused_for_three_reasons() {
    let context = context();
    let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let mut timed = EventOptions::default();
    timed.timing = true;
    let untimed = Event::create(&context, &EventOptions::default()).expect("an event");
    let (first, second) = (
        Event::create(&context, &timed).expect("an event"),
        Event::create(&context, &timed).expect("an event"),
    );
    first.record(&stream).expect("recorded");
    untimed.record(&stream).expect("recorded");
    assert_eq!(first.elapsed_since(&untimed).expect_err("no timing").status, Status::TIMING_DISABLED);
    assert_eq!(second.elapsed_since(&first).expect_err("not recorded").status, Status::NOT_RECORDED);
}

#[test]
fn a_priority_out_of_range_is_refused() {
    let mut options = StreamOptions::default();
    options.priority = -1;
    let error = Stream::create(&context(), &options).expect_err("none has one priority");
    assert_eq!(error.status, Status::INVALID_ARGUMENT);
    assert!(error.message.contains("-1"), "{error}");
}

#[test]
fn two_drivers_do_not_mix() {
    let none = context();
    let software = OpenOptions::new().choice(Choice::Software).open().expect("softcuda is beside the tests");
    let device = Device::get(&software, 0).expect("softcuda has a device");
    let foreign = Stream::legacy(&device.primary_context().expect("a context"));
    let event = Event::create(&none, &EventOptions::default()).expect("an event");
    assert_eq!(event.record(&foreign).expect_err("another driver's").status, Status::INVALID_HANDLE);
}
