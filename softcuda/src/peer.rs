//! Access of one device to another's memory. All devices can reach each other; contexts have to ask for it, and pools
//! have a list of their own. Copies of plain memory work without: a driver takes the way over the host then.

use crate::context::current::{current, top};
use crate::context::{Activation, Context};
use crate::device::Device;
use crate::error::Answer;
use crate::memory::table::{Allocation, Kind};
use crate::pointer::Out;
use crate::settings::version;
use crate::sys::{
    CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUcontext, CUdevice, CUdevice_P2PAttribute, CUmemAccess_flags,
};
use parking_lot::RwLock;
use std::collections::BTreeSet;

/// From which context to which memory may be reached: the identity numbers of both.
static ENABLED: RwLock<BTreeSet<(u64, u64)>> = RwLock::new(BTreeSet::new());

/// What the calling thread's current context may do with memory, without a copy; everything where there is none.
fn current_access(memory: &Allocation) -> CUmemAccess_flags {
    let context = top().and_then(|context| context.life());
    context.map_or(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, |context| access(&context, memory))
}

/// Whether the calling thread's current context finds memory where it is; everybody does where there is none.
pub(crate) fn is_in_reach(memory: &Allocation) -> bool {
    current_access(memory) != CU_MEM_ACCESS_FLAGS_PROT_NONE
}

/// What a context may do with memory, without a copy.
pub(crate) fn access(from: &Activation, memory: &Allocation) -> CUmemAccess_flags {
    match &memory.kind {
        Kind::Pooled(pooled) => pooled.pool().access_from(from.device()),
        Kind::Device(_) | Kind::Variable(_) if !reaches(from, &memory.owner) => CU_MEM_ACCESS_FLAGS_PROT_NONE,
        _ => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}

/// Whether a context reaches plain memory of another device, which it has asked for.
pub(crate) fn is_lent(from: &Activation, memory: &Allocation) -> bool {
    let plain = matches!(memory.kind, Kind::Device(_) | Kind::Variable(_));
    plain && from.device() != memory.owner.device() && reaches(from, &memory.owner)
}

fn reaches(from: &Activation, to: &Activation) -> bool {
    from.device() == to.device() || ENABLED.read().contains(&(from.id(), to.id()))
}

/// A context has ended, and with it all access from and to it.
pub(crate) fn forget(context: &Activation) {
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
        // All links are equally good.
        CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK => 0,
        CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
        | CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
        | CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED => 1,
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
    let is_new = ENABLED.write().insert((context.id(), peer.id()));
    if is_new { Ok(()) } else { Err(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) }
}

pub(crate) fn cuCtxDisablePeerAccess(peerContext: CUcontext) -> Answer {
    let context = current()?;
    let peer = Context::of(peerContext)?.activation()?;
    let was_there = ENABLED.write().remove(&(context.id(), peer.id()));
    if was_there { Ok(()) } else { Err(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) }
}
