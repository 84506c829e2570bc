//! Where the log goes: stderr as `CUSHIM_LOG` says, a callback, or the queue of pull mode; and the driver's own log.
#![cfg(feature = "capi")]

mod fakes;

use cushim::capi::callback::{
    cushim_drain, cushim_drain_item, cushim_drain_item_kind, cushim_flush_callbacks, cushim_owner,
};
use cushim::capi::driver::{
    cushim_driver_default_table, cushim_driver_destroy, cushim_driver_flags, cushim_driver_get_table,
    cushim_driver_open, cushim_driver_options,
};
use cushim::capi::log::{cushim_log_set_callback, cushim_log_set_pull};
use cushim::driver::{Choice, OpenOptions, Table, sys};
use cushim::{Device, Stream, StreamOptions};
use std::ffi::{CStr, c_char, c_void};
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

const INVALID_ARGUMENT: i32 = cushim::Status::INVALID_ARGUMENT.0;

/// Runs the test's body in a process of its own, for the log is the process's, and answers with what that wrote to
/// stderr; `None` in that process itself.
fn in_child(test: &str, environment: &[(&str, &str)], body: impl FnOnce()) -> Option<String> {
    const CHILD: &str = "CUSHIM_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let mut child = Command::new(std::env::current_exe().expect("it knows where it is"));
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, test);
    child.env_remove("CUSHIM_LOG").env_remove("CUSHIM_DRIVER").envs(environment.iter().copied());
    let output = child.output().expect("the test program starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{test}: {}\n{out}{err}", output.status);
    Some(err.into_owned())
}

/// Opens a library that is no driver, which the log tells of.
fn open_nothing(flags: u32) {
    let options = cushim_driver_options {
        struct_size: size_of::<cushim_driver_options>(),
        driver: c"/nonexistent/libcuda.so".as_ptr(),
        getter: None,
        getter_user: null_mut(),
        flags,
        reserved: 0,
    };
    let mut driver = null_mut();
    // SAFETY: options and place are valid.
    assert_ne!(unsafe { cushim_driver_open(&raw const options, &raw mut driver) }, 0);
    assert_eq!(cushim_driver_destroy(driver), 0);
}

const IGNORE: u32 = cushim_driver_flags::CUSHIM_DRIVER_IGNORE_ENVIRONMENT as u32;

fn flush() {
    let mut done = -1;
    // SAFETY: a valid place.
    assert_eq!((unsafe { cushim_flush_callbacks(20_000_000_000, &raw mut done) }, done), (0, 1));
}

#[test]
fn unset_the_log_is_silent() {
    let said = in_child("unset_the_log_is_silent", &[], || open_nothing(0));
    assert!(said.is_none_or(|said| said.is_empty()));
}

/// A test of faults, say, must not pass because of a typing error.
#[test]
fn a_variable_that_does_not_exist_is_an_error_in_the_log() {
    let name = "a_variable_that_does_not_exist_is_an_error_in_the_log";
    let environment = [
        ("CUSHIM_LOG", "error"),
        ("CUSHIM_DRIVR", "software"),
        ("CUSHIM_CHECK", "graphs,grahps"),
        ("CUSHIM_TEST_MINE", "1"),
        ("CUSHIM_REQUIRE", "all"),
        ("CUSHIM_NOTHING", ""),
        ("MY_CUSHIM_LOG", "1"),
    ];
    let said = in_child(name, &environment, || {
        open_nothing(IGNORE);
        open_nothing(0);
        open_nothing(0);
    });
    let Some(said) = said else { return };
    for text in [
        "ERROR cushim] CUSHIM_DRIVR is no variable of cushim's, and has no effect; there are CUSHIM_DRIVER, ",
        "ERROR cushim] CUSHIM_CHECK asks for \"grahps\", which has no effect; there are \"graphs\" and \"order\"",
    ] {
        assert_eq!(said.matches(text).count(), 1, "{text}\n{said}");
    }
    for other in
        ["CUSHIM_TEST_MINE", "CUSHIM_REQUIRE is", "CUSHIM_NOTHING", "MY_CUSHIM_LOG", "asks for \"graphs"]
    {
        assert!(!said.contains(other), "{other}\n{said}");
    }
}

#[test]
fn what_the_log_cannot_be_is_an_error_in_it() {
    let name = "what_the_log_cannot_be_is_an_error_in_it";
    for wrong in ["eror", "debug,cushim=lots", "cushin::driver=debug", "1"] {
        let Some(said) = in_child(name, &[("CUSHIM_LOG", wrong)], || open_nothing(0)) else { return };
        let part = wrong.rsplit(',').next().expect("the last");
        let text = format!("ERROR cushim] CUSHIM_LOG asks for \"{part}\", which is neither a level");
        assert_eq!(said.matches(&text).count(), 1, "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    for right in ["error", "OFF", "warn,cushim::object=trace", "cushim=warn", "info, cushim::driver=off"] {
        let said = in_child(name, &[("CUSHIM_LOG", right)], || open_nothing(IGNORE)).unwrap_or_default();
        assert!(!said.contains("CUSHIM_LOG"), "{right}\n{said}");
    }
}

#[test]
fn the_variable_sends_the_log_to_stderr() {
    let name = "the_variable_sends_the_log_to_stderr";
    let said = in_child(name, &[("CUSHIM_LOG", "debug")], || open_nothing(0));
    assert!(
        said.is_none_or(|said| said.contains("[DEBUG cushim]") && said.contains("/nonexistent/libcuda.so"))
    );
}

#[test]
fn a_level_that_is_less_important_is_left_out() {
    let name = "a_level_that_is_less_important_is_left_out";
    let said = in_child(name, &[("CUSHIM_LOG", "info,cushim::other=trace")], || {
        open_nothing(0);
        log::info!(target: "cushim", "kept");
        log::trace!(target: "cushim::other", "kept as well");
    });
    assert!(said.is_none_or(|said| said.lines().count() == 2), "two lines");
}

#[test]
fn the_variable_is_not_read_when_the_environment_is_to_be_ignored() {
    let name = "the_variable_is_not_read_when_the_environment_is_to_be_ignored";
    let said = in_child(name, &[("CUSHIM_LOG", "trace")], || open_nothing(IGNORE));
    assert!(said.is_none_or(|said| said.is_empty()));
}

#[test]
fn the_default_driver_reads_the_variable_too() {
    let name = "the_default_driver_reads_the_variable_too";
    let environment = [("CUSHIM_LOG", "debug"), ("CUSHIM_DRIVER", "/nonexistent/libcuda.so")];
    let said = in_child(name, &environment, || assert!(!cushim_driver_default_table(0).is_null()));
    assert!(said.is_none_or(|said| said.contains("/nonexistent/libcuda.so")));
}

#[test]
fn a_rust_program_keeps_its_own_logger_and_the_library_installs_none() {
    struct Mine;
    static LINES: AtomicU32 = AtomicU32::new(0);
    impl log::Log for Mine {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }
        fn log(&self, _: &log::Record<'_>) {
            LINES.fetch_add(1, SeqCst);
        }
        fn flush(&self) {}
    }
    let name = "a_rust_program_keeps_its_own_logger_and_the_library_installs_none";
    in_child(name, &[("CUSHIM_LOG", "debug")], || {
        let open = || OpenOptions::new().choice(Choice::Path("/nonexistent/libcuda.so".into())).open();
        open().expect_err("there is none");
        log::set_logger(&Mine).expect("none is installed");
        log::set_max_level(log::LevelFilter::Debug);
        open().expect_err("there is none");
        assert_eq!(LINES.load(SeqCst), 1);
        // SAFETY: NULL is allowed.
        let status = unsafe { cushim_log_set_callback(None, null_mut(), null(), 0) };
        assert_eq!(status, cushim::Status::UNSUPPORTED.0);
        assert_eq!(cushim_log_set_pull(5), cushim::Status::UNSUPPORTED.0);
        open_nothing(0);
        assert_eq!(LINES.load(SeqCst), 2);
    });
}

/// What a callback was given: level, target, message and the thread's name.
type Seen = Mutex<Vec<(i32, String, String, String)>>;

unsafe extern "C" fn see(user: *mut c_void, level: i32, target: *const c_char, message: *const c_char) {
    // SAFETY: the tests give it a `Seen`; the texts are valid.
    let (seen, target, message) =
        unsafe { (&*user.cast::<Seen>(), CStr::from_ptr(target), CStr::from_ptr(message)) };
    let text = |text: &CStr| text.to_str().expect("UTF-8").to_owned();
    let thread = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default().trim_end().to_owned();
    seen.lock().expect("no panic").push((level, text(target), text(message), thread));
}

fn seen() -> (&'static Seen, *mut c_void) {
    let seen: &'static Seen = Box::leak(Box::default());
    (seen, std::ptr::from_ref(seen).cast_mut().cast())
}

unsafe extern "C" fn set_true(flag: *mut c_void) {
    // SAFETY: the tests give it a flag.
    assert!(!unsafe { &*flag.cast::<AtomicBool>() }.swap(true, SeqCst), "released twice");
}

#[test]
fn a_callback_gets_the_lines_and_its_owner_is_released_when_it_is_replaced() {
    in_child("a_callback_gets_the_lines_and_its_owner_is_released_when_it_is_replaced", &[], || {
        let ((lines, user), (other_lines, other)) = (seen(), seen());
        let released = AtomicBool::new(false);
        let owner =
            cushim_owner { data: std::ptr::from_ref(&released).cast_mut().cast(), release: Some(set_true) };
        // SAFETY: callback and owner keep their contracts.
        unsafe {
            assert_eq!(cushim_log_set_callback(Some(see), user, &raw const owner, 3), 0);
            log::info!(target: "cushim", "one\0two");
            log::debug!(target: "cushim", "not important enough");
            assert_eq!(cushim_log_set_callback(Some(see), other, null(), 5), 0);
        }
        log::trace!(target: "cushim::part", "three");
        flush();
        assert!(released.load(SeqCst));
        let worker = "cushim-worker".to_owned();
        let line =
            |level, target: &str, text: &str| (level, target.to_owned(), text.to_owned(), worker.clone());
        assert_eq!(*lines.lock().expect("no panic"), [line(3, "cushim", "one two")]);
        assert_eq!(*other_lines.lock().expect("no panic"), [line(5, "cushim::part", "three")]);
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { cushim_log_set_callback(None, null_mut(), null(), 0) }, 0);
        log::error!(target: "cushim", "nobody hears");
        flush();
        assert_eq!(other_lines.lock().expect("no panic").len(), 1);
    });
}

#[test]
fn a_call_that_fails_changes_nothing() {
    in_child("a_call_that_fails_changes_nothing", &[], || {
        let (lines, user) = seen();
        let released = AtomicBool::new(false);
        let owner =
            cushim_owner { data: std::ptr::from_ref(&released).cast_mut().cast(), release: Some(set_true) };
        // SAFETY: callback and owner keep their contracts.
        unsafe {
            assert_eq!(cushim_log_set_callback(Some(see), user, null(), 1), 0);
            for level in [-1, 6, i32::MAX] {
                assert_eq!(
                    cushim_log_set_callback(Some(see), user, &raw const owner, level),
                    INVALID_ARGUMENT
                );
                assert_eq!(cushim_log_set_pull(level), INVALID_ARGUMENT);
            }
            assert_eq!(cushim_log_set_callback(None, null_mut(), &raw const owner, 0), INVALID_ARGUMENT);
        }
        log::error!(target: "cushim", "still here");
        flush();
        assert_eq!(lines.lock().expect("no panic").len(), 1);
        assert!(!released.load(SeqCst));
    });
}

/// A callback that logs and replaces itself by nothing.
unsafe extern "C" fn replace_inside(user: *mut c_void, _: i32, _: *const c_char, _: *const c_char) {
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { cushim_log_set_callback(None, null_mut(), null(), 0) }, 0);
    log::error!(target: "cushim", "from inside");
    // SAFETY: the test gives it a counter.
    unsafe { &*user.cast::<AtomicU32>() }.fetch_add(1, SeqCst);
}

#[test]
fn a_callback_may_log_and_replace_itself() {
    in_child("a_callback_may_log_and_replace_itself", &[], || {
        let calls = AtomicU32::new(0);
        let user = std::ptr::from_ref(&calls).cast_mut().cast();
        // SAFETY: the counter outlives the callback.
        assert_eq!(unsafe { cushim_log_set_callback(Some(replace_inside), user, null(), 5) }, 0);
        log::error!(target: "cushim", "one");
        flush();
        assert_eq!(calls.load(SeqCst), 1);
    });
}

/// A callback whose own call fails, which the log would tell of, once in each of two ways.
unsafe extern "C" fn fail_inside(user: *mut c_void, _: i32, _: *const c_char, _: *const c_char) {
    // SAFETY: the test gives it a counter.
    unsafe { &*user.cast::<AtomicU32>() }.fetch_add(1, SeqCst);
    open_nothing(0);
    // SAFETY: callback and counter as before.
    assert_eq!(unsafe { cushim_log_set_callback(Some(fail_inside), user, null(), 5) }, 0);
    open_nothing(0);
}

#[test]
fn a_callback_whose_own_call_fails_does_not_feed_itself() {
    in_child("a_callback_whose_own_call_fails_does_not_feed_itself", &[], || {
        let calls = AtomicU32::new(0);
        let user = std::ptr::from_ref(&calls).cast_mut().cast();
        // SAFETY: the counter outlives the callback.
        assert_eq!(unsafe { cushim_log_set_callback(Some(fail_inside), user, null(), 5) }, 0);
        log::error!(target: "cushim", "one");
        log::error!(target: "cushim", "two");
        flush();
        assert_eq!(calls.load(SeqCst), 2);
        log::error!(target: "cushim", "three");
        flush();
        assert_eq!(calls.load(SeqCst), 3);
    });
}

/// A callback that waits for a lock that the logging thread holds.
unsafe extern "C" fn take_the_lock(user: *mut c_void, _: i32, _: *const c_char, _: *const c_char) {
    // SAFETY: the test gives it a lock.
    *unsafe { &*user.cast::<Mutex<u32>>() }.lock().expect("no panic") += 1;
}

#[test]
fn a_callback_may_take_the_locks_of_whoever_logs() {
    in_child("a_callback_may_take_the_locks_of_whoever_logs", &[], || {
        let lock = Mutex::new(0);
        let user = std::ptr::from_ref(&lock).cast_mut().cast();
        // SAFETY: the lock outlives the callback.
        assert_eq!(unsafe { cushim_log_set_callback(Some(take_the_lock), user, null(), 5) }, 0);
        let held = lock.lock().expect("no panic");
        open_nothing(0);
        drop(held);
        flush();
        assert_eq!(*lock.lock().expect("no panic"), 1);
    });
}

#[test]
fn replacing_a_callback_races_with_logging() {
    const LINES: usize = 2000;
    in_child("replacing_a_callback_races_with_logging", &[], || {
        /// What a callback may use until its owner is released.
        struct User {
            seen: AtomicU32,
            released: AtomicBool,
        }
        unsafe extern "C" fn line(user: *mut c_void, _: i32, _: *const c_char, _: *const c_char) {
            // SAFETY: the test gives it a `User`, which it never frees.
            let user = unsafe { &*user.cast::<User>() };
            assert!(!user.released.load(SeqCst), "called after its release");
            user.seen.fetch_add(1, SeqCst);
        }
        unsafe extern "C" fn release(user: *mut c_void) {
            // SAFETY: as above.
            assert!(!unsafe { &*user.cast::<User>() }.released.swap(true, SeqCst), "released twice");
        }
        let users: Vec<User> =
            (0..200).map(|_| User { seen: AtomicU32::new(0), released: AtomicBool::new(false) }).collect();
        let replace = |user: &User| {
            let data = std::ptr::from_ref(user).cast_mut().cast();
            let owner = cushim_owner { data, release: Some(release) };
            // SAFETY: the users outlive the callbacks.
            assert_eq!(unsafe { cushim_log_set_callback(Some(line), data, &raw const owner, 5) }, 0);
        };
        replace(&users[0]);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for number in 0..LINES / 10 {
                        log::info!(target: "cushim", "{number}");
                    }
                });
            }
            users[1..].iter().for_each(replace);
        });
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { cushim_log_set_callback(None, null_mut(), null(), 0) }, 0);
        flush();
        assert!(users.iter().all(|user| user.released.load(SeqCst)));
        let seen: u32 = users.iter().map(|user| user.seen.load(SeqCst)).sum();
        assert_eq!(seen as usize, LINES / 10 * 3, "no line was lost on the way");
    });
}

fn drain_lines() -> Vec<(i32, String)> {
    let mut items =
        vec![
            cushim_drain_item { kind: 0, level: 0, data: null_mut(), target: [0; 48], text: [0; 960] };
            4096
        ];
    let mut count = 0;
    // SAFETY: the array has this many items.
    let status = unsafe {
        cushim_drain(items.as_mut_ptr(), size_of::<cushim_drain_item>(), items.len(), &raw mut count)
    };
    assert_eq!(status, 0);
    let lines = items[..count].iter().map(|item| {
        assert_eq!(
            (item.kind, item.data),
            (cushim_drain_item_kind::CUSHIM_DRAIN_LOG_LINE as i32, null_mut())
        );
        // SAFETY: texts end with NUL.
        let (target, text) =
            unsafe { (CStr::from_ptr(item.target.as_ptr()), CStr::from_ptr(item.text.as_ptr())) };
        (item.level, format!("{}: {}", target.to_str().expect("UTF-8"), text.to_str().expect("UTF-8")))
    });
    lines.collect()
}

#[test]
fn lines_are_drained_and_those_that_were_lost_are_counted() {
    in_child("lines_are_drained_and_those_that_were_lost_are_counted", &[], || {
        assert_eq!(cushim_log_set_pull(2), 0);
        log::warn!(target: "cushim", "{}", "é".repeat(1000));
        log::info!(target: "cushim", "not important enough");
        let lines = drain_lines();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].0 == 2 && lines[0].1.ends_with("é..."), "{lines:?}");
        for number in 0..1030 {
            log::error!(target: "cushim", "{number}");
        }
        let lines = drain_lines();
        assert_eq!(
            (lines.len(), lines[0].1.as_str(), lines[1023].1.as_str()),
            (1024, "cushim: 0", "cushim: 1023")
        );
        let lines = drain_lines();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].1.contains("6 lines"), "{lines:?}");
        log::error!(target: "cushim", "again");
        assert_eq!(drain_lines(), [(1, "cushim: again".to_owned())]);
    });
}

/// A callback that keeps the worker until it is let go.
unsafe extern "C" fn slow(user: *mut c_void, _: i32, _: *const c_char, message: *const c_char) {
    // SAFETY: the test gives it a pair; the text is valid.
    let ((gate, seen), message) =
        unsafe { (&*user.cast::<(Mutex<()>, Mutex<Vec<String>>)>(), CStr::from_ptr(message)) };
    drop(gate.lock());
    seen.lock().expect("no panic").push(message.to_str().expect("UTF-8").to_owned());
}

#[test]
fn a_callback_that_does_not_keep_up_loses_lines_and_is_told() {
    in_child("a_callback_that_does_not_keep_up_loses_lines_and_is_told", &[], || {
        let pair = (Mutex::new(()), Mutex::new(Vec::<String>::new()));
        let user = std::ptr::from_ref(&pair).cast_mut().cast();
        // SAFETY: the pair outlives the callback.
        assert_eq!(unsafe { cushim_log_set_callback(Some(slow), user, null(), 5) }, 0);
        let gate = pair.0.lock().expect("no panic");
        for number in 0..2000 {
            log::info!(target: "cushim", "{number}");
        }
        drop(gate);
        flush();
        let lines = std::mem::take(&mut *pair.1.lock().expect("no panic"));
        // More than once where the callback's thread was late to begin.
        let told: Vec<_> = lines.iter().filter(|line| line.contains("lost")).collect();
        let number =
            |line: &&String| line.split(' ').next().expect("a number").parse::<usize>().expect("a number");
        let lost: usize = told.iter().map(number).sum();
        assert_eq!(lines.len() - told.len() + lost, 2000, "{told:?}");
        assert!(lost >= 900, "{lost}");
    });
}

/// A stream of the driver in `fakes/streams.c`.
fn stream(version: u32) -> (libloading::Library, Stream) {
    let folder = fakes::folder();
    let path = fakes::streams(version, folder.path().join("libcuda.so.1"));
    let driver = OpenOptions::new().choice(Choice::Path(path.clone())).open().expect("the fake opens");
    // SAFETY: it is loaded already.
    let library = unsafe { libloading::Library::new(path) }.expect("the fake is loaded");
    let context = Device::get(&driver, 0).expect("one device").primary_context().expect("a context");
    (library, Stream::create(&context, &StreamOptions::default()).expect("a stream"))
}

fn tell<T>(library: &libloading::Library, name: &str, value: T) {
    // SAFETY: the tests pass what the function takes.
    unsafe { library.get::<extern "C" fn(T)>(name).expect("it is there")(value) }
}

#[test]
fn an_error_has_what_the_driver_said_of_its_call() {
    let (library, stream) = stream(12090);
    tell(&library, "fake_say", c"All is well".as_ptr());
    assert!(stream.query().expect("done"));
    tell(&library, "fake_break", 700);
    let error = stream.synchronize().expect_err("broken");
    assert_eq!(error.driver_log, "Returning 700 (CUDA_ERROR) from cuStreamSynchronize");
    let error = stream.query().expect_err("broken");
    assert_eq!(error.driver_log, "Returning 700 (CUDA_ERROR) from cuStreamQuery");
    let error = std::thread::scope(|scope| {
        scope.spawn(|| stream.query().expect_err("broken")).join().expect("no panic")
    });
    assert_eq!(
        error.driver_log, "Returning 700 (CUDA_ERROR) from cuStreamQuery",
        "each thread has its lines"
    );
}

#[test]
fn a_driver_before_12_9_says_nothing() {
    let (library, stream) = stream(12080);
    tell(&library, "fake_break", 700);
    assert_eq!(stream.query().expect_err("broken").driver_log, "");
}

#[test]
fn the_drivers_lines_are_logged() {
    in_child("the_drivers_lines_are_logged", &[], || {
        let (lines, user) = seen();
        let (library, stream) = stream(13000);
        // SAFETY: the callback keeps its contract.
        assert_eq!(unsafe { cushim_log_set_callback(Some(see), user, null(), 4) }, 0);
        tell(&library, "fake_say", c"All is well".as_ptr());
        assert!(stream.query().expect("done"));
        flush();
        let lines = lines.lock().expect("no panic");
        assert!(
            lines.iter().any(|(level, target, text, _)| {
                (*level, target.as_str(), text.as_str()) == (4, "cushim::driver", "All is well")
            }),
            "{lines:?}"
        );
    });
}

/// The tables of softcuda, as a program gets them that uses nothing else of the library.
fn raw_tables() -> [&'static Table; 2] {
    let options = cushim_driver_options {
        struct_size: size_of::<cushim_driver_options>(),
        driver: c"software".as_ptr(),
        getter: None,
        getter_user: null_mut(),
        flags: 0,
        reserved: 0,
    };
    let mut driver = null_mut();
    // SAFETY: options and place are valid.
    assert_eq!(unsafe { cushim_driver_open(&raw const options, &raw mut driver) }, 0);
    [0, 1].map(|kind| {
        let mut table: *const Table = null();
        // SAFETY: the place is valid, and so is a table until the process ends.
        unsafe {
            assert_eq!(cushim_driver_get_table(driver, kind, &raw mut table), 0);
            &*table
        }
    })
}

/// Initialises the driver and has it compile what is no code, with nothing but the driver's own functions.
fn fail_to_compile(table: &Table) {
    let (mut context, mut module) = (null_mut(), null_mut());
    // SAFETY: each writes one handle; the text ends in NUL.
    unsafe {
        assert_eq!(table.cuInit_2000.expect("always there")(0), sys::CUDA_SUCCESS);
        let retain = table.cuDevicePrimaryCtxRetain_7000.expect("always there");
        assert_eq!(retain(&raw mut context, 0), sys::CUDA_SUCCESS);
        assert_eq!(table.cuCtxSetCurrent_4000.expect("always there")(context), sys::CUDA_SUCCESS);
        let load = table.cuModuleLoadData_2000.expect("always there");
        let image = c".version 7.0 .target sm_70 .address_size 64 .visible .entry wrong() { nonsense; }";
        assert_ne!(load(&raw mut module, image.as_ptr().cast()), sys::CUDA_SUCCESS);
    }
}

/// The table has the driver's own functions, and still the log has what the driver says.
#[test]
fn the_log_has_what_the_driver_says_to_a_program_that_uses_the_table_alone() {
    let name = "the_log_has_what_the_driver_says_to_a_program_that_uses_the_table_alone";
    for table in ["0", "1"] {
        let environment = [("CUSHIM_LOG", "debug"), ("SOFTCUDA_VERSION", "13.0"), ("TABLE", table)];
        let said = in_child(name, &environment, || {
            let which: usize = std::env::var("TABLE").expect("it is given").parse().expect("a number");
            fail_to_compile(raw_tables()[which]);
        });
        let Some(said) = said else { return };
        assert!(said.contains("cushim::driver] ") && said.contains("from cuModuleLoadData"), "{said}");
    }
}

/// Nothing stands between the program and the driver while nobody reads a log.
#[test]
fn without_a_log_the_table_has_the_drivers_own_functions() {
    let name = "without_a_log_the_table_has_the_drivers_own_functions";
    in_child(name, &[("SOFTCUDA_VERSION", "13.0")], || {
        let driver = OpenOptions::new().choice(Choice::Software).open().expect("softcuda is there");
        let [table, _] = raw_tables();
        let symbol = driver.symbol("cuInit", 2000).expect("it is in the catalogue");
        let init = table.cuInit_2000.expect("always there");
        assert_eq!(init as usize, symbol.address.addr());
    });
}
