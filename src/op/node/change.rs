//! Changes of nodes: another operation of the same type, or a part of one.

use super::holds::For;
use super::kernel::attributes;
use super::memory::{check_kept, hold_in};
use super::sealed;
use super::{
    CopyParameters, HandedOver, Holds, KeptArguments, KernelParameters, NodeOperation, NodeType, Parameters,
};
use crate::context::Context;
use crate::kernel::{Kernel, LaunchConfig, refusal};
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::op::arguments::packed;
use crate::op::launch::LaunchArguments;
use crate::op::reach::Sink;
use crate::op::{Arguments, Endpoint, Memset, Value, invalid};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is changed of a node, by what it is now. Each operation that can be a node is one: it changes all of it.
pub trait NodeChange: sealed::Change {
    /// What sort of node can be changed so.
    #[doc(hidden)]
    fn node_type(&self) -> NodeType;

    /// The context in which the node runs from now on, where that is another one than `at`.
    #[doc(hidden)]
    fn change_context(&self, at: &Context) -> Option<Context>;

    /// The conditions that it names, with the number of each argument.
    #[doc(hidden)]
    fn change_conditions(&self) -> super::Conditions<'_> {
        super::Conditions::default()
    }

    /// Whether it says all of the node, so that it does not matter what that is now.
    #[doc(hidden)]
    fn is_whole(&self) -> bool {
        false
    }

    /// The new parameters of the node, all checked.
    ///
    /// # Errors
    /// As [`NodeOperation::parameters`].
    #[doc(hidden)]
    fn changed(&mut self, now: &Parameters, at: &Context) -> Result<Parameters, Error>;

    /// Changes parameters where they stand, otherwise as [`changed`](Self::changed); answers with what undoes it.
    ///
    /// # Errors
    /// As for [`changed`](Self::changed); nothing is changed then.
    #[doc(hidden)]
    fn apply(&mut self, now: &mut Parameters, at: &Context) -> Result<Undo, Error> {
        self.changed(now, at).map(|changed| Undo::of(now, changed))
    }

    /// Whether the node keeps anything alive then.
    #[doc(hidden)]
    fn keeps(&self, now: &HandedOver) -> bool;

    /// What the node keeps alive then: taken out of the change, once nothing can fail any more.
    #[doc(hidden)]
    fn kept(&mut self, now: HandedOver) -> HandedOver;

    /// Why the driver refused the change.
    #[doc(hidden)]
    fn why(&self, failure: Error, refused: &Parameters, at: &Context) -> Error;
}

/// What parameters were before a change.
#[doc(hidden)]
pub struct Undo(Before);

enum Before {
    All(Box<Parameters>),
    /// The value of one argument, which is nothing more than that.
    Value(usize, SmallVec<[u8; 16]>),
}

impl Undo {
    /// Of all parameters, in whose place others are put.
    fn of(now: &mut Parameters, changed: Parameters) -> Self {
        Self(Before::All(Box::new(std::mem::replace(now, changed))))
    }

    /// Puts it in place again.
    pub(crate) fn put_back(self, now: &mut Parameters) {
        match (self.0, now) {
            (Before::All(before), now) => *now = *before,
            (Before::Value(index, before), Parameters::Kernel(kernel)) => {
                if let Some(bytes) = kernel.arguments_mut().bytes_mut(index) {
                    bytes.copy_from_slice(&before);
                }
            }
            _ => {}
        }
    }

    /// All of it, if more than a value was changed.
    pub(crate) fn all(&self) -> Option<&Parameters> {
        match &self.0 {
            Before::All(before) => Some(before),
            Before::Value(..) => None,
        }
    }

    /// Whether the change was of a value, so that the node uses the same objects and names as before.
    #[inline]
    pub(crate) fn is_of_value(&self) -> bool {
        matches!(self.0, Before::Value(..))
    }
}

impl<O: NodeOperation> NodeChange for O {
    fn node_type(&self) -> NodeType {
        NodeOperation::node_type(self)
    }

    fn change_context(&self, at: &Context) -> Option<Context> {
        self.node_context(at)
    }

    fn change_conditions(&self) -> super::Conditions<'_> {
        self.conditions()
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn changed(&mut self, _now: &Parameters, at: &Context) -> Result<Parameters, Error> {
        self.parameters(at)
    }

    fn keeps(&self, _now: &HandedOver) -> bool {
        self.has_holds()
    }

    fn kept(&mut self, _now: HandedOver) -> HandedOver {
        self.holds()
    }

    fn why(&self, failure: Error, _refused: &Parameters, at: &Context) -> Error {
        self.explain(failure, at)
    }
}

/// Parts of a kernel node; what is not given stays.
pub struct KernelChange<'a, 'v> {
    kernel: Option<&'a Kernel>,
    config: Option<&'a LaunchConfig<'a>>,
    arguments: Option<LaunchArguments<'a, 'v>>,
}

impl<'a, 'v> KernelChange<'a, 'v> {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { kernel: None, config: None, arguments: None }
    }

    /// Another kernel, which has other arguments too.
    #[must_use]
    pub fn kernel(mut self, kernel: &'a Kernel) -> Self {
        self.kernel = Some(kernel);
        self
    }

    /// Another configuration.
    #[must_use]
    pub fn config(mut self, config: &'a LaunchConfig<'a>) -> Self {
        self.config = Some(config);
        self
    }

    /// Other arguments, all of them.
    #[must_use]
    pub fn arguments(mut self, arguments: &'a mut Arguments<'v>) -> Self {
        arguments.finish();
        self.arguments = Some(LaunchArguments::Each(arguments));
        self
    }

    /// Other arguments, in one block.
    #[must_use]
    pub fn packed(mut self, block: &'a [u8]) -> Self {
        self.arguments = Some(LaunchArguments::Packed(block));
        self
    }

    fn check(&self, kernel: &Kernel, is_other: bool, at: &Context) -> Result<Option<KeptArguments>, Error> {
        if let Some(config) = self.config {
            config.check(Some(kernel))?;
        }
        kernel.check_in(at)?;
        Ok(match &self.arguments {
            None if is_other => {
                let refusal = format!(
                    "{kernel} is another kernel, and comes without arguments; give them, too, or an empty list (not NULL)"
                );
                return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel));
            }
            None => None,
            Some(LaunchArguments::Each(arguments)) => {
                arguments.check(kernel, at)?;
                arguments.check_reach(at, Sink::Graph)?;
                arguments.number_conditions()?;
                // SAFETY: whoever made the arguments vouched for their bytes.
                Some(unsafe { KeptArguments::of(arguments) })
            }
            Some(LaunchArguments::Packed(block)) => {
                Some(KeptArguments::of_block(packed(kernel, block)?, kernel.layout()))
            }
        })
    }
}

/// Before CUDA 12.4 nobody tells how many arguments a kernel takes, but the node has had them all: the driver would read beyond the end of fewer.
fn check_as_many(kernel: &Kernel, now: &KeptArguments, given: &KeptArguments) -> Result<(), Error> {
    let (has, gets, what) = match (now.block(), given.block()) {
        (None, None) => (now.len(), given.len(), "arguments"),
        (Some(now), Some(given)) => (now.len(), given.len(), "bytes of arguments"),
        _ => return Ok(()),
    };
    if gets >= has || now.are_untold() {
        return Ok(());
    }
    let refusal = format!("the node runs {kernel} with {has} {what}, and {gets} are given; give all of them");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel))
}

impl Default for KernelChange<'_, '_> {
    fn default() -> Self {
        Self::new()
    }
}

pub(super) fn kernel_of(now: &Parameters) -> Result<&KernelParameters, Error> {
    match now {
        Parameters::Kernel(kernel) => Ok(kernel),
        _ => Err(not_known()),
    }
}

#[cold]
fn not_known() -> Error {
    invalid(
        "what the node runs is not known here; set kernel, configuration and arguments together".to_owned(),
    )
}

impl NodeChange for KernelChange<'_, '_> {
    fn node_type(&self) -> NodeType {
        NodeType::Kernel
    }

    fn change_context(&self, _at: &Context) -> Option<Context> {
        self.config.and_then(|config| config.context.cloned())
    }

    fn change_conditions(&self) -> super::Conditions<'_> {
        match &self.arguments {
            Some(LaunchArguments::Each(arguments)) => super::Conditions::of(arguments),
            _ => super::Conditions::default(),
        }
    }

    fn is_whole(&self) -> bool {
        self.kernel.is_some() && self.config.is_some() && self.arguments.is_some()
    }

    fn changed(&mut self, now: &Parameters, at: &Context) -> Result<Parameters, Error> {
        let now = kernel_of(now)?;
        let mut changed = now.clone();
        let own = now.kernel();
        if let Some(kernel) = self.kernel.or(own.as_ref()) {
            let is_other = own.as_ref().is_none_or(|own| own != kernel);
            let arguments = self.check(kernel, is_other, at)?;
            if let Some(given) = arguments.as_ref().filter(|_| !is_other && kernel.layout().is_none()) {
                check_as_many(kernel, now.arguments(), given)?;
            }
            changed.set_kernel(kernel);
            changed.set_arguments(arguments);
        } else if self.arguments.is_some() {
            // The kernel was its lender's, who gave it up here: its layout is not known any more.
            return Err(invalid(
                "the kernel of the node has no object any more; name the kernel, too".to_owned(),
            ));
        }
        if changed.arguments().are_untold() {
            return Err(untold());
        }
        if let Some(config) = self.config {
            config.check(None)?;
            changed.set_config(config.shape(), attributes(config));
        }
        Ok(Parameters::Kernel(changed))
    }

    fn keeps(&self, now: &HandedOver) -> bool {
        !now.0.is_empty() || self.kernel.is_some() || self.arguments.is_some() || self.config.is_some()
    }

    fn kept(&mut self, HandedOver(now): HandedOver) -> HandedOver {
        let mut holds = now;
        if let Some(kernel) = self.kernel {
            let kept = if kernel.is_lent() { None } else { Some(kernel.hold()) };
            holds.clear_slot(0);
            holds.set(For::Object(0), kept);
        }
        if self.arguments.is_some() {
            holds.clear_slot(1);
            holds.clear_arguments();
        }
        if let Some(LaunchArguments::Each(arguments)) = &mut self.arguments {
            holds.keep_arguments(arguments);
        }
        if let Some(config) = self.config {
            let event = config.programmatic_event.map(|trigger| trigger.event.hold());
            holds.set(For::Event, event);
        }
        HandedOver(holds)
    }

    fn why(&self, failure: Error, _refused: &Parameters, at: &Context) -> Error {
        match (self.kernel, self.config) {
            (Some(kernel), Some(config)) => refusal::explain(failure, config, kernel, at),
            _ => failure,
        }
    }
}

/// One argument of a kernel node; the others stay.
pub struct ArgumentChange<'a, 'v> {
    index: usize,
    /// With this one argument.
    argument: &'a mut Arguments<'v>,
}

impl<'a, 'v> ArgumentChange<'a, 'v> {
    /// The argument of this number; `argument` has one, the new one.
    #[must_use]
    pub fn new(index: usize, argument: &'a mut Arguments<'v>) -> Self {
        argument.finish();
        argument.start_at(index);
        Self { index, argument }
    }
}

impl ArgumentChange<'_, '_> {
    /// Refuses what cannot take the place of the argument.
    fn check(&self, arguments: &KeptArguments, at: &Context) -> Result<(), Error> {
        let index = self.index;
        let Some(bytes) = arguments.bytes(index) else {
            return Err(not_there(arguments, index).at_item(index));
        };
        let size = self.argument.sizes().first().map_or(0, |size| *size as usize);
        // Nothing is read of what has another size.
        if size != bytes.len() {
            return Err(of_another_size(index, bytes.len(), size).at_item(index));
        }
        self.argument.check_objects(at)?;
        self.argument.check_reach(at, Sink::Graph)?;
        self.argument.number_conditions()
    }
}

#[cold]
fn of_another_size(index: usize, takes: usize, given: usize) -> Error {
    invalid(format!("argument {index} takes {takes} bytes, and {given} are given"))
}

/// Whoever tells the driver a part tells it all arguments, and these nobody knows.
#[cold]
pub(super) fn untold() -> Error {
    invalid(
        "the driver does not tell the arguments of this kernel node, which was added without cushim (CUDA 12.4 does); give all of them"
            .to_owned(),
    )
}

#[cold]
fn not_there(arguments: &KeptArguments, index: usize) -> Error {
    if arguments.are_untold() {
        return untold();
    }
    invalid(match (arguments.block(), arguments.len()) {
        (Some(_), 0) => {
            "the arguments were given as one block, and this driver does not tell where each stands"
                .to_owned()
        }
        (_, count) => format!("there is no argument {index}; the kernel of the node has {count}"),
    })
}

impl NodeChange for ArgumentChange<'_, '_> {
    fn node_type(&self) -> NodeType {
        NodeType::Kernel
    }

    fn change_context(&self, _at: &Context) -> Option<Context> {
        None
    }

    fn change_conditions(&self) -> super::Conditions<'_> {
        super::Conditions::of(self.argument)
    }

    fn changed(&mut self, now: &Parameters, at: &Context) -> Result<Parameters, Error> {
        let mut changed = kernel_of(now)?.clone();
        self.check(changed.arguments(), at)?;
        // SAFETY: whoever made the argument vouched for its bytes.
        changed.arguments_mut().replace(self.index, unsafe { KeptArguments::of(self.argument) });
        Ok(Parameters::Kernel(changed))
    }

    fn apply(&mut self, now: &mut Parameters, at: &Context) -> Result<Undo, Error> {
        let Parameters::Kernel(kernel) = now else { return Err(not_known()) };
        let (index, arguments) = (self.index, kernel.arguments_mut());
        let is_plain = arguments.is_value(index) && self.argument.is_plain();
        if !is_plain || arguments.size(index as u32) == 0 {
            return self.changed(now, at).map(|changed| Undo::of(now, changed));
        }
        self.check(arguments, at)?;
        let Some(bytes) = arguments.bytes_mut(index) else { return Err(not_known()) };
        let before = SmallVec::from_slice(bytes);
        let new = self.argument.addresses()[0].cast();
        // SAFETY: it has as many bytes, for which whoever made the argument vouched.
        bytes.copy_from_slice(unsafe { std::slice::from_raw_parts(new, bytes.len()) });
        Ok(Undo(Before::Value(index, before)))
    }

    fn keeps(&self, now: &HandedOver) -> bool {
        !now.0.is_empty() || self.argument.has_owners() || !self.argument.objects().is_empty()
    }

    fn kept(&mut self, HandedOver(now): HandedOver) -> HandedOver {
        let mut holds = now;
        let one = Holds::of_arguments(self.argument);
        let index = self.index as u32;
        if !one.is_empty() || holds.are_for_argument(index) {
            holds.replace_argument(index, one);
        }
        HandedOver(holds)
    }

    fn why(&self, failure: Error, _refused: &Parameters, _at: &Context) -> Error {
        failure
    }
}

/// Memory, value and count of a memset node; what is not given stays.
pub struct MemsetChange<'a> {
    /// The memory.
    pub at: Option<Endpoint<'a>>,
    /// The value.
    pub value: Value,
    /// How many values; 0: as many as before, if it is one row.
    pub count: usize,
}

impl NodeChange for MemsetChange<'_> {
    fn node_type(&self) -> NodeType {
        NodeType::Memset
    }

    fn change_context(&self, _at: &Context) -> Option<Context> {
        None
    }

    fn is_whole(&self) -> bool {
        self.at.is_some() && self.count > 0
    }

    fn changed(&mut self, now: &Parameters, at: &Context) -> Result<Parameters, Error> {
        let Parameters::Memset(now) = now else {
            return Err(invalid("what the node sets is not known here; set all of it".to_owned()));
        };
        let raw = now.raw();
        if raw.height > 1 {
            return Err(invalid(
                "the node sets rows; set place, pitch, width and height together".to_owned(),
            ));
        }
        let count = if self.count == 0 { raw.width } else { self.count };
        let Some(place) = self.at.take() else {
            return Ok(Parameters::Memset(Arc::new(now.with(self.value, count)?)));
        };
        let mut memset = Memset::new(place, self.value, count);
        let parameters = memset.parameters(at);
        self.at = Some(memset.at);
        parameters
    }

    fn keeps(&self, now: &HandedOver) -> bool {
        !now.0.is_empty() || self.at.as_ref().is_some_and(Endpoint::is_kept)
    }

    fn kept(&mut self, HandedOver(now): HandedOver) -> HandedOver {
        let mut holds: Holds = now;
        if let Some(at) = &mut self.at {
            hold_in(&mut holds, 0, at);
        }
        HandedOver(holds)
    }

    fn why(&self, failure: Error, refused: &Parameters, at: &Context) -> Error {
        match refused {
            Parameters::Memset(memset) => memset.explain(failure, at),
            _ => failure,
        }
    }
}

/// One end of a copy node, or both, and how many bytes; what is not given stays.
pub struct CopyChange<'a> {
    /// Where it copies to.
    pub to: Option<Endpoint<'a>>,
    /// Where it copies from.
    pub from: Option<Endpoint<'a>>,
    /// How many bytes; 0: as many as before.
    pub bytes: usize,
}

impl NodeChange for CopyChange<'_> {
    fn node_type(&self) -> NodeType {
        NodeType::Copy
    }

    fn change_context(&self, _at: &Context) -> Option<Context> {
        None
    }

    fn is_whole(&self) -> bool {
        self.to.is_some() && self.from.is_some() && self.bytes > 0
    }

    fn changed(&mut self, now: &Parameters, at: &Context) -> Result<Parameters, Error> {
        let Parameters::Copy(copy) = now else {
            return Err(invalid("what the node copies is not known here; set both ends".to_owned()));
        };
        if !copy.is_range() {
            return Err(invalid(
                "the node is a 2D or 3D copy; set both regions (cushim_node_set_copy_3d)".to_owned(),
            ));
        }
        let bytes = if self.bytes == 0 { copy.raw().WidthInBytes } else { self.bytes };
        let mut changed = CopyParameters::clone(copy);
        changed.set_bytes(bytes);
        if let Some(to) = &self.to {
            let side = to.check("destination", bytes as u64, at)?;
            check_kept(to, "destination", at)?;
            changed.set_to(to, side);
        }
        if let Some(from) = &self.from {
            let side = from.check("source", bytes as u64, at)?;
            check_kept(from, "source", at)?;
            changed.set_from(from, side);
        }
        if self.bytes != 0 {
            changed.check_fits()?;
        }
        Ok(Parameters::Copy(Arc::new(changed)))
    }

    fn keeps(&self, now: &HandedOver) -> bool {
        let ends = [&self.to, &self.from];
        !now.0.is_empty() || ends.into_iter().flatten().any(Endpoint::is_kept)
    }

    fn kept(&mut self, HandedOver(now): HandedOver) -> HandedOver {
        let mut holds: Holds = now;
        for (slot, end) in (0..).zip([&mut self.to, &mut self.from]) {
            if let Some(end) = end {
                hold_in(&mut holds, slot, end);
            }
        }
        HandedOver(holds)
    }

    fn why(&self, failure: Error, refused: &Parameters, at: &Context) -> Error {
        match refused {
            Parameters::Copy(copy) => copy.explain(failure, at),
            _ => failure,
        }
    }
}
