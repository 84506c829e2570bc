//! Kernels that are set in an exec and in a definition.

use super::Question;
use super::launch::Launch;
use super::scene::Scene;
use super::setters::storing;
use super::work::blank;
use crate::driver::{Answer, call, given};
use cushim::driver::sys::{CU_GRAPH_NODE_TYPE_KERNEL, CUgraphExec, CUgraphNode};
use std::ptr::null_mut;

fn set_kernel(s: &Scene, exec: CUgraphExec, node: CUgraphNode, launch: Launch) -> Answer {
    launch.with_params(|params| call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, params)))
}

pub(super) const KERNELS: &[Question] = &[
    ("kernel: argument in an exec: run, word", |s| {
        let (_, node, exec) = storing(s)?;
        let answer = set_kernel(s, exec, node, Launch::new(s.storing, [s.here, 5]));
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("kernel: argument in the definition: run of the exec, word", |s| {
        let (_, node, exec) = storing(s)?;
        let launch = Launch::new(s.storing, [s.here, 5]);
        let answer = launch.with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)));
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("kernel: function of another module in an exec: run", |s| {
        let (_, node, exec) = storing(s)?;
        let answer = set_kernel(s, exec, node, Launch::new(s.noting, [s.here, 5]));
        Ok(Answer::all([answer, s.launched(exec)]))
    }),
    ("kernel: of a library in an exec: run", |s| {
        let (_, node, exec) = storing(s)?;
        let kernel = s.cu.kernel(s.cu.library(crate::code::KERNELS)?, c"store")?;
        let launch = Launch { kernel, ..Launch::new(null_mut(), [s.here, 5]) };
        Ok(Answer::all([set_kernel(s, exec, node, launch), s.launched(exec), s.word(s.here)]))
    }),
    ("kernel: another context's in an exec: run", |s| {
        let ((_, node, exec), there) = (storing(s)?, s.elsewhere()?);
        let launch = Launch { context: there.context, ..Launch::new(there.nothing, [0; 2]) };
        Ok(Answer::all([set_kernel(s, exec, node, launch), s.launched(exec)]))
    }),
    ("kernel: no arguments in an exec: run, word", |s| {
        let (_, node, exec) = storing(s)?;
        let params = Launch::new(s.storing, [0; 2]).params(null_mut(), null_mut());
        let answer = call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, &raw const params));
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("kernel: function NULL in an exec: run, word", |s| {
        let (_, node, exec) = storing(s)?;
        let answer = set_kernel(s, exec, node, Launch::new(null_mut(), [s.here, 5]));
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("kernel: the ABI of 10.1 in an exec: run, word", |s| {
        let (_, node, exec) = storing(s)?;
        let answer = Launch::new(s.storing, [s.here, 5]).with_params(|params| {
            let params = super::launch::older(params);
            call!(s.cu, cuGraphExecKernelNodeSetParams_10010(exec, node, &raw const params))
        });
        Ok(Answer::all([answer, s.launched(exec), s.word(s.here)]))
    }),
    ("kernel: in flight, at once: run, word", |s| {
        let (_, node, exec) = storing(s)?;
        let first = s.launch(exec);
        let answer = set_kernel(s, exec, node, Launch::new(s.storing, [s.here + 4, 5]));
        Ok(Answer::all([first, answer, s.launched(exec), s.word(s.here), s.word(s.here + 4)]))
    }),
    ("kernel: in an exec with no current context", |s| {
        let (_, node, exec) = storing(s)?;
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answer = set_kernel(s, exec, node, Launch::new(s.storing, [s.here, 5]));
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answer)
    }),
    ("kernel: in the definition with no current context", |s| {
        let (_, node, _) = storing(s)?;
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answer = Launch::new(s.storing, [s.here, 5])
            .with_params(|params| call!(s.cu, cuGraphKernelNodeSetParams_12000(node, params)));
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(answer)
    }),
    ("kernel: generic, zeros, in the definition; in an exec", |s| {
        let (_, node, exec) = storing(s)?;
        let mut params = blank(CU_GRAPH_NODE_TYPE_KERNEL);
        let params = &raw mut params;
        Ok(Answer::all([
            call!(s.cu, cuGraphNodeSetParams_12020(node, params)),
            call!(s.cu, cuGraphExecNodeSetParams_12020(exec, node, params)),
        ]))
    }),
    ("kernel: parameters NULL in the definition", |s| {
        Ok(call!(s.cu, cuGraphKernelNodeSetParams_12000(storing(s)?.1, std::ptr::null())))
    }),
    ("kernel: parameters NULL in an exec", |s| {
        let (_, node, exec) = storing(s)?;
        Ok(call!(s.cu, cuGraphExecKernelNodeSetParams_12000(exec, node, std::ptr::null())))
    }),
    ("generic: parameters NULL in the definition", |s| {
        Ok(call!(s.cu, cuGraphNodeSetParams_12020(storing(s)?.1, null_mut())))
    }),
    ("generic: parameters NULL in an exec", |s| {
        let (_, node, exec) = storing(s)?;
        Ok(call!(s.cu, cuGraphExecNodeSetParams_12020(exec, node, null_mut())))
    }),
];
