//! Devices without pools, and calls that need no current context, told by a driver that watches.

use cushim::driver::{Choice, CustomGetter, Driver, OpenOptions, Status as Found, sys};
use cushim::memory::{DeviceMemory, PinnedMemory, PinnedOptions};
use cushim::op::{Copy, Copy3d, Endpoint, Extent, Memset, Region, Value};
use cushim::{Context, Device, Status, Stream, StreamOptions};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

thread_local! {
    /// Whether this thread's device has pools.
    static POOLS: Cell<bool> = const { Cell::new(true) };
    /// How often this thread has asked for the current context.
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

fn software() -> &'static Driver {
    static SOFTWARE: OnceLock<Driver> = OnceLock::new();
    SOFTWARE.get_or_init(|| {
        OpenOptions::new().choice(Choice::Software).open().expect("softcuda is beside the tests")
    })
}

unsafe extern "C" fn attribute(
    value: *mut i32,
    attribute: sys::CUdevice_attribute,
    device: sys::CUdevice,
) -> sys::CUresult {
    if attribute == sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED && !POOLS.get() {
        // SAFETY: the caller passes a valid out-pointer.
        unsafe { value.write(0) };
        return sys::CUDA_SUCCESS;
    }
    let get = software().table().cuDeviceGetAttribute_2000.expect("softcuda has it");
    // SAFETY: as it was called.
    unsafe { get(value, attribute, device) }
}

unsafe extern "C" fn allocate_on(pointer: *mut u64, bytes: usize, stream: sys::CUstream) -> sys::CUresult {
    if !POOLS.get() {
        return sys::CUDA_ERROR_NOT_SUPPORTED;
    }
    let allocate = software().table().cuMemAllocAsync_11020.expect("softcuda has it");
    // SAFETY: as it was called.
    unsafe { allocate(pointer, bytes, stream) }
}

unsafe extern "C" fn current(context: *mut sys::CUcontext) -> sys::CUresult {
    ASKED.set(ASKED.get() + 1);
    let get = software().table().cuCtxGetCurrent_4000.expect("softcuda has it");
    // SAFETY: as it was called.
    unsafe { get(context) }
}

/// Gives softcuda's functions, except those above.
unsafe extern "C" fn lend(
    _user: *mut c_void,
    symbol: *const c_char,
    address: *mut *mut c_void,
    version: c_int,
    _flags: u64,
    status: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes a name that ends, and valid out-pointers.
    let name = unsafe { CStr::from_ptr(symbol) }.to_str().expect("UTF-8");
    let found = match name {
        "cuDeviceGetAttribute" => attribute as *const c_void,
        "cuMemAllocAsync" => allocate_on as *const c_void,
        "cuCtxGetCurrent" => current as *const c_void,
        _ => software()
            .symbol(name, version as u32)
            .filter(|symbol| symbol.status == Found::Found)
            .map_or(std::ptr::null(), |symbol| symbol.address),
    };
    // SAFETY: as above.
    unsafe {
        address.write(found.cast_mut());
        status.write(c_int::from(found.is_null()));
    }
    0
}

fn context() -> Context {
    // SAFETY: each address is that of a function of the ABI asked for, and lasts.
    let getter = unsafe { CustomGetter::new(lend, std::ptr::null_mut()) };
    let driver = OpenOptions::new().getter(getter).open().expect("a getter opens");
    Device::get(&driver, 0).expect("a device").primary_context().expect("a context")
}

fn stream(context: &Context) -> Stream {
    Stream::create(context, &StreamOptions::default()).expect("a stream")
}

#[test]
fn a_device_without_pools_says_so() {
    let context = context();
    let stream = stream(&context);
    DeviceMemory::allocate_on(&stream, 64).expect("with pools").free().expect("freed");
    POOLS.set(false);
    let error = DeviceMemory::allocate_on(&stream, 64).expect_err("without pools");
    assert_eq!((error.status, error.function.as_str()), (Status::UNSUPPORTED, "cuMemAllocAsync"));
    assert_eq!(
        error.message,
        "device 0 has no memory pools, so it cannot allocate or free in stream order; allocate without a stream"
    );
    DeviceMemory::allocate(&context, 64).expect("without a stream").free_on(&stream).expect("freed");
}

/// How often `body` makes the thread ask for its current context.
fn asked(body: impl FnOnce()) -> u32 {
    let before = ASKED.get();
    body();
    ASKED.get() - before
}

/// On driver 580 these need no current context (measured), so they do not even ask which one is; copies do, once: another
/// device's would be in their way.
#[test]
fn what_needs_no_context_asks_for_none() {
    let context = context();
    let stream = stream(&context);
    let memory = DeviceMemory::allocate(&context, 4096).expect("memory");
    let pinned = PinnedMemory::allocate(&context, 4096, PinnedOptions::default()).expect("memory");
    let (at, host) = (|| memory.at(0), || pinned.at(0));
    let rows = || Copy3d::new(Region::new(at(), 64), Region::new(host(), 64), Extent::rectangle(32, 8));
    // SAFETY: all ends hold so many bytes, and last until the stream is done.
    unsafe {
        let once = asked(|| {
            stream.enqueue(&mut Copy::new(at(), host(), 4096)).expect("copied");
            stream.enqueue(&mut Copy::new(host(), at(), 4096)).expect("copied");
            stream.enqueue(&mut Copy::new(Endpoint::auto(memory.pointer().0), host(), 4096)).expect("copied");
            let (first, second) = (at().in_context(&context), memory.at(2048).in_context(&context));
            stream.enqueue(&mut Copy::new(first, second, 64)).expect("copied");
            stream.enqueue(&mut rows()).expect("copied");
        });
        assert_eq!(once, 5);
        let none = asked(|| {
            let ordered = DeviceMemory::allocate_on(&stream, 64).expect("memory");
            stream.enqueue(&mut Memset::new(at(), Value::U8(1), 64)).expect("set");
            stream.enqueue(&mut Memset::new(at(), Value::U16(1), 64)).expect("set");
            stream.enqueue(&mut Memset::new(at(), Value::U32(1), 64)).expect("set");
            stream.enqueue(&mut Memset::rectangle(at(), 64, Value::U8(1), 32, 8)).expect("set");
            ordered.free().expect("freed");
            DeviceMemory::allocate_on(&stream, 64).expect("memory").free_on(&stream).expect("freed");
            stream.synchronize().expect("done");
        });
        assert_eq!(none, 0);
        let set = || context.run(&mut Memset::new(at(), Value::U8(1), 64)).expect("set");
        assert_eq!(asked(set), 1);
        stream.synchronize().expect("done");
    }
    assert_eq!(asked(|| memory.free().expect("freed")), 0);
    assert_eq!(asked(|| pinned.free().expect("freed")), 0);
    assert_eq!(asked(|| drop(DeviceMemory::allocate(&context, 64).expect("memory"))), 1);
}
