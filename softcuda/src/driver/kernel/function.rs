//! Functions: kernels in one context.

use super::attributes::check_cache;
use super::found::Found;
use super::module;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, CU_FUNCTION_LOADING_STATE_LOADED,
    CUDA_ERROR_INVALID_VALUE, CUfunc_cache, CUfunction, CUfunction_attribute, CUfunctionLoadingState,
    CUmodule, CUsharedconfig,
};
use std::ffi::c_char;

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
    Found::function(func)?.kernel().tell_parameter(paramIndex, paramOffset, paramSize)
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
