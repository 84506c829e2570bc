//! What a cubin says of itself: how long it is, and which kernels it has.

use super::file;

/// Bytes of the header of a 64-bit ELF file.
pub(super) const HEADER: usize = 64;

/// How such a header begins, and its machine: CUDA.
pub(super) const BEGIN: [u8; 6] = *b"\x7fELF\x02\x01";
const MACHINE: usize = 190;

/// Of each kernel there is a section: this, and its name.
const CODE: &[u8] = b".text.";

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

/// Bytes of the cubin with this header; `None` if it is the header of something else, or says that it is longer than any is.
pub(super) fn size(header: &[u8]) -> Option<usize> {
    if !header.starts_with(&BEGIN) || number(header, 18, 2)? != MACHINE {
        return None;
    }
    let end =
        |offset, count: usize, size: usize| number(header, offset, 8)?.checked_add(count.checked_mul(size)?);
    let segments = end(32, number(header, 56, 2)?, number(header, 54, 2)?)?;
    let sections = end(40, number(header, 60, 2)?, number(header, 58, 2)?)?;
    Some(segments.max(sections)).filter(|size| *size as u64 <= file::MOST)
}

/// The names of a cubin's kernels and functions.
pub(super) fn kernels(cubin: &[u8]) -> Vec<String> {
    names(cubin).unwrap_or_default()
}

fn names(cubin: &[u8]) -> Option<Vec<String>> {
    let (table, each, count) = (number(cubin, 40, 8)?, number(cubin, 58, 2)?, number(cubin, 60, 2)?);
    let section = |index: usize| table.checked_add(index.checked_mul(each)?);
    let strings = number(cubin, section(number(cubin, 62, 2)?)?.checked_add(24)?, 8)?;
    let name = |index: usize| {
        let at = strings.checked_add(number(cubin, section(index)?, 4)?)?;
        let name = cubin.get(at..)?.split(|byte| *byte == 0).next()?.strip_prefix(CODE)?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    Some((0..count).filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::{kernels, size};

    const CUBIN: &[u8] = include_bytes!("../../../tests/data/fatbin/machine_code.cubin");

    #[test]
    fn a_cubin_and_what_is_none() {
        assert_eq!(kernels(CUBIN), ["saxpy"]);
        let whole = size(CUBIN).expect("it is one");
        assert!(whole <= CUBIN.len() && whole > 1000, "{whole}");
        for end in 0..CUBIN.len() {
            let _ = (size(&CUBIN[..end]), kernels(&CUBIN[..end]));
        }
        let own = std::fs::read("/proc/self/exe").expect("it can be read");
        assert_eq!(size(&own), None);
        let mut long = CUBIN.to_vec();
        long[40..48].fill(0xff);
        assert_eq!((size(&long), kernels(&long)), (None, vec![]));
    }
}
