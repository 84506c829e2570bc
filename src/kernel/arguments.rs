//! What a launch gives to a kernel, held against what the kernel takes.

use super::Kernel;
use crate::callback::Owner;
use crate::driver::calls::kernel::function::Parameter;
use crate::driver::calls::kernel::launch::Plain;
use crate::error::{Error, Status};
use crate::memory::DevicePointer;
use smallvec::SmallVec;
use std::ffi::c_void;

/// One argument of a kernel.
#[derive(Debug)]
#[non_exhaustive]
pub enum Argument<'a> {
    /// The bytes of a value, as the kernel's parameter has them.
    Bytes(&'a [u8]),
    /// A device pointer.
    Pointer(DevicePointer),
    /// A device pointer, and what keeps the memory alive: released when the kernel is done.
    Owned(DevicePointer, Owner),
}

macro_rules! from_numbers {
    ($($number:ty),*) => {$(
        impl<'a> From<&'a $number> for Argument<'a> {
            fn from(number: &'a $number) -> Self {
                Self::Bytes(number.bytes())
            }
        }
    )*};
}

from_numbers!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl From<DevicePointer> for Argument<'_> {
    fn from(pointer: DevicePointer) -> Self {
        Self::Pointer(pointer)
    }
}

/// How many arguments a launch takes without allocating.
const FEW: usize = 256;

/// The arguments of one launch on their way to the driver.
pub(crate) struct Arguments {
    addresses: SmallVec<[*mut c_void; FEW]>,
    /// Pointers that stand nowhere else, and which arguments they are.
    pointers: SmallVec<[(usize, u64); 32]>,
}

impl Arguments {
    /// In line, so that it is made where it is used: to move it costs more than a launch does.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { addresses: SmallVec::new(), pointers: SmallVec::new() }
    }

    /// Adds all at once: the address and the size of each value. False, and nothing is added, if they are not what the
    /// kernel takes; adding them one by one says which is not.
    #[inline]
    pub(crate) fn push_all(
        &mut self,
        kernel: &Kernel,
        values: impl ExactSizeIterator<Item = (*const c_void, usize)> + Clone,
    ) -> bool {
        if let Some(layout) = kernel.layout() {
            let mut sizes = layout.iter().zip(values.clone());
            if layout.len() != values.len() || sizes.any(|(parameter, (_, size))| parameter.size != size) {
                return false;
            }
        }
        self.addresses.extend(values.map(|(address, _)| address.cast_mut()));
        true
    }

    /// Adds one whose bytes stand at an address, until the launch.
    #[inline]
    pub(crate) fn push_at(
        &mut self,
        kernel: &Kernel,
        address: *const c_void,
        size: usize,
    ) -> Result<(), Error> {
        let index = self.addresses.len();
        if let Some(layout) = kernel.layout() {
            match layout.get(index) {
                Some(parameter) if parameter.size == size => {}
                parameter => return Err(misfit(kernel, index, size, parameter)),
            }
        }
        self.addresses.push(address.cast_mut());
        Ok(())
    }

    /// Adds a pointer.
    #[inline]
    pub(crate) fn push_pointer(&mut self, kernel: &Kernel, pointer: DevicePointer) -> Result<(), Error> {
        self.push_at(kernel, std::ptr::null(), size_of::<u64>())?;
        self.pointers.push((self.addresses.len() - 1, pointer.0));
        Ok(())
    }

    /// The address of each, when all are there.
    #[inline]
    pub(super) fn addresses(&mut self, kernel: &Kernel) -> Result<&[*mut c_void], Error> {
        if let Some(layout) = kernel.layout()
            && layout.len() != self.addresses.len()
        {
            return Err(miscount(kernel, layout.len(), self.addresses.len()));
        }
        for (index, pointer) in &self.pointers {
            self.addresses[*index] = std::ptr::from_ref(pointer).cast_mut().cast();
        }
        Ok(&self.addresses)
    }
}

/// What of a packed block goes to the driver, which takes no byte more than the kernel does (580: 701). A block that is
/// not as long as the kernel's parameters is refused.
#[inline]
pub(super) fn packed<'a>(kernel: &Kernel, block: &'a [u8]) -> Result<&'a [u8], Error> {
    let (Some(layout), bytes) = (kernel.layout(), block.len()) else { return Ok(block) };
    let needed = layout.last().map_or(0, |last| last.offset + last.size);
    // A struct in C ends on a multiple of its alignment, which is 16 at most here.
    if (needed..=needed.next_multiple_of(16)).contains(&bytes) {
        return Ok(&block[..needed]);
    }
    Err(Error::new(
        Status::INVALID_ARGUMENT,
        format!("the block of arguments has {bytes} bytes; {kernel} takes {needed}"),
    )
    .about(kernel))
}

#[cold]
fn misfit(kernel: &Kernel, index: usize, size: usize, parameter: Option<&Parameter>) -> Error {
    let refusal = match parameter {
        Some(parameter) => {
            format!("argument {index} of {kernel} takes {} bytes, and {size} are given", parameter.size)
        }
        None => format!(
            "{kernel} takes {}, and more are given",
            count(kernel.layout().map_or(0, <[Parameter]>::len))
        ),
    };
    let mut error = Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel);
    error.item = Some(index);
    error
}

#[cold]
fn miscount(kernel: &Kernel, takes: usize, given: usize) -> Error {
    let refusal = format!("{kernel} takes {}, and {given} are given", count(takes));
    Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel)
}

fn count(arguments: usize) -> String {
    match arguments {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        more => format!("{more} arguments"),
    }
}
