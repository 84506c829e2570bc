//! Functions that a kernel calls and the driver has.

/// A function of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) enum External {
    /// `vprintf(format, arguments)`
    Print,
    /// `__assertfail(message, file, line, function, size of a character)`
    Assert,
    /// `cudaGraphSetConditional(handle, value)`
    Conditional,
    /// `malloc(size)`
    Allocate,
    /// `free(address)`
    Release,
}

impl External {
    /// The function of the name, with the bytes of its result (0 is none) and parameters.
    pub(in crate::ptx) fn named(name: &str) -> Option<(Self, u32, &'static [u32])> {
        Some(match name {
            "vprintf" => (Self::Print, 4, &[8, 8]),
            "__assertfail" => (Self::Assert, 0, &[8, 8, 4, 8, 8]),
            "cudaGraphSetConditional" => (Self::Conditional, 0, &[8, 4]),
            "malloc" => (Self::Allocate, 8, &[8]),
            "free" => (Self::Release, 0, &[8]),
            _ => return None,
        })
    }
}
