//! Code and contexts.

use super::super::scene::Scene;
use super::Row;
use crate::code::{Arguments, CAPTURES, Shape};
use crate::driver::{Answer, Cu, call};
use cushim::driver::sys::{
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_LIMIT_STACK_SIZE, CUcontext, CUkernel, CUlibrary, CUmodule,
};
use std::ptr::null_mut;

/// A module, or NULL.
fn module(cu: &Cu) -> CUmodule {
    cu.module(CAPTURES).unwrap_or(null_mut())
}

/// A library and its kernel, or NULL.
fn library(cu: &Cu) -> (CUlibrary, CUkernel) {
    let library = cu.library(CAPTURES).unwrap_or(null_mut());
    (library, cu.kernel(library, c"append").unwrap_or(null_mut()))
}

fn unload(cu: &Cu, library: CUlibrary) {
    if !library.is_null() {
        let _ = call!(cu, cuLibraryUnload_12000(library));
    }
}

pub(super) const CODE: &[Row] = &[
    ("cuModuleLoadData", |s, ask| {
        let mut module = null_mut();
        ask.call(|| call!(s.cu, cuModuleLoadData_2000(&raw mut module, CAPTURES.as_ptr().cast())));
    }),
    ("cuModuleUnload", |s, ask| {
        let module = module(&s.cu);
        ask.call(|| call!(s.cu, cuModuleUnload_2000(module)));
    }),
    ("cuModuleGetFunction", |s, ask| {
        let mut function = null_mut();
        ask.call(|| call!(s.cu, cuModuleGetFunction_2000(&raw mut function, s.module, c"append".as_ptr())));
    }),
    ("cuLibraryLoadData", |s, ask| {
        let mut library = null_mut();
        ask.call(|| s.cu.load(&mut library, CAPTURES));
        unload(&s.cu, library);
    }),
    ("cuLibraryUnload", |s, ask| {
        let (library, _) = library(&s.cu);
        ask.call(|| call!(s.cu, cuLibraryUnload_12000(library)));
    }),
    ("cuLibraryGetKernel", |s, ask| {
        let ((library, _), mut kernel) = (library(&s.cu), null_mut());
        ask.call(|| call!(s.cu, cuLibraryGetKernel_12000(&raw mut kernel, library, c"append".as_ptr())));
        unload(&s.cu, library);
    }),
    ("cuKernelGetFunction", |s, ask| {
        let ((library, kernel), mut function) = (library(&s.cu), null_mut());
        ask.call(|| call!(s.cu, cuKernelGetFunction_12000(&raw mut function, kernel)));
        unload(&s.cu, library);
    }),
    ("cuLaunchKernel of a CUkernel, first, other", |s, ask| {
        let (library, kernel) = library(&s.cu);
        let arguments = || Arguments::new([s.memory, 0]);
        ask.call(|| {
            s.cu.as_function(kernel, |kernel| {
                s.cu.launch(kernel, Shape::ONE, s.side, &mut arguments().pointers())
            })
        });
        let _ = call!(s.cu, cuStreamSynchronize_2000(s.side));
        unload(&s.cu, library);
    }),
    ("cuLaunchKernel of a CUkernel, first, into it", |s, ask| {
        let (library, kernel) = library(&s.cu);
        let arguments = || Arguments::new([s.memory, 0]);
        ask.call(|| {
            s.cu.as_function(kernel, |kernel| {
                s.cu.launch(kernel, Shape::ONE, s.stream, &mut arguments().pointers())
            })
        });
        unload(&s.cu, library);
    }),
    ("cuFuncGetAttribute", |s, ask| {
        let (mut value, which) = (0, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        ask.call(|| call!(s.cu, cuFuncGetAttribute_2020(&raw mut value, which, s.append)));
    }),
    ("cuFuncSetAttribute", |s, ask| {
        let which = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        ask.call(|| call!(s.cu, cuFuncSetAttribute_9000(s.append, which, 1024)));
    }),
    ("cuFuncLoad", |s, ask| ask.call(|| call!(s.cu, cuFuncLoad_12040(s.append)))),
    ("cuOccupancyMaxActiveBlocksPerMultiprocessor", |s, ask| {
        let mut blocks = 0;
        ask.call(|| {
            call!(s.cu, cuOccupancyMaxActiveBlocksPerMultiprocessor_6050(&raw mut blocks, s.append, 64, 0))
        });
    }),
];

pub(super) const CONTEXTS: &[Row] = &[
    ("cuCtxSynchronize", |s, ask| ask.call(|| call!(s.cu, cuCtxSynchronize_2000()))),
    ("cuCtxSynchronize of a context", |s, ask| {
        ask.call(|| call!(s.cu, cuCtxSynchronize_13000(s.context)));
    }),
    ("cuCtxSetLimit", |s, ask| {
        ask.call(|| call!(s.cu, cuCtxSetLimit_3010(CU_LIMIT_STACK_SIZE, 1024)));
    }),
    ("cuCtxGetLimit", |s, ask| {
        let mut value = 0;
        ask.call(|| call!(s.cu, cuCtxGetLimit_3010(&raw mut value, CU_LIMIT_STACK_SIZE)));
    }),
    ("cuCtxResetPersistingL2Cache", |s, ask| {
        ask.call(|| call!(s.cu, cuCtxResetPersistingL2Cache_11000()));
    }),
    ("cuCtxGetStreamPriorityRange", |s, ask| {
        let (mut least, mut greatest) = (0, 0);
        ask.call(|| call!(s.cu, cuCtxGetStreamPriorityRange_5050(&raw mut least, &raw mut greatest)));
    }),
    ("cuCtxSetCurrent of the same", |s, ask| {
        ask.call(|| call!(s.cu, cuCtxSetCurrent_4000(s.context)));
    }),
    ("cuDevicePrimaryCtxRetain", |s, ask| {
        let (mut context, mut retained) = (null_mut(), false);
        ask.call(|| {
            let answer = call!(s.cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 0));
            retained = answer.succeeded();
            answer
        });
        if retained {
            let _ = call!(s.cu, cuDevicePrimaryCtxRelease_11000(0));
        }
    }),
    ("cuDevicePrimaryCtxRelease, not the last", |s, ask| {
        let (mut context, mut released) = (null_mut(), false);
        let _ = call!(s.cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 0));
        ask.call(|| {
            let answer = call!(s.cu, cuDevicePrimaryCtxRelease_11000(0));
            released = answer.succeeded();
            answer
        });
        if !released {
            let _ = call!(s.cu, cuDevicePrimaryCtxRelease_11000(0));
        }
    }),
];

/// Creates a context, and makes that of the scene current again.
fn create(s: &Scene, context: &mut CUcontext) -> Answer {
    let created = s.cu.create_context(context, 0, 0);
    let _ = call!(s.cu, cuCtxSetCurrent_4000(s.context));
    created
}

/// Destroys it, if that was not done.
fn destroy(s: &Scene, context: CUcontext, answer: &Answer) {
    if !context.is_null() && !answer.succeeded() {
        let _ = call!(s.cu, cuCtxDestroy_4000(context));
    }
}

pub(super) const NEW_CONTEXTS: &[Row] = &[
    ("cuCtxCreate", |s, ask| {
        let mut context = null_mut();
        ask.call(|| create(s, &mut context));
        destroy(s, context, &"not destroyed".into());
    }),
    ("cuCtxDestroy of another one", |s, ask| {
        let (mut context, mut destroyed) = (null_mut(), "not asked".into());
        let _ = create(s, &mut context);
        ask.call(|| {
            destroyed = call!(s.cu, cuCtxDestroy_4000(context));
            destroyed.clone()
        });
        destroy(s, context, &destroyed);
    }),
    ("cuCtxSynchronize of another one", |s, ask| {
        let mut context = null_mut();
        let _ = create(s, &mut context);
        ask.call(|| {
            let entered = call!(s.cu, cuCtxSetCurrent_4000(context));
            let answer = entered.and(|| call!(s.cu, cuCtxSynchronize_2000()));
            let _ = call!(s.cu, cuCtxSetCurrent_4000(s.context));
            answer
        });
        destroy(s, context, &"not destroyed".into());
    }),
];
