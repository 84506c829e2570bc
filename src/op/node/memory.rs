//! Memory that a node uses, as it is remembered.

use super::holds::{For, Holds};
use super::rebind::Rebinding;
use crate::context::Context;
use crate::object::error::Error;
use crate::object::handle::Shared;
use crate::op::operand::{Held, Operand};
use crate::op::{Endpoint, Side, check_range, invalid};
use crate::pointer::PointerAttributes;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// Memory that a node uses: an address, and the object that has it, if it is one's. Knows the object and does not hold it.
#[derive(Clone)]
pub struct KeptMemory {
    pub(super) address: u64,
    pub(super) object: Option<Weak<dyn Operand>>,
    /// Where the object's memory ends; `u64::MAX` if nobody knows.
    end: u64,
}

impl KeptMemory {
    pub(super) fn of(endpoint: &Endpoint<'_>) -> Self {
        Self { address: endpoint.native(), object: endpoint.held().map(Held::downgrade), end: endpoint.end() }
    }

    /// Memory of which only the address is known.
    pub(super) fn at(address: u64) -> Self {
        Self { address, object: None, end: u64::MAX }
    }

    /// Where the memory starts; of an array, the array.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The object whose memory it is, if it is one of this type that is still there.
    pub(crate) fn object<H: Shared>(&self) -> Option<H> {
        let object: Arc<dyn Any + Send + Sync> = self.object.as_ref()?.upgrade()?;
        object.downcast().ok().map(H::of)
    }

    /// What the program calls the object whose memory it is, if that is still there.
    pub(super) fn name(&self) -> Option<String> {
        self.object.as_ref()?.upgrade().map(|object| object.to_string())
    }

    /// Puts one object in place of another; answers whether it did.
    pub(super) fn rebind(&mut self, rebinding: &Rebinding<'_>) -> bool {
        let is_from = self.object.as_ref().is_some_and(|object| rebinding.is_from(object));
        if is_from {
            self.object = Some(rebinding.to());
            (self.address, self.end) = (rebinding.moved(self.address), rebinding.end());
        }
        is_from
    }

    /// Undoes that.
    pub(super) fn unbind(&mut self, rebinding: &Rebinding<'_>) {
        self.object = Some(rebinding.from());
        (self.address, self.end) = (rebinding.moved_back(self.address), rebinding.old_end());
    }

    /// Refuses more bytes than there are from there to the end of the memory, or to that of all addresses if nobody knows the former.
    pub(super) fn check_fits(&self, what: &str, bytes: u64) -> Result<(), Error> {
        let left = self.end.saturating_sub(self.address);
        if self.end != u64::MAX && left < bytes {
            return Err(invalid(format!(
                "the {what} has {left} bytes left in its memory, too few for {bytes}"
            )));
        }
        check_range(what, self.address, bytes)
    }

    /// Whether it is memory of an object, whether that is still there or not.
    pub(crate) fn is_of_object(&self) -> bool {
        self.object.is_some()
    }
}

impl fmt::Debug for KeptMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptMemory({:#x})", self.address)
    }
}

/// What an endpoint that is read is called.
pub(super) const SOURCE: &str = "source";

/// Refuses an endpoint whose memory nothing keeps for the graph. Of device memory nothing need be said; of host memory it has
/// to be, since a graph reads and writes it again and again, long after the call that names it.
pub(super) fn check_kept(endpoint: &Endpoint<'_>, what: &str, at: &Context) -> Result<(), Error> {
    if endpoint.held().is_some() && endpoint.has_owner() {
        return Err(invalid(format!(
            "the {what} is an object, which the node keeps by itself; an owner goes with an address"
        )));
    }
    let is_said = endpoint.held().is_some() || endpoint.has_owner() || endpoint.is_kept_by_caller();
    let is_host = match endpoint.side() {
        _ if is_said => false,
        Side::Host(_) => true,
        Side::Auto(address) => PointerAttributes::memory_type(at.driver(), address)?.is_none(),
        Side::Device(_) | Side::Array(_) => false,
    };
    if !is_host {
        return Ok(());
    }
    // Only those of a source: a destination is for somebody to read.
    let bytes = if what == SOURCE { ", have its bytes kept (CUSHIM_ENDPOINT_KEEP_BYTES)" } else { "" };
    Err(invalid(format!(
        "the {what} is host memory, and a graph uses it whenever it is launched: give it an owner{bytes}, or say that \
         you keep it as long as the graph (CUSHIM_ENDPOINT_CALLER_KEEPS)"
    )))
}

/// Has a slot keep what the memory of an endpoint needs, and nothing of what it kept before: an object, a copy of the bytes, or an owner.
pub(super) fn hold_in(holds: &mut Holds, slot: u32, endpoint: &mut Endpoint<'_>) {
    holds.clear_slot(slot);
    if let Some(held) = endpoint.held() {
        holds.keep(For::Object(slot), held.share());
    } else if let Some(bytes) = endpoint.take_bytes() {
        holds.keep(For::Object(slot), Arc::new(bytes));
    } else if let Some(owner) = endpoint.take_owner() {
        holds.keep(For::Owner(slot), Arc::new(owner));
    }
}
