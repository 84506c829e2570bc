//! Launches of kernels.

use super::arguments::packed;
use super::event::{check_event, stands_for_work};
use super::reach::Sink;
use super::{Arguments, Captured, Operation, Traits};
use crate::check::{Deed, Deeds, Touch};
use crate::context::Context;
use crate::driver::calls::kernel::launch::{self as calls, RawArguments, RawAttributes};
use crate::event::Event;
use crate::kernel::{Kernel, LaunchConfig, refusal};
use crate::object::callback::Owner;
use crate::object::error::Error;
use crate::stream::Stream;

/// Runs a kernel.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
/// use cushim::memory::DeviceMemory;
/// use cushim::op::{Arguments, Launch};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// let image = Image::new(
///     ".version 7.0
///      .target sm_70
///      .address_size 64
///      .visible .entry store(.param .u64 to, .param .u32 number) {
///          .reg .u64 %to;
///          .reg .u32 %number;
///          ld.param.u64 %to, [to];
///          ld.param.u32 %number, [number];
///          st.global.u32 [%to], %number;
///          ret;
///      }",
/// )?;
/// let kernel = Library::load(&context, &image, &LoadOptions::default())?.kernel("store")?;
/// let memory = DeviceMemory::allocate(&context, 4)?;
/// let mut arguments = Arguments::new();
/// arguments.push(memory.pointer()).push(&42_u32);
/// // SAFETY: the kernel takes a pointer and a number, and writes four bytes there.
/// unsafe { stream.enqueue(&mut Launch::new(&kernel, &LaunchConfig::new(1, 1), &mut arguments)) }?;
/// stream.synchronize()?;
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// The arguments are of the types that the kernel takes: their number and sizes are checked where the driver knows them,
/// from 12.4 on.
pub struct Launch<'a, 'v> {
    pub(super) kernel: &'a Kernel,
    pub(super) config: &'a LaunchConfig<'a>,
    pub(super) arguments: LaunchArguments<'a, 'v>,
}

/// A launch whose arguments were held against the kernel.
pub struct Checked<'a>(RawArguments<'a>);

impl<'a> Checked<'a> {
    /// The block of arguments, without what may follow the last.
    pub(super) fn block(&self) -> &'a [u8] {
        match self.0 {
            RawArguments::Packed(block) => block,
            RawArguments::Each(_) => &[],
        }
    }
}

pub(super) enum LaunchArguments<'a, 'v> {
    Each(&'a mut Arguments<'v>),
    Packed(&'a [u8]),
}

impl<'a, 'v> Launch<'a, 'v> {
    /// With an argument for each parameter of the kernel.
    #[inline(always)]
    #[must_use]
    pub fn new(kernel: &'a Kernel, config: &'a LaunchConfig<'a>, arguments: &'a mut Arguments<'v>) -> Self {
        arguments.finish();
        Self { kernel, config, arguments: LaunchArguments::Each(arguments) }
    }

    /// With all arguments in one block, laid out as [`Kernel::parameters`] says: like a C struct of the parameters. Before
    /// driver 12.4 the block must end with the last of them.
    #[inline(always)]
    #[must_use]
    pub fn packed(kernel: &'a Kernel, config: &'a LaunchConfig<'a>, block: &'a [u8]) -> Self {
        Self { kernel, config, arguments: LaunchArguments::Packed(block) }
    }

    /// Refuses what is known to be wrong, before any effect.
    #[inline(always)]
    pub(super) fn check_for<'c>(&'c self, at: &'c Context, sink: Sink) -> Result<Checked<'c>, Error> {
        self.config.check(Some(self.kernel))?;
        self.kernel.check_in(at)?;
        if let Some(trigger) = &self.config.programmatic_event {
            check_event(trigger.event, at)?;
        }
        match &self.arguments {
            LaunchArguments::Each(arguments) => {
                arguments.check(self.kernel, at)?;
                arguments.check_reach(at, sink)?;
                arguments.number_conditions()?;
                Ok(Checked(RawArguments::Each(arguments.addresses())))
            }
            LaunchArguments::Packed(block) => Ok(Checked(RawArguments::Packed(packed(self.kernel, block)?))),
        }
    }

    /// Gives it to the driver.
    ///
    /// # Safety
    /// As for [`Stream::enqueue`].
    #[inline(always)]
    unsafe fn issue(&self, Checked(arguments): Checked<'_>, stream: &Stream) -> Result<(), Error> {
        let mut attributes = RawAttributes::new();
        self.config.list(&mut attributes);
        let (kernel, shape) = (self.kernel.raw(), self.config.shape());
        // SAFETY: the caller vouches for what the kernel does with the arguments; the stream is alive.
        unsafe { calls::launch(kernel, stream.raw().handle(), &shape, &mut attributes, arguments) }
            .map_err(|error| self.refused(stream.context().failed(error, self.kernel), stream))
    }

    #[cold]
    fn refused(&self, failure: Error, stream: &Stream) -> Error {
        refusal::explain(failure, self.config, self.kernel, stream.context())
    }
}

impl Operation for Launch<'_, '_> {
    type Output = ();
    type Checked<'a>
        = Checked<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        let has_owners = match &self.arguments {
            LaunchArguments::Each(arguments) => arguments.has_owners(),
            LaunchArguments::Packed(_) => false,
        };
        let has_conditions = match &self.arguments {
            LaunchArguments::Each(arguments) => arguments.has_conditions(),
            LaunchArguments::Packed(_) => false,
        };
        Traits { has_owners, has_conditions, ..Traits::default() }
    }

    #[inline(always)]
    fn check<'a>(&'a self, at: &'a Context) -> Result<Checked<'a>, Error> {
        self.check_for(at, Sink::Stream)
    }
    #[inline]
    fn check_again<'a>(&'a self, _at: &'a Context) -> Result<Checked<'a>, Error> {
        match &self.arguments {
            LaunchArguments::Each(arguments) => Ok(Checked(RawArguments::Each(arguments.addresses()))),
            LaunchArguments::Packed(block) => Ok(Checked(RawArguments::Packed(packed(self.kernel, block)?))),
        }
    }

    #[inline(always)]
    unsafe fn enqueue(&self, checked: Checked<'_>, stream: &Stream) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        unsafe { self.issue(checked, stream) }?;
        if let Some(trigger) = &self.config.programmatic_event {
            stands_for_work(trigger.event);
        }
        Ok(())
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new(self.kernel.to_string());
        let name = Some(self.kernel.name());
        match &self.arguments {
            LaunchArguments::Each(arguments) => arguments.touch(name, &mut deeds),
            LaunchArguments::Packed(block) => {
                let layout = self.kernel.layout().unwrap_or_default().iter().enumerate();
                for (index, parameter) in layout.filter(|(_, parameter)| parameter.size == size_of::<u64>()) {
                    let bytes = block.get(parameter.offset..parameter.offset + parameter.size);
                    if let Some(bytes) = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok()) {
                        deeds.touch(Touch::argument(index, u64::from_ne_bytes(bytes), name));
                    }
                }
            }
        }
        if let Some(trigger) = &self.config.programmatic_event {
            deeds.push(Deed::Records(trigger.event.raw().handle().addr()));
        }
        deeds
    }

    fn take_owners(&mut self) -> Vec<Owner> {
        match &mut self.arguments {
            LaunchArguments::Each(arguments) => arguments.take_owners(),
            LaunchArguments::Packed(_) => Vec::new(),
        }
    }

    fn captured(&mut self) -> Captured<'_> {
        Captured::Node(self)
    }

    unsafe fn enqueue_captured(&self, checked: Checked<'_>, stream: &Stream) -> Result<(), Error> {
        if let Some(refusal) = refusal::shape_beyond_limits(self.config, self.kernel, stream.context()) {
            return Err(refusal);
        }
        // SAFETY: as the caller vouches.
        unsafe { self.issue(checked, stream) }
    }

    fn records(&self) -> Option<&Event> {
        self.config.programmatic_event.map(|trigger| trigger.event)
    }
}
