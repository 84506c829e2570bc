//! Owners and host functions: called and released once, where and when they may be.

mod fakes;

use cushim::driver::{Choice, Driver, OpenOptions};
use cushim::{Context, Device, Event, EventOptions, Owner, Status, Stream, StreamOptions, flush_callbacks};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// The driver of `fakes/streams.c`, one of its own for each test.
struct Fake {
    library: libloading::Library,
    driver: Driver,
}

impl Fake {
    fn open() -> Self {
        let folder = fakes::folder();
        let path = fakes::streams(12090, folder.path().join("libcuda.so.1"));
        let driver = OpenOptions::new().choice(Choice::Path(path.clone())).open().expect("the fake opens");
        // SAFETY: it is loaded already.
        let library = unsafe { libloading::Library::new(path) }.expect("the fake is loaded");
        Self { library, driver }
    }

    fn context(&self) -> Context {
        Device::get(&self.driver, 0).expect("one device").primary_context().expect("a context")
    }

    fn stream(&self) -> Stream {
        Stream::create(&self.context(), &StreamOptions::default()).expect("a stream")
    }

    /// Calls one of the functions that `streams.c` lists.
    fn tell(&self, name: &str) {
        // SAFETY: the function has this type.
        unsafe { self.library.get::<extern "C" fn()>(name).expect("it is there")() }
    }

    fn tell_number(&self, name: &str, number: i32) {
        // SAFETY: the function has this type.
        unsafe { self.library.get::<extern "C" fn(i32)>(name).expect("it is there")(number) }
    }

    fn ask(&self, name: &str) -> i32 {
        // SAFETY: the function has this type.
        unsafe { self.library.get::<extern "C" fn() -> i32>(name).expect("it is there")() }
    }
}

fn flushed() {
    assert!(flush_callbacks(LONG).expect("not in a callback"), "the worker is stuck");
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counted() -> (Counted, Arc<AtomicU32>) {
    let drops = Arc::new(AtomicU32::new(0));
    (Counted(Arc::clone(&drops)), drops)
}

#[test]
fn an_owner_is_released_soon_and_by_the_worker_although_nobody_calls() {
    let (sender, receiver) = mpsc::channel();
    drop(Owner::new(move || {
        sender.send(std::fs::read_to_string("/proc/thread-self/comm")).expect("waited for")
    }));
    let name = receiver.recv_timeout(Duration::from_secs(1)).expect("released within a second");
    assert_eq!(name.expect("it has a name"), "cushim-worker\n");
}

#[test]
fn an_owner_keeps_its_value_until_it_is_dropped() {
    let (value, drops) = counted();
    let owner = Owner::keeping(value);
    flushed();
    assert_eq!(drops.load(SeqCst), 0);
    drop(owner);
    flushed();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_release_may_take_the_locks_of_whoever_dropped_the_owner() {
    let lock = Arc::new(std::sync::Mutex::new(0));
    let mut held = lock.lock().expect("free");
    let theirs = Arc::clone(&lock);
    drop(Owner::new(move || *theirs.lock().expect("free later") += 1));
    *held += 1;
    drop(held);
    flushed();
    assert_eq!(*lock.lock().expect("free"), 2);
}

#[test]
fn a_release_that_panics_stops_no_other() {
    let (value, drops) = counted();
    drop(Owner::new(|| panic!("for a test")));
    drop(Owner::keeping(value));
    flushed();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_release_may_drop_owners() {
    let (value, drops) = counted();
    let inner = Owner::keeping(value);
    drop(Owner::new(move || drop(inner)));
    flushed();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_release_that_always_leads_to_another_keeps_nobody_waiting() {
    fn again(stop: Arc<AtomicU32>) {
        if stop.load(SeqCst) == 0 {
            drop(Owner::new(move || again(stop)));
        }
    }
    let stop = Arc::new(AtomicU32::new(0));
    again(Arc::clone(&stop));
    flushed();
    stop.store(1, SeqCst);
}

#[test]
fn owners_that_many_threads_drop_are_released_once_each() {
    const THREADS: usize = 8;
    const EACH: usize = 5000;
    let released: Arc<Vec<AtomicU32>> = Arc::new((0..THREADS * EACH).map(|_| AtomicU32::new(0)).collect());
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, released) = (&start, &released);
            scope.spawn(move || {
                start.wait();
                for number in 0..EACH {
                    let released = Arc::clone(released);
                    let index = thread * EACH + number;
                    let owner = Arc::new(Owner::new(move || _ = released[index].fetch_add(1, SeqCst)));
                    // Two holders race for the last drop.
                    let other = Arc::clone(&owner);
                    if number % 8 == 0 {
                        scope.spawn(move || drop(other));
                    }
                    drop(owner);
                }
            });
        }
    });
    flushed();
    for (index, count) in released.iter().enumerate() {
        assert_eq!(count.load(SeqCst), 1, "owner {index}");
    }
}

#[test]
fn waiting_ends_with_the_time_and_is_refused_inside_a_release() {
    let (go, gate) = mpsc::channel::<()>();
    let (sender, receiver) = mpsc::channel();
    drop(Owner::new(move || {
        sender.send(flush_callbacks(LONG)).expect("waited for");
        gate.recv().expect("let go");
    }));
    let refused = receiver.recv_timeout(LONG).expect("answered").expect_err("it would wait for itself");
    assert_eq!(refused.status, Status::IN_CALLBACK);
    assert!(!flush_callbacks(Duration::ZERO).expect("asked"));
    assert!(!flush_callbacks(Duration::from_millis(20)).expect("asked"));
    go.send(()).expect("it waits");
    assert!(flush_callbacks(Duration::MAX).expect("asked"), "no limit");
}

#[cfg(target_os = "linux")]
#[test]
fn the_worker_takes_no_signals_but_those_of_its_own_faults() {
    drop(Owner::keeping(()));
    flushed();
    let status = |line: &str, task: &std::path::Path| {
        let text = std::fs::read_to_string(task.join("status")).unwrap_or_default();
        text.lines().find_map(|l| l.strip_prefix(line).map(|value| value.trim().to_owned()))
    };
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    let blocked: Vec<String> = tasks
        .map(|task| task.expect("readable").path())
        .filter(|task| status("Name:", task).as_deref() == Some("cushim-worker"))
        .map(|task| status("SigBlk:", &task).expect("a mask"))
        .collect();
    assert_eq!(blocked.len(), 1, "one worker");
    let blocked = u64::from_str_radix(&blocked[0], 16).expect("hexadecimal");
    let open = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
    let never = [libc::SIGKILL, libc::SIGSTOP];
    // 32 and 33 belong to the C library.
    for signal in (1..=64).filter(|signal| !matches!(signal, 32 | 33) && !never.contains(signal)) {
        assert_eq!(blocked >> (signal - 1) & 1 == 0, open.contains(&signal), "signal {signal}");
    }
    // The thread that started it has its own mask back.
    let here = status("SigBlk:", std::path::Path::new("/proc/thread-self")).expect("a mask");
    assert_eq!(u64::from_str_radix(&here, 16).expect("hexadecimal"), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_child_of_a_fork_releases_nothing_and_waits_for_nothing() {
    let fake = Fake::open();
    let stream = fake.stream();
    let (value, drops) = counted();
    let owner = Owner::keeping(value);
    // The hook for forks is set by the first handle; an object's header makes it.
    drop(stream);
    // SAFETY: the child calls what is safe with other threads gone, and leaves without running anything else.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(owner);
        let refused = flush_callbacks(LONG).is_err_and(|error| error.status == Status::FORKED);
        let code = if refused && drops.load(SeqCst) == 0 { 7 } else { 1 };
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
    drop(owner);
    flushed();
    assert_eq!(drops.load(SeqCst), 1, "the parent releases what is its own");
}

#[test]
fn host_functions_are_called_once_each_in_order_by_the_driver() {
    let fake = Fake::open();
    let stream = fake.stream();
    let (sender, receiver) = mpsc::channel();
    fake.tell("fake_hold");
    for number in 0..100 {
        let sender = sender.clone();
        stream
            .launch_host_function(move || {
                sender.send((number, std::thread::current().id())).expect("waited for")
            })
            .expect("enqueued");
    }
    assert!(receiver.try_recv().is_err(), "the stream stands still");
    fake.tell("fake_go");
    stream.synchronize().expect("done");
    drop(sender);
    let calls: Vec<_> = receiver.iter().collect();
    assert_eq!(calls.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    assert!(calls.iter().all(|(_, thread)| *thread != std::thread::current().id()));
}

#[test]
fn a_driver_that_calls_a_host_function_again_calls_nothing() {
    let fake = Fake::open();
    let stream = fake.stream();
    let calls = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&calls);
    stream.launch_host_function(move || _ = counter.fetch_add(1, SeqCst)).expect("enqueued");
    stream.synchronize().expect("done");
    fake.tell("fake_again");
    assert_eq!(calls.load(SeqCst), 1);
}

#[test]
fn a_host_function_that_panics_leaves_the_stream_going() {
    let fake = Fake::open();
    let stream = fake.stream();
    let (sender, receiver) = mpsc::channel();
    stream.launch_host_function(|| panic!("for a test")).expect("enqueued");
    stream.launch_host_function(move || sender.send(()).expect("waited for")).expect("enqueued");
    stream.synchronize().expect("done");
    receiver.try_recv().expect("called");
}

#[test]
fn waiting_for_callbacks_inside_a_host_function_is_refused() {
    let fake = Fake::open();
    let stream = fake.stream();
    let (sender, receiver) = mpsc::channel();
    stream
        .launch_host_function(move || sender.send(flush_callbacks(LONG)).expect("waited for"))
        .expect("enqueued");
    stream.synchronize().expect("done");
    let refused = receiver.recv().expect("called").expect_err("it would wait for itself");
    assert_eq!(refused.status, Status::IN_CALLBACK);
}

#[test]
fn what_a_host_function_drops_is_destroyed_where_the_driver_allows_it() {
    let fake = Fake::open();
    let (stream, other) = (fake.stream(), fake.stream());
    let owner = Arc::new(Owner::keeping(fake.stream()));
    assert_eq!(fake.ask("fake_streams"), 3);
    stream.launch_host_function(move || drop((other, owner))).expect("enqueued");
    stream.synchronize().expect("done");
    flushed();
    assert_eq!((fake.ask("fake_streams"), fake.ask("fake_refused")), (1, 0));
    assert_eq!(cushim::unreported_release_errors(&fake.driver), 0);
}

#[test]
fn a_function_that_waits_keeps_its_context() {
    let fake = Fake::open();
    let stream = fake.stream();
    let (value, drops) = counted();
    fake.tell("fake_hold");
    stream.launch_host_function(move || drop(value)).expect("enqueued");
    drop(stream);
    assert_eq!((fake.ask("fake_streams"), fake.ask("fake_contexts")), (0, 1));
    fake.tell("fake_go");
    let start = std::time::Instant::now();
    while fake.ask("fake_contexts") > 0 {
        assert!(start.elapsed() < LONG, "the context is not let go");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((drops.load(SeqCst), fake.ask("fake_refused")), (1, 0));
}

#[test]
fn functions_that_a_lost_context_will_not_call_are_released() {
    let fake = Fake::open();
    let stream = fake.stream();
    let called = Arc::new(AtomicU32::new(0));
    fake.tell("fake_hold");
    let drops: Vec<_> = (0..3)
        .map(|_| {
            let ((value, drops), called) = (counted(), Arc::clone(&called));
            stream
                .launch_host_function(move || {
                    called.fetch_add(1, SeqCst);
                    drop(value);
                })
                .expect("enqueued");
            drops
        })
        .collect();
    fake.tell_number("fake_break", 719);
    fake.tell("fake_go");
    flushed();
    assert!(drops.iter().all(|drops| drops.load(SeqCst) == 0), "nobody knows yet that the context is lost");
    assert_eq!(stream.synchronize().expect_err("lost").status, Status(719));
    assert_eq!(stream.context().lost(), Some(Status(719)));
    flushed();
    assert!(drops.iter().all(|drops| drops.load(SeqCst) == 1));
    assert_eq!(called.load(SeqCst), 0);
    // What is enqueued from now on is refused, and dropped by the call.
    let (value, drops) = counted();
    let error = stream.launch_host_function(move || drop(value)).expect_err("lost");
    assert_eq!((error.status, drops.load(SeqCst)), (Status(719), 1));
}

#[test]
fn functions_that_wait_when_the_context_is_reset_are_released() {
    let fake = Fake::open();
    let stream = fake.stream();
    let (value, drops) = counted();
    fake.tell("fake_hold");
    stream.launch_host_function(move || drop(value)).expect("enqueued");
    Device::get(&fake.driver, 0).expect("one device").reset_primary_context().expect("reset");
    flushed();
    assert_eq!(drops.load(SeqCst), 1);
    fake.tell("fake_go");
}

#[test]
fn a_stream_that_is_captured_takes_no_host_function() {
    let fake = Fake::open();
    let stream = fake.stream();
    stream.set_label(Some("recorded"));
    // Whoever has the native stream may capture it.
    assert!(!stream.native().is_null());
    fake.tell_number("fake_capture", 1);
    let (value, drops) = counted();
    let error = stream.launch_host_function(move || drop(value)).expect_err("captured");
    assert_eq!((error.status, drops.load(SeqCst)), (Status::INVALID_ARGUMENT, 1));
    assert!(error.message.contains("\"recorded\"") && error.message.contains("captured"), "{error}");
    fake.tell_number("fake_capture", 0);
    stream.launch_host_function(|| ()).expect("enqueued");
}

#[test]
fn a_function_that_the_driver_refuses_is_dropped_by_the_call() {
    let fake = Fake::open();
    let stream = fake.stream();
    fake.tell_number("fake_refuse", 2);
    let (value, drops) = counted();
    let error = stream.launch_host_function(move || drop(value)).expect_err("refused");
    assert_eq!((error.status, drops.load(SeqCst)), (Status(2), 1));
    assert_eq!((error.function.as_str(), error.abi), ("cuLaunchHostFunc", 10000));
}

#[test]
fn without_a_driver_a_host_function_is_called_at_once() {
    let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    let context = Device::get(&driver, 0).expect("one device").primary_context().expect("a context");
    let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let event = Event::create(&context, &EventOptions::default()).expect("an event");
    let calls = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&calls);
    stream
        .launch_host_function(move || {
            counter.fetch_add(1, SeqCst);
            assert!(event.query().expect("allowed"));
        })
        .expect("called");
    assert_eq!(calls.load(SeqCst), 1);
}

#[test]
fn host_functions_race_with_the_loss_of_their_context() {
    for _ in 0..20 {
        let fake = Fake::open();
        let stream = fake.stream();
        let ends = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let mut accepted = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(200));
                fake.tell_number("fake_break", 700);
                while stream.query().is_ok() {}
            });
            for _ in 0..2000 {
                struct Ended(Arc<(AtomicU32, AtomicU32)>);
                impl Drop for Ended {
                    fn drop(&mut self) {
                        self.0.1.fetch_add(1, SeqCst);
                    }
                }
                let ended = Ended(Arc::clone(&ends));
                let launched = stream.launch_host_function(move || _ = ended.0.0.fetch_add(1, SeqCst));
                accepted += u32::from(launched.is_ok());
            }
        });
        flushed();
        // The last one may still be running on the driver's thread, and is due for release after that.
        let deadline = Instant::now() + LONG;
        while ends.1.load(SeqCst) < 2000 && Instant::now() < deadline {
            flushed();
        }
        assert_eq!(ends.1.load(SeqCst), 2000, "each is dropped once");
        assert!(ends.0.load(SeqCst) <= accepted, "none is called that was not accepted");
    }
}
