//! What a builder refuses.

use crate::object::error::{Error, Status, Subject};

/// The refusal of something that a builder was asked for.
#[cold]
pub(super) fn refused(builder: &dyn Subject, why: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("{builder} {why}")).about(builder)
}
