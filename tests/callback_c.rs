//! Owners, host functions and pull mode through the C ABI. The queue belongs to the process, so one test runs at a time.
#![cfg(feature = "capi")]

mod fakes;

use cushim::capi::callback::{
    cushim_drain, cushim_drain_fd, cushim_drain_item, cushim_drain_item_kind, cushim_flush_callbacks,
    cushim_owner, cushim_stream_launch_host_function,
};
use cushim::capi::context::{cushim_context, cushim_context_destroy, cushim_context_retain_primary};
use cushim::capi::device::cushim_driver_get_device;
use cushim::capi::driver::{cushim_driver, cushim_driver_destroy, cushim_driver_open, cushim_driver_options};
use cushim::capi::error::cushim_last_error_message;
use cushim::capi::stream::{
    cushim_stream, cushim_stream_create, cushim_stream_destroy, cushim_stream_query,
    cushim_stream_synchronize,
};
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

const RELEASE: i32 = cushim_drain_item_kind::CUSHIM_DRAIN_RELEASE as i32;
const HOST_FUNCTION: i32 = cushim_drain_item_kind::CUSHIM_DRAIN_HOST_FUNCTION as i32;

const IN_CALLBACK: i32 = cushim::Status::IN_CALLBACK.0;
const INVALID_ARGUMENT: i32 = cushim::Status::INVALID_ARGUMENT.0;
const STREAM_REQUIRED: i32 = cushim::Status::STREAM_REQUIRED.0;

/// Keeps other tests of this program waiting, and starts with an empty queue.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    flush();
    drain(usize::MAX >> 1);
    guard
}

fn flush() {
    let mut done = -1;
    // SAFETY: a valid place.
    assert_eq!(unsafe { cushim_flush_callbacks(20_000_000_000, &raw mut done) }, 0);
    assert_eq!(done, 1);
}

fn empty() -> cushim_drain_item {
    cushim_drain_item { kind: -1, level: -1, data: null_mut(), target: [1; 48], text: [1; 960] }
}

/// Up to `most` items, by kind and data.
fn drain(most: usize) -> Vec<(i32, usize)> {
    let mut drained = Vec::new();
    loop {
        let mut items = [empty(); 16];
        let room = items.len().min(most - drained.len());
        let mut count = usize::MAX;
        // SAFETY: there are `room` items.
        let status =
            unsafe { cushim_drain(items.as_mut_ptr(), size_of::<cushim_drain_item>(), room, &raw mut count) };
        assert_eq!(status, 0);
        drained.extend(items[..count].iter().map(|item| (item.kind, item.data.addr())));
        if count < items.len() {
            return drained;
        }
    }
}

fn message() -> String {
    // SAFETY: the text is valid until the next call.
    unsafe { CStr::from_ptr(cushim_last_error_message()) }.to_str().expect("UTF-8").to_owned()
}

/// A stream of the driver in `fakes/streams.c`, or of "none".
struct Rig {
    library: Option<libloading::Library>,
    driver: cushim_driver,
    context: cushim_context,
    stream: cushim_stream,
}

impl Rig {
    fn fake() -> Self {
        let folder = fakes::folder();
        let path = fakes::streams(12090, folder.path().join("libcuda.so.1"));
        let mut rig = Self::open(path.to_str().expect("UTF-8"));
        // SAFETY: it is loaded already.
        rig.library = Some(unsafe { libloading::Library::new(path) }.expect("the fake is loaded"));
        rig
    }

    fn open(driver: &str) -> Self {
        let name = CString::new(driver).expect("no NUL");
        let options = cushim_driver_options {
            struct_size: size_of::<cushim_driver_options>(),
            driver: name.as_ptr(),
            getter: None,
            getter_user: null_mut(),
            flags: 0,
            reserved: 0,
        };
        let (mut driver, mut device, mut context, mut stream) =
            (null_mut(), null_mut(), null_mut(), null_mut());
        // SAFETY: options and places are valid.
        unsafe {
            assert_eq!(cushim_driver_open(&raw const options, &raw mut driver), 0, "{}", message());
            assert_eq!(cushim_driver_get_device(driver, 0, &raw mut device), 0, "{}", message());
            assert_eq!(cushim_context_retain_primary(device, &raw mut context), 0, "{}", message());
            assert_eq!(cushim_stream_create(context, null(), &raw mut stream), 0, "{}", message());
        }
        Self { library: None, driver, context, stream }
    }

    fn tell(&self, name: &str, number: i32) {
        let library = self.library.as_ref().expect("a fake");
        // SAFETY: the function takes a number, or nothing, which does not mind one.
        unsafe { library.get::<extern "C" fn(i32)>(name).expect("it is there")(number) }
    }

    fn launch(
        &self,
        function: Option<unsafe extern "C" fn(*mut c_void)>,
        data: *mut c_void,
        owner: *const cushim_owner,
    ) -> i32 {
        // SAFETY: the tests pass what fits together.
        unsafe { cushim_stream_launch_host_function(self.stream, function, data, owner) }
    }

    fn wait(&self) {
        assert_eq!(cushim_stream_synchronize(self.stream), 0, "{}", message());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        cushim_stream_destroy(self.stream);
        cushim_context_destroy(self.context);
        cushim_driver_destroy(self.driver);
    }
}

fn number(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

/// Counts calls in the counter that it is given.
unsafe extern "C" fn count(counter: *mut c_void) {
    // SAFETY: the tests give it counters.
    unsafe { &*counter.cast::<AtomicU32>() }.fetch_add(1, SeqCst);
}

fn counter() -> (&'static AtomicU32, *mut c_void) {
    let counter: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
    (counter, std::ptr::from_ref(counter).cast_mut().cast())
}

#[test]
fn a_host_function_is_called_and_its_owner_released() {
    let _alone = alone();
    for rig in [Rig::fake(), Rig::open("none")] {
        let ((calls, data), (releases, owned)) = (counter(), counter());
        let owner = cushim_owner { data: owned, release: Some(count) };
        assert_eq!(rig.launch(Some(count), data, &raw const owner), 0, "{}", message());
        assert_eq!(rig.launch(Some(count), data, null()), 0, "{}", message());
        rig.wait();
        assert_eq!(calls.load(SeqCst), 2);
        flush();
        assert_eq!(releases.load(SeqCst), 1);
    }
}

#[test]
fn a_stream_that_is_destroyed_calls_its_host_functions_all_the_same() {
    let _alone = alone();
    let rig = Rig::fake();
    let (calls, data) = counter();
    rig.tell("fake_hold", 0);
    assert_eq!(rig.launch(Some(count), data, null()), 0);
    let mut other = null_mut();
    // SAFETY: a valid place.
    assert_eq!(unsafe { cushim_stream_create(rig.context, null(), &raw mut other) }, 0);
    assert_eq!(cushim_stream_destroy(rig.stream), 0);
    rig.tell("fake_go", 0);
    assert_eq!(cushim_stream_synchronize(other), 0);
    assert_eq!(calls.load(SeqCst), 1);
    assert_eq!(cushim_stream_destroy(other), 0);
}

#[test]
fn without_a_function_the_data_is_drained_when_the_stream_gets_there() {
    let _alone = alone();
    let rig = Rig::fake();
    let owner = cushim_owner { data: number(0x30), release: None };
    rig.tell("fake_hold", 0);
    assert_eq!(rig.launch(None, number(0x10), null()), 0);
    assert_eq!(rig.launch(None, number(0x20), &raw const owner), 0);
    assert_eq!(drain(8), []);
    rig.tell("fake_go", 0);
    rig.wait();
    assert_eq!(drain(8), [(HOST_FUNCTION, 0x10), (HOST_FUNCTION, 0x20), (RELEASE, 0x30)]);
}

#[test]
fn an_owner_that_drains_may_go_with_a_function() {
    let _alone = alone();
    let rig = Rig::fake();
    let (calls, data) = counter();
    let owner = cushim_owner { data: number(0x40), release: None };
    assert_eq!(rig.launch(Some(count), data, &raw const owner), 0);
    rig.wait();
    assert_eq!((calls.load(SeqCst), drain(8)), (1, vec![(RELEASE, 0x40)]));
}

#[test]
fn a_failed_call_takes_no_owner() {
    let _alone = alone();
    let rig = Rig::fake();
    let ((calls, data), (releases, owned)) = (counter(), counter());
    let owner = cushim_owner { data: owned, release: Some(count) };
    let pulled = cushim_owner { data: number(0x50), release: None };
    assert_eq!(rig.launch(None, data, &raw const owner), INVALID_ARGUMENT);
    assert!(message().contains("release function"), "{}", message());
    for owner in [&owner, &pulled] {
        rig.tell("fake_refuse", 1);
        assert_ne!(rig.launch(Some(count), data, owner), 0);
        rig.tell("fake_refuse", 0);
    }
    // SAFETY: NULL is allowed, and answered.
    let status =
        unsafe { cushim_stream_launch_host_function(null_mut(), Some(count), data, &raw const owner) };
    assert_eq!(status, STREAM_REQUIRED);
    flush();
    assert_eq!((calls.load(SeqCst), releases.load(SeqCst), drain(8)), (0, 0, vec![]));
}

#[test]
fn what_a_lost_context_will_not_call_is_released_or_drained() {
    let _alone = alone();
    let rig = Rig::fake();
    let ((calls, data), (releases, owned)) = (counter(), counter());
    let owner = cushim_owner { data: owned, release: Some(count) };
    let pulled = cushim_owner { data: number(0x60), release: None };
    rig.tell("fake_hold", 0);
    assert_eq!(rig.launch(Some(count), data, &raw const owner), 0);
    assert_eq!(rig.launch(None, number(0x61), &raw const pulled), 0);
    rig.tell("fake_break", 700);
    rig.tell("fake_go", 0);
    assert_eq!(cushim_stream_synchronize(rig.stream), 700);
    flush();
    assert_eq!((calls.load(SeqCst), releases.load(SeqCst)), (0, 1));
    assert_eq!(drain(8), [(RELEASE, 0x60)]);
}

static QUERIED: AtomicI32 = AtomicI32::new(-1);
static SYNCHRONIZED: AtomicI32 = AtomicI32::new(-1);
static DESTROYED: AtomicI32 = AtomicI32::new(-1);
static LAUNCHED: AtomicI32 = AtomicI32::new(-1);
static FLUSHED: AtomicI32 = AtomicI32::new(-1);
static DRAINED: AtomicI32 = AtomicI32::new(-1);

/// Calls what may be called inside, and what may not.
unsafe extern "C" fn call_inside(stream: *mut c_void) {
    let stream: cushim_stream = stream.cast();
    let (mut done, mut fd, mut count) = (0, 0, 0);
    // SAFETY: places are valid.
    unsafe {
        QUERIED.store(cushim_stream_query(stream, &raw mut done), SeqCst);
        SYNCHRONIZED.store(cushim_stream_synchronize(stream), SeqCst);
        DESTROYED.store(cushim_stream_destroy(stream), SeqCst);
        LAUNCHED.store(
            cushim_stream_launch_host_function(stream, Some(call_inside), stream.cast(), null()),
            SeqCst,
        );
        FLUSHED.store(cushim_flush_callbacks(0, &raw mut done), SeqCst);
        DRAINED.store(cushim_drain(null_mut(), 64, 0, &raw mut count) | cushim_drain_fd(&raw mut fd), SeqCst);
    }
}

#[test]
fn inside_a_host_function_only_a_few_calls_are_allowed() {
    let _alone = alone();
    for rig in [Rig::fake(), Rig::open("none")] {
        assert_eq!(rig.launch(Some(call_inside), rig.stream.cast(), null()), 0, "{}", message());
        rig.wait();
        let seen = |status: &AtomicI32| status.swap(-1, SeqCst);
        assert_eq!((seen(&QUERIED), seen(&DRAINED)), (0, 0));
        assert_eq!(
            (seen(&SYNCHRONIZED), seen(&DESTROYED), seen(&LAUNCHED), seen(&FLUSHED)),
            (IN_CALLBACK, IN_CALLBACK, IN_CALLBACK, IN_CALLBACK)
        );
    }
}

#[test]
fn drain_checks_its_arguments_and_takes_nothing_then() {
    let _alone = alone();
    let rig = Rig::open("none");
    assert_eq!(rig.launch(None, number(0x70), null()), 0);
    let mut item = empty();
    let mut count = 7;
    // SAFETY: the places are valid, or NULL, which is refused.
    unsafe {
        let size = size_of::<cushim_drain_item>();
        assert_eq!(cushim_drain(&raw mut item, size, 1, null_mut()), INVALID_ARGUMENT);
        assert_eq!(cushim_drain(null_mut(), size, 1, &raw mut count), INVALID_ARGUMENT);
        assert_eq!((cushim_drain(&raw mut item, 15, 1, &raw mut count), count), (INVALID_ARGUMENT, 0));
        assert!(message().contains("stride"), "{}", message());
        assert_eq!((cushim_drain(null_mut(), size, 0, &raw mut count), count), (0, 0));
    }
    assert_eq!(drain(8), [(HOST_FUNCTION, 0x70)]);
}

#[test]
fn drain_writes_shorter_and_longer_structs() {
    let _alone = alone();
    let rig = Rig::open("none");
    for stride in [16_usize, 24, size_of::<cushim_drain_item>(), size_of::<cushim_drain_item>() + 32] {
        assert_eq!(rig.launch(None, number(1), null()), 0);
        assert_eq!(rig.launch(None, number(2), null()), 0);
        let mut bytes = vec![0xaa_u8; stride * 3];
        let mut count = 0;
        // SAFETY: there is room for three structs of `stride` bytes.
        let status = unsafe { cushim_drain(bytes.as_mut_ptr().cast(), stride, 3, &raw mut count) };
        assert_eq!((status, count), (0, 2));
        for (index, place) in bytes.chunks(stride).take(2).enumerate() {
            assert_eq!(place[..4], HOST_FUNCTION.to_ne_bytes());
            assert_eq!(place[8..16], (index + 1).to_ne_bytes());
            assert!(place[16..].iter().all(|byte| *byte == 0), "texts and what is unknown are empty");
        }
        assert!(bytes[stride * 2..].iter().all(|byte| *byte == 0xaa), "nothing behind the last item");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_descriptor_is_readable_while_items_wait() {
    let _alone = alone();
    let rig = Rig::open("none");
    let (mut fd, mut again) = (-1, -2);
    let launch = |data| assert_eq!(rig.launch(None, number(data), null()), 0);
    launch(1);
    // SAFETY: valid places.
    assert_eq!(unsafe { (cushim_drain_fd(&raw mut fd), cushim_drain_fd(&raw mut again)) }, (0, 0));
    assert_eq!(fd, again);
    let readable = || {
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    };
    assert!(readable(), "an item waited before the descriptor was made");
    launch(2);
    assert_eq!(drain(1), [(HOST_FUNCTION, 1)]);
    assert!(readable(), "one is left");
    assert_eq!(drain(1), [(HOST_FUNCTION, 2)]);
    assert!(!readable(), "none is left");
    launch(3);
    assert!(readable());
    assert_eq!(drain(8), [(HOST_FUNCTION, 3)]);
    assert!(!readable());
    // SAFETY: a descriptor that is open.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC, "no program that is started inherits it");
}

#[test]
fn racing_drainers_get_each_item_once() {
    const THREADS: usize = 4;
    const EACH: usize = 2000;
    let _alone = alone();
    let rig = Rig::open("none");
    let (all, finished) = (Mutex::new(Vec::new()), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (stream, finished) = (rig.stream.addr(), &finished);
            scope.spawn(move || {
                for index in 0..EACH {
                    let data = number(1 + thread * EACH + index);
                    let owner = cushim_owner { data, release: None };
                    // SAFETY: the stream lives, and so does the owner.
                    let status = unsafe {
                        cushim_stream_launch_host_function(
                            std::ptr::without_provenance_mut(stream),
                            None,
                            data,
                            &raw const owner,
                        )
                    };
                    assert_eq!(status, 0);
                }
                finished.fetch_add(1, SeqCst);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let last = finished.load(SeqCst) == THREADS as u32;
                    let items = drain(16);
                    if last && items.is_empty() {
                        return;
                    }
                    all.lock().expect("no panic").extend(items);
                }
            });
        }
    });
    let mut all = all.into_inner().expect("no panic");
    all.sort_unstable();
    let expected: Vec<_> = [RELEASE, HOST_FUNCTION]
        .iter()
        .flat_map(|kind| (1..=THREADS * EACH).map(move |data| (*kind, data)))
        .collect();
    assert_eq!(all.len(), expected.len());
    assert!(all == expected, "an item is missing, or came twice");
}

#[test]
fn release_functions_are_called_once_each_under_races() {
    const THREADS: usize = 4;
    const EACH: usize = 500;
    let _alone = alone();
    let rig = Rig::fake();
    let counters: Vec<AtomicU32> = (0..THREADS * EACH).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for chunk in counters.chunks(EACH) {
            let stream = rig.stream.addr();
            scope.spawn(move || {
                for counter in chunk {
                    let data = std::ptr::from_ref(counter).cast_mut().cast();
                    let owner = cushim_owner { data, release: Some(count) };
                    let stream = std::ptr::without_provenance_mut(stream);
                    // SAFETY: the counters outlive the flush below.
                    let status = unsafe {
                        cushim_stream_launch_host_function(stream, Some(count), data, &raw const owner)
                    };
                    assert_eq!(status, 0);
                }
            });
        }
    });
    rig.wait();
    flush();
    for (index, counter) in counters.iter().enumerate() {
        assert_eq!(counter.load(SeqCst), 2, "host function and release of {index}");
    }
}

#[test]
fn waiting_for_callbacks_needs_a_place_for_the_answer() {
    let _alone = alone();
    // SAFETY: NULL is answered.
    assert_eq!(unsafe { cushim_flush_callbacks(0, null_mut()) }, INVALID_ARGUMENT);
    // SAFETY: NULL is answered.
    assert_eq!(unsafe { cushim_drain_fd(null_mut()) }, INVALID_ARGUMENT);
}

#[cfg(target_os = "linux")]
#[test]
fn the_child_of_a_fork_is_refused() {
    let _alone = alone();
    let rig = Rig::open("none");
    assert_eq!(rig.launch(None, number(9), null()), 0);
    // SAFETY: the child calls what answers before any lock, and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let forked = cushim::Status::FORKED.0;
        let mut item = empty();
        let (mut count, mut fd, mut done) = (0, 0, 0);
        // SAFETY: the places are valid; the child ends here.
        unsafe {
            let refused = cushim_drain(&raw mut item, size_of::<cushim_drain_item>(), 1, &raw mut count)
                == forked
                && cushim_drain_fd(&raw mut fd) == forked
                && cushim_flush_callbacks(u64::MAX, &raw mut done) == forked
                && cushim_stream_launch_host_function(rig.stream, Some(call_inside), null_mut(), null())
                    == forked;
            libc::_exit(if refused { 7 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
    assert_eq!(drain(8), [(HOST_FUNCTION, 9)], "the parent has its item");
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_without_descriptors_is_told_so() {
    fakes::Child::new("a_process_without_descriptors_is_told_so").run(|| {
        let mut fd = -1;
        let limit = |soft| {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: a valid place; the soft limit alone changes, and not beyond the hard one.
            unsafe {
                assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
                let before = std::mem::replace(&mut limit.rlim_cur, soft);
                assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
                before
            }
        };
        let before = limit(0);
        // SAFETY: a valid place.
        let status = unsafe { cushim_drain_fd(&raw mut fd) };
        limit(before);
        assert_eq!((status, fd), (cushim::Status::INTERNAL.0, 0));
        assert!(message().contains("raise their limit"), "{}", message());
        // SAFETY: a valid place.
        assert_eq!(unsafe { cushim_drain_fd(&raw mut fd) }, 0, "{}", message());
    });
}
