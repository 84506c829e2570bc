//! Loaded code: a `CUlibrary` from driver 12.0 on, a `CUmodule` before.

use super::function::RawKernel;
use crate::driver::call;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::calls::context::RawContext;
use crate::driver::calls::gone_at_exit;
use crate::driver::calls::memory::pointer::attributes;
use crate::driver::sys::{
    CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_POINTER_ATTRIBUTE_IS_MANAGED, CUDA_ERROR_NOT_FOUND, CUdeviceptr,
    CUjit_option, CUlibrary, CUmodule,
};
use crate::driver::{CallError, Table};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// Code that the driver loaded, held by whoever holds this.
pub(crate) struct RawLibrary {
    table: &'static Table,
    form: Form,
    /// The driver compiles late and may write then.
    log: Box<Log>,
}

enum Form {
    /// Good in every context.
    Library(CUlibrary),
    /// Of one context.
    Module(CUmodule),
}

// SAFETY: the driver's libraries and modules may be used from every thread.
unsafe impl Send for RawLibrary {}
// SAFETY: as above; the log is read only through what the loading call left in it.
unsafe impl Sync for RawLibrary {}

/// Bytes of each of the two logs. The compiler cuts what does not fit.
const LOG: usize = 16 << 10;

/// What the driver's compiler or linker says.
pub(super) struct Log {
    pub(super) info: [u8; LOG],
    pub(super) error: [u8; LOG],
}

impl Log {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self { info: [0; LOG], error: [0; LOG] })
    }

    pub(super) fn options(&mut self) -> [(CUjit_option, *mut c_void); 4] {
        let size = std::ptr::without_provenance_mut(LOG);
        [
            (CU_JIT_INFO_LOG_BUFFER, self.info.as_mut_ptr().cast()),
            (CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size),
            (CU_JIT_ERROR_LOG_BUFFER, self.error.as_mut_ptr().cast()),
            (CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size),
        ]
    }
}

pub(super) fn text(log: &[u8; LOG]) -> String {
    let text = CStr::from_bytes_until_nul(log).map(CStr::to_bytes).unwrap_or(log);
    String::from_utf8_lossy(text).trim_end().to_owned()
}

/// Code that was not loaded, and what the compiler says of it.
pub(crate) struct LoadError {
    pub(crate) error: CallError,
    pub(crate) log: String,
}

impl RawLibrary {
    /// Loads an image, which is complete (PTX ends in NUL, a cubin or fatbin has all its bytes), and has it compiled.
    /// The options are those of `CUjit_option`, without the logs.
    ///
    /// Driver 580 puts compiling off and loads any text as a library; asking for the library's module makes it compile.
    pub(crate) fn load(
        context: &RawContext,
        image: &[u8],
        options: &[(CUjit_option, *mut c_void)],
    ) -> Result<Self, LoadError> {
        let mut log = Log::new();
        let all: Vec<_> = log.options().into_iter().chain(options.iter().copied()).collect();
        let (mut keys, mut values): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let form = context
            .enter()
            .and_then(|_current| Form::load(context.table(), image, &mut keys, &mut values))
            .map_err(|error| LoadError { error, log: text(&log.error) })?;
        let library = Self { table: context.table(), form, log };
        let Err(error) = library.compile(context) else { return Ok(library) };
        let log = library.error_log();
        // What does not compile can still be unloaded, and there is nothing more to say about it.
        let _ = library.unload();
        Err(LoadError { error, log })
    }

    fn compile(&self, context: &RawContext) -> Result<(), CallError> {
        match self.form {
            Form::Library(_) => self.module(context).map(drop),
            Form::Module(_) => Ok(()),
        }
    }

    /// What the compiler noted.
    pub(crate) fn info_log(&self) -> String {
        text(&self.log.info)
    }

    fn error_log(&self) -> String {
        text(&self.log.error)
    }

    /// The library's handle; NULL before driver 12.0.
    pub(crate) fn handle(&self) -> CUlibrary {
        match self.form {
            Form::Library(library) => library,
            Form::Module(_) => null_mut(),
        }
    }

    /// Whether what is in it is only good in the context that it was loaded in.
    pub(crate) fn is_of_one_context(&self) -> bool {
        matches!(self.form, Form::Module(_))
    }

    /// The module in the context.
    pub(crate) fn module(&self, context: &RawContext) -> Result<CUmodule, CallError> {
        match self.form {
            Form::Module(module) => Ok(module),
            Form::Library(library) => {
                let mut module = null_mut();
                let _current = context.enter()?;
                // SAFETY: writes one handle; the library is loaded and the context current.
                unsafe { call!(self.table, cuLibraryGetModule_12000(&raw mut module, library)) }?;
                Ok(module)
            }
        }
    }

    /// The kernel of this name.
    ///
    /// # Safety
    /// The library stays loaded for as long as the kernel exists.
    pub(crate) unsafe fn kernel(&self, context: &RawContext, name: &CStr) -> Result<RawKernel, CallError> {
        let _current = context.enter()?;
        match self.form {
            Form::Library(library) => {
                let mut kernel = null_mut();
                // SAFETY: writes one handle; the library is loaded.
                unsafe {
                    call!(self.table, cuLibraryGetKernel_12000(&raw mut kernel, library, name.as_ptr()))
                }?;
                // SAFETY: the driver gave it, and the caller keeps the library loaded.
                Ok(unsafe { RawKernel::kernel(self.table, kernel) })
            }
            Form::Module(module) => {
                let mut function = null_mut();
                // SAFETY: writes one handle; the module is loaded and its context current.
                unsafe {
                    call!(self.table, cuModuleGetFunction_2000(&raw mut function, module, name.as_ptr()))
                }?;
                // SAFETY: as above.
                Ok(unsafe { RawKernel::function(self.table, function) })
            }
        }
    }

    /// The kernels that it has; 12.4.
    ///
    /// # Safety
    /// As for [`kernel`](Self::kernel).
    pub(crate) unsafe fn kernels(&self, context: &RawContext) -> Result<Vec<RawKernel>, CallError> {
        let _current = context.enter()?;
        match self.form {
            Form::Library(library) => {
                let mut count = 0;
                // SAFETY: writes one number.
                unsafe { call!(self.table, cuLibraryGetKernelCount_12040(&raw mut count, library)) }?;
                let mut kernels = vec![null_mut(); count as usize];
                // SAFETY: writes `count` handles at most.
                unsafe {
                    call!(self.table, cuLibraryEnumerateKernels_12040(kernels.as_mut_ptr(), count, library))
                }?;
                // SAFETY: the driver gave them, and the caller keeps the library loaded.
                let kernel = |kernel| unsafe { RawKernel::kernel(self.table, kernel) };
                Ok(kernels.into_iter().map(kernel).collect())
            }
            Form::Module(module) => {
                let mut count = 0;
                // SAFETY: writes one number.
                unsafe { call!(self.table, cuModuleGetFunctionCount_12040(&raw mut count, module)) }?;
                let mut functions = vec![null_mut(); count as usize];
                // SAFETY: writes `count` handles at most.
                unsafe {
                    call!(self.table, cuModuleEnumerateFunctions_12040(functions.as_mut_ptr(), count, module))
                }?;
                // SAFETY: as above.
                let function = |function| unsafe { RawKernel::function(self.table, function) };
                Ok(functions.into_iter().map(function).collect())
            }
        }
    }

    /// Address and bytes of the variable of this name, in the context.
    pub(crate) fn global(
        &self,
        context: &RawContext,
        name: &CStr,
    ) -> Result<(CUdeviceptr, usize), CallError> {
        let (mut pointer, mut bytes) = (0, 0);
        let _current = context.enter()?;
        // SAFETY: each writes an address and a size; the code is loaded and the context current.
        unsafe {
            match self.form {
                Form::Library(library) => call!(
                    self.table,
                    cuLibraryGetGlobal_12000(&raw mut pointer, &raw mut bytes, library, name.as_ptr())
                ),
                Form::Module(module) => call!(
                    self.table,
                    cuModuleGetGlobal_3020(&raw mut pointer, &raw mut bytes, module, name.as_ptr())
                ),
            }
        }?;
        Ok((pointer, bytes))
    }

    /// Address and bytes of the managed variable of this name, the same in every context.
    ///
    /// A module has one function for variables of both kinds; what it finds is managed, or was not to be found.
    pub(crate) fn managed(
        &self,
        context: &RawContext,
        name: &CStr,
    ) -> Result<(CUdeviceptr, usize), CallError> {
        let Form::Library(library) = self.form else {
            let (pointer, bytes) = self.global(context, name)?;
            let [is_managed] = attributes(self.table, pointer, [CU_POINTER_ATTRIBUTE_IS_MANAGED], [0])?;
            return match is_managed {
                0 => Err(CallError::failed("cuModuleGetGlobal_3020", CUDA_ERROR_NOT_FOUND)),
                _ => Ok((pointer, bytes)),
            };
        };
        let (mut pointer, mut bytes) = (0, 0);
        let _current = context.enter()?;
        // SAFETY: writes an address and a size; the library is loaded.
        unsafe {
            call!(
                self.table,
                cuLibraryGetManaged_12000(&raw mut pointer, &raw mut bytes, library, name.as_ptr())
            )
        }?;
        Ok((pointer, bytes))
    }

    /// Unloads the code, after waiting for the kernels of it that run (driver 580: both calls wait, measured).
    ///
    /// It would invalidate a capture in progress, even one of somebody else's, unless this thread's mode is relaxed.
    pub(crate) fn unload(self) -> Result<(), CallError> {
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe {
            match self.form {
                Form::Library(library) => relaxed!(self.table, cuLibraryUnload_12000(library)),
                Form::Module(module) => relaxed!(self.table, cuModuleUnload_2000(module)),
            }
        })
    }
}

impl Form {
    fn load(
        table: &Table,
        image: &[u8],
        keys: &mut [CUjit_option],
        values: &mut [*mut c_void],
    ) -> Result<Self, CallError> {
        let (image, count) = (image.as_ptr().cast(), u32::try_from(keys.len()).unwrap_or(u32::MAX));
        let (keys, values) = (keys.as_mut_ptr(), values.as_mut_ptr());
        if table.cuLibraryLoadData_12000.is_some() {
            let mut library = null_mut();
            // SAFETY: writes one handle; the image is complete, and the options are as many as it says.
            unsafe {
                call!(
                    table,
                    cuLibraryLoadData_12000(
                        &raw mut library,
                        image,
                        keys,
                        values,
                        count,
                        null_mut(),
                        null_mut(),
                        0
                    )
                )
            }?;
            return Ok(Self::Library(library));
        }
        let mut module = null_mut();
        // SAFETY: as above; the context is current.
        unsafe { call!(table, cuModuleLoadDataEx_2010(&raw mut module, image, count, keys, values)) }?;
        Ok(Self::Module(module))
    }
}

/// The library that a kernel is in; 12.5.
pub(crate) fn of_kernel(kernel: &RawKernel) -> Result<CUlibrary, CallError> {
    let mut library = null_mut();
    // SAFETY: writes one handle; the kernel's library is loaded.
    unsafe { call!(kernel.table(), cuKernelGetLibrary_12050(&raw mut library, kernel.handle().cast())) }?;
    Ok(library)
}
