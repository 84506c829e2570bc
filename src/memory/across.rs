//! Copies between buffers of two devices, or of another device than the one that copies.
//!
//! Driver 580 refuses them for memory of a pool to which the current context's device was given no access, unless they are
//! copies between peers: for those it needs no access, and any context will do (measured).

use super::Place;
use crate::context::Context;
use crate::device::Device;
use crate::driver::calls::memory::copy::PeerRange;
use crate::driver::sys::CUcontext;
use std::sync::Arc;

/// The contexts of both ends of such a copy.
pub(super) struct Across<'a> {
    /// The context of the copy.
    own: &'a Context,
    /// That of an end elsewhere, held for the call.
    to: Option<Arc<Context>>,
    from: Option<Arc<Context>>,
}

impl<'a> Across<'a> {
    /// `None` for every other copy.
    #[inline]
    pub(super) fn of(own: &'a Context, to: Place, from: Place) -> Option<Self> {
        let (to, from, here) = (to.device()?, from.device()?, own.device().ordinal());
        let is_across = to != here || from != here;
        is_across.then(|| Self { own, to: elsewhere(own, to), from: elsewhere(own, from) })
    }

    /// The native contexts of the destination and the source.
    pub(super) fn natives(&self) -> (CUcontext, CUcontext) {
        let native = |end: &Option<Arc<Context>>| end.as_deref().unwrap_or(self.own).native();
        (native(&self.to), native(&self.from))
    }

    /// Both ends of a range, with their contexts.
    pub(super) fn ranges(&self, (to, from): (u64, u64)) -> (PeerRange, PeerRange) {
        let contexts = self.natives();
        ((to, contexts.0), (from, contexts.1))
    }
}

/// The primary context of another device. Where nobody holds it, or it is lost, the copy's own stands in: one that is made for
/// this call would go again while the copy runs.
fn elsewhere(own: &Context, ordinal: i32) -> Option<Arc<Context>> {
    if ordinal == own.device().ordinal() {
        return None;
    }
    let device = Device::get(own.driver(), ordinal).ok()?;
    let is_active = device.primary_context_state().is_ok_and(|(is_active, _)| is_active);
    if is_active { device.primary_context().ok() } else { None }
}
