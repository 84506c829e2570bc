//! What other devices have written into a context's memory.

use super::Context;
use crate::driver::calls::memory::direct;
use crate::driver::sys;
use crate::object::callback;
use crate::object::error::{Error, Status};

/// Who sees, after a flush, what other devices have written by GPUDirect RDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushScope {
    /// The context's device.
    #[default]
    Owner,
    /// All devices.
    AllDevices,
}

impl Context {
    /// Waits until everybody in the scope sees what other devices, as network adapters, have written so far by GPUDirect RDMA into memory
    /// of the context. Devices whose writes are ordered anyway (attribute 118, `GPU_DIRECT_RDMA_WRITES_ORDERING`) need no flush.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the host cannot have it done (attribute 117, `GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS`); the driver's.
    pub fn flush_direct_writes(&self, scope: FlushScope) -> Result<(), Error> {
        callback::check_allowed()?;
        let device = self.device();
        let offered = sys::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS;
        let options = device.attribute_or_zero(offered)?;
        if options & sys::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST.0 == 0 {
            let refusal = format!(
                "{device} offers the host no flush of direct writes (attribute 117, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS); have a stream \
                 wait for the adapter's last write with CUSHIM_MEMORY_FLUSH_REMOTE_WRITES, or copy through the host"
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(device));
        }
        let scope = match scope {
            FlushScope::Owner => sys::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER,
            FlushScope::AllDevices => sys::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
        };
        let here = self.live(self)?;
        direct::flush(here, scope).map_err(|error| self.failed(error, self))
    }
}
