//! How a kernel is launched.

use super::Kernel;
use crate::context::Context;
use crate::driver::calls::kernel::launch::{RawAttributes, RawShape};
use crate::driver::sys;
use crate::event::Event;
use crate::object::error::{Error, Status};
use crate::object::setters::setters;

/// How a kernel is launched: how many blocks, of how many threads, and what the launch is besides.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LaunchConfig<'a> {
    /// Blocks in each direction; 1 in each by default. At least 1 in x; 0 in y or z means 1.
    pub grid: [u32; 3],
    /// Threads of a block in each direction; 1 in each by default. At least 1 in x; 0 in y or z means 1.
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
    /// The context in which a kernel node of a graph runs, where that is not the graph's own. Without effect in a stream, which
    /// has its own.
    pub context: Option<&'a Context>,
    /// Other attributes of the driver's, by number (`CU_LAUNCH_ATTRIBUTE_*`), with the bytes of their values. At most 24.
    pub others: &'a [(sys::CUlaunchAttributeID, [u8; 64])],
}

setters!(<'a> LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    cluster: [u32; 3] => Some,
    cooperative: bool,
    priority: i32 => Some,
    programmatic_serialization: bool,
    programmatic_event: ProgrammaticEvent<'a> => Some,
    memory_sync_domain: MemorySyncDomain,
    context: &'a Context => Some,
    others: &'a [(sys::CUlaunchAttributeID, [u8; 64])],
});

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

impl Default for LaunchConfig<'_> {
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
            context: None,
            others: &[],
        }
    }
}

impl LaunchConfig<'_> {
    /// So many blocks of so many threads.
    #[must_use]
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], ..Self::default() }
    }

    /// As many blocks of so many threads as `elements` need, a thread each; the last block may have threads left over.
    ///
    /// ```
    /// # use cushim::kernel::LaunchConfig;
    /// assert_eq!(LaunchConfig::covering(1000, 256).grid, [4, 1, 1]);
    /// ```
    #[must_use]
    pub fn covering(elements: u32, threads: u32) -> Self {
        Self::new(elements.div_ceil(threads.max(1)), threads)
    }

    /// Refuses what no kernel can be launched with, of which `kernel` is the one, where it is known. A launch of no blocks, as `(n + 255) / 256` gives for no elements, is most
    /// likely a mistake of the caller's.
    #[inline]
    pub(crate) fn check(&self, kernel: Option<&Kernel>) -> Result<(), Error> {
        if self.grid[0] == 0 || self.block[0] == 0 || self.others.len() > OTHERS {
            return Err(self.impossible(kernel));
        }
        Ok(())
    }

    #[cold]
    fn impossible(&self, kernel: Option<&Kernel>) -> Error {
        let why = if self.grid[0] == 0 {
            "the grid has 0 blocks in x; leave out a launch that has nothing to do".to_owned()
        } else if self.block[0] == 0 {
            "the block has 0 threads in x; it needs at least 1".to_owned()
        } else {
            format!("{} attributes by number are more than a launch takes, {OTHERS}", self.others.len())
        };
        let refused = |why| Error::new(Status::INVALID_ARGUMENT, why);
        match kernel {
            Some(kernel) => refused(format!("{kernel} cannot be launched: {why}")).about(kernel),
            None => refused(why),
        }
    }

    /// Grid and block; a 0 in y or z means 1.
    #[inline]
    pub(crate) fn shape(&self) -> RawShape {
        RawShape { grid: full(self.grid), block: full(self.block), shared: self.shared }
    }

    /// The same with sizes that mean what they say.
    pub(super) fn filled(&self) -> Self {
        Self { grid: full(self.grid), block: full(self.block), ..*self }
    }

    /// Lists the attributes of the launch.
    #[inline(always)]
    pub(crate) fn list(&self, list: &mut RawAttributes) {
        if !self.is_plain() {
            self.list_each(list);
        }
    }

    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.cluster.is_none()
            && !self.cooperative
            && self.priority.is_none()
            && !self.programmatic_serialization
            && self.programmatic_event.is_none()
            && self.memory_sync_domain == MemorySyncDomain::Unset
            && self.others.is_empty()
    }

    #[inline(never)]
    fn list_each(&self, list: &mut RawAttributes) {
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
        for (id, bytes) in self.others {
            list.push_bytes(*id, *bytes);
        }
    }
}

/// A size in each direction, of which 0 in y or z means 1.
#[inline]
fn full([x, y, z]: [u32; 3]) -> [u32; 3] {
    [x, y.max(1), z.max(1)]
}

/// How many attributes may be given by number, besides those with a name.
const OTHERS: usize = RawAttributes::MOST - 8;

impl ProgrammaticEvent<'_> {
    fn raw(self) -> sys::CUlaunchAttributeValue_programmaticEvent {
        sys::CUlaunchAttributeValue_programmaticEvent {
            event: self.event.native_in_graph(),
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
