//! Access of one context to another's memory.
//!
//! @header cushim.h
//! @task reach another device's memory

use super::context::cushim_context;
use super::error::{call, cushim_status};
use super::handles::{hold_all, keep};

/// Lets work in a context access memory of another device's context by address, in kernels and memsets. Copies need
/// no access, but can be faster with it.
///
/// Access goes one way, includes memory that is allocated later, and ends when it is disabled, or when either context
/// is destroyed or reset. Memory pools have their own list: see `cushim_resource_add_peers`.
///
/// @param[in] context The context whose work accesses the memory.
/// @param[in] peer The context whose memory is accessed.
/// @errors `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED` for two contexts of one device, or if the devices cannot access each
///   other (`cushim_device_can_access_peer`); `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`, which a program may ignore.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_enable_peer_access(
    context: cushim_context,
    peer: cushim_context,
) -> cushim_status {
    call(|| {
        let (context, peer) = hold_all(|guard| Ok((keep(guard, context)?, keep(guard, peer)?)))?;
        context.enable_peer_access(&peer)
    })
}

/// Ends what `cushim_context_enable_peer_access` allowed. Synchronise first: enqueued work that still needs the
/// access fails, copies included, and the context is then unusable (`CUDA_ERROR_LAUNCH_FAILED` on driver branch 580).
///
/// @param[in] context The context whose work accesses the memory.
/// @param[in] peer The context whose memory is accessed.
/// @errors `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`, also after a reset of either context, and for two contexts of one
///   device.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_disable_peer_access(
    context: cushim_context,
    peer: cushim_context,
) -> cushim_status {
    call(|| {
        let (context, peer) = hold_all(|guard| Ok((keep(guard, context)?, keep(guard, peer)?)))?;
        context.disable_peer_access(&peer)
    })
}
