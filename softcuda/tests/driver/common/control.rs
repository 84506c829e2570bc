//! The control functions, called as Rust.

use super::{Library, at, text};
use std::ffi::{CString, c_char};

fn c(text: &str) -> CString {
    CString::new(text).expect("a text of a test has no zero in it")
}

impl Library {
    fn with_text(&self, name: &str, text: &str) -> i64 {
        self.call_wide(name, &[c(text).as_ptr() as u64]) as i64
    }

    pub(crate) fn fault_set(&self, faults: &str) -> i32 {
        self.with_text("softcuda_fault_set", faults) as i32
    }

    pub(crate) fn fault_hits(&self) -> u64 {
        self.call_wide("softcuda_fault_hits", &[])
    }

    pub(crate) fn call_count(&self, name: &str) -> i64 {
        self.with_text("softcuda_call_count", name)
    }

    pub(crate) fn trace_start(&self, path: &str) -> i32 {
        self.with_text("softcuda_trace_start", path) as i32
    }

    pub(crate) fn live(&self, kind: &str) -> i64 {
        self.with_text("softcuda_live", kind)
    }

    pub(crate) fn live_bytes(&self, kind: &str) -> i64 {
        self.with_text("softcuda_live_bytes", kind)
    }

    /// Why the last control function failed.
    pub(crate) fn message(&self) -> String {
        text(self.call_wide("softcuda_message", &[]) as *const c_char)
    }

    /// Allocates, and answers result and pointer.
    pub(crate) fn allocate(&self, size: u64) -> (i32, u64) {
        let mut pointer = 0u64;
        (self.call("cuMemAlloc_v2", &[at(&mut pointer), size]), pointer)
    }
}
