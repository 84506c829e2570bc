//! Addresses that a program reserves by itself, and maps memory at.

use super::allocation::Allocation;
use super::chunk::Addresses;
use super::mapping::Mapping;
use super::options::{Access, VirtualOptions};
use super::plan::{Plan, access_of, flags_of};
use crate::device::Device;
use crate::driver::Driver;
use crate::location::Location;
use crate::memory::DevicePointer;
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::handle::Object as _;
use crate::object::handle::{Header, object};
use crate::object::native;
use crate::stream::Stream;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A range of addresses, at which whole allocations are mapped and unmapped. When nobody has it any more, what is mapped there is
/// unmapped, and the addresses are given back. Every function may be called from every thread.
///
/// None of this is ordered by streams or waits for work: whoever unmaps sees to it that nothing uses the memory any more.
pub struct Reservation(Arc<ReservationObject>);

/// What handles of reservations name.
pub(crate) struct ReservationObject {
    header: Header,
    driver: Driver,
    plan: Plan,
    /// What offsets are multiples of, and sizes of what is mapped.
    unit: usize,
    /// `None` only while it is being released.
    addresses: Option<Arc<Addresses>>,
    parts: Mutex<Parts>,
}

/// What is mapped, by its distance from the first address.
type Parts = BTreeMap<usize, Arc<Mapping>>;

object!(ReservationObject as Reservation: Reservation, header; tell_label);

impl Reservation {
    /// Reserves so many addresses, rounded up to the granularity: by the device's, with the alignment and the hint of the options.
    ///
    /// # Errors
    /// As for [`Resource::virtual_memory`](crate::memory::Resource::virtual_memory), and for no bytes; the driver's:
    /// `CUDA_ERROR_OUT_OF_MEMORY` (2) where no range of addresses is as long.
    pub fn create(device: &Device, bytes: usize, options: &VirtualOptions) -> Result<Self, Error> {
        callback::check_allowed()?;
        let plan = Plan::new(device, options)?;
        let unit = plan.least()?;
        let addresses = Addresses::reserve(&plan, plan.rounded(bytes)?, plan.alignment, plan.hint)?;
        Ok(Self(Arc::new(ReservationObject {
            header: Header::new::<ReservationObject>(),
            driver: device.driver().clone(),
            unit,
            plan,
            addresses: Some(addresses),
            parts: Mutex::new(Parts::new()),
        })))
    }

    fn addresses(&self) -> &Arc<Addresses> {
        self.0.addresses.as_ref().expect("a reservation has its addresses until it is dropped")
    }

    /// The driver that it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// The first address.
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        DevicePointer(self.addresses().raw().address())
    }

    /// How many addresses there are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.addresses().raw().bytes()
    }

    /// Maps an allocation, all of it, so many bytes after the first address, and lets those use it that its options name. It may be mapped
    /// elsewhere, too. The mapping keeps it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an offset that is no multiple of the least granularity, past the end, and where something is mapped;
    /// [`Status::INVALID_HANDLE`] for an allocation of another driver; the driver's.
    pub fn map(&self, offset: usize, allocation: &Allocation) -> Result<(), Error> {
        callback::check_allowed()?;
        if allocation.driver() != self.driver() {
            let refusal = format!("{allocation} belongs to another driver than {self}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(self));
        }
        let bytes = allocation.bytes();
        self.check_inside(offset, bytes)?;
        let mut parts = self.0.parts.lock();
        let before = parts.range(..offset + bytes).next_back();
        if let Some((start, part)) = before.filter(|(start, part)| *start + part.bytes() > offset) {
            return Err(self.refused(format!(
                "{bytes} bytes at offset {offset} of {self} overlap the {} bytes that are mapped at offset {start}: unmap these first",
                part.bytes()
            )));
        }
        let mapping = Mapping::new(self.addresses(), offset, Arc::clone(allocation.chunk()));
        parts.insert(offset, mapping.map_err(|failure| failure.about(self))?);
        Ok(())
    }

    /// Unmaps everything in a range, which must be whole mappings, after the stream, if there is one, has done its work so far.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a part of a mapping, where nothing is mapped, and for a stream that is being captured;
    /// [`Status::INVALID_HANDLE`] for a stream of another driver; that of the stream's work; the driver's. Nothing is unmapped then.
    pub fn unmap(&self, stream: Option<&Stream>, offset: usize, bytes: usize) -> Result<(), Error> {
        callback::check_allowed()?;
        self.check_inside(offset, bytes)?;
        if let Some(stream) = stream {
            stream.same_driver(self.driver(), self)?;
            stream.check_not_capturing("unmapping is synchronous; pass another stream, or none")?;
            stream.synchronize()?;
        }
        let mut parts = self.0.parts.lock();
        let gone = self.whole(&parts, offset, bytes)?;
        Mapping::unmap_all(&gone)?;
        for mapping in &gone {
            parts.remove(&mapping.offset);
        }
        drop(parts);
        drop(gone); // outside of the lock
        Ok(())
    }

    /// Says what a place may do with what is mapped in a range, which must be whole mappings.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] as for [`unmap`](Self::unmap), for a place that there is not, and for the host where a device's
    /// memory is mapped; the driver's.
    pub fn set_access(
        &self,
        offset: usize,
        bytes: usize,
        place: Location,
        access: Access,
    ) -> Result<(), Error> {
        callback::check_allowed()?;
        self.check_inside(offset, bytes)?;
        self.check_place(place)?;
        let parts = self.0.parts.lock();
        let whole = self.whole(&parts, offset, bytes)?;
        let mut end = offset;
        for part in &whole {
            if part.offset != end {
                return Err(self.refused(format!(
                    "nothing is mapped at offset {end} of {self}: name mappings that adjoin"
                )));
            }
            if !place.is_device() && part.chunk.plan.location.is_device() {
                return Err(self.refused(format!(
                    "{place} cannot use the memory of {} that is mapped at offset {} of {self}: name a device, or map memory of the host there",
                    part.chunk.plan.location, part.offset
                )));
            }
            end += part.bytes();
        }
        let set =
            self.addresses().raw().set_access(offset, end - offset, &[(place.native(), flags_of(access))]);
        set.map_err(|error| Error::of_call(self.driver(), error).about(self))
    }

    /// What a place may do with what is mapped at an offset.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] where nothing is mapped, and for a place that there is not; the driver's.
    pub fn access(&self, offset: usize, place: Location) -> Result<Access, Error> {
        self.check_place(place)?;
        let parts = self.0.parts.lock();
        let found = parts.range(..=offset).next_back();
        let Some((_, part)) = found.filter(|(start, part)| *start + part.bytes() > offset) else {
            return Err(self.refused(format!("nothing is mapped at offset {offset} of {self}")));
        };
        let asked = match place.is_device() {
            true => place,
            false if part.chunk.plan.location.is_device() => return Ok(Access::None),
            // What driver 580 says of the host at large is what a device may do (measured); of its nodes it says the same of all.
            false => Location::host_numa(0),
        };
        let flags = self.addresses().raw().access(offset, asked.native());
        flags.map(access_of).map_err(|error| Error::of_call(self.driver(), error).about(self))
    }

    /// Refuses what is no place, or none that is given access.
    fn check_place(&self, place: Location) -> Result<(), Error> {
        place.check(self.0.plan.device())?;
        if place == Location::HOST_NUMA_CURRENT {
            return Err(self.refused(format!(
                "{place} is no place that has access to {self}: name the host, or a node by its number"
            )));
        }
        Ok(())
    }

    /// Refuses a range that is not of whole units, or not inside.
    fn check_inside(&self, offset: usize, bytes: usize) -> Result<(), Error> {
        let unit = self.0.unit;
        let all = self.bytes();
        if !offset.is_multiple_of(unit) || !bytes.is_multiple_of(unit) || bytes == 0 {
            return Err(self.refused(format!(
                "the range of {bytes} bytes at offset {offset} is not in whole units: offset and size are multiples of {unit} \
                 bytes, and the size at least one"
            )));
        }
        if offset > all || bytes > all - offset {
            return Err(
                self.refused(format!("{bytes} bytes at offset {offset} reach past the end of {self}"))
            );
        }
        Ok(())
    }

    /// What is mapped in a range: at least one mapping, and none in part.
    fn whole(&self, parts: &Parts, offset: usize, bytes: usize) -> Result<Vec<Arc<Mapping>>, Error> {
        let end = offset + bytes;
        let reaches = |found: Option<(&usize, &Arc<Mapping>)>, place| {
            found
                .filter(|(start, part)| *start + part.bytes() > place)
                .map(|(start, part)| (*start, part.bytes()))
        };
        let before = reaches(parts.range(..offset).next_back(), offset);
        let last = reaches(parts.range(offset..end).next_back(), end);
        if let Some((start, size)) = before.or(last) {
            return Err(self.refused(format!(
                "the {size} bytes that are mapped at offset {start} of {self} are only partly in the range: name whole mappings"
            )));
        }
        let found: Vec<_> = parts.range(offset..end).map(|(_, part)| Arc::clone(part)).collect();
        if found.is_empty() {
            let refusal = format!("nothing is mapped in the {bytes} bytes at offset {offset} of {self}");
            return Err(self.refused(refusal));
        }
        Ok(found)
    }

    #[cold]
    fn refused(&self, refusal: String) -> Error {
        Error::new(Status::INVALID_ARGUMENT, refusal).about(self)
    }

    /// Names it in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }
}

impl ReservationObject {
    fn tell_label(&self, label: Option<&str>) {
        if let Some(addresses) = &self.addresses {
            self.driver.tell_label(addresses.raw().address() as usize, label);
        }
    }
}

impl Drop for ReservationObject {
    fn drop(&mut self) {
        let parts = std::mem::take(self.parts.get_mut());
        let Some(addresses) = self.addresses.take() else { return };
        native::release(&self.driver, self, move |_| {
            drop(parts);
            drop(addresses);
            Ok(())
        });
    }
}

impl fmt::Display for ReservationObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.header.label(), &self.addresses) {
            (Some(label), _) => write!(f, "reservation \"{label}\""),
            (None, Some(addresses)) => {
                let raw = addresses.raw();
                write!(f, "reservation of {} bytes at {}", raw.bytes(), DevicePointer(raw.address()))
            }
            (None, None) => f.write_str("reservation"),
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("pointer", &self.pointer())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
