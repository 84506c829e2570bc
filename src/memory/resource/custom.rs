//! The caller's own resource.

use super::Properties;
use crate::memory::DevicePointer;
use crate::object::error::Error;
use crate::stream::Stream;

/// What a resource of the caller's own does. Dropping it is the last that happens to it, when the resource and all its
/// buffers are gone.
///
/// The functions are called on whatever thread needs them, by several at a time, and never while the library holds a lock;
/// they may call the library. They must not panic. What they answer as an error is the error of the call that led to them.
///
/// # Safety
/// Memory that `allocate` gives is there, as large as that, reached as the properties say, and nobody else's, until `free` gets it.
pub unsafe trait Allocator: Send + Sync {
    /// What may be done with the memory. Asked once, when the resource is made.
    fn properties(&self) -> Properties;

    /// Allocates so many bytes, never 0. A stream-ordered allocator always has a stream, another one has it if its caller
    /// gave one.
    ///
    /// # Errors
    /// Its own.
    fn allocate(&self, bytes: usize, stream: Option<&Stream>) -> Result<DevicePointer, Error>;

    /// Frees memory that was allocated here or wrapped as such, exactly once. A stream-ordered allocator always has a stream,
    /// in whose order the memory goes. Another one has that for which the library has waited already, if there was one.
    ///
    /// # Errors
    /// Its own. The memory is taken to be leaked.
    fn free(&self, pointer: DevicePointer, bytes: usize, stream: Option<&Stream>) -> Result<(), Error>;
}
