//! What an object brings to the table, and what a look-up lends.

use super::kind::{Holds, Listed};
use super::shared::Shared;
use super::slots::Slot;
use super::sync::{AtomicBool, AtomicU64, Mutex, table};
#[cfg(test)]
use super::threads;
use super::{Guard, Kind, Token, forked};
use crate::object::error::Subject;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
#[cfg(feature = "capi")]
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A type whose values handles can name, always inside an `Arc`. Implemented by [`object!`].
pub(crate) trait Object: Send + Sync + Sized + 'static {
    /// The marker of the kind, which in turn names this type.
    type Kind: Holds<Object = Self>;

    /// What shares it.
    type Shared: Shared<Object = Self>;

    /// The object's header.
    fn header(&self) -> &Header;

    /// Names the object for messages, and for a driver that shows names; `None` takes the name away.
    fn set_label(&self, label: Option<&str>) {
        self.header().set_label(label);
        self.was_labelled(label);
    }

    /// It is called so from now on.
    #[inline]
    fn was_labelled(&self, _label: Option<&str>) {}

    /// An owning token was made. Objects that belong to something larger hold that from now on.
    #[inline]
    fn was_claimed(&self) {}

    /// What an owning token held was let go of.
    #[inline]
    fn was_let_go(&self) {}
}

/// What an owning token holds.
pub(crate) struct Owned<T: Object>(pub(super) Option<Arc<T>>);

impl<T: Object> Owned<T> {
    #[inline]
    pub(super) fn new(object: Arc<T>) -> Self {
        Self(Some(object))
    }

    /// The object, held by whoever asks from now on.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn let_go(mut self) -> Option<Arc<T>> {
        let object = self.0.take();
        object.iter().for_each(|object| object.was_let_go());
        object
    }
}

impl<T: Object> Drop for Owned<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(object) = &self.0 {
            object.was_let_go();
        }
    }
}

impl<T: Object + fmt::Display> Subject for T {
    fn label(&self) -> Option<Arc<str>> {
        self.header().label()
    }
}

/// Makes a type with a field of type `Header` the one behind handles of a kind: `object!(StreamObject as Stream: Stream, header)`
/// says that `StreamObject` has a field `header`, is what handles of `Kind::Stream` name, and that `Stream` is its handle in Rust, a
/// struct around an `Arc` of it; without `as` that is the `Arc`. The type is at least `pub(crate)`. Two methods may follow,
/// [`Object::was_claimed`] and [`Object::was_let_go`], and behind a semicolon a third one, [`Object::was_labelled`].
macro_rules! object {
    ($type:ty as $handle:ty: $kind:ident, $header:ident $(, $claimed:ident, $let_go:ident)? $(; $labelled:ident)?) => {
        $crate::object::handle::shared!($handle: $type);
        $crate::object::handle::object!(@ $type, $handle, $kind, $header $(, $claimed, $let_go)? $(; $labelled)?);
    };

    ($type:ty: $kind:ident, $header:ident $(, $claimed:ident, $let_go:ident)? $(; $labelled:ident)?) => {
        $crate::object::handle::object!(@ $type, std::sync::Arc<Self>, $kind, $header $(, $claimed, $let_go)? $(; $labelled)?);

        /// Two are equal if they are the same object.
        impl PartialEq for $type {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(self, other)
            }
        }

        impl Eq for $type {}

        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                std::ptr::hash(self, state);
            }
        }
    };

    (@ $type:ty, $handle:ty, $kind:ident, $header:ident $(, $claimed:ident, $let_go:ident)? $(; $labelled:ident)?) => {
        impl $crate::object::handle::Object for $type {
            type Kind = $crate::object::handle::kind::$kind;
            type Shared = $handle;

            fn header(&self) -> &$crate::object::handle::Header {
                &self.$header
            }

            $(
                fn was_claimed(&self) {
                    self.$claimed();
                }

                fn was_let_go(&self) {
                    self.$let_go();
                }
            )?

            $(
                fn was_labelled(&self, label: Option<&str>) {
                    self.$labelled(label);
                }
            )?
        }

        impl $crate::object::handle::kind::Holds for $crate::object::handle::kind::$kind {
            type Object = $type;
        }
    };
}
pub(crate) use object;

/// The kind of handles that name a `T`.
pub(super) const fn kind_of<T: Object>() -> Kind {
    <T::Kind as Listed>::KIND
}

/// What every object carries: its label and its tokens. Dropping it, with the object, ends the borrowed token.
pub(crate) struct Header {
    /// The tests count objects.
    #[cfg(test)]
    kind: Kind,
    /// Whether there is a label, to be asked without the lock.
    labelled: AtomicBool,
    label: Mutex<Option<Arc<str>>>,
    /// The owning token that was made last, or 0.
    pub(super) owning: AtomicU64,
    /// The borrowed token, or 0 until someone asks for it.
    pub(super) borrowed: AtomicU64,
    /// The object's number, or 0 until someone asks for it.
    #[cfg(feature = "capi")]
    identity: std::sync::atomic::AtomicU64,
}

impl Header {
    /// The header of a new object of type `T`.
    pub(crate) fn new<T: Object>() -> Self {
        #[cfg(test)]
        threads::with(|record| record.count(kind_of::<T>(), 1));
        Self {
            #[cfg(test)]
            kind: kind_of::<T>(),
            labelled: AtomicBool::new(false),
            label: Mutex::new(None),
            owning: AtomicU64::new(0),
            borrowed: AtomicU64::new(0),
            #[cfg(feature = "capi")]
            identity: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// A number that no other object has, and none will have. Nothing counts objects that nobody asks about, so creating one
    /// writes to nothing that threads share.
    #[cfg(feature = "capi")]
    pub(crate) fn identity(&self) -> u64 {
        let known = self.identity.load(Relaxed);
        if known != 0 {
            return known;
        }
        let new = new_identity();
        self.identity.compare_exchange(0, new, Relaxed, Relaxed).map_or_else(|first| first, |_| new)
    }

    /// Names the object for messages; `None` takes the name away.
    pub(crate) fn set_label(&self, label: Option<&str>) {
        let mut place = self.label.lock();
        self.labelled.store(label.is_some(), Release);
        *place = label.map(Arc::from);
    }

    /// The object's label.
    pub(crate) fn label(&self) -> Option<Arc<str>> {
        if !self.labelled.load(Acquire) {
            return None;
        }
        self.label.lock().clone()
    }

    /// Keeps others from issuing the borrowed token at the same time.
    pub(super) fn locked<R>(&self, body: impl FnOnce() -> R) -> R {
        let _label = self.label.lock();
        body()
    }
}

impl Drop for Header {
    #[inline]
    fn drop(&mut self) {
        // The other threads of the parent are not there to answer for the calls that they were in.
        if forked() {
            return;
        }
        #[cfg(test)]
        threads::with(|record| record.count(self.kind, -1));
        let borrowed = Token(self.borrowed.load(Relaxed));
        if !borrowed.is_null() {
            table().end_borrowed(borrowed, self.label());
        }
    }
}

/// What is called something, whatever its kind.
pub(crate) trait Named {
    fn label(&self) -> Option<Arc<str>>;

    /// Names it for messages; `None` takes the name away.
    #[cfg_attr(not(feature = "capi"), allow(dead_code))]
    fn set_label(&self, label: Option<&str>);

    /// A number that no other object has, and none will have.
    #[cfg(feature = "capi")]
    fn identity(&self) -> u64;
}

/// An object that has its header for itself.
struct Whole<'a, T>(&'a T);

impl<T: Object> Named for Whole<'_, T> {
    fn label(&self) -> Option<Arc<str>> {
        self.0.header().label()
    }

    fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
    }

    #[cfg(feature = "capi")]
    fn identity(&self) -> u64 {
        self.0.header().identity()
    }
}

/// A number that no object of the process has, and none will have.
#[cfg(feature = "capi")]
pub(crate) fn new_identity() -> u64 {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

/// An object that a look-up found, lent for the time of the guard. Clone the handle to keep it longer.
pub(crate) struct Ref<'guard, H: Shared> {
    object: ManuallyDrop<H>,
    /// Whether the count is ours to give back; if not, an owning token holds it that cannot let go before the guard ends.
    counted: bool,
    _guard: PhantomData<&'guard Guard>,
}

impl<'guard, H: Shared> Ref<'guard, H> {
    /// # Safety
    /// `object` came from `Arc::into_raw`, and that count is kept until the guard ends.
    #[inline]
    pub(super) unsafe fn lent(object: *const H::Object) -> Self {
        // SAFETY: the count is kept, and never given back here.
        let object = ManuallyDrop::new(H::of(unsafe { Arc::from_raw(object) }));
        Self { object, counted: false, _guard: PhantomData }
    }

    /// An object that is held by itself.
    pub(crate) fn counted(object: H) -> Self {
        Self { object: ManuallyDrop::new(object), counted: true, _guard: PhantomData }
    }

    /// Whether the object is there until the guard ends, whatever becomes of this.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        !self.counted
    }

    /// An object that this one holds.
    ///
    /// # Safety
    /// It holds that as long as it is there: nobody puts another in its place.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) unsafe fn part<U: Shared>(&self, of: impl FnOnce(&H) -> &U) -> Ref<'guard, U> {
        let part = of(&self.object);
        match self.counted {
            true => Ref::counted(part.clone()),
            // SAFETY: this object is there until the guard ends; the caller vouches that it holds the other.
            false => unsafe { Ref::lent(Arc::as_ptr(part.object())) },
        }
    }

    /// The same by where it is, of a lent object.
    ///
    /// # Safety
    /// This is lent, and holds the other in an `Arc` as long as it is: the pointer is that of the `Arc`.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) unsafe fn part_at<U: Shared>(&self, part: NonNull<U::Object>) -> Ref<'guard, U> {
        debug_assert!(self.is_lent());
        // SAFETY: this object is there until the guard ends; the caller vouches that it holds the other.
        unsafe { Ref::lent(part.as_ptr()) }
    }

    /// The same, held without the guard.
    #[cfg(feature = "capi")]
    pub(crate) fn held(self) -> Ref<'static, H> {
        Ref::counted(self.into_handle())
    }

    /// The object, held for longer than the guard.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn into_handle(self) -> H {
        if !self.counted {
            return H::clone(&self);
        }
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the count is ours, and nothing else gives it back: this is not dropped.
        unsafe { ManuallyDrop::take(&mut this.object) }
    }

    /// # Safety
    /// The count is ours, and given back here alone.
    #[cold]
    unsafe fn give_back(&mut self) {
        // SAFETY: as the caller vouches.
        unsafe { ManuallyDrop::drop(&mut self.object) };
    }
}

impl<H: Shared> Deref for Ref<'_, H> {
    type Target = H;

    #[inline]
    fn deref(&self) -> &H {
        &self.object
    }
}

impl<H: Shared> Drop for Ref<'_, H> {
    #[inline]
    fn drop(&mut self) {
        if self.counted {
            // SAFETY: the count is ours, and this is the only place that gives it back.
            unsafe { self.give_back() };
        }
    }
}

type WithNamed = unsafe fn(&'static Slot, Token, body: &mut dyn FnMut(&dyn Named));

/// What the table does with an object whose type it does not know any more.
pub(super) struct Operations {
    /// Passes on by what the object of a slot is named, unless the object is gone.
    ///
    /// # Safety
    /// The slot is one of this type, whose token is passed with it, and cannot let go of what it holds during the call.
    pub(super) with_named: WithNamed,
    /// Gives back what a slot's pointer holds.
    ///
    /// # Safety
    /// The pointer is one that a slot of this type held, its token's borrowed bit is passed with it, and the slot does not use it again.
    pub(super) let_go: unsafe fn(*const (), borrowed: bool),
    /// Whether such slots are in runs, the first of which stands for all.
    pub(super) is_run: bool,
}

impl Operations {
    pub(super) fn of<T: Object>() -> &'static Self {
        &Self { with_named: with_header::<T>, let_go: let_go::<T>, is_run: false }
    }
}

unsafe fn with_header<T: Object>(slot: &'static Slot, token: Token, body: &mut dyn FnMut(&dyn Named)) {
    let object = slot.object.load(Relaxed).cast_const().cast::<T>();
    if token.is_borrowed() {
        // SAFETY: the slot of a borrowed token holds a `Weak<T>`, and keeps it.
        let weak = ManuallyDrop::new(unsafe { Weak::from_raw(object) });
        weak.upgrade().iter().for_each(|object| body(&Whole(&**object)));
    } else {
        // SAFETY: the slot of an owning token holds an `Arc<T>`, and keeps it during this call.
        body(&Whole(unsafe { &*object }));
    }
}

unsafe fn let_go<T: Object>(object: *const (), borrowed: bool) {
    let object = object.cast::<T>();
    if borrowed {
        // SAFETY: the slot of a borrowed token held this `Weak<T>` and gives it up.
        drop(unsafe { Weak::from_raw(object) });
    } else {
        // SAFETY: the slot of an owning token held this `Arc<T>` and gives it up.
        drop(Owned::new(unsafe { Arc::from_raw(object) }));
    }
}
