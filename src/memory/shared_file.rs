//! Descriptors of files by which processes share memory.

use crate::object::error::{Error, Status};

/// One that the driver gave for others, which is closed unless it is handed on.
pub(super) struct ExportedFile(i32);

impl ExportedFile {
    pub(super) fn new(file: i32) -> Self {
        Self(file)
    }

    /// Hands it on: whoever has it closes it.
    pub(super) fn give(self) -> i32 {
        let file = self.0;
        std::mem::forget(self);
        file
    }
}

impl Drop for ExportedFile {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::close(self.0);
        }
    }
}

/// Adds to the error of an export or an import that the process can open no file, of which drivers say something else.
#[cold]
pub(super) fn explain_files(mut failure: Error) -> Error {
    if no_file_is_left() {
        failure.message.push_str(
            ". This process has no file descriptor left (RLIMIT_NOFILE): close some, or raise the limit",
        );
    }
    failure
}

#[cfg(target_os = "linux")]
fn no_file_is_left() -> bool {
    // SAFETY: asks for a descriptor of its own.
    let one = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if one < 0 {
        return std::io::Error::last_os_error().raw_os_error() == Some(libc::EMFILE);
    }
    drop(ExportedFile::new(one));
    false
}

#[cfg(not(target_os = "linux"))]
fn no_file_is_left() -> bool {
    false
}

/// Refuses what can be no descriptor of a driver's, of which the driver would only say that it does not know what went wrong.
pub(super) fn check_file(file: i32) -> Result<(), Error> {
    let refuse = |what: &str| {
        let refusal =
            format!("file descriptor {file} {what}; pass the one that came with the exported bytes");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    };
    if file < 0 {
        return refuse("is none");
    }
    #[cfg(target_os = "linux")]
    match file_kind(file) {
        None => return refuse("is not open in this process"),
        Some(kind) if !kind.is_empty() => return refuse(kind),
        Some(_) => {}
    }
    Ok(())
}

/// What a descriptor is of, if that can be no driver's; `None` if it is not open. A driver's is a device's file, or a file without a name that is
/// sealed.
#[cfg(target_os = "linux")]
fn file_kind(file: i32) -> Option<&'static str> {
    // SAFETY: plain numbers, all of which may be zero.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: writes one struct; whatever the number is, the system says whether it is a descriptor.
    if unsafe { libc::fstat(file, &raw mut about) } != 0 {
        return None;
    }
    Some(match about.st_mode & libc::S_IFMT {
        // SAFETY: asks about a descriptor.
        libc::S_IFREG if unsafe { libc::fcntl(file, libc::F_GET_SEALS) } <= 0 => "is a regular file's",
        libc::S_IFDIR => "is a directory's",
        libc::S_IFIFO => "is a pipe's",
        libc::S_IFSOCK => "is a socket's",
        _ => "",
    })
}
