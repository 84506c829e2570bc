//! Modules: code in one context, compiled when it is loaded.

use super::image::{Image, check_given};
use super::instance::{Instance, Wanted};
use super::jit::{self, Options};
use super::program::Program;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_MODULE_LAZY_LOADING, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND,
    CUDA_ERROR_NOT_PERMITTED, CUdeviceptr_v2, CUfunction, CUjit_option, CUmodule, CUmoduleLoadingMode,
    CUresult, CUtexref,
};
use crate::driver::capture;
use crate::driver::context::current::current;
use crate::driver::context::{self, Activation};
use crate::driver::handle::{Object, Table};
use crate::driver::signal::Listener;
use crate::instruments::live;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

static MODULES: Table<Module> = Table::new();

/// Code in one context.
pub(super) struct Module {
    handle: usize,
    pub(super) instance: Arc<Instance>,
    /// Whether it is a library's, which unloads it.
    of_library: bool,
}

impl Object for Module {
    fn report(&self) -> Option<live::Object> {
        (!self.of_library).then(|| self.instance.context.report(live::MODULE, self.handle))
    }
}

impl Module {
    fn of(handle: CUmodule) -> Result<Arc<Self>, CUresult> {
        MODULES.get(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    pub(super) fn of_library(instance: &Arc<Instance>) -> Arc<Self> {
        Self::add(instance, true)
    }

    fn add(instance: &Arc<Instance>, of_library: bool) -> Arc<Self> {
        MODULES.add(|handle| Self { handle, instance: Arc::clone(instance), of_library })
    }

    pub(super) fn handle(&self) -> CUmodule {
        self.handle as CUmodule
    }

    pub(super) fn remove(&self) {
        MODULES.remove(self.handle);
    }
}

/// The module that an instance is.
pub(super) fn of_instance(instance: &Arc<Instance>) -> Result<CUmodule, CUresult> {
    let mut found = None;
    MODULES.each(|module| {
        if Arc::ptr_eq(&module.instance, instance) {
            found = Some(module.handle());
        }
    });
    found.ok_or(CUDA_ERROR_INVALID_HANDLE)
}

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, forget);

/// Forgets the modules of a context that has ended.
fn forget(context: &Arc<Activation>) {
    let mut ended = Vec::new();
    MODULES.each(|module| {
        if Arc::ptr_eq(&module.instance.context, context) && !module.of_library {
            ended.push((module.handle, Arc::clone(&module.instance)));
        }
    });
    for (handle, instance) in ended {
        instance.forget();
        MODULES.remove(handle);
    }
}

fn load(module: Out<CUmodule>, image: &Image, options: Option<&Options>) -> Answer {
    let context = current()?;
    let most_registers = options.and_then(|options| options.most_registers);
    let program = Arc::new(Program::compile(image, most_registers));
    match options {
        Some(options) => options.report(&program.log),
        None => jit::say(&program.log),
    }
    ENDS.begin();
    let instance = Instance::new(&program, &context, &parking_lot::Mutex::default(), 0)?;
    module.set(Module::add(&instance, false).handle())
}

pub(crate) fn cuModuleLoad(module: Out<CUmodule>, fname: In<c_char>) -> Answer {
    current()?;
    module.check()?;
    load(module, &Image::in_file(fname.text()?)?, None)
}

pub(crate) fn cuModuleLoadData(module: Out<CUmodule>, image: *const c_void) -> Answer {
    current()?;
    module.check()?;
    load(module, &Image::at(image)?, None)
}

pub(crate) fn cuModuleLoadDataEx(
    module: Out<CUmodule>,
    image: *const c_void,
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
) -> Answer {
    current()?;
    module.check()?;
    let options = Options::read_for_device(numOptions, options, optionValues)?;
    load(module, &Image::at(image)?, Some(&options))
}

pub(crate) fn cuModuleLoadFatBinary(module: Out<CUmodule>, fatCubin: *const c_void) -> Answer {
    check_given(fatCubin)?;
    cuModuleLoadData(module, fatCubin)
}

/// Waits for the kernels of it that run. A library's module is unloaded with the library.
pub(crate) fn cuModuleUnload(hmod: CUmodule) -> Answer {
    let module = Module::of(hmod)?;
    if module.of_library {
        return Err(CUDA_ERROR_NOT_PERMITTED);
    }
    capture::check_unsafe()?;
    module.instance.unload()?;
    module.remove();
    module.instance.context.fault()
}

pub(crate) fn cuModuleGetLoadingMode(mode: Out<CUmoduleLoadingMode>) -> Answer {
    mode.set(CU_MODULE_LAZY_LOADING)
}

pub(crate) fn cuModuleGetFunction(hfunc: Out<CUfunction>, hmod: CUmodule, name: In<c_char>) -> Answer {
    hfunc.check()?;
    let (module, name) = (Module::of(hmod)?, name.text()?);
    module.instance.context.fault()?;
    if name.is_empty() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    hfunc.set(std::ptr::null_mut())?;
    let kernel = module.instance.kernel(name)?;
    hfunc.set(module.instance.function(kernel).handle())
}

pub(crate) fn cuModuleGetFunctionCount(count: Out<u32>, mod_: CUmodule) -> Answer {
    count.check()?;
    count.set(Module::of(mod_)?.instance.program.code()?.kernels.len() as u32)
}

pub(crate) fn cuModuleEnumerateFunctions(
    functions: Out<CUfunction>,
    numFunctions: u32,
    mod_: CUmodule,
) -> Answer {
    let instance = Arc::clone(&Module::of(mod_)?.instance);
    let count = instance.program.code()?.kernels.len().min(numFunctions as usize);
    (0..count).try_for_each(|index| functions.set_item(index, instance.function(index).handle()))
}

pub(crate) fn cuModuleGetGlobal_v2(
    dptr: Out<CUdeviceptr_v2>,
    bytes: Out<usize>,
    hmod: CUmodule,
    name: In<c_char>,
) -> Answer {
    let (module, name) = (Module::of(hmod)?, name.text()?);
    module.instance.tell_variable(name, Wanted::Any, dptr, bytes)
}

/// No code here has textures.
pub(crate) fn cuModuleGetTexRef(pTexRef: Out<CUtexref>, hmod: CUmodule, name: In<c_char>) -> Answer {
    pTexRef.check()?;
    Module::of(hmod)?;
    name.text()?;
    Err(CUDA_ERROR_NOT_FOUND)
}
