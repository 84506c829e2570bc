//! Events of several processes.

use super::captured::Mark;
use super::{Event, EventObject, EventOptions, flags};
use crate::context::Context;
use crate::driver::calls::event::RawEvent;
use crate::object::descriptor::{self, Descriptor, DescriptorBytes, DescriptorKind};
use crate::object::error::{Error, Status};
use crate::object::handle::Header;
use crate::object::in_place::arc_of;
use crate::object::native::Native;
use crate::object::owning::Ownership;
use std::sync::atomic::{AtomicBool, AtomicU32};

impl Event {
    /// The bytes by which other processes [import](Self::import) the event, as long as it is there. Every export gives the same event.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an event that was created without [`interprocess`](EventOptions::interprocess), and for one that
    /// was imported; the driver's: `CUDA_ERROR_NOT_SUPPORTED` (801).
    pub fn export(&self) -> Result<DescriptorBytes, Error> {
        descriptor::check_allowed(self.context().driver())?;
        let refused =
            |why: &str| Err(Error::new(Status::INVALID_ARGUMENT, format!("{self} {why}")).about(self));
        if self.0.imported {
            return refused(
                "was imported, and only the process that created it can export it; pass on the descriptor that it was imported by",
            );
        }
        if !self.options().interprocess {
            return refused(
                "is of this process only; create an event for export with CUSHIM_EVENT_INTERPROCESS and without timing",
            );
        }
        let native = self.raw().share(self.context().live(self)?);
        let mut descriptor = Descriptor::new(DescriptorKind::Event);
        descriptor.native = native.map_err(|error| self.context().failed(error, self))?;
        // Others record it from now on, without a word of it here.
        self.is_known_to_others();
        Ok(descriptor.write())
    }

    /// Another process's event, as one of this context. It can be recorded, awaited and asked about; it measures no time, and whether it
    /// was ever recorded is not known. Imported again it is another object for the same event.
    ///
    /// A record whose process is killed before its work gets there is never reached: driver branch 580 lets who waits for it wait for ever
    /// (measured), and so it is with a reset of the context.
    ///
    /// # Safety
    /// The bytes are what [`export`](Self::export) gave in another process, which is trusted with that: what was changed on the way is
    /// refused here, but the driver believes what a process writes that means it ill.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for bytes that are no descriptor of an event, and for an event of this process; the driver's: driver
    /// branch 580 answers `CUDA_ERROR_MAP_FAILED` (205) if the event is gone.
    pub unsafe fn import(context: &Context, descriptor: &[u8]) -> Result<Self, Error> {
        descriptor::check_allowed(context.driver())?;
        let descriptor = Descriptor::read(descriptor, DescriptorKind::Event)?;
        if descriptor.is_own() {
            let refusal =
                "the event was exported by this process, which cannot import it; use the event itself";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        // SAFETY: the caller vouches for the bytes.
        let raw = context.here(|there| unsafe { RawEvent::open(there, &descriptor.native) });
        let raw = raw.map_err(|mut failure| {
            failure.message.push_str(
                ". The event is of another process: it must still be there, on a device that both processes see",
            );
            failure
        })?;
        let options = EventOptions { interprocess: true, ..EventOptions::default() };
        Ok(Self(arc_of(|| EventObject {
            header: Header::new::<EventObject>(),
            wrapped: true,
            imported: true,
            flags: AtomicU32::new(flags(&options)),
            recorded: AtomicBool::new(true),
            mark: Mark::new(true, false),
            listed: AtomicBool::new(false),
            native: Native::new(context.clone(), raw, Ownership::Owned),
        })))
    }

    /// Whether another process has created it: how is not known beside that it measures no time.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.0.imported
    }
}
