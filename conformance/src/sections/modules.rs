//! Modules: what is loaded into one context.

use super::Section;
use crate::code::{Flag, GARBAGE, KERNELS, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CUfunction, CUmodule, CUstream};
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

pub(super) const SECTION: Section =
    Section { name: "modules", parts: PARTS.len() + APART.len(), devices: 1, run };

const PARTS: &[fn(&mut Lines, &Cu) -> Outcome] = &[loading, functions, globals, two_contexts, running];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    match PARTS.get(part) {
        Some(run) => run(t, cu),
        None => apart(t, cu, part - PARTS.len()),
    }
}

/// A handle that was not there before.
const BEFORE: usize = 123;

/// What became of a handle.
fn fate<T>(handle: *mut T) -> &'static str {
    match handle.addr() {
        0 => "null",
        BEFORE => "untouched",
        _ => "written",
    }
}

fn loading(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let before: CUmodule = std::ptr::without_provenance_mut(BEFORE);
    let (mut module, mut other, mut none) = (before, before, before);
    t.line("load", || call!(cu, cuModuleLoadData_2000(&raw mut module, KERNELS.as_ptr().cast())));
    t.line("load again", || call!(cu, cuModuleLoadData_2000(&raw mut other, KERNELS.as_ptr().cast())));
    t.line("  another handle", || yes(module != other));
    t.line("load fat binary of that text", || {
        let mut module = null_mut();
        call!(cu, cuModuleLoadFatBinary_2000(&raw mut module, KERNELS.as_ptr().cast()))
    });
    t.line("load garbage", || call!(cu, cuModuleLoadData_2000(&raw mut none, GARBAGE.as_ptr().cast())));
    t.line("  handle", || fate(none));
    t.line("load an empty text", || call!(cu, cuModuleLoadData_2000(&raw mut none, c"".as_ptr().cast())));
    t.line("load NULL", || call!(cu, cuModuleLoadData_2000(&raw mut none, null())));
    t.line("load with options NULL", || {
        let mut module = null_mut();
        let text = KERNELS.as_ptr().cast();
        call!(cu, cuModuleLoadDataEx_2010(&raw mut module, text, 0, null_mut(), null_mut()))
    });
    t.line("load a file that is not there", || {
        call!(cu, cuModuleLoad_2000(&raw mut none, c"/nowhere/kernels.ptx".as_ptr()))
    });
    t.line("load a folder", || call!(cu, cuModuleLoad_2000(&raw mut none, c"/".as_ptr())));
    t.line("load a file", || file(cu, KERNELS));
    t.line("load a file of garbage", || file(cu, GARBAGE));
    t.line("load a file of no length", || file(cu, c""));
    t.line("loading mode", || {
        let mut mode = Default::default();
        call!(cu, cuModuleGetLoadingMode_11070(&raw mut mode)).then(|| mode.0)
    });
    t.line("unload NULL", || call!(cu, cuModuleUnload_2000(null_mut())));
    t.line("unload", || call!(cu, cuModuleUnload_2000(module)));
    t.line("unload the other", || call!(cu, cuModuleUnload_2000(other)));
    Ok(())
}

/// Loads a file with this text.
fn file(cu: &Cu, text: &CStr) -> Answer {
    let path = std::env::temp_dir().join(format!("conformance-{}.ptx", std::process::id()));
    if let Err(error) = std::fs::write(&path, text.to_bytes()) {
        return format!("{}: {error}", path.display()).into();
    }
    let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path has no 0");
    let mut module = null_mut();
    let answer = call!(cu, cuModuleLoad_2000(&raw mut module, name.as_ptr()));
    // What cannot be removed is small.
    let _ = std::fs::remove_file(path);
    answer
}

fn functions(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let module = cu.module(KERNELS)?;
    let before: CUfunction = std::ptr::without_provenance_mut(BEFORE);
    let (mut function, mut again, mut none, mut its) = (before, before, before, null_mut());
    let get = |out: &mut CUfunction, name: &CStr| {
        call!(cu, cuModuleGetFunction_2000(std::ptr::from_mut(out), module, name.as_ptr()))
    };
    t.line("function", || get(&mut function, c"nothing"));
    t.line("function again", || get(&mut again, c"nothing"));
    t.line("  same handle", || yes(function == again));
    t.line("missing kernel name", || get(&mut none, c"absent"));
    t.line("  handle", || fate(none));
    t.line("empty name", || get(&mut none, c""));
    t.line("name of a variable", || get(&mut none, c"counter"));
    t.line("function of module NULL", || {
        call!(cu, cuModuleGetFunction_2000(&raw mut none, null_mut(), c"nothing".as_ptr()))
    });
    t.line("module of the function", || {
        call!(cu, cuFuncGetModule_11000(&raw mut its, function)).then(|| yes(its == module))
    });
    t.line("name of the function", || {
        let mut name = null();
        // SAFETY: the name belongs to the module, which is loaded.
        let text = |name| unsafe { CStr::from_ptr(name) }.to_string_lossy();
        match call!(cu, cuFuncGetName_12030(&raw mut name, function)) {
            answer if answer.succeeded() => text(name).into_owned().into(),
            answer => answer,
        }
    });
    t.line("function count", || {
        let mut count = 99;
        call!(cu, cuModuleGetFunctionCount_12040(&raw mut count, module)).then(|| count)
    });
    for room in [6, 2, 9, 0] {
        let mut all = [null_mut(); 9];
        t.line(&format!("enumerate with room for {room}"), || {
            call!(cu, cuModuleEnumerateFunctions_12040(all.as_mut_ptr(), room, module))
        });
        t.line("  written", || all.iter().filter(|function| !function.is_null()).count().to_string());
    }
    t.line("  the handle is among them", || {
        let mut all = [null_mut(); 6];
        call!(cu, cuModuleEnumerateFunctions_12040(all.as_mut_ptr(), 6, module))
            .then(|| yes(all.contains(&function)))
    });
    t.line("loaded", || {
        let mut state = Default::default();
        call!(cu, cuFuncIsLoaded_12040(&raw mut state, function)).then(|| state.0)
    });
    t.line("load it", || call!(cu, cuFuncLoad_12040(function)));
    t.line("loaded", || {
        let mut state = Default::default();
        call!(cu, cuFuncIsLoaded_12040(&raw mut state, function)).then(|| state.0)
    });
    Ok(())
}

fn globals(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let (module, other) = (cu.module(KERNELS)?, cu.module(KERNELS)?);
    let get = |name: &CStr| {
        let (mut address, mut bytes) = (0, 0);
        call!(cu, cuModuleGetGlobal_3020(&raw mut address, &raw mut bytes, module, name.as_ptr()))
            .then(|| bytes)
    };
    t.line("bytes of a variable", || get(c"counter"));
    t.line("bytes of an array", || get(c"table"));
    t.line("bytes of a constant", || get(c"constant"));
    t.line("no variable of that name", || get(c"absent"));
    t.line("variable of a kernel's name", || get(c"nothing"));
    t.line("variable of the empty name", || get(c""));
    t.line("variable without a place for the bytes", || {
        let mut address = 0;
        call!(cu, cuModuleGetGlobal_3020(&raw mut address, null_mut(), module, c"counter".as_ptr()))
    });
    t.line("variable without a place for the address", || {
        let mut bytes = 0;
        call!(cu, cuModuleGetGlobal_3020(null_mut(), &raw mut bytes, module, c"counter".as_ptr()))
            .then(|| bytes)
    });
    t.line("variable without any place", || {
        call!(cu, cuModuleGetGlobal_3020(null_mut(), null_mut(), module, c"counter".as_ptr()))
    });
    t.line("absent one without any place", || {
        call!(cu, cuModuleGetGlobal_3020(null_mut(), null_mut(), module, c"absent".as_ptr()))
    });
    let (mut address, mut another, mut value) = (0, 0, 0u32);
    need!(cu, cuModuleGetGlobal_3020(&raw mut address, null_mut(), module, c"counter".as_ptr()))?;
    need!(cu, cuModuleGetGlobal_3020(&raw mut another, null_mut(), other, c"counter".as_ptr()))?;
    let place = (&raw mut value).cast();
    t.line("its first value", || call!(cu, cuMemcpyDtoH_3020(place, address, 4)));
    t.line("  value", || value.to_string());
    t.line("another module has its own", || yes(address != another));
    t.line("copy past the end of it", || {
        let mut bytes = [0u8; 4096];
        call!(cu, cuMemcpyDtoH_3020(bytes.as_mut_ptr().cast(), address, 4096))
    });
    t.line("free it", || call!(cu, cuMemFree_3020(address)));
    t.line("address range", || {
        let (mut base, mut bytes) = (0, 0);
        call!(cu, cuMemGetAddressRange_3020(&raw mut base, &raw mut bytes, address))
    });
    t.line("texture of that name", || {
        let mut texture = null_mut();
        call!(cu, cuModuleGetTexRef_2000(&raw mut texture, module, c"absent".as_ptr()))
    });
    Ok(())
}

fn two_contexts(t: &mut Lines, cu: &Cu) -> Outcome {
    let primary = cu.start()?;
    let module = cu.module(KERNELS)?;
    let function = cu.function(module, c"nothing")?;
    let created = cu.context()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let launch = |stream| cu.launch(function, Shape::ONE, stream, &mut []);
    t.line("function of another context on this one's stream", || launch(stream));
    t.line("on the NULL stream", || launch(null_mut()));
    t.line("function of a module of another context", || {
        let mut function = null_mut();
        call!(cu, cuModuleGetFunction_2000(&raw mut function, module, c"nothing".as_ptr()))
    });
    t.line("variable of it", || {
        let (mut address, mut bytes) = (0, 0);
        call!(cu, cuModuleGetGlobal_3020(&raw mut address, &raw mut bytes, module, c"counter".as_ptr()))
    });
    t.line("attribute of its function", || {
        let mut value = 0;
        call!(cu, cuFuncGetAttribute_2020(&raw mut value, Default::default(), function))
    });
    t.line("unload it", || call!(cu, cuModuleUnload_2000(module)));
    need!(cu, cuCtxDestroy_4000(created))?;
    need!(cu, cuCtxSetCurrent_4000(primary))?;
    let module = cu.module(KERNELS)?;
    let function = cu.function(module, c"nothing")?;
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("no current context: load", || {
        let mut module = null_mut();
        call!(cu, cuModuleLoadData_2000(&raw mut module, KERNELS.as_ptr().cast()))
    });
    t.line("no current context: launch on the NULL stream", || {
        cu.launch(function, Shape::ONE, null_mut(), &mut [])
    });
    Ok(())
}

/// A module under a kernel that runs.
fn running(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let (module, flag) = (cu.module(KERNELS)?, Flag::new(cu)?);
    let function = cu.function(module, c"wait")?;
    // Before the launch: a driver may run the kernel in it.
    flag.raise_soon();
    t.line("launch", || cu.launch_at(function, stream, flag.address()));
    t.line("unload while it runs", || call!(cu, cuModuleUnload_2000(module)));
    t.line("  it has waited", || yes(flag.is_raised()));
    t.line("synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    Ok(())
}

/// A module, a function of it, and both of another one that was unloaded.
struct Scene {
    cu: Cu,
    module: CUmodule,
    function: CUfunction,
    gone: CUmodule,
    gone_function: CUfunction,
    stream: CUstream,
}

type Question = (&'static str, fn(&Scene) -> Answer);

fn apart(t: &mut Lines, cu: &Cu, number: usize) -> Outcome {
    cu.start()?;
    let (module, gone) = (cu.module(KERNELS)?, cu.module(KERNELS)?);
    let (function, gone_function) = (cu.function(module, c"nothing")?, cu.function(gone, c"nothing")?);
    let stream = cu.stream(NON_BLOCKING)?;
    need!(cu, cuModuleUnload_2000(gone))?;
    let scene = Scene { cu: *cu, module, function, gone, gone_function, stream };
    let (situation, ask) = APART[number];
    t.line(situation, || ask(&scene));
    Ok(())
}

/// Questions that a driver may not survive.
const APART: &[Question] = &[
    ("unload twice", |s| call!(s.cu, cuModuleUnload_2000(s.gone))),
    ("function of an unloaded module", |s| {
        let mut function = null_mut();
        call!(s.cu, cuModuleGetFunction_2000(&raw mut function, s.gone, c"nothing".as_ptr()))
    }),
    ("variable of an unloaded module", |s| {
        let mut address = 0;
        call!(s.cu, cuModuleGetGlobal_3020(&raw mut address, null_mut(), s.gone, c"counter".as_ptr()))
    }),
    ("launch of an unloaded function", |s| s.cu.launch(s.gone_function, Shape::ONE, s.stream, &mut [])),
    ("attribute of an unloaded function", |s| {
        let mut value = 0;
        call!(s.cu, cuFuncGetAttribute_2020(&raw mut value, Default::default(), s.gone_function))
    }),
    ("load to NULL", |s| call!(s.cu, cuModuleLoadData_2000(null_mut(), KERNELS.as_ptr().cast()))),
    ("load file NULL", |s| {
        let mut module = null_mut();
        call!(s.cu, cuModuleLoad_2000(&raw mut module, null()))
    }),
    ("function of name NULL", |s| {
        let mut function = null_mut();
        call!(s.cu, cuModuleGetFunction_2000(&raw mut function, s.module, null()))
    }),
    ("function to NULL", |s| {
        call!(s.cu, cuModuleGetFunction_2000(null_mut(), s.module, c"nothing".as_ptr()))
    }),
    ("variable of name NULL", |s| {
        let mut address = 0;
        call!(s.cu, cuModuleGetGlobal_3020(&raw mut address, null_mut(), s.module, null()))
    }),
    ("a function as a module", |s| {
        let mut function = null_mut();
        call!(s.cu, cuModuleGetFunction_2000(&raw mut function, s.function.cast(), c"nothing".as_ptr()))
    }),
    ("launch of a module", |s| s.cu.launch(s.module.cast(), Shape::ONE, s.stream, &mut [])),
    ("after a reset: unload", |s| match call!(s.cu, cuDevicePrimaryCtxReset_11000(0)) {
        answer if answer.succeeded() => call!(s.cu, cuModuleUnload_2000(s.module)),
        answer => answer,
    }),
    ("after a reset: launch", |s| match call!(s.cu, cuDevicePrimaryCtxReset_11000(0)) {
        answer if answer.succeeded() => s.cu.launch(s.function, Shape::ONE, s.stream, &mut []),
        answer => answer,
    }),
    ("after a reset: attribute of the function", |s| match call!(s.cu, cuDevicePrimaryCtxReset_11000(0)) {
        answer if answer.succeeded() => {
            let mut value = 0;
            call!(s.cu, cuFuncGetAttribute_2020(&raw mut value, Default::default(), s.function))
        }
        answer => answer,
    }),
    ("no context: unload", |s| match call!(s.cu, cuCtxSetCurrent_4000(null_mut())) {
        answer if answer.succeeded() => call!(s.cu, cuModuleUnload_2000(s.module)),
        answer => answer,
    }),
];
