//! What all handles have in common: looking up, owning and borrowed handles.
//!
//! @header cushim.h

use super::error::{call, cushim_status};
use super::out;
use crate::Ownership;
use crate::object::callback::refused_inside;
use crate::object::error::{Error, Status};
use crate::object::handle::{
    self, Forked, Guard, HandleError, Object, Ref, Refused, Released, Reserved, Shared, Token,
};
use crate::object::release;
use std::borrow::Borrow;

/// Who destroys a native handle that is wrapped.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_ownership {
    /// Its lender, who keeps it alive until the object that wraps it, and every object made from that, is released.
    CUSHIM_BORROWED = 0,
    /// cushim, when the object that wraps it is released. Nobody else destroys it.
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

    /// What a value means that is no handle of an object, if anything.
    fn meant(_guard: &Guard, _handle: *mut Self) -> Option<Result<Lent<'_, HandleOf<Self>>, Error>> {
        None
    }

    /// The object's borrowed handle.
    fn borrow(object: &HandleOf<Self>) -> Result<Token, Error> {
        Ok(handle::borrowed(object.object())?)
    }
}

/// What shares the object of a handle.
pub(super) type HandleOf<S> = <<S as Incomplete>::Object as Object>::Shared;

/// Begins a call that reaches the driver: refused inside a function that the driver called.
#[inline]
pub(super) fn enter() -> Result<Guard, Error> {
    handle::enter_unless_holding().map_err(|refused| match refused {
        Refused::Forked => Forked.into(),
        Refused::Holding => refused_inside(),
    })
}

/// Begins a call that the driver allows anywhere, or never sees.
#[inline]
pub(super) fn enter_anywhere() -> Result<Guard, Error> {
    Ok(handle::enter()?)
}

/// An object that a handle named: lent for the time of the guard, or held because the handle stood for it only now.
pub(super) type Lent<'guard, H> = Ref<'guard, H>;

impl<H: Shared> Borrow<H> for Lent<'_, H> {
    #[inline]
    fn borrow(&self) -> &H {
        self
    }
}

/// The object behind a handle, for a call that is over soon.
#[inline]
pub(super) fn get<S: Incomplete>(guard: &Guard, handle: *mut S) -> Result<Lent<'_, HandleOf<S>>, Error> {
    let token = Token::from_pointer(handle);
    match guard.find::<S::Object>(token) {
        Some(lent) => Ok(lent),
        None => meant(guard, handle),
    }
}

/// The object for which a value stands that is no handle of an object.
#[inline(never)]
fn meant<S: Incomplete>(guard: &Guard, handle: *mut S) -> Result<Lent<'_, HandleOf<S>>, Error> {
    let refused = || Err(refusal(guard, guard.fault::<S::Object>(Token::from_pointer(handle))));
    S::meant(guard, handle).unwrap_or_else(refused)
}

/// The value that stands for the calling thread's current stream. It is built like a handle, of a kind that there is
/// not.
pub(super) const CURRENT_STREAM: usize = 1 << 63 | 1 << 55 | 1;

/// Why a handle was refused, with the object that it named.
#[cold]
pub(super) fn refusal(guard: &Guard, fault: HandleError) -> Error {
    if fault.token.to_pointer::<()>().addr() == CURRENT_STREAM {
        return Error::new(
            fault.status(),
            "cushim_stream_current() stands for the calling thread's current stream, and is no handle of it: pass the stream \
             itself, which cushim_stream_get_current returns",
        );
    }
    let (object, label) = (guard.describe(fault.token), fault.label.clone());
    let mut error = Error::from(fault).with_object(object);
    error.label = label.map(|label| label.to_string()).unwrap_or_default();
    error
}

/// The object behind a handle, held for a call that may take long: a destroy in another thread need not wait for it.
#[inline]
pub(super) fn hold<S: Incomplete>(handle: *mut S) -> Result<HandleOf<S>, Error> {
    hold_all(|guard| keep(guard, handle))
}

/// The same for several handles, which are looked up under one guard: by [`keep`] and [`keep_if_given`].
#[inline]
pub(super) fn hold_all<T>(look_up: impl FnOnce(&Guard) -> Result<T, Error>) -> Result<T, Error> {
    look_up(&enter()?)
}

/// The object behind a handle, for longer than the guard.
#[inline(always)]
pub(super) fn keep<S: Incomplete>(guard: &Guard, handle: *mut S) -> Result<HandleOf<S>, Error> {
    get(guard, handle).map(Lent::into_handle)
}

/// The same for a handle that may be NULL.
#[inline]
pub(super) fn keep_if_given<S: Incomplete>(
    guard: &Guard,
    handle: *mut S,
) -> Result<Option<HandleOf<S>>, Error> {
    if handle.is_null() { Ok(None) } else { keep(guard, handle).map(Some) }
}

/// An owning handle that is reserved for an object, so that nothing can fail any more when there is one: what a
/// caller gives away is taken over last.
pub(super) struct NewHandle<S: Incomplete>(Reserved<S::Object>);

/// Reserves an owning handle.
pub(super) fn reserve<S: Incomplete>() -> Result<NewHandle<S>, Error> {
    Ok(NewHandle(handle::reserve()?))
}

/// The same by the guard of a call, which knows the thread.
#[inline]
pub(super) fn reserve_within<S: Incomplete>(guard: &Guard) -> Result<NewHandle<S>, Error> {
    Ok(NewHandle(guard.reserve()?))
}

impl<S: Incomplete> NewHandle<S> {
    /// The handle, which names this object.
    pub(super) fn of(self, object: HandleOf<S>) -> *mut S {
        self.0.of(object.into_object()).to_pointer()
    }
}

/// A new owning handle of an object, which is made when the handle is reserved.
pub(super) fn owned<S: Incomplete>(
    make: impl FnOnce() -> Result<HandleOf<S>, Error>,
) -> Result<*mut S, Error> {
    let reserved = reserve::<S>()?;
    Ok(reserved.of(make()?))
}

/// The object's borrowed handle.
pub(super) fn borrowed<S: Incomplete>(object: &HandleOf<S>) -> Result<*mut S, Error> {
    Ok(S::borrow(object)?.to_pointer())
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
    answer: impl FnOnce(&HandleOf<S>) -> Result<T, Error>,
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
    answer: impl FnOnce(&HandleOf<S>) -> Result<T, Error>,
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
    answer: impl FnOnce(&HandleOf<S>) -> Result<T, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `out`.
        let out = unsafe { out::cleared(out, T::default(), what) }?;
        let guard = begin()?;
        *out = answer(&*get(&guard, handle)?)?;
        Ok(())
    })
}

/// What a function does that returns the answer itself: 0 if there is none, with the thread's last error set.
pub(super) fn value<S: Incomplete, T: Default>(
    begin: impl FnOnce() -> Result<Guard, Error>,
    handle: *mut S,
    answer: impl FnOnce(&HandleOf<S>) -> Result<T, Error>,
) -> T {
    let mut value = T::default();
    call(|| {
        let guard = begin()?;
        value = answer(&*get(&guard, handle)?)?;
        Ok(())
    });
    value
}

/// What every `cushim_X_ref` does.
///
/// # Safety
/// `reference` is NULL or valid for writes.
pub(super) unsafe fn reference<S: Incomplete>(handle: *mut S, reference: *mut *mut S) -> cushim_status {
    // SAFETY: as the caller vouches.
    unsafe { reference_if(handle, reference, |_| Ok(())) }
}

/// The same for an object that may be no more, though handles name it.
///
/// # Safety
/// As for [`reference`].
pub(super) unsafe fn reference_if<S: Incomplete>(
    handle: *mut S,
    reference: *mut *mut S,
    check: impl FnOnce(&HandleOf<S>) -> Result<(), Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `reference`.
        let reference = unsafe { out::cleared(reference, std::ptr::null_mut(), "reference") }?;
        let guard = enter_anywhere()?;
        let lent = get(&guard, handle)?;
        check(&lent)?;
        *reference = owned(|| Ok(lent.clone()))?;
        Ok(())
    })
}

/// What every `cushim_X_destroy` does: it answers for the handle, and for the release if this was the last hold.
pub(super) fn destroy<S: Incomplete>(handle: *mut S) -> cushim_status {
    call(|| {
        if handle.is_null() {
            return Ok(());
        }
        let released = end_owning::<S>(enter()?, handle)?;
        // Outside the call: others need not wait, and what they left to this thread is not in this answer.
        release::collect(|| drop(released))
    })
}

/// The same for an object whose release never reaches the driver.
pub(super) fn destroy_anywhere<S: Incomplete>(handle: *mut S) -> cushim_status {
    call(|| if handle.is_null() { Ok(()) } else { end_owning::<S>(enter_anywhere()?, handle).map(drop) })
}

/// Ends an owning handle, and the call.
pub(super) fn end_owning<S: Incomplete>(
    mut guard: Guard,
    handle: *mut S,
) -> Result<Released<S::Object>, Error> {
    guard.destroy::<S::Object>(Token::from_pointer(handle)).map_err(|fault| refusal(&guard, fault))
}
