//! Handles: the 64 bytes by which another process finds what is shared with it. They come back from anywhere.

use std::ffi::c_char;
use std::os::fd::RawFd;
use std::sync::LazyLock;

/// Bytes of a handle of the driver's interface.
pub(crate) const SIZE: usize = 64;

/// Tells one board, or one pool, from all others that there ever were.
pub(crate) type Nonce = [u8; 16];

/// What a handle is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory = 1,
    Event = 2,
    /// Memory of a pool, which is found by the pool.
    Pointer = 3,
}

/// The bytes of a handle, read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle {
    pub(crate) process: i32,
    /// The number of the board in that process.
    pub(crate) descriptor: RawFd,
    /// Of the board, or of the pool.
    pub(crate) nonce: Nonce,
    pub(crate) slot: u32,
    /// Of what stands in the slot: a later one there has another.
    pub(crate) serial: u64,
}

const MAGIC: [u8; 4] = *b"SCIP";
const VERSION: u32 = 1;

impl Handle {
    pub(crate) fn bytes(&self, kind: Kind) -> [c_char; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &MAGIC);
        put(4, &(VERSION << 8 | kind as u32).to_le_bytes());
        put(8, &self.process.to_le_bytes());
        put(12, &self.descriptor.to_le_bytes());
        put(16, &self.nonce);
        put(32, &self.slot.to_le_bytes());
        put(40, &self.serial.to_le_bytes());
        let check = sum(&bytes);
        bytes[56..].copy_from_slice(&check.to_le_bytes());
        bytes.map(|byte| byte as c_char)
    }

    /// `None` if the bytes are not those of a handle of this kind. That what it names is there is not said.
    pub(crate) fn read(bytes: &[c_char; SIZE], kind: Kind) -> Option<Self> {
        let bytes = bytes.map(|byte| byte as u8);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let is_one = bytes[..4] == MAGIC && word(4) == VERSION << 8 | kind as u32 && long(56) == sum(&bytes);
        is_one.then(|| Self {
            process: word(8) as i32,
            descriptor: word(12) as i32,
            nonce: bytes[16..32].try_into().expect("16 bytes"),
            slot: word(32),
            serial: long(40),
        })
    }
}

/// A sum over all but the last eight bytes (FNV-1a): it finds what was cut or changed by accident.
fn sum(bytes: &[u8; SIZE]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes[..SIZE - 8].iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A number that nobody had before.
pub(crate) fn nonce() -> Nonce {
    let mut bytes = Nonce::default();
    // SAFETY: writes as many bytes as there are. glibc has a function for that since 2.25.
    let got = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    if usize::try_from(got) != Ok(bytes.len()) {
        // Time and place, where the system has no random numbers.
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let place = (std::process::id() as u64) << 32 ^ (&raw const bytes) as u64;
        bytes[..8].copy_from_slice(&(time.as_nanos() as u64).to_le_bytes());
        bytes[8..].copy_from_slice(&place.to_le_bytes());
    }
    bytes
}

/// Whether a nonce is that of this process's board.
pub(crate) fn is_own(which: &Nonce) -> bool {
    which == own()
}

/// That of this process.
pub(super) fn own() -> &'static Nonce {
    static OWN: LazyLock<Nonce> = LazyLock::new(nonce);
    &OWN
}

#[cfg(test)]
mod tests {
    use super::{Handle, Kind, SIZE};

    #[test]
    fn a_changed_bit_makes_it_none() {
        let handle =
            Handle { process: 7, descriptor: 9, nonce: *b"0123456789abcdef", slot: 3, serial: u64::MAX - 4 };
        let bytes = handle.bytes(Kind::Event);
        assert_eq!(Handle::read(&bytes, Kind::Event), Some(handle));
        assert_eq!(Handle::read(&bytes, Kind::Memory), None);
        for bit in 0..SIZE * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= (1u8 << (bit % 8)) as std::ffi::c_char;
            assert_eq!(Handle::read(&changed, Kind::Event), None, "bit {bit}");
        }
    }
}
