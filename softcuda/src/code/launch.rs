//! Launches.

use super::arguments;
use super::function::Found;
use super::running::Run;
use super::shape::Shape;
use crate::device_attributes;
use crate::error::Answer;
use crate::event;
use crate::executor::Operation;
use crate::pointer::{In, Out};
use crate::settings::version;
use crate::stream::Stream;
use crate::sys::{
    CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE, CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUevent, CUfunction, CUlaunchAttribute,
    CUlaunchAttributeID, CUlaunchConfig, CUresult, CUstream,
};
use std::ffi::c_void;
use std::sync::Arc;

/// A launch as it was asked for, apart from kernel and arguments.
pub(super) struct Configuration {
    pub(super) shape: Shape,
    /// Events that the kernel's blocks trigger.
    events: Vec<Triggered>,
}

impl Configuration {
    fn plain(grid: [u32; 3], block: [u32; 3], shared: u32, cooperative: bool) -> Self {
        Self {
            shape: Shape { grid, block, shared, cluster: None, preferred: None, cooperative },
            events: Vec::new(),
        }
    }

    pub(super) fn read(config: &CUlaunchConfig) -> Result<Self, CUresult> {
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        let mut read = Self::plain(grid, block, config.sharedMemBytes, false);
        let attributes = Out::<CUlaunchAttribute>::untyped(config.attrs.cast());
        for index in 0..config.numAttrs as usize {
            read.take(&attributes.item(index)?)?;
        }
        Ok(read)
    }

    /// The events that blocks trigger, held against what they must be.
    pub(super) fn checked_events(&self) -> Result<Vec<Arc<event::Event>>, CUresult> {
        self.events.iter().map(Triggered::check).collect()
    }

    /// What only says how fast the kernel starts makes no difference here, but is held against what there is (measured).
    fn take(&mut self, attribute: &CUlaunchAttribute) -> Answer {
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
                self.events.push(Triggered { event: given.event, flags: given.flags });
            }
            id @ CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT if is_known(id) => {
                // SAFETY: as above.
                let given = unsafe { value.launchCompletionEvent };
                self.events.push(Triggered { event: given.event, flags: given.flags });
            }
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => within(number, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE.0)?,
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
                // SAFETY: as above.
                let map = unsafe { value.memSyncDomainMap };
                let domains = device_attributes::value(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
                within(i32::from(map.default_), domains - 1)?;
                within(i32::from(map.remote), domains - 1)?;
            }
            CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => within(number, 2)?,
            id @ CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT if is_known(id) => within(number, 100)?,
            // Only of a node of a graph.
            id @ CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE if is_known(id) => {
                return Err(CUDA_ERROR_NOT_SUPPORTED);
            }
            // Only of a stream.
            CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => return Err(CUDA_ERROR_INVALID_VALUE),
            id if is_known(id) => {}
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        }
        Ok(())
    }
}

fn within(number: i32, most: i32) -> Answer {
    if (0..=most).contains(&number) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// All zeros are none.
fn some_cluster(cluster: [u32; 3]) -> Option<[u32; 3]> {
    (cluster != [0; 3]).then_some(cluster)
}

/// Whether a driver of this version knows the attribute: from which version on there are those, by NVIDIA's headers.
fn is_known(id: CUlaunchAttributeID) -> bool {
    let since = match id.0 {
        // Older than the enumeration that has them.
        0..=8 => 0,
        9 | 10 => 12000,
        12 => 12030,
        13 => 12040,
        14 => 12050,
        11 => 12080,
        16 => 13000,
        17 | 18 => 13020,
        _ => return false,
    };
    version() >= since
}

/// An event that the kernel triggers.
struct Triggered {
    event: CUevent,
    flags: i32,
}

impl Triggered {
    /// Refuses what cannot be triggered so (measured). An external event is for captures.
    fn check(&self) -> Result<Arc<event::Event>, CUresult> {
        const EXTERNAL: i32 = 1;
        let event = event::Event::of(self.event)?;
        match self.flags {
            0 if event.is_timed() || event.is_interprocess() => Err(CUDA_ERROR_NOT_SUPPORTED),
            0 => Ok(event),
            EXTERNAL => Err(CUDA_ERROR_ILLEGAL_STATE),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }
}

/// Puts a kernel into a stream.
fn launch(
    f: CUfunction,
    stream: CUstream,
    configuration: Configuration,
    each: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Answer {
    if f.is_null() {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let stream = Stream::of(stream)?;
    let found = Found::of(f, &stream.context)?;
    let mut shape = configuration.shape;
    shape.cluster = shape.cluster.or(found.attributes().cluster());
    shape.check(found.attributes())?;
    let events = configuration.checked_events()?;
    let parameters = arguments::pack(found.kernel(), each, extra)?;
    // Before the kernel is there, which a launch that fails does not leave behind.
    events.iter().try_for_each(|event| event.check_stream(&stream))?;
    let operation = stream.submit(Run::new(found, shape, parameters))?;
    trigger(&stream, &events, &operation)
}

/// The events are done when the kernel is, which is the latest that its blocks could trigger them.
fn trigger(stream: &Arc<Stream>, events: &[Arc<event::Event>], kernel: &Arc<Operation>) -> Answer {
    events.iter().try_for_each(|event| event.record_after(stream, std::slice::from_ref(kernel)))
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
    launch(f, hStream, configuration, kernelParams, extra)
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
    launch(f, hStream, configuration, kernelParams, Out::untyped(std::ptr::null_mut()))
}

pub(crate) fn cuLaunchKernelEx(
    config: In<CUlaunchConfig>,
    f: CUfunction,
    kernelParams: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Answer {
    let config = config.get()?;
    launch(f, config.hStream, Configuration::read(&config)?, kernelParams, extra)
}
