//! Changes of the attributes of kernel nodes.

use super::holds::For;
use super::{HandedOver, Hold, NodeChange, NodeType, Parameters, change};
use crate::context::Context;
use crate::driver::sys::{self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue};
use crate::object::error::Error;

/// Other attributes of a kernel node: one, or all of them.
pub(crate) enum AttributeChange {
    One(CUlaunchAttribute),
    /// With the event that the kernel's blocks trigger, if there is an object of it.
    All(Box<[CUlaunchAttribute]>, Option<Hold>),
}

impl AttributeChange {
    /// This attribute; the others stay.
    pub(crate) fn one(id: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> Self {
        Self::One(CUlaunchAttribute { id, pad: [0; 4], value })
    }

    /// Whether it says which event the kernel triggers.
    fn is_of_event(&self) -> bool {
        match self {
            Self::One(attribute) => attribute.id == sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
            Self::All(..) => true,
        }
    }
}

impl NodeChange for AttributeChange {
    fn node_type(&self) -> NodeType {
        NodeType::Kernel
    }

    fn change_context(&self, _at: &Context) -> Option<Context> {
        None
    }

    fn changed(&mut self, now: &Parameters, _at: &Context) -> Result<Parameters, Error> {
        let mut changed = change::kernel_of(now)?.clone();
        if changed.arguments().are_untold() {
            return Err(change::untold());
        }
        let attributes = match self {
            Self::All(all, _) => all.clone(),
            Self::One(attribute) => {
                let others = changed.attributes().iter().filter(|other| other.id != attribute.id);
                others.chain([&*attribute]).copied().collect()
            }
        };
        changed.set_attributes(attributes);
        Ok(Parameters::Kernel(changed))
    }

    fn keeps(&self, now: &HandedOver) -> bool {
        !now.0.is_empty() || matches!(self, Self::All(_, Some(_)))
    }

    fn kept(&mut self, HandedOver(mut now): HandedOver) -> HandedOver {
        if self.is_of_event() {
            let event = match self {
                Self::One(_) => None,
                Self::All(_, event) => event.take(),
            };
            now.set(For::Event, event);
        }
        HandedOver(now)
    }

    fn why(&self, mut failure: Error, _refused: &Parameters, _at: &Context) -> Error {
        if let Self::One(attribute) = self {
            explain(&mut failure, attribute.id);
        }
        failure
    }
}

/// Names the attribute that the driver does not have, or not with this value.
pub(crate) fn explain(failure: &mut Error, id: CUlaunchAttributeID) {
    let refused = [sys::CUDA_ERROR_INVALID_VALUE.0, sys::CUDA_ERROR_NOT_SUPPORTED.0];
    if refused.contains(&failure.status.0) {
        failure.message.push_str(&format!(
            ". The attribute is {}: pass a CUlaunchAttributeID that this driver knows of kernel nodes, with a value that the device takes",
            id.0
        ));
    }
}
