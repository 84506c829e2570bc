//! The program's own resource.
//!
//! @header cushim.h
//! @task choose where memory comes from

use super::handle::{cushim_memory_properties, cushim_resource};
use crate::capi::callback::cushim_release_function;
use crate::capi::driver::cushim_driver;
use crate::capi::error::{call_taking, cushim_status};
use crate::capi::handles::{borrowed, hold, owned};
use crate::capi::stream::cushim_stream;
use crate::capi::{options, out};
use crate::memory::{Allocator, DevicePointer, Properties, Resource};
use crate::object::callback::{Foreign, Lending, Owner};
use crate::object::error::{Error, Status};
use crate::stream::Stream;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A function that allocates. It writes the address to `*pointer` and returns 0, or returns any other status. It must
/// not throw C++ exceptions.
pub type cushim_allocate_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        stream: cushim_stream,
        bytes: usize,
        pointer: *mut u64,
    ) -> cushim_status,
>;

/// A function that frees. It returns 0, or any other status. It must not throw C++ exceptions.
pub type cushim_free_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        stream: cushim_stream,
        pointer: u64,
        bytes: usize,
    ) -> cushim_status,
>;

/// A function that says who can use the memory. The struct describes host memory when it is called; it changes what
/// differs and returns 0, or any other status. It must not throw C++ exceptions.
pub type cushim_properties_function = Option<
    unsafe extern "C" fn(user: *mut c_void, properties: *mut cushim_memory_properties) -> cushim_status,
>;

/// The functions of a resource that the program implements. Each may be NULL.
///
/// They are called on any thread, several at the same time, and never while the library holds a lock; they may call
/// the library. `stream` is a borrowed handle, valid during the call. A status other than 0 is the status of the call
/// that led to it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_resource_functions {
    /// Bytes of this struct, `sizeof(cushim_resource_functions)`.
    pub struct_size: usize,
    /// @field[nullable] Passed to the functions; may be NULL.
    pub user: *mut c_void,
    /// @field[nullable] Allocates `bytes`, never 0. `stream` is NULL if the caller passed none, which only a resource
    ///   that is not stream-ordered permits. If this is NULL, the resource cannot allocate; memory can still be
    ///   wrapped with it.
    pub allocate: cushim_allocate_function,
    /// @field[nullable] Frees memory of this resource, exactly once. If the resource is stream-ordered, the memory is
    ///   free in the order of `stream`; otherwise the library has already waited for `stream`, which may be NULL. If
    ///   it fails, the memory counts as leaked. If this is NULL, freeing does nothing.
    pub free: cushim_free_function,
    /// @field[nullable] Called with `user` after the resource and its last buffer are released, as the `release` of a
    ///   `cushim_owner` is.
    pub destroy: cushim_release_function,
    /// @field[nullable] Says who can use the memory; called once, when the resource is created. If this is NULL, it
    ///   is pageable host memory, not stream-ordered.
    pub properties: cushim_properties_function,
}

/// Creates a resource from functions of the program's.
///
/// @param[in] driver The driver.
/// @param[in] functions The functions.
/// @param[out, owned] resource The resource. If the call fails, `destroy` is not called.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for properties of a device that does not exist, or of memory that neither
///   host nor device can access; the status of the properties function.
/// @driver none
///
/// # Safety
/// `functions` is NULL or valid for the bytes that its `struct_size` names, and its functions may be called from
/// every thread until `destroy` is; `resource` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_resource_create_custom(
    driver: cushim_driver,
    functions: *const cushim_resource_functions,
    resource: *mut cushim_resource,
) -> cushim_status {
    call_taking(|lending| {
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
        // `destroy` is called in the end, once there is a resource.
        *resource = owned(|| Resource::custom(&driver.driver, Box::new(custom.owned(lending))))?;
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
    fn owned(mut self, lending: &Lending) -> Self {
        let cushim_resource_functions { user, destroy, .. } = self.functions;
        // SAFETY: the caller vouches for the function, which an owner calls once.
        self.owner = destroy.map(|_| unsafe { lending.lend(user, destroy) });
        self
    }
}

/// Asks the functions what may be done with their memory.
fn properties_of(functions: &cushim_resource_functions) -> Result<Properties, Error> {
    let mut told = cushim_memory_properties::from(Properties::host(false));
    if let Some(properties) = functions.properties {
        // SAFETY: the caller vouches for the function; the struct is valid for writes.
        let status = unsafe { properties.call((functions.user, &raw mut told)) };
        answered("properties", status, || "when it was asked who can use the memory".to_owned())?;
    }
    if told.device_accessible == 0 && told.host_accessible == 0 {
        let refusal = "the properties function says that neither the host nor a device can access the memory";
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
    let failure = format!("the {function} function of the resource returned {status} {}", asked());
    Err(Error::new(status, failure))
}

fn stream_handle(stream: Option<&Stream>) -> Result<cushim_stream, Error> {
    stream.map_or(Ok(null_mut()), borrowed)
}

// SAFETY: whoever creates the resource vouches for the functions.
unsafe impl Allocator for Custom {
    fn properties(&self) -> Properties {
        self.properties
    }

    fn allocate(&self, bytes: usize, stream: Option<&Stream>) -> Result<DevicePointer, Error> {
        let Some(allocate) = self.functions.allocate else {
            let refusal = "the resource has no allocate function; memory can only be wrapped with it";
            return Err(Error::new(Status::UNSUPPORTED, refusal));
        };
        let (mut pointer, stream) = (0, stream_handle(stream)?);
        // SAFETY: the caller vouches for the function; the pointer is valid for writes.
        let status = unsafe { allocate.call((self.functions.user, stream, bytes, &raw mut pointer)) };
        answered("allocate", status, || format!("for {bytes} bytes"))?;
        if pointer == 0 {
            let refusal = format!(
                "the allocate function of the resource returned success for {bytes} bytes, and the address 0"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        Ok(DevicePointer(pointer))
    }

    fn free(&self, pointer: DevicePointer, bytes: usize, stream: Option<&Stream>) -> Result<(), Error> {
        let Some(free) = self.functions.free else { return Ok(()) };
        // Whatever becomes of the stream's handle, the function is called.
        let stream = stream_handle(stream).unwrap_or(null_mut());
        // SAFETY: the caller vouches for the function.
        let status = unsafe { free.call((self.functions.user, stream, pointer.0, bytes)) };
        answered("free", status, || format!("for the {bytes} bytes at {pointer}"))
    }
}
