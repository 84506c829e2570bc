//! Attributes of kernel nodes: read one by one, changed, and copied from one node to another.

use super::Node;
use super::updatable;
use crate::driver::calls::graph::node as calls;
use crate::driver::sys::{self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue};
use crate::object::error::{Error, Status};
use crate::op::node::{AttributeChange, For, Hold, NodeType, Parameters, explain_attribute};

/// What a node can have that others made: these are asked for, since the driver has no list. One that is all zeros is none.
const COPIED: [CUlaunchAttributeID; 10] = [
    sys::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    sys::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    sys::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    sys::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    sys::CU_LAUNCH_ATTRIBUTE_PRIORITY,
    sys::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    sys::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    sys::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
    sys::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    sys::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
];

impl Node {
    /// An attribute of a kernel node, by the driver's number (`CU_LAUNCH_ATTRIBUTE_*`): the bytes of a `CUlaunchAttributeValue`, as the
    /// driver has them. One that was never set has the driver's default, or what the stream had in which the launch was captured.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the node was removed; [`Status::INVALID_ARGUMENT`] for a node of another type; the driver's:
    /// `CUDA_ERROR_INVALID_VALUE` for an attribute that kernel nodes do not have, or not on this driver.
    pub fn attribute(&self, id: CUlaunchAttributeID) -> Result<[u8; 64], Error> {
        self.check_there()?;
        self.check_type(NodeType::Kernel)?;
        // SAFETY: `ask` names a node that is there.
        let value = self.ask(|table, native| unsafe { calls::attribute(table, native, id) });
        let value = value.map_err(|mut failure| {
            explain_attribute(&mut failure, id);
            failure
        })?;
        // SAFETY: all bytes were written before.
        Ok(unsafe { value.pad }.map(|byte| byte as u8))
    }

    /// Sets an attribute of a kernel node; the others stay. It is a change like [`set`](Self::set): execs that exist keep theirs.
    ///
    /// # Safety
    /// `value` has the bytes of a value of this attribute, and what it names is good whenever the graph is launched.
    ///
    /// # Errors
    /// As for [`set`](Self::set); the driver's, as for [`attribute`](Self::attribute).
    pub unsafe fn set_attribute(&self, id: CUlaunchAttributeID, value: [u8; 64]) -> Result<(), Error> {
        let value = CUlaunchAttributeValue { pad: value.map(|byte| byte as _) };
        // SAFETY: the caller vouches for the value.
        unsafe { self.set(&mut AttributeChange::one(id, value)) }
    }

    /// Sets all attributes of a kernel node to those of another one, of the same driver. It is a change like [`set`](Self::set).
    ///
    /// # Safety
    /// What the attributes of `source` name, and it does not keep, is good whenever the graph of this node is launched.
    ///
    /// # Errors
    /// As for [`set`](Self::set); [`Status::INVALID_ARGUMENT`], also if `source` is a node of another type, or one that kernels update.
    pub unsafe fn copy_attributes(&self, source: &Self) -> Result<(), Error> {
        if self.tree.driver() != source.tree.driver() {
            let refusal = format!("{source} and {self} belong to different drivers");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(&source.name()));
        }
        let mut change = source.attributes_to_copy()?;
        // SAFETY: the caller vouches for what they name.
        unsafe { self.set(&mut change) }
    }

    /// All attributes that the node has, and the event among them.
    fn attributes_to_copy(&self) -> Result<AttributeChange, Error> {
        self.check_type(NodeType::Kernel)?;
        let (known, event) = {
            let state = self.tree.lock();
            let id = self.name().check_there(&state)?;
            let record = state.record(id);
            let known = match &record.parameters {
                Parameters::Kernel(kernel) if record.is_ours => Some(kernel.attributes().into()),
                _ => None,
            };
            let event: Option<Hold> = state.contents.holds_of(id).of(For::Event).cloned();
            (known, event)
        };
        let all: Box<[CUlaunchAttribute]> = known.map_or_else(|| self.asked_attributes(), Ok)?;
        if updatable::is_among(&all) {
            let refusal = format!("{self} is device-updatable; the attributes of such a node are not copied");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(&self.name()));
        }
        Ok(AttributeChange::All(all, event))
    }

    /// The attributes of a node that others made, by the driver's account.
    fn asked_attributes(&self) -> Result<Box<[CUlaunchAttribute]>, Error> {
        let mut all = Vec::new();
        for id in COPIED {
            // SAFETY: `ask` names a node that is there.
            match self.ask(|table, native| unsafe { calls::attribute(table, native, id) }) {
                // SAFETY: all bytes were written before.
                Ok(value) if unsafe { value.pad } == [0; 64] => {}
                Ok(value) => all.push(CUlaunchAttribute { id, pad: [0; 4], value }),
                // The driver is older than the attribute, or the device does not have it.
                Err(failure) if is_unknown(&failure) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(all.into())
    }
}

fn is_unknown(failure: &Error) -> bool {
    [sys::CUDA_ERROR_INVALID_VALUE.0, sys::CUDA_ERROR_NOT_SUPPORTED.0].contains(&failure.status.0)
}
