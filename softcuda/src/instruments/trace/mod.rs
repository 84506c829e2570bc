//! A line of JSON for every call.

mod line;

use super::counts::{self, TRACE};
use super::output;
pub(crate) use line::{Arguments, Line};
use parking_lot::Mutex;
use std::os::fd::{AsFd as _, AsRawFd as _, IntoRawFd as _};
use std::sync::atomic::{AtomicI32, Ordering};

/// The descriptor that lines go to, -1 before the first trace. It is never closed: another output takes its place under
/// the same number, so that a line which is under way needs no lock, and the child of a fork finds none locked.
static OUTPUT: AtomicI32 = AtomicI32::new(-1);
static STARTING: Mutex<()> = Mutex::new(());

/// Adds a line for every call from now on to the file at `path`; `-` is the standard error stream.
pub(crate) fn start(path: &str) -> std::io::Result<()> {
    let file = match path {
        "-" => std::io::stderr().as_fd().try_clone_to_owned()?,
        path => output::open(path, true)?.into(),
    };
    let _one_at_a_time = STARTING.lock();
    match OUTPUT.load(Ordering::Relaxed) {
        -1 => OUTPUT.store(file.into_raw_fd(), Ordering::Release),
        // SAFETY: both descriptors are this file's own.
        output => unsafe {
            if libc::dup3(file.as_raw_fd(), output, libc::O_CLOEXEC) < 0 {
                return Err(std::io::Error::last_os_error());
            }
        },
    }
    counts::watch(TRACE, true);
    Ok(())
}

pub(crate) fn stop() {
    counts::watch(TRACE, false);
}

/// Writes a line in one piece, so that those of several threads and processes stay whole.
pub(crate) fn write(line: String) {
    let output = OUTPUT.load(Ordering::Acquire);
    // A full disk loses lines; the program goes on.
    // SAFETY: writes the bytes of the text to a descriptor that is never closed.
    unsafe { libc::write(output, line.as_ptr().cast(), line.len()) };
}
