//! Copies between the memories of two contexts.

use super::copy::between;
use super::{DevicePointer, Extent, Place, Region, check_range, refusal};
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::calls::memory::copy as calls;
use crate::driver::sys::CUcontext;
use crate::error::{Error, Status};
use crate::stream::Stream;

impl Stream {
    /// Copies so many bytes from one context's device memory to another's, after the work that is in the stream by now.
    /// Of no bytes, nothing is looked at.
    ///
    /// Where one device reaches the other's memory the copy goes there directly, else by way of the host.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    ///
    /// # Errors
    /// As for [`copy`](Self::copy), and [`Status::INVALID_HANDLE`] for a context of another driver.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_peer(
        &self,
        to: (&Context, DevicePointer),
        from: (&Context, DevicePointer),
        bytes: usize,
    ) -> Result<(), Error> {
        let ends = ranges(self.driver(), to, from, bytes)?;
        let _current = self.enter_if_default()?;
        calls::peer(self.context().table(), ends.0, ends.1, bytes, self.raw()).map_err(|error| {
            let (to, from) = (Place::Device(to.1), Place::Device(from.1));
            refusal::of_peer_copy(self.context().failed(error, self), self.driver(), to, from, bytes)
        })
    }

    /// Copies a box from one context's memory to another's, after the work that is in the stream by now. Of an empty box,
    /// nothing is looked at. See [`copy_peer`](Self::copy_peer).
    ///
    /// # Safety
    /// As for [`copy_box`](Self::copy_box).
    ///
    /// # Errors
    /// As for [`copy_box`](Self::copy_box), and [`Status::INVALID_HANDLE`] for a context of another driver.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_box_peer(
        &self,
        to: (&Context, &Region),
        from: (&Context, &Region),
        extent: Extent,
    ) -> Result<(), Error> {
        let contexts = contexts(self.driver(), to.0, from.0)?;
        let copy = between(to.1, from.1, extent)?;
        let _current = self.enter_if_default()?;
        calls::boxed_peer(self.context().table(), copy, contexts, self.raw())
            .map_err(|error| self.context().failed(error, self))
    }
}

impl Context {
    /// Copies so many bytes from one context's device memory to another's; they have arrived when it returns. Of no bytes,
    /// nothing is looked at.
    ///
    /// It waits for the legacy default streams of this context and of the other two.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    ///
    /// # Errors
    /// As for [`Stream::copy_peer`]; an error of earlier work may appear here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_peer(
        &self,
        to: (&Self, DevicePointer),
        from: (&Self, DevicePointer),
        bytes: usize,
    ) -> Result<(), Error> {
        let ends = ranges(self.driver(), to, from, bytes)?;
        let _current = self.enter()?;
        calls::peer_now(self.table(), ends.0, ends.1, bytes).map_err(|error| {
            let (to, from) = (Place::Device(to.1), Place::Device(from.1));
            refusal::of_peer_copy(self.failed(error, self), self.driver(), to, from, bytes)
        })
    }

    /// Copies a box from one context's memory to another's; it has arrived when this returns. Of an empty box, nothing is
    /// looked at. See [`copy_peer`](Self::copy_peer).
    ///
    /// # Safety
    /// As for [`copy_box`](Self::copy_box).
    ///
    /// # Errors
    /// As for [`Stream::copy_box_peer`]; an error of earlier work may appear here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_box_peer(
        &self,
        to: (&Self, &Region),
        from: (&Self, &Region),
        extent: Extent,
    ) -> Result<(), Error> {
        let contexts = contexts(self.driver(), to.0, from.0)?;
        let copy = between(to.1, from.1, extent)?;
        let _current = self.enter()?;
        calls::boxed_peer_now(self.table(), copy, contexts).map_err(|error| self.failed(error, self))
    }
}

/// Both ends of a range for the driver, checked.
fn ranges(
    driver: &Driver,
    to: (&Context, DevicePointer),
    from: (&Context, DevicePointer),
    bytes: usize,
) -> Result<(calls::PeerRange, calls::PeerRange), Error> {
    let contexts = contexts(driver, to.0, from.0)?;
    if bytes != 0 {
        check_range("destination", to.1.0, bytes as u64)?;
        check_range("source", from.1.0, bytes as u64)?;
    }
    Ok(((to.1.0, contexts.0), (from.1.0, contexts.1)))
}

/// The native handles of both contexts, which must be there and belong to the driver.
fn contexts(driver: &Driver, to: &Context, from: &Context) -> Result<(CUcontext, CUcontext), Error> {
    for context in [to, from] {
        context.check_there(context)?;
        if context.driver() != driver {
            return Err(Error::new(
                Status::INVALID_HANDLE,
                format!("{context} belongs to another driver than the copy"),
            ));
        }
    }
    Ok((to.native(), from.native()))
}
