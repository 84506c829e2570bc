//! Empty kernels that take many arguments, or none: the same code, loaded by cushim and by cudarc.

use crate::shim::Functions;
use crate::world::Cudarc;
use cudarc::driver::{CudaFunction, CudaModule};
use cudarc::nvrtc::Ptx;
use cushim::capi::context::cushim_context;
use cushim::capi::kernel::{cushim_kernel, cushim_library};
use cushim::driver::sys::CUkernel;
use std::ffi::CString;
use std::fmt::Write as _;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// How many arguments there are.
pub(crate) const COUNTS: [usize; 4] = [0, 2, 16, 256];

/// Empty kernels, one for each of [`COUNTS`]; their arguments are numbers of 8 bytes.
pub(crate) fn ptx() -> String {
    let mut text = ".version 7.0\n.target sm_70\n.address_size 64\n".to_owned();
    for count in COUNTS {
        let parameters: Vec<_> = (0..count).map(|index| format!(".param .u64 p{index}")).collect();
        let _ = writeln!(text, ".visible .entry {}({}) {{ ret; }}", name(count), parameters.join(", "));
    }
    text
}

/// The name of the kernel that takes so many.
pub(crate) fn name(count: usize) -> String {
    format!("take_{count}")
}

/// One kernel, as each subject has it.
pub(crate) struct Kernel {
    pub(crate) count: usize,
    /// The one that cushim loaded, without it.
    pub(crate) raw: CUkernel,
    pub(crate) shim: cushim_kernel,
    pub(crate) cudarc: CudaFunction,
}

/// Loads them. cudarc loads a copy of its own; how it tracks events makes no difference to that.
pub(crate) fn load(call: &Functions, context: cushim_context, cudarc: &Cudarc) -> Vec<Kernel> {
    let ptx = ptx();
    let mut library = null_mut();
    // SAFETY: every pointer is good, and handles are checked.
    let status = unsafe {
        (call.cushim_library_load)(context, ptx.as_ptr().cast(), ptx.len(), null(), &raw mut library)
    };
    call.must("library", status);
    let module = cudarc.stream.context().load_module(Ptx::from_src(ptx)).expect("cudarc loads PTX");
    COUNTS.map(|count| one(call, library, &module, count)).into()
}

fn one(call: &Functions, library: cushim_library, module: &Arc<CudaModule>, count: usize) -> Kernel {
    let (mut shim, mut raw) = (null_mut(), null_mut());
    let name = name(count);
    let c_name = CString::new(name.as_str()).expect("it has no NUL");
    // SAFETY: every pointer is good, and handles are checked.
    unsafe {
        let mut status = (call.cushim_kernel_create)(library, c_name.as_ptr(), &raw mut shim);
        call.must("kernel", status);
        status = (call.cushim_kernel_native)(shim, &raw mut raw);
        call.must("native kernel", status);
    }
    let cudarc = module.load_function(&name).expect("cudarc finds the kernel");
    Kernel { count, raw, shim, cudarc }
}
