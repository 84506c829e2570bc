//! The program's own resource.

use super::handle::{cushim_memory_properties, cushim_resource};
use crate::callback::Owner;
use crate::capi::callback::cushim_release_function;
use crate::capi::driver::cushim_driver;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{borrowed, claim, hold};
use crate::capi::stream::cushim_stream;
use crate::capi::{options, out};
use crate::error::{Error, Status};
use crate::memory::{Allocator, DevicePointer, Properties, Resource};
use crate::stream::Stream;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// A function that allocates. It writes the address to `pointer` and returns 0, or any other status. It must not unwind.
pub type cushim_allocate_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        bytes: usize,
        stream: cushim_stream,
        pointer: *mut u64,
    ) -> cushim_status,
>;

/// A function that frees. It returns 0, or any other status. It must not unwind.
pub type cushim_deallocate_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        pointer: u64,
        bytes: usize,
        stream: cushim_stream,
    ) -> cushim_status,
>;

/// A function that says what may be done with memory: it fills the struct, whose members are those of host memory, and
/// returns 0, or any other status. It must not unwind.
pub type cushim_properties_function = Option<
    unsafe extern "C" fn(user: *mut c_void, properties: *mut cushim_memory_properties) -> cushim_status,
>;

/// The functions of a resource of the program's own. Zero means that there is none.
///
/// They are called on whatever thread needs them, several at a time, and never while the library holds a lock; they may call
/// the library. The stream is a borrowed handle, good during the call. What they return, other than 0, is the status of the
/// call that led to them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_resource_functions {
    /// Bytes of this struct, `sizeof(cushim_resource_functions)`.
    pub struct_size: usize,
    /// Given to the functions. May be NULL.
    pub user: *mut c_void,
    /// Allocates so many bytes, never 0. The stream is NULL if the caller named none, which only a resource that is not
    /// stream-ordered allows. Without it nothing is allocated here, but memory can be wrapped.
    pub allocate: cushim_allocate_function,
    /// Frees memory that was allocated here or wrapped as such, exactly once. The stream is that in whose order the memory
    /// goes; of a resource that is not stream-ordered that which the library has waited for, or NULL for no stream. If it
    /// fails, the memory is taken to be leaked. Without it nothing is called.
    pub deallocate: cushim_deallocate_function,
    /// Called with `user` when the resource and its last buffer are gone, as the `release` of a `cushim_owner` is.
    pub destroy: cushim_release_function,
    /// Says what may be done with the memory; called once, when the resource is made. Without it, it is ordinary host memory
    /// that comes and goes at once.
    pub properties: cushim_properties_function,
}

/// Makes a resource of the program's own functions.
///
/// @param driver The driver with whose memory it is used.
/// @param functions The functions. Read during the call only. Must not be NULL.
/// @param resource Receives a claim; NULL on failure, and `destroy` is then not called. Must not be NULL. Give it back with
///   `cushim_resource_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for properties that name a device that there
/// is not, or memory that nobody reaches; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's; that of the
/// properties function. Threads: any.
///
/// # Safety
/// `functions` is NULL or valid for the bytes that its `struct_size` names, and its functions may be called from every thread
/// until `destroy` is; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_custom(
    driver: cushim_driver,
    functions: *const cushim_resource_functions,
    resource: *mut cushim_resource,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `resource`.
        let resource = unsafe { out::cleared(resource, null_mut(), "resource") }?;
        if functions.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "functions must not be NULL"));
        }
        // SAFETY: the caller vouches for `functions`; all its members may be zero.
        let functions = unsafe { options::read(functions, "functions") }?;
        let driver = hold(driver)?;
        let custom = Custom { functions, properties: properties_of(&functions)?, owner: None };
        custom.properties.check(&driver.driver)?;
        // From here on nothing fails but for want of handles, and then nobody was told of the functions either.
        let made = claim(Resource::custom(&driver.driver, Box::new(custom.owned()))?)?;
        *resource = made;
        Ok(())
    })
}

/// What stands behind such a resource.
struct Custom {
    functions: cushim_resource_functions,
    properties: Properties,
    /// Calls `destroy` in the end.
    owner: Option<Owner>,
}

// SAFETY: the caller vouches that the functions may be called from every thread; `user` is passed on to them only.
unsafe impl Send for Custom {}
// SAFETY: as above.
unsafe impl Sync for Custom {}

impl Custom {
    fn owned(mut self) -> Self {
        let cushim_resource_functions { user, destroy, .. } = self.functions;
        // SAFETY: the caller vouches for the function, which an owner calls once.
        self.owner = destroy.map(|_| unsafe { Owner::from_c(user, destroy) });
        self
    }
}

/// Asks the functions what may be done with their memory.
fn properties_of(functions: &cushim_resource_functions) -> Result<Properties, Error> {
    let mut told = cushim_memory_properties::from(Properties::host(false));
    if let Some(properties) = functions.properties {
        // SAFETY: the caller vouches for the function; the struct is valid for writes.
        let status = unsafe { properties(functions.user, &raw mut told) };
        answered("properties", status, || "what may be done with the memory".to_owned())?;
    }
    if told.device_accessible == 0 && told.host_accessible == 0 {
        let refusal = "the properties function says that neither the host nor a device reaches the memory";
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
    }
    let mut properties = Properties::host(told.device_accessible != 0);
    properties.device = Some(told.device).filter(|device| *device >= 0);
    properties.host_accessible = told.host_accessible != 0;
    properties.managed = told.managed != 0;
    properties.stream_ordered = told.stream_ordered != 0;
    Ok(properties)
}

/// The answer of a function, as an error.
fn answered(function: &str, status: cushim_status, asked: impl FnOnce() -> String) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    let status = Status(status);
    let failure = format!("the {function} function of the resource answered {status}, asked for {}", asked());
    Err(Error::new(status, failure))
}

fn stream_handle(stream: Option<&Arc<Stream>>) -> Result<cushim_stream, Error> {
    stream.map_or(Ok(null_mut()), borrowed)
}

impl Allocator for Custom {
    fn properties(&self) -> Properties {
        self.properties
    }

    fn allocate(&self, bytes: usize, stream: Option<&Arc<Stream>>) -> Result<DevicePointer, Error> {
        let Some(allocate) = self.functions.allocate else {
            let refusal = "the resource has no allocate function; memory can only be wrapped with it";
            return Err(Error::new(Status::UNSUPPORTED, refusal));
        };
        let (mut pointer, stream) = (0, stream_handle(stream)?);
        // SAFETY: the caller vouches for the function; the pointer is valid for writes.
        let status = unsafe { allocate(self.functions.user, bytes, stream, &raw mut pointer) };
        answered("allocate", status, || format!("{bytes} bytes"))?;
        if pointer == 0 {
            let refusal = format!(
                "the allocate function of the resource answered success and no address for {bytes} bytes"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        Ok(DevicePointer(pointer))
    }

    fn deallocate(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Arc<Stream>>,
    ) -> Result<(), Error> {
        let Some(deallocate) = self.functions.deallocate else { return Ok(()) };
        // Whatever becomes of the stream's handle, the function is called.
        let stream = stream_handle(stream).unwrap_or(null_mut());
        // SAFETY: the caller vouches for the function.
        let status = unsafe { deallocate(self.functions.user, pointer.0, bytes, stream) };
        answered("deallocate", status, || format!("the end of {bytes} bytes at {pointer}"))
    }
}
