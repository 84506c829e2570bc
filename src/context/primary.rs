//! The primary context of a device.

use super::{Context, ContextKind};
use crate::device::Device;
use crate::driver::calls::context::{self as calls, RawContext};
use crate::driver::sys;
use crate::object::error::Error;
use crate::object::handle::Shared as _;
use crate::object::handle::Weakly;
use crate::object::owning::Ownership;
use crate::object::slot::Locked;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Device {
    /// The device's primary context, which this process's other users of CUDA (the runtime, other libraries) share. It is
    /// retained as long as the object lives; all callers get the same object.
    ///
    /// # Errors
    /// The driver's.
    pub fn primary_context(&self) -> Result<Context, Error> {
        let mut primary = self.primary_slot().lock();
        if let Some(context) = known(&primary).filter(|context| !context.is_gone()) {
            return Ok(context);
        }
        let context = Context::retain_primary(self)?;
        let before = primary.replace(Some(Arc::new(context.downgrade())));
        drop(primary);
        drop(before);
        Ok(context)
    }

    /// Whether any user in the process has retained the primary context, and its flags (`CU_CTX_*`).
    ///
    /// # Errors
    /// The driver's.
    pub fn primary_context_state(&self) -> Result<(bool, u32), Error> {
        calls::primary_state(self.driver().object_table(), self.native()).map_err(|error| self.failed(error))
    }

    /// Destroys everything in the primary context, for every user of this process. Objects of the context stay valid
    /// handles; their calls answer `CUDA_ERROR_CONTEXT_IS_DESTROYED`. Retaining it again gives a new, empty one. Memory of pools belongs to
    /// no context, and stays until its object is dropped.
    ///
    /// # Errors
    /// The driver's.
    pub fn reset_primary_context(&self) -> Result<(), Error> {
        let known = known(&self.primary_slot().lock());
        let native =
            known.as_ref().map(|context| context.native()).or_else(|| self.primary_context_of_others());
        calls::reset_primary(self.driver().object_table(), self.native())
            .map_err(|error| self.failed(error))?;
        if let Some(context) = known {
            context.was_reset();
        }
        if let Some(native) = native {
            Context::went(self.driver(), native);
        }
        Ok(())
    }

    /// The primary context that others hold, and that may have been wrapped here.
    fn primary_context_of_others(&self) -> Option<sys::CUcontext> {
        let table = self.driver().object_table();
        let (active, _) = calls::primary_state(table, self.native()).ok()?;
        let held = active.then(|| RawContext::retain_primary(table, self.native()))?.ok()?;
        let native = held.handle();
        held.release_primary(self.native()).ok()?;
        Some(native)
    }
}

/// The primary context that was retained here, while somebody holds it.
fn known(primary: &Locked<'_>) -> Option<Context> {
    primary.get::<Weakly<Context>>()?.upgrade()
}

impl Context {
    fn retain_primary(device: &Device) -> Result<Self, Error> {
        let raw = RawContext::retain_primary(device.driver().object_table(), device.native())
            .map_err(|error| device.failed(error))?;
        let (table, native) = (raw.table(), raw.handle());
        let context = Self::find_or_wrap(device, native, || {
            // SAFETY: the primary context, which is retained.
            let raw = unsafe { RawContext::adopt(table, native) };
            Ok(Self::borrowed(device, ContextKind::Primary, raw))
        })?;
        // Perhaps it was wrapped before it was retained here; from now on that object holds it.
        context.0.kind.store(ContextKind::Primary as u8, Relaxed);
        context.0.owning.set(Ownership::Owned);
        Ok(context)
    }
}
