//! Ranges of memory, and whether they are managed.

use crate::context::Context;
use crate::device::Device;
use crate::driver::calls::memory::pointer as calls;
use crate::driver::{Driver, sys};
use crate::feature::Feature;
use crate::memory::Buffer;
use crate::object::error::{Error, Status};
use crate::object::handle::{Shared as _, Weakly};
use crate::op::check_operand;
use crate::pointer::DevicePointer;
use std::fmt;

/// A range of managed memory: all of an allocation or a part of one, from whatever allocator (`cuMemAllocManaged`,
/// `cudaMallocManaged`, a `__managed__` variable, a managed pool). Where the device has the feature
/// `pageable-memory-access`, ordinary memory of the process, too, for all but discards. A whole [`Buffer`] is a range by
/// `Range::from(&buffer)`.
///
/// The driver works in pages; what is a page is its own business. Nothing here reads or writes through the address.
#[derive(Clone)]
pub struct Range {
    pointer: DevicePointer,
    bytes: usize,
    /// What is known of it besides the address.
    buffer: Option<OfBuffer>,
}

/// What a buffer says of its memory.
#[derive(Clone)]
struct OfBuffer {
    buffer: Weakly<Buffer>,
    /// Whether its resource says that it is managed: drivers need not say so of memory of a pool.
    managed: bool,
}

impl Range {
    /// So many bytes from the pointer on.
    #[must_use]
    pub const fn new(pointer: DevicePointer, bytes: usize) -> Self {
        Self { pointer, bytes, buffer: None }
    }

    /// So many bytes of a buffer, from an offset on. The range does not hold the buffer.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the buffer has not so many.
    pub fn of_part(buffer: &Buffer, offset: usize, bytes: usize) -> Result<Self, Error> {
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= buffer.bytes());
        let start = buffer.pointer().offset(offset as u64);
        let (Some(pointer), true) = (start, fits) else {
            let refusal = format!("{bytes} bytes from byte {offset} on are not all within {buffer}");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(buffer));
        };
        Ok(Self::within(buffer, pointer, bytes))
    }

    /// The bytes of a buffer from an offset on, to its end.
    ///
    /// # Errors
    /// As for [`of_part`](Self::of_part).
    pub fn of_rest(buffer: &Buffer, offset: usize) -> Result<Self, Error> {
        Self::of_part(buffer, offset, buffer.bytes().saturating_sub(offset))
    }

    fn within(buffer: &Buffer, pointer: DevicePointer, bytes: usize) -> Self {
        let managed = buffer.resource().is_some_and(|resource| resource.properties().managed);
        Self { pointer, bytes, buffer: Some(OfBuffer { buffer: buffer.downgrade(), managed }) }
    }

    /// Where it starts.
    #[must_use]
    pub const fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The range as the driver takes it.
    pub(super) const fn native(&self) -> (sys::CUdeviceptr, usize) {
        (self.pointer.0, self.bytes)
    }

    /// Refuses what no memory can be.
    pub(super) fn check_form(&self) -> Result<(), Error> {
        let Self { pointer, bytes, .. } = self;
        let refusal = match pointer.offset(*bytes as u64) {
            _ if pointer.is_null() => "the range starts at NULL".to_owned(),
            _ if *bytes == 0 => format!("the range at {pointer}{} has no bytes", self.within_what()),
            Some(_) => return Ok(()),
            None => format!("the range reaches past the end of all addresses: {bytes} bytes from {pointer}"),
        };
        Err(self.with_buffer(Error::new(Status::INVALID_ARGUMENT, refusal)))
    }

    /// The same failure with the buffer that the range is of, if it is one's.
    #[cold]
    fn with_buffer(&self, failure: Error) -> Error {
        match self.buffer.as_ref().and_then(|known| known.buffer.upgrade()) {
            Some(buffer) => failure.about(&buffer),
            None => failure,
        }
    }

    /// A failure of the driver's about the range, which it does not name.
    #[cold]
    pub(super) fn named(&self, mut failure: Error) -> Error {
        failure.message.push_str(&format!(". It was about {self}"));
        self.with_buffer(failure)
    }

    /// Refuses a range whose first or last byte is not managed memory, nor what the device treats as such.
    pub(super) fn check_managed(&self, operation: &Kind, at: &Context) -> Result<(), Error> {
        if let Some(known) = &self.buffer {
            let Some(buffer) = known.buffer.upgrade() else {
                let refusal = format!("{self} is of a buffer that was destroyed");
                return Err(Error::new(Status::INVALID_HANDLE, refusal));
            };
            check_operand(buffer.as_operand(), at)?;
            if known.managed {
                return Ok(());
            }
        }
        let device = at.device();
        let (driver, last) = (device.driver(), self.pointer.0 + (self.bytes as u64 - 1));
        let first = Known::of(driver, self.pointer.0)?;
        if first.is_managed && last < first.end {
            return Ok(());
        }
        for (known, address) in [(first, self.pointer.0), (Known::of(driver, last)?, last)] {
            let is_good = known.is_managed || (known.is_of_system && operation.takes_pageable(device)?);
            if !is_good {
                return Err(self.not_managed(operation, address));
            }
        }
        Ok(())
    }

    /// ` in` the buffer, for a message.
    #[cold]
    fn within_what(&self) -> String {
        let buffer = self.buffer.as_ref().and_then(|known| known.buffer.upgrade());
        buffer.map(|buffer| format!(" in {buffer}")).unwrap_or_default()
    }

    #[cold]
    fn not_managed(&self, operation: &Kind, address: u64) -> Error {
        let which = if address == self.pointer.0 { "starts" } else { "ends" };
        let refusal = format!(
            "{operation} needs managed memory, and {self} {which} in memory that is not: allocate it with \
             cuMemAllocManaged or from a managed pool{}",
            if operation.pageable { ", or use a device with the feature pageable-memory-access" } else { "" }
        );
        self.with_buffer(Error::new(Status::INVALID_ARGUMENT, refusal))
    }
}

impl From<&Buffer> for Range {
    fn from(buffer: &Buffer) -> Self {
        Self::within(buffer, buffer.pointer(), buffer.bytes())
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Range({} bytes at {})", self.bytes, self.pointer)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the range of {} bytes at {}{}", self.bytes, self.pointer, self.within_what())
    }
}

/// What is done with a range.
pub(super) struct Kind {
    /// The word for it in messages.
    name: &'static str,
    /// Whether it can be done with memory of the process where the device reaches that.
    pageable: bool,
}

impl Kind {
    pub(super) const ADVICE: Self = Self { name: "advice", pageable: true };
    pub(super) const PREFETCH: Self = Self { name: "a prefetch", pageable: true };
    pub(super) const ATTACHMENT: Self = Self { name: "an attachment", pageable: false };
    pub(super) const DISCARD: Self = Self { name: "a discard", pageable: false };
    pub(super) const QUERY: Self = Self { name: "a question about a range", pageable: true };

    fn takes_pageable(&self, device: &Device) -> Result<bool, Error> {
        Ok(self.pageable && device.supports(Feature::PageableMemoryAccess)?)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What the driver knows of an address, as far as it matters here.
struct Known {
    is_managed: bool,
    /// Whether the driver does not know the address at all.
    is_of_system: bool,
    /// The end of the allocation that it lies in; 0 if it lies in none.
    end: u64,
}

impl Known {
    #[inline]
    fn of(driver: &Driver, address: u64) -> Result<Self, Error> {
        let asked = [
            sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            sys::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            sys::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            sys::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let [memory_type, managed, start, bytes] =
            calls::attributes(driver.object_table(), address, asked, [0; 4])
                .map_err(|error| Error::of_call(driver, error))?;
        let end = start.saturating_add(bytes);
        Ok(Self { is_managed: managed != 0, is_of_system: memory_type == 0, end })
    }
}
