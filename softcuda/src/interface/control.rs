//! The control interface: what a test can ask of the software driver and arrange in it, beside the driver's own
//! functions. `include/softcuda.h` is made from this file, with `codegen/header/softcuda_head.h` before it.

#![allow(unreachable_pub)] // cbindgen declares what is public
#![allow(non_camel_case_types)] // types of C

use crate::abi::pointer::In;
use crate::abi::reach;
use crate::abi::sys::{
    CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_SYSTEM_NOT_READY,
    CUDA_ERROR_UNKNOWN, CUresult,
};
use crate::check;
use crate::check::access::Kind;
use crate::check::reports::{self, Report};
use crate::driver::context;
use crate::driver::installed::{self, softcuda_device};
use crate::driver::kernel::declared;
use crate::driver::kernel::native::{self, softcuda_kernel};
use crate::driver::memory::{managed, table};
use crate::instruments::cancellation::Deferred;
use crate::instruments::live::{self, Object};
use crate::instruments::settings::settings;
use crate::instruments::setup::ready;
use crate::instruments::{counts, fault, selection, trace};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::{Error, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The impersonated version as a number, 12020 for 12.2; -1 if the environment asks for something impossible.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_version() -> c_int {
    settings().filter(|_| ready()).map_or(-1, |s| s.version as c_int)
}

/// Why the calling thread's last failed control function failed: a sentence; "" if none has failed.
///
/// Never NULL. The text lasts until another control function fails on the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Arranges faults, as the variable SOFTCUDA_FAULT does: calls that fail before they have any effect. They replace those
/// arranged before, and counting begins anew.
///
/// `text` is a list like "cuMemAllocAsync#3=2; cuGraphInstantiate*#1+=801; *#17=700/sticky"; NULL or "" is none.
///
/// Errors: 1 the text cannot be read; the faults stay as they were.
///
/// # Safety
/// `text` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_fault_set(text: *const c_char) -> c_int {
    status(|| {
        // SAFETY: the caller's promise.
        let text = unsafe { optional(text) }?.unwrap_or_default();
        fault::set(text).map_err(|why| Refusal(CUDA_ERROR_INVALID_VALUE, why))
    })
}

/// Takes all faults away. `softcuda_fault_hits` still tells what they did.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_fault_clear() {
    ready();
    fault::clear();
}

/// How many calls a fault has made fail since the faults were set.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_fault_hits() -> u64 {
    fault::hits()
}

/// Gives contexts a sticky error, as an illegal access of a kernel does: the calling thread's current context, or all that
/// are alive if it has none. `code` is the number of a `CUresult`, 700 for CUDA_ERROR_ILLEGAL_ADDRESS.
///
/// The devices of these contexts are lost to the process.
///
/// Errors: 1 `code` is not positive; 201 there is no context.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_poison(code: c_int) -> c_int {
    status(|| {
        if code <= 0 {
            return Err(Refusal(CUDA_ERROR_INVALID_VALUE, format!("{code} is not the number of an error")));
        }
        if context::poison(CUresult(code)) {
            return Ok(());
        }
        let why = "there is no context that could have an error; create or retain one first";
        Err(Refusal(CUDA_ERROR_INVALID_CONTEXT, why.to_owned()))
    })
}

/// How often functions of the driver were called: those whose exported or base name is `name`, in which `*` stands for any
/// characters. "*" leaves out those that only tell about the driver, as cuDriverGetVersion and cuGetProcAddress.
///
/// Calls that failed count too, and so do those that a fault has made fail. -1 if no function has such a name.
///
/// # Safety
/// `name` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_call_count(name: *const c_char) -> i64 {
    number(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { required(name) }?;
        let why = || Refusal(CUDA_ERROR_NOT_FOUND, format!("no function of the driver is called `{name}`"));
        Ok(counts::count(&selection::select(name).ok_or_else(why)?))
    })
}

/// Counts calls from zero.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_calls_reset() {
    counts::reset();
}

/// Adds a line of JSON for every call from now on to the file at `path`, as the variable SOFTCUDA_TRACE does; "-" is the
/// standard error stream. A trace that is under way goes on there.
///
/// Errors: 1 `path` is NULL or not UTF-8; 301 the file cannot be written.
///
/// # Safety
/// `path` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_trace_start(path: *const c_char) -> c_int {
    status(|| {
        // SAFETY: the caller's promise.
        let path = unsafe { required(path) }?;
        let why = |error| Refusal(CUDA_ERROR_FILE_NOT_FOUND, format!("{path} cannot be written: {error}"));
        trace::start(path).map_err(why)
    })
}

/// Ends the trace.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_trace_stop() {
    ready();
    trace::stop();
}

/// How many reports the checks of SOFTCUDA_CHECK have made since the process began, or since softcuda_check_reset; 0 if
/// no check is on.
///
/// Work is looked at in the order in which it was submitted, once it has run. When the program has waited for all of its
/// work, every report is there.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_check_count() -> usize {
    check::count()
}

/// A report as text, by its number from 0; NULL if there are not so many.
///
/// The text lasts until the calling thread asks for another report.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_check_report(number: usize) -> *const c_char {
    report(number, |report| report.to_string())
}

/// As softcuda_check_report: the report as the line of JSON that SOFTCUDA_CHECK_LOG writes.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_check_json(number: usize) -> *const c_char {
    report(number, Report::json)
}

/// Forgets the reports: a pair of places that was reported is reported again.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_check_reset() {
    reports::reset();
}

/// Looks for leaks now, as the end of the process does: what lives is reported, once for each kind and function that has
/// made it. Nothing happens without SOFTCUDA_CHECK=leaks.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_check_leaks() {
    ready();
    check::look_for_leaks();
}

fn report(number: usize, text: impl FnOnce(&Report) -> String) -> *const c_char {
    let Some(report) = reports::get(number) else { return std::ptr::null() };
    let text = CString::new(text(&report)).unwrap_or_default();
    let keep = |place: &RefCell<CString>| {
        *place.borrow_mut() = text;
        place.borrow().as_ptr()
    };
    REPORT.try_with(keep).unwrap_or(std::ptr::null())
}

/// How many objects the program has created and not released, of all kinds.
///
/// Exact while no other thread is inside a call.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_live_objects() -> usize {
    live::objects().len()
}

/// How many objects of a kind the program has created and not released: "context", "stream", "event", "device memory",
/// "pinned memory", "registered memory", "managed memory", "memory pool", "physical memory", "address range", "graph",
/// "executable graph", "user object", "library", "module", "linker". -1 if there is no such kind.
///
/// # Safety
/// `kind` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_live(kind: *const c_char) -> i64 {
    number(|| {
        // SAFETY: the caller's promise.
        Ok(unsafe { of_kind(kind) }?.len() as u64)
    })
}

/// The bytes of the objects that `softcuda_live` counts; 0 for what is no memory.
///
/// # Safety
/// `kind` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_live_bytes(kind: *const c_char) -> i64 {
    number(|| {
        // SAFETY: the caller's promise.
        Ok(unsafe { of_kind(kind) }?.iter().map(|object| object.bytes as u64).sum())
    })
}

/// Writes a line for every object that the program has created and not released to the file descriptor `fd`, 2 for the
/// standard error stream.
///
/// Errors: 304 nothing can be written there.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_dump(fd: c_int) -> c_int {
    status(|| {
        let why =
            |error| Refusal(CUDA_ERROR_OPERATING_SYSTEM, format!("descriptor {fd} takes no text: {error}"));
        if fd < 0 {
            return Err(why(Error::from_raw_os_error(libc::EBADF)));
        }
        // SAFETY: lent by the caller for the duration of the call, and not closed here.
        let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
        file.write_all(live::lines().as_bytes()).map_err(why)
    })
}

/// Names an object in what is said of it: of a stream and of memory in the reports of the checks, of everything in those of
/// what was never released, and in softcuda_dump. `object` is its handle, or for memory its first address, a device or a
/// host pointer. `label` is copied; NULL or "" takes the name away. It goes with the object.
///
/// Handles that mean a default stream have no name, and nodes of graphs neither.
///
/// Errors: 1 `label` is no UTF-8; 500 nothing that lives has this handle or begins at this address.
///
/// # Safety
/// `label` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_label_set(object: u64, label: *const c_char) -> c_int {
    status(|| {
        // SAFETY: the caller's promise.
        let label = unsafe { optional(label) }?.filter(|label| !label.is_empty()).map(Arc::from);
        let why = || Refusal(CUDA_ERROR_NOT_FOUND, format!("nothing that lives is called {object:#x}"));
        live::set_label(object as usize, label.as_ref()).then_some(()).ok_or_else(why)
    })
}

/// 1 if the address, a device or a host pointer, lies in an allocation or registration that was not released; 0 if not.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_is_live(address: u64) -> c_int {
    c_int::from(table::find(address as usize).is_some())
}

/// Of the allocation or registration in which the address lies: its first address, its size in bytes, and the handle of
/// the context that it belongs to. Each of the three places may be NULL.
///
/// Errors: 500 it lies in none; nothing is written.
///
/// # Safety
/// Each place is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_allocation_info(
    address: u64,
    base: *mut u64,
    size: *mut usize,
    context: *mut *mut c_void,
) -> c_int {
    status(|| {
        let why =
            || Refusal(CUDA_ERROR_NOT_FOUND, format!("{address:#x} lies in no allocation that is alive"));
        let allocation = table::find(address as usize).ok_or_else(why)?;
        // SAFETY: the caller's promise.
        unsafe {
            write(base, allocation.address as u64);
            write(size, allocation.size);
            write(context, allocation.owner.context().cast());
        }
        Ok(())
    })
}

/// Where the driver has put the page of managed memory in which the address lies: the ordinal of a device, -1 for the host,
/// -2 where nothing is. What the host touches the driver does not see.
///
/// Errors: 500 the address lies in no managed memory; nothing is written.
///
/// # Safety
/// `place` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_residence(address: u64, place: *mut c_int) -> c_int {
    status(|| {
        let why =
            || Refusal(CUDA_ERROR_NOT_FOUND, format!("{address:#x} lies in no managed memory that is alive"));
        let residence = managed::residence(address as usize).ok_or_else(why)?;
        // SAFETY: the caller's promise.
        unsafe { write(place, residence) };
        Ok(())
    })
}

/// Lets a native function run in place of a kernel: of each kernel of this name in PTX that is loaded from now on, and in
/// images that hold machine code only, which have exactly the kernels that were registered. One of the same name is
/// replaced.
///
/// `name` is the kernel's name, `sizes` are the bytes of each of its `count` parameters (PTX knows its own; there they
/// must be right all the same), `data` is given to the function.
///
/// Errors: 1 `name`, `sizes` or `function` is NULL, or the sizes are those of no kernel.
///
/// # Safety
/// `name` is NULL or terminated; `sizes` is NULL or has `count` numbers; the function may be called with `data` from other
/// threads until the process ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_kernel_register(
    name: *const c_char,
    sizes: *const usize,
    count: usize,
    function: softcuda_kernel,
    data: *mut c_void,
) -> c_int {
    status(|| {
        let why = |what: &str| Refusal(CUDA_ERROR_INVALID_VALUE, format!("{what} must not be NULL"));
        let function = function.ok_or_else(|| why("function"))?;
        if name.is_null() {
            return Err(why("name"));
        }
        if sizes.is_null() && count > 0 {
            return Err(why("sizes"));
        }
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_owned();
        let mut all = 0_usize;
        let mut place = |index| {
            let size = In::at(sizes).item(index).ok()?;
            all = all.saturating_add(size);
            (size > 0 && all <= MOST_PARAMETERS).then_some(size)
        };
        let too_large = || {
            let why = format!(
                "a kernel has at most {MOST_PARAMETERS} bytes of parameters, of 1 byte and more each"
            );
            Refusal(CUDA_ERROR_INVALID_VALUE, why)
        };
        let sizes = (0..count).map_while(&mut place).collect::<Vec<_>>();
        if sizes.len() < count {
            return Err(too_large());
        }
        native::register(name, sizes, function, data);
        Ok(())
    })
}

/// Takes a native kernel away. Code that was loaded before keeps it.
///
/// Errors: 1 `name` is NULL; 500 none of this name was registered.
///
/// # Safety
/// `name` is NULL or terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_kernel_unregister(name: *const c_char) -> c_int {
    status(|| {
        if name.is_null() {
            return Err(Refusal(CUDA_ERROR_INVALID_VALUE, "name must not be NULL".to_owned()));
        }
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) };
        if native::unregister(name.to_bytes()) {
            return Ok(());
        }
        Err(Refusal(
            CUDA_ERROR_NOT_FOUND,
            format!("no native kernel {} was registered", name.to_string_lossy()),
        ))
    })
}

/// How many devices the machine has, also those that CUDA_VISIBLE_DEVICES hides; -1 if the environment asks for something
/// impossible.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_device_count() -> i64 {
    number(|| Ok(installed::count() as u64))
}

/// What a device of the machine is, and what this process does with it. Devices are numbered from 0, as they would be if
/// CUDA_VISIBLE_DEVICES were not set.
///
/// A process has its devices for itself: what other processes use is not seen here.
///
/// Errors: 1 `device` is NULL; 101 there is no device of this number. Nothing is written then.
///
/// # Safety
/// `device` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softcuda_device_get(number: u32, device: *mut softcuda_device) -> c_int {
    status(|| {
        if device.is_null() {
            return Err(Refusal(CUDA_ERROR_INVALID_VALUE, "device must not be NULL".to_owned()));
        }
        let count = installed::count();
        let why = || {
            Refusal(
                CUDA_ERROR_INVALID_DEVICE,
                format!("there is no device {number}; the machine has {count}"),
            )
        };
        let found = installed::of_number(number as usize).ok_or_else(why)?;
        // SAFETY: the caller's promise.
        unsafe { device.write(found) };
        Ok(())
    })
}

/// Where `size` bytes at a device pointer are in this process, for native kernels; NULL if they are not wholly inside one
/// allocation. Good until that is freed.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_bytes(address: u64, size: usize) -> *mut c_void {
    let found = table::find(address as usize);
    let bytes = found.and_then(|allocation| allocation.locate(address as usize, size).ok());
    bytes.unwrap_or(std::ptr::null_mut()).cast()
}

/// As softcuda_bytes, for a native kernel that reads these bytes: it is called by that kernel, on its thread, and then the
/// checks of SOFTCUDA_CHECK see the read. A kernel that calls this or softcuda_writes tells of everything that it reads and
/// writes; of one that calls neither nobody knows what it does, and so nothing is reported of it.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_reads(address: u64, size: usize) -> *const c_void {
    used(address, size, Kind::Read)
}

/// As softcuda_reads, for bytes that the kernel writes. What it reads and writes it names by both.
#[unsafe(no_mangle)]
pub extern "C" fn softcuda_writes(address: u64, size: usize) -> *mut c_void {
    used(address, size, Kind::Write)
}

fn used(address: u64, size: usize, kind: Kind) -> *mut c_void {
    declared::declare(address, size, kind).unwrap_or(std::ptr::null_mut()).cast()
}

/// Bytes of parameters, of the devices that have most.
const MOST_PARAMETERS: usize = 32764;

/// Why a control function fails: the driver's result that comes nearest, and a sentence.
struct Refusal(CUresult, String);

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
    /// The report that the thread has asked for.
    static REPORT: RefCell<CString> = RefCell::default();
}

/// Runs `body` when the environment has been read, which may arrange the same things.
fn run<T>(body: impl FnOnce() -> Result<T, Refusal>) -> Result<T, CUresult> {
    let _deferred = Deferred::new();
    reach::forget();
    let refusal = || {
        let why = "the environment asks for something impossible, as was said on the standard error stream";
        Refusal(CUDA_ERROR_SYSTEM_NOT_READY, why.to_owned())
    };
    let defect = |_| {
        let why = "softcuda has met a defect of its own, as was said on the standard error stream";
        Err(Refusal(CUDA_ERROR_UNKNOWN, why.to_owned()))
    };
    let run = AssertUnwindSafe(|| ready().then_some(()).ok_or_else(refusal).and_then(|()| body()));
    catch_unwind(run).unwrap_or_else(defect).map_err(|Refusal(code, sentence)| {
        let message = CString::new(sentence).unwrap_or_default();
        // A thread that is ending has no place for it.
        let _ = MESSAGE.try_with(|place| place.replace(message));
        code
    })
}

/// 0, or the number of a result.
fn status(body: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    run(body).err().map_or(0, |code| code.0)
}

/// A count, or -1.
fn number(body: impl FnOnce() -> Result<u64, Refusal>) -> i64 {
    run(body).map_or(-1, |count| count as i64)
}

/// # Safety
/// `kind` is NULL or terminated.
unsafe fn of_kind(kind: *const c_char) -> Result<Vec<Object>, Refusal> {
    // SAFETY: the caller's promise.
    let kind = unsafe { required(kind) }?;
    if !live::KINDS.contains(&kind) {
        let kinds = live::KINDS.join(", ");
        return Err(Refusal(
            CUDA_ERROR_NOT_FOUND,
            format!("`{kind}` is no kind of object; there are {kinds}"),
        ));
    }
    Ok(live::objects().into_iter().filter(|object| object.kind == kind).collect())
}

/// # Safety
/// `text` is NULL or terminated.
unsafe fn required<'a>(text: *const c_char) -> Result<&'a str, Refusal> {
    // SAFETY: the caller's promise.
    let text = unsafe { optional(text) }?;
    text.ok_or_else(|| Refusal(CUDA_ERROR_INVALID_VALUE, "a text is needed, not NULL".to_owned()))
}

/// # Safety
/// `text` is NULL or terminated.
unsafe fn optional<'a>(text: *const c_char) -> Result<Option<&'a str>, Refusal> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, so terminated.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| Refusal(CUDA_ERROR_INVALID_VALUE, "the text is not UTF-8".to_owned()))
}

/// # Safety
/// `place` is NULL or can be written.
unsafe fn write<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}
