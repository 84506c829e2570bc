//! Functions: kernels in one context.

use super::attributes::Attributes;
use super::instance::Instance;
use super::kernel::{Kernel, check_cache, tell_parameter};
use super::module;
use super::program::{Code, Entry};
use crate::context::Activation;
use crate::error::Answer;
use crate::handle::Table;
use crate::pointer::Out;
use crate::sys::{
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, CU_FUNCTION_LOADING_STATE_LOADED,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUfunc_cache, CUfunction, CUfunction_attribute,
    CUfunctionLoadingState, CUmodule, CUresult, CUsharedconfig,
};
use std::ffi::c_char;
use std::sync::{Arc, Weak};

static FUNCTIONS: Table<Function> = Table::new();

/// A kernel in one context.
pub(super) struct Function {
    handle: usize,
    instance: Weak<Instance>,
    index: usize,
}

/// A kernel that is about to be used, and what it is in.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) instance: Arc<Instance>,
    pub(super) index: usize,
}

impl Function {
    pub(super) fn add(instance: &Arc<Instance>, index: usize) -> Arc<Self> {
        FUNCTIONS.add(|handle| Self { handle, instance: Arc::downgrade(instance), index })
    }

    pub(super) fn handle(&self) -> CUfunction {
        self.handle as CUfunction
    }

    pub(super) fn remove(&self) {
        FUNCTIONS.remove(self.handle);
    }
}

impl Found {
    fn function(handle: CUfunction) -> Result<Self, CUresult> {
        let function = FUNCTIONS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        let instance = function.instance.upgrade().ok_or(CUDA_ERROR_INVALID_HANDLE)?;
        instance.context.fault()?;
        Ok(Self { instance, index: function.index })
    }

    /// What a handle means in a context: a function of it, or a library's kernel.
    pub(super) fn of(handle: CUfunction, context: &Arc<Activation>) -> Result<Self, CUresult> {
        if let Some((library, index)) = Kernel::find(handle as usize) {
            return Ok(Self { instance: library.instance(context)?, index });
        }
        let found = Self::function(handle)?;
        if Arc::ptr_eq(&found.instance.context, context) { Ok(found) } else { Err(CUDA_ERROR_INVALID_HANDLE) }
    }

    pub(super) fn code(&self) -> &Code {
        self.instance.program.code().expect("there is an instance only of what compiled")
    }

    pub(super) fn kernel(&self) -> &Entry {
        &self.code().kernels[self.index]
    }

    pub(super) fn attributes(&self) -> Attributes<'_> {
        Attributes {
            kernel: self.kernel(),
            adjusted: self.instance.program.adjusted(self.index, self.instance.context.device()),
        }
    }
}

/// Some functions take NULL for a wrong value, not for a wrong handle (measured).
fn check_given(function: CUfunction) -> Answer {
    if function.is_null() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

pub(crate) fn cuFuncGetAttribute(pi: Out<i32>, attrib: CUfunction_attribute, hfunc: CUfunction) -> Answer {
    pi.check()?;
    let value = Found::function(hfunc)?.attributes().get(attrib)?;
    // A function says whether it may have larger clusters; a kernel, what was set (measured).
    let yes_or_no = attrib == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    pi.set(if yes_or_no { i32::from(value != 0) } else { value })
}

pub(crate) fn cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: i32) -> Answer {
    Found::function(hfunc)?.attributes().set(attrib, value)
}

/// A preference, which makes no difference here.
pub(crate) fn cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache) -> Answer {
    Found::function(hfunc)?;
    check_cache(config)
}

/// As above.
pub(crate) fn cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig) -> Answer {
    Found::function(hfunc)?;
    if (0..3).contains(&config.0) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

pub(crate) fn cuFuncGetModule(hmod: Out<CUmodule>, hfunc: CUfunction) -> Answer {
    hmod.check()?;
    check_given(hfunc)?;
    hmod.set(module::of_instance(&Found::function(hfunc)?.instance)?)
}

pub(crate) fn cuFuncGetName(name: Out<*const c_char>, hfunc: CUfunction) -> Answer {
    name.check()?;
    check_given(hfunc)?;
    name.set(Found::function(hfunc)?.kernel().name.as_ptr())
}

pub(crate) fn cuFuncGetParamInfo(
    func: CUfunction,
    paramIndex: usize,
    paramOffset: Out<usize>,
    paramSize: Out<usize>,
) -> Answer {
    check_given(func)?;
    tell_parameter(Found::function(func)?.kernel(), paramIndex, paramOffset, paramSize)
}

pub(crate) fn cuFuncGetParamCount(func: CUfunction, paramCount: Out<usize>) -> Answer {
    check_given(func)?;
    paramCount.set(Found::function(func)?.kernel().parameters.len())
}

/// Everything is compiled by the time that there is a function.
pub(crate) fn cuFuncIsLoaded(state: Out<CUfunctionLoadingState>, hfunc: CUfunction) -> Answer {
    Found::function(hfunc)?;
    state.set(CU_FUNCTION_LOADING_STATE_LOADED)
}

pub(crate) fn cuFuncLoad(hfunc: CUfunction) -> Answer {
    Found::function(hfunc).map(drop)
}
