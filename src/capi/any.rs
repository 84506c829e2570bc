//! What can be asked of a handle of any kind.
//!
//! @header cushim.h
//! @task name objects and compare handles

use super::compile::ProgramObject;
use super::driver_object::{self, DriverObject};
use super::error::{call, cushim_status};
use super::handles::{enter_anywhere, get, refusal};
use super::stream::{self, cushim_stream_s};
use super::{out, text};
use crate::graph::{Builder, BuilderObject, ConditionObject, ExecObject, GraphObject, Node, NodePage};
use crate::kernel::{KernelObject, LibraryObject};
use crate::memory::{AllocationObject, Buffer, BufferObject, ReservationObject, ResourceObject};
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::object::handle::{Guard, Kind, Named, Object as _, Token};
use crate::stream::Stream;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Names an object in error messages and log lines, whichever handle of it is used. All handles of a driver share one
/// label. The software driver is told the labels of streams, events, buffers, reservations, libraries and contexts,
/// and has them in its reports of races, memory errors and leaks.
///
/// @param[in, any] handle The object. Not `cushim_stream_current()`: pass the stream itself.
/// @param[in, nullable, example("label")] label The name, at most 4,096 bytes; NULL removes it. Of destroyed handles
///   the last 256 labels are remembered, for messages.
/// @errors `CUSHIM_ERROR_INVALID_HANDLE`, also for a node that was removed, and for graphs and conditions below one.
///
/// # Safety
/// `label` is NULL or ends in NUL; no more than 4,097 bytes are read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_set_label(handle: *const c_void, label: *const c_char) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        // SAFETY: the caller vouches for `label`.
        let label = unsafe { text::of_at_most(text::MOST_OF_LABEL, label, "label") }?;
        refuse_removed(&guard, Token::from_pointer(handle.cast_mut()))?;
        with_any(&guard, handle, |any| any.set_label(label.as_deref()))
    })
}

/// Copies the label of an object.
///
/// @param[in, any] handle The object. Not `cushim_stream_current()`: pass the stream itself.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the label; "" if the object has none.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole label takes.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_get_label(
    handle: *const c_void,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter_anywhere()?;
        let label = with_any(&guard, handle, |any| any.label())?;
        room.write(label.as_deref().unwrap_or_default());
        Ok(())
    })
}

/// An object of any kind.
enum Any<'a> {
    /// Whose label is that of all objects of the driver.
    Driver(&'a DriverObject),
    /// Whose label the context may keep.
    Stream(&'a Stream),
    /// Whose stream may have its label.
    Builder(&'a Builder),
    Other(&'a dyn Named),
}

impl Any<'_> {
    fn set_label(&self, label: Option<&str>) {
        match self {
            Self::Driver(driver) => driver.set_label(label),
            Self::Stream(stream) => stream.set_label(label),
            Self::Builder(builder) => builder.set_label(label),
            Self::Other(named) => named.set_label(label),
        }
    }

    fn identity(&self) -> u64 {
        match self {
            // Each opening has an object of its own; the one that stands for the driver has its number.
            Self::Driver(driver) => driver_object::shared(&driver.driver).header().identity(),
            Self::Stream(stream) => stream.object().header().identity(),
            Self::Builder(builder) => builder.object().header().identity(),
            Self::Other(named) => named.identity(),
        }
    }

    fn label(&self) -> Option<Arc<str>> {
        match self {
            Self::Driver(driver) => driver.header().label(),
            Self::Stream(stream) => stream.label(),
            Self::Builder(builder) => builder.label(),
            Self::Other(named) => named.label(),
        }
    }
}

/// Refuses what was removed from a graph, or with one: its handle still tells its label, and takes no other.
fn refuse_removed(guard: &Guard, token: Token) -> Result<(), Error> {
    if let Some(part) = guard.find_part::<NodePage>(token) {
        Node::check_part(&part)
    } else if let Some(graph) = guard.find::<GraphObject>(token) {
        graph.check_there()
    } else if let Some(condition) = guard.find::<ConditionObject>(token) {
        condition.check_there()
    } else {
        Ok(())
    }
}

/// Looks a handle of any kind up.
fn with_any<R>(guard: &Guard, handle: *const c_void, body: impl FnOnce(Any<'_>) -> R) -> Result<R, Error> {
    let token = Token::from_pointer(handle.cast_mut());
    if let Some(driver) = guard.find::<DriverObject>(token) {
        return Ok(body(Any::Driver(&driver)));
    }
    if token.kind() == Some(Kind::Stream)
        && let Ok(stream) = get::<cushim_stream_s>(guard, handle.cast_mut().cast())
    {
        return Ok(body(Any::Stream(&stream)));
    }
    if let Some(builder) = guard.find::<BuilderObject>(token) {
        return Ok(body(Any::Builder(&builder)));
    }
    let (mut body, mut answer) = (Some(body), None);
    let mut pass_on = |named: &dyn Named| answer = body.take().map(|body| body(Any::Other(named)));
    guard.with_named(token, &mut pass_on).map_err(|fault| refusal(guard, fault))?;
    // Between the end of an object and that of its borrowed handle there is none.
    answer
        .ok_or_else(|| Error::new(Status::INVALID_HANDLE, "the object is being destroyed by another thread"))
}

/// Tells whether two handles name the same object. Two handles of one driver do, however often it was opened.
///
/// @param[in, any] a A handle of any kind.
/// @param[in, any] b A handle of any kind.
/// @param[out] same Receives 1 or 0.
///
/// # Safety
/// `same` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_same(a: *const c_void, b: *const c_void, same: *mut i32) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `same`.
        let same = unsafe { out::cleared(same, 0, "same") }?;
        let guard = enter_anywhere()?;
        let is_same = is_same_object(&guard, a, b)?;
        *same = i32::from(is_same);
        Ok(())
    })
}

fn is_same_object(guard: &Guard, a: *const c_void, b: *const c_void) -> Result<bool, Error> {
    let tokens = [a, b].map(|handle| Token::from_pointer(handle.cast_mut()));
    if tokens.iter().any(|token| token.is_derived()) {
        return is_same_stream(guard, tokens);
    }
    let [a, b] = tokens;
    let is_same = guard.same(a, b).map_err(|fault| refusal(guard, fault))?;
    Ok(is_same || is_same_driver(guard, a, b))
}

/// The same where one of the two is a default stream's, or a builder's.
fn is_same_stream(guard: &Guard, tokens: [Token; 2]) -> Result<bool, Error> {
    let stream = |token: Token| match token.kind() {
        Some(Kind::Stream) => {
            get::<cushim_stream_s>(guard, token.to_pointer()).map(|found| Some(found.clone()))
        }
        // Another object, if it is one.
        _ => guard.with_named(token, &mut |_| ()).map(|()| None).map_err(|fault| refusal(guard, fault)),
    };
    let (a, b) = (stream(tokens[0])?, stream(tokens[1])?);
    Ok(a.zip(b).is_some_and(|(a, b)| a == b))
}

fn is_same_driver(guard: &Guard, a: Token, b: Token) -> bool {
    let driver = |token| guard.get::<DriverObject>(token).ok().map(|object| object.driver.clone());
    driver(a).is_some_and(|a| driver(b) == Some(a))
}

/// Returns a number for the object: the same for each of its handles, whether owning or borrowed, and never used for
/// another object in this process. Two handles name the same object if and only if their numbers are equal, so a
/// binding can take it for equality and as a hash. Numbers say nothing about the order in which objects were created.
///
/// @param[in, any] handle The object. Not `cushim_stream_current()`: pass the stream itself.
/// @param[out] number Receives the number, which is never 0; 0 on failure.
/// @errors `CUSHIM_ERROR_INVALID_HANDLE`, also for a handle that was destroyed.
///
/// # Safety
/// `number` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_get_identity(handle: *const c_void, number: *mut u64) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `number`.
        let number = unsafe { out::cleared(number, 0, "number") }?;
        let guard = enter_anywhere()?;
        *number = with_any(&guard, handle, |any| any.identity())?;
        Ok(())
    })
}

/// Describes any value in one line, with what an object is or does: `stream "copy"`, `destroyed event`,
/// `kernel node 3 (borrowed): kernel scale, grid 64x1x1, block 256x1x1`, `buffer "weights": 4096 bytes at
/// 0x7f0000000000, memory pool of device 0`, `exec "step": 12 nodes`, `not a handle (0x10)`. It never waits: while
/// another thread changes a graph, what its nodes do is left out.
///
/// @param[in, any, nullable] handle Any value: a handle of any kind, a handle that was destroyed, or anything else.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the line.
/// @param[in] size Bytes of the buffer. 256 are enough for every line whose labels and names of kernels fit, too.
/// @param[out, nullable] needed Receives the bytes that the whole line takes.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_describe(
    handle: *const c_void,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter_anywhere()?;
        let token = Token::from_pointer(handle.cast_mut());
        let line = stream::describe(&guard, handle).unwrap_or_else(|| described(&guard, token));
        room.write(&line);
        Ok(())
    })
}

/// A handle of any kind that is no stream's: what it is, and what the object does where there is one.
fn described(guard: &Guard, token: Token) -> String {
    let line = guard.describe(token);
    let borrowed = if token.is_borrowed() { " (borrowed)" } else { "" };
    if let Some(part) = guard.find_part::<NodePage>(token) {
        // The type is part of what it does.
        let (node, summary) = NodePage::in_words(&part);
        return with(format!("{node}{borrowed}"), summary);
    }
    if let Some(graph) = guard.find::<GraphObject>(token) {
        let line = if graph.is_part() { format!("{}{borrowed}", *graph) } else { line };
        return with(line, graph.summary());
    }
    let summary = if let Some(exec) = guard.find::<ExecObject>(token) {
        exec.summary()
    } else if let Some(buffer) = guard.find::<BufferObject>(token) {
        Some(summary_of_buffer(&buffer))
    } else if let Some(kernel) = guard.find::<KernelObject>(token) {
        (!kernel.name().is_empty()).then(|| kernel.name().to_owned())
    } else if let Some(library) = guard.find::<LibraryObject>(token) {
        Some(format!("in {}", library.context()))
    } else if let Some(program) = guard.find::<ProgramObject>(token) {
        Some(program.compiled().to_string())
    } else if let Some(allocation) = guard.find::<AllocationObject>(token) {
        Some(format!("{} bytes on {}", allocation.bytes(), allocation.location()))
    } else if let Some(reservation) = guard.find::<ReservationObject>(token) {
        Some(format!("{} bytes at {}", reservation.bytes(), reservation.pointer()))
    } else if let Some(resource) = guard.find::<ResourceObject>(token) {
        return format!("{}{borrowed}", *resource);
    } else {
        None
    };
    with(line, summary)
}

fn with(line: String, summary: Option<String>) -> String {
    match summary {
        Some(summary) => format!("{line}: {summary}"),
        None => line,
    }
}

fn summary_of_buffer(buffer: &Buffer) -> String {
    let memory = format!("{} bytes at {}", buffer.bytes(), buffer.pointer());
    match buffer.resource() {
        Some(resource) => format!("{memory}, {resource}"),
        None => memory,
    }
}
