//! Files that somebody names: what must not be opened as one.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

/// A path in C's form.
#[cfg(unix)]
pub(crate) fn path(text: &CStr) -> Cow<'_, Path> {
    use std::os::unix::ffi::OsStrExt as _;
    Cow::Borrowed(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

#[cfg(not(unix))]
pub(crate) fn path(text: &CStr) -> Cow<'_, Path> {
    Cow::Owned(text.to_string_lossy().into_owned().into())
}

/// Why a path is none of a file: whoever opens it, or reads it to its end, might wait for ever.
pub(crate) fn refuse(path: &Path) -> Option<String> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    (!kind.is_file() && !kind.is_dir())
        .then(|| "it is a pipe, a socket or a device, not a file; name the file".to_owned())
}

/// Before a file is written: keeps a pipe open that somebody reads, as a shell's `>(…)`; an error if nobody does, for whom opening it
/// would wait. Everything else that can be named does not wait.
#[cfg(unix)]
pub(crate) fn keep_pipe(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    if !std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo()) {
        return Ok(None);
    }
    let open = std::fs::OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
    open.map(Some).map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => io::Error::other("it is a pipe that nobody reads; open it for reading first"),
        _ => error,
    })
}

#[cfg(not(unix))]
pub(crate) fn keep_pipe(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}
