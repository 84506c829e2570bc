//! What callers mean by a kernel: a function of a context, or a library's kernel.

use super::attributes::Attributes;
use super::instance::{Function, Instance};
use super::library::Kernel;
use super::prepared::Prepared;
use super::program::{Code, Entry};
use crate::abi::sys::{CUDA_ERROR_INVALID_HANDLE, CUfunction, CUresult};
use crate::driver::context::Activation;
use std::sync::Arc;

/// A kernel that is about to be used, and what it is in.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) instance: Arc<Instance>,
    pub(crate) index: usize,
    /// The handle of the library's kernel that it is; 0 where it is a module's function.
    pub(crate) library_kernel: usize,
}

impl Found {
    pub(crate) fn function(handle: CUfunction) -> Result<Self, CUresult> {
        let (instance, index) = Function::find(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        instance.context.fault()?;
        let library_kernel = Kernel::in_library(instance.library, index);
        Ok(Self { instance, index, library_kernel })
    }

    /// What a handle means in a context: a function of it, or a library's kernel.
    pub(crate) fn of(handle: CUfunction, context: &Arc<Activation>) -> Result<Self, CUresult> {
        let found = Self::anywhere(handle, context)?;
        if Arc::ptr_eq(&found.instance.context, context) { Ok(found) } else { Err(CUDA_ERROR_INVALID_HANDLE) }
    }

    /// What a handle means: a library's kernel in this context, or a function, which has its own.
    pub(crate) fn anywhere(handle: CUfunction, context: &Arc<Activation>) -> Result<Self, CUresult> {
        match Kernel::find(handle as usize) {
            Some((library, index)) => {
                Ok(Self { instance: library.instance(context)?, index, library_kernel: handle as usize })
            }
            None => Self::function(handle),
        }
    }

    pub(crate) fn code(&self) -> &Code {
        self.instance.program.code().expect("there is an instance only of what compiled")
    }

    pub(crate) fn kernel(&self) -> &Entry {
        &self.code().kernels[self.index]
    }

    /// Reads or changes what is set of its function for launches that do not say it themselves.
    pub(crate) fn with_prepared<T>(&self, look: impl FnOnce(&mut Prepared) -> T) -> T {
        look(&mut self.instance.function(self.index).prepared.lock())
    }

    pub(crate) fn attributes(&self) -> Attributes<'_> {
        Attributes {
            kernel: self.kernel(),
            adjusted: self.instance.program.adjusted(self.index, self.instance.context.device()),
        }
    }
}
