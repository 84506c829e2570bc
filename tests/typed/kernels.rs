//! Kernels whose parameters are types.

use crate::{alone, context, kernel, refused, stream};
use cushim::driver::Version;
use cushim::kernel::LaunchConfig;
use cushim::typed::{DeviceSlice, ManagedSlice, PinnedSlice, Read, SafeKernel, TypedKernel, Write};
use cushim::{Context, Owner, Stream};

type ScaleAndAdd = (u32, f32, Read<f32>, Write<f32>);

fn scale_and_add(context: &Context) -> SafeKernel<ScaleAndAdd> {
    let typed = TypedKernel::<ScaleAndAdd>::new(&kernel(context)).expect("these are its parameters");
    // SAFETY: it reads `n` numbers of the one slice, and reads and writes as many of the other, in any grid.
    unsafe { typed.vouch(|_, &(n, _, x, y)| n as usize <= x.min(y)) }
}

#[test]
fn a_launch_takes_values_and_every_kind_of_slice() {
    let context = context();
    let (stream, kernel) = (stream(&context), scale_and_add(&context));
    let config = LaunchConfig::covering(100, 32);
    let numbers: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let device = DeviceSlice::from_slice(&stream, &numbers).expect("copied");
    let mut pinned = PinnedSlice::zeroed(&stream, 100).expect("memory");
    pinned.as_mut_slice().expect("there").copy_from_slice(&numbers);
    let mut managed = ManagedSlice::zeroed(&stream, 100).expect("memory");
    let mut sum = DeviceSlice::zeroed(&stream, 100).expect("memory");
    kernel.launch(&stream, &config, (100, 2.0, &device, &mut sum)).expect("launched");
    kernel.launch(&stream, &config, (100, 3.0, &pinned, &mut managed)).expect("launched");
    assert_eq!(managed.as_slice().expect("done")[99], 297.0);
    kernel.launch(&stream, &config, (100, 1.0, &managed, &mut pinned)).expect("launched");
    assert_eq!(pinned.as_slice().expect("done")[1..3], [4.0, 8.0]);
    let halves = (50, 1.0, device.range(50..).expect("inside"), sum.range_mut(..50).expect("inside"));
    kernel.launch(&stream, &config, halves).expect("launched");
    let sum = sum.to_vec(&stream).expect("copied");
    assert_eq!((sum[0], sum[49], sum[50], sum[99]), (50.0, 98.0 + 99.0, 100.0, 198.0));
}

#[test]
fn what_the_check_says_no_to_is_not_launched() {
    let context = context();
    let (stream, kernel) = (stream(&context), scale_and_add(&context));
    let x = DeviceSlice::from_slice(&stream, &[1.0; 8]).expect("copied");
    let mut y = DeviceSlice::from_slice(&stream, &[0.0; 8]).expect("copied");
    let config = LaunchConfig::new(1, 32);
    refused(kernel.launch(&stream, &config, (9, 1.0, &x, &mut y)), "its check says no");
    let part = y.range_mut(1..).expect("inside");
    refused(kernel.launch(&stream, &config, (8, 1.0, &x, part)), "its check says no");
    let others = [(cushim::driver::sys::CU_LAUNCH_ATTRIBUTE_PRIORITY, [0; 64])];
    refused(kernel.launch(&stream, &config.others(&others), (8, 1.0, &x, &mut y)), "attributes by number");
    refused(kernel.launch(&stream, &LaunchConfig::new(0, 32), (8, 1.0, &x, &mut y)), "0 blocks");
    assert_eq!(y.to_vec(&stream).expect("copied"), [0.0; 8], "nothing was done");
    kernel.launch(&stream, &config, (8, 1.0, &x, &mut y)).expect("launched");
    assert_eq!(y.to_vec(&stream).expect("copied"), [1.0; 8]);
}

/// Since driver 12.4 the kernel's parameters are known.
#[test]
fn types_that_are_not_the_kernels_are_refused() {
    let context = context();
    let kernel = kernel(&context);
    let knows = context.driver().version() >= Some(Version::from_number(12040));
    let few = TypedKernel::<(u32, f32, Read<f32>)>::new(&kernel);
    let wide = TypedKernel::<(u32, f64, Read<f32>, Write<f32>)>::new(&kernel);
    if !knows {
        return assert!(few.is_ok() && wide.is_ok(), "nobody can tell");
    }
    refused(few, "takes 4 parameters, and 3 types are given");
    assert_eq!(wide.as_ref().expect_err("too wide").item, Some(1));
    refused(wide, "parameter 1 of kernel scale_and_add takes 4 bytes, and its type has 8");
}

/// A kernel that nobody vouched for is launched by whoever vouches for this launch.
#[test]
fn a_launch_may_be_vouched_for_alone() {
    let context = context();
    let (stream, kernel) = (stream(&context), kernel(&context));
    let kernel = TypedKernel::<ScaleAndAdd>::new(&kernel).expect("these are its parameters");
    let x = DeviceSlice::from_slice(&stream, &[1.0; 8]).expect("copied");
    let mut y = DeviceSlice::from_slice(&stream, &[0.5; 8]).expect("copied");
    // SAFETY: both have 8 numbers.
    unsafe { kernel.launch(&stream, &LaunchConfig::new(1, 8), (8, 2.0, &x, &mut y)) }.expect("launched");
    drop((x, kernel)); // which the launch uses
    assert_eq!(y.to_vec(&stream).expect("copied"), [2.5; 8]);
    drop(Owner::keeping(y)); // slices are what owners keep, too
}

/// Whether a default stream is captured a launch asks once for its slices, however many there are, and once for what it keeps itself: each
/// question is a call of the driver.
#[test]
fn a_launch_asks_once_for_all_slices_whether_a_default_stream_is_captured() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trace = folder.path().join("trace.json");
    let variable = trace.to_str().expect("a path in UTF-8");
    alone(
        "kernels::a_launch_asks_once_for_all_slices_whether_a_default_stream_is_captured",
        &[("SOFTCUDA_TRACE", variable), ("CUSHIM_DRIVER", "software")],
        || {
            let context = context();
            let (stream, kernel) = (Stream::legacy(&context), scale_and_add(&context));
            let x = DeviceSlice::from_slice(&stream, &[1.0; 8]).expect("copied");
            let mut y = DeviceSlice::from_slice(&stream, &[0.0; 8]).expect("copied");
            kernel.launch(&stream, &LaunchConfig::new(1, 32), (8, 1.0, &x, &mut y)).expect("launched");
            assert_eq!(y.to_vec(&stream).expect("copied"), [1.0; 8]);
        },
    );
    if std::env::var_os("SOFTCUDA_TRACE").is_some() {
        return; // the child has done its part
    }
    let text = std::fs::read_to_string(&trace).expect("the child has written its trace");
    let calls: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let called = |call: &serde_json::Value, name: &str| {
        call["function"].as_str().is_some_and(|function| function.starts_with(name))
    };
    let launch = calls.iter().position(|call| called(call, "cuLaunchKernel")).expect("it was launched");
    // The copies before it are waited for, by an event each.
    let waited =
        calls[..launch].iter().rposition(|call| called(call, "cuEventDestroy")).expect("the copies are done");
    let asked = calls[waited..launch].iter().filter(|call| called(call, "cuStreamIsCapturing")).count();
    assert_eq!(asked, 2, "{:#?}", &calls[waited..=launch]);
}
