//! Memory that other processes can map: files without a name, whose size never changes, so that nobody who maps one is left without
//! the bytes. A descriptor that comes from elsewhere is looked at before it is used.

use crate::instruments::machine;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What the names of all of them begin with.
const NAMES: &str = "/memfd:softcuda-";

/// Nobody makes it smaller or larger, or allows that again.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

const FLAGS: libc::c_uint = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;

/// A file of bytes that processes share.
pub(crate) struct SharedFile {
    descriptor: OwnedFd,
    size: usize,
}

/// A part of one that is mapped at an address of its own; dropping it unmaps it.
pub(crate) struct Mapping {
    address: usize,
    size: usize,
}

impl SharedFile {
    /// A new one, all zero, which takes no memory before it is written. The name begins with `softcuda-`.
    pub(crate) fn create(name: &CStr, size: usize) -> Option<Self> {
        if !machine::shares_memory() {
            return None;
        }
        // The C library has a function for it since glibc 2.27 only.
        // SAFETY: the name is a string.
        let descriptor = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), FLAGS) } as RawFd;
        if descriptor < 0 {
            return None;
        }
        // SAFETY: a new descriptor, which nobody else has.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let length = libc::off_t::try_from(size).ok()?;
        // SAFETY: calls on a descriptor of ours.
        let ready = unsafe {
            libc::ftruncate(descriptor.as_raw_fd(), length) == 0
                && libc::fcntl(descriptor.as_raw_fd(), libc::F_ADD_SEALS, SEALS) == 0
        };
        ready.then_some(Self { descriptor, size })
    }

    /// One that a caller's descriptor means, which stays the caller's. `None` for every other descriptor.
    pub(crate) fn of_descriptor(descriptor: RawFd) -> Option<Self> {
        // SAFETY: whatever the number is, the system says whether it is a descriptor.
        let own = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
        // SAFETY: a new descriptor, which nobody else has.
        let own = if own < 0 { return None } else { unsafe { OwnedFd::from_raw_fd(own) } };
        Self::of(own)
    }

    /// One of another process's, by its number there. `None` if that process is gone, is another user's, or has something else there.
    pub(crate) fn of_process(process: i32, descriptor: RawFd) -> Option<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        // What is no such file is not even opened, which may have effects.
        let path = is_at(process, descriptor).then(|| path(process, descriptor))?;
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        Self::of(options.open(path).ok()?.into())
    }

    fn of(descriptor: OwnedFd) -> Option<Self> {
        // SAFETY: a descriptor of ours.
        let seals = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return None;
        }
        let size = std::fs::File::from(descriptor.try_clone().ok()?).metadata().ok()?.len();
        Some(Self { descriptor, size: usize::try_from(size).ok()? })
    }

    /// Bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The number by which other processes find it in this one.
    pub(crate) fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Another descriptor of it, for a caller, which closes it. Programs that it starts have it as well (measured).
    pub(crate) fn give(&self) -> Option<RawFd> {
        // SAFETY: a descriptor of ours.
        let new = unsafe { libc::fcntl(self.number(), libc::F_DUPFD, 0) };
        (new >= 0).then_some(new)
    }

    /// Maps a part of it, in whole pages.
    pub(crate) fn map(&self, offset: usize, size: usize) -> Option<Mapping> {
        let address = self.place(std::ptr::null_mut(), offset, size, 0)?;
        Some(Mapping { address, size })
    }

    /// Maps a part of it, in whole pages, in place of what is mapped at an address.
    ///
    /// # Safety
    /// The addresses are of a mapping of the driver's, and nobody uses its bytes or what is known of them.
    pub(crate) unsafe fn map_over(&self, address: usize, offset: usize, size: usize) -> bool {
        self.place(address as *mut _, offset, size, libc::MAP_FIXED).is_some()
    }

    fn place(&self, at: *mut libc::c_void, offset: usize, size: usize, flags: libc::c_int) -> Option<usize> {
        let end = offset.checked_add(size)?;
        let start = libc::off_t::try_from(offset).ok().filter(|_| size > 0 && end <= self.size)?;
        let (rights, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new mapping, or one in the place that the caller of `map_over` vouches for.
        let address = unsafe { libc::mmap(at, size, rights, flags, self.number(), start) };
        (address != libc::MAP_FAILED).then_some(address as usize)
    }

    /// Gives the memory of whole pages back to the system: they are zero again.
    pub(crate) fn clear(&self, offset: usize, size: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        if let (Ok(offset), Ok(size)) = (libc::off_t::try_from(offset), libc::off_t::try_from(size)) {
            // SAFETY: a descriptor of ours.
            unsafe { libc::fallocate(self.number(), mode, offset, size) };
        }
    }
}

impl Mapping {
    pub(crate) fn address(&self) -> usize {
        self.address
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.address as *mut _, self.size) };
    }
}

/// Whether a process, which may be this one, has such a file by this number: one that has ended has none.
pub(crate) fn is_at(process: i32, descriptor: RawFd) -> bool {
    let target = std::fs::read_link(path(process, descriptor));
    target.is_ok_and(|target| target.to_str().is_some_and(|target| target.starts_with(NAMES)))
}

fn path(process: i32, descriptor: RawFd) -> String {
    format!("/proc/{process}/fd/{descriptor}")
}

#[cfg(test)]
mod tests {
    use super::SharedFile;

    #[test]
    fn only_files_of_its_own_are_taken_in() {
        let file = SharedFile::create(c"softcuda-test", 8192).unwrap();
        let again = SharedFile::of_descriptor(file.number()).expect("its own");
        assert_eq!(again.size(), 8192);
        assert!(SharedFile::of_process(std::process::id() as i32, file.number()).is_some());
        let number = again.number();
        drop(again);
        assert!(SharedFile::of_descriptor(number).is_none(), "closed");
        assert!(SharedFile::of_descriptor(-1).is_none());
        let other = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(SharedFile::of_descriptor(std::os::fd::AsRawFd::as_raw_fd(&other)).is_none());
        assert!(SharedFile::of_process(std::process::id() as i32, 0).is_none());
        // SAFETY: a new descriptor, closed below.
        let unsealed = unsafe { libc::memfd_create(c"softcuda-open".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(SharedFile::of_descriptor(unsealed).is_none(), "it could be made smaller");
        // SAFETY: ours.
        unsafe { libc::close(unsealed) };
    }

    #[test]
    fn what_one_mapping_writes_another_reads_and_a_hole_is_zero() {
        let file = SharedFile::create(c"softcuda-test", 8192).unwrap();
        let (a, b) = (file.map(4096, 4096).unwrap(), file.map(0, 8192).unwrap());
        assert!(file.map(4096, 8192).is_none() && file.map(0, 0).is_none(), "not beyond the end");
        // SAFETY: the mappings are there.
        unsafe {
            *(a.address() as *mut u8) = 7;
            assert_eq!(*((b.address() + 4096) as *const u8), 7);
            file.clear(4096, 4096);
            assert_eq!(*(a.address() as *const u8), 0);
        }
    }
}
