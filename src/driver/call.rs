//! One call of the driver: through the table, with a result that says which function it was.

use super::sys::CUresult;

/// A driver function that failed, or that this driver does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallError {
    /// The table's entry: `cuStreamQuery_2000`.
    entry: &'static str,
    result: Option<CUresult>,
}

impl CallError {
    /// The function answered `result`.
    pub(crate) const fn failed(entry: &'static str, result: CUresult) -> Self {
        Self { entry, result: Some(result) }
    }

    /// The driver does not have the function.
    pub(crate) const fn missing(entry: &'static str) -> Self {
        Self { entry, result: None }
    }

    /// The function's base name: `cuStreamQuery`.
    #[must_use]
    pub fn base(&self) -> &'static str {
        self.split().0
    }

    /// The number of its ABI: 2000.
    #[must_use]
    pub fn abi(&self) -> u32 {
        self.split().1
    }

    /// What the function answered; `None` if the driver does not have it.
    #[must_use]
    pub const fn result(&self) -> Option<CUresult> {
        self.result
    }

    fn split(&self) -> (&'static str, u32) {
        self.entry
            .rsplit_once('_')
            .and_then(|(base, abi)| Some((base, abi.parse().ok()?)))
            .unwrap_or((self.entry, 0))
    }
}

/// Calls an entry of a table: `call!(table, cuStreamQuery_2000(stream))` is a `Result<(), CallError>`.
///
/// Expands to a call of a function pointer, so it stands in an `unsafe` block.
macro_rules! call {
    ($table:expr, $entry:ident($($argument:expr),* $(,)?)) => {
        match $table.$entry {
            Some(function) => match function($($argument),*) {
                $crate::driver::sys::CUDA_SUCCESS => Ok(()),
                result => Err($crate::driver::CallError::failed(stringify!($entry), result)),
            },
            None => Err($crate::driver::CallError::missing(stringify!($entry))),
        }
    };
}
pub(crate) use call;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Table, sys};

    #[test]
    fn an_entry_names_function_and_number() {
        let error = CallError::failed("cuMemPrefetchAsync_12020", sys::CUDA_ERROR_INVALID_VALUE);
        assert_eq!((error.base(), error.abi()), ("cuMemPrefetchAsync", 12020));
    }

    #[test]
    fn an_absent_entry_is_an_error() {
        // SAFETY: nothing is called.
        let result = unsafe { call!(Table::EMPTY, cuInit_2000(0)) };
        assert_eq!(result, Err(CallError::missing("cuInit_2000")));
    }
}
