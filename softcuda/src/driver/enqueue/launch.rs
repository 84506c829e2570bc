//! Launches.

use super::events::record;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_GRAPH_DEPENDENCY_TYPE_DEFAULT, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUevent, CUfunction, CUgraphDependencyType, CUgraphDeviceNode, CUgraphEdgeData, CUlaunchAttribute,
    CUlaunchAttributeValue, CUlaunchConfig, CUresult, CUstream,
};
use crate::driver::capture::Capture;
use crate::driver::capture::tail::{Dependency, Tail};
use crate::driver::event::{Captured, Event};
use crate::driver::kernel::arguments;
use crate::driver::kernel::found::Found;
use crate::driver::kernel::launch_attribute::{check_hint, is_known, some_cluster};
use crate::driver::kernel::program::Entry;
use crate::driver::kernel::shape::Shape;
use crate::driver::operation::launch::Launch;
use crate::driver::stream::Stream;
use crate::driver::stream::attributes;
use crate::driver::stream::capturing::{NewNode, Recorded, RecordedLaunch};
use crate::executor::Task;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// A launch as it was asked for, apart from kernel and arguments.
pub(super) struct Configuration {
    pub(super) shape: Shape,
    /// As the caller gave them.
    attributes: Out<CUlaunchAttribute>,
    count: usize,
    /// Events that the kernel's blocks trigger.
    events: Vec<Triggered>,
    /// Whether it may begin before the kernels that it follows are done.
    early: bool,
    /// The number of the attribute that says whether kernels can update its node.
    updatable: Option<usize>,
}

impl Configuration {
    pub(super) fn plain(grid: [u32; 3], block: [u32; 3], shared: u32, cooperative: bool) -> Self {
        Self {
            shape: Shape { grid, block, shared, cluster: None, preferred: None, cooperative },
            attributes: Out::null(),
            count: 0,
            events: Vec::new(),
            early: false,
            updatable: None,
        }
    }

    pub(super) fn read(config: &CUlaunchConfig) -> Result<Self, CUresult> {
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        let mut read = Self::plain(grid, block, config.sharedMemBytes, false);
        read.attributes = Out::untyped(config.attrs.cast());
        read.count = config.numAttrs as usize;
        for index in 0..read.count {
            read.take(index, &read.attributes.item(index)?)?;
        }
        Ok(read)
    }

    /// What a node has of the stream, and then of the launch.
    fn attributes(&self, stream: &Stream) -> Result<Vec<CUlaunchAttribute>, CUresult> {
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        value.cooperative = self.shape.cooperative.into();
        let cooperative = CUlaunchAttribute { id: CU_LAUNCH_ATTRIBUTE_COOPERATIVE, pad: [0; 4], value };
        let given = (0..self.count).map(|index| self.attributes.item(index));
        attributes::told(stream).into_iter().chain([cooperative]).map(Ok).chain(given).collect()
    }

    /// The caller's attribute receives the handle by which kernels update the node (measured).
    fn tell_device_node(&self, handle: Option<CUgraphDeviceNode>) -> Answer {
        let Some(index) = self.updatable else { return Ok(()) };
        let mut attribute = self.attributes.item(index)?;
        attribute.value.deviceUpdatableKernelNode.devNode = handle.unwrap_or(null_mut());
        self.attributes.set_item(index, attribute)
    }

    /// The events that blocks trigger, held against what they must be.
    pub(super) fn checked_events(&self) -> Result<Vec<(Arc<Event>, CUgraphEdgeData)>, CUresult> {
        self.events.iter().map(|triggered| Ok((triggered.check()?, triggered.edge))).collect()
    }

    /// What only says how fast the kernel starts makes no difference here, but is held against what there is (measured).
    fn take(&mut self, index: usize, attribute: &CUlaunchAttribute) -> Answer {
        let value = attribute.value;
        // SAFETY: every bit pattern is a valid number, with which all the small members of the union begin.
        let number = unsafe { value.priority };
        match attribute.id {
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                // SAFETY: every bit pattern is a valid value of this member, and of those below.
                let cluster = unsafe { value.clusterDim };
                self.shape.cluster = some_cluster([cluster.x, cluster.y, cluster.z]);
            }
            id @ CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION if is_known(id) => {
                // SAFETY: as above.
                let cluster = unsafe { value.preferredClusterDim };
                self.shape.preferred = some_cluster([cluster.x, cluster.y, cluster.z]);
            }
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE => self.shape.cooperative = number != 0,
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                // SAFETY: as above.
                let given = unsafe { value.programmaticEvent };
                let from_port = if given.triggerAtBlockStart != 0 { AT_START } else { AT_TRIGGER };
                let edge = edge(from_port, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
                self.events.push(Triggered { event: given.event, flags: given.flags, edge });
            }
            id @ CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT if is_known(id) => {
                // SAFETY: as above.
                let given = unsafe { value.launchCompletionEvent };
                let edge = edge(AT_START, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
                self.events.push(Triggered { event: given.event, flags: given.flags, edge });
            }
            id @ CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => {
                check_hint(id, &value)?;
                self.early = number != 0;
            }
            id @ CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE if is_known(id) => {
                self.updatable = Some(index);
            }
            // Only of a stream.
            CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => return Err(CUDA_ERROR_INVALID_VALUE),
            id => check_hint(id, &value)?,
        }
        Ok(())
    }
}

/// The ports of a kernel's node: its blocks say when, or all of them have begun (measured).
const AT_TRIGGER: u8 = 1;
const AT_START: u8 = 2;

fn edge(from_port: u8, kind: CUgraphDependencyType) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port, to_port: 0, type_: kind.0 as u8, reserved: [0; 5] }
}

/// An event that the kernel triggers.
struct Triggered {
    event: CUevent,
    flags: i32,
    /// In a graph: from the kernel to what waits for the event.
    edge: CUgraphEdgeData,
}

impl Triggered {
    /// Refuses what cannot be triggered so (measured). An external event is for captures.
    fn check(&self) -> Result<Arc<Event>, CUresult> {
        const EXTERNAL: i32 = 1;
        let event = Event::of(self.event)?;
        match self.flags {
            0 if event.is_timed() || event.is_interprocess() => Err(CUDA_ERROR_NOT_SUPPORTED),
            0 => Ok(event),
            EXTERNAL => Err(CUDA_ERROR_ILLEGAL_STATE),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }
}

/// How a caller gives the arguments.
pub(super) enum Given {
    /// Each by its address, or a list that names a packed block.
    Listed { each: Out<*mut c_void>, extra: Out<*mut c_void> },
    /// Packed already.
    Packed(Vec<u8>),
}

impl Given {
    fn pack(&self, kernel: &Entry) -> Result<Box<[u8]>, CUresult> {
        match self {
            Self::Listed { each, extra } => arguments::pack(kernel, *each, *extra),
            Self::Packed(bytes) => arguments::pack_block(kernel, bytes),
        }
    }

    /// Whether a node tells of them as of a packed block.
    fn is_packed(&self) -> bool {
        match self {
            Self::Listed { each, extra } => each.address() == 0 && extra.address() != 0,
            Self::Packed(_) => true, // no capture comes to that
        }
    }
}

/// Puts a kernel into a stream.
pub(super) fn launch(f: CUfunction, stream: CUstream, configuration: Configuration, given: Given) -> Answer {
    if f.is_null() {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let stream = Stream::for_work(stream)?;
    let found = Found::of(f, &stream.context)?;
    let attributes = found.attributes();
    let shape = configuration.shape.with_required_cluster(attributes);
    // A capture does not survive that (measured).
    let checked = shape.and_then(|shape| shape.check(attributes).map(|()| shape));
    let shape = checked.inspect_err(|_| stream.invalidate_capture())?;
    let events = configuration.checked_events()?;
    let arguments = given.pack(found.kernel())?.into();
    // Before the kernel is there, which a launch that fails does not leave behind.
    events.iter().try_for_each(|(event, _)| event.check_context(&stream.context))?;
    let launch = Launch { kernel: found, shape, arguments };
    match stream.capture() {
        Some(capture) => {
            let attributes = configuration.attributes(&stream)?;
            let packed = given.is_packed();
            let launch = RecordedLaunch { launch, packed, attributes, early: configuration.early };
            let node = record_in(capture, &stream, launch, events)?;
            configuration.tell_device_node(node.device_node)
        }
        // Only of a node of a graph.
        None if configuration.updatable.is_some() => Err(CUDA_ERROR_NOT_SUPPORTED),
        None => {
            // What the oldest way of launching takes over (measured).
            let (block, shared) = (launch.shape.block, launch.shape.shared);
            launch.kernel.with_prepared(|prepared| prepared.launched(block, shared, &launch.arguments));
            let kernel = stream.submit(launch)?;
            trigger(&stream, events, &kernel)?;
            stream.wait_if_launches_block()
        }
    }
}

/// Lets a capture record a launch. What waits for an event follows the kernel as the event says.
fn record_in(
    capture: Arc<Capture>,
    stream: &Stream,
    launch: RecordedLaunch,
    events: Vec<(Arc<Event>, CUgraphEdgeData)>,
) -> Result<NewNode, CUresult> {
    let node = stream.record(&capture, Recorded::Launch(launch))?;
    for (event, data) in events {
        let tail = Tail::from_iter([Dependency { node: node.handle, data }]);
        event.set_captured(Captured { capture: Arc::clone(&capture), tail });
    }
    Ok(node)
}

/// The events are done when the kernel is, which is the latest that its blocks could trigger them.
fn trigger(stream: &Arc<Stream>, events: Vec<(Arc<Event>, CUgraphEdgeData)>, kernel: &Arc<Task>) -> Answer {
    events.into_iter().try_for_each(|(event, _)| record(event, stream, std::slice::from_ref(kernel)))
}

#[allow(clippy::too_many_arguments)] // the driver's
pub(crate) fn cuLaunchKernel(
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Answer {
    let (grid, block) = ([gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ]);
    let configuration = Configuration::plain(grid, block, sharedMemBytes, false);
    launch(f, hStream, configuration, Given::Listed { each: kernelParams, extra })
}

#[allow(clippy::too_many_arguments)] // the driver's
pub(crate) fn cuLaunchCooperativeKernel(
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: Out<*mut c_void>,
) -> Answer {
    let (grid, block) = ([gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ]);
    let configuration = Configuration::plain(grid, block, sharedMemBytes, true);
    launch(f, hStream, configuration, Given::Listed { each: kernelParams, extra: Out::null() })
}

pub(crate) fn cuLaunchKernelEx(
    config: In<CUlaunchConfig>,
    f: CUfunction,
    kernelParams: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Answer {
    let config = config.get()?;
    let given = Given::Listed { each: kernelParams, extra };
    launch(f, config.hStream, Configuration::read(&config)?, given)
}
