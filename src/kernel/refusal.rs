//! Why the driver refused a launch, with the limit that it met: its own answer is one number for all of them.

use super::{Kernel, LaunchConfig, MemorySyncDomain, occupancy};
use crate::context::Context;
use crate::device::Device;
use crate::driver::Version;
use crate::driver::sys;
use crate::feature::Feature;
use crate::object::error::{Error, Status};

/// Adds to the refusal of an attribute what was asked for, and what there is.
#[cold]
pub(super) fn explain_attribute(
    mut failure: Error,
    kernel: &Kernel,
    attribute: sys::CUfunction_attribute,
    value: i32,
) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        let most = largest_shared(kernel, kernel.context().device());
        failure.message.push_str(&match (attribute, most) {
            (sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, Some(most)) => {
                format!(". {value} bytes of dynamic shared memory; {kernel} has at most {most}")
            }
            _ => format!(". Attribute {} of {kernel} is only read, or cannot be {value}", attribute.0),
        });
    }
    failure
}

/// Adds to the refusal of a launch what was asked for, and what there is.
#[cold]
pub(crate) fn explain(mut failure: Error, launch: &LaunchConfig<'_>, kernel: &Kernel, at: &Context) -> Error {
    if let Some(refusal) = too_old(&failure, launch, at) {
        failure.status = Status::UNSUPPORTED;
        failure.message = refusal;
        return failure;
    }
    let is_updatable =
        launch.others.iter().any(|(id, _)| *id == sys::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
    if is_updatable && failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0 {
        failure.message.push_str(". Only a node of a graph is device-updatable, added to it or captured");
        return failure;
    }
    let filled = launch.filled();
    if let Some(beyond) = beyond_limits(&failure, &filled, kernel, at) {
        // As where it is refused before the driver is asked: in a stream under capture.
        return failure.of_arguments(&beyond);
    }
    let guess = limit(&failure, &filled, kernel, at).or_else(|| by_number(&failure, launch));
    if let Some(guess) = guess {
        failure.message.push_str(". ");
        failure.message.push_str(&guess);
    }
    failure
}

/// Which number of the launch is beyond what the kernel or the device takes.
fn beyond_limits(
    failure: &Error,
    launch: &LaunchConfig<'_>,
    kernel: &Kernel,
    at: &Context,
) -> Option<String> {
    match sys::CUresult(failure.status.0) {
        sys::CUDA_ERROR_INVALID_VALUE | sys::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            shape(launch, kernel, at.device())
        }
        _ => None,
    }
}

/// Attributes of which only the number is known here.
fn by_number(failure: &Error, launch: &LaunchConfig<'_>) -> Option<String> {
    if launch.others.is_empty() || failure.status.0 != sys::CUDA_ERROR_INVALID_VALUE.0 {
        return None;
    }
    let numbers: Vec<String> = launch.others.iter().map(|(id, _)| id.0.to_string()).collect();
    let which = numbers.join(", ");
    Some(format!(
        "Perhaps this driver does not know an attribute that was given by its number ({which}), or its value"
    ))
}

/// What the driver would refuse of a launch in a stream under capture, and invalidate the capture with it (measured on 580): a grid, a
/// block, shared memory or a cluster that is too large. With the status that the launch has elsewhere.
pub(crate) fn shape_beyond_limits(launch: &LaunchConfig<'_>, kernel: &Kernel, at: &Context) -> Option<Error> {
    let ([x, y, z], [columns, rows, slices]) = (launch.block, launch.grid);
    let is_common_grid = columns <= i32::MAX.cast_unsigned() && rows.max(slices) <= 65_535;
    let is_common = x <= 32 && y <= 1 && z <= 1 && is_common_grid && launch.shared == 0;
    if is_common && launch.cluster.is_none() {
        return None;
    }
    let launch = launch.filled();
    let refused = |status, why| Error::new(status, why).about(kernel);
    if !is_common && let Some(why) = shape(&launch, kernel, at.device()) {
        return Some(refused(Status::INVALID_ARGUMENT, why));
    }
    let why = cluster_beyond_limits(&launch, kernel)?;
    Some(refused(Status(sys::CUDA_ERROR_INVALID_CLUSTER_SIZE.0), why))
}

/// Blocks of a cluster that every device takes, and those that one may take of kernels that say so.
const CLUSTER: (u64, u64) = (8, 16);

fn cluster_beyond_limits(launch: &LaunchConfig<'_>, kernel: &Kernel) -> Option<String> {
    let cluster = launch.cluster?;
    if let Some(uneven) = uneven(launch, cluster) {
        return Some(uneven);
    }
    let blocks: u64 = cluster.iter().map(|n| u64::from(*n)).product();
    let is_larger_allowed = || {
        let attribute = kernel.attribute(sys::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
        attribute.is_ok_and(|value| value != 0)
    };
    let most = if blocks > CLUSTER.0 && is_larger_allowed() { CLUSTER.1 } else { CLUSTER.0 };
    (blocks > most)
        .then(|| format!("A cluster of {blocks} blocks; a launch under capture takes at most {most}"))
}

fn limit(failure: &Error, launch: &LaunchConfig<'_>, kernel: &Kernel, at: &Context) -> Option<String> {
    let device = at.device();
    match sys::CUresult(failure.status.0) {
        sys::CUDA_ERROR_INVALID_VALUE | sys::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            features(launch, device).or_else(|| unchecked_arguments(kernel))
        }
        sys::CUDA_ERROR_INVALID_CLUSTER_SIZE => cluster(launch, kernel, at),
        sys::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => cooperative(launch, kernel, device),
        _ => features(launch, device),
    }
}

/// What the driver is too old for, if it refused something that it does not know.
fn too_old(failure: &Error, launch: &LaunchConfig<'_>, at: &Context) -> Option<String> {
    let version = at.driver().version()?;
    let is_unknown = failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0
        || failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0
        || failure.status == Status::UNSUPPORTED;
    let asked = [
        (launch.cluster.is_some(), "clusters of blocks", Version::from_number(11080)),
        (launch.priority.is_some(), "a priority of its own", Version::from_number(11080)),
        (launch.programmatic_serialization, "programmatic stream serialization", Version::from_number(11080)),
        (launch.programmatic_event.is_some(), "a programmatic event", Version::from_number(11080)),
        (
            launch.memory_sync_domain != MemorySyncDomain::Unset,
            "a memory synchronization domain",
            Version::from_number(12000),
        ),
    ];
    let (_, what, since) = asked.into_iter().find(|(is_asked, _, since)| *is_asked && version < *since)?;
    is_unknown.then(|| {
        format!(
            "a launch with {what} needs a driver for CUDA {since} or newer, and this one is for {version}"
        )
    })
}

/// Where the driver does not tell the parameters, the arguments may be what it refuses.
fn unchecked_arguments(kernel: &Kernel) -> Option<String> {
    kernel.layout().is_none().then(|| {
        format!("Perhaps the arguments are not those of {kernel}: drivers before 12.4 do not tell how many it takes")
    })
}

const DIRECTIONS: [&str; 3] = ["x", "y", "z"];

fn shape(launch: &LaunchConfig<'_>, kernel: &Kernel, device: &Device) -> Option<String> {
    let threads: u64 = launch.block.iter().map(|n| u64::from(*n)).product();
    let most = kernel.attribute(sys::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK).ok()?;
    if threads > most.cast_unsigned().into() {
        return Some(format!("A block of {threads} threads; {kernel} takes at most {most} on {device}"));
    }
    let block = [
        sys::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        sys::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        sys::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    ];
    let grid = [
        sys::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        sys::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        sys::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    ];
    beyond(device, "block", launch.block, block)
        .or_else(|| beyond(device, "grid", launch.grid, grid))
        .or_else(|| shared(launch, kernel, device))
}

fn beyond(
    device: &Device,
    what: &str,
    given: [u32; 3],
    limits: [sys::CUdevice_attribute; 3],
) -> Option<String> {
    (0..3).find_map(|direction| {
        let most = device.attribute(limits[direction]).ok()?;
        (given[direction] > most.cast_unsigned()).then(|| {
            format!(
                "The {what} is {} in {}; {device} takes at most {most}",
                given[direction], DIRECTIONS[direction]
            )
        })
    })
}

fn shared(launch: &LaunchConfig<'_>, kernel: &Kernel, device: &Device) -> Option<String> {
    let allowed = kernel.attribute(sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).ok()?;
    if launch.shared <= allowed.cast_unsigned() {
        return None;
    }
    let most = largest_shared(kernel, device)?;
    let given = launch.shared;
    Some(match i64::from(given) > i64::from(most) {
        true => format!("{given} bytes of dynamic shared memory; {kernel} has at most {most} on {device}"),
        false => format!(
            "{given} bytes of dynamic shared memory; {kernel} is allowed {allowed}, and {most} if its attribute \
             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES says so"
        ),
    })
}

/// The most dynamic shared memory that an attribute can allow the kernel.
fn largest_shared(kernel: &Kernel, device: &Device) -> Option<i32> {
    let fixed = kernel.attribute(sys::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES).unwrap_or(0);
    Some(device.attribute(sys::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).ok()? - fixed)
}

fn features(launch: &LaunchConfig<'_>, device: &Device) -> Option<String> {
    let lacks = |feature: Feature| device.supports(feature).is_ok_and(|has| !has);
    if launch.cluster.is_some() && lacks(Feature::ThreadBlockClusters) {
        return Some(format!("{device} has no clusters of blocks (feature thread-block-clusters)"));
    }
    if let Some(trigger) = launch.programmatic_event.filter(|trigger| trigger.event.options().timing) {
        return Some(format!(
            "The programmatic event, {}, measures time; create it without timing",
            trigger.event
        ));
    }
    if launch.cooperative && lacks(Feature::CooperativeLaunch) {
        return Some(format!("{device} has no cooperative launches (feature cooperative-launch)"));
    }
    None
}

fn uneven(launch: &LaunchConfig<'_>, cluster: [u32; 3]) -> Option<String> {
    if cluster.contains(&0) {
        return Some("A cluster has at least 1 block in each direction".to_owned());
    }
    let uneven = (0..3).find(|&direction| !launch.grid[direction].is_multiple_of(cluster[direction]))?;
    Some(format!(
        "The grid, {} in {}, is not divisible by the cluster, {}",
        launch.grid[uneven], DIRECTIONS[uneven], cluster[uneven]
    ))
}

fn cluster(launch: &LaunchConfig<'_>, kernel: &Kernel, at: &Context) -> Option<String> {
    let cluster = launch.cluster?;
    if let Some(uneven) = uneven(launch, cluster) {
        return Some(uneven);
    }
    let blocks: u64 = cluster.iter().map(|n| u64::from(*n)).product();
    let without = LaunchConfig { cluster: None, ..*launch };
    // SAFETY: the driver was given the same attributes before; NULL is the default stream of the context.
    let most = unsafe { occupancy::largest_cluster(kernel, at, std::ptr::null_mut(), &without) }.ok()?;
    Some(format!(
        "A cluster of {blocks} blocks; {kernel} takes at most {most}, more only if its attribute \
         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED says so"
    ))
}

fn cooperative(launch: &LaunchConfig<'_>, kernel: &Kernel, device: &Device) -> Option<String> {
    let threads = launch.block.iter().product();
    let each = kernel.active_blocks(threads, launch.shared as usize).ok()?;
    let processors = device.attribute(sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).ok()?.cast_unsigned();
    let blocks: u64 = launch.grid.iter().map(|n| u64::from(*n)).product();
    let most = u64::from(each) * u64::from(processors);
    Some(format!(
        "{blocks} blocks are to run at once; {device} holds {most} of {kernel} with {threads} threads: {each} on each \
         of {processors} multiprocessors"
    ))
}
