//! What happens when the last hold on a buffer goes.

use super::known::capture_of;
use super::order::Order;
use super::{Buffer, Home};
use crate::context::Context;
use crate::driver::Driver;
use crate::memory::{Block, DevicePointer, Resource};
use crate::object::error::{Error, Status, Subject};
use crate::object::native;
use crate::object::release::report;
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
        let Some(Home::Resource(resource)) = self.home.take() else { return };
        let remains = Remains {
            resource,
            order: self.order.get_mut().take(),
            origin: self.known.origin.take(),
            is_taken_in: self.known.is_taken_in,
            block: self.block(),
            capture: self.known.keeper.capture(),
            standing: self.standing,
        };
        if self.pointer.is_null() {
            return;
        }
        if remains.is_gone() {
            return remains.went(self);
        }
        // SAFETY: the memory came from the resource, and nobody holds it any more.
        native::release_by(self, remains, |remains, buffer| unsafe { remains.free(buffer) });
    }
}

impl native::OfDriver for Remains {
    fn driver(&self) -> &Driver {
        self.resource.driver()
    }
}

/// What is left of a buffer to be freed.
struct Remains {
    resource: Arc<Resource>,
    order: Option<Order>,
    origin: Option<Arc<Context>>,
    /// Whether the memory may be of another context.
    is_taken_in: bool,
    block: Block,
    /// Of a part of an arena: the capture for which it is one.
    capture: Option<u64>,
    standing: Standing,
}

impl Remains {
    /// Whether the memory was destroyed with its context.
    fn is_gone(&self) -> bool {
        match self.standing {
            Standing::Unknown => {
                !self.resource.is_custom() && self.origin.as_ref().is_some_and(|origin| origin.is_gone())
            }
            known => known == Standing::Gone,
        }
    }

    /// The memory went with its context, unless it was another's, or a pool's, which driver 580 keeps (measured), and is still there: nobody
    /// can tell whether that is still the same memory, so it is not freed, and the error says so.
    #[cold]
    fn went(&self, buffer: &dyn Subject) {
        if let Some(origin) = self.origin.as_ref().filter(|_| self.is_taken_in || self.resource.is_pool()) {
            report(self.resource.driver(), origin.check_went_with_it(self.block.address, buffer));
        }
    }

    /// Frees the memory. The caller's own functions are called in any case, once.
    ///
    /// # Safety
    /// As for [`Resource::deallocate`], in the order of the stream.
    unsafe fn free(&self, buffer: &dyn Subject) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        let freed = unsafe { self.free_in_order() };
        let freed = match &self.origin {
            Some(origin) => origin.forgiven(freed),
            None => freed,
        };
        freed.map_err(|failure| self.leaked(failure, buffer))
    }

    /// # Safety
    /// As for [`free`](Self::free).
    unsafe fn free_in_order(&self) -> Result<(), Error> {
        let order = self.order.as_ref();
        let stand_in = match order.map(|order| order.stand_in_to_free_on(self.origin.as_ref())).transpose() {
            Err(_) if self.resource.is_custom() => None,
            stand_in => stand_in?.flatten(),
        };
        let stream = stand_in.as_ref().or(order.map(Order::stream));
        // Another capture in the same stream may have given the same part out again.
        if self.capture.is_some_and(|capture| capture_of(stream) != capture) {
            return Ok(());
        }
        let pointer = DevicePointer(self.block.address);
        // SAFETY: as the caller vouches.
        unsafe { self.resource.free_at_last(pointer, self.block.bytes, stream, self.standing) }
    }

    /// The error of a free, with what a reader of the log needs to find the memory.
    #[cold]
    fn leaked(&self, mut failure: Error, buffer: &dyn Subject) -> Error {
        let _ = write!(failure.message, ". {} are leaked", self.block);
        if let Some(order) = &self.order {
            let stream = order.stream();
            let _ =
                write!(failure.message, ", which were to be freed in {stream} ({:?})", stream.raw().handle());
        }
        if failure.status == Status::SUCCESS {
            failure.status = Status::INTERNAL;
        }
        failure.about(buffer)
    }
}
