//! Fills: one value of 1, 2 or 4 bytes, repeated over a range or a rectangle.

use super::span::Span;
use crate::context::current::current;
use crate::error::Answer;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2};

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

impl<T: Copy> Fill<T> {
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

/// Fills at once. A context is needed even for nothing, the pointer is not.
fn fill<T: Copy>(address: CUdeviceptr_v2, pitch: usize, value: T, width: usize, height: usize) -> Answer {
    current()?;
    if width == 0 || height == 0 {
        return Ok(());
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
    Fill { span: Span::on_device(address as usize, size)?, value, width, height, pitch }.run();
    Ok(())
}

pub(crate) fn cuMemsetD8_v2(dstDevice: CUdeviceptr_v2, uc: u8, N: usize) -> Answer {
    fill(dstDevice, 0, uc, N, 1)
}

pub(crate) fn cuMemsetD16_v2(dstDevice: CUdeviceptr_v2, us: u16, N: usize) -> Answer {
    fill(dstDevice, 0, us, N, 1)
}

pub(crate) fn cuMemsetD32_v2(dstDevice: CUdeviceptr_v2, ui: u32, N: usize) -> Answer {
    fill(dstDevice, 0, ui, N, 1)
}

pub(crate) fn cuMemsetD2D8_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
) -> Answer {
    fill(dstDevice, dstPitch, uc, Width, Height)
}

pub(crate) fn cuMemsetD2D16_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
) -> Answer {
    fill(dstDevice, dstPitch, us, Width, Height)
}

pub(crate) fn cuMemsetD2D32_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
) -> Answer {
    fill(dstDevice, dstPitch, ui, Width, Height)
}
