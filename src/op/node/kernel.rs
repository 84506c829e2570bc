//! Launches as nodes.

use super::holds::For;
use super::{Conditions, HandedOver, Holds, KeptArguments, NodeOperation, NodeType, Parameters};
use crate::context::Context;
use crate::driver::calls::graph::node::RawKernelNode;
use crate::driver::calls::kernel::function::{Form, RawKernel};
use crate::driver::calls::kernel::launch::{RawArguments, RawAttributes, RawShape};
use crate::driver::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUcontext, CUlaunchAttribute, CUlaunchAttributeID};
use crate::kernel::{Kernel, LaunchConfig, refusal};
use crate::object::error::Error;
use crate::object::handle::Shared as _;
use crate::object::handle::Weakly;
use crate::op::launch::LaunchArguments;
use crate::op::reach::Sink;
use crate::op::{Launch, Operation, Traits};
use std::ffi::c_void;
use std::fmt;

/// What a kernel node runs, how, and with what. It stands in the record of the node, and is as small as can be.
#[derive(Clone)]
pub struct KernelParameters {
    kernel: Weakly<Kernel>,
    /// The driver's own, which the node holds, or its lender keeps, and whether it is a `CUfunction`.
    native: *mut c_void,
    is_function: bool,
    shape: RawShape,
    /// Most have none.
    attributes: Option<Box<Attributes>>,
    arguments: KeptArguments,
}

#[derive(Clone)]
struct Attributes(Box<[CUlaunchAttribute]>);

impl Attributes {
    fn some(list: Box<[CUlaunchAttribute]>) -> Option<Box<Self>> {
        (!list.is_empty()).then(|| Box::new(Self(list)))
    }
}

// SAFETY: the kernel and what the attributes point to is the driver's, and not followed here.
unsafe impl Send for KernelParameters {}
// SAFETY: as above.
unsafe impl Sync for KernelParameters {}

impl KernelParameters {
    /// What the driver says of a node: its arguments where it tells the kernel's parameters, too.
    ///
    /// # Safety
    /// The parameters are those of a node that is there.
    pub(crate) unsafe fn of_driver(at: &Context, raw: &CUDA_KERNEL_NODE_PARAMS_v2) -> Self {
        let table = at.table();
        // SAFETY: the node runs it.
        let native = unsafe {
            match raw.kern.is_null() {
                true => RawKernel::function(table, raw.func),
                false => RawKernel::kernel(table, raw.kern),
            }
        };
        let kernel = Kernel::of_native(at.driver(), native.handle());
        let there = at.live(at).ok();
        let layout = there.and_then(|context| native.parameters(context).ok());
        Self {
            kernel: kernel.as_ref().map_or_else(Weakly::new, |kernel| kernel.downgrade()),
            native: native.handle(),
            is_function: native.is_of_one_context(),
            shape: RawShape {
                grid: [raw.gridDimX, raw.gridDimY, raw.gridDimZ],
                block: [raw.blockDimX, raw.blockDimY, raw.blockDimZ],
                shared: raw.sharedMemBytes,
            },
            attributes: None,
            // SAFETY: the driver's own copies of the arguments, as large as the kernel takes them.
            arguments: unsafe { KeptArguments::of_driver(raw.kernelParams.cast(), layout.as_deref()) },
        }
    }

    /// The kernel, as long as it is there.
    #[must_use]
    pub fn kernel(&self) -> Option<Kernel> {
        self.kernel.upgrade()
    }

    /// Blocks in each direction.
    #[must_use]
    pub fn grid(&self) -> [u32; 3] {
        self.shape.grid
    }

    /// Threads of a block in each direction.
    #[must_use]
    pub fn block(&self) -> [u32; 3] {
        self.shape.block
    }

    /// Bytes of dynamic shared memory for each block.
    #[must_use]
    pub fn shared(&self) -> u32 {
        self.shape.shared
    }

    /// The attributes of the launch that were set.
    #[must_use]
    pub fn attributes(&self) -> &[CUlaunchAttribute] {
        self.attributes.as_ref().map_or(&[], |attributes| &attributes.0)
    }

    /// One of them, by the driver's number.
    #[must_use]
    pub fn attribute(&self, id: CUlaunchAttributeID) -> Option<&CUlaunchAttribute> {
        self.attributes().iter().find(|attribute| attribute.id == id)
    }

    /// The arguments.
    #[must_use]
    pub fn arguments(&self) -> &KeptArguments {
        &self.arguments
    }

    pub(super) fn arguments_mut(&mut self) -> &mut KeptArguments {
        &mut self.arguments
    }

    /// Gives an argument another value, of as many bytes, and appends the one before.
    #[inline]
    pub(crate) fn set_value(&mut self, index: u32, value: &[u8], before: &mut Vec<u8>) {
        self.arguments.set_value(index, value, before);
    }

    /// Whether both have the same attributes, with the same values.
    pub(crate) fn has_attributes_of(&self, other: &Self) -> bool {
        // SAFETY: each value has as many bytes, those that it does not use being zero.
        let bytes = |attribute: &CUlaunchAttribute| unsafe { (attribute.id, attribute.value.pad) };
        let is_in = |attribute: &CUlaunchAttribute| {
            other.attribute(attribute.id).is_some_and(|other| bytes(other) == bytes(attribute))
        };
        self.attributes().len() == other.attributes().len() && self.attributes().iter().all(is_in)
    }

    /// Another kernel from now on.
    pub(super) fn set_kernel(&mut self, kernel: &Kernel) {
        self.kernel = kernel.downgrade();
        (self.native, self.is_function) = (kernel.raw().handle(), kernel.raw().is_of_one_context());
    }

    pub(super) fn set_config(&mut self, shape: RawShape, attributes: Box<[CUlaunchAttribute]>) {
        (self.shape, self.attributes) = (shape, Attributes::some(attributes));
    }

    pub(super) fn set_attributes(&mut self, attributes: Box<[CUlaunchAttribute]>) {
        self.attributes = Attributes::some(attributes);
    }

    pub(super) fn set_arguments(&mut self, arguments: Option<KeptArguments>) {
        if let Some(arguments) = arguments {
            self.arguments = arguments;
        }
    }

    /// The same as [`with_raw`](Self::with_raw), with the arguments where whoever gave them has them.
    #[inline]
    pub(crate) fn raw_of<'a>(&'a self, context: CUcontext, given: &'a [*const c_void]) -> RawKernelNode<'a> {
        let (kernel, shape) = (self.form(), self.shape);
        RawKernelNode { kernel, context, shape, arguments: RawArguments::Each(given) }
    }

    #[inline(always)]
    pub(crate) fn with_raw<R>(&self, context: CUcontext, call: impl FnOnce(RawKernelNode<'_>) -> R) -> R {
        let (kernel, shape) = (self.form(), self.shape);
        self.arguments.with_raw(|arguments| call(RawKernelNode { kernel, context, shape, arguments }))
    }

    #[inline]
    fn form(&self) -> Form {
        match self.is_function {
            true => Form::Function(self.native.cast()),
            false => Form::Kernel(self.native.cast()),
        }
    }
}

impl fmt::Debug for KernelParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelParameters")
            .field("kernel", &self.kernel())
            .field("grid", &self.grid())
            .field("block", &self.block())
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

#[inline]
pub(super) fn attributes(config: &LaunchConfig<'_>) -> Box<[CUlaunchAttribute]> {
    if config.is_plain() { Box::default() } else { listed(config) }
}

fn listed(config: &LaunchConfig<'_>) -> Box<[CUlaunchAttribute]> {
    let mut list = RawAttributes::new();
    config.list(&mut list);
    list.each().copied().collect()
}

impl NodeOperation for Launch<'_, '_> {
    type Output = ();

    fn node_type(&self) -> NodeType {
        NodeType::Kernel
    }

    fn node_traits(&self) -> Traits {
        Operation::traits(self)
    }

    fn node_context(&self, _at: &Context) -> Option<Context> {
        self.config.context.cloned()
    }

    fn conditions(&self) -> Conditions<'_> {
        match &self.arguments {
            LaunchArguments::Each(arguments) => Conditions::of(arguments),
            LaunchArguments::Packed(_) => Conditions::default(),
        }
    }

    #[inline]
    fn parameters(&mut self, at: &Context) -> Result<Parameters, Error> {
        let checked = self.check_for(at, Sink::Graph)?;
        let arguments = match &self.arguments {
            // SAFETY: whoever made the arguments vouched for their bytes.
            LaunchArguments::Each(arguments) => unsafe { KeptArguments::of(arguments) },
            LaunchArguments::Packed(_) => KeptArguments::of_block(checked.block(), self.kernel.layout()),
        };
        Ok(Parameters::Kernel(KernelParameters {
            kernel: self.kernel.downgrade(),
            native: self.kernel.raw().handle(),
            is_function: self.kernel.raw().is_of_one_context(),
            shape: self.config.shape(),
            attributes: Attributes::some(attributes(self.config)),
            arguments,
        }))
    }

    #[inline]
    fn argument_addresses(&self) -> Option<&[*const c_void]> {
        match &self.arguments {
            LaunchArguments::Each(arguments) => Some(arguments.addresses()),
            LaunchArguments::Packed(_) => None,
        }
    }

    fn output(_: &Parameters) {}

    fn has_holds(&self) -> bool {
        let has_arguments = match &self.arguments {
            LaunchArguments::Each(arguments) => arguments.has_owners() || !arguments.objects().is_empty(),
            LaunchArguments::Packed(_) => false,
        };
        has_arguments || self.config.programmatic_event.is_some() || !self.kernel.is_lent()
    }

    fn holds(&mut self) -> HandedOver {
        let mut holds = Holds::default();
        if !self.kernel.is_lent() {
            holds.keep(For::Object(0), self.kernel.hold());
        }
        if let LaunchArguments::Each(arguments) = &mut self.arguments {
            holds.keep_arguments(arguments);
        }
        if let Some(trigger) = &self.config.programmatic_event {
            holds.keep(For::Event, trigger.event.hold());
        }
        HandedOver(holds)
    }

    fn explain(&self, failure: Error, at: &Context) -> Error {
        refusal::explain(failure, self.config, self.kernel, at)
    }
}
