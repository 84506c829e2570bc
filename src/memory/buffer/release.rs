//! What happens when the last hold on a buffer goes.

use super::known::capture_of;
use super::{BufferObject, Home};
use crate::context::{Context, forgiven_if_corrupted};
use crate::driver::Driver;
use crate::memory::{Block, DevicePointer, Resource};
use crate::object::error::{Error, Status, Subject};
use crate::object::native;
use crate::object::release::report;
use crate::order::Order;
use std::fmt::Write as _;

/// What the driver was asked about the memory just before its release, which need not ask again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Unknown,
    /// It is there, and the stream to free it in is not being captured.
    There,
    /// Its context is gone, and so is the memory unless it is a pool's.
    ContextGone,
}

impl Drop for BufferObject {
    fn drop(&mut self) {
        let resource = match self.home.take() {
            Some(Home::Resource(resource)) => resource,
            Some(Home::Graphics(mapping)) => {
                if let Some(order) = self.order.get_mut().take() {
                    mapping.end(order, self);
                }
                return;
            }
            Some(Home::Owner(_) | Home::Lender) | None => return,
        };
        let mut remains = Remains {
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
        if remains.is_context_gone() {
            if !remains.resource.is_pool() {
                return remains.went(self);
            }
            remains.standing = Standing::ContextGone;
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
    resource: Resource,
    order: Option<Order>,
    origin: Option<Context>,
    /// Whether the memory may be of another context.
    is_taken_in: bool,
    block: Block,
    /// Of a part of an arena: the capture for which it is one.
    capture: Option<u64>,
    standing: Standing,
}

impl Remains {
    /// Whether the context of the memory is gone.
    fn is_context_gone(&self) -> bool {
        match self.standing {
            Standing::Unknown => {
                !self.resource.is_custom() && self.origin.as_ref().is_some_and(|origin| origin.is_gone())
            }
            known => known == Standing::ContextGone,
        }
    }

    /// The memory went with its context, unless it was another's and is still there: nobody can tell whether that is still the same
    /// memory, so it is not freed, and the error says so.
    #[cold]
    fn went(&self, buffer: &dyn Subject) {
        if let Some(origin) = self.origin.as_ref().filter(|_| self.is_taken_in) {
            report(self.resource.driver(), origin.check_went_with_it(self.block.address, buffer));
        }
    }

    /// Frees the memory. The caller's own functions are called in any case, once.
    ///
    /// # Safety
    /// As for [`Resource::free`], in the order of the stream.
    unsafe fn free(&self, buffer: &dyn Subject) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        let mut freed = unsafe { self.free_in_order(self.standing) };
        if freed.is_err() && self.is_pool_of_gone() {
            // The driver could not be asked before, or others have reset the context since. What it refused is still there.
            // SAFETY: as the caller vouches.
            freed = unsafe { self.free_in_order(Standing::ContextGone) };
        }
        let freed = match &self.origin {
            _ if self.resource.is_pool() => forgiven_if_corrupted(freed),
            Some(origin) => origin.forgiven(freed),
            None => freed,
        };
        freed.map_err(|failure| self.leaked(failure, buffer))
    }

    /// Whether it is by now known that the context of a pool's memory is gone, which it was not when the free began.
    #[cold]
    fn is_pool_of_gone(&self) -> bool {
        let is_gone = || self.origin.as_ref().is_some_and(|origin| origin.is_known_gone());
        self.resource.is_pool() && self.standing != Standing::ContextGone && is_gone()
    }

    /// # Safety
    /// As for [`free`](Self::free).
    unsafe fn free_in_order(&self, standing: Standing) -> Result<(), Error> {
        let (order, is_gone) = (self.order.as_ref(), standing == Standing::ContextGone);
        let stand_in = order.map(|order| order.stand_in_to_free_on(self.origin.as_ref(), is_gone));
        let stand_in = match stand_in.transpose() {
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
        unsafe { self.resource.free_at_last(pointer, self.block.bytes, stream, standing) }
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
