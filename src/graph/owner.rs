//! Owners of a node: what callers lend for as long as it may run.

use super::{Node, keeping};
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::op::node::{For, Holds, KeptMemory, Parameters};
use std::sync::Arc;

impl Node {
    /// Has a slot of the node keep an owner, in place of the one before. Slots are numbered from 0: of a kernel node the kernel and
    /// the arguments, of a copy the destination and the source, of a memset or memory operations the destination, of an event
    /// node the event, of a host function the function and its data.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a slot that the node does not have, and for the slot of a buffer or of bytes that were copied,
    /// which the node keeps by itself; [`Status::INVALID_HANDLE`] if the node was removed; the driver's. The owner is given back then.
    pub fn set_owner(&self, slot: usize, owner: Owner) -> Result<(), (Error, Owner)> {
        let tree = &self.tree;
        let _used = match self.hold_definition() {
            Ok(used) => used,
            Err(error) => return Err((error, owner)),
        };
        let mut state = match tree.lock_to_edit() {
            Ok(state) => state,
            Err(error) => return Err((error, owner)),
        };
        let there = self.name().check_there(&state);
        let id = match there.and_then(|id| self.check_slot(slot).map(|()| id)) {
            Ok(id) => id,
            Err(error) => return Err((error, owner)),
        };
        let record = state.record(id);
        let mut holds = state.contents.holds_of(id);
        if let Some(whose) = kept_by_itself(&record.parameters, &holds, slot) {
            let refusal = format!("slot {slot} of {self} is {whose}, which the node keeps by itself");
            return Err((Error::new(Status::INVALID_ARGUMENT, refusal).about(&self.name()), owner));
        }
        let prepared = match state.prepare(record.graph) {
            Ok(prepared) => prepared,
            Err(error) => return Err((tree.failed(error, &self.name()), owner)),
        };
        holds.set(For::Owner(slot as u32), Some(Arc::new(owner)));
        let attachment = keeping::kept(true, prepared, || holds);
        let graph_id = record.graph;
        let before = state.contents.reattach(id, attachment);
        let released = before.map_or(Ok(()), |before| before.release(&state.graph(graph_id).native));
        let released = released.map_err(|error| tree.failed(error, &self.name()));
        drop(state);
        crate::object::release::report(tree.driver(), released);
        Ok(())
    }

    /// Shows the owner in a slot of the node; `None` if there is none.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a slot that the node does not have; [`Status::INVALID_HANDLE`] if the node was removed.
    pub fn with_owner<R>(&self, slot: usize, look: impl FnOnce(Option<&Owner>) -> R) -> Result<R, Error> {
        let state = self.tree.lock();
        let id = self.name().check_there(&state)?;
        self.check_slot(slot)?;
        let holds = state.contents.holds_of(id);
        drop(state);
        Ok(look(holds.owner(slot as u32)))
    }

    /// Refuses a slot that the node does not have, and a node that was removed.
    #[cfg(feature = "capi")]
    pub(crate) fn check_owner_slot(&self, slot: usize) -> Result<(), Error> {
        self.name().check_there(&self.tree.lock())?;
        self.check_slot(slot)
    }

    fn check_slot(&self, slot: usize) -> Result<(), Error> {
        let slots = self.node_type().slots();
        if slot < slots {
            return Ok(());
        }
        let has = match slots {
            0 => "no owner slots".to_owned(),
            1 => "1 owner slot, number 0".to_owned(),
            more => format!("{more} owner slots, numbered from 0"),
        };
        let refusal = format!("there is no slot {slot}: {self} has {has}");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(&self.name()))
    }
}

/// Whose memory stands in the slot, if the node keeps that by itself: an owner beside it would be of no use.
fn kept_by_itself(parameters: &Parameters, holds: &Holds, slot: usize) -> Option<&'static str> {
    let is_objects = match (parameters, slot) {
        (Parameters::Copy(copy), 0) => copy.to().is_of_object(),
        (Parameters::Copy(copy), _) => copy.from().is_of_object(),
        (Parameters::Memset(memset), _) => memset.at().is_of_object(),
        (Parameters::MemoryOperations(operations), _) => {
            operations.places().iter().flatten().any(KeptMemory::is_of_object)
        }
        _ => false,
    };
    let can_have_bytes = matches!(parameters, Parameters::Copy(_) | Parameters::HostFunction(_));
    let has_bytes = can_have_bytes && holds.has_object(slot as u32);
    match (is_objects, has_bytes) {
        (true, _) => Some("an object's"),
        (false, true) => Some("a copy of bytes"),
        (false, false) => None,
    }
}
