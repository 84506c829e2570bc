//! What programs say of the number of devices, and what peers cost.

use capi_tests::build::Build;
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};

/// The program asks for two devices; on a machine with one it says so.
#[test]
fn a_program_for_two_devices_says_what_it_needs() {
    let program = Build::new("objects/peers").program().expect("it compiles");
    let alone = Run::new(&program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_DEVICES", "1").output();
    let said = alone.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(said.contains("two devices are needed, and there is 1"), "{said}");
}

/// A set of peers that changes costs one call of the driver, and one that is as wanted already none.
#[test]
fn peers_of_a_pool() {
    let program = Build::new("memory/resources").program().expect("it compiles");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for_each(["11.4", ONE_VERSION], |version| {
        let trace = folder.path().join(format!("trace-{version}"));
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
