//! Libraries: code for every context. They are compiled when they are used, as driver 580 does it: any text is loaded
//! with success, and its kernels answer with the error.

use super::image::Image;
use super::instance::{Instance, Wanted, find_kernel};
use super::jit::Options;
use super::module::Module;
use super::program::Program;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_LIBRARY_BINARY_IS_PRESERVED, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2,
    CUjit_option, CUkernel, CUlibrary, CUlibraryOption, CUmodule, CUresult,
};
use crate::driver::capture;
use crate::driver::context::current::current;
use crate::driver::context::{self, Activation};
use crate::driver::handle::{Object, Table};
use crate::driver::memory::table::Allocation;
use crate::driver::signal::Listener;
use crate::instruments::live;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, OnceLock, Weak};

static LIBRARIES: Table<Library> = Table::new();

/// A library in one context, and the module that it is there.
type Loaded = (Arc<Instance>, Arc<Module>);

/// Code that was loaded for every context.
pub(super) struct Library {
    handle: usize,
    pub(super) program: Arc<Program>,
    /// By the context's number.
    instances: Mutex<HashMap<u64, Loaded>>,
    /// Memory of managed variables.
    managed: Mutex<Vec<Option<Arc<Allocation>>>>,
    kernels: Vec<OnceLock<Arc<Kernel>>>,
}

impl Object for Library {
    fn report(&self) -> Option<live::Object> {
        let (kind, name) = (live::LIBRARY, self.handle);
        Some(live::Object { kind, name, bytes: 0, device: None, context: None, label: None })
    }
}

impl Library {
    fn of(handle: CUlibrary) -> Result<Arc<Self>, CUresult> {
        LIBRARIES.get(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    pub(super) fn handle(&self) -> CUlibrary {
        self.handle as CUlibrary
    }

    fn add(image: &Image, options: &Options) -> Arc<Self> {
        let program = Arc::new(Program::compile(image, options.most_registers));
        options.report(&program.log);
        let kernels = program.code().map_or(0, |code| code.kernels.len());
        let kernels = (0..kernels).map(|_| OnceLock::new()).collect();
        LIBRARIES.add(|handle| Self {
            handle,
            program,
            instances: Mutex::default(),
            managed: Mutex::default(),
            kernels,
        })
    }

    /// The code in a context, from the first time on that somebody asks.
    pub(super) fn instance(&self, context: &Arc<Activation>) -> Result<Arc<Instance>, CUresult> {
        Ok(self.loaded(context)?.0)
    }

    fn loaded(&self, context: &Arc<Activation>) -> Result<Loaded, CUresult> {
        let mut instances = self.instances.lock();
        if let Some((instance, module)) = instances.get(&context.id()) {
            return Ok((Arc::clone(instance), Arc::clone(module)));
        }
        ENDS.begin();
        let instance = Instance::new(&self.program, context, &self.managed, self.handle)?;
        let module = Module::of_library(&instance);
        instances.insert(context.id(), (Arc::clone(&instance), Arc::clone(&module)));
        Ok((instance, module))
    }

    fn kernel(self: &Arc<Self>, index: usize) -> Arc<Kernel> {
        Arc::clone(self.kernels[index].get_or_init(|| Kernel::add(self, index)))
    }
}

static KERNELS: Table<Kernel> = Table::new();

/// A kernel of a library.
pub(super) struct Kernel {
    handle: usize,
    library: Weak<Library>,
    index: usize,
}

impl Object for Kernel {
    /// The library is the program's.
    fn report(&self) -> Option<live::Object> {
        None
    }
}

impl Kernel {
    fn add(library: &Arc<Library>, index: usize) -> Arc<Self> {
        KERNELS.add(|handle| Self { handle, library: Arc::downgrade(library), index })
    }

    /// The kernel that a handle means, its library, and which of its kernels it is.
    pub(super) fn find(handle: usize) -> Option<(Arc<Library>, usize)> {
        let kernel = KERNELS.get(handle)?;
        Some((kernel.library.upgrade()?, kernel.index))
    }

    /// The handle of the kernel that is so many in a library; 0 where there is no such library.
    pub(super) fn in_library(library: usize, index: usize) -> usize {
        LIBRARIES.get(library).map_or(0, |library| library.kernel(index).handle)
    }

    pub(super) fn of(handle: CUkernel) -> Result<(Arc<Library>, usize), CUresult> {
        Self::find(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    pub(super) fn handle(&self) -> CUkernel {
        self.handle as CUkernel
    }

    fn remove(&self) {
        KERNELS.remove(self.handle);
    }
}

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, forget);

/// Forgets what libraries are in a context that has ended.
fn forget(context: &Arc<Activation>) {
    let mut ended = Vec::new();
    LIBRARIES.each(|library| ended.extend(library.instances.lock().remove(&context.id())));
    for (instance, module) in ended {
        instance.forget();
        module.remove();
    }
}

/// An image is read when it is loaded, so it makes no difference whether it stays. Tables of host functions are not here.
fn check_options(options: Out<CUlibraryOption>, count: u32) -> Answer {
    (0..count as usize).try_for_each(|index| match options.item(index)? {
        CU_LIBRARY_BINARY_IS_PRESERVED => Ok(()),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    })
}

#[allow(clippy::too_many_arguments)] // the driver's
pub(crate) fn cuLibraryLoadData(
    library: Out<CUlibrary>,
    code: *const c_void,
    jitOptions: Out<CUjit_option>,
    jitOptionsValues: Out<*mut c_void>,
    numJitOptions: u32,
    libraryOptions: Out<CUlibraryOption>,
    _libraryOptionValues: Out<*mut c_void>,
    numLibraryOptions: u32,
) -> Answer {
    library.check()?;
    check_options(libraryOptions, numLibraryOptions)?;
    let options = Options::read_for_device(numJitOptions, jitOptions, jitOptionsValues)?;
    library.set(Library::add(&Image::at(code)?, &options).handle())
}

#[allow(clippy::too_many_arguments)] // the driver's
pub(crate) fn cuLibraryLoadFromFile(
    library: Out<CUlibrary>,
    fileName: In<c_char>,
    jitOptions: Out<CUjit_option>,
    jitOptionsValues: Out<*mut c_void>,
    numJitOptions: u32,
    libraryOptions: Out<CUlibraryOption>,
    _libraryOptionValues: Out<*mut c_void>,
    numLibraryOptions: u32,
) -> Answer {
    library.check()?;
    check_options(libraryOptions, numLibraryOptions)?;
    let options = Options::read_for_device(numJitOptions, jitOptions, jitOptionsValues)?;
    library.set(Library::add(&Image::in_file(fileName.text()?)?, &options).handle())
}

/// Waits for the kernels of it that run, in every context.
pub(crate) fn cuLibraryUnload(library: CUlibrary) -> Answer {
    let found = Library::of(library)?;
    capture::check_unsafe()?;
    let instances: Vec<_> = found.instances.lock().drain().map(|(_, loaded)| loaded).collect();
    for (instance, module) in instances {
        instance.unload()?;
        module.remove();
    }
    found.kernels.iter().filter_map(OnceLock::get).for_each(|kernel| kernel.remove());
    LIBRARIES.remove(library as usize);
    Ok(())
}

pub(crate) fn cuLibraryGetKernel(pKernel: Out<CUkernel>, library: CUlibrary, name: In<c_char>) -> Answer {
    pKernel.check()?;
    let (library, name) = (Library::of(library)?, name.text()?);
    let index = find_kernel(&library.program, name)?;
    pKernel.set(library.kernel(index).handle())
}

/// Code that does not compile has no kernels.
pub(crate) fn cuLibraryGetKernelCount(count: Out<u32>, lib: CUlibrary) -> Answer {
    count.check()?;
    count.set(Library::of(lib)?.program.code().map_or(0, |code| code.kernels.len() as u32))
}

pub(crate) fn cuLibraryEnumerateKernels(kernels: Out<CUkernel>, numKernels: u32, lib: CUlibrary) -> Answer {
    let library = Library::of(lib)?;
    let count = library.kernels.len().min(numKernels as usize);
    (0..count).try_for_each(|index| kernels.set_item(index, library.kernel(index).handle()))
}

pub(crate) fn cuLibraryGetModule(pMod: Out<CUmodule>, library: CUlibrary) -> Answer {
    pMod.check()?;
    let library = Library::of(library)?;
    let (_, module) = library.loaded(&current()?)?;
    pMod.set(module.handle())
}

pub(crate) fn cuLibraryGetGlobal(
    dptr: Out<CUdeviceptr_v2>,
    bytes: Out<usize>,
    library: CUlibrary,
    name: In<c_char>,
) -> Answer {
    variable(dptr, bytes, library, name, Wanted::Any)
}

pub(crate) fn cuLibraryGetManaged(
    dptr: Out<CUdeviceptr_v2>,
    bytes: Out<usize>,
    library: CUlibrary,
    name: In<c_char>,
) -> Answer {
    variable(dptr, bytes, library, name, Wanted::Managed)
}

fn variable(
    dptr: Out<CUdeviceptr_v2>,
    bytes: Out<usize>,
    library: CUlibrary,
    name: In<c_char>,
    wanted: Wanted,
) -> Answer {
    let (library, name) = (Library::of(library)?, name.text()?);
    library.instance(&current()?)?.tell_variable(name, wanted, dptr, bytes)
}

/// No code here has functions that host and device share: a name of none is a wrong value (measured).
pub(crate) fn cuLibraryGetUnifiedFunction(
    _fptr: Out<*mut c_void>,
    library: CUlibrary,
    _symbol: In<c_char>,
) -> Answer {
    Library::of(library)?;
    Err(CUDA_ERROR_INVALID_VALUE)
}
