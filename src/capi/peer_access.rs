//! Access of one context to another's memory.

use super::context::cushim_context;
use super::error::{call, cushim_status};
use super::handles::hold;

/// Lets work in a context use the memory of another device's context by its addresses: what kernels load and store, and fills.
/// Copies need no access; they may be faster with it.
///
/// It goes one way only, for the memory that there is and that will be, until it is disabled or one of the two contexts ends or
/// is reset. Memory of pools has a list of its own, see `cushim_resource_change_peers`.
///
/// @param context The context whose work is to reach the memory.
/// @param peer The context whose memory is to be reached.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a context of another driver; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED` for two contexts
/// of the same device, and of devices that do not reach each other (`cushim_device_can_access_peer`);
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`, which a program may ignore, and others of the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_enable_peer_access(
    context: cushim_context,
    peer: cushim_context,
) -> cushim_status {
    call(|| hold(context)?.enable_peer_access(&*hold(peer)?))
}

/// Takes back what `cushim_context_enable_peer_access` gave. Synchronise first: work that was enqueued under it and still waits
/// fails without, copies too, and the context is lost (`CUDA_ERROR_LAUNCH_FAILED` on driver 580).
///
/// @param context The context whose work reaches the memory.
/// @param peer The context whose memory it reaches.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a context of another driver; `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`, also after a
/// reset of either, and for two contexts of the same device, and others of the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_context_disable_peer_access(
    context: cushim_context,
    peer: cushim_context,
) -> cushim_status {
    call(|| hold(context)?.disable_peer_access(&*hold(peer)?))
}
