//! What is wrong with a handle, as data and as a sentence.

use super::{Kind, Token};
use crate::object::error::{Error, Status};
use std::fmt;
use std::sync::Arc;

/// Why a token was refused. Formatted by `Display`, on the error path only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HandleError {
    /// What was passed.
    pub(crate) token: Token,
    /// The kind that the call needs, where it needs one.
    pub(crate) needed: Option<Kind>,
    /// What is wrong.
    pub(crate) fault: Fault,
    /// The label that the object has, or had when the handle was destroyed.
    pub(crate) label: Option<Arc<str>>,
}

/// What is wrong with a token. Where it names a kind, that is [`Token::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// NULL.
    Null,
    /// No function of this library returned the value.
    NotAHandle,
    /// Another copy of the library in this process made it.
    Foreign,
    /// A living handle of another kind.
    WrongKind,
    /// The owning token was destroyed, or the object that the borrowed token named is gone.
    Destroyed,
    /// The owning token that is to be destroyed was destroyed before.
    AlreadyDestroyed,
    /// The token that is to be destroyed is a borrowed one.
    Borrowed,
}

/// An object in words: `stream "copy"`.
pub(super) struct InWords<'a> {
    pub(super) kind: Option<Kind>,
    pub(super) label: Option<&'a str>,
}

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.map_or("handle", Kind::in_words))?;
        self.label.map_or(Ok(()), |label| write!(f, " {label:?}"))
    }
}

/// The same with its article: `an event "copied"`.
struct One<'a>(InWords<'a>);

impl fmt::Display for One<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.kind.map_or("a", Kind::article), self.0)
    }
}

impl HandleError {
    /// The number for programs.
    pub(crate) fn status(&self) -> Status {
        match self.fault {
            Fault::AlreadyDestroyed => Status::ALREADY_DESTROYED,
            _ => Status::INVALID_HANDLE,
        }
    }

    /// What the call needs: `a stream`.
    fn needed(&self) -> One<'_> {
        One(InWords { kind: self.needed, label: None })
    }

    /// The function that gives one more handle of what keeps the object: `cushim_event_ref`.
    fn reference(&self) -> String {
        format!("cushim_{}_ref", self.token.kind().map_or("X", |kind| kind.owned().name()))
    }

    /// The kind of what the object goes with, if it has no owning handles of its own: a graph of its nodes and conditions.
    fn kept_by(&self) -> Option<&'static str> {
        let kind = self.token.kind()?;
        (kind.owned() != kind).then(|| kind.owned().name())
    }

    /// What was passed: `an event "copied"`.
    fn passed(&self) -> One<'_> {
        One(InWords { kind: self.token.kind(), label: self.label.as_deref() })
    }
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needed, passed, value) = (self.needed(), self.passed(), self.token.0);
        match self.fault {
            Fault::Null => {
                write!(f, "{needed} is needed, not NULL; pass a handle that this library returned")
            }
            Fault::NotAHandle => write!(
                f,
                "{needed} is needed, but {value:#x} is not a handle; pass a value that this library returned, as it was, \
                 and not the address of a variable that holds it"
            ),
            Fault::Foreign => write!(
                f,
                "{needed} is needed, but {value:#x} is {passed} of another copy of the library in this process; use each \
                 handle with the copy that made it, or load the library once"
            ),
            Fault::WrongKind => write!(
                f,
                "{needed} is needed, but this is the handle of {passed}; pass the other one, without a cast that hides \
                 which is which"
            ),
            Fault::Destroyed if self.token.is_borrowed() => {
                write!(f, "{needed} is needed, but this borrowed handle is of {passed} that is gone; ")?;
                match self.kept_by() {
                    Some(owner) => write!(
                        f,
                        "it went with its {owner}, so keep a handle of that one ({}) while you use it",
                        self.reference()
                    ),
                    None => write!(
                        f,
                        "take a reference of your own ({}) before the last owner destroys its handle",
                        self.reference()
                    ),
                }
            }
            Fault::Destroyed => write!(
                f,
                "{needed} is needed, but this handle of {passed} was destroyed; use it only until you destroy it, or take \
                 a second one ({}) before",
                self.reference()
            ),
            Fault::AlreadyDestroyed => {
                write!(f, "this handle of {passed} was destroyed before; destroy each handle once")
            }
            Fault::Borrowed => write!(
                f,
                "this handle of {passed} is borrowed and not to be destroyed: a function that gets gave it, and somebody \
                 else owns the object; destroy only what functions gave you that create, wrap or reference"
            ),
        }
    }
}

impl std::error::Error for HandleError {}

impl From<HandleError> for Error {
    fn from(error: HandleError) -> Self {
        let failure = Self::new(error.status(), error.to_string());
        if matches!(error.fault, Fault::Null | Fault::NotAHandle) {
            return failure;
        }
        let mut failure = failure.with_object(error.passed().0.to_string());
        failure.label = error.label.map(|label| label.to_string()).unwrap_or_default();
        failure
    }
}

/// The process is the child of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forked;

impl From<Forked> for Error {
    fn from(_: Forked) -> Self {
        Self::forked()
    }
}

/// Why there is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// All slots of the table are in use.
    Handles,
    /// The process has no memory for an object.
    Memory,
}

impl From<Exhausted> for Error {
    fn from(exhausted: Exhausted) -> Self {
        match exhausted {
            Exhausted::Handles => Self::new(
                Status::TOO_MANY_HANDLES,
                "16,777,216 handles are in use, and the library can tell no more apart; destroy those that are not needed \
                 any more",
            ),
            Exhausted::Memory => Self::new(
                Status::OUT_OF_MEMORY,
                "the process has no memory left for a new object; free some, and try again",
            ),
        }
    }
}
