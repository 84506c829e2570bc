//! Managed memory, page-locked memory, buffers of OpenGL, copies and batches of copies, on a driver that notes what it is told: which ABI,
//! in which terms, how often.

#[path = "../fakes/mod.rs"]
mod fakes;

mod accessed_by;
mod advice;
mod attributes;
mod batches;
mod buffers;
mod copies;
mod discards;
mod graphics;
mod pinned;
mod prefetches;
mod refusals;

use cushim::driver::{Choice, Driver, OpenOptions};
use cushim::managed::Range;
use cushim::memory::DevicePointer;
use cushim::{Context, Device, Error, Status, Stream, StreamOptions};
use std::ffi::{CStr, CString, c_char};
use std::path::Path;

/// Where the driver's managed memory is; a MiB behind it there is more of it.
const MANAGED: u64 = 0x10_0000;
/// Memory of a managed pool.
const POOLED: u64 = 0x200_0000;
/// Device memory.
const DEVICE: u64 = 0x300_0000;

const INVALID_VALUE: i32 = 1;
const CONCURRENT_MANAGED_ACCESS: i32 = 89;
const PAGEABLE_MEMORY_ACCESS: i32 = 88;

/// Versions that differ in what they have.
const VERSIONS: [u32; 5] = [11040, 12020, 12080, 13000, 13020];

/// The driver of `fakes/managed.c`, one of its own for each test.
struct Fake {
    library: libloading::Library,
    context: Context,
    stream: Stream,
}

impl Fake {
    fn open(version: u32) -> Self {
        let folder = fakes::folder();
        let path = fakes::managed(version, folder.path().join("libcuda.so.1"));
        let driver = OpenOptions::new().choice(Choice::Path(path.clone())).open().expect("the fake opens");
        // SAFETY: it is loaded already.
        let library = unsafe { libloading::Library::new(path) }.expect("the fake is loaded");
        let context = Device::get(&driver, 0).expect("a device").primary_context().expect("a context");
        let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
        Self { library, context, stream }
    }

    fn driver(&self) -> &Driver {
        self.context.driver()
    }

    /// The notes since the last time.
    fn calls(&self) -> Vec<String> {
        // SAFETY: both functions have these types, and the notes end in NUL.
        unsafe {
            let notes =
                self.library.get::<extern "C" fn() -> *const c_char>("fake_calls").expect("it is there")();
            let lines = CStr::from_ptr(notes).to_str().expect("ASCII").lines().map(str::to_owned).collect();
            self.library.get::<extern "C" fn()>("fake_forget").expect("it is there")();
            lines
        }
    }

    /// The nth call of a function from now on fails.
    fn fail(&self, function: &str, nth: i32, result: i32, item: usize) {
        let name = CString::new(function).expect("no NUL");
        // SAFETY: the function has this type and copies the name.
        unsafe {
            let fail = self.library.get::<extern "C" fn(*const c_char, i32, i32, usize)>("fake_fail");
            fail.expect("it is there")(name.as_ptr(), nth, result, item);
        }
    }

    fn capture(&self, on: bool) {
        // Whoever has the native stream may capture it.
        assert!(!self.stream.native().is_null());
        // SAFETY: the function has this type.
        unsafe { self.library.get::<extern "C" fn(i32)>("fake_capture").expect("it is there")(i32::from(on)) }
    }

    fn attribute(&self, device: i32, attribute: i32, value: i32) {
        // SAFETY: the function has this type.
        unsafe {
            let set =
                self.library.get::<extern "C" fn(i32, i32, i32)>("fake_attribute").expect("it is there");
            set(device, attribute, value);
        }
    }
}

/// The nth of the pages of managed memory.
fn page(n: u64) -> Range {
    Range::new(DevicePointer(MANAGED + n * 0x1000), 0x1000)
}

fn pages(count: u64) -> Vec<Range> {
    (0..count).map(page).collect()
}

/// Where the system says which NUMA nodes the machine has.
const NODES: &str = "/sys/devices/system/node";

/// The last NUMA node of the machine, or any number where the system does not tell.
fn last_node() -> i32 {
    let has = |node: &i32| Path::new(NODES).join(format!("node{node}")).exists();
    (0..1024).rev().find(has).unwrap_or(1)
}

/// The call is refused so, by cushim, and the driver is told nothing.
fn refused<T: std::fmt::Debug>(fake: &Fake, result: Result<T, Error>, status: Status, why: &str) -> Error {
    let error = result.expect_err(why);
    assert_eq!((error.status, error.driver_code), (status, 0), "{error}");
    assert!(error.message.contains(why), "{error}");
    assert_eq!(fake.calls(), [""; 0], "{error}");
    error
}
