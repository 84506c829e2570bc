//! The time in which CUDA has a buffer or an image of OpenGL.

use super::Graphics;
use super::registered::Registered;
use crate::object::callback::{self, ask_until};
use crate::object::error::{Error, Subject};
use crate::object::native::{self, Named};
use crate::object::release::report;
use crate::op::{one_awoke, one_sleeps};
use crate::order::Order;
use crate::stream::Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is mapped now, and since when.
pub(super) struct Turn {
    order: Order,
    /// What a buffer looks at that has the memory; an image has none.
    over: Arc<Over>,
}

/// Whether the turn is over.
pub(super) struct Over(AtomicBool);

/// A buffer's part in it.
pub struct Mapping {
    graphics: Graphics,
    over: Arc<Over>,
}

impl Turn {
    fn begun_in(stream: &Stream) -> Self {
        Self { order: Order::of(stream.clone()), over: Arc::new(Over(AtomicBool::new(false))) }
    }

    /// The order in which it is unmapped, unless another one is given.
    pub(super) fn into_order(self) -> Order {
        self.order
    }

    /// It was unmapped: a buffer that has the memory is told so.
    fn ends(self) {
        if Arc::strong_count(&self.over) > 1 {
            one_sleeps();
            self.over.0.store(true, Relaxed);
        }
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        if *self.0.get_mut() {
            one_awoke();
        }
    }
}

impl Graphics {
    /// Maps it in a stream, and has the driver tell what it is mapped to; if that fails, it is as it was.
    pub(super) fn begin<T>(
        &self,
        stream: &Stream,
        find: impl FnOnce(&Registered) -> Result<T, Error>,
    ) -> Result<(T, Arc<Over>), Error> {
        callback::check_allowed()?;
        self.check_stream(stream)?;
        let mut turn = self.0.turn.lock();
        if turn.is_some() {
            return Err(self.refused("is mapped already; unmap it first, or use what it was mapped to"));
        }
        let registered = self.registered();
        registered.map(stream, self)?;
        let begun = Turn::begun_in(stream);
        match find(registered) {
            Ok(found) => {
                let over = Arc::clone(&begun.over);
                *turn = Some(begun);
                Ok((found, over))
            }
            Err(failure) => {
                report(self.driver(), registered.unmap(&begun.order, self));
                Err(failure)
            }
        }
    }

    /// Maps a buffer: where it is, its bytes, and the part that whoever has the memory has in it.
    pub(crate) fn begin_buffer(&self, stream: &Stream) -> Result<(u64, usize, Mapping), Error> {
        let ((address, bytes), over) = self.begin(stream, |registered| registered.memory(self))?;
        Ok((address, bytes, Mapping { graphics: self.clone(), over }))
    }

    /// Unmaps it: OpenGL has it again after what is in the stream by now, or else in the one that it was mapped in. A buffer that has its
    /// memory is refused from now on.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) if it is not mapped, for a stream of another context, and for one that is
    /// being captured; [`Status::INVALID_HANDLE`](crate::Status::INVALID_HANDLE) for a stream of another driver; the driver's. It is mapped
    /// as before then.
    pub fn unmap(&self, stream: Option<&Stream>) -> Result<(), Error> {
        callback::check_allowed()?;
        if let Some(stream) = stream {
            self.check_stream(stream)?;
        }
        let given = stream.map(|stream| Order::of(stream.clone()));
        let mut turn = self.0.turn.lock();
        let Some(mapped) = turn.as_ref() else {
            return Err(self.refused("is not mapped: OpenGL has it"));
        };
        let order = given.as_ref().unwrap_or(&mapped.order);
        self.check_uncaptured(order.stream())?;
        self.registered().unmap(order, self)?;
        let ended = turn.take();
        drop(turn);
        if let Some(ended) = ended {
            ended.ends();
        }
        Ok(())
    }

    /// Unmaps it, if this turn is not over. If the driver refuses, it stays mapped, and may be unmapped again.
    fn end_turn(&self, over: &Arc<Over>, order: &Order) -> Result<(), Error> {
        let mut turn = self.0.turn.lock();
        if !turn.as_ref().is_some_and(|turn| Arc::ptr_eq(&turn.over, over)) {
            return Ok(());
        }
        self.registered().unmap(order, self)?;
        let ended = turn.take();
        drop(turn);
        drop(ended); // outside of the lock: it may be the last hold on a stream
        Ok(())
    }
}

impl Mapping {
    /// What is mapped.
    pub(crate) fn graphics(&self) -> &Graphics {
        &self.graphics
    }

    /// Whether it was unmapped.
    pub(crate) fn is_over(&self) -> bool {
        self.over.0.load(Relaxed)
    }

    /// Refuses to end the turn in a stream that is being captured, which would have to wait for the end of that.
    pub(crate) fn refuse_capture(&self, stream: &Stream) -> Result<(), Error> {
        // A stream that cannot tell, because its context is lost, is no reason to keep what is to go.
        if self.is_over() || !stream.is_capturing().unwrap_or(false) {
            return Ok(());
        }
        self.graphics.check_uncaptured(stream)
    }

    /// The buffer is gone: unmaps in the order of its deallocation stream. What is being captured there is not disturbed: then it is unmapped
    /// when that is over. Where the driver refuses, as driver 580 does on a thread without the OpenGL context (measured), it stays mapped.
    pub(crate) fn end(self, order: Order, buffer: &dyn Subject) {
        if self.is_over() || self.graphics.context().is_gone() {
            return;
        }
        let ending = Ending { mapping: self, order };
        let driver = ending.mapping.graphics.driver().clone();
        native::release(&driver, buffer, move |buffer| ending.end(buffer));
    }
}

/// A turn whose buffer is gone.
struct Ending {
    mapping: Mapping,
    order: Order,
}

impl Ending {
    fn end(self, buffer: &dyn Subject) -> Result<(), Error> {
        if !self.order.is_capturing() {
            return self.unmap(buffer);
        }
        let named = Named::of(buffer);
        ask_until(move || {
            let is_over = !self.order.is_capturing();
            if is_over {
                report(self.mapping.graphics.driver(), self.unmap(&named));
            }
            is_over
        });
        Ok(())
    }

    fn unmap(&self, buffer: &dyn Subject) -> Result<(), Error> {
        let Mapping { graphics, over } = &self.mapping;
        let ended = graphics.end_turn(over, &self.order);
        graphics.context().forgiven(ended).map_err(|failure| failure.about(buffer))
    }
}
