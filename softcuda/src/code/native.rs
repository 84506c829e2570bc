//! Functions of a test that run in place of kernels: for code that is there as machine code only, or is too slow here.

use super::program::Parameter;
use crate::control::softcuda_launch;
use parking_lot::RwLock;
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// As tests write them.
pub(crate) type NativeFunction = unsafe extern "C" fn(*const softcuda_launch, *mut c_void);

/// A function in place of a kernel.
pub(crate) struct Native {
    pub(crate) name: CString,
    /// Bytes of each parameter.
    sizes: Vec<usize>,
    function: NativeFunction,
    data: usize,
}

static NATIVES: RwLock<Vec<Arc<Native>>> = RwLock::new(Vec::new());

/// Registers a function, in place of one of the same name.
pub(crate) fn register(name: CString, sizes: Vec<usize>, function: NativeFunction, data: *mut c_void) {
    let native = Arc::new(Native { name, sizes, function, data: data as usize });
    let mut natives = NATIVES.write();
    natives.retain(|known| known.name != native.name);
    natives.push(native);
}

/// Takes a function away; false if there is none of this name. Code that was loaded before keeps it.
pub(crate) fn unregister(name: &[u8]) -> bool {
    let mut natives = NATIVES.write();
    let before = natives.len();
    natives.retain(|known| known.name.to_bytes() != name);
    natives.len() < before
}

pub(super) fn all() -> Vec<Arc<Native>> {
    NATIVES.read().clone()
}

pub(super) fn named(name: &[u8]) -> Option<Arc<Native>> {
    NATIVES.read().iter().find(|native| native.name.to_bytes() == name).cloned()
}

impl Native {
    /// Where its parameters stand, and the bytes of all.
    pub(super) fn layout(&self) -> (Vec<Parameter>, usize) {
        let mut end = 0;
        let place = |size: &usize| {
            let alignment = size.next_power_of_two().clamp(1, 16);
            let offset = usize::next_multiple_of(end, alignment);
            end = offset + size;
            Parameter { offset, size: *size }
        };
        (self.sizes.iter().map(place).collect(), end)
    }

    pub(super) fn run(&self, grid: [u32; 3], block: [u32; 3], shared_bytes: u32, parameters: &[u8]) {
        let launch = softcuda_launch {
            grid,
            block,
            shared_bytes,
            parameter_bytes: parameters.len() as u32,
            parameters: parameters.as_ptr().cast(),
        };
        // SAFETY: who registered the function gave it to be called so.
        unsafe { (self.function)(&raw const launch, self.data as *mut c_void) };
    }
}
