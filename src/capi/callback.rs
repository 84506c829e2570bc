//! What callers lend, and pull mode.
//!
//! @header cushim.h
//! @task be called back, or poll instead

use super::error::{call, call_taking, copy_text, cushim_status, long_call};
use super::handles;
use super::stream::cushim_stream;
use super::{input, options, out, pointer};
use crate::object::callback::pull::{self, Data, Item};
use crate::object::callback::{Lending, Owner, flush_callbacks, leaked_releases};
use crate::object::error::{Error, Status};
use crate::object::handle;
use crate::op::HostFunction;
use crate::op::node::CFunction;
use crate::stream::Stream;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// A function that releases what an owner keeps. It must not throw C++ exceptions.
pub type cushim_release_function = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// What keeps something alive that the program lends to the library. The library calls `release(data)` exactly once,
/// after the last use, unless the process ends first.
///
/// `release` runs on a thread of the library's own: never while the library holds a lock, never inside a function
/// that the driver called, never on a thread of the program's. So it may lock what the program locks, and may call
/// every function of the library. That thread is in the driver's relaxed capture mode, so what a release calls does
/// not invalidate a capture of another thread's. One thread makes all releases, one after the other, and calls the log
/// callback: a release that takes long delays all others until it returns, and none is lost. Let it pass long work to
/// a thread of the program's. If `release` is NULL, `cushim_drain` returns `data` instead, as an item of kind
/// `CUSHIM_DRAIN_RELEASE`: for languages that must not be called on foreign threads.
///
/// A function that takes an owner reads this struct during the call only. If the call fails, nothing is released,
/// then or later.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_owner {
    /// @field[nullable] Passed to `release`; may be NULL.
    pub data: *mut c_void,
    /// @field[nullable] Releases `data`. NULL: `cushim_drain` returns it.
    pub release: cushim_release_function,
}

/// A caller's owner, if there is one, which is taken over when the call succeeds.
///
/// # Safety
/// `owner` is NULL, misaligned or points to an owner whose release may be called, once, from any thread.
pub(super) unsafe fn given(lending: &Lending, owner: *const cushim_owner) -> Result<Option<Owner>, Error> {
    pointer::check_if_given(owner, "owner")?;
    handle::check_memory()?;
    // SAFETY: it is aligned, and the caller vouches for the rest.
    Ok(unsafe { lent(lending, owner) })
}

/// The same for an owner whose address was checked.
///
/// # Safety
/// `owner` is NULL or points to an owner whose release may be called, once, from any thread.
pub(super) unsafe fn lent(lending: &Lending, owner: *const cushim_owner) -> Option<Owner> {
    // SAFETY: the caller vouches for the owner.
    unsafe { owner.as_ref().map(|owner| lending.lend(owner.data, owner.release)) }
}

/// A function that a stream calls. It must not throw C++ exceptions.
pub type cushim_host_function = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// Has a function called, once, by a thread of the driver's, when the work enqueued in the stream so far is done.
/// Work that is enqueued later waits until it returns.
///
/// Inside it these may be called: recording and querying an event, querying a stream that is not a default one, and
/// what never reaches the driver, such as errors, labels, references and `cushim_drain`. Everything else answers
/// `CUSHIM_ERROR_IN_CALLBACK`, destroying what the driver made included. The function must not wait for anything that
/// waits for this stream, nor for another host function.
///
/// If the context is lost to an error of the device, or is reset, before its turn, the function is never called
/// (driver 580 calls none then); the owner is released all the same. With the driver "none" the function is called at
/// once, by this call.
///
/// In a stream that is being captured the function becomes a node of the graph, which keeps the owner and calls the
/// function at each launch.
///
/// @param[in] stream The stream. It need not live until the function is called.
/// @param[in, nullable] function The function; NULL: `data` comes out of `cushim_drain` at that time instead, as an
///   item of kind `CUSHIM_DRAIN_HOST_FUNCTION`, and the stream does not wait for the program to do anything about it.
/// @param[in, nullable] data Given to the function.
/// @param[in, taken, nullable] owner Keeps `data` alive: released after the function returned, or the item was
///   queued. NULL: nothing to release. Without a function its `release` must be NULL too, so that the release is
///   drained after the item. If the call fails, nothing is released.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a release function without a function.
/// @driver none
/// @task be called back, or poll instead
///
/// # Safety
/// `function` may be called with `data`, once or at each launch of the graph, from another thread; `owner` is NULL or
/// a valid owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_launch_host_function(
    stream: cushim_stream,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> cushim_status {
    call_taking(|lending| {
        // Held, because "none" calls the function before this call is over.
        let stream = handles::hold(stream)?;
        // SAFETY: the caller vouches for all of it.
        enqueue(&stream, unsafe { operation(lending, function, data, owner) }?)
    })
}

/// A caller's host function as an operation.
///
/// # Safety
/// `function` may be called with `data`, as often as the operation is done, from any thread; `owner` is NULL or a
/// valid owner.
pub(super) unsafe fn operation(
    lending: &Lending,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> Result<HostFunction, Error> {
    pointer::check_if_given(owner, "owner")?;
    handle::check_memory()?;
    // SAFETY: the caller vouches for the owner, which is aligned.
    if function.is_none() && unsafe { owner.as_ref() }.is_some_and(|owner| owner.release.is_some()) {
        return Err(Error::new(
            Status::INVALID_ARGUMENT,
            "without a function the owner must have no release function: it could be called while the item still \
             waits to be drained",
        ));
    }
    let operation = match function {
        // SAFETY: the caller vouches for the function.
        Some(function) => unsafe { HostFunction::given(CFunction { function, data }) },
        None => {
            let data = Data(data);
            HostFunction::new(move || pull::push(Item::HostFunction(data)))
        }
    };
    // SAFETY: the caller vouches for the owner.
    Ok(match unsafe { lent(lending, owner) } {
        Some(owner) => operation.owned_by(owner),
        None => operation,
    })
}

/// The same with a copy of some bytes.
///
/// # Safety
/// `function` may be called with a copy of the bytes, as above; `bytes` is NULL or valid for reads of `size` bytes.
pub(super) unsafe fn operation_on_bytes(
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
) -> Result<HostFunction, Error> {
    let Some(function) = function else { return Err(out::null("function")) };
    handle::check_memory()?;
    // SAFETY: the caller vouches for the bytes.
    let kept = unsafe { KeptBytes::copy(bytes, size) }?;
    let data = kept.data();
    // SAFETY: the caller vouches for the function; the owner keeps the bytes as long as it may be called.
    Ok(unsafe { HostFunction::on_bytes(CFunction { function, data }, Owner::keeping(kept)) })
}

fn enqueue(stream: &Stream, mut operation: HostFunction) -> Result<(), Error> {
    // SAFETY: the function owns what it uses, or its caller vouched for that.
    unsafe { stream.enqueue(&mut operation) }
}

/// Has a function called with a copy of some bytes, made now and kept until it was called. Otherwise as
/// `cushim_stream_launch_host_function`.
///
/// @param[in] stream The stream. It need not live until the function is called.
/// @param[in] function The function. Its `data` points to the copy, aligned to 16 bytes; NULL if there are no bytes.
/// @param[in, bytes(size), nullable_if_zero(size)] bytes The bytes to copy.
/// @param[in] size How many.
/// @errors `CUSHIM_ERROR_OUT_OF_MEMORY`.
/// @driver none
///
/// # Safety
/// `bytes` is valid for reads of `size` bytes; `function` may be called with a copy of them from another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_launch_host_function_bytes(
    stream: cushim_stream,
    function: cushim_host_function,
    bytes: *const c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        let stream = handles::hold(stream)?;
        // SAFETY: the caller vouches for function and bytes.
        enqueue(&stream, unsafe { operation_on_bytes(function, bytes, size) }?)
    })
}

/// Bytes of a caller's, aligned for every type that C has.
struct KeptBytes(Vec<u128>);

impl KeptBytes {
    /// # Safety
    /// `bytes` is valid for reads of `size` bytes.
    unsafe fn copy(bytes: *const c_void, size: usize) -> Result<Self, Error> {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { input::slice(bytes.cast::<u8>(), size, "bytes") }?;
        let (mut kept, count) = (Vec::new(), size.div_ceil(size_of::<u128>()));
        kept.try_reserve_exact(count)
            .map_err(|_| Error::new(Status::OUT_OF_MEMORY, format!("{size} bytes cannot be kept")))?;
        kept.resize(count, 0);
        // SAFETY: there is room for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), kept.as_mut_ptr().cast(), size) };
        Ok(Self(kept))
    }

    fn data(&self) -> *mut c_void {
        if self.0.is_empty() { std::ptr::null_mut() } else { self.0.as_ptr().cast_mut().cast() }
    }
}

/// What an item of `cushim_drain` is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_drain_item_kind {
    /// The library no longer uses `data`, whose owner has no release function.
    CUSHIM_DRAIN_RELEASE = 1,
    /// A stream has reached a host function whose function is NULL: `data` is what was passed with it.
    CUSHIM_DRAIN_HOST_FUNCTION = 2,
    /// A line of the log.
    CUSHIM_DRAIN_LOG_LINE = 3,
}

/// Something that the program does itself instead of being called.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_drain_item {
    /// @field[enum(cushim_drain_item_kind)] What the item is.
    pub kind: i32,
    /// @field[enum(cushim_log_level)] The level of a log line; 0 in other items.
    pub level: i32,
    /// @field[nullable] What the program lent or passed; NULL for a log line.
    pub data: *mut c_void,
    /// The part of the library that logged a line; "" in other items.
    pub target: [c_char; 48],
    /// The text of a log line, cut and ended with "..." if it does not fit; "" in other items.
    pub text: [c_char; 960],
}

/// Takes items out of the process's queue, the oldest first. It never waits.
///
/// There is one queue per process, and each item is returned once. If several parts of a program use it, one of them
/// drains and passes items on. A host function comes before the release of its owner.
///
/// @param[out, array(capacity), nullable_if_zero(capacity)] items Receives the items. The structs may be of a shorter
///   or longer version of `cushim_drain_item`.
/// @param[in, example(sizeof(cushim_drain_item))] stride Bytes from one struct to the next,
///   `sizeof(cushim_drain_item)`; at least 16.
/// @param[in] capacity The number of structs.
/// @param[out] count The number of items written. If it equals `capacity`, there may be more.
///
/// # Safety
/// `items` is valid for writes of `stride * capacity` bytes; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_drain(
    items: *mut cushim_drain_item,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        let _guard = handle::enter()?;
        pointer::check_array(items, capacity, pointer::MOST_ITEMS, "items")?;
        options::check_stride::<cushim_drain_item>(
            stride,
            std::mem::offset_of!(cushim_drain_item, target),
            "items",
        )?;
        for (index, item) in pull::take(capacity).into_iter().enumerate() {
            // SAFETY: the caller vouches for the array, and no more items were taken than it has room for.
            unsafe { write(&cushim_drain_item::from(item), items.cast::<u8>().add(index * stride), stride) };
            *count = index + 1;
        }
        Ok(())
    })
}

/// Writes an item into a caller's struct of `size` bytes, zeros behind what this library knows.
///
/// # Safety
/// `place` is valid for writes of `size` bytes.
unsafe fn write(item: &cushim_drain_item, place: *mut u8, size: usize) {
    let known = size.min(size_of::<cushim_drain_item>());
    // SAFETY: the caller vouches for `size` bytes, and the item has `known`.
    unsafe {
        place.copy_from_nonoverlapping(std::ptr::from_ref(item).cast(), known);
        place.add(known).write_bytes(0, size - known);
    }
}

impl From<Item> for cushim_drain_item {
    fn from(item: Item) -> Self {
        let (kind, level, data) = match &item {
            Item::Release(data) => (cushim_drain_item_kind::CUSHIM_DRAIN_RELEASE, 0, data.get()),
            Item::HostFunction(data) => (cushim_drain_item_kind::CUSHIM_DRAIN_HOST_FUNCTION, 0, data.get()),
            Item::Line(line) => {
                (cushim_drain_item_kind::CUSHIM_DRAIN_LOG_LINE, line.level as i32, std::ptr::null_mut())
            }
        };
        let mut filled = Self { kind: kind as i32, level, data, target: [0; 48], text: [0; 960] };
        if let Item::Line(line) = &item {
            copy_text(&line.target, &mut filled.target);
            copy_text(&line.text, &mut filled.text);
        }
        filled
    }
}

/// Returns a file descriptor to wait on, with poll, epoll or an event loop: it is readable while `cushim_drain` would
/// return an item.
///
/// @param[out] fd The descriptor, the same each time. It belongs to the library: do not read, write or close it.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` on systems other than Linux, where a program drains at regular times;
///   `CUSHIM_ERROR_INTERNAL` if the process has no descriptor left.
///
/// # Safety
/// `fd` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_drain_fd(fd: *mut i32) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `fd`.
        let fd = unsafe { out::cleared(fd, 0, "fd") }?;
        let _guard = handle::enter()?;
        *fd = pull::event_fd()?;
        Ok(())
    })
}

/// Returns how many releases were leaked, because functions of the program ended the threads that make them.
///
/// A release function or log callback that ends its thread (`pthread_exit`) counts as done, and another thread makes
/// the releases that follow, eight times in the life of the process. After that nothing is released any more: what is
/// due is leaked, and counted here. Owners without a release function are drained as before.
///
/// @param[out] count The number since the process started.
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_get_leaked_releases(count: *mut u64) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        let _guard = handle::enter()?;
        *count = leaked_releases();
        Ok(())
    })
}

/// Waits until all releases that were due when it was called have been made, with those that they lead to, and all
/// log lines have been passed to the log callback. Items that wait to be drained do not count.
///
/// What an exec kept is due once the exec was destroyed, or the node was changed that used it, and the launches made
/// until then are done: the driver is asked at once. They are done when the stream of the last launch has passed the
/// work that was in it at that time. The call does not wait for launches. Nor does it wait for what the driver itself
/// keeps, and releases on a thread of its own: after `cushim_graph_native` or `cushim_node_native`, and of execs with
/// `CUSHIM_EXEC_NATIVE_LAUNCHES` or `CUSHIM_EXEC_DEVICE_LAUNCH`.
///
/// A program calls it before it ends, if it wants its owners released.
///
/// @param[in] nanoseconds The longest time to wait; 0 does not wait, `UINT64_MAX` waits without limit.
/// @param[out] done Receives 1, or 0 if the time is over.
/// @errors `CUSHIM_ERROR_IN_CALLBACK` in a release function or a log callback, too, which would wait for itself.
/// @callback refused
/// @sync callbacks
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_flush_callbacks(nanoseconds: u64, done: *mut i32) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `done`.
        let done = unsafe { out::cleared(done, 0, "done") }?;
        let timeout = if nanoseconds == u64::MAX { Duration::MAX } else { Duration::from_nanos(nanoseconds) };
        // Not inside a call of ours: what others destroy meanwhile must not wait for this thread.
        *done = i32::from(flush_callbacks(timeout)?);
        Ok(())
    })
}
