//! What other processes are given, and what comes from them: events, pools and memory.

use super::capture_mode::relaxed;
use super::context::RawContext;
use super::event::RawEvent;
use super::memory::pool::RawPool;
use crate::driver::sys::{
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUdeviceptr,
    CUipcEventHandle, CUipcMemHandle, CUmemPoolPtrExportData,
};
use crate::driver::{CallError, Table, call};
use parking_lot::Mutex;
use std::ptr::{null_mut, without_provenance_mut};

/// The driver's own bytes.
type Native = [u8; 64];

impl RawEvent {
    /// The bytes by which other processes open it.
    pub(crate) fn share(&self, context: &RawContext) -> Result<Native, CallError> {
        let mut handle = CUipcEventHandle { reserved: [0; 64] };
        let _current = context.enter()?;
        // SAFETY: writes one handle; the event is alive.
        unsafe { relaxed!(context.table(), cuIpcGetEventHandle_4010(&raw mut handle, self.handle())) }?;
        Ok(handle.reserved.map(|byte| byte as u8))
    }

    /// Opens another process's in a context.
    ///
    /// # Safety
    /// The bytes are what [`share`](Self::share) gave in another process: the driver believes them.
    pub(crate) unsafe fn open(context: &RawContext, native: &Native) -> Result<Self, CallError> {
        let handle = CUipcEventHandle { reserved: native.map(|byte| byte as _) };
        let mut event = null_mut();
        let _current = context.enter()?;
        // SAFETY: writes one event; the caller vouches for the bytes.
        unsafe { relaxed!(context.table(), cuIpcOpenEventHandle_4010(&raw mut event, handle)) }?;
        // SAFETY: new, and nobody else's.
        Ok(unsafe { Self::adopt(context.table(), event) })
    }
}

impl RawPool {
    /// A descriptor of a file by which other processes import it; who has it closes it.
    pub(crate) fn share(&self) -> Result<i32, CallError> {
        let mut file = -1i32;
        let (place, kind) = ((&raw mut file).cast(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        // SAFETY: writes one descriptor; the pool is alive.
        unsafe {
            relaxed!(self.table(), cuMemPoolExportToShareableHandle_11020(place, self.handle(), kind, 0))
        }?;
        Ok(file)
    }

    /// Imports another process's. The descriptor stays the caller's.
    pub(crate) fn import(table: &'static Table, file: i32) -> Result<Self, CallError> {
        let (mut pool, kind) = (null_mut(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        let handle = without_provenance_mut(file as usize);
        // SAFETY: writes one pool; the driver looks at the descriptor.
        unsafe { relaxed!(table, cuMemPoolImportFromShareableHandle_11020(&raw mut pool, handle, kind, 0)) }?;
        // SAFETY: a pool of this driver's.
        Ok(unsafe { Self::adopt(table, pool) })
    }

    /// The bytes by which other processes import memory of a pool that can be shared.
    pub(crate) fn share_pointer(table: &Table, pointer: CUdeviceptr) -> Result<Native, CallError> {
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        // SAFETY: writes one struct.
        unsafe { relaxed!(table, cuMemPoolExportPointer_11020(&raw mut data, pointer)) }?;
        Ok(data.reserved)
    }

    /// Imports memory of an imported pool.
    ///
    /// # Safety
    /// The bytes are what [`share_pointer`](Self::share_pointer) gave in the pool's process: the driver believes them.
    pub(crate) unsafe fn import_pointer(&self, native: &Native) -> Result<CUdeviceptr, CallError> {
        let (mut pointer, mut data) = (0, CUmemPoolPtrExportData { reserved: *native });
        // SAFETY: writes one pointer, and reads one struct; the caller vouches for the bytes.
        unsafe {
            relaxed!(
                self.table(),
                cuMemPoolImportPointer_11020(&raw mut pointer, self.handle(), &raw mut data)
            )
        }?;
        Ok(pointer)
    }
}

/// The bytes by which other processes open memory that is no pool's.
pub(crate) fn share_memory(context: &RawContext, pointer: CUdeviceptr) -> Result<Native, CallError> {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    let _current = context.enter()?;
    // SAFETY: writes one handle.
    unsafe { relaxed!(context.table(), cuIpcGetMemHandle_4010(&raw mut handle, pointer)) }?;
    Ok(handle.reserved.map(|byte| byte as u8))
}

/// One thread at a time opens or closes memory: without that, driver 580 once told a thread that opened what others opened and closed that it was
/// mapped already (208, on a busy H200; in 2,400 calls of the driver alone it did not repeat).
static OPENING: Mutex<()> = Mutex::new(());

/// Opens another process's memory in a context.
///
/// # Safety
/// The bytes are what [`share_memory`] gave in another process: the driver believes them.
pub(crate) unsafe fn open_memory(context: &RawContext, native: &Native) -> Result<CUdeviceptr, CallError> {
    let handle = CUipcMemHandle { reserved: native.map(|byte| byte as _) };
    let _alone = OPENING.lock();
    let (mut pointer, flags) = (0, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0 as u32);
    let _current = context.enter()?;
    // SAFETY: writes one pointer; the caller vouches for the bytes.
    unsafe { relaxed!(context.table(), cuIpcOpenMemHandle_11000(&raw mut pointer, handle, flags)) }?;
    Ok(pointer)
}

/// Closes what was opened, once; the driver waits for the context's work.
///
/// # Safety
/// It was opened in the context, and nobody uses it any more.
pub(crate) unsafe fn close_memory(context: &RawContext, pointer: CUdeviceptr) -> Result<(), CallError> {
    let _alone = OPENING.lock();
    let _current = context.enter()?;
    // SAFETY: as the caller vouches.
    super::gone_at_exit(unsafe { call!(context.table(), cuIpcCloseMemHandle_4010(pointer)) })
}
