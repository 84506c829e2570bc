//! Atomics, locks and the one table: real ones, or those of the loom model checker.

#[cfg(not(loom))]
mod real {
    use crate::object::handle::table::Table;
    pub(crate) use crate::object::thread_end::at_end;
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use std::thread_local as per_thread;

    static TABLE: Table = Table::new();

    #[inline]
    pub(crate) fn table() -> &'static Table {
        &TABLE
    }

    /// A function that is `const` except under loom, whose atomics cannot be made in one.
    macro_rules! const_fn {
        ($(#[$attribute:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$attribute])* $vis const fn $($rest)* };
    }
    pub(crate) use const_fn;
}

#[cfg(loom)]
mod model {
    use crate::object::handle::table::Table;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
    };

    loom::lazy_static! {
        static ref TABLE: Table = Table::new();
    }

    pub(crate) fn table() -> &'static Table {
        &TABLE
    }

    macro_rules! const_fn {
        ($($function:tt)*) => { $($function)* };
    }
    pub(crate) use const_fn;

    macro_rules! per_thread {
        ($(static $name:ident: $type:ty = const { $initial:expr };)*) => {
            loom::thread_local! { $(static $name: $type = $initial;)* }
        };
    }
    pub(crate) use per_thread;

    /// Loom's lock with the interface of the real one.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().expect("no model panics inside a lock and goes on")
        }
    }
}

#[cfg(loom)]
pub(super) use model::*;
#[cfg(not(loom))]
pub(super) use real::*;

use std::sync::atomic::Ordering;

/// Whether [`publish`] is one exchange instead of a store and a fence. On x86-64 a locked exchange is as strong as the
/// fence and takes half the time; by the rules of the language it is enough where every access that takes part is
/// sequentially consistent, which costs nothing there. Loom knows the fence only, and so checks the other form.
const EXCHANGE: bool = cfg!(all(target_arch = "x86_64", not(loom)));

/// How to load what another thread may have written before its [`publish`] or [`barrier`], after one's own.
pub(super) const SEEN: Ordering = if EXCHANGE { Ordering::SeqCst } else { Ordering::Acquire };

/// Stores the value so that of two threads that each publish something and then load with [`SEEN`] what the other
/// publishes, at least one sees the other's.
#[inline]
pub(super) fn publish(cell: &AtomicU64, value: u64) {
    if EXCHANGE {
        cell.swap(value, Ordering::SeqCst);
    } else {
        // Who reads it knows what came before: of a record that changed hands, that the thread before has left.
        cell.store(value, Ordering::Release);
        fence(Ordering::SeqCst);
    }
}

/// Makes a sequentially consistent read-modify-write just before it as good as a [`publish`].
pub(super) fn barrier() {
    if !EXCHANGE {
        fence(Ordering::SeqCst);
    }
}
