//! Libraries: what is loaded for all contexts.

use super::Section;
use crate::code::{Flag, GARBAGE, KERNELS, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CUkernel, CUlibrary, CUlibraryOption, CUstream};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "libraries", parts: PARTS.len() + OPTIONS.len() + APART.len(), devices: 1, run };

const PARTS: &[fn(&mut Lines, &Cu) -> Outcome] =
    &[loading, contents, no_context, two_contexts, running, reset];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    match (PARTS.get(part), part.wrapping_sub(PARTS.len())) {
        (Some(run), _) => run(t, cu),
        (_, number) if number < OPTIONS.len() => option(t, cu, number),
        (_, number) => apart(t, cu, number - OPTIONS.len()),
    }
}

fn loading(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let (mut library, mut other, mut none) = (null_mut(), null_mut(), null_mut());
    t.line("library load", || cu.load(&mut library, KERNELS));
    t.line("load again", || cu.load(&mut other, KERNELS));
    t.line("  another handle", || yes(library.is_null() || library != other));
    t.line("load NULL", || {
        let (none, nothing, neither) = (&raw mut none, null_mut(), null_mut());
        call!(cu, cuLibraryLoadData_12000(none, null(), neither, nothing, 0, null_mut(), nothing, 0))
    });
    t.line("load a file that is not there", || {
        let name = c"/nowhere/kernels.ptx".as_ptr();
        let (none, nothing, neither) = (&raw mut none, null_mut(), null_mut());
        call!(cu, cuLibraryLoadFromFile_12000(none, name, neither, nothing, 0, null_mut(), nothing, 0))
    });
    t.line("unload NULL", || call!(cu, cuLibraryUnload_12000(null_mut())));
    t.line("unload library", || call!(cu, cuLibraryUnload_12000(library)));
    t.line("unload the other", || call!(cu, cuLibraryUnload_12000(other)));
    Ok(())
}

/// The library's own options, each in a process of its own. Those of the compiler are in `jit`.
const OPTIONS: &[(&str, i32, usize, &CStr)] = &[
    ("option: the image is kept", 1, 1, KERNELS),
    ("option: the image is not kept", 1, 0, KERNELS),
    ("option: the image is kept, and is garbage", 1, 1, GARBAGE),
    ("option: no table of host functions", 0, 0, KERNELS),
    ("option 2", 2, 0, KERNELS),
    ("option 99", 99, 0, KERNELS),
    ("option -1", -1, 0, KERNELS),
];

fn option(t: &mut Lines, cu: &Cu, number: usize) -> Outcome {
    cu.start()?;
    let (situation, option, value, code) = OPTIONS[number];
    let mut library = null_mut();
    let mut options = [CUlibraryOption(option)];
    let mut values: [*mut c_void; 1] = [std::ptr::without_provenance_mut(value)];
    let (none, nothing) = (null_mut(), null_mut());
    let (options, values, code) = (options.as_mut_ptr(), values.as_mut_ptr(), code.as_ptr().cast());
    t.line(situation, || {
        call!(cu, cuLibraryLoadData_12000(&raw mut library, code, none, nothing, 0, options, values, 1))
    });
    Ok(())
}

fn contents(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let library = cu.library(KERNELS)?;
    let (mut kernel, mut again, mut none) = (null_mut(), null_mut(), null_mut());
    let get = |out: &mut CUkernel, name: &CStr| {
        call!(cu, cuLibraryGetKernel_12000(std::ptr::from_mut(out), library, name.as_ptr()))
    };
    t.line("library kernel", || get(&mut kernel, c"nothing"));
    t.line("kernel again", || get(&mut again, c"nothing"));
    t.line("  same handle", || yes(kernel == again));
    t.line("library no kernel", || get(&mut none, c"absent"));
    t.line("kernel of the empty name", || get(&mut none, c""));
    t.line("kernel of a variable's name", || get(&mut none, c"counter"));
    t.line("kernel of library NULL", || {
        call!(cu, cuLibraryGetKernel_12000(&raw mut none, null_mut(), c"nothing".as_ptr()))
    });
    t.line("kernel count", || {
        let mut count = 99;
        call!(cu, cuLibraryGetKernelCount_12040(&raw mut count, library)).then(|| count)
    });
    for room in [6, 2, 9, 0] {
        let mut all = [null_mut(); 9];
        t.line(&format!("enumerate with room for {room}"), || {
            call!(cu, cuLibraryEnumerateKernels_12040(all.as_mut_ptr(), room, library))
        });
        t.line("  written", || all.iter().filter(|kernel| !kernel.is_null()).count().to_string());
    }
    t.line("  the handle is among them", || {
        let mut all = [null_mut(); 6];
        call!(cu, cuLibraryEnumerateKernels_12040(all.as_mut_ptr(), 6, library))
            .then(|| yes(all.contains(&kernel)))
    });
    let global = |name: &CStr| {
        let (mut address, mut bytes) = (0, 0);
        call!(cu, cuLibraryGetGlobal_12000(&raw mut address, &raw mut bytes, library, name.as_ptr()))
            .then(|| bytes)
    };
    t.line("bytes of a variable", || global(c"table"));
    t.line("bytes of a constant", || global(c"constant"));
    t.line("no variable of that name", || global(c"absent"));
    t.line("variable of a kernel's name", || global(c"nothing"));
    t.line("variable without any place", || {
        call!(cu, cuLibraryGetGlobal_12000(null_mut(), null_mut(), library, c"counter".as_ptr()))
    });
    t.line("managed variable of that name", || {
        let (mut address, mut bytes) = (0, 0);
        let name = c"counter".as_ptr();
        call!(cu, cuLibraryGetManaged_12000(&raw mut address, &raw mut bytes, library, name))
    });
    t.line("managed variable of a kernel's name", || {
        let (mut address, mut bytes) = (0, 0);
        let name = c"nothing".as_ptr();
        call!(cu, cuLibraryGetManaged_12000(&raw mut address, &raw mut bytes, library, name))
    });
    t.line("unified function of that name", || {
        let mut function = null_mut();
        call!(cu, cuLibraryGetUnifiedFunction_12000(&raw mut function, library, c"nothing".as_ptr()))
    });
    let (mut module, mut another, mut function, mut from_kernel, mut its) =
        (null_mut(), null_mut(), null_mut(), null_mut(), null_mut());
    t.line("module of the library", || call!(cu, cuLibraryGetModule_12000(&raw mut module, library)));
    t.line("module again", || {
        call!(cu, cuLibraryGetModule_12000(&raw mut another, library)).then(|| yes(module == another))
    });
    if module.is_null() {
        module = cu.module(KERNELS)?;
    }
    t.line("function of that module", || {
        call!(cu, cuModuleGetFunction_2000(&raw mut function, module, c"nothing".as_ptr()))
    });
    t.line("function of the kernel", || call!(cu, cuKernelGetFunction_12000(&raw mut from_kernel, kernel)));
    t.line("  same handle as the module's", || yes(function == from_kernel));
    t.line("  the kernel's own handle", || yes(from_kernel == kernel.cast()));
    t.line("  its module is the library's", || {
        match call!(cu, cuKernelGetFunction_12000(&raw mut from_kernel, kernel)) {
            answer if answer.succeeded() => {
                call!(cu, cuFuncGetModule_11000(&raw mut its, from_kernel)).then(|| yes(its == module))
            }
            answer => answer,
        }
    });
    t.line("attribute of the kernel as a function", || {
        let mut value = 0;
        cu.as_function(kernel, |function| {
            call!(cu, cuFuncGetAttribute_2020(&raw mut value, Default::default(), function))
        })
    });
    Ok(())
}

fn no_context(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let (stream, flag) = (cu.stream(NON_BLOCKING)?, cu.memory(4)?);
    need!(cu, cuMemsetD8_3020(flag, 1, 4))?;
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    let (mut library, mut kernel) = (null_mut(), null_mut());
    let (mut address, mut bytes, mut function, mut module) = (0, 0, null_mut(), null_mut());
    t.line("no context: library load", || cu.load(&mut library, KERNELS));
    t.line("kernel", || call!(cu, cuLibraryGetKernel_12000(&raw mut kernel, library, c"wait".as_ptr())));
    t.line("kernel count", || {
        let mut count = 99;
        call!(cu, cuLibraryGetKernelCount_12040(&raw mut count, library)).then(|| count)
    });
    t.line("enumerate", || {
        let mut all = [null_mut(); 6];
        call!(cu, cuLibraryEnumerateKernels_12040(all.as_mut_ptr(), 6, library))
    });
    t.line("name", || {
        let mut name = null();
        call!(cu, cuKernelGetName_12030(&raw mut name, kernel))
    });
    t.line("parameter 0", || {
        let (mut offset, mut size) = (99, 99);
        call!(cu, cuKernelGetParamInfo_12040(kernel, 0, &raw mut offset, &raw mut size))
    });
    t.line("parameter 1, which is not there", || {
        let (mut offset, mut size) = (99, 99);
        call!(cu, cuKernelGetParamInfo_12040(kernel, 1, &raw mut offset, &raw mut size))
    });
    t.line("kernel attribute", || {
        let mut value = 0;
        call!(cu, cuKernelGetAttribute_12000(&raw mut value, Default::default(), kernel, 0)).then(|| value)
    });
    t.line("set a kernel attribute", || {
        let shared = cushim::driver::sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        call!(cu, cuKernelSetAttribute_12000(shared, 1024, kernel, 0))
    });
    t.line("library of the kernel", || {
        let mut its = null_mut();
        call!(cu, cuKernelGetLibrary_12050(&raw mut its, kernel)).then(|| yes(its == library))
    });
    t.line("launch of the kernel on a stream", || {
        cu.as_function(kernel, |function| cu.launch_at(function, stream, flag))
    });
    t.line("synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("launch of the kernel on the NULL stream", || {
        cu.as_function(kernel, |kernel| cu.launch_at(kernel, null_mut(), flag))
    });
    t.line("variable", || {
        let name = c"counter".as_ptr();
        call!(cu, cuLibraryGetGlobal_12000(&raw mut address, &raw mut bytes, library, name))
    });
    t.line("function of the kernel", || call!(cu, cuKernelGetFunction_12000(&raw mut function, kernel)));
    t.line("module of the library", || call!(cu, cuLibraryGetModule_12000(&raw mut module, library)));
    t.line("unload", || call!(cu, cuLibraryUnload_12000(library)));
    Ok(())
}

fn two_contexts(t: &mut Lines, cu: &Cu) -> Outcome {
    let primary = cu.start()?;
    let library = cu.library(KERNELS)?;
    let kernel = cu.kernel(library, c"nothing")?;
    let (mut here, mut there, mut function, mut module) = (0, 0, null_mut(), null_mut());
    let global = |out: &mut u64| {
        call!(cu, cuLibraryGetGlobal_12000(std::ptr::from_mut(out), null_mut(), library, c"counter".as_ptr()))
    };
    t.line("variable in the primary context", || global(&mut here));
    let first = call!(cu, cuKernelGetFunction_12000(&raw mut function, kernel)).succeeded();
    let created = cu.context()?;
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("variable in a created context", || global(&mut there));
    t.line("  another address", || yes(!first || here != there));
    t.line("launch on the created context's stream", || launched(cu, kernel, stream));
    t.line("synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("launch of the first one's function there", || {
        cu.as_function(function.cast(), |function| cu.launch(function, Shape::ONE, stream, &mut []))
    });
    t.line("function there", || {
        let mut there = null_mut();
        call!(cu, cuKernelGetFunction_12000(&raw mut there, kernel)).then(|| yes(there == function))
    });
    t.line("module there", || call!(cu, cuLibraryGetModule_12000(&raw mut module, library)));
    need!(cu, cuStreamDestroy_4000(stream))?;
    need!(cu, cuCtxDestroy_4000(created))?;
    need!(cu, cuCtxSetCurrent_4000(primary))?;
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("launch after that context was destroyed", || launched(cu, kernel, stream));
    t.line("unload", || call!(cu, cuLibraryUnload_12000(library)));
    Ok(())
}

/// A launch of a kernel that may be absent.
fn launched(cu: &Cu, kernel: CUkernel, stream: CUstream) -> Answer {
    cu.as_function(kernel, |function| cu.launch(function, Shape::ONE, stream, &mut []))
}

/// A library under a kernel that runs.
fn running(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let (stream, flag) = (cu.stream(NON_BLOCKING)?, Flag::new(cu)?);
    let library = cu.library(KERNELS)?;
    let kernel = cu.kernel(library, c"wait")?;
    let launch = || cu.as_function(kernel, |kernel| cu.launch_at(kernel, stream, flag.address()));
    // Before the launch: a driver may run the kernel in it.
    flag.raise_soon();
    t.line("launch", launch);
    t.line("unload while it runs", || call!(cu, cuLibraryUnload_12000(library)));
    t.line("  it has waited", || yes(kernel.is_null() || flag.is_raised()));
    t.line("synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("launch after the unload", launch);
    Ok(())
}

/// Libraries are no context's, so they outlive a reset.
fn reset(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let library = cu.library(KERNELS)?;
    let kernel = cu.kernel(library, c"nothing")?;
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("launch before the reset", || launched(cu, kernel, stream));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    need!(cu, cuDevicePrimaryCtxReset_11000(0))?;
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    t.line("launch after reset and retain", || launched(cu, kernel, stream));
    t.line("synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("variable", || {
        let mut address = 0;
        call!(cu, cuLibraryGetGlobal_12000(&raw mut address, null_mut(), library, c"counter".as_ptr()))
    });
    t.line("unload", || call!(cu, cuLibraryUnload_12000(library)));
    Ok(())
}

/// A library and its kernel, and both of another one that was unloaded.
struct Scene {
    cu: Cu,
    library: CUlibrary,
    kernel: CUkernel,
    gone: CUlibrary,
    gone_kernel: CUkernel,
    stream: CUstream,
}

type Question = (&'static str, fn(&Scene) -> Answer);

fn apart(t: &mut Lines, cu: &Cu, number: usize) -> Outcome {
    cu.start()?;
    let (library, gone) = (cu.library(KERNELS)?, cu.library(KERNELS)?);
    let (kernel, gone_kernel) = (cu.kernel(library, c"nothing")?, cu.kernel(gone, c"nothing")?);
    let stream = cu.stream(NON_BLOCKING)?;
    if !gone.is_null() {
        need!(cu, cuLibraryUnload_12000(gone))?;
    }
    let scene = Scene { cu: *cu, library, kernel, gone, gone_kernel, stream };
    let (situation, ask) = APART[number];
    t.line(situation, || ask(&scene));
    Ok(())
}

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("unload twice", |s| call!(s.cu, cuLibraryUnload_12000(s.gone))),
    ("kernel of an unloaded library", |s| {
        let mut kernel = null_mut();
        call!(s.cu, cuLibraryGetKernel_12000(&raw mut kernel, s.gone, c"nothing".as_ptr()))
    }),
    ("kernel count of an unloaded library", |s| {
        let mut count = 0;
        call!(s.cu, cuLibraryGetKernelCount_12040(&raw mut count, s.gone))
    }),
    ("launch of an unloaded kernel", |s| launched(&s.cu, s.gone_kernel, s.stream)),
    ("name of an unloaded kernel", |s| {
        let mut name = null();
        call!(s.cu, cuKernelGetName_12030(&raw mut name, s.gone_kernel))
    }),
    ("attribute of an unloaded kernel", |s| {
        let mut value = 0;
        call!(s.cu, cuKernelGetAttribute_12000(&raw mut value, Default::default(), s.gone_kernel, 0))
    }),
    ("function of an unloaded kernel", |s| {
        let mut function = null_mut();
        call!(s.cu, cuKernelGetFunction_12000(&raw mut function, s.gone_kernel))
    }),
    ("name of kernel NULL", |s| {
        let mut name = null();
        call!(s.cu, cuKernelGetName_12030(&raw mut name, null_mut()))
    }),
    ("attribute of kernel NULL", |s| {
        let mut value = 0;
        call!(s.cu, cuKernelGetAttribute_12000(&raw mut value, Default::default(), null_mut(), 0))
    }),
    ("function of kernel NULL", |s| {
        let mut function = null_mut();
        call!(s.cu, cuKernelGetFunction_12000(&raw mut function, null_mut()))
    }),
    ("kernel count of library NULL", |s| {
        let mut count = 0;
        call!(s.cu, cuLibraryGetKernelCount_12040(&raw mut count, null_mut()))
    }),
    ("kernel of name NULL", |s| {
        let mut kernel = null_mut();
        call!(s.cu, cuLibraryGetKernel_12000(&raw mut kernel, s.library, null()))
    }),
    ("load to NULL", |s| {
        let (code, none, nothing, neither) = (KERNELS.as_ptr().cast(), null_mut(), null_mut(), null_mut());
        call!(s.cu, cuLibraryLoadData_12000(null_mut(), code, none, nothing, 0, neither, nothing, 0))
    }),
    ("a library as a kernel", |s| {
        let mut name = null();
        call!(s.cu, cuKernelGetName_12030(&raw mut name, s.library.cast()))
    }),
    ("a kernel as a library", |s| {
        let mut count = 0;
        call!(s.cu, cuLibraryGetKernelCount_12040(&raw mut count, s.kernel.cast()))
    }),
    ("unload the module of a library", |s| {
        let mut module = null_mut();
        match call!(s.cu, cuLibraryGetModule_12000(&raw mut module, s.library)) {
            answer if answer.succeeded() => call!(s.cu, cuModuleUnload_2000(module)),
            answer => answer,
        }
    }),
];
