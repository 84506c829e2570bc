//! Devices, contexts, streams and events: what they are, whose they are, and what becomes of them.
//!
//! The tests run on softcuda, which some of them look into.

#[path = "../common/mod.rs"]
mod common;

mod contexts;
mod errors;
mod handles;
mod lost;
mod none;
mod streams;
mod versions;
mod wrapping;

use common::{alone, context, driver, stream};
use cushim::Device;
use std::ffi::{CString, c_char, c_int};

fn device() -> Device {
    Device::get(&driver(), 0).expect("softcuda has a device")
}

/// Softcuda, beside the functions that a driver has.
struct Softcuda(libloading::Library);

impl Softcuda {
    fn open() -> Self {
        driver();
        let path = softcuda::library_path().expect("it is beside the tests");
        // SAFETY: it is loaded already.
        Self(unsafe { libloading::Library::new(path) }.expect("the driver is loaded"))
    }

    /// How many objects of a kind were created and not destroyed.
    fn live(&self, kind: &str) -> i64 {
        let kind = CString::new(kind).expect("no NUL");
        // SAFETY: the function has this type, and reads the name.
        unsafe {
            let live = self.0.get::<unsafe extern "C" fn(*const c_char) -> i64>("softcuda_live");
            live.expect("it is there")(kind.as_ptr())
        }
    }

    /// Has calls fail, as `SOFTCUDA_FAULT` does.
    fn fault(&self, rules: &str) {
        let rules = CString::new(rules).expect("no NUL");
        // SAFETY: the function has this type, and reads the rules.
        let result = unsafe {
            let set = self.0.get::<unsafe extern "C" fn(*const c_char) -> c_int>("softcuda_fault_set");
            set.expect("it is there")(rules.as_ptr())
        };
        assert_eq!(result, 0, "the rules are good");
    }
}
