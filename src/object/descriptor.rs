//! Descriptors: the plain bytes by which another process finds an event, a pool or memory. They come back from anywhere, and the driver
//! looks at its own part of them little: driver branch 580 ends the process for some changed bytes (measured). So they are checked first.

use super::callback;
use super::error::{Error, Status};
use crate::driver::Driver;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Bytes of every descriptor.
pub const DESCRIPTOR_BYTES: usize = 160;

/// The bytes of a descriptor, as they go to another process.
pub type DescriptorBytes = [u8; DESCRIPTOR_BYTES];

/// Bytes of the driver's own in it.
pub(crate) const NATIVE: usize = 64;

/// What a descriptor is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DescriptorKind {
    Event = 1,
    Pool = 2,
    /// A buffer of a pool.
    Buffer = 3,
    /// Memory that is no pool's.
    Memory = 4,
    /// Memory that was created at once: an allocation, or a part of a buffer of virtual memory.
    Allocation = 5,
}

/// A descriptor, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Descriptor {
    pub(crate) kind: DescriptorKind,
    /// The process that wrote it.
    pub(crate) process: [u8; 16],
    /// The device whose memory it is; zeros where it is no device's.
    pub(crate) device: [u8; 16],
    /// The pool, by a number that no other has.
    pub(crate) pool: [u8; 16],
    /// Bytes of the memory, and where they begin in what the driver shares; of a part, in the buffer.
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
    /// The driver's own bytes; what goes by a file has others there.
    pub(crate) native: [u8; NATIVE],
}

/// Refuses to export and import inside a function that the driver called, and without a driver.
pub(crate) fn check_allowed(driver: &Driver) -> Result<(), Error> {
    callback::check_allowed()?;
    if driver.version().is_some() {
        return Ok(());
    }
    let refusal = "sharing with other processes needs a driver, and none is open: CUSHIM_DRIVER or the options say \"none\"; unset \
                   CUSHIM_DRIVER or name a driver";
    Err(Error::new(Status::UNSUPPORTED, refusal))
}

const MAGIC: [u8; 6] = *b"CUSHIM";
const VERSION: u8 = 1;

impl DescriptorKind {
    const ALL: [Self; 5] = [Self::Event, Self::Pool, Self::Buffer, Self::Memory, Self::Allocation];

    fn name(self) -> &'static str {
        match self {
            Self::Event => "an event",
            Self::Pool => "a pool",
            Self::Buffer => "a buffer of a pool",
            Self::Memory => "memory of no pool",
            Self::Allocation => "virtual memory",
        }
    }

    fn importer(self) -> &'static str {
        match self {
            Self::Event => "cushim_event_import",
            Self::Pool => "cushim_resource_import",
            Self::Buffer => "cushim_buffer_import",
            Self::Memory => "cushim_buffer_open",
            Self::Allocation => "cushim_allocation_import or cushim_buffer_import_parts",
        }
    }
}

impl Descriptor {
    /// One that this process writes.
    pub(crate) fn new(kind: DescriptorKind) -> Self {
        let (device, pool, native) = ([0; 16], [0; 16], [0; NATIVE]);
        Self { kind, process: this_process(), device, pool, bytes: 0, offset: 0, native }
    }

    /// Whether this process has written it.
    pub(crate) fn is_own(&self) -> bool {
        self.process == this_process()
    }

    /// As it goes to another process.
    pub(crate) fn write(&self) -> DescriptorBytes {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &MAGIC);
        put(6, &[self.kind as u8, VERSION]);
        put(8, &self.bytes.to_le_bytes());
        put(16, &self.process);
        put(32, &self.device);
        put(48, &self.pool);
        put(64, &self.offset.to_le_bytes());
        put(72, &self.native);
        let sum = sum(&bytes);
        bytes[DESCRIPTOR_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads one of this kind. Refuses what was cut, changed, or is something else.
    pub(crate) fn read(bytes: &[u8], wanted: DescriptorKind) -> Result<Self, Error> {
        let read = || {
            let Ok(bytes) = <&DescriptorBytes>::try_from(bytes) else {
                return Err(format!(
                    "the descriptor has {} bytes, and every descriptor has {DESCRIPTOR_BYTES}; pass all that was exported",
                    bytes.len()
                ));
            };
            if bytes[..6] != MAGIC {
                return Err(
                    "these bytes are no descriptor of cushim's; pass what was exported as it is".to_owned()
                );
            }
            if bytes[7] != VERSION {
                return Err(format!(
                    "the descriptor is of version {}, and this library reads version {VERSION}; use the same library in both processes",
                    bytes[7]
                ));
            }
            let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            if long(DESCRIPTOR_BYTES - 8) != sum(bytes) {
                return Err("the descriptor was changed since it was exported: its checksum does not match"
                    .to_owned());
            }
            let kind = DescriptorKind::ALL.into_iter().find(|kind| *kind as u8 == bytes[6]);
            let Some(kind) = kind else {
                return Err(format!(
                    "the descriptor is of kind {}, which this library does not know",
                    bytes[6]
                ));
            };
            if kind != wanted {
                let (name, importer, wanted) = (kind.name(), kind.importer(), wanted.name());
                return Err(format!(
                    "the descriptor is of {name}, not of {wanted}; import it with {importer}"
                ));
            }
            let id = |at: usize| bytes[at..at + 16].try_into().expect("16 bytes");
            Ok(Self {
                kind,
                process: id(16),
                device: id(32),
                pool: id(48),
                bytes: long(8),
                offset: long(64),
                native: bytes[72..72 + NATIVE].try_into().expect("64 bytes"),
            })
        };
        read().map_err(|refusal| Error::new(Status::INVALID_ARGUMENT, refusal))
    }
}

/// FNV-1a over all but the last eight bytes: no change of one byte leaves it as it is.
fn sum(bytes: &DescriptorBytes) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes[..DESCRIPTOR_BYTES - 8].iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A number that nobody else has.
pub(crate) fn unique() -> [u8; 16] {
    // Each is keyed by what the system has at random.
    let half = || RandomState::new().hash_one((std::process::id(), std::time::SystemTime::now()));
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half().to_le_bytes());
    id[8..].copy_from_slice(&half().to_le_bytes());
    id
}

fn this_process() -> [u8; 16] {
    static THIS: OnceLock<[u8; 16]> = OnceLock::new();
    *THIS.get_or_init(unique)
}

#[cfg(test)]
mod tests {
    use super::{DESCRIPTOR_BYTES, Descriptor, DescriptorKind};

    fn one() -> Descriptor {
        let mut one = Descriptor::new(DescriptorKind::Buffer);
        (one.bytes, one.offset, one.pool, one.native) = (4096, 512, [3; 16], [7; 64]);
        one
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Descriptor::read(&one().write(), DescriptorKind::Buffer).unwrap(), one());
        assert!(one().is_own());
    }

    #[test]
    fn every_cut_and_every_changed_bit_is_refused() {
        let bytes = one().write();
        for length in 0..DESCRIPTOR_BYTES {
            assert!(Descriptor::read(&bytes[..length], DescriptorKind::Buffer).is_err(), "{length}");
        }
        assert!(Descriptor::read(&[bytes.as_slice(), &[0]].concat(), DescriptorKind::Buffer).is_err());
        for bit in 0..DESCRIPTOR_BYTES * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Descriptor::read(&changed, DescriptorKind::Buffer).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_kind_names_its_own_function() {
        let failure = Descriptor::read(&one().write(), DescriptorKind::Event).unwrap_err();
        assert!(failure.message.contains("cushim_buffer_import"), "{}", failure.message);
    }
}
