//! What an image is: PTX, a cubin, a fatbin. The caller gives no length: an image says of itself how long it is.

use crate::abi::Answer;
use crate::abi::sys::{
    CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUresult,
};
use std::ffi::{CStr, c_void};

/// What of an image can be run here.
pub(crate) enum Image {
    /// PTX, the newest that the image has.
    Ptx(String),
    /// Machine code without PTX.
    NoPtx,
    /// Nothing that a driver knows.
    Unknown,
}

const ELF: [u8; 4] = *b"\x7fELF";
const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const WRAPPER: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();

impl Image {
    /// The image at an address of the caller's.
    pub(crate) fn at(image: *const c_void) -> Result<Self, CUresult> {
        if image.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let start = image.cast::<u8>();
        // SAFETY: by the driver API's contract an image is there; the shortest has one byte, a NUL, and each further one
        // is looked at only if those before it are not NUL.
        let begins = |magic: [u8; 4]| (0..4).all(|i| unsafe { start.add(i).read() } == magic[i]);
        if begins(ELF) {
            return Ok(Self::NoPtx);
        }
        if begins(FATBIN) {
            // SAFETY: a fatbin's header says how long it is, and the caller gave all of it.
            return Ok(Self::of_fatbin(unsafe { whole_fatbin(start) }));
        }
        if begins(WRAPPER) {
            // SAFETY: the struct that nvcc puts around a fatbin: two numbers, and a pointer to the fatbin.
            let fatbin = unsafe { start.add(8).cast::<*const c_void>().read_unaligned() };
            return Self::at(fatbin);
        }
        // SAFETY: everything else is a text, which ends with NUL.
        let text = unsafe { CStr::from_ptr(image.cast()) };
        Ok(Self::of_text(text.to_bytes()))
    }

    /// The image in a file.
    pub(crate) fn in_file(path: &str) -> Result<Self, CUresult> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            // Driver 580 asks for as much memory as a folder says that it needs (measured).
            std::io::ErrorKind::IsADirectory => CUDA_ERROR_OUT_OF_MEMORY,
            _ => CUDA_ERROR_FILE_NOT_FOUND,
        })?;
        Ok(match bytes.first_chunk() {
            Some(&ELF) => Self::NoPtx,
            Some(&FATBIN) => Self::of_fatbin(&bytes),
            _ => Self::of_text(bytes.split(|byte| *byte == 0).next().unwrap_or_default()),
        })
    }

    fn of_text(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(".version") => Self::Ptx(text.to_owned()),
            _ => Self::Unknown,
        }
    }

    fn of_fatbin(bytes: &[u8]) -> Self {
        let texts = entries(bytes).filter(|entry| entry.kind == PTX);
        let newest = texts.max_by_key(|entry| entry.architecture);
        match newest.map(|entry| entry.text()) {
            None => Self::NoPtx,
            Some(Some(text)) => Self::Ptx(text),
            Some(None) => Self::Unknown,
        }
    }
}

/// # Safety
/// A whole fatbin is there.
unsafe fn whole_fatbin<'a>(start: *const u8) -> &'a [u8] {
    // SAFETY: the caller's promise; the header has 16 bytes.
    let header = unsafe { std::slice::from_raw_parts(start, 16) };
    let size = number(header, 6, 2) + number(header, 8, 8);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, size) }
}

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    let field = bytes.get(at..at + size).unwrap_or_default();
    field.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

/// One piece of code in a fatbin.
struct Entry<'a> {
    kind: usize,
    architecture: usize,
    flags: usize,
    /// Bytes of the text when it is not compressed any more.
    whole: usize,
    payload: &'a [u8],
}

/// The kind of an entry that is PTX; 2 is machine code.
const PTX: usize = 1;
/// The text is compressed, by LZ4.
const LZ4: usize = 0x2000;
/// The text is compressed, by Zstandard (from CUDA 12.8 on).
const ZSTD: usize = 0x8000;

/// The entries behind a fatbin's header. Each begins with: kind (2 bytes), version (2), size of its own header (4), size
/// of its payload (8), size of the payload where it is compressed (4 at 16), architecture (4 at 28), flags (8 at 40),
/// size of the text without compression (8 at 56).
fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut at = number(bytes, 6, 2);
    std::iter::from_fn(move || {
        let (header, size) = (number(bytes, at + 4, 4), number(bytes, at + 8, 8));
        if header < 64 {
            return None;
        }
        let payload = bytes.get(at + header..at + header + size)?;
        let compressed = number(bytes, at + 16, 4);
        let entry = Entry {
            kind: number(bytes, at, 2),
            architecture: number(bytes, at + 28, 4),
            flags: number(bytes, at + 40, 8),
            whole: number(bytes, at + 56, 8),
            payload: payload.get(..compressed).filter(|_| compressed > 0).unwrap_or(payload),
        };
        at += header + size;
        Some(entry)
    })
}

impl Entry<'_> {
    fn text(&self) -> Option<String> {
        let bytes = if self.flags & LZ4 != 0 {
            lz4_flex::block::decompress(self.payload, self.whole).ok()?
        } else if self.flags & ZSTD != 0 {
            zstd(self.payload)?
        } else {
            self.payload.to_vec()
        };
        let text = bytes.split(|byte| *byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

fn zstd(payload: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(payload).ok()?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).ok()?;
    Some(bytes)
}

/// Refuses what no option can mean, for calls that take none of ours.
pub(crate) fn check_given(image: *const c_void) -> Answer {
    if image.is_null() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}
