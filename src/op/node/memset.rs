//! Memsets as nodes.

use super::memory::{check_kept, hold_in};
use super::rebind::Rebinding;
use super::{HandedOver, Holds, KeptMemory, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::device::Device;
use crate::driver::sys::CUDA_MEMSET_NODE_PARAMS;
use crate::object::error::Error;
use crate::op::{Memset, Side, Traits, Value, invalid, refusal};
use std::fmt;
use std::sync::Arc;

/// What a memset node does.
#[derive(Clone)]
pub struct MemsetParameters {
    raw: CUDA_MEMSET_NODE_PARAMS,
    at: KeptMemory,
}

impl MemsetParameters {
    /// What the driver says of a node.
    pub(crate) fn of_driver(raw: CUDA_MEMSET_NODE_PARAMS) -> Self {
        Self { raw, at: KeptMemory::at(raw.dst) }
    }

    /// The same memory with another value, so many times; refused if it has not so much.
    pub(super) fn with(&self, value: Value, count: usize) -> Result<Self, Error> {
        self.at.check_fits("memory to set", count.saturating_mul(value.bytes()) as u64)?;
        if !self.raw.dst.is_multiple_of(value.bytes() as u64) {
            let (address, unit) = (self.raw.dst, value.bytes());
            return Err(invalid(format!(
                "the address {address:#x} is not a multiple of the value's {unit} bytes"
            )));
        }
        let mut with = self.clone();
        (with.raw.value, with.raw.elementSize, with.raw.width) = (value.bits(), value.bytes() as u32, count);
        Ok(with)
    }

    /// Why the driver refused it as one row.
    #[cold]
    pub(super) fn explain(&self, failure: Error, at: &Context) -> Error {
        refusal::of_memset(
            failure,
            at,
            Side::Device(self.raw.dst),
            self.raw.width.saturating_mul(self.raw.elementSize as usize),
            None,
        )
    }

    pub(super) fn rebind(&mut self, rebinding: &Rebinding<'_>, changed: &mut Vec<u32>) {
        if self.at.rebind(rebinding) {
            self.raw.dst = self.at.address();
            changed.push(0);
        }
    }

    pub(super) fn unbind(&mut self, rebinding: &Rebinding<'_>, changed: &[u32]) {
        if !changed.is_empty() {
            self.at.unbind(rebinding);
            self.raw.dst = self.at.address();
        }
    }

    /// The memset as the driver has it: the value and its bytes, and the rows.
    #[must_use]
    pub fn raw(&self) -> &CUDA_MEMSET_NODE_PARAMS {
        &self.raw
    }

    /// Where the memory starts that is set.
    #[must_use]
    pub fn at(&self) -> &KeptMemory {
        &self.at
    }
}

impl fmt::Debug for MemsetParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemsetParameters").field("at", &self.at).finish_non_exhaustive()
    }
}

impl NodeOperation for Memset<'_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::Memset
    }

    fn node_traits(&self) -> Traits {
        crate::op::Operation::traits(self)
    }

    fn node_context(&self, at: &Context) -> Option<Context> {
        let end = &self.at;
        if let Some(named) = end.context() {
            return Some(named.clone());
        }
        let ordinal = end.device_ordinal().filter(|ordinal| *ordinal != at.device().ordinal())?;
        Device::get(at.driver(), ordinal).and_then(|device| device.primary_context()).ok()
    }

    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        let Self { value, pitch, width, height, .. } = *self;
        if width == 0 || height == 0 {
            return Err(invalid("a memset node sets at least one value".to_owned()));
        }
        let address = self.check_rows(at)?;
        check_kept(&self.at, "memory to set", at)?;
        Ok(Parameters::Memset(Arc::new(MemsetParameters {
            raw: CUDA_MEMSET_NODE_PARAMS {
                dst: address,
                pitch: if height == 1 { 0 } else { pitch },
                value: value.bits(),
                elementSize: value.bytes() as u32,
                width,
                height,
            },
            at: KeptMemory::of(&self.at),
        })))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        self.at.is_kept()
    }

    fn holds(&mut self) -> HandedOver {
        let mut holds = Holds::default();
        hold_in(&mut holds, 0, &mut self.at);
        HandedOver(holds)
    }

    fn explain(&self, failure: Error, at: &Context) -> Error {
        self.refused(failure, at)
    }
}
