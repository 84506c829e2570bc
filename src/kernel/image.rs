//! Code as it comes: PTX, cubin, fatbin.

use crate::driver::file;
use crate::object::error::{Error, Status};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Code for a device, complete: the driver is given no length and reads as far as the image says of itself.
///
/// ```
/// use cushim::kernel::Image;
///
/// assert!(Image::new(".version 7.0\n.target sm_70\n.address_size 64\n").is_ok());
/// let error = Image::new(b"\x7fELF and no more".as_slice()).unwrap_err();
/// assert!(error.message.contains("cut off"), "{error}");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    bytes: Vec<u8>,
    kind: &'static str,
    /// Names that a compiler gave, each behind the expression that a program knows.
    names: Vec<(String, String)>,
}

/// How a fatbin starts: `0xBA55ED50`, a version, the bytes of the header, the bytes of what follows.
const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
/// How the struct starts that nvcc puts around a fatbin: `0x466243B1`, a version, a pointer to the fatbin.
const WRAPPER: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();
/// How a cubin starts, which is an ELF file.
const ELF: [u8; 4] = *b"\x7fELF";
/// The machine of a cubin, `EM_CUDA`.
const CUDA: usize = 190;
/// How LTO IR starts, the compiler's intermediate form.
const LTO_IR: [u8; 4] = [0xED, 0x43, 0x4E, 0x7F];

impl Image {
    /// Takes PTX (as text, with or without a NUL at its end), a cubin or a fatbin. What it is shows from its bytes.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an image that is empty, cut off, or none of these.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        let mut bytes = bytes.into();
        let start: [u8; 4] = bytes.first_chunk().copied().unwrap_or_default();
        let (kind, needed) = match start {
            ELF if number::<2>(&bytes, 0x12).is_some_and(|machine| machine != CUDA) => {
                return Err(refused("is a program or library of the host; pass a cubin, a fatbin or PTX"));
            }
            ELF => ("a cubin", elf_size(&bytes)),
            FATBIN => ("a fatbin", fatbin_size(&bytes)),
            WRAPPER => {
                return Err(refused(
                    "is the struct that nvcc puts around a fatbin; pass what its third member, `data`, points to",
                ));
            }
            LTO_IR => {
                return Err(refused(
                    "is LTO IR, which the driver does not load; link it first, or compile it to PTX or a cubin",
                ));
            }
            _ => {
                end_text(&mut bytes)?;
                return Ok(Self { bytes, kind: "PTX", names: Vec::new() });
            }
        };
        match needed {
            Some(needed) if needed <= bytes.len() => Ok(Self { bytes, kind, names: Vec::new() }),
            Some(needed) => {
                Err(refused(&format!("is cut off: {kind} of {needed} bytes, {} are there", bytes.len())))
            }
            None => Err(refused(&format!(
                "is cut off: {kind} whose {} bytes do not hold its header",
                bytes.len()
            ))),
        }
    }

    /// Reads an image from a file.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the file cannot be read, or as [`new`](Self::new).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let refused = |why: String| {
            Error::new(Status::INVALID_ARGUMENT, format!("{} cannot be read: {why}", path.display()))
        };
        if let Some(why) = file::refuse(path) {
            return Err(refused(why));
        }
        let bytes = read_whole(path).map_err(|error| refused(error.to_string()))?;
        Self::new(bytes).map_err(|mut error| {
            error.message = format!("{}: {}", path.display(), error.message);
            error
        })
    }

    /// The same code, some of whose names a compiler gave: each behind the expression that a program knows.
    pub(crate) fn with_names(self, names: Vec<(String, String)>) -> Self {
        Self { names, ..self }
    }

    /// The names that a compiler gave.
    pub(super) fn names(&self) -> &[(String, String)] {
        &self.names
    }

    /// `PTX`, `a cubin` or `a fatbin`.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// How many bytes were given, without the NULs at the end of a text.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - usize::from(self.kind == "PTX")
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that were given: of a text without the NUL at its end.
    pub(crate) fn without_nul(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({}, {} bytes)", self.kind, self.len())
    }
}

/// No image is larger: a file that is may have no end.
pub(crate) const MOST_BYTES: u64 = 1 << 31;

fn read_whole(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let too_large = || std::io::Error::other(format!("it has more than {MOST_BYTES} bytes"));
    if file.metadata()?.len() > MOST_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MOST_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn refused(why: &str) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("the image {why}"))
}

/// Sees to it that a text ends with one NUL.
fn end_text(bytes: &mut Vec<u8>) -> Result<(), Error> {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    if bytes.is_empty() {
        return Err(refused("is empty"));
    }
    if bytes.contains(&0) {
        return Err(refused("is neither PTX, nor a cubin, nor a fatbin"));
    }
    bytes.push(0);
    Ok(())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(N)?)?;
    let value = field.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    usize::try_from(value).ok()
}

/// Bytes of a fatbin, by its header.
fn fatbin_size(bytes: &[u8]) -> Option<usize> {
    number::<2>(bytes, 6)?.checked_add(number::<8>(bytes, 8)?)
}

/// Bytes of an ELF file of 64 bits: as far as its headers and sections reach. Offsets are those of the ELF-64 format.
fn elf_size(bytes: &[u8]) -> Option<usize> {
    let table = |offset: usize, size: usize, count: usize| {
        number::<8>(bytes, offset)?
            .checked_add(number::<2>(bytes, size)?.checked_mul(number::<2>(bytes, count)?)?)
    };
    let segments = table(0x20, 0x36, 0x38)?;
    let sections = table(0x28, 0x3A, 0x3C)?;
    let end = segments.max(sections);
    if end > bytes.len() {
        return Some(end);
    }
    let (first, size, count) =
        (number::<8>(bytes, 0x28)?, number::<2>(bytes, 0x3A)?, number::<2>(bytes, 0x3C)?);
    (0..count).try_fold(end, |end, index| {
        let section = first.checked_add(index.checked_mul(size)?)?;
        // A section without bits (`SHT_NOBITS`, 8) takes no place in the file.
        if number::<4>(bytes, section.checked_add(4)?)? == 8 {
            return Some(end);
        }
        let offset = number::<8>(bytes, section.checked_add(0x18)?)?;
        Some(end.max(offset.checked_add(number::<8>(bytes, section.checked_add(0x20)?)?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(bytes: &[u8]) -> String {
        Image::new(bytes).expect_err("it is no image").message.clone()
    }

    #[test]
    fn text_ends_with_one_nul() {
        for text in [".version 7.0", ".version 7.0\0", ".version 7.0\0\0"] {
            assert_eq!(Image::new(text).expect("PTX").bytes(), b".version 7.0\0");
        }
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b"\0\0").contains("empty"));
        assert!(refusal(b"a\0b").contains("neither"));
        assert!(refusal(b"\xedCN\x7f\x01@").contains("LTO IR"));
    }

    #[test]
    fn a_fatbin_is_as_long_as_its_header_says() {
        let mut fatbin = Vec::from(FATBIN);
        fatbin.extend([1, 0, 16, 0]);
        fatbin.extend(8_u64.to_le_bytes());
        assert!(refusal(&fatbin).contains("24 bytes, 16 are there"));
        assert!(refusal(&fatbin[..10]).contains("cut off"));
        fatbin.extend([0; 8]);
        assert_eq!(Image::new(fatbin).expect("complete").kind(), "a fatbin");
        assert!(refusal(&[&WRAPPER[..], &[0; 20]].concat()).contains("data"));
    }

    #[test]
    fn a_cubin_is_as_long_as_its_sections_reach() {
        let mut elf = vec![0; 64 + 64];
        elf[..4].copy_from_slice(&ELF);
        elf[0x12] = 190; // CUDA's machine
        elf[0x28] = 64; // section headers start there,
        elf[0x3A] = 64; // each of so many bytes,
        elf[0x3C] = 1; // and there is one
        elf[64 + 0x18] = 128;
        elf[64 + 0x20] = 4;
        assert!(refusal(&elf).contains("132 bytes, 128 are there"));
        assert!(refusal(&elf[..100]).contains("128 bytes, 100 are there"));
        assert!(refusal(&elf[..40]).contains("header"));
        assert!(refusal(&[&elf[..0x12], &[62, 0], &elf[0x14..]].concat()).contains("of the host"));
        elf.extend([0; 4]);
        assert_eq!(Image::new(elf).expect("complete").kind(), "a cubin");
    }

    /// Whether it would be waited for, or has no end.
    #[test]
    #[cfg(all(unix, not(loom)))] // the models have no temporary files
    fn files_that_are_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, large) = (folder.path().join("pipe"), folder.path().join("large"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        std::fs::File::create(&large).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        for (path, words) in [
            (pipe.as_path(), "a pipe"),
            (large.as_path(), "more than"),
            (std::path::Path::new("/dev/zero"), "a device"),
        ] {
            let error = Image::from_file(path).expect_err("it is refused");
            assert!(error.message.contains("cannot be read") && error.message.contains(words), "{error}");
        }
    }
}
