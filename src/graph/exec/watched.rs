//! Whether the memory that an instance's nodes use is still there: `CUSHIM_CHECK=graphs`, or
//! [`OpenOptions::check_graphs`](crate::driver::OpenOptions::check_graphs).
//!
//! A graph has addresses, and whoever gave one without an owner keeps the memory. Where somebody does not, a launch writes to what is
//! there by now. So the driver is asked for the number of each allocation when a node gets the address, and again at each launch.

use crate::context::Context;
use crate::driver::Driver;
use crate::driver::sys::{CU_MEMORYTYPE_DEVICE, CUgraphNode};
use crate::graph::by_node::ByNode;
use crate::graph::definition::{self, Tree};
use crate::graph::ids::NodeId;
use crate::op::node::{Parameters, Use};
use crate::pointer::{DevicePointer, PointerAttributes};

/// The memory that the nodes of an instance use.
#[derive(Default)]
pub(super) struct Watched {
    pub(super) nodes: ByNode<Watch>,
    /// Whether launches are refused where it is not, and not only told what they touch.
    pub(super) is_refusing: bool,
}

/// The memory that one node uses.
pub(super) struct Watch {
    pub(super) native: CUgraphNode,
    /// By these a node is told from a later one, which the definition lists under the same number.
    pub(super) number: u32,
    pub(super) name: String,
    at: Context,
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
    fn of(tree: &Tree, state: &definition::State, id: NodeId, parameters: &Parameters, at: Context) -> Self {
        let node = state.node(id);
        let mut uses = Vec::new();
        parameters.each_address(|usage, address| {
            uses.extend(Allocation::at(tree.driver(), address).map(|found| (usage, address, found)));
        });
        Self { native: node.native, number: node.number, name: state.name_of(id), at, uses }
    }

    /// What is wrong with the memory, in a sentence.
    pub(super) fn complaint(&self) -> Option<(Use, String)> {
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
    /// If somebody wants to know of memory that is gone, or of what nothing orders.
    pub(super) fn asked_for(driver: &Driver) -> Option<Self> {
        let is_refusing = driver.checks_graphs();
        (is_refusing || driver.checks_order()).then(|| Self { is_refusing, ..Self::default() })
    }

    /// A node has these parameters from now on.
    pub(super) fn note(
        &mut self,
        tree: &Tree,
        state: &definition::State,
        id: NodeId,
        parameters: &Parameters,
        at: Context,
    ) {
        *self.nodes.place(id) = Some(Watch::of(tree, state, id, parameters, at));
    }
}
