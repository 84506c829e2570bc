//! Memory that other devices on the bus reach, as network adapters do by GPUDirect RDMA.
//!
//! `cushim_device_get_attribute` says what a device offers: 116 (`GPU_DIRECT_RDMA_SUPPORTED`), 110 (for virtual
//! memory), 117 and 118 (flushes, and whether they are needed), 124 (`DMA_BUF_SUPPORTED`).
//!
//! @header cushim.h
//! @task let network adapters reach memory

use super::buffer::cushim_buffer;
use super::context::cushim_context;
use super::error::{call, cushim_status};
use super::handles::{self, hold};
use super::{options, out};
use crate::context::FlushScope;
use crate::object::error::{Error, Status};

/// Flags of `cushim_buffer_export_dma_buf`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_dma_buf_flags {
    /// The adapter reaches the memory over PCIe, also where there is another way (CUDA 12.8).
    CUSHIM_DMA_BUF_PCIE = 1,
}

/// Exports a part of a buffer of a device's memory as a dma-buf, which other drivers import, as `ibv_reg_dmabuf_mr`
/// does. The buffer must outlive the use of it.
///
/// @param[in] buffer The buffer: of a pool, of `cuMemAlloc` or of virtual memory.
/// @param[in] offset The first byte. Its address is a multiple of the host's page size, usually 4096.
/// @param[in, example(4096)] bytes The size in bytes, a multiple of the page size.
/// @param[in, flags(cushim_dma_buf_flags)] flags Flags.
/// @param[out] file Receives a new file descriptor; close it.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the device offers none (attribute 124) and for memory of the host;
///   `CUSHIM_ERROR_INVALID_ARGUMENT` for a part that is empty, not inside or not of whole pages, and for a buffer
///   that sleeps.
/// @driver any
///
/// # Safety
/// `file` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_export_dma_buf(
    buffer: cushim_buffer,
    offset: usize,
    bytes: usize,
    flags: u32,
    file: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `file`.
        let file = unsafe { out::cleared(file, 0, "file") }?;
        let buffer = hold(buffer)?;
        let pcie = cushim_dma_buf_flags::CUSHIM_DMA_BUF_PCIE as u32;
        options::check_flags(flags, pcie)?;
        *file = buffer.export_dma_buf(offset, bytes, flags & pcie != 0)?;
        Ok(())
    })
}

/// Sets whether synchronous copies and fills of a buffer's allocation always wait until they are done
/// (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`), so that other devices which read the memory directly see them. It
/// holds for the whole allocation, until it is set otherwise.
///
/// @param[in] buffer The buffer, of any memory but virtual memory. Managed memory has it from the start (branch 580).
/// @param[in] on 1 or 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an empty buffer, one that sleeps, and another value;
///   `CUDA_ERROR_NOT_SUPPORTED` for virtual memory.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_set_sync_memops(buffer: cushim_buffer, on: i32) -> cushim_status {
    call(|| {
        let buffer = hold(buffer)?;
        match on {
            0 | 1 => buffer.set_sync_memops(on == 1),
            _ => Err(Error::new(Status::INVALID_ARGUMENT, format!("on is {on}; pass 1 or 0"))),
        }
    })
}

/// Returns what `cushim_buffer_set_sync_memops` has set for a buffer's allocation, or others by the driver's
/// function.
///
/// @param[in] buffer The buffer.
/// @param[out] on 1 or 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an empty buffer.
/// @driver any
///
/// # Safety
/// `on` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_sync_memops(buffer: cushim_buffer, on: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `on`.
    unsafe { handles::tell(buffer, on, "on", |buffer| buffer.sync_memops().map(i32::from)) }
}

/// Who sees, after a flush, what other devices have written.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_flush_scope {
    /// The context's device.
    CUSHIM_FLUSH_TO_OWNER = 100,
    /// All devices.
    CUSHIM_FLUSH_TO_ALL_DEVICES = 200,
}

/// Waits until what other devices have written so far into memory of a context, by GPUDirect RDMA, is visible
/// (`cuFlushGPUDirectRDMAWrites`). A device whose attribute 118 (`GPU_DIRECT_RDMA_WRITES_ORDERING`) is at least the
/// scope needs none.
///
/// @param[in] context The context.
/// @param[in, enum(cushim_flush_scope), example(CUSHIM_FLUSH_TO_OWNER)] scope Who sees it.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if the device offers the host none (attribute 117);
///   `CUSHIM_ERROR_INVALID_ARGUMENT` for another scope.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_flush_direct_writes(context: cushim_context, scope: i32) -> cushim_status {
    call(|| {
        let context = hold(context)?;
        let scope = match scope {
            n if n == cushim_flush_scope::CUSHIM_FLUSH_TO_OWNER as i32 => FlushScope::Owner,
            n if n == cushim_flush_scope::CUSHIM_FLUSH_TO_ALL_DEVICES as i32 => FlushScope::AllDevices,
            n => {
                let refusal =
                    format!("scope is {n}; use one of CUSHIM_FLUSH_TO_OWNER and CUSHIM_FLUSH_TO_ALL_DEVICES");
                return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
            }
        };
        context.flush_direct_writes(scope)
    })
}
