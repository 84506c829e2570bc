//! Virtual memory: each allocation has addresses of its own, and can grow and sleep.

use super::{Properties, Resource, Source};
use crate::device::Device;
use crate::location::Location;
use crate::memory::DevicePointer;
use crate::memory::virtual_memory::{Exported, Kept, Opened, Plan, Ranges, VirtualOptions};
use crate::object::error::{Error, Status};
use std::sync::Arc;

pub(super) struct Virtual {
    plan: Arc<Plan>,
    ranges: Ranges,
}

impl Resource {
    /// Virtual memory of the device, of the host or of one of its NUMA nodes: addresses are reserved and memory is created and mapped for
    /// each allocation, in whole units of a granularity. Its buffers can grow ([`Buffer::grow`](crate::memory::Buffer::grow)) and sleep
    /// ([`Buffer::sleep`](crate::memory::Buffer::sleep)).
    ///
    /// None of that is ordered by streams, waits for work or disturbs a capture. The memory belongs to no context, and stays when one is
    /// reset. What was allocated without a buffer and is not freed goes with the resource.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] for what this device or driver does not offer; [`Status::INVALID_ARGUMENT`] for options that contradict
    /// each other, and for a peer that there is not, or that cannot reach the device, with the error's item; the driver's.
    pub fn virtual_memory(device: &Device, options: &VirtualOptions) -> Result<Self, Error> {
        let plan = Plan::new(device, options)?;
        let properties =
            if plan.is_on_host() { Properties::host(true) } else { Properties::device(device.ordinal()) };
        let source = Virtual { plan: Arc::new(plan), ranges: Ranges::default() };
        Ok(Self::new(device.driver(), Source::Virtual(source), properties))
    }

    /// How many bytes an allocation of so many has.
    pub(in crate::memory) fn rounded(&self, bytes: usize) -> Result<usize, Error> {
        match &self.0.source {
            Source::Virtual(source) => source.plan.rounded(bytes).map_err(|failure| failure.about(self)),
            _ => Ok(bytes),
        }
    }

    pub(in crate::memory) fn is_virtual(&self) -> bool {
        matches!(self.0.source, Source::Virtual(_))
    }

    /// What is behind the resource, if it is virtual memory.
    fn virtual_source(&self, what: &str) -> Result<&Virtual, Error> {
        match &self.0.source {
            Source::Virtual(source) => Ok(source),
            _ => {
                let refusal =
                    format!("only virtual memory {what}, and this is of a {self}; use a virtual resource");
                Err(Error::new(Status::UNSUPPORTED, refusal).about(self))
            }
        }
    }

    /// See [`Ranges::grow`]. New memory is as the options say, or as all of this resource.
    pub(in crate::memory) fn grow(
        &self,
        range: (DevicePointer, usize),
        wanted: usize,
        options: Option<&VirtualOptions>,
    ) -> Result<(DevicePointer, usize), Error> {
        let source = self.virtual_source("grows")?;
        let plan = match options {
            Some(options) => Arc::new(Plan::new(source.plan.device(), options)?),
            None => Arc::clone(&source.plan),
        };
        if plan.is_on_host() != source.plan.is_on_host() {
            let refusal = "memory of the host and of a device do not make one buffer; grow it where it is";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        plan.rounded(wanted)?;
        let (first, bytes) = source.ranges.grow(&source.plan, (range.0.0, range.1), &plan, wanted)?;
        Ok((DevicePointer(first), bytes))
    }

    /// See [`Ranges::export`].
    pub(in crate::memory) fn export_parts(
        &self,
        range: (DevicePointer, usize),
    ) -> Result<Vec<Exported>, Error> {
        self.virtual_source("has parts to export")?.ranges.export((range.0.0, range.1))
    }

    /// See [`Ranges::part_count`].
    pub(in crate::memory) fn part_count(&self, range: (DevicePointer, usize)) -> Result<usize, Error> {
        self.virtual_source("has parts")?.ranges.part_count((range.0.0, range.1))
    }

    /// See [`Ranges::import`]. What may use the memory is as for all of this resource.
    pub(in crate::memory) fn import_parts(
        &self,
        parts: &[(i32, &[u8])],
    ) -> Result<(DevicePointer, usize), Error> {
        let source = self.virtual_source("is imported in parts")?;
        let (first, bytes) = source.ranges.import(&source.plan, parts)?;
        Ok((DevicePointer(first), bytes))
    }

    pub(in crate::memory) fn check_may_sleep(&self, range: (DevicePointer, usize)) -> Result<(), Error> {
        self.virtual_source("sleeps")?.ranges.check_may_sleep((range.0.0, range.1))
    }

    pub(in crate::memory) fn sleep(
        &self,
        range: (DevicePointer, usize),
        contents: Option<Kept>,
    ) -> Result<(), Error> {
        self.virtual_source("sleeps")?.ranges.sleep((range.0.0, range.1), contents)
    }

    /// See [`Ranges::open`].
    pub(in crate::memory) fn open(
        &self,
        range: (DevicePointer, usize),
        place: Location,
    ) -> Result<Opened, Error> {
        self.virtual_source("sleeps")?.ranges.open((range.0.0, range.1), place)
    }

    /// See [`Ranges::wake`].
    pub(in crate::memory) fn wake(
        &self,
        range: (DevicePointer, usize),
        place: Location,
        restore: impl FnOnce(&Kept) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.virtual_source("sleeps")?.ranges.wake((range.0.0, range.1), place, restore)
    }

    pub(in crate::memory) fn is_asleep(&self, range: (DevicePointer, usize)) -> bool {
        match &self.0.source {
            Source::Virtual(source) => source.ranges.is_asleep((range.0.0, range.1)),
            _ => false,
        }
    }
}

impl Virtual {
    pub(super) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        self.ranges.allocate(&self.plan, self.plan.rounded(bytes)?).map(DevicePointer)
    }

    pub(super) fn free(&self, pointer: DevicePointer, bytes: usize) -> Result<(), Error> {
        // What grew or was imported may have a size that the resource's granularity does not divide.
        let exact = (pointer.0, bytes);
        let range = if self.ranges.has(exact) { exact } else { (pointer.0, self.plan.rounded(bytes)?) };
        self.ranges.free(range)
    }
}
