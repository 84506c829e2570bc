//! Whether the memory that an instance's nodes use is still there: `CUSHIM_CHECK=graphs`, or
//! [`OpenOptions::check_graphs`](crate::driver::OpenOptions::check_graphs).
//!
//! A graph has addresses, and whoever gave one without an owner keeps the memory. Where somebody does not, a launch writes to what is
//! there by now. So the driver is asked for the number of each allocation when a node gets the address, and again at each launch.

use super::own::Base;
use super::{Exec, State};
use crate::context::Context;
use crate::driver::Driver;
use crate::driver::sys::{CU_MEMORYTYPE_DEVICE, CUgraphNode};
use crate::graph::state::{self, ByNode, NodeId};
use crate::graph::tree::Tree;
use crate::object::error::{Error, Status};
use crate::op::node::{Parameters, Use};
use crate::pointer::{DevicePointer, PointerAttributes};
use std::sync::Arc;

/// The memory that the nodes of an instance use.
#[derive(Default)]
pub(super) struct Watched {
    nodes: ByNode<Watch>,
}

/// The memory that one node uses.
struct Watch {
    native: CUgraphNode,
    /// By these a node is told from a later one, which the definition lists under the same number.
    number: u32,
    name: String,
    at: Arc<Context>,
    uses: Vec<(Use, u64, Allocation)>,
}

// SAFETY: the node's handle is used only under the lock of the instance.
unsafe impl Send for Watch {}

/// An allocation, by what tells it from others: on the device the number that the driver gives it, which it never gives again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Allocation {
    id: Option<u64>,
    start: DevicePointer,
}

impl Allocation {
    /// The allocation that an address lies in. Memory that graphs allocate has neither context nor pool: it comes and goes with launches,
    /// and the driver minds it.
    fn at(driver: &Driver, address: u64) -> Option<Self> {
        let known = PointerAttributes::of(driver, address).ok()?;
        let is_of_graph = known.context.is_null() && known.pool.is_null();
        let (start, _) = known.range.filter(|_| known.memory_type.is_some() && !is_of_graph)?;
        Some(Self { id: known.buffer_id, start })
    }
}

impl Watch {
    fn of(tree: &Tree, state: &state::State, id: NodeId, parameters: &Parameters, at: Arc<Context>) -> Self {
        let node = state.node(id);
        let mut uses = Vec::new();
        parameters.each_address(|usage, address| {
            uses.extend(Allocation::at(tree.driver(), address).map(|found| (usage, address, found)));
        });
        Self { native: node.native, number: node.number, name: state.name_of(id), at, uses }
    }

    /// What is wrong with the memory, in a sentence.
    fn complaint(&self) -> Option<(Use, String)> {
        self.uses.iter().find_map(|(usage, address, known)| {
            let now = Allocation::at(self.at.driver(), *address);
            let why = match now {
                None => "was freed since the node got the address",
                Some(now) if now != *known => {
                    "was freed since the node got the address, and belongs to another allocation now"
                }
                Some(_) if usage.is_argument() && self.is_out_of_reach(*address) => {
                    "belongs to another device, to which the kernel's context has no access (cushim_context_enable_peer_access)"
                }
                Some(_) => return None,
            };
            Some((*usage, format!("the memory at {address:#x} ({usage}) {why}")))
        })
    }

    fn is_out_of_reach(&self, address: u64) -> bool {
        self.at.pointer_attributes(address).is_ok_and(|known| {
            let is_elsewhere = known.device.is_some_and(|ordinal| ordinal != self.at.device().ordinal());
            let is_device = known.memory_type == Some(CU_MEMORYTYPE_DEVICE) && !known.managed;
            is_elsewhere && is_device && known.device_pointer.is_null()
        })
    }
}

impl Watched {
    /// A node has these parameters from now on.
    fn note(
        &mut self,
        tree: &Tree,
        state: &state::State,
        id: NodeId,
        parameters: &Parameters,
        at: Arc<Context>,
    ) {
        *self.nodes.place(id) = Some(Watch::of(tree, state, id, parameters, at));
    }
}

impl Exec {
    /// Asks for the memory of these nodes, if anybody wants to know.
    #[inline]
    pub(super) fn watch(&self, state: &mut State, tree: &state::State, nodes: impl Iterator<Item = NodeId>) {
        if state.watched.is_some() {
            self.watch_each(state, tree, nodes);
        }
    }

    #[cold]
    fn watch_each(&self, state: &mut State, tree: &state::State, nodes: impl Iterator<Item = NodeId>) {
        let Some(mut watched) = state.watched.take() else { return };
        for id in nodes {
            let context = self.context_of(state, tree, id);
            let at = context.unwrap_or_else(|| Arc::clone(self.tree.context()));
            let noted = self.now(state, tree, id, |now| watched.note(&self.tree, tree, id, now, at));
            if noted.is_err() {
                watched.nodes.remove(id);
            }
        }
        state.watched = Some(watched);
    }

    /// The same for all nodes.
    pub(super) fn watch_all(&self, state: &mut State) {
        let Some(mut watched) = state.watched.take() else { return };
        let tree = self.tree.lock();
        // Nobody can tell any more what its nodes use.
        if tree.root().is_none() {
            state.watched = Some(Watched::default());
            return;
        }
        // Nor what those do that the definition has no more, where another graph was taken over.
        let State { own, unknown, base, .. } = &*state;
        let is_known = |id| !matches!(base, Base::Unknown) && !unknown.contains(&id);
        watched.nodes.retain(|id| own.get(id).is_some() || is_known(id));
        state.watched = Some(watched);
        let nodes = tree.nodes().filter(|(_, node)| node.number < self.kept.born);
        let nodes: Vec<_> = nodes.map(|(id, _)| id).collect();
        self.watch(state, &tree, nodes.into_iter());
    }

    /// Refuses a launch that would use memory which is not there any more, or out of the kernel's reach.
    #[cold]
    pub(super) fn check_watched(&self, state: &State) -> Result<(), Error> {
        let Some(watched) = &state.watched else { return Ok(()) };
        let mut all: Vec<_> = watched.nodes.iter().collect();
        all.sort_unstable_by_key(|(_, watch)| watch.number);
        for (id, watch) in all {
            let Some((usage, complaint)) = watch.complaint() else { continue };
            // A node that is passed over uses nothing.
            if !self.is_watch_enabled(state, watch) {
                continue;
            }
            let name = self.name_of_watched(id, watch);
            let refusal = format!("{name} of {self}: {complaint}; set the node to memory that is there");
            let mut failure = Error::new(Status::INVALID_ARGUMENT, refusal).about(self);
            failure.item = usage.number();
            return Err(failure);
        }
        Ok(())
    }

    /// Whether the node takes part in launches, as far as the driver can be asked: not if the definition has no nodes any more.
    fn is_watch_enabled(&self, state: &State, watch: &Watch) -> bool {
        let tree = self.tree.lock();
        let raw = state.raw.as_ref().filter(|_| tree.root().is_some());
        // SAFETY: the instance has the node, which the lock keeps.
        raw.is_none_or(|raw| unsafe { raw.is_enabled(watch.native) }.unwrap_or(true))
    }

    /// What the node is called by now, if the definition still has it.
    fn name_of_watched(&self, id: NodeId, watch: &Watch) -> String {
        let tree = self.tree.lock();
        let is_there = tree.nodes().any(|(other, node)| other == id && node.number == watch.number);
        if is_there { tree.name_of(id) } else { watch.name.clone() }
    }
}
