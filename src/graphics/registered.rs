//! The driver's side of a registration.

use crate::context::Context;
use crate::driver::calls::graphics::RawGraphics;
use crate::driver::{CallError, sys};
use crate::object::callback::ask_until;
use crate::object::error::{Error, Subject};
use crate::object::native::Named;
use crate::object::release::report;
use crate::order::Order;
use crate::stream::{Stream, StreamOptions};

/// What the driver has registered, and in which context.
pub(super) struct Registered {
    raw: RawGraphics,
    context: Context,
}

impl Registered {
    pub(super) fn new(raw: RawGraphics, context: &Context) -> Self {
        Self { raw, context: context.clone() }
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn native(&self) -> sys::CUgraphicsResource {
        self.raw.handle()
    }

    /// Maps it in a stream of its context.
    pub(super) fn map(&self, stream: &Stream, object: &dyn Subject) -> Result<(), Error> {
        let here = self.context.live(object)?;
        self.raw.map(here, stream.raw()).map_err(|error| self.failed(error, object))
    }

    /// Unmaps it in an order, which may be that of another thread's stream, or of another context's.
    pub(super) fn unmap(&self, order: &Order, object: &dyn Subject) -> Result<(), Error> {
        let context = &self.context;
        let here = context.live(object)?;
        let stand_in = order.stand_in_to_free_on(Some(context), false)?;
        let stream = stand_in.as_ref().unwrap_or(order.stream());
        let of_own = match stream.context().native() == context.native() {
            true => None,
            false => {
                let own = Stream::create(context, &StreamOptions::default())?;
                own.wait_stream(stream)?;
                Some(own)
            }
        };
        let stream = of_own.as_ref().unwrap_or(stream);
        self.raw.unmap(here, stream.raw()).map_err(|error| self.failed(error, object))
    }

    /// Where a mapped buffer is, and its bytes.
    pub(super) fn memory(&self, object: &dyn Subject) -> Result<(u64, usize), Error> {
        let here = self.context.live(object)?;
        self.raw.pointer(here).map_err(|error| self.context.failed(error, object))
    }

    /// A layer or face of a mapped image, at a level of detail.
    pub(super) fn array(&self, layer: u32, level: u32, object: &dyn Subject) -> Result<sys::CUarray, Error> {
        let here = self.context.live(object)?;
        self.raw.array(here, layer, level).map_err(|error| self.context.failed(error, object))
    }

    /// Gives the registration up. What is still mapped is unmapped first: where the stream is being captured, both happen when that is over.
    pub(super) fn end(self, mapped: Option<Order>, object: &dyn Subject) -> Result<(), Error> {
        if self.context.is_gone() {
            return Ok(());
        }
        let Some(order) = mapped else { return self.unregister(Ok(()), object) };
        if !order.is_capturing() {
            return self.unmap_and_unregister(&order, object);
        }
        let (driver, named) = (self.context.driver().clone(), Named::of(object));
        let mut waiting = Some(self);
        ask_until(move || {
            if let Some(registered) = waiting.take_if(|_| !order.is_capturing()) {
                report(&driver, registered.unmap_and_unregister(&order, &named));
            }
            waiting.is_none()
        });
        Ok(())
    }

    fn unmap_and_unregister(self, order: &Order, object: &dyn Subject) -> Result<(), Error> {
        let unmapped = self.unmap(order, object);
        self.unregister(unmapped, object)
    }

    fn unregister(self, before: Result<(), Error>, object: &dyn Subject) -> Result<(), Error> {
        let Self { raw, context } = self;
        let here = context.live(object)?;
        let ended = raw.unregister(here).map_err(|error| explain(context.failed(error, object)));
        context.forgiven(before.and(ended))
    }

    fn failed(&self, error: CallError, object: &dyn Subject) -> Error {
        explain(self.context.failed(error, object))
    }
}

/// Driver 580 says so of each call on a thread where the OpenGL context is not current (measured).
#[cold]
fn explain(mut failure: Error) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_GRAPHICS_CONTEXT.0 {
        failure.message.push_str(
            ". The OpenGL context must be current on the calling thread: map, unmap and destroy on the thread that has it",
        );
    }
    failure
}
