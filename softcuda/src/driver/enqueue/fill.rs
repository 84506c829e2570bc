//! Fills of ranges and rectangles.

use super::transfer::{self, Manner};
use crate::abi::Answer;
use crate::abi::sys::{CUdeviceptr_v2, CUstream};
use crate::driver::operation::fill::{Fill, Parameters};
use crate::driver::stream::Stream;
use std::sync::Arc;

/// A value, and its bytes.
type Value = (u32, usize);

/// Values in a row, and rows.
type Size = (usize, usize);

/// Fills in a stream. It is needed even for nothing, the pointer is not.
fn fill(
    stream: &Arc<Stream>,
    address: CUdeviceptr_v2,
    pitch: usize,
    (value, unit): Value,
    (width, height): Size,
    manner: Manner,
) -> Answer {
    let parameters = Parameters { address: address as usize, pitch, value, unit, width, height };
    if parameters.is_empty() {
        return Ok(());
    }
    let is_capturing = stream.is_capturing();
    let make = if is_capturing { Fill::captured } else { Fill::new };
    transfer::submit(stream, make(parameters, &stream.context)?, manner)?;
    if is_capturing { Ok(()) } else { stream.wait_if_launches_block() }
}

/// Fills in the stream of calls that name none.
fn now(address: CUdeviceptr_v2, pitch: usize, value: Value, size: Size) -> Answer {
    fill(&Stream::unnamed()?, address, pitch, value, size, Manner::Synchronous)
}

fn later(address: CUdeviceptr_v2, pitch: usize, value: Value, size: Size, stream: CUstream) -> Answer {
    fill(&Stream::for_work(stream)?, address, pitch, value, size, Manner::Asynchronous)
}

pub(crate) fn cuMemsetD8_v2(dstDevice: CUdeviceptr_v2, uc: u8, N: usize) -> Answer {
    now(dstDevice, 0, (uc.into(), 1), (N, 1))
}

pub(crate) fn cuMemsetD16_v2(dstDevice: CUdeviceptr_v2, us: u16, N: usize) -> Answer {
    now(dstDevice, 0, (us.into(), 2), (N, 1))
}

pub(crate) fn cuMemsetD32_v2(dstDevice: CUdeviceptr_v2, ui: u32, N: usize) -> Answer {
    now(dstDevice, 0, (ui, 4), (N, 1))
}

pub(crate) fn cuMemsetD2D8_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
) -> Answer {
    now(dstDevice, dstPitch, (uc.into(), 1), (Width, Height))
}

pub(crate) fn cuMemsetD2D16_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
) -> Answer {
    now(dstDevice, dstPitch, (us.into(), 2), (Width, Height))
}

pub(crate) fn cuMemsetD2D32_v2(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
) -> Answer {
    now(dstDevice, dstPitch, (ui, 4), (Width, Height))
}

pub(crate) fn cuMemsetD8Async(dstDevice: CUdeviceptr_v2, uc: u8, N: usize, hStream: CUstream) -> Answer {
    later(dstDevice, 0, (uc.into(), 1), (N, 1), hStream)
}

pub(crate) fn cuMemsetD16Async(dstDevice: CUdeviceptr_v2, us: u16, N: usize, hStream: CUstream) -> Answer {
    later(dstDevice, 0, (us.into(), 2), (N, 1), hStream)
}

pub(crate) fn cuMemsetD32Async(dstDevice: CUdeviceptr_v2, ui: u32, N: usize, hStream: CUstream) -> Answer {
    later(dstDevice, 0, (ui, 4), (N, 1), hStream)
}

pub(crate) fn cuMemsetD2D8Async(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> Answer {
    later(dstDevice, dstPitch, (uc.into(), 1), (Width, Height), hStream)
}

pub(crate) fn cuMemsetD2D16Async(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> Answer {
    later(dstDevice, dstPitch, (us.into(), 2), (Width, Height), hStream)
}

pub(crate) fn cuMemsetD2D32Async(
    dstDevice: CUdeviceptr_v2,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> Answer {
    later(dstDevice, dstPitch, (ui, 4), (Width, Height), hStream)
}
