//! The primary context of each device, which the users of a process share.

use super::config::{MAP_HOST, REFLECTED, SYNC_MEMOPS, check_flags};
use super::sticky::device_health;
use super::{Activation, Context};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, CUcontext, CUdevice, CUresult};
use crate::driver::device::{self, Device};
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

/// One device's. A reset ends the context's life but not its users' claims.
#[derive(Default)]
struct Primary {
    /// Made at the first retain and kept: the handle is always the same.
    context: Option<Arc<Context>>,
    retained: u32,
    flags: u32,
}

impl Primary {
    /// The flags as the context itself reports them.
    fn context_flags(&self) -> u32 {
        self.flags & REFLECTED | MAP_HOST
    }

    fn end(&mut self) {
        if let Some(context) = &self.context {
            context.end();
        }
        self.flags = 0;
    }
}

static PRIMARIES: LazyLock<Vec<Mutex<Primary>>> =
    LazyLock::new(|| (0..device::count()).map(|_| Mutex::default()).collect());

fn of(device: Device) -> &'static Mutex<Primary> {
    &PRIMARIES[device.ordinal()]
}

/// The life of a device's primary context, if it has one.
pub(crate) fn active(device: Device) -> Result<Arc<Activation>, CUresult> {
    of(device).lock().context.as_ref().and_then(|context| context.life()).ok_or(CUDA_ERROR_INVALID_CONTEXT)
}

pub(crate) fn cuDevicePrimaryCtxRetain(pctx: Out<CUcontext>, dev: CUdevice) -> Answer {
    pctx.check()?;
    let device = Device::of(dev)?;
    device_health(device)?;
    let mut primary = of(device).lock();
    let context = Arc::clone(primary.context.get_or_insert_with(|| Context::new(device, true)));
    if !context.is_alive() {
        context.activate(primary.context_flags())?;
    }
    primary.retained += 1;
    pctx.set(context.handle())
}

pub(crate) fn cuDevicePrimaryCtxRelease(dev: CUdevice) -> Answer {
    cuDevicePrimaryCtxRelease_v2(dev)
}

pub(crate) fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> Answer {
    let mut primary = of(Device::of(dev)?).lock();
    primary.retained = primary.retained.checked_sub(1).ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
    if primary.retained == 0 {
        primary.end();
    }
    Ok(())
}

pub(crate) fn cuDevicePrimaryCtxReset(dev: CUdevice) -> Answer {
    cuDevicePrimaryCtxReset_v2(dev)
}

pub(crate) fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> Answer {
    let device = Device::of(dev)?;
    // Before it waits for its own (measured).
    super::wait_for_others(device);
    of(device).lock().end();
    Ok(())
}

pub(crate) fn cuDevicePrimaryCtxSetFlags(dev: CUdevice, flags: u32) -> Answer {
    cuDevicePrimaryCtxSetFlags_v2(dev, flags)
}

/// Takes effect on an active context too.
pub(crate) fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: u32) -> Answer {
    let mut primary = of(Device::of(dev)?).lock();
    if flags & MAP_HOST != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    check_flags(flags)?;
    primary.flags = flags;
    if let Some(activation) = primary.context.as_ref().and_then(|context| context.life()) {
        activation.flags.store(primary.context_flags(), Ordering::Relaxed);
    }
    Ok(())
}

pub(crate) fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: Out<u32>, active: Out<i32>) -> Answer {
    flags.check()?;
    active.check()?;
    let primary = of(Device::of(dev)?).lock();
    let activation = primary.context.as_ref().and_then(|context| context.life());
    let own = activation.as_ref().map_or(0, |a| a.flags() & SYNC_MEMOPS);
    flags.set(primary.flags | own)?;
    active.set(i32::from(activation.is_some()))
}
