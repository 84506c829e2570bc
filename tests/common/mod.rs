//! What tests of objects begin with: a driver, a context, a stream, and processes of their own.

#![allow(dead_code)] // each test program uses its part

use cushim::driver::{Choice, DRIVER_VARIABLE, Driver, OpenOptions};
use cushim::{Context, Device, Stream, StreamOptions};
use std::process::Command;

/// The driver that the tests run on, the same each time.
pub(crate) fn driver() -> Driver {
    let options = OpenOptions::new();
    let chosen = std::env::var_os(DRIVER_VARIABLE).is_some();
    let options = if chosen { options } else { options.choice(Choice::Software) };
    options.open().expect("softcuda is beside the tests")
}

/// The primary context of the first device.
pub(crate) fn context() -> Context {
    Device::get(&driver(), 0).expect("a device").primary_context().expect("a context")
}

pub(crate) fn stream(context: &Context) -> Stream {
    Stream::create(context, &StreamOptions::default()).expect("a stream")
}

/// Runs `body` in a process of its own, with these variables in the environment, and panics if it fails there.
///
/// `name` is the test's own path, as `cargo test -- --exact` wants it.
#[allow(clippy::print_stdout)] // the child tells its parent
pub(crate) fn alone(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    const CHILD: &str = "CUSHIM_TEST_CHILD";
    const DONE: &str = "the body has run to its end";
    if std::env::var_os(CHILD).is_some_and(|child| child == name) {
        body();
        println!("{DONE}");
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("a test knows its executable"));
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, name);
    let output = command.envs(variables.iter().copied()).output().expect("the test runs again");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{out}\n{err}", output.status);
    assert!(out.contains(DONE), "{name} is not a test of this file");
}

const VERSIONS: [&str; 13] =
    ["11.4", "11.8", "12.0", "12.2", "12.3", "12.4", "12.5", "12.8", "12.9", "13.0", "13.1", "13.2", "13.5"];

/// How many tests the child says have passed.
fn passed(out: &str) -> Option<u32> {
    out.lines().find(|line| line.starts_with("test result: ok"))?.split_whitespace().nth(3)?.parse().ok()
}

/// Runs the tests of this program, but for those of a module `versions`, on softcuda as each version of the driver: all pass,
/// at least so many, and the same number each time.
pub(crate) fn on_every_version(least: u32) {
    let this = std::env::current_exe().expect("a test knows its executable");
    let mut counts = Vec::new();
    for version in VERSIONS {
        let mut command = Command::new(&this);
        command.args(["--skip", "versions::"]).env("SOFTCUDA_VERSION", version).env_remove(DRIVER_VARIABLE);
        let output = command.output().expect("the tests run again");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{version}:\n{out}\n{err}");
        counts.push(passed(&out).unwrap_or_else(|| panic!("{version} counted no tests:\n{out}")));
    }
    assert!(counts[0] >= least && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}
