//! Operations beside captures that another thread begins, with each thread at a certain place.

use super::awaited::Awaited;
use super::capture::{Capturable, CaptureSink, Captured, Position, Sink, Under};
use super::node::{Hold, Holds};
use super::{HostFunction, Operation, Record, Traits};
use crate::context::Context;
use crate::event::{Event, EventOptions};
use crate::object::callback::{Owner, flush_callbacks};
use crate::object::error::{Error, Status};
use crate::object::slot::Exposed;
use crate::stream::{Stream, StreamOptions};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

/// A capture of which the driver knows nothing.
#[derive(Default)]
struct Fake {
    captured: AtomicU32,
    holds: Mutex<Vec<Holds>>,
}

impl Fake {
    fn begin(self: &Arc<Self>, stream: &Stream) {
        let sink = Sink(Arc::<Self>::clone(self));
        stream.capture_begins(|_| Ok(((), Arc::new(sink) as Arc<dyn Exposed>))).expect("nothing captures it");
    }

    fn captured(&self) -> u32 {
        self.captured.load(SeqCst)
    }
}

impl CaptureSink for Fake {
    unsafe fn capture(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<bool, Error> {
        // SAFETY: as the caller vouches.
        unsafe { operation.issue(stream, None) }?;
        if let Captured::Node(node) = operation.captured() {
            self.holds.lock().push(node.holds().0);
        }
        self.captured.fetch_add(1, SeqCst);
        Ok(true)
    }

    unsafe fn capture_after_all(&self, _: &Stream, _: &mut dyn Capturable) -> Result<bool, Error> {
        Ok(false)
    }

    fn under(&self) -> Under {
        Under { capture: 0, is_body: false, lasts: None }
    }

    fn position(&self, _: &Stream) -> Result<Position, Error> {
        Err(Error::new(Status::INTERNAL, "nobody asks"))
    }

    fn keep(&self, _: &Stream, _: Hold) -> Result<(), Error> {
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }

    fn is_known_to_others(&self) {}

    fn fork(&self, _: &Stream, _: Awaited<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn has_joined(&self, _: &Stream) {}
}

fn scene() -> (Context, Stream) {
    let context = Context::on_softcuda();
    let stream = Stream::create(&context, &StreamOptions::default()).expect("there is room");
    (context, stream)
}

fn owned(function: HostFunction, releases: &Arc<AtomicU32>) -> HostFunction {
    let releases = Arc::clone(releases);
    function.owned_by(Owner::new(move || _ = releases.fetch_add(1, SeqCst)))
}

fn released(releases: &AtomicU32) -> u32 {
    assert_eq!(flush_callbacks(Duration::from_secs(20)), Ok(true));
    releases.load(SeqCst)
}

#[test]
fn what_has_an_owner_goes_into_a_capture_that_another_thread_has_begun_since_the_stream_was_asked() {
    let ((_context, stream), capture, releases) = (scene(), Arc::<Fake>::default(), Arc::default());
    capture.begin(&stream);
    let mut function = owned(HostFunction::new(|| ()), &releases);
    // SAFETY: the function needs nothing.
    unsafe { stream.enqueue_to_run(&mut function) }.expect("it is captured");
    assert_eq!((capture.captured(), capture.holds.lock().len()), (1, 1));
    stream.here(|raw| raw.synchronize()).expect("nothing is captured really");
    assert_eq!(released(&releases), 0);
    capture.holds.lock().clear();
    assert_eq!(released(&releases), 1);
}

/// While it is enqueued, another thread is about to begin a capture of the stream.
struct Meets<'a> {
    capture: &'a Arc<Fake>,
    begun: &'a AtomicU32,
    scope: &'a dyn Fn(),
}

impl super::sealed::Sealed for Meets<'_> {}

impl Operation for Meets<'_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        Traits { has_owners: true, ..Traits::default() }
    }

    fn check<'a>(&'a self, _: &'a Context) -> Result<(), Error> {
        Ok(())
    }

    unsafe fn enqueue(&self, (): (), _: &Stream) -> Result<(), Error> {
        (self.scope)();
        thread::sleep(Duration::from_millis(30));
        assert_eq!((self.begun.load(SeqCst), self.capture.captured()), (0, 0));
        Ok(())
    }
}

#[test]
fn no_capture_begins_between_what_has_an_owner_and_its_release() {
    let ((_context, stream), capture, begun) = (scene(), Arc::<Fake>::default(), AtomicU32::new(0));
    thread::scope(|scope| {
        let begin = || {
            capture.begin(&stream);
            begun.store(1, SeqCst);
        };
        let start = || drop(scope.spawn(begin));
        let mut operation = Meets { capture: &capture, begun: &begun, scope: &start };
        // SAFETY: it does nothing.
        unsafe { stream.enqueue_to_run(&mut operation) }.expect("it is enqueued");
    });
    assert_eq!(begun.load(SeqCst), 1);
}

#[test]
fn a_record_is_captured_again_if_another_thread_has_begun_to_capture_the_stream() {
    let ((context, stream), capture) = (scene(), Arc::<Fake>::default());
    let event = Event::create(&context, &EventOptions::default()).expect("there is room");
    capture.begin(&stream);
    // SAFETY: the event is alive.
    unsafe { Record::new(&event).enqueue((), &stream) }.expect("it is recorded");
    assert_eq!(capture.captured(), 1);
}
