//! Who destroys a native handle that is taken in.

use crate::error::{Error, Status, Subject};

/// Who destroys a native handle that is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ownership {
    /// Its lender, who keeps it alive for as long as the object that wraps it exists.
    #[default]
    Borrowed,
    /// The object that wraps it, when the last hold on that goes. Nobody else destroys it.
    Owned,
}

impl Ownership {
    /// Refuses a second owner of what `object` owns.
    pub(crate) fn once(self, object: &dyn Subject) -> Result<(), Error> {
        if self == Self::Borrowed {
            return Ok(());
        }
        let refusal =
            format!("{object} owns this native handle already; wrap it as borrowed for one more reference");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object))
    }
}
