//! What all handles have in common: looking up, claims and borrowed handles, descriptions.

use super::driver::{cushim_driver, cushim_driver_s};
use super::driver_object::{self, DriverObject};
use super::driver_types::Driver;
use super::error::{call, cushim_status};
use super::{out, text};
use crate::callback::check_allowed;
use crate::error::{Error, Status};
use crate::handle::{self, Guard, HandleError, Object, Ref, Released, Token};
use crate::ownership::Ownership;
use crate::release;
use std::ffi::{c_char, c_void};
use std::ops::Deref;
use std::sync::Arc;

/// Who destroys a native handle that is taken in.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_ownership {
    /// Its lender, who keeps it alive until the last handle of the object that wraps it, and the last object that was made
    /// from that, is destroyed.
    CUSHIM_BORROWED = 0,
    /// The object that wraps it, when the last hold on that goes. Nobody else destroys it.
    CUSHIM_OWNED = 1,
}

/// The ownership with this number.
pub(super) fn ownership(number: i32) -> Result<Ownership, Error> {
    match number {
        n if n == cushim_ownership::CUSHIM_BORROWED as i32 => Ok(Ownership::Borrowed),
        n if n == cushim_ownership::CUSHIM_OWNED as i32 => Ok(Ownership::Owned),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("ownership is {number}; use CUSHIM_BORROWED (0) or CUSHIM_OWNED (1)"),
        )),
    }
}

/// The struct without a body that a C handle points to, and the type of the objects that such a handle names.
pub(super) trait Incomplete: Sized {
    type Object: Object;

    /// What a value that is no handle means, if anything.
    fn meant(_handle: *mut Self) -> Option<Result<Arc<Self::Object>, Error>> {
        None
    }
}

impl Incomplete for cushim_driver_s {
    type Object = DriverObject;
}

/// Begins a call that reaches the driver: refused inside a function that the driver called.
#[inline]
pub(super) fn enter() -> Result<Guard, Error> {
    check_allowed()?;
    enter_anywhere()
}

/// Begins a call that the driver allows anywhere, or never sees.
#[inline]
pub(super) fn enter_anywhere() -> Result<Guard, Error> {
    Ok(handle::enter()?)
}

/// An object that a handle named: lent for the time of the guard, or held because the handle stood for it only now.
pub(super) enum Lent<'guard, T> {
    Ref(Ref<'guard, T>),
    Held(Arc<T>),
}

impl<T> Deref for Lent<'_, T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        match self {
            Self::Ref(lent) => lent,
            Self::Held(held) => held,
        }
    }
}

/// The object behind a handle, for a call that is over soon.
#[inline]
pub(super) fn get<S: Incomplete>(guard: &Guard, handle: *mut S) -> Result<Lent<'_, S::Object>, Error> {
    match guard.get::<S::Object>(Token::from_pointer(handle)) {
        Ok(lent) => Ok(Lent::Ref(lent)),
        Err(fault) => S::meant(handle).unwrap_or_else(|| Err(refusal(guard, fault))).map(Lent::Held),
    }
}

/// Why a handle was refused, with the object that it named.
#[cold]
fn refusal(guard: &Guard, fault: HandleError) -> Error {
    let (object, label) = (guard.describe(fault.token), fault.label.clone());
    let mut error = Error::from(fault).with_object(object);
    error.label = label.map(|label| label.to_string()).unwrap_or_default();
    error
}

/// The object behind a handle, held for a call that may take long: a destroy in another thread need not wait for it.
#[inline]
pub(super) fn hold<S: Incomplete>(handle: *mut S) -> Result<Arc<S::Object>, Error> {
    let guard = enter()?;
    let lent = get(&guard, handle)?;
    Ok(Arc::clone(&lent))
}

/// The same for a handle that may be NULL.
pub(super) fn hold_if_given<S: Incomplete>(handle: *mut S) -> Result<Option<Arc<S::Object>>, Error> {
    if handle.is_null() { Ok(None) } else { hold(handle).map(Some) }
}

/// A new claim, as a C handle.
pub(super) fn claim<S: Incomplete>(object: Arc<S::Object>) -> Result<*mut S, Error> {
    Ok(handle::claim(object)?.to_pointer())
}

/// The object's borrowed handle.
pub(super) fn borrowed<S: Incomplete>(object: &Arc<S::Object>) -> Result<*mut S, Error> {
    Ok(handle::borrowed(object)?.to_pointer())
}

/// What a function does that has the driver answer one question about an object.
///
/// # Safety
/// `out` is NULL or valid for writes.
#[inline]
pub(super) unsafe fn ask<S: Incomplete, T: Default>(
    handle: *mut S,
    out: *mut T,
    what: &str,
    answer: impl FnOnce(&Arc<S::Object>) -> Result<T, Error>,
) -> cushim_status {
    // SAFETY: the caller vouches for `out`.
    unsafe { answered(enter, handle, out, what, answer) }
}

/// The same where the driver is not asked, or allows it anywhere.
///
/// # Safety
/// As for [`ask`].
#[inline]
pub(super) unsafe fn tell<S: Incomplete, T: Default>(
    handle: *mut S,
    out: *mut T,
    what: &str,
    answer: impl FnOnce(&Arc<S::Object>) -> Result<T, Error>,
) -> cushim_status {
    // SAFETY: the caller vouches for `out`.
    unsafe { answered(enter_anywhere, handle, out, what, answer) }
}

/// # Safety
/// As for [`ask`].
#[inline]
unsafe fn answered<S: Incomplete, T: Default>(
    begin: impl FnOnce() -> Result<Guard, Error>,
    handle: *mut S,
    out: *mut T,
    what: &str,
    answer: impl FnOnce(&Arc<S::Object>) -> Result<T, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `out`.
        let out = unsafe { out::cleared(out, T::default(), what) }?;
        let guard = begin()?;
        *out = answer(&*get(&guard, handle)?)?;
        Ok(())
    })
}

/// What every `cushim_X_ref` does.
///
/// # Safety
/// `reference` is NULL or valid for writes.
pub(super) unsafe fn reference<S: Incomplete>(handle: *mut S, reference: *mut *mut S) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `reference`.
        let reference = unsafe { out::cleared(reference, std::ptr::null_mut(), "reference") }?;
        let guard = enter_anywhere()?;
        let lent = get(&guard, handle)?;
        *reference = claim(Arc::clone(&lent))?;
        Ok(())
    })
}

/// What every `cushim_X_destroy` does: it answers for the claim, and for the release if this was the last hold.
pub(super) fn destroy<S: Incomplete>(handle: *mut S) -> cushim_status {
    call(|| {
        if handle.is_null() {
            return Ok(());
        }
        check_allowed()?;
        let released = end_claim::<S>(handle)?;
        // Outside the call: others need not wait, and what they left to this thread is not in this answer.
        release::collect(|| drop(released))
    })
}

/// The same for an object whose release never reaches the driver.
pub(super) fn destroy_anywhere<S: Incomplete>(handle: *mut S) -> cushim_status {
    call(|| if handle.is_null() { Ok(()) } else { end_claim::<S>(handle).map(drop) })
}

pub(super) fn end_claim<S: Incomplete>(handle: *mut S) -> Result<Released<S::Object>, Error> {
    let mut guard = enter_anywhere()?;
    guard.destroy::<S::Object>(Token::from_pointer(handle)).map_err(|fault| refusal(&guard, fault))
}

/// What every `cushim_X_set_label` does.
///
/// # Safety
/// `label` is NULL or ends in NUL.
pub(super) unsafe fn set_label<S: Incomplete>(handle: *mut S, label: *const c_char) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        let lent = get(&guard, handle)?;
        // SAFETY: the caller vouches for `label`.
        let label = unsafe { text::given(label) };
        lent.header().set_label(label.as_deref());
        Ok(())
    })
}

/// What every `cushim_X_get_label` does.
///
/// # Safety
/// As for [`text::Room::new`].
pub(super) unsafe fn get_label<S: Incomplete>(
    handle: *mut S,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter_anywhere()?;
        let label = get(&guard, handle)?.header().label();
        room.write(label.as_deref().unwrap_or_default());
        Ok(())
    })
}

/// Whether two handles name the same object.
///
/// Every claim is a handle of its own, so handles are not compared by their values. Two handles of one driver are the
/// same however often it was opened.
///
/// @param a A handle of any kind.
/// @param b A handle of any kind.
/// @param same Receives 1 or 0; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `same` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_same(a: *const c_void, b: *const c_void, same: *mut i32) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `same`.
        let same = unsafe { out::cleared(same, 0, "same") }?;
        let guard = enter_anywhere()?;
        let (a, b) = (Token::from_pointer(a.cast_mut()), Token::from_pointer(b.cast_mut()));
        let is_same =
            guard.same(a, b).map_err(|fault| refusal(&guard, fault))? || is_same_driver(&guard, a, b);
        *same = i32::from(is_same);
        Ok(())
    })
}

fn is_same_driver(guard: &Guard, a: Token, b: Token) -> bool {
    let driver = |token| guard.get::<DriverObject>(token).ok().map(|object| object.driver.clone());
    driver(a).is_some_and(|a| driver(b) == Some(a))
}

/// One line on any value: `stream "copy"`, `destroyed event`, `not a handle (0x10)`.
///
/// @param handle A handle of any kind, also one that was destroyed, or any other value; may be NULL.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer; 256 hold every line whose label is not longer than that.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT` for a buffer that is NULL and has a size; `CUSHIM_ERROR_FORKED`. Threads: any.
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
        let line = super::stream::describe_current(handle)
            .unwrap_or_else(|| guard.describe(Token::from_pointer(handle.cast_mut())));
        room.write(&line);
        Ok(())
    })
}

/// The driver's borrowed handle, whoever opened it.
pub(super) fn driver_handle(driver: &Driver) -> Result<cushim_driver, Error> {
    borrowed(&driver_object::shared(driver))
}

/// Gives the driver one more handle.
///
/// @param driver The driver.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_driver_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_ref(
    driver: cushim_driver,
    reference: *mut cushim_driver,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { self::reference(driver, reference) }
}

/// Names the driver in messages, by every handle of it, however often it was opened.
///
/// @param driver The driver.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_set_label(
    driver: cushim_driver,
    label: *const c_char,
) -> cushim_status {
    call(|| {
        let guard = enter_anywhere()?;
        let lent = get(&guard, driver)?;
        // SAFETY: the caller vouches for `label`.
        let label = unsafe { text::given(label) };
        lent.set_label(label.as_deref());
        Ok(())
    })
}

/// The name that messages use for the driver; empty if it has none.
///
/// @param driver The driver.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_label(
    driver: cushim_driver,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { get_label(driver, buffer, size, needed) }
}

/// How many objects of the driver could not be released without an error, while no destroy was there to answer for it.
///
/// An object whose last handle is destroyed while other threads, or other objects, still use it is released later. An
/// error that happens then goes to the log and is counted here.
///
/// @param driver The driver.
/// @param count Receives the number since the process started; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_unreported_errors(
    driver: cushim_driver,
    count: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `count`.
    unsafe { tell(driver, count, "count", |driver| Ok(release::unreported_release_errors(&driver.driver))) }
}
