//! What an image is: PTX, a cubin, a fatbin. The caller gives no length: an image says of itself how long it is.

use super::{cubin, file};
use crate::abi::Answer;
use crate::abi::pointer::In;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
use std::ffi::{c_char, c_void};
use std::io::Read as _;

/// What of an image can be run here.
pub(crate) enum Image {
    /// PTX, the newest that the image has.
    Ptx(String),
    /// What the linker made.
    Linked(Vec<Text>),
    /// Machine code without PTX, of kernels with these names.
    NoPtx(Vec<String>),
    /// Nothing that a driver knows.
    Unknown,
}

/// One of the texts that belong together.
#[derive(Clone)]
pub(crate) struct Text {
    ptx: String,
    /// Kernels of it are said to need no more registers.
    pub(super) most_registers: u32,
}

impl Text {
    pub(super) fn new(ptx: String, most_registers: Option<u32>) -> Self {
        Self { ptx, most_registers: most_registers.unwrap_or(u32::MAX) }
    }

    /// The first of the texts that were packed, and what follows it.
    fn unpack(packed: &[u8]) -> Option<(Self, &[u8])> {
        let (limit, text) = packed.split_first_chunk()?;
        let end = text.iter().position(|byte| *byte == 0)?;
        let ptx = String::from_utf8(text[..end].to_vec()).ok()?;
        Some((Self { ptx, most_registers: u32::from_le_bytes(*limit) }, &text[end + 1..]))
    }

    fn pack(&self) -> impl Iterator<Item = u8> {
        self.most_registers.to_le_bytes().into_iter().chain(self.ptx.bytes()).chain([0])
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.ptx
    }
}

const ELF: [u8; 4] = *b"\x7fELF";
const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const WRAPPER: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();

/// How an image begins that the linker made, or a compiler under `softcuda-run`: as a cubin does, with a mark in bytes that a cubin leaves
/// empty.
const LINKED: [u8; 16] = *b"\x7fELF\x02\x01\x01\x33\x07softlnk";

/// Where the mark begins.
const LINKED_FROM: usize = 8;

/// Bytes of the header of a cubin, which such an image has for programs that look whether it is one. The size of what follows comes next,
/// and then texts, each with its limit of registers before it and a NUL behind it.
const HEADER: usize = 64;

impl Image {
    /// The image at an address of the caller's.
    pub(crate) fn at(image: *const c_void) -> Result<Self, CUresult> {
        let start = In::untyped(image);
        if begins(start, &LINKED)? {
            return Ok(Self::of_linked(whole_linked(start)?));
        }
        if begins(start, &ELF)? {
            return Ok(Self::NoPtx(cubin::kernels(whole_cubin(start)?)));
        }
        if begins(start, &FATBIN)? {
            return Ok(whole_fatbin(start)?.map_or(Self::Unknown, Self::of_fatbin));
        }
        if begins(start, &WRAPPER)? {
            // The struct that nvcc puts around a fatbin: two numbers, and a pointer to the fatbin.
            return Self::inside(number(start.bytes(16)?, 8, 8) as *const c_void);
        }
        // Everything else is a text.
        In::at(image.cast::<c_char>()).until_zero().map(Self::of_text)
    }

    /// What a wrapper is around: not another one, which could be itself.
    fn inside(fatbin: *const c_void) -> Result<Self, CUresult> {
        if begins(In::untyped(fatbin), &WRAPPER)? { Ok(Self::Unknown) } else { Self::at(fatbin) }
    }

    /// The image in a file.
    pub(crate) fn in_file(path: &str) -> Result<Self, CUresult> {
        Ok(Self::of_bytes(&file::read(path)?))
    }

    /// The image that some bytes are.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        if bytes.starts_with(&LINKED) {
            return Self::of_linked(bytes);
        }
        match bytes.first_chunk() {
            Some(&ELF) => Self::NoPtx(cubin::kernels(bytes)),
            Some(&FATBIN) => Self::of_fatbin(bytes),
            _ => Self::of_text(bytes.split(|byte| *byte == 0).next().unwrap_or_default()),
        }
    }

    pub(super) fn of_text(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(".version") => Self::Ptx(text.to_owned()),
            _ => Self::Unknown,
        }
    }

    fn of_linked(bytes: &[u8]) -> Self {
        let mut packed = bytes.get(HEADER + 8..).unwrap_or_default();
        let mut texts = Vec::new();
        while !packed.is_empty() {
            let Some((text, rest)) = Text::unpack(packed) else { return Self::Unknown };
            texts.push(text);
            packed = rest;
        }
        Self::Linked(texts)
    }

    fn of_fatbin(bytes: &[u8]) -> Self {
        let texts = entries(bytes).filter(|entry| entry.kind == PTX);
        let newest = texts.max_by_key(|entry| entry.architecture);
        match newest.map(|entry| entry.text()) {
            None => Self::NoPtx(kernels_of_fatbin(bytes)),
            Some(Some(text)) => Self::Ptx(text),
            Some(None) => Self::Unknown,
        }
    }
}

/// The image of texts that belong together.
pub(super) fn pack(texts: &[Text]) -> Box<[u8]> {
    let all: Vec<u8> = texts.iter().flat_map(Text::pack).collect();
    let mut header = header();
    header[..LINKED.len()].copy_from_slice(&LINKED);
    [&header[..], &(all.len() as u64).to_le_bytes(), &all].concat().into()
}

/// A cubin for devices of a compute capability that there are none of here, so that nobody can load it: one without kernels.
pub(super) fn foreign() -> Box<[u8]> {
    let mut header = header();
    header[..LINKED_FROM].copy_from_slice(&LINKED[..LINKED_FROM]);
    header.into()
}

/// An executable for CUDA devices; the version of the format, and the size of the header.
fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    (header[16], header[18], header[20], header[52]) = (2, 190, 1, HEADER as u8);
    header
}

/// Whether an image begins so. The shortest has one byte, a NUL; each further one is looked at only if those before it are as expected.
fn begins(start: In<u8>, magic: &[u8]) -> Result<bool, CUresult> {
    for (at, byte) in magic.iter().enumerate() {
        if start.item(at)? != *byte {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An image of the linker's, whose size follows the mark.
fn whole_linked<'a>(start: In<u8>) -> Result<&'a [u8], CUresult> {
    let header = HEADER + 8;
    let size = number(start.bytes(header)?, HEADER, 8);
    start.bytes(size.saturating_add(header).min(file::MOST as usize))
}

/// A cubin, as long as it says it is; what is none has no bytes to look into.
fn whole_cubin<'a>(start: In<u8>) -> Result<&'a [u8], CUresult> {
    // The header is read only of what begins as a header does: an image may be shorter.
    if !begins(start, &cubin::BEGIN)? {
        return Ok(&[]);
    }
    let size = cubin::size(start.bytes(cubin::HEADER)?);
    size.map_or(Ok(&[][..]), |size| start.bytes(size))
}

/// The kernels of a fatbin's cubins.
fn kernels_of_fatbin(bytes: &[u8]) -> Vec<String> {
    let cubins = entries(bytes).filter(|entry| entry.kind == CUBIN).filter_map(|entry| entry.bytes());
    let mut names: Vec<String> = cubins.flat_map(|cubin| cubin::kernels(&cubin)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A fatbin, whose header says how long it is; `None` if it says that it is longer than any is.
fn whole_fatbin<'a>(start: In<u8>) -> Result<Option<&'a [u8]>, CUresult> {
    let header = start.bytes(16)?;
    let size = number(header, 6, 2).checked_add(number(header, 8, 8));
    let size = size.filter(|size| *size as u64 <= file::MOST);
    size.map(|size| start.bytes(size)).transpose()
}

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    let field = bytes.get(at..at.saturating_add(size)).unwrap_or_default();
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

/// The kinds of entries.
const PTX: usize = 1;
const CUBIN: usize = 2;
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
        let end = at.checked_add(header)?.checked_add(size)?;
        let payload = bytes.get(at + header..end)?;
        let compressed = number(bytes, at + 16, 4);
        let entry = Entry {
            kind: number(bytes, at, 2),
            architecture: number(bytes, at + 28, 4),
            flags: number(bytes, at + 40, 8),
            whole: number(bytes, at + 56, 8),
            payload: payload.get(..compressed).filter(|_| compressed > 0).unwrap_or(payload),
        };
        at = end;
        Some(entry)
    })
}

impl Entry<'_> {
    /// The payload without compression.
    fn bytes(&self) -> Option<Vec<u8>> {
        if self.flags & LZ4 != 0 {
            lz4(self.payload, self.whole)
        } else if self.flags & ZSTD != 0 {
            zstd(self.payload)
        } else {
            Some(self.payload.to_vec())
        }
    }

    fn text(&self) -> Option<String> {
        let bytes = self.bytes()?;
        let text = bytes.split(|byte| *byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

/// LZ4 makes no more of a byte than so many.
const MOST_BY_LZ4: usize = 255;

fn lz4(payload: &[u8], whole: usize) -> Option<Vec<u8>> {
    if whole as u64 > file::MOST || whole / MOST_BY_LZ4 > payload.len() {
        return None;
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(whole).ok()?;
    bytes.resize(whole, 0);
    let size = lz4_flex::block::decompress_into(payload, &mut bytes).ok()?;
    bytes.truncate(size);
    Some(bytes)
}

fn zstd(payload: &[u8]) -> Option<Vec<u8>> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(payload).ok()?;
    let mut bytes = Vec::new();
    let size = decoder.take(file::MOST + 1).read_to_end(&mut bytes).ok()?;
    (size as u64 <= file::MOST).then_some(bytes)
}

/// Refuses what no option can mean, for calls that take none of ours.
pub(crate) fn check_given(image: *const c_void) -> Answer {
    if image.is_null() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}
