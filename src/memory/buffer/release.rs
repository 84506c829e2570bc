//! What happens when the last hold on a buffer goes.

use super::order::Order;
use super::{Buffer, Home};
use crate::callback;
use crate::error::{Error, Status};
use crate::handle::Header;
use crate::memory::Resource;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::sync::Arc;

/// What the driver was asked about the memory just before its release, which need not ask again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Unknown,
    /// It is there, and the stream to free it in is not being captured.
    There,
    /// It went with its context.
    Gone,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(home) = self.home.take() else { return };
        let Home::Resource(resource) = home else { return };
        let order = self.order.get_mut().take();
        if callback::is_inside() {
            // The driver frees nothing there.
            return callback::later(Self {
                header: Header::new::<Self>(),
                driver: self.driver.clone(),
                home: Some(Home::Resource(resource)),
                order: Mutex::new(order),
                standing: Standing::Unknown,
                ..*self
            });
        }
        let result = self.free(&resource, order.as_ref());
        crate::release::report(&self.driver, result.map_err(|failure| self.leaked(failure, order.as_ref())));
    }
}

impl Buffer {
    /// Frees the memory, where it did not go with its context. The caller's own functions are called in any case, once.
    fn free(&self, resource: &Resource, order: Option<&Order>) -> Result<(), Error> {
        let recorded = order.map(Order::stream);
        let is_gone = match self.standing {
            Standing::Unknown => resource.went_with(order.map(Order::origin)),
            known => known == Standing::Gone,
        };
        if self.pointer.is_null() || is_gone {
            return Ok(());
        }
        let stream = match order.map(Order::stream_to_free_on).transpose() {
            Err(_) if resource.is_custom() => recorded.map(Arc::clone),
            stream => stream?,
        };
        resource.free_at_last(self.pointer, self.bytes, stream.as_ref(), self.standing)
    }

    /// The error of a free, with what a reader of the log needs to find the memory.
    #[cold]
    fn leaked(&self, mut failure: Error, order: Option<&Order>) -> Error {
        let _ = write!(failure.message, ". {} bytes at {} are leaked", self.bytes, self.pointer);
        if let Some(order) = order {
            let stream = order.stream();
            let _ = write!(failure.message, ", which were to be freed in {stream} ({:?})", stream.native());
        }
        if failure.status == Status::SUCCESS {
            failure.status = Status::INTERNAL;
        }
        failure.about(&self.block())
    }
}
