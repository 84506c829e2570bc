//! Launches.

use super::arguments;
use super::function::Found;
use super::running::Run;
use super::shape::Shape;
use crate::error::Answer;
use crate::event;
use crate::executor::Operation;
use crate::pointer::{In, Out};
use crate::stream::Stream;
use crate::sys::{
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, CU_LAUNCH_ATTRIBUTE_MAX,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
    CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUevent,
    CUfunction, CUlaunchAttribute, CUlaunchConfig, CUresult, CUstream,
};
use std::ffi::c_void;
use std::sync::Arc;

/// A launch as it was asked for, apart from kernel and arguments.
pub(super) struct Configuration {
    pub(super) shape: Shape,
    /// Events that the kernel's blocks trigger.
    events: Vec<CUevent>,
}

impl Configuration {
    fn plain(grid: [u32; 3], block: [u32; 3], shared: u32, cooperative: bool) -> Self {
        Self { shape: Shape { grid, block, shared, cluster: None, cooperative }, events: Vec::new() }
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

    /// What only says how fast the kernel starts makes no difference here.
    fn take(&mut self, attribute: &CUlaunchAttribute) -> Answer {
        let value = attribute.value;
        match attribute.id {
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                // SAFETY: every bit pattern is a valid value of this member, and of those below.
                let cluster = unsafe { value.clusterDim };
                self.shape.cluster = Some([cluster.x, cluster.y, cluster.z]);
            }
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                // SAFETY: as above.
                self.shape.cooperative = unsafe { value.cooperative } != 0;
            }
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                // SAFETY: as above.
                self.events.push(unsafe { value.programmaticEvent }.event);
            }
            CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                // SAFETY: as above.
                self.events.push(unsafe { value.launchCompletionEvent }.event);
            }
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => {
                // SAFETY: as above.
                let domain = unsafe { value.memSyncDomain };
                if !(0..=CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE.0).contains(&domain.0) {
                    return Err(CUDA_ERROR_INVALID_VALUE);
                }
            }
            id if (0..CU_LAUNCH_ATTRIBUTE_MAX.0).contains(&id.0) => {}
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        }
        Ok(())
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
    let events = configuration.events.iter().map(|event| event::Event::of(*event));
    let events = events.collect::<Result<Vec<_>, _>>()?;
    let parameters = arguments::pack(found.kernel(), each, extra)?;
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
