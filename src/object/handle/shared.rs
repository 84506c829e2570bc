//! What shares an object: a handle of the Rust interface, or an `Arc` where there is none.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// Shares an object, and is nothing but an `Arc` of it. Handles of the interface are made by [`object!`](super::object!), so that
/// how an object is allocated and counted is nobody else's affair.
pub(crate) trait Shared: Clone + Send + Sync + 'static {
    /// The object that is shared.
    type Object: Send + Sync + 'static;

    /// One more handle of the object.
    fn of(object: Arc<Self::Object>) -> Self;

    /// The object.
    fn object(&self) -> &Arc<Self::Object>;

    /// The object, in place of the handle.
    fn into_object(self) -> Arc<Self::Object>;

    /// Keeps the object, whatever it is.
    #[inline]
    fn hold(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::<Self::Object>::clone(self.object())
    }

    /// Knows the object without keeping it.
    #[inline]
    fn downgrade(&self) -> Weakly<Self> {
        Weakly(Arc::downgrade(self.object()))
    }
}

impl<T: Send + Sync + 'static> Shared for Arc<T> {
    type Object = T;

    #[inline]
    fn of(object: Self) -> Self {
        object
    }

    #[inline]
    fn object(&self) -> &Self {
        self
    }

    #[inline]
    fn into_object(self) -> Self {
        self
    }
}

/// Knows an object without keeping it.
pub(crate) struct Weakly<H: Shared>(Weak<H::Object>);

impl<H: Shared> Weakly<H> {
    /// Knows none.
    pub(crate) const fn new() -> Self {
        Self(Weak::new())
    }

    /// A handle, if the object is still there.
    #[inline]
    pub(crate) fn upgrade(&self) -> Option<H> {
        self.0.upgrade().map(H::of)
    }

    /// Whether the object is still there.
    pub(crate) fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Where the object is, or was.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const H::Object {
        self.0.as_ptr()
    }
}

impl<H: Shared> Clone for Weakly<H> {
    fn clone(&self) -> Self {
        Self(Weak::clone(&self.0))
    }
}

impl<H: Shared> fmt::Debug for Weakly<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

/// Makes a struct around an `Arc` a handle of the interface: `shared!(Stream: StreamObject)` says that `Stream` is one of an
/// object of that type. Two handles are equal if they are of the same object.
macro_rules! shared {
    ($handle:ty: $object:ty) => {
        impl $crate::object::handle::Shared for $handle {
            type Object = $object;

            #[inline]
            fn of(object: std::sync::Arc<$object>) -> Self {
                Self(object)
            }

            #[inline]
            fn object(&self) -> &std::sync::Arc<$object> {
                &self.0
            }

            #[inline]
            fn into_object(self) -> std::sync::Arc<$object> {
                self.0
            }
        }

        impl Clone for $handle {
            #[inline]
            fn clone(&self) -> Self {
                Self(std::sync::Arc::clone(&self.0))
            }
        }

        impl PartialEq for $handle {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                std::sync::Arc::ptr_eq(&self.0, &other.0)
            }
        }

        impl Eq for $handle {}

        impl std::hash::Hash for $handle {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                std::sync::Arc::as_ptr(&self.0).hash(state);
            }
        }

        impl std::fmt::Display for $handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&*self.0, f)
            }
        }

        impl $crate::object::error::Subject for $handle {
            fn label(&self) -> Option<std::sync::Arc<str>> {
                $crate::object::error::Subject::label(&*self.0)
            }

            fn address(&self) -> *const () {
                std::sync::Arc::as_ptr(&self.0).cast()
            }
        }
    };
}
pub(crate) use shared;
