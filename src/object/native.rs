//! A native handle: where it lives, and when it is destroyed.
//!
//! An object that owns one lets go of it when it is dropped. Inside a function that the driver called nothing can be
//! destroyed (`callback/inside.rs`), so the worker does it soon afterwards; an error of that names the object all the same.

use super::callback::{hand_over, is_inside};
use super::error::{Error, Subject};
use super::handle::{Object, Shared as _};
use super::owning::{Ownership, Owning, Taking};
use super::registry::Registry;
use super::release::report;
use crate::driver::calls::graph::capture::ends_alone;
use crate::driver::{CallError, Driver};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

/// Where native handles live: a context.
pub(crate) trait Place: Clone + Send + Sync + 'static {
    /// The driver of it.
    fn driver(&self) -> &Driver;

    /// Whether what was there went with it, so that nothing is left to destroy.
    fn is_gone(&self) -> bool;

    /// What is left to say of the release of `object`.
    fn released(&self, result: Result<(), CallError>, object: &dyn Subject) -> Result<(), Error>;
}

/// The driver's side of an object.
pub(crate) trait Handle: Send + Sync + 'static {
    /// Where such handles live.
    type Place: Place;

    /// The value of the handle.
    fn address(&self) -> usize;

    /// Whether it is still there when its place is gone.
    fn outlives_place(&self) -> bool {
        false
    }

    /// Destroys it.
    fn destroy(self) -> Result<(), CallError>;
}

/// A native handle that an object has.
pub(crate) struct Native<H: Handle> {
    /// `None` only while it is being destroyed.
    handle: Option<H>,
    place: H::Place,
    /// Whether it is destroyed with the object.
    owning: Owning,
}

impl<H: Handle> Native<H> {
    pub(crate) fn new(place: H::Place, handle: H, ownership: Ownership) -> Self {
        Self { handle: Some(handle), place, owning: Owning::new(ownership) }
    }

    /// The handle.
    #[inline]
    pub(crate) fn handle(&self) -> &H {
        self.handle.as_ref().expect("an object has its handle until it is dropped")
    }

    /// Where it lives.
    #[inline]
    pub(crate) fn place(&self) -> &H::Place {
        &self.place
    }
}

/// An object that has a native handle, and is found by it.
pub(crate) trait HasNative: Object + fmt::Display {
    /// The driver's side of it.
    type Handle: Handle;

    /// What the object has.
    fn native_handle(&self) -> &Native<Self::Handle>;

    /// The same, to take it apart.
    fn native_handle_mut(&mut self) -> &mut Native<Self::Handle>;

    /// The list of the objects of this type.
    fn known() -> &'static Registry<Self::Shared>;

    /// Whether it is listed there.
    fn is_listed(&mut self) -> bool {
        true
    }

    /// Whether a capture of this library's has it, or had it.
    fn was_captured(&self) -> bool {
        false
    }
}

/// The object of a native handle that somebody else made: the one that there is, or a new one that borrows it. Of a place that is gone, the
/// driver may use the handles again.
pub(crate) fn find_or_wrap<T: HasNative>(
    place: &PlaceOf<T>,
    native: usize,
    make: impl Fn() -> T::Shared,
) -> T::Shared {
    let is_in_force = |known: &T::Shared| !known.object().native_handle().place.is_gone();
    let made = || Ok::<_, Infallible>(make());
    match T::known().find_or_add(place.driver(), native, is_in_force, made) {
        Ok(object) => object,
        Err(never) => match never {},
    }
}

/// Takes the handle over for the object, which had borrowed it, if it is to be owned. Refuses a second owner.
pub(crate) fn take_over<T: HasNative>(object: &Arc<T>, taking: Taking<'_>) -> Result<(), Error> {
    taking.take(object, |object| &object.native_handle().owning, object.as_ref())
}

/// Where the handles of such objects live.
type PlaceOf<T> = <<T as HasNative>::Handle as Handle>::Place;

/// Lists a new object by its handle.
#[inline(always)]
pub(crate) fn listed<T: HasNative>(object: T) -> T::Shared {
    let listed = <T::Shared>::of(Arc::new(object));
    let native = listed.object().native_handle();
    T::known().add(native.place.driver(), native.handle().address(), &listed);
    listed
}

/// What happens when the last hold on an object goes.
#[inline]
pub(crate) fn end<T: HasNative>(object: &mut T) {
    let is_listed = object.is_listed();
    let native = object.native_handle_mut();
    let (Some(handle), owned) = (native.handle.take(), native.owning.is_owned()) else { return };
    let object = &*object;
    let place = &object.native_handle().place;
    if is_listed {
        T::known().remove(place.driver(), handle.address(), object);
    }
    if !owned {
        return;
    }
    let was_captured = object.was_captured();
    if is_inside() {
        return end_later(handle, place, object, was_captured);
    }
    report(place.driver(), end_now(handle, place, object, was_captured));
}

#[cold]
fn end_later<H: Handle>(handle: H, place: &H::Place, object: &dyn Subject, was_captured: bool) {
    let (driver, place) = (place.driver().clone(), place.clone());
    release(&driver, object, move |object| end_now(handle, &place, object, was_captured));
}

#[inline]
fn end_now<H: Handle>(
    handle: H,
    place: &H::Place,
    object: &dyn Subject,
    was_captured: bool,
) -> Result<(), Error> {
    let _alone = was_captured.then(ends_alone);
    destroy(handle, place, object)
}

/// Destroys a handle, unless it went with its place.
pub(crate) fn destroy<H: Handle>(handle: H, place: &H::Place, object: &dyn Subject) -> Result<(), Error> {
    if place.is_gone() && !handle.outlives_place() {
        return Ok(());
    }
    place.released(handle.destroy(), object)
}

/// Releases what is left of an object that is being dropped: now, or soon, where nothing can be destroyed now.
pub(crate) fn release(
    driver: &Driver,
    object: &dyn Subject,
    end: impl FnOnce(&dyn Subject) -> Result<(), Error> + Send + 'static,
) {
    if !is_inside() {
        return report(driver, end(object));
    }
    let (driver, named) = (driver.clone(), Named::of(object));
    hand_over(Box::new(move || report(&driver, end(&named))));
}

/// What belongs to a driver.
pub(crate) trait OfDriver: Send + 'static {
    /// The driver.
    fn driver(&self) -> &Driver;
}

/// As [`release`], for what knows its driver by itself.
#[inline]
pub(crate) fn release_by<T: OfDriver>(
    object: &dyn Subject,
    remains: T,
    end: impl FnOnce(&T, &dyn Subject) -> Result<(), Error> + Send + 'static,
) {
    if !is_inside() {
        return report(remains.driver(), end(&remains, object));
    }
    let named = Named::of(object);
    hand_over(Box::new(move || report(remains.driver(), end(&remains, &named))));
}

/// What is left of an object for messages.
pub(crate) struct Named {
    text: String,
    label: Option<Arc<str>>,
}

impl Named {
    pub(crate) fn of(object: &dyn Subject) -> Self {
        Self { text: object.to_string(), label: object.label() }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Subject for Named {
    fn label(&self) -> Option<Arc<str>> {
        self.label.clone()
    }
}
