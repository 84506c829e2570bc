//! Files that callers name to be written.

use std::fs::{File, OpenOptions};
use std::io::{Error, Result, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// Opens a file to be written anew, or with what it has if `adds`. A pipe that nobody reads is refused: opening it would wait.
pub(crate) fn open(path: &str, adds: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).append(adds).truncate(!adds).create(true);
    let file = options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    // From now on, who reads slowly is waited for.
    // SAFETY: reads and sets flags of a file of our own.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    // SAFETY: as above.
    if flags < 0 || unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(file)
}

/// Replaces what a file has.
pub(crate) fn write(path: &str, text: &str) -> Result<()> {
    open(path, false)?.write_all(text.as_bytes())
}
