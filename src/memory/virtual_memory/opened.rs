//! Memory that a device may read and write for a while, whatever it may do otherwise.

use super::mapping::Mapping;
use crate::driver::sys;
use crate::location::Location;
use crate::object::error::Error;
use crate::object::release::report;
use std::sync::Arc;

/// Parts of which some are opened to a place, until this ends.
pub(in crate::memory) struct Opened {
    parts: Vec<Arc<Mapping>>,
    place: Location,
}

impl Opened {
    /// Opens those of the parts that the place may not read and write already; or none.
    pub(super) fn new(all: &[Arc<Mapping>], place: Location) -> Result<Self, Error> {
        let mut opened = Self { parts: Vec::new(), place };
        for part in all {
            if part.chunk.plan.access_for(place) != sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
                // If a later one fails, those before are closed again.
                part.set_access(place, sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                    .map_err(|failure| explain(failure, place))?;
                opened.parts.push(Arc::clone(part));
            }
        }
        Ok(opened)
    }

    /// Closes all of them now, and says how that went.
    pub(in crate::memory) fn close(mut self) -> Result<(), Error> {
        self.restore()
    }

    fn restore(&mut self) -> Result<(), Error> {
        let place = self.place;
        let restored = |part: Arc<Mapping>| part.set_access(place, part.chunk.plan.access_for(place));
        self.parts.drain(..).map(restored).fold(Ok(()), Result::and)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Some(driver) = self.parts.first().map(|part| part.addresses.driver().clone()) else { return };
        report(&driver, self.restore());
    }
}

#[cold]
fn explain(mut failure: Error, place: Location) -> Error {
    failure.message.push_str(&format!(
        ". The contents are kept by a copy, for which {place} must have access for a moment: let them go, or pass a stream of a device \
         that can have it"
    ));
    failure
}
