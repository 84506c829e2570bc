//! Host functions as nodes.

use super::holds::For;
use super::{HandedOver, Holds, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::driver::calls::graph::node::RawNode;
use crate::driver::sys::CUhostFn;
use crate::object::callback::{caught, inside_driver};
use crate::object::error::Error;
use crate::op::host_function::Function;
use crate::op::{HostFunction, Operation, Traits, invalid};
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Weak};

/// A function that can be called again and again.
pub(crate) struct Repeatable {
    pub(crate) call: Box<dyn Fn() + Send + Sync>,
    /// What a C caller gave.
    pub(crate) given: Option<CFunction>,
}

/// A function of a C caller's, and what it is called with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CFunction {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: *mut c_void,
}

// SAFETY: the caller vouched for calls from any thread.
unsafe impl Send for CFunction {}
// SAFETY: as above.
unsafe impl Sync for CFunction {}

/// Which function a node calls.
#[derive(Clone)]
pub struct HostFunctionParameters(Called);

#[derive(Clone)]
enum Called {
    /// What the driver calls `call_again` with; as long as the node may run, it keeps it.
    Ours(*const Repeatable, Weak<Repeatable>),
    /// Somebody else's function, and what it is called with.
    Foreign(CUhostFn, *mut c_void),
}

// SAFETY: the function may be called from every thread.
unsafe impl Send for HostFunctionParameters {}
// SAFETY: as above.
unsafe impl Sync for HostFunctionParameters {}

impl HostFunctionParameters {
    pub(super) fn raw(&self) -> RawNode<'static> {
        match self.0 {
            Called::Ours(address, _) => {
                RawNode::Host { function: Some(call_again), data: address.cast_mut().cast() }
            }
            Called::Foreign(function, data) => RawNode::Host { function, data },
        }
    }

    /// What the driver says of a node.
    pub(crate) fn of_driver(function: CUhostFn, data: *mut c_void) -> Self {
        Self(Called::Foreign(function, data))
    }

    /// What a C caller gave, as long as the node keeps it.
    #[cfg(feature = "capi")]
    pub(crate) fn given(&self) -> Option<CFunction> {
        match &self.0 {
            Called::Ours(_, function) => function.upgrade()?.given,
            Called::Foreign(function, data) => Some(CFunction { function: (*function)?, data: *data }),
        }
    }

    /// Whether the node still has its function.
    #[must_use]
    pub fn is_there(&self) -> bool {
        match &self.0 {
            Called::Ours(_, function) => function.strong_count() > 0,
            Called::Foreign(..) => true,
        }
    }
}

impl fmt::Debug for HostFunctionParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostFunctionParameters").finish_non_exhaustive()
    }
}

/// What the driver calls.
pub(crate) extern "C" fn call_again(function: *mut c_void) {
    // SAFETY: the graph keeps the function as long as the driver may call this.
    let function = unsafe { &*function.cast::<Repeatable>() };
    inside_driver(|| caught("a host function", || (function.call)()));
}

impl NodeOperation for HostFunction {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::HostFunction
    }

    fn node_traits(&self) -> Traits {
        Operation::traits(self)
    }

    fn parameters(&mut self, _at: &Context) -> Result<Parameters, Error> {
        let Function::Repeatable(function) = &self.function else {
            return Err(invalid(
                "this function is called once, and a graph may call it again and again; give one that can be repeated"
                    .to_owned(),
            ));
        };
        let called = Called::Ours(Arc::as_ptr(function), Arc::downgrade(function));
        Ok(Parameters::HostFunction(Arc::new(HostFunctionParameters(called))))
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        true
    }

    fn holds(&mut self) -> HandedOver {
        let mut holds = Holds::default();
        if let Function::Repeatable(function) = &self.function {
            holds.keep(For::Inner, Arc::<Repeatable>::clone(function));
        }
        let whose = if self.keeps_bytes() { For::Object(1) } else { For::Owner(1) };
        if let Some(owner) = self.take_owner() {
            holds.keep(whose, Arc::new(owner));
        }
        HandedOver(holds)
    }
}
