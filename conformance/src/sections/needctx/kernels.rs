//! Code with no current context: modules, functions, libraries, kernels, launches.

use crate::code::{KERNELS, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CUfunc_cache, CUfunction, CUfunction_attribute, CUkernel, CUmodule, CUsharedconfig, CUstream,
};
use std::ptr::{null, null_mut};

/// What was made while there was a context.
struct Scene {
    cu: Cu,
    module: CUmodule,
    function: CUfunction,
    kernel: CUkernel,
    stream: CUstream,
}

type Question = (&'static str, fn(&Scene) -> Answer);

/// Asks one group, in a process of its own.
pub(super) fn run(t: &mut Lines, cu: &Cu, group: usize) -> Outcome {
    cu.start()?;
    let module = cu.module(KERNELS)?;
    let scene = Scene {
        cu: *cu,
        module,
        function: cu.function(module, c"nothing")?,
        kernel: cu.kernel(cu.library(KERNELS)?, c"nothing")?,
        stream: cu.stream(NON_BLOCKING)?,
    };
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    GROUPS[group].iter().for_each(|(situation, ask)| t.line(situation, || ask(&scene)));
    Ok(())
}

const LAUNCHES: &[Question] = &[
    ("no current context: cuLaunchKernel", |s| s.cu.launch(s.function, Shape::ONE, s.stream, &mut [])),
    ("cuLaunchKernelEx", |s| {
        let config = Shape::ONE.config(s.stream, &mut []);
        call!(s.cu, cuLaunchKernelEx_11060(&raw const config, s.function, null_mut(), null_mut()))
    }),
    ("cuLaunchCooperativeKernel", |s| {
        call!(s.cu, cuLaunchCooperativeKernel_9000(s.function, 1, 1, 1, 1, 1, 1, 0, s.stream, null_mut()))
    }),
    ("cuLaunchKernel of a kernel", |s| {
        s.cu.as_function(s.kernel, |kernel| s.cu.launch(kernel, Shape::ONE, s.stream, &mut []))
    }),
    ("cuLaunchKernel of NULL", |s| s.cu.launch(null_mut(), Shape::ONE, s.stream, &mut [])),
    ("cuLaunchKernel of 5000 threads", |s| s.cu.launch(s.function, Shape::row(1, 5000), s.stream, &mut [])),
    ("cuLaunchKernel on the NULL stream", |s| s.cu.launch(s.function, Shape::ONE, null_mut(), &mut [])),
    ("cuStreamSynchronize", |s| call!(s.cu, cuStreamSynchronize_2000(s.stream))),
];

const FUNCTIONS: &[Question] = &[
    ("cuFuncGetAttribute", |s| {
        let mut value = 0;
        call!(s.cu, cuFuncGetAttribute_2020(&raw mut value, CUfunction_attribute(0), s.function))
    }),
    ("cuFuncSetAttribute", |s| {
        call!(s.cu, cuFuncSetAttribute_9000(s.function, CUfunction_attribute(8), 1024))
    }),
    ("cuFuncSetCacheConfig", |s| call!(s.cu, cuFuncSetCacheConfig_3000(s.function, CUfunc_cache(1)))),
    ("cuFuncSetSharedMemConfig", |s| {
        call!(s.cu, cuFuncSetSharedMemConfig_4020(s.function, CUsharedconfig(1)))
    }),
    ("cuFuncGetModule", |s| {
        let mut module = null_mut();
        call!(s.cu, cuFuncGetModule_11000(&raw mut module, s.function))
    }),
    ("cuFuncGetName", |s| {
        let mut name = null();
        call!(s.cu, cuFuncGetName_12030(&raw mut name, s.function))
    }),
    ("cuFuncGetParamInfo", |s| {
        let (mut offset, mut size) = (0, 0);
        call!(s.cu, cuFuncGetParamInfo_12040(s.function, 0, &raw mut offset, &raw mut size))
    }),
    ("cuFuncIsLoaded", |s| {
        let mut state = Default::default();
        call!(s.cu, cuFuncIsLoaded_12040(&raw mut state, s.function))
    }),
    ("cuFuncLoad", |s| call!(s.cu, cuFuncLoad_12040(s.function))),
    ("cuKernelSetCacheConfig", |s| call!(s.cu, cuKernelSetCacheConfig_12000(s.kernel, CUfunc_cache(1), 0))),
    ("cuKernelGetParamInfo", |s| {
        let (mut offset, mut size) = (0, 0);
        call!(s.cu, cuKernelGetParamInfo_12040(s.kernel, 0, &raw mut offset, &raw mut size))
    }),
    ("cuOccupancyMaxActiveBlocksPerMultiprocessor", |s| {
        let mut blocks = 0;
        call!(s.cu, cuOccupancyMaxActiveBlocksPerMultiprocessor_6050(&raw mut blocks, s.function, 64, 0))
    }),
    ("cuOccupancyMaxPotentialBlockSize", |s| {
        let (mut grid, mut block) = (0, 0);
        let (to, of) = (&raw mut grid, &raw mut block);
        call!(s.cu, cuOccupancyMaxPotentialBlockSize_6050(to, of, s.function, None, 0, 0))
    }),
    ("cuOccupancyAvailableDynamicSMemPerBlock", |s| {
        let mut bytes = 0;
        call!(s.cu, cuOccupancyAvailableDynamicSMemPerBlock_10020(&raw mut bytes, s.function, 1, 64))
    }),
    ("cuOccupancyMaxPotentialClusterSize", |s| {
        let (config, mut size) = (Shape::row(16, 64).config(s.stream, &mut []), 0);
        let config = &raw const config;
        call!(s.cu, cuOccupancyMaxPotentialClusterSize_11070(&raw mut size, s.function, config))
    }),
];

const MODULES: &[Question] = &[
    ("cuModuleLoadData", |s| {
        let mut module = null_mut();
        call!(s.cu, cuModuleLoadData_2000(&raw mut module, KERNELS.as_ptr().cast()))
    }),
    ("cuModuleLoad", |s| {
        let mut module = null_mut();
        call!(s.cu, cuModuleLoad_2000(&raw mut module, c"/nowhere/kernels.ptx".as_ptr()))
    }),
    ("cuModuleGetFunction", |s| {
        let mut function = null_mut();
        call!(s.cu, cuModuleGetFunction_2000(&raw mut function, s.module, c"nothing".as_ptr()))
    }),
    ("cuModuleGetGlobal", |s| {
        let mut address = 0;
        call!(s.cu, cuModuleGetGlobal_3020(&raw mut address, null_mut(), s.module, c"counter".as_ptr()))
    }),
    ("cuModuleGetFunctionCount", |s| {
        let mut count = 0;
        call!(s.cu, cuModuleGetFunctionCount_12040(&raw mut count, s.module))
    }),
    ("cuModuleEnumerateFunctions", |s| {
        let mut all = [null_mut(); 6];
        call!(s.cu, cuModuleEnumerateFunctions_12040(all.as_mut_ptr(), 6, s.module))
    }),
    ("cuModuleGetLoadingMode", |s| {
        let mut mode = Default::default();
        call!(s.cu, cuModuleGetLoadingMode_11070(&raw mut mode))
    }),
    ("cuModuleUnload", |s| call!(s.cu, cuModuleUnload_2000(s.module))),
];

const GROUPS: [&[Question]; 3] = [LAUNCHES, FUNCTIONS, MODULES];

/// Each runs in a process of its own.
pub(super) const PARTS: usize = GROUPS.len();
