//! Copies of which an endpoint is in another device's memory than the device that copies.
//!
//! Driver 580 refuses them for memory of a pool to which the current context's device was given no access, unless they are
//! copies between peers: for those it needs no access, and any context will do (measured).

use super::{Endpoint, Side};
use crate::context::Context;
use crate::device::Device;
use crate::driver::sys::CUcontext;

/// The contexts of both endpoints of a copy between peers.
pub(super) struct Peers<'a> {
    to: PeerContext<'a>,
    from: PeerContext<'a>,
}

/// The context of one endpoint.
enum PeerContext<'a> {
    Borrowed(&'a Context),
    /// Held for the call.
    Held(Context),
}

impl<'a> Peers<'a> {
    /// `None` for every other copy: one that has an endpoint on the host or nobody knows where, or that stays on the device.
    #[inline(always)]
    pub(super) fn of(
        at: &'a Context,
        (to, to_side): (&'a Endpoint<'_>, Side),
        (from, from_side): (&'a Endpoint<'_>, Side),
    ) -> Option<Self> {
        let (to_device, from_device) = (to.device_ordinal()?, from.device_ordinal()?);
        if matches!(to_side, Side::Host(_)) || matches!(from_side, Side::Host(_)) {
            return None;
        }
        let here = at.device().ordinal();
        if to_device == here && from_device == here {
            return None;
        }
        Some(Self::between(at, (to, to_device), (from, from_device)))
    }

    #[inline(never)]
    fn between(
        at: &'a Context,
        (to, to_device): (&'a Endpoint<'_>, i32),
        (from, from_device): (&'a Endpoint<'_>, i32),
    ) -> Self {
        Self { to: PeerContext::of(at, to, to_device), from: PeerContext::of(at, from, from_device) }
    }

    /// The native contexts of the destination and the source.
    pub(super) fn natives(&self) -> (CUcontext, CUcontext) {
        (self.to.native(), self.from.native())
    }
}

/// Whether both endpoints say whose memory they are, and one is another device's.
pub(super) fn are_peers(at: &Context, to: &Endpoint<'_>, from: &Endpoint<'_>) -> bool {
    Peers::of(at, (to, to.side()), (from, from.side())).is_some()
}

impl<'a> PeerContext<'a> {
    /// The context that the caller named, or the primary one of the endpoint's device.
    fn of(at: &'a Context, endpoint: &'a Endpoint<'_>, device: i32) -> Self {
        match endpoint.context() {
            Some(named) => Self::Borrowed(named),
            None => elsewhere(at, device).map_or(Self::Borrowed(at), Self::Held),
        }
    }

    fn native(&self) -> CUcontext {
        match self {
            Self::Borrowed(context) => context.native(),
            Self::Held(context) => context.native(),
        }
    }
}

/// The primary context of another device. Where nobody holds it, or it is corrupted, the copy's own stands in: one that is
/// retained for this call would be released while the copy runs.
fn elsewhere(at: &Context, ordinal: i32) -> Option<Context> {
    if ordinal == at.device().ordinal() {
        return None;
    }
    let device = Device::get(at.driver(), ordinal).ok()?;
    let is_active = device.primary_context_state().is_ok_and(|(is_active, _)| is_active);
    if is_active { device.primary_context().ok() } else { None }
}
