//! A builder, as what it captures knows it.

use crate::object::error::{Error, Status, Subject};

/// What captures, or a part of it.
pub(super) trait Builds: Subject + Send + Sync {
    /// Whether it captures at present.
    fn captures(&self) -> bool;
}

/// The refusal of something that a builder was asked for.
#[cold]
pub(super) fn refused(builder: &dyn Subject, why: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("{builder} {why}")).about(builder)
}
