//! Memory that several addresses, and several processes, can have: a file without a name, which grows and shrinks no more.
//!
//! Behind the memory the file has a page that says what it is, for who gets its descriptor. A descriptor comes from outside: what
//! cannot be such a file is refused before it is mapped.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Bytes of the page behind the memory.
const LABEL: usize = 4096;
/// What the page begins with; what it says follows.
const MAGIC: [u8; 16] = *b"softcuda memory1";
const NAME: &CStr = c"softcuda";
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// The file.
pub(crate) struct SharedMemory {
    file: OwnedFd,
    size: usize,
}

/// What is said of the memory, beside its size, in numbers that its user chooses.
pub(crate) type Label = [u64; 6];

impl SharedMemory {
    /// New memory, all zero; `size` is in whole pages. `None` if the system refuses.
    pub(crate) fn new(size: usize, label: Label) -> Option<Self> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // glibc has a function for it since 2.27 only.
        // SAFETY: a text that ends with a zero, and flags.
        let made = unsafe { libc::syscall(libc::SYS_memfd_create, NAME.as_ptr(), flags) };
        let file = own(RawFd::try_from(made).ok()?)?;
        let all = libc::off_t::try_from(size.checked_add(LABEL)?).ok()?;
        // SAFETY: a descriptor of our own.
        if unsafe { libc::ftruncate(file.as_raw_fd(), all) } != 0 {
            return None;
        }
        let page = Page { magic: MAGIC, size: size as u64, label };
        let bytes = page.bytes();
        // SAFETY: as above, and the bytes are `bytes`.
        let written = unsafe {
            libc::pwrite(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), size as libc::off_t)
        };
        // SAFETY: a descriptor of our own.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } == 0;
        (written == bytes.len() as isize && sealed).then_some(Self { file, size })
    }

    /// The memory behind a caller's descriptor, and what is said of it; the descriptor stays the caller's. `None` if it is none.
    pub(crate) fn open(descriptor: RawFd) -> Option<(Self, Label)> {
        if descriptor < 0 {
            return None;
        }
        // SAFETY: asks about a descriptor, whatever it is. Only what cannot shrink may be mapped.
        let seals = unsafe { libc::fcntl(descriptor, libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return None;
        }
        // SAFETY: plain numbers, all of which may be zero.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `about` is a place for the answer.
        if unsafe { libc::fstat(descriptor, &raw mut about) } != 0 {
            return None;
        }
        let size = usize::try_from(about.st_size).ok()?.checked_sub(LABEL)?;
        let mut bytes = [0; Page::SIZE];
        // SAFETY: the bytes are `bytes`.
        let read =
            unsafe { libc::pread(descriptor, bytes.as_mut_ptr().cast(), bytes.len(), size as libc::off_t) };
        let page = Page::read(&bytes).filter(|page| page.size == size as u64)?;
        if read != bytes.len() as isize {
            return None;
        }
        Some((Self { file: duplicate(descriptor)?, size }, page.label))
    }

    /// Bytes of the memory.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.file.as_fd()
    }

    /// A descriptor for a caller, who closes it.
    pub(crate) fn lend(&self) -> Option<OwnedFd> {
        duplicate(self.file.as_raw_fd())
    }
}

fn own(descriptor: RawFd) -> Option<OwnedFd> {
    // SAFETY: new, and nobody else's.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Another descriptor of the same file, which programs that this one starts do not get.
fn duplicate(descriptor: RawFd) -> Option<OwnedFd> {
    // SAFETY: a call that makes a new descriptor, or fails.
    own(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) })
}

/// The page behind the memory.
#[derive(Debug, PartialEq)]
struct Page {
    magic: [u8; 16],
    size: u64,
    label: Label,
}

impl Page {
    const SIZE: usize = 16 + 8 + size_of::<Label>();

    fn bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..16].copy_from_slice(&self.magic);
        for (place, number) in bytes[16..].chunks_exact_mut(8).zip([self.size].iter().chain(&self.label)) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let (magic, numbers) = bytes.split_at(16);
        let mut numbers =
            numbers.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().expect("eight")));
        let (size, mut label) = (numbers.next()?, Label::default());
        label.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
        (magic == MAGIC).then_some(Self { magic: MAGIC, size, label })
    }
}

#[cfg(test)]
mod tests {
    use super::{LABEL, SharedMemory};
    use std::fs::File;
    use std::io::{Seek, SeekFrom, Write};
    use std::os::fd::{AsRawFd, FromRawFd};

    const SIZE: usize = 2 << 20;

    #[test]
    fn a_descriptor_tells_what_the_memory_is() {
        let label = [1, 2, 3, u64::MAX, 5, 6];
        let memory = SharedMemory::new(SIZE, label).expect("a file");
        let lent = memory.lend().expect("a descriptor");
        let (other, read) = SharedMemory::open(lent.as_raw_fd()).expect("it is one");
        assert_eq!((other.size(), read), (SIZE, label));
        assert_ne!(other.descriptor().as_raw_fd(), lent.as_raw_fd());
    }

    #[test]
    fn it_cannot_be_made_shorter_by_who_has_it() {
        let memory = SharedMemory::new(SIZE, [0; 6]).expect("a file");
        let file = File::from(memory.lend().expect("a descriptor"));
        assert!(file.set_len(0).is_err());
    }

    #[test]
    fn what_is_something_else_is_refused() {
        assert!(SharedMemory::open(-1).is_none());
        let null = File::open("/dev/null").expect("there");
        assert!(SharedMemory::open(null.as_raw_fd()).is_none());
        // SAFETY: a new descriptor.
        let mut plain = unsafe { File::from_raw_fd(libc::memfd_create(c"x".as_ptr(), 0)) };
        plain.set_len((SIZE + LABEL) as u64).expect("room");
        assert!(SharedMemory::open(plain.as_raw_fd()).is_none(), "not sealed");
        // One that says a size which it has not.
        let memory = SharedMemory::new(SIZE, [0; 6]).expect("a file");
        let mut file = File::from(memory.lend().expect("a descriptor"));
        file.seek(SeekFrom::Start((SIZE + 16) as u64)).expect("a place");
        file.write_all(&u64::MAX.to_le_bytes()).expect("room");
        assert!(SharedMemory::open(memory.lend().expect("one").as_raw_fd()).is_none());
        plain.write_all(b"x").expect("room");
    }
}
