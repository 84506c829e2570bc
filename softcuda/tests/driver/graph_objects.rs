//! User objects: when their destructors are called, and on which thread. That a driver waits for what uses an object the
//! conformance suite asks; here are schedules, and what lives.

use crate::common::graphs::{destroy, destroy_exec, graph, instantiate, launch};
use crate::common::streams::{Gate, LONG, Log, NOT_PERMITTED, free_stream, synchronize};
use crate::common::{INVALID_VALUE, Library, alone, at, with_context};
use std::ffi::c_void;
use std::sync::Mutex;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The calls of a destructor: where, and what a call of the driver answered in it.
struct Story {
    cu: &'static Library,
    calls: Mutex<Vec<(ThreadId, i32, i32)>>,
}

extern "C" fn gone(story: *mut c_void) {
    // SAFETY: a story lives for ever.
    let story = unsafe { &*story.cast::<Story>() };
    let mut version = 0;
    let asked = story.cu.call("cuDriverGetVersion", &[at(&mut version)]);
    let refused = story.cu.call("cuStreamCreate", &[at(&mut version), 0]);
    story.calls.lock().unwrap().push((std::thread::current().id(), asked, refused));
}

/// An object that a graph has the only reference to.
fn held(cu: &'static Library, graph: u64) -> &'static Story {
    let story: &'static Story = Box::leak(Box::new(Story { cu, calls: Mutex::default() }));
    let mut object = 0;
    let arguments = [at(&mut object), std::ptr::from_ref(story) as u64, gone as *const () as u64, 1, 1];
    assert_eq!(cu.call("cuUserObjectCreate", &arguments), 0);
    assert_eq!(cu.call("cuGraphRetainUserObject", &[graph, object, 1, 1]), 0);
    story
}

impl Story {
    fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// Waits until the destructor has been called; whether it was by this thread.
    fn end(&self) -> bool {
        let begin = Instant::now();
        while self.count() == 0 {
            assert!(begin.elapsed() < LONG, "the destructor is called");
            std::thread::yield_now();
        }
        let calls = self.calls.lock().unwrap();
        let (thread, asked, refused) = calls[0];
        assert_eq!((calls.len(), asked, refused), (1, 0, NOT_PERMITTED));
        thread == std::thread::current().id()
    }
}

fn everywhere(name: &str, body: impl Fn(&'static Library)) {
    let body = || body(Box::leak(Box::new(with_context())));
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        alone(name, &[("SOFTCUDA_SCHEDULE", schedule)], body);
    }
}

#[test]
fn what_nothing_uses_goes_in_the_call() {
    everywhere("what_nothing_uses_goes_in_the_call", |cu| {
        let one = graph(cu);
        let story = held(cu, one);
        assert_eq!(cu.live("user object"), 1);
        destroy(cu, one);
        assert_eq!(story.count(), 1);
        assert!(story.end());
        assert_eq!(cu.live("user object"), 0);

        let one = graph(cu);
        let (story, exec) = (held(cu, one), instantiate(cu, one));
        destroy(cu, one);
        assert_eq!((story.count(), cu.live("user object")), (0, 1));
        destroy_exec(cu, exec);
        assert!(story.end());
    });
}

#[test]
fn what_a_launch_uses_goes_on_a_thread_of_the_driver() {
    everywhere("what_a_launch_uses_goes_on_a_thread_of_the_driver", |cu| {
        let (stream, log) = (free_stream(cu), Log::new());
        for launches in 1..4 {
            let one = graph(cu);
            log.node(cu, one, &[], 1);
            let (story, exec) = (held(cu, one), instantiate(cu, one));
            destroy(cu, one);
            let gate = Gate::in_stream(cu, stream);
            (0..launches).for_each(|_| launch(cu, exec, stream));
            destroy_exec(cu, exec);
            assert_eq!(story.count(), 0);
            gate.open();
            assert_eq!(synchronize(cu, stream), 0);
            assert!(!story.end());
        }
        // Launched, and done with it.
        let one = graph(cu);
        log.node(cu, one, &[], 1);
        let (story, exec) = (held(cu, one), instantiate(cu, one));
        destroy(cu, one);
        launch(cu, exec, stream);
        assert_eq!(synchronize(cu, stream), 0);
        destroy_exec(cu, exec);
        assert!(!story.end());
        assert_eq!(cu.live("user object"), 0);
    });
}

/// Each has one reference too few for what is asked.
#[test]
fn references_that_nobody_has_are_not_given_up() {
    let said = alone("references_that_nobody_has_are_not_given_up", &[], || {
        extern "C" fn never(_: *mut c_void) {
            panic!("somebody still has a reference");
        }
        let cu = with_context();
        let (graph, mut object) = (graph(&cu), 0);
        assert_eq!(cu.call("cuUserObjectCreate", &[at(&mut object), 0, never as *const () as u64, 1, 1]), 0);
        assert_eq!(cu.call("cuUserObjectRelease", &[object, 2]), INVALID_VALUE);
        assert_eq!(cu.call("cuGraphRetainUserObject", &[graph, object, 2, 1]), INVALID_VALUE);
        assert_eq!(cu.call("cuGraphReleaseUserObject", &[graph, object, 1]), 0);
        assert_eq!(cu.live("user object"), 1);
    });
    if !said.is_empty() {
        assert_eq!(
            said.matches("gives up more references to a user object than it has").count(),
            2,
            "{said}"
        );
        assert_eq!(said.matches("releases more references to a user object than the graph has").count(), 1);
    }
}

/// 10,000 objects of one graph: retained by copies and execs, and each gone once.
#[test]
fn many_objects() {
    alone("many_objects", &[], || {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static GONE: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn count(_: *mut c_void) {
            GONE.fetch_add(1, Ordering::Relaxed);
        }
        let cu = with_context();
        let (one, mut object, mut copy) = (graph(&cu), 0, 0);
        for _ in 0..10_000 {
            assert_eq!(
                cu.call("cuUserObjectCreate", &[at(&mut object), 0, count as *const () as u64, 1, 1]),
                0
            );
            assert_eq!(cu.call("cuGraphRetainUserObject", &[one, object, 1, 1]), 0);
        }
        assert_eq!(cu.call("cuGraphClone", &[at(&mut copy), one]), 0);
        let exec = instantiate(&cu, copy);
        destroy(&cu, one);
        destroy(&cu, copy);
        assert_eq!(GONE.load(Ordering::Relaxed), 0);
        destroy_exec(&cu, exec);
        assert_eq!(GONE.load(Ordering::Relaxed), 10_000);
        assert_eq!(cu.live("user object"), 0);
    });
}

/// An object that a launch has kept and nothing keeps any more; its destructor is due when the process ends.
fn at_the_end(cu: &'static Library, destructor: extern "C" fn(*mut c_void)) {
    let (one, stream, mut object) = (graph(cu), free_stream(cu), 0);
    let arguments = [at(&mut object), std::ptr::from_ref(cu) as u64, destructor as *const () as u64, 1, 1];
    assert_eq!(cu.call("cuUserObjectCreate", &arguments), 0);
    assert_eq!(cu.call("cuGraphRetainUserObject", &[one, object, 1, 1]), 0);
    let exec = instantiate(cu, one);
    launch(cu, exec, stream);
    assert_eq!(synchronize(cu, stream), 0);
    destroy_exec(cu, exec);
    destroy(cu, one);
}

extern "C" fn released_by_a_thread(cu: *mut c_void) {
    // SAFETY: the library stays loaded.
    let cu = unsafe { &*cu.cast::<Library>() };
    std::thread::sleep(STEP);
    std::thread::spawn(move || {
        std::thread::sleep(STEP);
        assert_eq!(cu.call("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
    });
}

extern "C" fn never_done(_: *mut c_void) {
    loop {
        std::thread::park();
    }
}

/// What a destructor takes, and then the thread that it tells.
const STEP: Duration = Duration::from_millis(30);

#[test]
fn what_is_due_at_the_end_is_no_leak() {
    let leaks = [("SOFTCUDA_LEAKS", "1")];
    let said = alone("what_is_due_at_the_end_is_no_leak", &leaks, || {
        at_the_end(Box::leak(Box::new(with_context())), released_by_a_thread);
    });
    assert!(!said.contains("never released"), "{said}");
}

#[test]
fn the_end_waits_for_no_destructor_that_hangs() {
    let leaks = [("SOFTCUDA_LEAKS", "1")];
    let begun = Instant::now();
    let said = alone("the_end_waits_for_no_destructor_that_hangs", &leaks, || {
        at_the_end(Box::leak(Box::new(with_context())), never_done);
    });
    assert!(said.is_empty() || said.contains("never released:\ncontext 0x"), "{said}");
    assert!(begun.elapsed() < LONG);
}
