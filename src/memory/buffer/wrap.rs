//! Memory of others', as a buffer.

use super::Buffer;
use super::known::Known;
use crate::driver::Driver;
use crate::graphics::Mapping;
use crate::memory::{DevicePointer, Resource};
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::op::check_range;
use crate::stream::Stream;
use std::fmt;

/// Where a buffer's memory comes from and goes to.
pub enum Home {
    /// The resource frees it.
    Resource(Resource),
    /// The owner keeps it, and is released when the buffer is gone.
    Owner(Owner),
    /// Nobody here: its lender keeps it for as long as the buffer exists.
    Lender,
    /// OpenGL, which has it again when the buffer is gone, or unmapped.
    Graphics(Mapping),
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(resource) => resource.fmt(f),
            Self::Owner(owner) => owner.fmt(f),
            Self::Lender => f.write_str("Lender"),
            Self::Graphics(mapping) => mapping.graphics().fmt(f),
        }
    }
}

impl Buffer {
    /// Takes in memory that was allocated elsewhere.
    ///
    /// A stream-ordered resource needs the stream in whose order it may free the memory. Another resource, an owner or a
    /// lender needs none and none is recorded, not even one that is given.
    ///
    /// # Safety
    /// The memory is what is said of it. A resource can free it, and nobody else does. An owner or a lender keeps it until
    /// the buffer is gone and what uses it is done.
    ///
    /// # Errors
    /// With the home, so that an owner can be given back: [`Status::INVALID_ARGUMENT`] for a pointer that is NULL and has
    /// bytes, or reaches past the end of all addresses; [`Status::STREAM_REQUIRED`]; [`Status::INVALID_HANDLE`] for a
    /// resource or a stream of another driver; the driver's, for memory without a resource.
    pub unsafe fn wrap(
        driver: &Driver,
        pointer: DevicePointer,
        bytes: usize,
        home: Home,
        stream: Option<&Stream>,
    ) -> Result<Self, (Error, Home)> {
        let recorded = recorded(driver, pointer, bytes, &home, stream);
        let found = recorded.and_then(|recorded| Ok((recorded, known(driver, pointer, &home, stream)?)));
        match found {
            Ok((recorded, known)) => {
                Ok(Self::new(Some(driver), pointer, bytes, known, home, recorded.cloned()))
            }
            Err(failure) => Err((failure, home)),
        }
    }
}

fn known(
    driver: &Driver,
    pointer: DevicePointer,
    home: &Home,
    stream: Option<&Stream>,
) -> Result<Known, Error> {
    match home {
        Home::Resource(resource) => {
            Ok(Known { is_taken_in: true, ..Known::of_resource(resource, pointer, stream) })
        }
        Home::Owner(_) | Home::Lender | Home::Graphics(_) => Known::of_others(driver, pointer),
    }
}

/// Checks the arguments; answers with the stream to record.
fn recorded<'a>(
    driver: &Driver,
    pointer: DevicePointer,
    bytes: usize,
    home: &Home,
    stream: Option<&'a Stream>,
) -> Result<Option<&'a Stream>, Error> {
    if bytes != 0 {
        check_range("memory to wrap", pointer.0, bytes as u64)?;
    }
    let Home::Resource(resource) = home else {
        return stream.map_or(Ok(None), |stream| stream.same_driver(driver, stream).map(|()| None));
    };
    if resource.driver() != driver {
        let refusal = format!("{resource} belongs to another driver");
        return Err(Error::new(Status::INVALID_HANDLE, refusal).about(resource));
    }
    resource.check_stream(stream)?;
    Ok(stream.filter(|_| resource.properties().stream_ordered))
}
