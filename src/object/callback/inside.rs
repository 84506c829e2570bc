//! Whether this thread is inside a function that the driver called, and what is allowed there.
//!
//! The driver calls host functions, its logs' callback and the destructors of user objects; each of them goes through
//! [`inside_driver`]. In a host function, driver 580 allows `cuEventRecord`, `cuEventQuery`, `cuStreamQuery` of streams
//! other than the default ones, and `cuDriverGetVersion`; everything else that was tried answers NOT_PERMITTED, even
//! `cuCtxGetCurrent`. In a destructor `cuStreamQuery` is refused, too.

use super::worker;
use crate::object::error::{Error, Status};
use crate::object::handle::{self, Hold};

/// Runs what the driver called.
pub(crate) fn inside_driver<R>(body: impl FnOnce() -> R) -> R {
    let _inside = Inside::enter();
    body()
}

/// Whether the thread is inside a function that the driver called.
#[inline]
pub(crate) fn is_inside() -> bool {
    handle::holds_releases()
}

/// Refuses a call that the driver does not allow inside a function that it called. Costs one read.
///
/// Functions that do not ask may be called anywhere: those that never reach the driver (errors, labels, descriptions,
/// references, logging, draining), and those few that the driver allows: recording and querying an event, querying a
/// stream that is not a default one, the driver's version. Destroying is not among them.
#[inline]
pub(crate) fn check_allowed() -> Result<(), Error> {
    if is_inside() { Err(refused_inside()) } else { Ok(()) }
}

/// The refusal of such a call.
#[cold]
pub(crate) fn refused_inside() -> Error {
    Error::new(
        Status::IN_CALLBACK,
        "this call is made inside a function that the driver called, such as a host function, where CUDA allows only to \
         query streams and to record and query events; let the function notify another thread, and make the call there",
    )
}

/// While it lives, the thread is inside.
struct Inside(Option<Hold>);

impl Inside {
    fn enter() -> Self {
        Self(Some(handle::hold_releases()))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0 = None;
        // This thread may never call again.
        if handle::owes_releases() {
            worker::hand_over(Box::new(|| _ = handle::collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_where_it_is() {
        assert_eq!(check_allowed(), Ok(()));
        inside_driver(|| {
            assert!(is_inside());
            inside_driver(|| ());
            let error = check_allowed().expect_err("inside");
            assert_eq!(error.status, Status::IN_CALLBACK);
            assert!(error.message.contains("another thread"), "{error}");
        });
        assert!(!is_inside());
    }

    #[test]
    fn a_panic_leaves_too() {
        let panicked = std::panic::catch_unwind(|| inside_driver(|| panic!("for a test")));
        assert!(panicked.is_err() && !is_inside());
    }
}
