//! Launches.
//!
//! @header cushim.h
//! @task launch kernels

use super::arguments::{self, CallersArguments, FEW_BUFFERS, cushim_arg};
use super::object::cushim_kernel;
use crate::capi::context::cushim_context;
use crate::capi::driver_types::CUlaunchAttributeID;
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::event::cushim_event;
use crate::capi::handles::{borrowed, enter, get};
use crate::capi::pointer::MOST_OF_BLOCK;
use crate::capi::stream::cushim_stream;
use crate::capi::{input, options};
use crate::context::Context;
use crate::event::Event;
use crate::kernel::{Kernel, LaunchConfig, MemorySyncDomain, ProgrammaticEvent};
use crate::object::callback::Lending;
use crate::object::error::{Error, Status};
use crate::object::handle::Guard;
use crate::op::node::KernelParameters;
use crate::op::{Arguments, Launch};
use crate::stream::Stream;
use std::ffi::c_void;

/// A number in each of three directions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_dim3 {
    /// In the first.
    pub x: u32,
    /// In the second.
    pub y: u32,
    /// In the third.
    pub z: u32,
}

/// What `cushim_launch_config.flags` may contain.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_launch_flags {
    /// All blocks run at once, so that they can wait for each other; a device with the feature "cooperative-launch".
    CUSHIM_LAUNCH_COOPERATIVE = 1,
    /// `priority` is set, and counts in place of the stream's. Driver 11.8.
    CUSHIM_LAUNCH_PRIORITY = 2,
    /// The kernel may start before the one ahead of it in the stream is done, and waits where it says so itself
    /// (`griddepcontrol.wait`). Driver 11.8; without effect before compute capability 9.0.
    CUSHIM_LAUNCH_PROGRAMMATIC_SERIALIZATION = 4,
    /// The blocks trigger `programmatic_event` when they start, not where they say so themselves.
    CUSHIM_LAUNCH_TRIGGER_AT_BLOCK_START = 8,
}

/// In which domain the fences of a kernel hold. Driver 12.0.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_memory_sync_domain {
    /// Whatever the driver, or the stream, has set.
    CUSHIM_MEMORY_SYNC_DOMAIN_UNSET = 0,
    /// The default domain.
    CUSHIM_MEMORY_SYNC_DOMAIN_DEFAULT = 1,
    /// The one for kernels that talk to other devices.
    CUSHIM_MEMORY_SYNC_DOMAIN_REMOTE = 2,
}

/// An attribute of a launch that has no member of its own here, of a stream, or of a kernel node.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_launch_attribute {
    /// @field[enum(CUlaunchAttributeID)] Its number, a `CUlaunchAttributeID`.
    pub id: i32,
    /// Zero.
    pub reserved: u32,
    /// Its value: the bytes of a `CUlaunchAttributeValue`.
    pub value: [u8; 64],
}

impl cushim_launch_attribute {
    pub(in crate::capi) const NONE: Self = Self { id: 0, reserved: 0, value: [0; 64] };

    /// The number and the value.
    pub(in crate::capi) fn checked(self) -> Result<(i32, [u8; 64]), Error> {
        options::check_reserved(self.reserved)?;
        Ok((self.id, self.value))
    }
}

/// How a kernel is launched. Zero means the default, except in `grid.x` and `block.x`, which are at least 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_launch_config {
    /// Bytes of this struct, `sizeof(cushim_launch_config)`.
    pub struct_size: usize,
    /// @field[example(.x = 1)] Blocks in each direction: at least 1 in x, since a computed 0 is a likely mistake; 0
    ///   in y or z means 1.
    pub grid: cushim_dim3,
    /// @field[example(.x = 1)] Threads of a block in each direction: at least 1 in x; 0 in y or z means 1.
    pub block: cushim_dim3,
    /// Blocks of a cluster in each direction, by which the grid is divisible; 0 means 1, and three zeros mean no
    /// clusters. Driver 11.8, and a device with the feature "thread-block-clusters".
    pub cluster: cushim_dim3,
    /// Bytes of dynamic shared memory for each block. More than 48 KiB must be allowed before, by
    /// `cushim_kernel_set_attribute`.
    pub shared_bytes: u32,
    /// @field[flags(cushim_launch_flags)] A combination of `cushim_launch_flags`.
    pub flags: u32,
    /// The priority, with `CUSHIM_LAUNCH_PRIORITY`; the driver takes the nearest that there is. Otherwise 0.
    pub priority: i32,
    /// @field[enum(cushim_memory_sync_domain)] A `cushim_memory_sync_domain`.
    pub memory_sync_domain: i32,
    /// @field[flags(CUevent_record_flags)] Flags of the record of `programmatic_event`, `CU_EVENT_RECORD_*`.
    pub programmatic_event_flags: u32,
    /// @field[nullable] An untimed event that the blocks trigger, each for itself; it is done when all have. May be
    ///   NULL. Driver 11.8.
    pub programmatic_event: cushim_event,
    /// @field[nullable, array(attribute_count)] Other attributes of the driver's, at most 24; NULL if there are none.
    pub attributes: *const cushim_launch_attribute,
    /// How many.
    pub attribute_count: usize,
    /// Bytes from one to the next; 0 means `sizeof(cushim_launch_attribute)`.
    pub attribute_stride: usize,
    /// @field[nullable] The context in which a kernel node of a graph runs; NULL: the context of the graph. Without
    ///   effect in a stream, which has its own.
    pub context: cushim_context,
}

const COOPERATIVE: u32 = cushim_launch_flags::CUSHIM_LAUNCH_COOPERATIVE as u32;
const PRIORITY: u32 = cushim_launch_flags::CUSHIM_LAUNCH_PRIORITY as u32;
const SERIALIZATION: u32 = cushim_launch_flags::CUSHIM_LAUNCH_PROGRAMMATIC_SERIALIZATION as u32;
const AT_BLOCK_START: u32 = cushim_launch_flags::CUSHIM_LAUNCH_TRIGGER_AT_BLOCK_START as u32;

/// What a configuration has besides sizes; what it names is held for the time of the launch.
#[derive(Default)]
struct Special {
    event: Option<Event>,
    context: Option<Context>,
    domain: MemorySyncDomain,
    others: Vec<(CUlaunchAttributeID, [u8; 64])>,
}

/// A configuration as the caller gave it, checked.
pub(in crate::capi) struct Config {
    given: cushim_launch_config,
    special: Special,
}

/// A configuration of sizes alone, as most launches have it: nothing in it is looked up or kept. `None` for any
/// other.
///
/// # Safety
/// As for [`Config::read`].
#[inline(always)]
unsafe fn sizes(config: *const cushim_launch_config) -> Option<LaunchConfig<'static>> {
    if config.is_null() {
        return Some(LaunchConfig::default());
    }
    if !config.is_aligned() {
        return None;
    }
    // SAFETY: the caller vouches for as many bytes as the first member says.
    unsafe {
        if config.cast::<usize>().read() != size_of::<cushim_launch_config>() {
            return None;
        }
        let given = config.read();
        let has_cluster = given.cluster.x | given.cluster.y | given.cluster.z != 0;
        (!has_cluster && is_plain(&given)).then(|| LaunchConfig {
            grid: [given.grid.x, given.grid.y, given.grid.z],
            block: [given.block.x, given.block.y, given.block.z],
            shared: given.shared_bytes,
            ..LaunchConfig::default()
        })
    }
}

/// A configuration of any kind. What it names stays in `kept` for as long as it is used.
///
/// # Safety
/// As for [`Config::read`].
#[inline(always)]
pub(in crate::capi) unsafe fn launch_config<'a>(
    guard: &Guard,
    config: *const cushim_launch_config,
    kept: &'a mut Option<Config>,
) -> Result<LaunchConfig<'a>, Error> {
    // SAFETY: as the caller vouches.
    unsafe {
        match sizes(config) {
            Some(config) => Ok(config),
            None => Ok(kept.insert(Config::read(guard, config)?).launch()),
        }
    }
}

impl Config {
    /// # Safety
    /// `config` is NULL or valid for the bytes that its `struct_size` names, and its array is as long as it says.
    pub(in crate::capi) unsafe fn read(
        guard: &Guard,
        config: *const cushim_launch_config,
    ) -> Result<Self, Error> {
        // SAFETY: the caller vouches for `config`; all its members may be zero.
        let mut given = unsafe { options::read(config, "config") }?;
        if config.is_null() {
            (given.grid.x, given.block.x) = (1, 1);
        }
        if is_plain(&given) {
            return Ok(Self { given, special: Special::default() });
        }
        // SAFETY: the caller vouches for the array.
        let special = unsafe { Special::read(guard, &given) }?;
        Ok(Self { given, special })
    }

    pub(in crate::capi) fn launch(&self) -> LaunchConfig<'_> {
        let (given, special) = (&self.given, &self.special);
        let has_cluster = given.cluster.x | given.cluster.y | given.cluster.z != 0;
        LaunchConfig {
            grid: [given.grid.x, given.grid.y, given.grid.z],
            block: [given.block.x, given.block.y, given.block.z],
            cluster: has_cluster.then(|| size(given.cluster)),
            shared: given.shared_bytes,
            cooperative: given.flags & COOPERATIVE != 0,
            priority: (given.flags & PRIORITY != 0).then_some(given.priority),
            programmatic_serialization: given.flags & SERIALIZATION != 0,
            memory_sync_domain: special.domain,
            context: special.context.as_ref(),
            others: &special.others,
            programmatic_event: special.event.as_ref().map(|event| ProgrammaticEvent {
                event,
                flags: given.programmatic_event_flags,
                at_block_start: given.flags & AT_BLOCK_START != 0,
            }),
        }
    }
}

/// Whether there are sizes, and nothing that has to be checked.
#[inline(always)]
fn is_plain(given: &cushim_launch_config) -> bool {
    given.flags == 0
        && given.priority == 0
        && given.memory_sync_domain == 0
        && given.programmatic_event_flags == 0
        && given.programmatic_event.is_null()
        && given.attributes.is_null()
        && given.attribute_count == 0
        && given.attribute_stride == 0
        && given.context.is_null()
}

impl Special {
    /// # Safety
    /// The array of `given` is as long as it says.
    #[inline(never)]
    unsafe fn read(guard: &Guard, given: &cushim_launch_config) -> Result<Self, Error> {
        options::check_flags(given.flags, COOPERATIVE | PRIORITY | SERIALIZATION | AT_BLOCK_START)?;
        if given.flags & PRIORITY == 0 && given.priority != 0 {
            return Err(refused("priority is set, and flags lack CUSHIM_LAUNCH_PRIORITY"));
        }
        let has_event = !given.programmatic_event.is_null();
        if !has_event && (given.flags & AT_BLOCK_START != 0 || given.programmatic_event_flags != 0) {
            return Err(refused("there are flags for a programmatic_event, and it is NULL"));
        }
        // SAFETY: the caller vouches for the array.
        let attributes = unsafe {
            options::array(given.attributes, given.attribute_count, given.attribute_stride, "attributes")
        }?;
        let mut others = Vec::new();
        for attribute in attributes {
            let (id, value) = attribute.checked()?;
            others.push((CUlaunchAttributeID(id), value));
        }
        let event = if has_event { Some(get(guard, given.programmatic_event)?.clone()) } else { None };
        let context = if given.context.is_null() { None } else { Some(get(guard, given.context)?.clone()) };
        Ok(Self { event, context, domain: domain(given.memory_sync_domain)?, others })
    }
}

/// The configuration of a kernel node, as callers give it.
pub(in crate::capi) fn told_config(
    kernel: &KernelParameters,
    context: cushim_context,
) -> Result<cushim_launch_config, Error> {
    use crate::capi::driver_types as sys;
    let dim = |[x, y, z]: [u32; 3]| cushim_dim3 { x, y, z };
    let mut config = cushim_launch_config {
        struct_size: size_of::<cushim_launch_config>(),
        grid: dim(kernel.grid()),
        block: dim(kernel.block()),
        cluster: dim([0; 3]),
        shared_bytes: kernel.shared(),
        flags: 0,
        priority: 0,
        memory_sync_domain: 0,
        programmatic_event_flags: 0,
        programmatic_event: std::ptr::null_mut(),
        attributes: std::ptr::null(),
        attribute_count: 0,
        attribute_stride: 0,
        context,
    };
    for attribute in kernel.attributes() {
        // SAFETY: the number says which member is meant.
        unsafe {
            match attribute.id {
                sys::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    let size = attribute.value.clusterDim;
                    config.cluster = dim([size.x, size.y, size.z]);
                }
                sys::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                    config.flags |= if attribute.value.cooperative != 0 { COOPERATIVE } else { 0 };
                }
                sys::CU_LAUNCH_ATTRIBUTE_PRIORITY => {
                    config.flags |= PRIORITY;
                    config.priority = attribute.value.priority;
                }
                sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => config.flags |= SERIALIZATION,
                sys::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                    let trigger = attribute.value.programmaticEvent;
                    let event =
                        kernel.kernel().and_then(|kernel| Event::of_native(kernel.driver(), trigger.event));
                    config.programmatic_event = event.as_ref().map_or(Ok(std::ptr::null_mut()), borrowed)?;
                    config.programmatic_event_flags = trigger.flags.cast_unsigned();
                    config.flags |= if trigger.triggerAtBlockStart != 0 { AT_BLOCK_START } else { 0 };
                }
                sys::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => {
                    let is_remote = attribute.value.memSyncDomain == sys::CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
                    config.memory_sync_domain = (match is_remote {
                        true => cushim_memory_sync_domain::CUSHIM_MEMORY_SYNC_DOMAIN_REMOTE,
                        false => cushim_memory_sync_domain::CUSHIM_MEMORY_SYNC_DOMAIN_DEFAULT,
                    }) as i32;
                }
                _ => config.attribute_count += 1,
            }
        }
    }
    Ok(config)
}

fn size(given: cushim_dim3) -> [u32; 3] {
    [given.x.max(1), given.y.max(1), given.z.max(1)]
}

fn domain(number: i32) -> Result<MemorySyncDomain, Error> {
    match number {
        n if n == cushim_memory_sync_domain::CUSHIM_MEMORY_SYNC_DOMAIN_UNSET as i32 => {
            Ok(MemorySyncDomain::Unset)
        }
        n if n == cushim_memory_sync_domain::CUSHIM_MEMORY_SYNC_DOMAIN_DEFAULT as i32 => {
            Ok(MemorySyncDomain::Default)
        }
        n if n == cushim_memory_sync_domain::CUSHIM_MEMORY_SYNC_DOMAIN_REMOTE as i32 => {
            Ok(MemorySyncDomain::Remote)
        }
        _ => {
            Err(refused(&format!("memory_sync_domain is {number}; use a cushim_memory_sync_domain, 0 to 2")))
        }
    }
}

#[cold]
fn refused(why: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, why)
}

/// Enqueues a kernel in a stream.
///
/// The number and the sizes of the arguments are held against the kernel's parameters where the driver knows them,
/// from 12.4 on; before, they are the caller's to get right. What the kernel reads and writes must be alive until it
/// is done.
///
/// @param[in] kernel The kernel.
/// @param[in] stream The stream, of any context of the kernel's driver; of the kernel's own context before driver
///   12.0.
/// @param[in, nullable] config How it is launched; NULL: one block of one thread.
/// @param[in, array(arg_count), nullable_if_zero(arg_count)] args An argument for each parameter. Up to 256 are
///   passed on without allocating.
/// @param[in] arg_count How many.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a size that the device or the kernel does not take, with the
///   limit in the sentence, and for arguments that are not the kernel's, with the argument's number as the error's
///   `item`; `CUSHIM_ERROR_UNSUPPORTED` for what the driver is too old for. If it fails nothing is enqueued, and no
///   owner is released.
/// @driver any
///
/// # Safety
/// `config` is NULL or valid for the bytes that its `struct_size` names; `args` is valid for reads of `arg_count`
/// arguments, whose values are as their kinds say; the kernel may be run with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_launch(
    kernel: cushim_kernel,
    stream: cushim_stream,
    config: *const cushim_launch_config,
    args: *const cushim_arg,
    arg_count: usize,
) -> cushim_status {
    call_taking(|lending| {
        let guard = enter()?;
        let kernel = get(&guard, kernel)?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for `config` and `args`, and for what the kernel does with the arguments.
        unsafe {
            if let Some(config) = sizes(config) {
                let args = arguments::given(args, arg_count)?;
                let mut list = Arguments::new();
                if arguments::list_values(&mut list, args) {
                    return stream.enqueue(&mut Launch::new(&kernel, &config, &mut list));
                }
                // A graph would have to keep them.
                if !stream.may_be_capturing()
                    && let Some(launched) = launch_with_buffers(&guard, &kernel, &stream, &config, args)
                {
                    return launched;
                }
            }
            launch_with_objects(lending, &guard, &kernel, &stream, config, args, arg_count)
        }
    })
}

/// A launch whose arguments are values and buffers. `None` if they are more, or if there is more to be checked.
///
/// # Safety
/// As for [`cushim_kernel_launch`].
#[inline(never)]
unsafe fn launch_with_buffers(
    guard: &Guard,
    kernel: &Kernel,
    stream: &Stream,
    config: &LaunchConfig<'_>,
    args: &[cushim_arg],
) -> Option<Result<(), Error>> {
    let (mut list, mut pointers) = (Arguments::new(), [0; FEW_BUFFERS]);
    if !arguments::list_values_and_buffers(&mut list, args, guard, stream.context(), &mut pointers) {
        return None;
    }
    // SAFETY: the caller vouches for what the kernel does with the arguments.
    Some(unsafe { stream.enqueue(&mut Launch::new(kernel, config, &mut list)) })
}

/// A launch whose configuration or arguments name objects, owners or anything else that has to be looked up.
///
/// # Safety
/// As for [`cushim_kernel_launch`].
#[inline(never)]
unsafe fn launch_with_objects(
    lending: &Lending,
    guard: &Guard,
    kernel: &Kernel,
    stream: &Stream,
    config: *const cushim_launch_config,
    args: *const cushim_arg,
    arg_count: usize,
) -> Result<(), Error> {
    let mut kept = None;
    // SAFETY: the caller vouches for `config`.
    let config = unsafe { launch_config(guard, config, &mut kept) }?;
    // SAFETY: the caller vouches for `args`.
    let args = unsafe { arguments::given(args, arg_count) }?;
    let (mut named, mut list) = (CallersArguments::default(), Arguments::new());
    // SAFETY: the caller vouches for the values and the owners.
    unsafe { arguments::list_all(lending, &mut list, args, guard, &mut named) }?;
    // SAFETY: the caller vouches for what the kernel does with the arguments.
    unsafe { stream.enqueue(&mut Launch::new(kernel, &config, &mut list)) }
}

/// Enqueues a kernel in a stream, with all arguments in one block, laid out as `cushim_kernel_get_parameter` says:
/// like a C struct of the parameters.
///
/// @param[in] kernel The kernel.
/// @param[in] stream The stream; as for `cushim_kernel_launch`.
/// @param[in, nullable] config How it is launched; NULL: one block of one thread.
/// @param[in, bytes(size), nullable_if_zero(size)] block The block.
/// @param[in] size Its bytes; from driver 12.4 on up to 15 more than the kernel takes are accepted, as the end of a
///   struct.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a block that is not as long as the kernel's parameters, and for
///   a size that the device or the kernel does not take, with the limit in the sentence; `CUSHIM_ERROR_UNSUPPORTED`
///   for what the driver is too old for. If it fails nothing is enqueued.
/// @driver any
///
/// # Safety
/// `config` is NULL or valid for the bytes that its `struct_size` names; `block` is valid for reads of `size` bytes;
/// the kernel may be run with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_launch_packed(
    kernel: cushim_kernel,
    stream: cushim_stream,
    config: *const cushim_launch_config,
    block: *const c_void,
    size: usize,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let kernel = get(&guard, kernel)?;
        let stream = get(&guard, stream)?;
        // SAFETY: the caller vouches for the block.
        let block = unsafe { input::slice_of_at_most(MOST_OF_BLOCK, block.cast::<u8>(), size, "block") }?;
        // SAFETY: the caller vouches for `config`, and for what the kernel does with the block.
        unsafe {
            match sizes(config) {
                Some(config) => stream.enqueue(&mut Launch::packed(&kernel, &config, block)),
                None => launch_block(&guard, &kernel, &stream, config, block),
            }
        }
    })
}

/// A launch whose configuration is more than sizes.
///
/// # Safety
/// As for [`cushim_kernel_launch_packed`].
#[inline(never)]
unsafe fn launch_block(
    guard: &Guard,
    kernel: &Kernel,
    stream: &Stream,
    config: *const cushim_launch_config,
    block: &[u8],
) -> Result<(), Error> {
    // SAFETY: the caller vouches for `config`.
    let config = unsafe { Config::read(guard, config) }?;
    // SAFETY: the caller vouches for what the kernel does with the block.
    unsafe { stream.enqueue(&mut Launch::packed(kernel, &config.launch(), block)) }
}
