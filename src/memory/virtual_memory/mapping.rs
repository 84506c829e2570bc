//! Memory that is mapped.

use super::chunk::{Addresses, Chunk};
use crate::driver::sys;
use crate::location::Location;
use crate::object::error::Error;
use crate::object::release::report;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A chunk behind a part of reserved addresses; unmapped when nobody has it any more.
pub(super) struct Mapping {
    pub(super) addresses: Arc<Addresses>,
    pub(super) offset: usize,
    pub(super) chunk: Arc<Chunk>,
    is_mapped: AtomicBool,
}

impl Mapping {
    /// Maps a chunk, and lets those use it that its plan names.
    pub(super) fn new(
        addresses: &Arc<Addresses>,
        offset: usize,
        chunk: Arc<Chunk>,
    ) -> Result<Arc<Self>, Error> {
        let is_mapped = AtomicBool::new(false);
        let mapping = Self { addresses: Arc::clone(addresses), offset, chunk, is_mapped };
        mapping.map()?; // if something fails, it is unmapped again
        Ok(Arc::new(mapping))
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunk.bytes
    }

    fn map(&self) -> Result<(), Error> {
        let Self { addresses, offset, chunk, is_mapped } = self;
        let (raw, plan) = (addresses.raw(), &chunk.plan);
        // SAFETY: the chunk's size.
        unsafe { raw.map(*offset, chunk.bytes, chunk.raw()) }.map_err(|error| chunk.not_mapped(error))?;
        is_mapped.store(true, Relaxed);
        if plan.access.is_empty() {
            return Ok(());
        }
        let access: Vec<_> = plan.access.iter().map(|&(place, flags)| (place.native(), flags)).collect();
        raw.set_access(*offset, chunk.bytes, &access).map_err(|error| plan.failed(error))
    }

    /// Says what one place may do with it.
    pub(super) fn set_access(&self, place: Location, flags: sys::CUmemAccess_flags) -> Result<(), Error> {
        let set = self.addresses.raw().set_access(self.offset, self.bytes(), &[(place.native(), flags)]);
        set.map_err(|error| self.chunk.plan.failed(error))
    }

    /// Unmaps it now, and says how that went. The chunk stays.
    pub(super) fn unmap(&self) -> Result<(), Error> {
        if !self.is_mapped.load(Relaxed) {
            return Ok(());
        }
        let unmapped = self.addresses.raw().unmap(self.offset, self.chunk.bytes);
        unmapped.map_err(|error| self.chunk.plan.failed(error))?;
        self.is_mapped.store(false, Relaxed);
        Ok(())
    }

    /// Unmaps all of these, or none.
    pub(super) fn unmap_all(all: &[Arc<Self>]) -> Result<(), Error> {
        for (index, mapping) in all.iter().enumerate() {
            if let Err(failure) = mapping.unmap() {
                let again = all[..index].iter().map(|before| before.map());
                report(mapping.addresses.driver(), again.fold(Ok(()), Result::and));
                return Err(failure);
            }
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        report(self.addresses.driver(), self.unmap());
    }
}
