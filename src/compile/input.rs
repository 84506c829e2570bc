//! What is linked.

use super::compiled::{CodeKind, Compiled};
use super::nvjitlink::Form;
use crate::driver::sys::{
    CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_FATBINARY, CU_JIT_INPUT_LIBRARY, CU_JIT_INPUT_OBJECT, CU_JIT_INPUT_PTX,
    CUjitInputType,
};
use crate::kernel::Image;
use crate::object::error::{Error, Status};
use std::fmt;

/// Code to be linked.
#[derive(Clone)]
pub(super) struct Input {
    /// As messages call it.
    pub(super) name: String,
    pub(super) form: Form,
    /// PTX ends in NUL.
    pub(super) bytes: Vec<u8>,
    /// The CUDA release of the compiler, where it is known.
    pub(super) compiler: Option<(u32, u32)>,
    /// Names that a compiler gave, each behind the expression that a program knows.
    pub(super) names: Vec<(String, String)>,
}

/// How LTO IR starts.
const LTO_IR: [u8; 4] = [0xED, 0x43, 0x4E, 0x7F];
/// How an archive of objects starts.
const ARCHIVE: &[u8] = b"!<arch>\n";
const ELF: &[u8] = b"\x7fELF";
/// The machine of a cubin, `EM_CUDA`; it stands at byte 0x12 of the file.
const CUDA: [u8; 2] = [190, 0];

impl Input {
    /// What a compiler has made.
    pub(super) fn of(program: &Compiled) -> Self {
        let (form, end) = match program.kind() {
            CodeKind::Ptx => (Form::Ptx, &[0][..]),
            CodeKind::Cubin => (Form::Cubin, &[][..]),
            CodeKind::LtoIr => (Form::LtoIr, &[][..]),
        };
        Self {
            name: program.source().to_owned(),
            form,
            bytes: [program.bytes(), end].concat(),
            compiler: Some(program.compiler_version()),
            names: program.names().to_vec(),
        }
    }

    /// Code as it comes. What it is shows from its bytes, which are checked: older linkers end the process for some that are cut off.
    pub(super) fn new(name: String, bytes: Vec<u8>) -> Result<Self, Error> {
        let is_host = bytes.starts_with(ELF) && bytes.get(0x12..0x14).is_some_and(|machine| machine != CUDA);
        let known = match () {
            () if bytes.starts_with(&LTO_IR) => Some(Form::LtoIr),
            () if bytes.starts_with(ARCHIVE) => Some(Form::Library),
            () if is_host => Some(Form::Object),
            () => None,
        };
        let (form, bytes) = match known {
            Some(form) => (form, bytes),
            None => device_code(bytes).map_err(|mut error| {
                error.message = format!("{name} is not linked: {}", error.message);
                error
            })?,
        };
        Ok(Self { name, form, bytes, compiler: None, names: Vec::new() })
    }

    pub(super) fn is_lto_ir(&self) -> bool {
        matches!(self.form, Form::LtoIr)
    }

    /// What the driver's linker calls it; `None` of LTO IR, which it does not link.
    pub(super) fn drivers_kind(&self) -> Option<CUjitInputType> {
        match self.form {
            Form::Ptx => Some(CU_JIT_INPUT_PTX),
            Form::Cubin => Some(CU_JIT_INPUT_CUBIN),
            Form::Fatbin => Some(CU_JIT_INPUT_FATBINARY),
            Form::Object => Some(CU_JIT_INPUT_OBJECT),
            Form::Library => Some(CU_JIT_INPUT_LIBRARY),
            Form::LtoIr => None,
        }
    }
}

fn device_code(bytes: Vec<u8>) -> Result<(Form, Vec<u8>), Error> {
    let image = Image::new(bytes)?;
    let form = match image.kind() {
        "a cubin" => Form::Cubin,
        "a fatbin" => Form::Fatbin,
        _ if !image.bytes().windows(8).any(|word| word == b".version") => {
            let refusal = "the image is no PTX, which has a line with .version, and neither a cubin, a fatbin, LTO IR, an object of nvcc's \
                           nor a library of those";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        _ => Form::Ptx,
    };
    Ok((form, image.bytes().to_vec()))
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(bytes: &[u8]) -> Result<i32, String> {
        let input = Input::new("a".to_owned(), bytes.to_vec());
        input.map(|input| input.form as i32).map_err(|error| error.message.clone())
    }

    #[test]
    fn what_it_is_shows_from_its_bytes() {
        assert_eq!(form(b".version 7.0\n.target sm_70\n"), Ok(Form::Ptx as i32));
        assert_eq!(form(b"\xedCN\x7f and more"), Ok(Form::LtoIr as i32));
        assert_eq!(form(b"!<arch>\n"), Ok(Form::Library as i32));
        assert_eq!(
            form(&[&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[62, 0], &[0; 44]].concat()),
            Ok(Form::Object as i32)
        );
        let cubin = [&b"\x7fELF\x02\x01\x01"[..], &[0; 11], &[190, 0], &[0; 44]].concat();
        assert_eq!(form(&cubin), Ok(Form::Cubin as i32));
        for (bytes, says) in [(&b""[..], "empty"), (&cubin[..30], "cut off"), (b"nonsense", "no PTX")] {
            let error = form(bytes).expect_err("it is refused");
            assert!(error.starts_with("a is not linked: ") && error.contains(says), "{error}");
        }
    }
}
