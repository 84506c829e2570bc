//! How graphs are instantiated, updated and run, and what they leave in memory.

use super::scene::{ROOM, Scene};
use crate::driver::{Answer, Given, call, given};
use cushim::driver::sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUdeviceptr, CUgraph, CUgraphExec, CUgraphExecUpdateResult,
    CUgraphExecUpdateResultInfo, CUgraphInstantiateResult, CUgraphNode, CUstream,
};
use std::ptr::null_mut;

/// What no driver answers: an out-parameter still has it if the driver has not written it.
pub(super) const UNTOUCHED: i32 = 77;

impl Scene {
    pub(super) fn exec(&self, graph: CUgraph) -> Given<CUgraphExec> {
        self.exec_with(graph, 0)
    }

    pub(super) fn exec_with(&self, graph: CUgraph, flags: u64) -> Given<CUgraphExec> {
        let mut exec = null_mut();
        given!(self.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, flags))?;
        Ok(exec)
    }

    pub(super) fn instantiate(&self, graph: CUgraph) -> Answer {
        let mut exec = null_mut();
        call!(self.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0))
    }

    pub(super) fn launch(&self, exec: CUgraphExec) -> Answer {
        call!(self.cu, cuGraphLaunch_10000(exec, self.stream))
    }

    pub(super) fn synchronise(&self) -> Answer {
        call!(self.cu, cuStreamSynchronize_2000(self.stream))
    }

    /// Launches it, and waits: the first answer that is no success.
    pub(super) fn launched(&self, exec: CUgraphExec) -> Answer {
        self.launch(exec).named("launch").and(|| self.synchronise().named("synchronise"))
    }

    /// Instantiates it, launches it, and waits: the first answer that is no success.
    pub(super) fn ran(&self, graph: CUgraph) -> Answer {
        let mut exec = null_mut();
        call!(self.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0))
            .named("instantiate")
            .and(|| self.launched(exec))
    }

    /// What instantiation with parameters answers: its result, the result's number, and the node that is to blame.
    pub(super) fn verdict(&self, graph: CUgraph, flags: u64, graphs: &[(&str, CUgraph)]) -> Answer {
        let (mut exec, mut params) = (null_mut(), instantiation(flags, self.stream));
        let answer =
            call!(self.cu, cuGraphInstantiateWithParams_12000(&raw mut exec, graph, &raw mut params));
        let reason = format!("{}, {}", params.result_out.0, self.place(params.hErrNode_out, graphs));
        Answer::all([answer, reason.into()])
    }

    /// What an update answers: its result, the result's number, the node that is to blame, and the other one of the edge.
    pub(super) fn update(&self, exec: CUgraphExec, to: CUgraph, graphs: &[(&str, CUgraph)]) -> Answer {
        let mut info = CUgraphExecUpdateResultInfo {
            result: CUgraphExecUpdateResult(UNTOUCHED),
            errorNode: untouched(),
            errorFromNode: untouched(),
        };
        let answer = call!(self.cu, cuGraphExecUpdate_12000(exec, to, &raw mut info));
        let (node, from) = (self.place(info.errorNode, graphs), self.place(info.errorFromNode, graphs));
        Answer::all([answer, format!("{}, {node}, {from}", info.result.0).into()])
    }

    /// Fills both memories with zeros.
    pub(super) fn clear(&self) -> Given {
        for memory in [self.here, self.there] {
            given!(self.cu, cuMemsetD8Async_3020(memory, 0, ROOM, self.stream))?;
        }
        self.synchronise().given("cuStreamSynchronize")
    }

    /// Four bytes.
    pub(super) fn word(&self, address: CUdeviceptr) -> Answer {
        let mut word = 0u32;
        call!(self.cu, cuMemcpyDtoH_3020((&raw mut word).cast(), address, 4)).then(|| word)
    }

    /// Writes four bytes.
    pub(super) fn set_word(&self, address: CUdeviceptr, word: u32) -> Given {
        given!(self.cu, cuMemsetD32Async_3020(address, word, 1, self.stream))?;
        self.synchronise().given("cuStreamSynchronize")
    }

    /// The values in the list, in order.
    pub(super) fn noted(&self) -> Answer {
        let mut list = [0u32; 64];
        let read =
            call!(self.cu, cuMemcpyDtoH_3020(list.as_mut_ptr().cast(), self.list(), size_of_val(&list)));
        read.then(|| {
            let count = (list[0] as usize).min(list.len() - 1);
            let values: Vec<String> = list[1..=count].iter().map(ToString::to_string).collect();
            if values.is_empty() { "nothing".to_owned() } else { values.join(" ") }
        })
    }
}

/// The address of no node.
pub(super) const fn untouched() -> CUgraphNode {
    std::ptr::without_provenance_mut(UNTOUCHED as usize)
}

pub(super) const fn instantiation(flags: u64, upload: CUstream) -> CUDA_GRAPH_INSTANTIATE_PARAMS {
    CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags,
        hUploadStream: upload,
        hErrNode_out: untouched(),
        result_out: CUgraphInstantiateResult(UNTOUCHED),
    }
}
