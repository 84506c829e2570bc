//! Functions of a test that run in place of kernels: for code that is there as machine code only, or is too slow here.

#![allow(unreachable_pub)] // cbindgen declares what is public
#![allow(non_camel_case_types)] // types of C

use super::parameter::Parameter;
use crate::instruments::foreign;
use parking_lot::RwLock;
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// What a native kernel is told of its launch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct softcuda_launch {
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of each block.
    pub shared_bytes: u32,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// The parameters, each at a multiple of its own size. Device pointers among them become host pointers by
    /// `softcuda_bytes`.
    pub parameters: *const c_void,
}

/// A native kernel: does what the kernel does, for all threads, before it returns. Called on a driver's thread, in the
/// stream's order.
pub type softcuda_kernel = Option<unsafe extern "C" fn(launch: *const softcuda_launch, data: *mut c_void)>;

/// One that is there.
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

pub(crate) fn all() -> Vec<Arc<Native>> {
    NATIVES.read().clone()
}

pub(crate) fn named(name: &[u8]) -> Option<Arc<Native>> {
    NATIVES.read().iter().find(|native| native.name.to_bytes() == name).cloned()
}

impl Native {
    /// Where its parameters stand, and the bytes of all.
    pub(crate) fn layout(&self) -> (Vec<Parameter>, usize) {
        let mut end = 0;
        let place = |size: &usize| {
            let alignment = size.next_power_of_two().clamp(1, 16);
            let offset = usize::next_multiple_of(end, alignment);
            end = offset + size;
            Parameter { offset, size: *size }
        };
        (self.sizes.iter().map(place).collect(), end)
    }

    pub(crate) fn run(&self, grid: [u32; 3], block: [u32; 3], shared_bytes: u32, parameters: &[u8]) {
        let launch = softcuda_launch {
            grid,
            block,
            shared_bytes,
            parameter_bytes: parameters.len() as u32,
            parameters: parameters.as_ptr().cast(),
        };
        // SAFETY: who registered the function gave it to be called so.
        unsafe {
            foreign::call(
                self.function as *const c_void,
                [(&raw const launch).expose_provenance(), self.data],
            )
        };
    }
}
