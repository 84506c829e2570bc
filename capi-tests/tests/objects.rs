//! The programs of the objects, `c/objects_*.c`, where `programs.rs` does not run them: on "none", with a foreign library,
//! without a device.

use capi_tests::build::{Build, Link};
use capi_tests::libraries::Workshop;
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::programs::{on_none, workshop};
use capi_tests::run::{Driver, Run};
use capi_tests::say;

#[test]
fn every_program_on_none() {
    let workshop = workshop();
    for_each(on_none(), |name| {
        Run::new(Build::new(&workshop, &format!("{name}.c")).program(name)?, Driver::None).checks()
    });
}

/// Bad arguments in every place of every function, the handles of a copy of the library in a plug-in among them.
#[test]
fn sweep_with_another_library() {
    let workshop = Workshop::new();
    let build = Build::new(&workshop, "plug_in.c").link(Link::Static).option("-Wl,--exclude-libs,ALL");
    let plug_in = build.plug_in("plug_in.so").expect("it compiles");
    let program = Build::new(&workshop, "objects_sweep.c").program("objects_sweep").expect("it compiles");
    for_each([Driver::None, Driver::Shell("11.4"), Driver::Shell(ONE_VERSION)], |driver| {
        Run::new(&program, driver).arg(&plug_in).checks()
    });
}

#[test]
fn a_machine_without_a_device() {
    let workshop = Workshop::new();
    let program =
        Build::new(&workshop, "objects_no_device.c").program("objects_no_device").expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_DEVICES", "0").checks()
    });
}

/// Copies between buffers of two devices.
#[test]
fn buffers_of_two_devices() {
    let workshop = Workshop::new();
    let program = Build::new(&workshop, "objects_buffers.c").program("objects_buffers").expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_DEVICES", "2").checks()
    });
}

/// The program asks for two devices; on a machine with one it says so. On each schedule.
#[test]
fn two_devices() {
    let workshop = Workshop::new();
    let program = Build::new(&workshop, "objects_peers.c").program("objects_peers").expect("it compiles");
    let alone = Run::new(&program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_DEVICES", "1").output();
    let said = alone.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(said.contains("two devices are needed, and there is 1"), "{said}");
    for_each(["lazy", "seeded"], |schedule| {
        Run::new(&program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_SCHEDULE", schedule).checks()
    });
}

/// What is ordered is so however late, and in whatever order, everything else runs.
#[test]
fn buffers_on_every_schedule() {
    let workshop = Workshop::new();
    let program = Build::new(&workshop, "objects_buffers.c").program("objects_buffers").expect("it compiles");
    for_each(["lazy", "seeded"], |schedule| {
        Run::new(&program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_SCHEDULE", schedule).checks()
    });
}

#[test]
fn devices_without_memory_pools() {
    let workshop = Workshop::new();
    let program =
        Build::new(&workshop, "objects_no_pools.c").program("objects_no_pools").expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_MEMORY_POOLS", "0").checks()
    });
}

/// Every function with each of the driver's calls that it makes failing in turn.
#[test]
fn every_call_of_the_driver_fails() {
    let workshop = Workshop::new();
    let program =
        Build::new(&workshop, "objects_every_fault.c").program("objects_every_fault").expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        let said = Run::new(&program, Driver::Software(version)).output()?;
        say(format_args!("{version}: {}", said.lines().next().unwrap_or_default()));
        Ok(())
    });
}

/// Host and device may not use managed memory at the same time.
#[test]
fn managed_memory_without_concurrent_access() {
    let workshop = Workshop::new();
    let runs = ["objects_managed", "objects_managed_batches"].into_iter().flat_map(|name| {
        let program = Build::new(&workshop, &format!("{name}.c")).program(name).expect("it compiles");
        ["11.4", ONE_VERSION]
            .map(|version| Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_CONCURRENT_MANAGED", "0"))
    });
    for_each(runs, Run::checks);
}

#[test]
fn a_driver_that_fails() {
    let workshop = Workshop::new();
    let program = Build::new(&workshop, "objects_faults.c").program("objects_faults").expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        let faults = "cuEventDestroy#1=999; cuStreamQuery#2=700/sticky";
        Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_FAULT", faults).checks()
    });
}

/// In a loop, and in calls for many of each form.
#[test]
fn batches_that_a_driver_refuses() {
    let workshop = Workshop::new();
    let program = Build::new(&workshop, "objects_batches_refused.c").program("refused").expect("it compiles");
    let loops = "cuMemPrefetchAsync#2=1; cuMemcpyHtoDAsync#2=1";
    let calls = "cuMemPrefetchBatchAsync#1=1; cuMemcpyBatchAsync#2=1";
    let both = "cuMemPrefetchAsync#2=1; cuMemcpyBatchAsync#2=1";
    for_each(
        [("11.4", loops), ("12.4", loops), ("12.8", both), (ONE_VERSION, calls)],
        |(version, faults)| Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_FAULT", faults).checks(),
    );
}

/// A set of peers that changes costs one call of the driver, and one that is as wanted already none.
#[test]
fn peers_of_a_pool() {
    let workshop = Workshop::new();
    let program =
        Build::new(&workshop, "objects_resources.c").program("objects_resources").expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        let trace = workshop.path().join(format!("trace-{version}"));
        let run = Run::new(&program, Driver::Shell(version)).env("SOFTCUDA_DEVICES", "4");
        run.env("SOFTCUDA_TRACE", &trace).checks()?;
        let traced = std::fs::read_to_string(&trace).map_err(|error| error.to_string())?;
        let calls =
            traced.lines().filter(|line| line.contains("\"cuMemPoolSetAccess\",\"arguments\":{\"pool\""));
        // The program adds, removes and replaces; before that it names the pool's own device alone.
        // Where there are such pools, two of the host and one of managed memory admit their device.
        let expected = if version == ONE_VERSION { 3 + 3 } else { 3 };
        match calls.count() {
            count if count == expected => Ok(()),
            count => Err(format!("{version}: {count} calls of cuMemPoolSetAccess, not {expected}")),
        }
    });
}
