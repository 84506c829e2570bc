//! Memory operations as nodes; driver 11.7.

use super::holds::{For, Hold};
use super::memory::check_kept;
use super::{HandedOver, Holds, KeptMemory, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::driver::sys::{
    CU_STREAM_MEM_OP_ATOMIC_REDUCTION, CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES,
    CUstreamBatchMemOpParams,
};
use crate::object::callback::Owner;
use crate::object::error::Error;
use crate::op::operand::Held;
use crate::op::reach::{self, Sink};
use crate::op::{Endpoint, MemoryOperation, MemoryOperations, Operation, Traits};
use std::fmt;
use std::sync::Arc;

/// What a node of memory operations does.
#[derive(Clone)]
pub struct MemoryOperationsParameters {
    raw: Box<[CUstreamBatchMemOpParams]>,
    /// Where the value of each stands; `None` for one that has none.
    places: Box<[Option<KeptMemory>]>,
}

impl MemoryOperationsParameters {
    /// What the driver says of a node.
    pub(crate) fn of_driver(raw: &[CUstreamBatchMemOpParams]) -> Self {
        Self { raw: raw.into(), places: raw.iter().map(place_of).collect() }
    }

    /// The operations as the driver has them.
    #[must_use]
    pub fn raw(&self) -> &[CUstreamBatchMemOpParams] {
        &self.raw
    }

    /// Where the value of each stands; `None` for one that has none.
    #[must_use]
    pub fn places(&self) -> &[Option<KeptMemory>] {
        &self.places
    }
}

/// Where the value of an operation stands, by the driver's description of it.
fn place_of(raw: &CUstreamBatchMemOpParams) -> Option<KeptMemory> {
    // SAFETY: every member begins with the number that says which one is meant, and the first two have the same place for the
    // address.
    let (operation, address) = unsafe { (raw.operation, raw.waitValue.address) };
    match operation {
        CU_STREAM_MEM_OP_BARRIER
        | CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES
        | CU_STREAM_MEM_OP_ATOMIC_REDUCTION => None,
        _ => Some(KeptMemory::at(address)),
    }
}

impl fmt::Debug for MemoryOperationsParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryOperationsParameters").field(&self.places).finish()
    }
}

impl MemoryOperations<'_, '_> {
    fn check_reach(&self, at: &Context) -> Result<(), Error> {
        self.0.iter().enumerate().try_for_each(|(index, operation)| {
            let of_nobody = operation.at.as_ref().filter(|place| place.held().is_none());
            let checked = of_nobody.map_or(Ok(()), |place| reach::check(place.side(), at, Sink::Graph));
            checked.map_err(|failure| failure.of_item("operation", index))
        })
    }

    fn places(&self) -> impl Iterator<Item = &Endpoint<'_>> {
        self.0.iter().filter_map(|operation| operation.at.as_ref())
    }

    fn values(&self) -> impl Iterator<Item = Option<&Endpoint<'_>>> {
        self.0.iter().map(MemoryOperation::value_at)
    }
}

impl NodeOperation for MemoryOperations<'_, '_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::MemoryOperations
    }

    fn node_traits(&self) -> Traits {
        Operation::traits(self)
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        let raw = self.raw(at)?;
        self.values().flatten().try_for_each(|place| check_kept(place, "place of the value", at))?;
        // The driver looks at them only when the graph is launched.
        self.check_reach(at)?;
        Ok(Parameters::MemoryOperations(Arc::new(MemoryOperationsParameters {
            raw: raw.into(),
            places: self.values().map(|place| place.map(KeptMemory::of)).collect(),
        })))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        self.places().any(Endpoint::is_kept)
    }

    fn holds(&mut self) -> HandedOver {
        let objects: Vec<Hold> = self.places().filter_map(Endpoint::held).map(Held::share).collect();
        let owners: Vec<Owner> = self.take_owners();
        let mut holds = Holds::default();
        if !objects.is_empty() || !owners.is_empty() {
            holds.keep(For::Object(0), Arc::new((objects, owners)));
        }
        HandedOver(holds)
    }
}
