//! Who destroys a native handle, and how a call takes one over.
//!
//! A handle that a C program gives away is the program's until the call has succeeded: a call that fails, or panics, has not taken it over,
//! though an object of it may live on.

use super::error::{Error, Status, Subject};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Who destroys a native handle that is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ownership {
    /// Its lender, who keeps it alive for as long as the object that wraps it exists.
    #[default]
    Borrowed,
    /// The object that wraps it, when the last hold on that goes. Nobody else destroys it.
    Owned,
}

const BORROWED: u8 = 0;
/// A call takes it over, and is not over yet.
const CLAIMED: u8 = 1;
const OWNED: u8 = 2;

/// Whether an object destroys its native handle.
pub(crate) struct Owning(AtomicU8);

impl Owning {
    pub(crate) const fn new(ownership: Ownership) -> Self {
        Self(AtomicU8::new(match ownership {
            Ownership::Borrowed => BORROWED,
            Ownership::Owned => OWNED,
        }))
    }

    /// Whether the object destroys it.
    #[inline]
    pub(crate) fn is_owned(&self) -> bool {
        self.0.load(Relaxed) == OWNED
    }

    /// Whether somebody may take it over.
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Relaxed) == BORROWED
    }

    /// It is the object's, or somebody else's, from now on.
    pub(crate) fn set(&self, ownership: Ownership) {
        self.0.store(Self::new(ownership).0.into_inner(), Relaxed);
    }

    fn exchange(&self, before: u8, after: u8) -> bool {
        self.0.compare_exchange(before, after, Relaxed, Relaxed).is_ok()
    }

    /// The call is over that claimed it. Meanwhile it may have become another's.
    fn settle(&self, is_taken: bool) {
        self.exchange(CLAIMED, if is_taken { OWNED } else { BORROWED });
    }
}

/// What is done when a call is over, with whether it has succeeded.
pub(crate) type Settle = Box<dyn FnOnce(bool) + Send>;

/// A call that is not over.
pub(crate) trait Undecided {
    /// Has this done when the call is over.
    fn when_over(&self, settle: Settle);
}

/// How a call takes in a native handle.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "capi"), allow(dead_code))]
pub(crate) enum Taking<'call> {
    /// As one that is borrowed.
    Borrow,
    /// For the object, now.
    Own,
    /// For the object, once the call has succeeded.
    OwnAfter(&'call dyn Undecided),
}

impl Taking<'_> {
    pub(crate) fn is_to_own(self) -> bool {
        !matches!(self, Self::Borrow)
    }

    /// Takes the handle over for the object, if it is to be owned. Refuses a second owner.
    pub(crate) fn take<T: Send + Sync + 'static>(
        self,
        object: &Arc<T>,
        owning: fn(&T) -> &Owning,
        subject: &dyn Subject,
    ) -> Result<(), Error> {
        let now = owning(object);
        let is_taken = match self {
            Self::Borrow => true,
            Self::Own => now.exchange(BORROWED, OWNED),
            Self::OwnAfter(call) => {
                let is_claimed = now.exchange(BORROWED, CLAIMED);
                if is_claimed {
                    let object = Arc::clone(object);
                    call.when_over(Box::new(move |has_succeeded| owning(&object).settle(has_succeeded)));
                }
                is_claimed
            }
        };
        if is_taken { Ok(()) } else { Err(twice(subject)) }
    }
}

impl From<Ownership> for Taking<'_> {
    fn from(ownership: Ownership) -> Self {
        match ownership {
            Ownership::Borrowed => Self::Borrow,
            Ownership::Owned => Self::Own,
        }
    }
}

/// The refusal of a second owner of what `object` owns.
#[cold]
pub(crate) fn twice(object: &dyn Subject) -> Error {
    let refusal =
        format!("{object} owns this native handle already; wrap it as borrowed for one more reference");
    Error::new(Status::INVALID_ARGUMENT, refusal).about(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    struct Handle(Owning);

    impl std::fmt::Display for Handle {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a handle")
        }
    }

    impl Subject for Handle {
        fn label(&self) -> Option<Arc<str>> {
            None
        }
    }

    #[derive(Default)]
    struct Call(RefCell<Vec<Settle>>);

    impl Undecided for Call {
        fn when_over(&self, settle: Settle) {
            self.0.borrow_mut().push(settle);
        }
    }

    impl Call {
        fn end(self, has_succeeded: bool) {
            self.0.into_inner().into_iter().for_each(|settle| settle(has_succeeded));
        }
    }

    fn borrowed() -> Arc<Handle> {
        Arc::new(Handle(Owning::new(Ownership::Borrowed)))
    }

    fn take(taking: Taking<'_>, object: &Arc<Handle>) -> Result<(), Error> {
        taking.take(object, |object| &object.0, object.as_ref())
    }

    #[test]
    fn a_handle_is_taken_over_once_the_call_has_succeeded() {
        let (object, call) = (borrowed(), Call::default());
        assert_eq!(take(Taking::Borrow, &object), Ok(()));
        assert_eq!(take(Taking::OwnAfter(&call), &object), Ok(()));
        assert!(!object.0.is_owned());
        assert_eq!(take(Taking::Own, &object).map_err(|error| error.status), Err(Status::INVALID_ARGUMENT));
        call.end(true);
        assert!(object.0.is_owned());
        assert_eq!(Arc::strong_count(&object), 1);
    }

    #[test]
    fn after_a_failure_it_is_still_the_callers() {
        let (object, call) = (borrowed(), Call::default());
        assert_eq!(take(Taking::OwnAfter(&call), &object), Ok(()));
        call.end(false);
        assert!(!object.0.is_owned());
        assert_eq!(take(Taking::Own, &object), Ok(()));
        assert!(object.0.is_owned());
    }

    #[test]
    fn what_was_given_away_meanwhile_is_anothers() {
        let (object, call) = (borrowed(), Call::default());
        assert_eq!(take(Taking::OwnAfter(&call), &object), Ok(()));
        object.0.set(Ownership::Borrowed);
        call.end(true);
        assert!(!object.0.is_owned());
    }
}
