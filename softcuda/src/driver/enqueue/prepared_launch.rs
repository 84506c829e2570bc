//! The oldest way of launching: block, shared memory and arguments were set of the function before.

use super::launch::{Configuration, Given, launch};
use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_INVALID_HANDLE, CUfunction, CUstream};
use crate::driver::capture;
use crate::driver::kernel::preparing;
use crate::driver::stream::Stream;
use std::ptr::null_mut;

/// Launches a grid of what was set; the grid has two dimensions. No capture records that (measured).
fn launch_grid(f: CUfunction, width: i32, height: i32, stream: CUstream) -> Answer {
    if f.is_null() {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    Stream::for_uncaptured(stream)?;
    capture::check_unsafe()?;
    let found = preparing::find(f)?;
    let prepared = found.with_prepared(|prepared| prepared.clone());
    // A negative size is larger than any limit.
    let grid = [width as u32, height as u32, 1];
    let configuration = Configuration::plain(grid, prepared.block, prepared.shared, false);
    launch(f, stream, configuration, Given::Packed(prepared.arguments(found.kernel().parameter_bytes)))
}

pub(crate) fn cuLaunch(f: CUfunction) -> Answer {
    launch_grid(f, 1, 1, null_mut())
}

pub(crate) fn cuLaunchGrid(f: CUfunction, grid_width: i32, grid_height: i32) -> Answer {
    launch_grid(f, grid_width, grid_height, null_mut())
}

pub(crate) fn cuLaunchGridAsync(
    f: CUfunction,
    grid_width: i32,
    grid_height: i32,
    hStream: CUstream,
) -> Answer {
    launch_grid(f, grid_width, grid_height, hStream)
}
