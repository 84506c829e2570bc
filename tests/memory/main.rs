//! Device memory, host memory that devices reach, copies and fills.
//!
//! The tests run on softcuda; with `CUSHIM_DRIVER` in the environment, on the driver that it names.

mod allocation;
mod attributes;
mod copies;
mod current;
mod devices;
mod fills;
mod host;
mod needed;
mod none;
mod peers;
mod pools;
mod releases;
mod versions;

use cushim::driver::{Choice, DRIVER_VARIABLE, Driver, OpenOptions};
use cushim::memory::{DeviceMemory, Place};
use cushim::{Context, Device, Stream, StreamOptions};
use std::process::Command;
use std::sync::Arc;

/// The driver that the tests run on, the same each time.
fn driver() -> Driver {
    let options = OpenOptions::new();
    let chosen = std::env::var_os(DRIVER_VARIABLE).is_some();
    let options = if chosen { options } else { options.choice(Choice::Software) };
    options.open().expect("softcuda is beside the tests")
}

/// The primary context of the first device.
fn context() -> Arc<Context> {
    Device::get(&driver(), 0).expect("a device").primary_context().expect("a context")
}

fn stream(context: &Arc<Context>) -> Arc<Stream> {
    Stream::create(context, &StreamOptions::default()).expect("a stream")
}

/// Bytes of which no two neighbours, rows or slices are the same.
fn numbered(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 7 + i / 251 + i / 63_001) as u8).collect()
}

/// Device memory that holds these bytes.
fn holding(context: &Arc<Context>, bytes: &[u8]) -> DeviceMemory {
    let memory = DeviceMemory::allocate(context, bytes.len()).expect("memory");
    // SAFETY: both ends hold so many bytes.
    unsafe { context.copy(memory.place(), Place::host_source(bytes), bytes.len()) }.expect("copied");
    memory
}

/// What so many bytes at a place are.
fn read(context: &Context, place: Place, count: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; count];
    // SAFETY: the callers read within their memory; the vector holds so many bytes.
    unsafe { context.copy(Place::host(bytes.as_mut_slice()), place, count) }.expect("copied");
    bytes
}

/// Runs `body` in a process of its own, with these variables in the environment, and panics if it fails there.
///
/// `name` is the test's own path, as `cargo test -- --exact` wants it.
#[allow(clippy::print_stdout)] // the child tells its parent
fn alone(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
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

/// A pointer that is neither NULL nor anything of the driver's.
const NOWHERE: u64 = 0x1230;

const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;
