//! The options of NVRTC and nvJitLink, of which the same are of interest: the architecture, and a limit of registers.

use std::ffi::{CStr, CString, c_char, c_int};

/// Options, as a program gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options(Vec<Vec<u8>>);

impl Options {
    /// # Safety
    /// There are so many terminated texts, or the pointer is NULL.
    pub(crate) unsafe fn read(count: c_int, texts: *const *const c_char) -> Option<Self> {
        let count = usize::try_from(count).ok()?;
        if texts.is_null() {
            return (count == 0).then(Self::default);
        }
        // SAFETY: the caller's promise.
        let texts = (0..count).map(|index| unsafe { *texts.add(index) });
        let text = |text: *const c_char| {
            // SAFETY: the caller's promise.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
        };
        texts.map(text).collect::<Option<_>>().map(Self)
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.iter().any(|word| word == option.as_bytes())
    }

    /// The values of an option with a value, which is in the same word or the next, and where each stands: the word, and the byte in it.
    fn values(&self, names: &[&str]) -> Vec<(usize, usize)> {
        let mut values = Vec::new();
        for (index, word) in self.0.iter().enumerate() {
            for name in names {
                match word.strip_prefix(name.as_bytes()) {
                    Some([b'=', ..]) => values.push((index, name.len() + 1)),
                    Some([]) if index + 1 < self.0.len() => values.push((index + 1, 0)),
                    _ => {}
                }
            }
        }
        values
    }

    /// The value of an option; of several the last.
    fn value(&self, names: &[&str]) -> Option<&[u8]> {
        let (word, at) = *self.values(names).last()?;
        Some(&self.0[word][at..])
    }

    /// The real architecture for which machine code is wanted: 90 is sm_90.
    pub(crate) fn real_architecture(&self) -> Option<u32> {
        number(self.value(&ARCHITECTURE)?.strip_prefix(b"sm_")?)
    }

    /// The most registers that kernels are to need.
    pub(crate) fn most_registers(&self) -> Option<u32> {
        number(self.value(&REGISTERS)?).filter(|most| *most > 0)
    }

    /// The same, with virtual architectures in place of real ones.
    pub(crate) fn virtually(&self) -> Self {
        let mut words = self.0.clone();
        for (word, at) in self.values(&ARCHITECTURE) {
            if let Some(name) = self.0[word][at..].strip_prefix(b"sm_") {
                words[word] = [&self.0[word][..at], b"compute_", name].concat();
            }
        }
        Self(words)
    }

    pub(crate) fn with(&self, option: &str) -> Self {
        let mut words = self.0.clone();
        words.push(option.into());
        Self(words)
    }

    /// As a program gives them.
    pub(crate) fn texts(&self) -> Vec<CString> {
        self.0.iter().map(|word| CString::new(word.as_slice()).unwrap_or_default()).collect()
    }
}

const ARCHITECTURE: [&str; 2] = ["--gpu-architecture", "-arch"];
const REGISTERS: [&str; 3] = ["--maxrregcount", "-maxrregcount", "-m"];

/// The number with which a text begins: of `90a` it is 90.
fn number(text: &[u8]) -> Option<u32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn of(words: &[&str]) -> Options {
        Options(words.iter().map(|word| word.as_bytes().to_vec()).collect())
    }

    #[test]
    fn architectures() {
        for (words, architecture, virtually) in [
            (&["-arch=sm_90", "-G"][..], Some(90), &["-arch=compute_90", "-G"][..]),
            (&["--gpu-architecture=sm_90a"], Some(90), &["--gpu-architecture=compute_90a"]),
            (&["-arch", "sm_80"], Some(80), &["-arch", "compute_80"]),
            (&["-arch=compute_90"], None, &["-arch=compute_90"]),
            (&["-arch=sm_80", "-arch=compute_90"], None, &["-arch=compute_80", "-arch=compute_90"]),
            (&["-arch"], None, &["-arch"]),
            (&["-Dx=sm_90"], None, &["-Dx=sm_90"]),
        ] {
            assert_eq!(of(words).real_architecture(), architecture, "{words:?}");
            assert_eq!(of(words).virtually(), of(virtually));
        }
    }

    #[test]
    fn registers() {
        assert_eq!(of(&["-maxrregcount=32"]).most_registers(), Some(32));
        assert_eq!(of(&["--maxrregcount", "64"]).most_registers(), Some(64));
        assert_eq!(of(&["--maxrregcount=0"]).most_registers(), None);
        assert_eq!(of(&["-maxrregcountx=3"]).most_registers(), None);
    }
}
