//! Devices without pools, and calls that need no current context, told by a driver that watches.

use cushim::driver::{Choice, CustomGetter, Driver, OpenOptions, Status as Found, sys};
use cushim::memory::{DeviceMemory, Extent, Fill, PinnedMemory, PinnedOptions, Place, Region};
use cushim::{Context, Device, Status, Stream, StreamOptions};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};

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

fn context() -> Arc<Context> {
    // SAFETY: each address is that of a function of the ABI asked for, and lasts.
    let getter = unsafe { CustomGetter::new(lend, std::ptr::null_mut()) };
    let driver = OpenOptions::new().getter(getter).open().expect("a getter opens");
    Device::get(&driver, 0).expect("a device").primary_context().expect("a context")
}

fn stream(context: &Arc<Context>) -> Arc<Stream> {
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
        "device 0 has no memory pools, without which nothing is allocated or freed in stream order; do it without a stream"
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
    let (at, device, host) = (memory.pointer(), memory.place(), pinned.place());
    let beyond = at.offset(2048).expect("an address");
    let (rows, there) = (Region::new(device, 64), Region::new(host, 64));
    // SAFETY: all ends hold so many bytes, and last until the stream is done.
    unsafe {
        let once = asked(|| {
            stream.copy(device, host, 4096).expect("copied");
            stream.copy(host, device, 4096).expect("copied");
            stream.copy(Place::Auto(at.0), host, 4096).expect("copied");
            stream.copy_box(&rows, &there, Extent::rectangle(32, 8)).expect("copied");
        });
        assert_eq!(once, 4);
        let none = asked(|| {
            let ordered = DeviceMemory::allocate_on(&stream, 64).expect("memory");
            stream.fill(at, Fill::U8(1), 64).expect("filled");
            stream.fill(at, Fill::U16(1), 64).expect("filled");
            stream.fill(at, Fill::U32(1), 64).expect("filled");
            stream.fill_2d(at, 64, Fill::U8(1), 32, 8).expect("filled");
            stream.copy_peer((&context, at), (&context, beyond), 64).expect("copied");
            stream
                .copy_box_peer((&context, &rows), (&context, &there), Extent::rectangle(32, 8))
                .expect("copied");
            ordered.free().expect("freed");
            DeviceMemory::allocate_on(&stream, 64).expect("memory").free_on(&stream).expect("freed");
            stream.synchronize().expect("done");
        });
        assert_eq!(none, 0);
        assert_eq!(asked(|| context.fill(at, Fill::U8(1), 64).expect("filled")), 1);
        stream.synchronize().expect("done");
    }
    assert_eq!(asked(|| memory.free().expect("freed")), 0);
    assert_eq!(asked(|| pinned.free().expect("freed")), 0);
    assert_eq!(asked(|| drop(DeviceMemory::allocate(&context, 64).expect("memory"))), 1);
}
