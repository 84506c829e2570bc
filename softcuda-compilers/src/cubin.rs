//! What is handed out in place of machine code: an image with PTX in it, which softcuda loads as it loads what its own linker has made. It
//! begins with the header of a cubin, for programs that look whether it is one, and for which architecture.
//!
//! Behind the header comes the size of what follows, and then texts, each with its limit of registers before it and a NUL behind it.

/// One of the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Without its NUL.
    pub ptx: Vec<u8>,
    /// The most registers that its kernels are to need.
    pub most_registers: Option<u32>,
}

const MARK: [u8; 16] = *b"\x7fELF\x02\x01\x01\x33\x07softlnk";
const HEADER: usize = 64;

/// The image of some texts, for an architecture, as 90 is sm_90.
#[must_use]
pub fn pack(texts: &[Text], architecture: u32) -> Vec<u8> {
    let mut image = vec![0; HEADER];
    image[..MARK.len()].copy_from_slice(&MARK);
    // An executable for CUDA devices; the version of the format, and the size of the header.
    (image[16], image[18], image[20], image[52]) = (2, 190, 1, HEADER as u8);
    // As cubins say for what they are: virtual and real architecture.
    let flags = architecture & 0xff | 0x500 | (architecture & 0xff) << 16;
    image[48..52].copy_from_slice(&flags.to_le_bytes());
    let size: usize = texts.iter().map(|text| 4 + text.ptx.len() + 1).sum();
    image.extend((size as u64).to_le_bytes());
    for text in texts {
        image.extend(text.most_registers.unwrap_or(u32::MAX).to_le_bytes());
        image.extend(&text.ptx);
        image.push(0);
    }
    image
}

/// The texts of an image that `pack` has made, or softcuda's linker; `None` of any other.
#[must_use]
pub fn unpack(image: &[u8]) -> Option<Vec<Text>> {
    let (size, rest) = image.strip_prefix(&MARK)?.get(HEADER - MARK.len()..)?.split_first_chunk()?;
    let mut rest = rest.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
    let mut texts = Vec::new();
    while let Some((limit, text)) = rest.split_first_chunk() {
        let end = text.iter().position(|byte| *byte == 0)?;
        let limit = u32::from_le_bytes(*limit);
        texts.push(Text {
            ptx: text[..end].to_vec(),
            most_registers: Some(limit).filter(|limit| *limit < u32::MAX),
        });
        rest = &text[end + 1..];
    }
    rest.is_empty().then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::{Text, pack, unpack};

    #[test]
    fn images_have_what_was_packed() {
        let text = |ptx: &str, most_registers| Text { ptx: ptx.into(), most_registers };
        for texts in
            [vec![], vec![text("a", None)], vec![text("a", Some(32)), text("", None), text("bc", Some(1))]]
        {
            let image = pack(&texts, 90);
            assert_eq!(image[48], 90);
            assert_eq!(unpack(&image), Some(texts));
            for end in 0..image.len() {
                assert_eq!(unpack(&image[..end]), None, "{end}");
            }
        }
        assert_eq!(unpack(b"\x7fELF\x02\x01\x01\x33"), None);
    }
}
