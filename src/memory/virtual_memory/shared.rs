//! Virtual memory of several processes: what was created at once goes to another process by a file descriptor, with bytes that say what
//! it is. Those of a buffer's parts also say which of them it is.

use super::chunk::Chunk;
use super::plan::Plan;
use crate::device::Device;
use crate::driver::sys;
use crate::location::Location;
use crate::memory::shared_file::{ExportedFile, check_file, explain_files};
use crate::object::descriptor::{Descriptor, DescriptorBytes, DescriptorKind, NATIVE, unique};
use crate::object::error::{Error, Status};
use std::sync::Arc;

/// What goes to another process: the descriptor of a file, and the bytes.
pub(in crate::memory) type Exported = (ExportedFile, DescriptorBytes);

/// What another process has exported, once its bytes were read.
pub(super) struct Offered {
    descriptor: Descriptor,
    file: i32,
    /// Where the memory is; of a device the descriptor says which.
    location: Location,
    place: Place,
}

/// Which part of a buffer it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    /// What the parts of one buffer have in common; zeros for an allocation by itself.
    buffer: [u8; 16],
    index: u32,
    count: u32,
}

const ALONE: Place = Place { buffer: [0; 16], index: 0, count: 1 };

fn refused(refusal: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

/// Exports memory by itself.
pub(super) fn export(chunk: &Chunk) -> Result<Exported, Error> {
    export_at(chunk, ALONE, 0)
}

/// Exports all parts of a buffer, or none.
pub(super) fn export_parts<'a>(
    chunks: impl ExactSizeIterator<Item = &'a Arc<Chunk>>,
) -> Result<Vec<Exported>, Error> {
    let (buffer, count) = (unique(), chunks.len() as u32);
    let mut offset = 0;
    let exported = chunks.enumerate().map(|(index, chunk)| {
        let place = Place { buffer, index: index as u32, count };
        let exported = export_at(chunk, place, offset).map_err(|failure| failure.of_item("part", index));
        offset += chunk.bytes;
        exported
    });
    exported.collect()
}

fn export_at(chunk: &Chunk, place: Place, offset: usize) -> Result<Exported, Error> {
    let plan = &chunk.plan;
    if chunk.is_imported {
        return Err(refused(
            "the memory is another process's, and only the process that created it can export it".to_owned(),
        ));
    }
    if plan.properties.is_for_fabric() {
        return Err(refused(
            "the memory was created for a fabric, and cushim exports no fabric handles: export its native handle (cushim_allocation_native) \
             with cuMemExportToShareableHandle, or create it with CUSHIM_SHAREABLE_POSIX_FD"
                .to_owned(),
        ));
    }
    if plan.properties.handle_types & sys::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0 == 0 {
        return Err(refused(
            "the memory is of this process only; create it with the option shareable, CUSHIM_SHAREABLE_POSIX_FD".to_owned(),
        ));
    }
    let mut descriptor = Descriptor::new(DescriptorKind::Allocation);
    if plan.location.is_device() {
        descriptor.device = plan.device.uuid()?;
    }
    (descriptor.bytes, descriptor.offset) = (chunk.bytes as u64, offset as u64);
    descriptor.native = place.write(plan.location);
    let file = chunk.raw().share().map_err(|error| explain_files(plan.failed(error)))?;
    Ok((ExportedFile::new(file), descriptor.write()))
}

impl Place {
    fn write(self, location: Location) -> [u8; NATIVE] {
        let mut bytes = [0; NATIVE];
        let id = if location.is_device() { 0 } else { location.id() };
        let numbers = [location.kind().0 as u32, id as u32, self.index, self.count];
        for (at, number) in numbers.into_iter().enumerate() {
            bytes[at * 4..at * 4 + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes[16..32].copy_from_slice(&self.buffer);
        bytes
    }

    fn read(bytes: &[u8; NATIVE]) -> (Location, Self) {
        let number =
            |at: usize| u32::from_le_bytes(bytes[at * 4..at * 4 + 4].try_into().expect("four bytes"));
        let location = Location::new(sys::CUmemLocationType(number(0) as i32), number(1) as i32);
        let buffer = bytes[16..32].try_into().expect("16 bytes");
        (location, Self { buffer, index: number(2), count: number(3) })
    }
}

impl Offered {
    /// Reads the bytes, and looks at the file descriptor.
    pub(super) fn read(bytes: &[u8], file: i32) -> Result<Self, Error> {
        let descriptor = Descriptor::read(bytes, DescriptorKind::Allocation)?;
        check_file(file)?;
        let (location, place) = Place::read(&descriptor.native);
        Ok(Self { descriptor, file, location, place })
    }

    /// Where the memory is: on this device, if it is the one that the bytes mean, or on a node of the host.
    pub(super) fn location(&self, device: &Device) -> Result<Location, Error> {
        match self.location.kind() {
            sys::CU_MEM_LOCATION_TYPE_DEVICE if self.descriptor.device == device.uuid()? => {
                Ok(Location::device(device.ordinal()))
            }
            sys::CU_MEM_LOCATION_TYPE_DEVICE => {
                let uuid: String = self.descriptor.device.iter().map(|byte| format!("{byte:02x}")).collect();
                Err(refused(format!(
                    "the memory is of the device with UUID {uuid}, and {device} is another one; import it for its own device"
                ))
                .about(device))
            }
            _ => Ok(self.location),
        }
    }

    /// Imports the memory for the place that the plan names.
    pub(super) fn import(&self, plan: &Arc<Plan>) -> Result<Arc<Chunk>, Error> {
        let location = self.location(&plan.device)?;
        if location != plan.location {
            return Err(refused(format!(
                "the memory is on {location}, and it is imported for {}; name the place where it is",
                plan.location
            )));
        }
        let (bytes, least) = (self.bytes(), plan.least()?);
        plan.rounded(bytes)?; // refuses none, and more than there can be
        if !bytes.is_multiple_of(least) {
            return Err(refused(format!(
                "the descriptor claims {bytes} bytes, which is no multiple of {least}; it was not exported so"
            )));
        }
        Chunk::import(plan, bytes, self.file)
    }

    /// As many as it claims to have.
    fn bytes(&self) -> usize {
        usize::try_from(self.descriptor.bytes).unwrap_or(usize::MAX)
    }
}

/// Reads what makes one buffer: all parts of one, in their order, or allocations that were exported by themselves.
pub(super) fn read_parts(parts: &[(i32, &[u8])]) -> Result<Vec<Offered>, Error> {
    let read = |(index, (file, bytes)): (usize, &(i32, &[u8]))| {
        Offered::read(bytes, *file).map_err(|failure| failure.of_item("part", index))
    };
    let offered: Vec<Offered> = parts.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let Some(first) = offered.first() else {
        return Err(refused("a buffer has at least one part; pass all parts that were exported".to_owned()));
    };
    let is_alone = |one: &Offered| one.place == ALONE;
    if !offered.iter().all(is_alone) {
        check_whole(&offered, first)?;
    }
    Ok(offered)
}

/// Refuses parts of several buffers, and less than all of one, or in another order.
fn check_whole(parts: &[Offered], first: &Offered) -> Result<(), Error> {
    let mut offset = 0;
    for (index, part) in parts.iter().enumerate() {
        let refusal = if part.place.buffer != first.place.buffer {
            "it is of another buffer than the first; pass the parts of one buffer".to_owned()
        } else if part.place.index as usize != index || part.descriptor.offset != offset {
            format!(
                "it is the buffer's part {}; pass all parts in the order in which they were exported",
                part.place.index
            )
        } else {
            offset = offset.saturating_add(part.descriptor.bytes);
            continue;
        };
        return Err(refused(refusal).of_item("part", index));
    }
    let count = first.place.count as usize;
    if count != parts.len() {
        let refusal = format!(
            "the buffer was exported in {count} parts, and {} are passed; pass all of them",
            parts.len()
        );
        return Err(refused(refusal));
    }
    Ok(())
}
