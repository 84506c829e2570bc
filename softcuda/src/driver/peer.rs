//! Access of one device to another's memory. All devices can reach each other; contexts have to ask for it.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
    CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUcontext, CUdevice,
    CUdevice_P2PAttribute,
};
use crate::driver::context::current::current;
use crate::driver::context::{self, Activation, Context};
use crate::driver::device::Device;
use crate::driver::signal::Listener;
use crate::instruments::settings::version;
use parking_lot::RwLock;
use std::collections::BTreeSet;
use std::sync::Arc;

/// From which context to which memory may be reached: the identity numbers of both.
static ENABLED: RwLock<BTreeSet<(u64, u64)>> = RwLock::new(BTreeSet::new());

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, forget);

/// Whether one context reaches plain memory of another.
pub(crate) fn reaches(from: &Activation, to: &Activation) -> bool {
    from.device() == to.device() || ENABLED.read().contains(&(from.id(), to.id()))
}

/// A context has ended, and with it all access from and to it.
fn forget(context: &Arc<Activation>) {
    ENABLED.write().retain(|(from, to)| *from != context.id() && *to != context.id());
}

pub(crate) fn cuDeviceCanAccessPeer(canAccessPeer: Out<i32>, dev: CUdevice, peerDev: CUdevice) -> Answer {
    canAccessPeer.check()?;
    canAccessPeer.set(i32::from(Device::of(dev)? != Device::of(peerDev)?))
}

pub(crate) fn cuDeviceGetP2PAttribute(
    value: Out<i32>,
    attrib: CUdevice_P2PAttribute,
    srcDevice: CUdevice,
    dstDevice: CUdevice,
) -> Answer {
    value.check()?;
    if Device::of(srcDevice)? == Device::of(dstDevice)? {
        return Err(CUDA_ERROR_INVALID_DEVICE);
    }
    value.set(match attrib {
        // All links are equally good, and there are no arrays.
        CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK | CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED => 0,
        CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED | CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => 1,
        CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED if version() >= 13000 => 0,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    })
}

pub(crate) fn cuCtxEnablePeerAccess(peerContext: CUcontext, Flags: u32) -> Answer {
    let context = current()?;
    let peer = Context::of(peerContext)?.activation()?;
    if Flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if peer.device() == context.device() {
        return Err(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    ENDS.begin();
    let is_new = ENABLED.write().insert((context.id(), peer.id()));
    if is_new { Ok(()) } else { Err(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) }
}

pub(crate) fn cuCtxDisablePeerAccess(peerContext: CUcontext) -> Answer {
    let context = current()?;
    let peer = Context::of(peerContext)?.activation()?;
    let was_there = ENABLED.write().remove(&(context.id(), peer.id()));
    if was_there { Ok(()) } else { Err(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) }
}
