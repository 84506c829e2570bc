//! The end of a pool.

use super::peers::withdraw_peers;
use crate::device::Device;
use crate::driver::calls::memory::pool::{PoolPlace, RawPool};
use crate::driver::{Driver, sys};
use crate::object::callback::ask_until;
use crate::object::error::{Error, Subject};
use crate::object::native::Named;
use crate::object::release::report;

/// What is left of a pool of a resource's own.
///
/// The driver's documentation lets a pool be destroyed while memory of it is in use, or is freed later in a stream's order. Driver branch
/// 580 crashes: once that memory is freed and another context is created, when any pool is destroyed (measured). So a pool is
/// destroyed when all of its memory is back, which is after the streams that freed it were synchronized.
pub(super) struct Remains {
    raw: RawPool,
    /// Whose pool it is, if other devices were given access to it.
    home: Option<Device>,
    /// Where it was made the current one.
    current_at: Vec<PoolPlace>,
}

impl Remains {
    pub(super) fn new(raw: RawPool, home: Option<Device>, current_at: Vec<PoolPlace>) -> Self {
        Self { raw, home, current_at }
    }

    /// Destroys the pool, now or when its memory is back.
    pub(super) fn end(mut self, driver: &Driver, resource: &dyn Subject) -> Result<(), Error> {
        // Nobody is given memory of it any more.
        for place in std::mem::take(&mut self.current_at) {
            let stepped = self.raw.steps_down_at(place);
            report(driver, stepped.map_err(|error| Error::of_call(driver, error).about(resource)));
        }
        if !self.has_memory() {
            return self.destroy(driver, resource);
        }
        let (driver, named) = (driver.clone(), Named::of(resource));
        let mut waiting = Some(self);
        ask_until(move || {
            let gone = waiting.take_if(|remains| !remains.has_memory());
            if let Some(remains) = gone {
                report(&driver, remains.destroy(&driver, &named));
            }
            waiting.is_none()
        });
        Ok(())
    }

    /// Whether the pool still has memory: in use, or with a free that nobody has waited for. A pool that cannot be asked is destroyed, which
    /// tells why.
    fn has_memory(&self) -> bool {
        let reserved = || {
            self.raw.trim(0)?;
            self.raw.attribute(sys::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
        };
        reserved().is_ok_and(|bytes| bytes > 0)
    }

    /// Destroys the pool, which first takes back the access that other devices were given.
    fn destroy(self, driver: &Driver, resource: &dyn Subject) -> Result<(), Error> {
        let Self { raw, home, .. } = self;
        let withdrawn = home.map_or(Ok(()), |home| withdraw_peers(&home, &raw));
        withdrawn.and(raw.destroy()).map_err(|error| Error::of_call(driver, error).about(resource))
    }
}
