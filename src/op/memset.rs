//! Memsets: one value, repeated over a range or a rectangle of memory.

use super::{Captured, Endpoint, Operation, Side, Synchronous, Traits, check_range, invalid, refusal};
use crate::check::{Access, Deeds, Use};
use crate::context::Context;
use crate::driver::calls::memory::fill::{self as calls, RawValue, Rows};
use crate::object::callback::Owner;
use crate::object::error::Error;
use crate::stream::Stream;

/// What memory is set to. Where it is written, and from row to row, it keeps its own alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A value of one byte.
    U8(u8),
    /// A value of two bytes.
    U16(u16),
    /// A value of four bytes.
    U32(u32),
}

impl Value {
    /// Bytes of the value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::U32(_) => 4,
        }
    }

    /// The value in the low bits.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::U8(value) => value as u32,
            Self::U16(value) => value as u32,
            Self::U32(value) => value,
        }
    }

    const fn raw(self) -> RawValue {
        match self {
            Self::U8(value) => RawValue::U8(value),
            Self::U16(value) => RawValue::U16(value),
            Self::U32(value) => RawValue::U32(value),
        }
    }
}

/// Sets memory to a value, repeated. A memset of zero values succeeds without checking the pointer.
///
/// Another device's memory needs access, of the context ([`Context::enable_peer_access`]) or to the pool
/// ([`Resource::add_peers`](crate::memory::Resource::add_peers)).
#[derive(Debug)]
pub struct Memset<'a> {
    pub(super) at: Endpoint<'a>,
    pub(super) value: Value,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A memset in the driver's terms.
#[derive(Debug)]
pub struct Checked(Rows);

impl<'a> Memset<'a> {
    /// Of so many values.
    #[inline]
    #[must_use]
    pub fn new(at: Endpoint<'a>, value: Value, count: usize) -> Self {
        Self { at, value, pitch: 0, width: count, height: 1 }
    }

    /// Of a rectangle: rows of `width` values, `pitch` bytes apart. Of one row, the pitch does not matter.
    #[inline]
    #[must_use]
    pub fn rectangle(at: Endpoint<'a>, pitch: usize, value: Value, width: usize, height: usize) -> Self {
        Self { at, value, pitch, width, height }
    }

    #[cfg(feature = "capi")]
    pub(crate) fn endpoint_mut(&mut self) -> &mut Endpoint<'a> {
        &mut self.at
    }

    /// Bytes from the first that is written to the last.
    #[inline]
    fn bytes(&self) -> Result<usize, Error> {
        let row = self.width.checked_mul(self.value.bytes()).ok_or_else(|| self.too_large())?;
        if self.height <= 1 { Ok(row) } else { self.bytes_of_rows(row) }
    }

    #[inline(never)]
    fn bytes_of_rows(&self, row: usize) -> Result<usize, Error> {
        let Self { value, pitch, height, .. } = *self;
        if pitch < row {
            return Err(invalid(format!("the rows are {pitch} bytes apart, too few for the {row} of each")));
        }
        if !pitch.is_multiple_of(value.bytes()) {
            let unit = value.bytes();
            return Err(invalid(format!("the pitch {pitch} is not a multiple of the value's {unit} bytes")));
        }
        let before = pitch.checked_mul(height - 1);
        before.and_then(|before| before.checked_add(row)).ok_or_else(|| self.too_large())
    }

    #[cold]
    fn too_large(&self) -> Error {
        let Self { width, height, .. } = self;
        invalid(match height {
            0 | 1 => format!("{width} values are larger than any memory"),
            _ => format!("{height} rows of {width} values are larger than any memory"),
        })
    }

    #[inline(always)]
    pub(super) fn check_rows(&self, at: &Context) -> Result<u64, Error> {
        let (unit, bytes) = (self.value.bytes(), self.bytes()?);
        let address = match self.at.side() {
            Side::Host(address) | Side::Device(address) | Side::Auto(address) => address,
            Side::Array(_) => {
                return Err(invalid("an array cannot be set to a value; copy to it".to_owned()));
            }
        };
        // Whose the memory is, and where it ends; of what sort it is a memset is not told.
        self.at.check_objects(at)?;
        if !address.is_multiple_of(unit as u64) {
            return Err(invalid(format!(
                "the address {address:#x} is not a multiple of the value's {unit} bytes"
            )));
        }
        check_range("memory to set", address, bytes as u64)?;
        self.at.check_end("memory to set", bytes as u64)?;
        Ok(address)
    }

    #[cold]
    pub(super) fn refused(&self, failure: Error, at: &Context) -> Error {
        let bytes = if self.width == 0 || self.height == 0 { 0 } else { self.bytes().unwrap_or(0) };
        let held = self.at.held().map(|held| held.operand().to_string());
        self.at.explain_memset(refusal::of_memset(failure, at, self.at.side(), bytes, held.as_deref()))
    }
}

impl Operation for Memset<'_> {
    type Output = ();
    type Checked<'a>
        = Checked
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { has_owners: self.at.has_owner(), ..Traits::default() }
    }

    #[inline(always)]
    fn check<'a>(&'a self, at: &'a Context) -> Result<Checked, Error> {
        let Self { pitch, width, height, .. } = *self;
        let address = if width == 0 || height == 0 { 0 } else { self.check_rows(at)? };
        Ok(Checked(Rows { at: address, pitch, width, height }))
    }

    #[inline(always)]
    unsafe fn enqueue(&self, Checked(rows): Checked, stream: &Stream) -> Result<(), Error> {
        let context = stream.context();
        // SAFETY: the caller vouches for the memory; the stream is alive.
        unsafe { calls::rows(stream.raw().table(), self.value.raw(), &rows, stream.raw()) }
            .map_err(|error| self.refused(context.failed(error, stream), context))
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let bytes = if self.width == 0 || self.height == 0 { 0 } else { self.bytes().unwrap_or(0) };
        let mut deeds = Deeds::new(format!("memset of {bytes} bytes"));
        self.at.touch(bytes as u64, Access::Writes, Use::Memset, &mut deeds);
        deeds
    }

    fn take_owners(&mut self) -> Vec<Owner> {
        self.at.take_owner().into_iter().collect()
    }

    fn captured(&mut self) -> Captured<'_> {
        if self.width == 0 || self.height == 0 { Captured::Nothing } else { Captured::Node(self) }
    }
}

impl Synchronous for Memset<'_> {
    unsafe fn run(&self, Checked(rows): Checked, context: &Context) -> Result<(), Error> {
        // SAFETY: the caller vouches for the memory; the context is current.
        unsafe { calls::rows_now(context.table(), self.value.raw(), &rows) }
            .map_err(|error| self.refused(context.failed(error, context), context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::driver::{Choice, OpenOptions};
    use crate::object::error::Status;
    use crate::pointer::DevicePointer;

    fn context() -> Context {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        Device::get(&driver, 0).and_then(|device| device.primary_context()).expect("none has a device")
    }

    fn memset(at: u64, pitch: usize, value: Value, width: usize, height: usize) -> Memset<'static> {
        Memset::rectangle(Endpoint::device(DevicePointer(at)), pitch, value, width, height)
    }

    #[test]
    fn what_cannot_be_set_is_refused() {
        let context = context();
        for (memset, why) in [
            (memset(0, 0, Value::U8(1), 1, 1), "the memory to set is NULL"),
            (memset(0x1001, 0, Value::U16(1), 1, 1), "0x1001 is not a multiple of the value's 2 bytes"),
            (memset(0x1002, 0, Value::U32(1), 1, 1), "0x1002 is not a multiple of the value's 4 bytes"),
            (memset(0x1000, 15, Value::U32(1), 4, 2), "15 bytes apart, too few for the 16"),
            (memset(0x1000, 18, Value::U32(1), 4, 2), "pitch 18 is not a multiple"),
            (
                memset(0x1000, 16, Value::U32(1), usize::MAX / 2, 1),
                "9223372036854775807 values are larger than any",
            ),
            (
                memset(0x1000, usize::MAX - 3, Value::U32(1), 1, 3),
                "3 rows of 1 values are larger than any memory",
            ),
            (memset(u64::MAX - 15, 0, Value::U32(1), 5, 1), "end of all addresses"),
            (Memset::new(Endpoint::array(std::ptr::null_mut()), Value::U8(0), 1), "array cannot be set"),
        ] {
            let error = memset.check(&context).expect_err(why);
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains(why), "{error}");
        }
    }

    #[test]
    fn what_does_not_matter_is_not_looked_at() {
        let context = context();
        for (at, pitch, width, height) in [(0, 0, 0, 1), (3, 1, 5, 0), (0x1000, 7, 4, 1), (0x1000, 16, 4, 2)]
        {
            assert!(
                memset(at, pitch, Value::U32(0), width, height).check(&context).is_ok(),
                "{at:#x} {pitch}"
            );
        }
    }
}
