//! Fills: one value of 1, 2 or 4 bytes, repeated over a range or a rectangle.

use super::span::{Access, Span};
use super::transfer::{self, Manner, Transfer};
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::stream::Stream;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2, CUresult, CUstream};
use std::sync::Arc;

/// A fill whose range has been checked.
struct Fill<T> {
    span: Span,
    value: T,
    /// Values in a row.
    width: usize,
    /// Rows, and bytes from one to the next.
    height: usize,
    pitch: usize,
}

/// A value that memory can be filled with.
trait Value: Copy + Send + Sync + 'static {}

impl Value for u8 {}
impl Value for u16 {}
impl Value for u32 {}

impl<T: Value> Work for Fill<T> {
    fn name(&self) -> &'static str {
        "a fill"
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    fn accesses(&self) -> Vec<Access<'_>> {
        vec![Access::write(&self.span)]
    }

    fn run(&self) {
        for row in 0..self.height {
            let start = self.span.bytes().wrapping_add(row * self.pitch).cast::<T>();
            for i in 0..self.width {
                // SAFETY: the range was checked up to the last byte of the last row, and so was its alignment.
                unsafe { start.add(i).write(self.value) };
            }
        }
    }
}

impl<T: Value> Transfer for Fill<T> {
    fn to(&self) -> &Span {
        &self.span
    }

    fn from(&self) -> Option<&Span> {
        None
    }

    fn stage(&mut self) {}
}

impl<T: Value> Fill<T> {
    /// `None` if it is empty.
    fn new(
        address: CUdeviceptr_v2,
        pitch: usize,
        value: T,
        width: usize,
        height: usize,
    ) -> Result<Option<Self>, CUresult> {
        if width == 0 || height == 0 {
            return Ok(None);
        }
        let unit = size_of::<T>();
        let row = width.checked_mul(unit).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        // The pitch of a single row does not matter.
        let pitch = if height == 1 { row } else { pitch };
        if !(address as usize).is_multiple_of(unit) || !pitch.is_multiple_of(unit) || pitch < row {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let size = pitch
            .checked_mul(height - 1)
            .and_then(|rows| rows.checked_add(row))
            .ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let span = Span::on_device(address as usize, size)?;
        Ok(Some(Self { span, value, width, height, pitch }))
    }
}

/// Fills in the stream of calls that name none. It is needed even for nothing, the pointer is not.
fn now<T: Value>(address: CUdeviceptr_v2, pitch: usize, value: T, width: usize, height: usize) -> Answer {
    let stream = Stream::unnamed()?;
    submit(&stream, Fill::new(address, pitch, value, width, height)?, Manner::Synchronous)
}

/// Fills in a stream.
fn later<T: Value>(
    address: CUdeviceptr_v2,
    pitch: usize,
    value: T,
    (width, height): (usize, usize),
    stream: CUstream,
) -> Answer {
    let stream = Stream::of(stream)?;
    submit(&stream, Fill::new(address, pitch, value, width, height)?, Manner::Asynchronous)
}

/// A copy finds a way to another device's memory; a fill needs access (measured).
fn submit<T: Value>(stream: &Arc<Stream>, fill: Option<Fill<T>>, manner: Manner) -> Answer {
    let Some(fill) = fill else { return Ok(()) };
    fill.span.check_access(&stream.context)?;
    transfer::submit(stream, fill, manner)
}

pub(crate) fn cuMemsetD8_v2(dstDevice: CUdeviceptr_v2, uc: u8, N: usize) -> Answer {
    now(dstDevice, 0, uc, N, 1)
}

pub(crate) fn cuMemsetD16_v2(dstDevice: CUdeviceptr_v2, us: u16, N: usize) -> Answer {
    now(dstDevice, 0, us, N, 1)
}

pub(crate) fn cuMemsetD32_v2(dstDevice: CUdeviceptr_v2, ui: u32, N: usize) -> Answer {
    now(dstDevice, 0, ui, N, 1)
}

pub(crate) fn cuMemsetD2D8_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
) -> Answer {
    now(dstDevice, dstPitch, uc, Width, Height)
}

pub(crate) fn cuMemsetD2D16_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
) -> Answer {
    now(dstDevice, dstPitch, us, Width, Height)
}

pub(crate) fn cuMemsetD2D32_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
) -> Answer {
    now(dstDevice, dstPitch, ui, Width, Height)
}

pub(crate) fn cuMemsetD8Async(dstDevice: CUdeviceptr_v2, uc: u8, N: usize, hStream: CUstream) -> Answer {
    later(dstDevice, 0, uc, (N, 1), hStream)
}

pub(crate) fn cuMemsetD16Async(dstDevice: CUdeviceptr_v2, us: u16, N: usize, hStream: CUstream) -> Answer {
    later(dstDevice, 0, us, (N, 1), hStream)
}

pub(crate) fn cuMemsetD32Async(dstDevice: CUdeviceptr_v2, ui: u32, N: usize, hStream: CUstream) -> Answer {
    later(dstDevice, 0, ui, (N, 1), hStream)
}

pub(crate) fn cuMemsetD2D8Async(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> Answer {
    later(dstDevice, dstPitch, uc, (Width, Height), hStream)
}

pub(crate) fn cuMemsetD2D16Async(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> Answer {
    later(dstDevice, dstPitch, us, (Width, Height), hStream)
}

pub(crate) fn cuMemsetD2D32Async(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> Answer {
    later(dstDevice, dstPitch, ui, (Width, Height), hStream)
}
