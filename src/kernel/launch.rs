//! Launches.

use super::arguments::packed;
use super::{Argument, Arguments, Kernel, refusal};
use crate::callback::{self, Owner};
use crate::driver::calls::kernel::launch::{self as calls, RawArguments, RawAttributes, RawShape};
use crate::driver::sys;
use crate::error::{Error, Status};
use crate::event::Event;
use crate::stream::Stream;
use std::sync::Arc;

/// How a kernel is launched: how many blocks, of how many threads, and what the launch is besides.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Launch<'a> {
    /// Blocks in each direction; 1 in each by default.
    pub grid: [u32; 3],
    /// Threads of a block in each direction; 1 in each by default.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block. More than 48 KiB must be allowed by the kernel's attribute
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` before.
    pub shared: u32,
    /// Blocks of a cluster in each direction, by which the grid is divisible; driver 11.8, and a device with the feature
    /// `thread-block-clusters`.
    pub cluster: Option<[u32; 3]>,
    /// All blocks run at once, so that they can wait for each other; a device with the feature `cooperative-launch`.
    pub cooperative: bool,
    /// The priority in place of the stream's; the driver takes the nearest that there is. Driver 11.8.
    pub priority: Option<i32>,
    /// The kernel may start before the one ahead of it in the stream is done, and waits where it says so itself
    /// (`griddepcontrol.wait`). Driver 11.8; without effect before compute capability 9.0.
    pub programmatic_serialization: bool,
    /// An event that the kernel's blocks trigger. Driver 11.8.
    pub programmatic_event: Option<ProgrammaticEvent<'a>>,
    /// The domain in which the kernel's fences hold. Driver 12.0.
    pub memory_sync_domain: MemorySyncDomain,
    /// Other attributes of the driver's, by number (`CU_LAUNCH_ATTRIBUTE_*`), with the bytes of their values. At most 24.
    pub others: &'a [(sys::CUlaunchAttributeID, [u8; 64])],
}

/// An event that the blocks of a kernel trigger, each for itself; it is done when all have.
#[derive(Debug, Clone, Copy)]
pub struct ProgrammaticEvent<'a> {
    /// The event, untimed.
    pub event: &'a Event,
    /// Flags of the record, `CU_EVENT_RECORD_*`.
    pub flags: u32,
    /// Each block triggers when it starts; otherwise where it says so itself (`griddepcontrol.launch_dependents`).
    pub at_block_start: bool,
}

/// In which domain the fences of a kernel hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemorySyncDomain {
    /// Whatever the driver, or the stream, has set.
    #[default]
    Unset,
    /// The default domain.
    Default,
    /// The one for kernels that talk to other devices.
    Remote,
}

impl Default for Launch<'_> {
    fn default() -> Self {
        Self {
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            cluster: None,
            cooperative: false,
            priority: None,
            programmatic_serialization: false,
            programmatic_event: None,
            memory_sync_domain: MemorySyncDomain::Unset,
            others: &[],
        }
    }
}

impl<'a> Launch<'a> {
    /// So many blocks of so many threads.
    #[must_use]
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], ..Self::default() }
    }

    /// Enqueues the kernel in the stream, with an argument for each of its parameters.
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::kernel::{Image, Launch, Library, LoadOptions};
    /// use cushim::memory::DeviceMemory;
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
    /// // SAFETY: the kernel takes a pointer and a number, and writes four bytes there.
    /// unsafe { Launch::new(1, 1).enqueue(&kernel, &stream, [memory.pointer().into(), (&42_u32).into()]) }?;
    /// stream.synchronize()?;
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Safety
    /// The arguments are of the types that the kernel takes (their number and sizes are checked where the driver knows
    /// them, from 12.4 on), and what the kernel does with them is good: memory is alive until the kernel is done.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if number or sizes of the arguments are not the kernel's; [`Status::INVALID_HANDLE`]
    /// if kernel and stream belong to different drivers; [`Status::UNSUPPORTED`] for what the driver is too old for; the
    /// driver's, with the limit that was exceeded in the sentence. Nothing is enqueued then, and owners are released.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn enqueue<'b>(
        &self,
        kernel: &Kernel,
        stream: &Stream,
        arguments: impl IntoIterator<Item = Argument<'b>>,
    ) -> Result<(), Error> {
        let mut list = Arguments::new();
        let mut owners = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Bytes(bytes) => list.push_at(kernel, bytes.as_ptr().cast(), bytes.len())?,
                Argument::Pointer(pointer) => list.push_pointer(kernel, pointer)?,
                Argument::Owned(pointer, owner) => {
                    list.push_pointer(kernel, pointer)?;
                    owners.push(owner);
                }
            }
        }
        self.enqueue_list(kernel, stream, &mut list)?;
        release_when_done(stream, owners);
        Ok(())
    }

    /// Enqueues the kernel in the stream, with all arguments in one block, laid out as [`Kernel::parameters`] says: like a
    /// C struct of the parameters. Before driver 12.4 the block must end with the last of them.
    ///
    /// # Safety
    /// As for [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    #[allow(unsafe_code)] // as above
    pub unsafe fn enqueue_packed(&self, kernel: &Kernel, stream: &Stream, block: &[u8]) -> Result<(), Error> {
        self.enqueue_raw(kernel, stream, RawArguments::Packed(packed(kernel, block)?))
    }

    /// What both tiers do once the arguments are listed.
    #[inline]
    pub(crate) fn enqueue_list(
        &self,
        kernel: &Kernel,
        stream: &Stream,
        arguments: &mut Arguments,
    ) -> Result<(), Error> {
        let addresses = arguments.addresses(kernel)?;
        self.enqueue_raw(kernel, stream, RawArguments::Each(addresses))
    }

    #[inline]
    fn enqueue_raw(
        &self,
        kernel: &Kernel,
        stream: &Stream,
        arguments: RawArguments<'_>,
    ) -> Result<(), Error> {
        check_place(kernel, stream)?;
        let mut attributes = RawAttributes::new();
        self.list(&mut attributes)?;
        let _current = stream.enter_if_default()?;
        calls::launch(kernel.raw(), stream.raw().handle(), &self.shape(), &mut attributes, arguments).map_err(
            |error| {
                let failure = stream.context().failed(error, kernel);
                refusal::explain(failure, self, kernel, stream)
            },
        )
    }

    pub(super) fn shape(&self) -> RawShape {
        RawShape { grid: self.grid, block: self.block, shared: self.shared }
    }

    /// Lists the attributes of the launch.
    #[inline]
    pub(super) fn list(&self, list: &mut RawAttributes) -> Result<(), Error> {
        if self.is_plain() { Ok(()) } else { self.list_each(list) }
    }

    #[inline]
    fn is_plain(&self) -> bool {
        self.cluster.is_none()
            && !self.cooperative
            && self.priority.is_none()
            && !self.programmatic_serialization
            && self.programmatic_event.is_none()
            && self.memory_sync_domain == MemorySyncDomain::Unset
            && self.others.is_empty()
    }

    fn list_each(&self, list: &mut RawAttributes) -> Result<(), Error> {
        use sys::CUlaunchAttributeValue as Value;
        if let Some([x, y, z]) = self.cluster {
            let value = Value { clusterDim: sys::CUlaunchAttributeValue_clusterDim { x, y, z } };
            list.push(sys::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
        }
        if self.cooperative {
            list.push(sys::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, Value { cooperative: 1 });
        }
        if let Some(priority) = self.priority {
            list.push(sys::CU_LAUNCH_ATTRIBUTE_PRIORITY, Value { priority });
        }
        if self.programmatic_serialization {
            let value = Value { programmaticStreamSerializationAllowed: 1 };
            list.push(sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value);
        }
        if let Some(event) = self.programmatic_event {
            let value = Value { programmaticEvent: event.raw() };
            list.push(sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, value);
        }
        if let Some(domain) = self.memory_sync_domain.raw() {
            list.push(sys::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, Value { memSyncDomain: domain });
        }
        if self.others.len() > OTHERS {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                format!("{} attributes by number are more than a launch takes, {OTHERS}", self.others.len()),
            ));
        }
        for (id, bytes) in self.others {
            list.push_bytes(*id, *bytes);
        }
        Ok(())
    }
}

/// How many attributes may be given by number, besides those with a name.
const OTHERS: usize = RawAttributes::MOST - 8;

impl ProgrammaticEvent<'_> {
    fn raw(self) -> sys::CUlaunchAttributeValue_programmaticEvent {
        sys::CUlaunchAttributeValue_programmaticEvent {
            event: self.event.native(),
            flags: self.flags.cast_signed(),
            triggerAtBlockStart: i32::from(self.at_block_start),
        }
    }
}

impl MemorySyncDomain {
    fn raw(self) -> Option<sys::CUlaunchMemSyncDomain> {
        match self {
            Self::Unset => None,
            Self::Default => Some(sys::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT),
            Self::Remote => Some(sys::CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE),
        }
    }
}

/// Refuses a kernel and a stream that do not go together.
#[inline]
pub(super) fn check_place(kernel: &Kernel, stream: &Stream) -> Result<(), Error> {
    let (of_kernel, of_stream) = (kernel.context(), stream.context());
    if std::ptr::eq(Arc::as_ptr(of_kernel), Arc::as_ptr(of_stream)) {
        return of_kernel.check_there(kernel);
    }
    stream.same_driver(kernel.driver(), kernel)?;
    of_kernel.check_there(kernel)?;
    if kernel.raw().is_of_one_context() { of_stream.has(of_kernel, kernel) } else { Ok(()) }
}

/// Lets go of what the arguments need when the work enqueued by now is done.
#[inline]
pub(crate) fn release_when_done(stream: &Stream, owners: Vec<Owner>) {
    if !owners.is_empty() {
        release_some_when_done(stream, owners);
    }
}

fn release_some_when_done(stream: &Stream, owners: Vec<Owner>) {
    // A function that the stream reaches after the kernel; or, where it takes none, waiting here.
    let all = Owner::keeping(owners);
    if let Err((_, owner)) = callback::launch(stream, Box::new(|| ()), Some(all)) {
        if let Err(error) = stream.synchronize() {
            log::warn!(target: "cushim", "waiting for a kernel, to release what its arguments need, failed: {error}");
        }
        drop(owner);
    }
}
