//! What the package has given to the module when it was imported: classes, functions of libcushim, and what to call in Python.

use crate::python::{Object, Type};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A class or a function in Python, or nothing yet.
pub(crate) struct Held(AtomicPtr<Object>);

impl Held {
    pub(crate) const fn nothing() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> *mut Object {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn class(&self) -> *mut Type {
        self.get().cast()
    }

    /// Takes over a reference, and gives the one back that it had.
    pub(crate) fn set(&self, object: *mut Object) -> *mut Object {
        self.0.swap(object, Ordering::Relaxed)
    }
}

/// The address of a function of libcushim.
pub(crate) struct Address(AtomicUsize);

impl Address {
    pub(crate) const fn nothing() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, address: usize) {
        self.0.store(address, Ordering::Relaxed);
    }
}

pub(crate) static STREAM: Held = Held::nothing();
pub(crate) static EVENT: Held = Held::nothing();
pub(crate) static BUFFER: Held = Held::nothing();
pub(crate) static KERNEL: Held = Held::nothing();
/// `fail(status)` raises the calling thread's last error.
pub(crate) static FAIL: Held = Held::nothing();
