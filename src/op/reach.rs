//! Whether a kernel can use an address that it is given as memory. A copy is refused by the driver if one of its ends is no memory; a kernel
//! runs into it, and its context is lost.

use super::{Side, check_range, invalid};
use crate::context::Context;
use crate::driver::Driver;
use crate::feature::Feature;
use crate::object::error::Error;
use crate::pointer::PointerAttributes;

/// Where a kernel is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    /// In a stream: what it uses is there by now, for the driver maps the memory of a graph when that is launched.
    Stream,
    /// As a node: what it uses may be memory of a graph, of which the driver says nothing until that is launched.
    Graph,
}

/// Refuses an address that is said to be device memory and is none of the driver's, if the device does not use the process's own memory. NULL
/// is a value like others, and the end of memory bounds it.
pub(super) fn check(side: Side, at: &Context, sink: Sink) -> Result<(), Error> {
    let Side::Device(address @ 1..) = side else { return Ok(()) };
    check_range("place", address, 1)?;
    let driver = at.driver();
    if is_known(driver, address)? || is_known(driver, address - 1)? {
        return Ok(());
    }
    let found = Found::at(address);
    let may_be_of_graph = sink == Sink::Graph && found == Found::Reserved;
    if may_be_of_graph || at.device().supports(Feature::PageableMemoryAccess)? {
        return Ok(());
    }
    Err(refusal(address, found, at))
}

fn is_known(driver: &Driver, address: u64) -> Result<bool, Error> {
    Ok(PointerAttributes::memory_type(driver, address)?.is_some())
}

#[cold]
fn refusal(address: u64, found: Found, at: &Context) -> Error {
    invalid(match found {
        Found::Host => format!(
            "the endpoint, {address:#x}, is said to be device memory and is host memory, which {} does not reach: copy it to a buffer, or \
             page-lock it (cushim_context_register_host)",
            at.device()
        ),
        _ => format!("the endpoint, {}", no_device_memory(address, "")),
    })
}

/// Whether an address of which the driver knows nothing may be that of memory that a graph allocates.
pub(super) fn may_be_of_graph(address: u64) -> bool {
    Found::at(address) == Found::Reserved
}

/// What is wrong with an address that is said to be device memory, and of which the driver knows nothing; and what to do if it is host memory.
#[cold]
pub(super) fn no_device_memory(address: u64, advice: &str) -> String {
    match Found::at(address) {
        Found::Host => format!(
            "{address:#x}, is said to be device memory and is host memory of which this driver knows nothing; {advice}"
        ),
        _ => format!(
            "{address:#x}, is said to be device memory and is not memory of this driver: it was never allocated, or it was freed"
        ),
    }
}

/// What a copy is told instead of host memory that is said to be a device's.
pub(super) const AS_HOST: &str = "say that it is host memory (CUSHIM_ENDPOINT_HOST)";

/// What the process has at an address of which the driver knows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // elsewhere nobody can tell
enum Found {
    /// Memory that the process reads.
    Host,
    /// Nothing that it reads. Drivers reserve the addresses of their devices' memory in this way; or nobody can tell.
    Reserved,
    /// Nothing.
    Nothing,
}

impl Found {
    #[cfg(target_os = "linux")]
    fn at(address: u64) -> Self {
        use std::ffi::c_void;
        let pointer: *mut c_void = std::ptr::with_exposed_provenance_mut(address as usize);
        let mut byte = 0_u8;
        let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let remote = libc::iovec { iov_base: pointer, iov_len: 1 };
        // SAFETY: the kernel copies one byte into the local, or answers that there is none.
        let read =
            unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
        if read == 1 {
            return Self::Host;
        }
        let mut resident = 0_u8;
        let page = pointer.map_addr(|address| address & !(page_size() - 1));
        // SAFETY: the kernel writes a byte for the one page, and looks at no other memory of the process.
        let answer = unsafe { libc::mincore(page, 1, &raw mut resident) };
        let is_nothing = answer != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOMEM);
        if is_nothing { Self::Nothing } else { Self::Reserved }
    }

    #[cfg(not(target_os = "linux"))]
    fn at(_address: u64) -> Self {
        Self::Reserved
    }
}

#[cfg(target_os = "linux")]
fn page_size() -> usize {
    // SAFETY: it asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_process_has_is_told() {
        let here = 0_u8;
        let address = (&raw const here).addr() as u64;
        assert_eq!(Found::at(address), Found::Host);
        assert_eq!(Found::at(8), Found::Nothing);
        let size = page_size();
        // SAFETY: a page that nobody has.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_eq!(Found::at(page.addr() as u64 + 5), Found::Reserved);
        // SAFETY: it was just mapped.
        unsafe { libc::munmap(page, size) };
    }
}
