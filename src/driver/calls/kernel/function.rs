//! One kernel: a `CUkernel`, good in every context, or a `CUfunction` of one context.

use crate::driver::call;
use crate::driver::calls::context::RawContext;
use crate::driver::sys::{CUDA_ERROR_INVALID_VALUE, CUdevice, CUfunction, CUfunction_attribute, CUkernel};
use crate::driver::{CallError, Table};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// A kernel of the driver. It lives as long as its code is loaded, which is for the holder to see to.
#[derive(Clone)]
pub(crate) struct RawKernel {
    table: &'static Table,
    form: Form,
}

/// In which form it is a kernel. Who has only this knows the kernel, and can tell it the driver.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Kernel(CUkernel),
    Function(CUfunction),
}

// SAFETY: the driver's kernels and functions may be used from every thread.
unsafe impl Send for Form {}
// SAFETY: as above.
unsafe impl Sync for Form {}

/// Where one parameter of a kernel stands in the packed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Bytes from the start of the block.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
}

impl Form {
    #[inline]
    pub(crate) fn handle(self) -> *mut c_void {
        match self {
            Self::Kernel(kernel) => kernel.cast(),
            Self::Function(function) => function.cast(),
        }
    }

    /// Whether it is good in one context only.
    #[inline]
    pub(crate) fn is_of_one_context(self) -> bool {
        matches!(self, Self::Function(_))
    }
}

impl RawKernel {
    /// A `CUkernel`.
    ///
    /// # Safety
    /// It is one of this driver, and its code stays loaded for as long as this exists.
    pub(crate) unsafe fn kernel(table: &'static Table, kernel: CUkernel) -> Self {
        Self { table, form: Form::Kernel(kernel) }
    }

    /// A `CUfunction`.
    ///
    /// # Safety
    /// As for [`kernel`](Self::kernel).
    pub(crate) unsafe fn function(table: &'static Table, function: CUfunction) -> Self {
        Self { table, form: Form::Function(function) }
    }

    /// Refuses a driver that has no kernels of this form.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        let (is_there, entry) = match self.form {
            Form::Kernel(_) => (self.table.cuKernelGetFunction_12000.is_some(), "cuKernelGetFunction_12000"),
            Form::Function(_) => (self.table.cuLaunchKernel_4000.is_some(), "cuLaunchKernel_4000"),
        };
        if is_there { Ok(()) } else { Err(CallError::missing(entry)) }
    }

    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// The handle, which launches and occupancy calls take in either form.
    #[inline]
    pub(crate) fn handle(&self) -> *mut c_void {
        self.form.handle()
    }

    /// Whether it is good in one context only.
    #[inline]
    pub(crate) fn is_of_one_context(&self) -> bool {
        self.form.is_of_one_context()
    }

    /// The `CUfunction` that it is in the context.
    pub(crate) fn function_in(&self, context: &RawContext) -> Result<CUfunction, CallError> {
        match self.form {
            Form::Function(function) => Ok(function),
            Form::Kernel(kernel) => {
                let mut function = null_mut();
                let _current = context.enter()?;
                // SAFETY: writes one handle; the kernel's library is loaded and the context current.
                unsafe { call!(self.table, cuKernelGetFunction_12000(&raw mut function, kernel)) }?;
                Ok(function)
            }
        }
    }

    /// Loads the code in the context now, not at the first launch; 12.4.
    pub(crate) fn load(&self, context: &RawContext) -> Result<(), CallError> {
        if self.table.cuFuncLoad_12040.is_none() {
            return Err(CallError::missing("cuFuncLoad_12040"));
        }
        let function = self.function_in(context)?;
        let _current = context.enter()?;
        // SAFETY: the kernel's library is loaded, and the context current.
        unsafe { call!(self.table, cuFuncLoad_12040(function)) }
    }

    /// The name; 12.3.
    pub(crate) fn name(&self) -> Result<String, CallError> {
        let mut name = std::ptr::null();
        // SAFETY: each writes a pointer to a string that lives as long as the code is loaded.
        unsafe {
            match self.form {
                Form::Kernel(kernel) => call!(self.table, cuKernelGetName_12030(&raw mut name, kernel)),
                Form::Function(function) => call!(self.table, cuFuncGetName_12030(&raw mut name, function)),
            }
        }?;
        if name.is_null() {
            return Ok(String::new());
        }
        // SAFETY: as above.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// An attribute, on the device.
    pub(crate) fn attribute(
        &self,
        context: &RawContext,
        device: CUdevice,
        attribute: CUfunction_attribute,
    ) -> Result<i32, CallError> {
        let mut value = 0;
        match self.form {
            // SAFETY: writes one number; the kernel's library is loaded.
            Form::Kernel(kernel) => unsafe {
                call!(self.table, cuKernelGetAttribute_12000(&raw mut value, attribute, kernel, device))
            },
            Form::Function(function) => {
                let _current = context.enter()?;
                // SAFETY: writes one number; the function's module is loaded.
                unsafe { call!(self.table, cuFuncGetAttribute_2020(&raw mut value, attribute, function)) }
            }
        }?;
        Ok(value)
    }

    /// Sets an attribute, on the device.
    pub(crate) fn set_attribute(
        &self,
        context: &RawContext,
        device: CUdevice,
        attribute: CUfunction_attribute,
        value: i32,
    ) -> Result<(), CallError> {
        match self.form {
            // SAFETY: the kernel's library is loaded.
            Form::Kernel(kernel) => unsafe {
                call!(self.table, cuKernelSetAttribute_12000(attribute, value, kernel, device))
            },
            Form::Function(function) => {
                let _current = context.enter()?;
                // SAFETY: the function's module is loaded.
                unsafe { call!(self.table, cuFuncSetAttribute_9000(function, attribute, value)) }
            }
        }
    }

    /// Where its parameters stand, in order; 12.4.
    pub(crate) fn parameters(&self, context: &RawContext) -> Result<Box<[Parameter]>, CallError> {
        let _current = context.enter()?;
        let mut parameters = Vec::new();
        if let Some(count) = self.parameter_count()? {
            parameters.reserve_exact(count);
            while parameters.len() < count {
                parameters.push(self.parameter(parameters.len())?);
            }
            return Ok(parameters.into());
        }
        loop {
            match self.parameter(parameters.len()) {
                Ok(parameter) => parameters.push(parameter),
                Err(error) if error.result() == Some(CUDA_ERROR_INVALID_VALUE) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(parameters.into())
    }

    /// How many parameters it has, from a driver that says so; 13.2.
    fn parameter_count(&self) -> Result<Option<usize>, CallError> {
        let mut count = 0;
        // SAFETY: each writes one number; the code is loaded.
        let result = unsafe {
            match self.form {
                Form::Kernel(kernel) => {
                    call!(self.table, cuKernelGetParamCount_13020(kernel, &raw mut count))
                }
                Form::Function(function) => {
                    call!(self.table, cuFuncGetParamCount_13020(function, &raw mut count))
                }
            }
        };
        match result {
            Ok(()) => Ok(Some(count)),
            Err(error) if error.result().is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parameter(&self, index: usize) -> Result<Parameter, CallError> {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: each writes two numbers; the code is loaded and a context current.
        unsafe {
            match self.form {
                Form::Kernel(kernel) => call!(
                    self.table,
                    cuKernelGetParamInfo_12040(kernel, index, &raw mut offset, &raw mut size)
                ),
                Form::Function(function) => call!(
                    self.table,
                    cuFuncGetParamInfo_12040(function, index, &raw mut offset, &raw mut size)
                ),
            }
        }?;
        Ok(Parameter { offset, size })
    }
}
