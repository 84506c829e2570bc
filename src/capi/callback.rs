//! What callers lend, and pull mode.

use super::error::{call, copy_text, cushim_status};
use super::handles;
use super::log::level_number;
use super::out;
use super::stream::cushim_stream;
use crate::callback::pull::{self, Data, Item};
use crate::callback::{self, Owner, flush_callbacks};
use crate::error::{Error, Status};
use crate::handle;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// A function that releases something that was lent to the library. It must not unwind.
pub type cushim_release_function = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// A lifetime that is lent to the library: it keeps the owner while it uses what the owner stands for, and then releases
/// it, exactly once, unless the process ends first.
///
/// `release(data)` is called by a thread of the library's own, soon after the last use: never while the library holds a
/// lock, never inside a function that the driver called, never on a thread of the program's. So it may take the program's
/// locks, and may call every function of the library. Where `release` is NULL, `data` comes out of `cushim_drain` instead,
/// as an item of kind `CUSHIM_ITEM_RELEASE`: for languages that must not be called on foreign threads.
///
/// A function that takes an owner reads the struct during the call only. It takes the owner if it succeeds; if it fails,
/// nothing is released, then or later.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_owner {
    /// Given to `release`. May be NULL.
    pub data: *mut c_void,
    /// Releases `data`; NULL: it is drained.
    pub release: cushim_release_function,
}

/// Takes a caller's owner, if there is one.
///
/// # Safety
/// `owner` is NULL or points to an owner whose release may be called, once, from any thread.
pub(super) unsafe fn lent(owner: *const cushim_owner) -> Option<Owner> {
    // SAFETY: the caller vouches for the owner.
    unsafe { owner.as_ref().map(|owner| Owner::from_c(owner.data, owner.release)) }
}

/// A function that a stream reaches. It must not unwind.
pub type cushim_host_function = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// Has a function called, once, by a thread of the driver's, when the work enqueued in the stream so far is done. Work
/// that is enqueued later waits until it returns.
///
/// Inside it these may be called: recording and querying an event, querying a stream that is not a default one, and what
/// never reaches the driver, such as errors, labels, references and `cushim_drain`. Everything else answers
/// `CUSHIM_ERROR_IN_CALLBACK`, destroying what the driver made included. The function must not wait for anything that
/// waits for this stream, nor for another host function.
///
/// If the context is lost to an error of the device, or is reset, before its turn, the function is never called (driver
/// 580 calls none then); the owner is released all the same. With the driver "none" the function is called at once, by
/// this call.
///
/// @param stream The stream. It need not live until the function is called.
/// @param function The function; NULL: `data` comes out of `cushim_drain` at that time instead, as an item of kind
///   `CUSHIM_ITEM_HOST_FUNCTION`, and the stream does not wait for the program to do anything about it.
/// @param data Given to the function. May be NULL.
/// @param owner Keeps `data` alive: released after the function returned, or the item was queued. NULL: nothing to release.
///   Without a function its `release` must be NULL too, so that the release is drained after the item. Read during the
///   call only. If the call fails, nothing is released.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_STREAM_REQUIRED`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also if the
/// stream is being captured, because a graph may call its functions many times; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `function` may be called with `data`, once, from another thread; `owner` is NULL or a valid owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_host_function(
    stream: cushim_stream,
    function: cushim_host_function,
    data: *mut c_void,
    owner: *const cushim_owner,
) -> cushim_status {
    call(|| {
        // Held, because "none" calls the function before this call is over.
        let stream = handles::hold(stream)?;
        let data = Data(data);
        let task: Box<dyn FnOnce() + Send> = match function {
            // SAFETY: the caller vouches for the function.
            Some(function) => Box::new(move || unsafe { function(data.get()) }),
            None => Box::new(move || pull::push(Item::HostFunction(data))),
        };
        // SAFETY: the caller vouches for the owner.
        if function.is_none() && unsafe { owner.as_ref() }.is_some_and(|owner| owner.release.is_some()) {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                "without a function the owner must have no release function: it could be called while the item still \
                 waits to be drained",
            ));
        }
        // SAFETY: as above.
        callback::launch(&stream, task, unsafe { lent(owner) }).map_err(|(error, owner)| {
            owner.into_iter().for_each(Owner::disarm);
            error
        })
    })
}

/// What an item of `cushim_drain` is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_item_kind {
    /// The library does not use `data` any more: it was lent by an owner without a release function.
    CUSHIM_ITEM_RELEASE = 1,
    /// A stream got to a host function without a function: `data` is what was given with it.
    CUSHIM_ITEM_HOST_FUNCTION = 2,
    /// A line of the log.
    CUSHIM_ITEM_LOG_LINE = 3,
}

/// Something that a program does for itself instead of being called.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_item {
    /// A `cushim_item_kind`.
    pub kind: i32,
    /// A line's `cushim_log_level`; 0 in other items.
    pub level: i32,
    /// What was lent or given; NULL in a line.
    pub data: *mut c_void,
    /// The part of the library that speaks, in a line; "" in other items.
    pub target: [c_char; 48],
    /// The text of a line; one that does not fit is cut and ends with "...". "" in other items.
    pub text: [c_char; 960],
}

/// Takes what waits in the queue of pull mode, the oldest first, and never waits.
///
/// There is one queue per process, which outlives drivers. An item is handed out once, so in a process with several users
/// of pull mode one of them drains and passes on. A host function comes before the release of its owner.
///
/// @param items An array of `capacity` structs that may be a longer or shorter version of `cushim_item`. May be NULL if
///   `capacity` is 0.
/// @param stride Bytes from one struct to the next, `sizeof(cushim_item)`; at least 16.
/// @param capacity Number of structs.
/// @param count Receives how many were written; 0 on failure. Must not be NULL. If it equals `capacity`, more may wait.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`, and nothing is taken; `CUSHIM_ERROR_FORKED`. Threads: any, also inside
/// functions that the driver calls. Needs no driver.
///
/// # Safety
/// `items` is valid for writes of `stride * capacity` bytes; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_drain(
    items: *mut cushim_item,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        let _guard = handle::enter()?;
        if items.is_null() && capacity > 0 {
            return Err(Error::new(Status::INVALID_ARGUMENT, "items must not be NULL"));
        }
        if stride < std::mem::offset_of!(cushim_item, target) {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                format!("stride is {stride}; pass sizeof(cushim_item)"),
            ));
        }
        for (index, item) in pull::take(capacity).into_iter().enumerate() {
            // SAFETY: the caller vouches for the array, and no more items were taken than it has room for.
            unsafe { write(&cushim_item::from(item), items.cast::<u8>().add(index * stride), stride) };
            *count = index + 1;
        }
        Ok(())
    })
}

/// Writes an item into a caller's struct of `size` bytes, zeros behind what this library knows.
///
/// # Safety
/// `place` is valid for writes of `size` bytes.
unsafe fn write(item: &cushim_item, place: *mut u8, size: usize) {
    let known = size.min(size_of::<cushim_item>());
    // SAFETY: the caller vouches for `size` bytes, and the item has `known`.
    unsafe {
        place.copy_from_nonoverlapping(std::ptr::from_ref(item).cast(), known);
        place.add(known).write_bytes(0, size - known);
    }
}

impl From<Item> for cushim_item {
    fn from(item: Item) -> Self {
        let (kind, level, data) = match &item {
            Item::Release(data) => (cushim_item_kind::CUSHIM_ITEM_RELEASE, 0, data.get()),
            Item::HostFunction(data) => (cushim_item_kind::CUSHIM_ITEM_HOST_FUNCTION, 0, data.get()),
            Item::Line(line) => {
                (cushim_item_kind::CUSHIM_ITEM_LOG_LINE, level_number(line.level), std::ptr::null_mut())
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

/// The descriptor to wait on, with poll, epoll or an event loop: it is readable exactly while `cushim_drain` would give
/// something.
///
/// @param fd Receives the descriptor, the same each time; 0 on failure. Must not be NULL. It is the library's: wait on
///   it, and neither read, write nor close it.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED` on systems other than Linux, where a program drains
/// at regular times instead; `CUSHIM_ERROR_INTERNAL` if the process has no descriptor left; `CUSHIM_ERROR_FORKED`.
/// Threads: any, also inside functions that the driver calls. Needs no driver.
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

/// Waits until everything that was due for release before the call has been released, with what that led to in turn, and
/// every line of the log been given to its callback. What waits to be drained does not count.
///
/// A program need not call it, except to see its owners released before it ends.
///
/// @param timeout_ms The longest time to wait, in milliseconds; 0 asks, a negative number waits without limit.
/// @param done Receives 1, or 0 if the time was over first; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_IN_CALLBACK` in a release function, a log callback or a function
/// that the driver called, which would wait for itself; `CUSHIM_ERROR_FORKED`. Threads: any. Needs no driver.
///
/// # Safety
/// `done` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_flush_callbacks(timeout_ms: i64, done: *mut i32) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `done`.
        let done = unsafe { out::cleared(done, 0, "done") }?;
        let timeout = u64::try_from(timeout_ms).map_or(Duration::MAX, Duration::from_millis);
        // Not inside a call of ours: what others destroy meanwhile must not wait for this thread.
        *done = i32::from(flush_callbacks(timeout)?);
        Ok(())
    })
}
