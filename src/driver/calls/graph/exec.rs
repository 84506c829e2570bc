//! What is instantiated from a definition: launched, updated, destroyed.

use super::definition::RawGraph;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::calls::gone_at_exit;
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{
    CU_GRAPH_EXEC_UPDATE_ERROR, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
    CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, CU_GRAPH_EXEC_UPDATE_SUCCESS, CUDA_GRAPH_INSTANTIATE_ERROR,
    CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_GRAPH_INSTANTIATE_SUCCESS,
    CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo_v1, CUgraphInstantiateResult,
    CUgraphNode, CUstream,
};
use crate::driver::{CallError, Table, call};
use std::ptr::null_mut;

/// An instance of the driver's.
pub(crate) struct RawExec {
    table: &'static Table,
    handle: CUgraphExec,
}

// SAFETY: an instance may be used from every thread, by one at a time; whoever holds this sees to that.
unsafe impl Send for RawExec {}
// SAFETY: as above.
unsafe impl Sync for RawExec {}

/// Why a definition was not instantiated.
pub(crate) struct Refused {
    pub(crate) error: CallError,
    /// The driver's reason; "error" where it gives none (before 12.0).
    pub(crate) reason: CUgraphInstantiateResult,
    /// The node to blame, or NULL.
    pub(crate) node: CUgraphNode,
}

/// Why an instance was not updated.
pub(crate) struct NotUpdated {
    pub(crate) error: CallError,
    pub(crate) reason: CUgraphExecUpdateResult,
    /// The node of the new definition that is to blame, or NULL.
    pub(crate) node: CUgraphNode,
    /// The node that it would have had to wait for, or not; NULL before 12.0, or if that is not the reason.
    pub(crate) from: CUgraphNode,
}

impl RawExec {
    /// Instantiates a definition; `flags` are `CUDA_GRAPH_INSTANTIATE_FLAG_*`. With a stream it is uploaded there.
    pub(crate) fn instantiate(
        graph: &RawGraph,
        flags: u64,
        upload: Option<&RawStream>,
    ) -> Result<Self, Refused> {
        let (table, mut handle) = (graph.table(), null_mut());
        let upload_flag = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0 as u64;
        let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS {
            flags: if upload.is_some() { flags | upload_flag } else { flags },
            hUploadStream: upload.map_or(null_mut(), RawStream::handle),
            hErrNode_out: null_mut(),
            result_out: CUDA_GRAPH_INSTANTIATE_SUCCESS,
        };
        // SAFETY: writes one handle and the parameters; definition and stream are alive.
        let result = unsafe {
            if table.cuGraphInstantiateWithParams_12000.is_some() {
                relaxed!(
                    table,
                    cuGraphInstantiateWithParams_12000(&raw mut handle, graph.handle(), &raw mut params)
                )
            } else {
                relaxed!(table, cuGraphInstantiateWithFlags_11040(&raw mut handle, graph.handle(), flags))
            }
        };
        let exec = Self { table, handle };
        result.map_err(|error| Refused {
            error,
            reason: match params.result_out {
                CUDA_GRAPH_INSTANTIATE_SUCCESS => CUDA_GRAPH_INSTANTIATE_ERROR,
                reason => reason,
            },
            node: params.hErrNode_out,
        })?;
        if let Some(stream) = upload.filter(|_| table.cuGraphInstantiateWithParams_12000.is_none())
            && let Err(error) = exec.upload(stream.handle())
        {
            let reason = CUDA_GRAPH_INSTANTIATE_ERROR;
            // What could not be uploaded is not handed out.
            let _ = exec.destroy();
            return Err(Refused { error, reason, node: null_mut() });
        }
        Ok(exec)
    }

    pub(crate) fn handle(&self) -> CUgraphExec {
        self.handle
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// Destroys the instance; a launch in flight goes on.
    pub(crate) fn destroy(self) -> Result<(), CallError> {
        // SAFETY: nobody else holds it.
        gone_at_exit(unsafe { relaxed!(self.table, cuGraphExecDestroy_10000(self.handle)) })
    }

    /// Launches it after the work that is in the stream by now.
    ///
    /// # Safety
    /// What its nodes read, write and run is good until it is done; the stream is alive.
    #[inline]
    pub(crate) unsafe fn launch(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: as the caller vouches.
        unsafe { call!(self.table, cuGraphLaunch_10000(self.handle, stream)) }
    }

    /// Brings it to the device, so that the first launch need not.
    pub(crate) fn upload(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the instance is alive, and so is the stream, which its object holds.
        unsafe { call!(self.table, cuGraphUpload_11010(self.handle, stream)) }
    }

    /// Takes over the parameters of another definition of the same topology.
    ///
    /// # Safety
    /// What that definition's nodes use is good until this is updated again or destroyed.
    pub(crate) unsafe fn update(&self, graph: &RawGraph) -> Result<(), NotUpdated> {
        let mut info = CUgraphExecUpdateResultInfo_v1 {
            result: CU_GRAPH_EXEC_UPDATE_SUCCESS,
            errorNode: null_mut(),
            errorFromNode: null_mut(),
        };
        // SAFETY: writes what they point to; instance and definition are alive.
        let result = unsafe {
            match self.table.cuGraphExecUpdate_12000 {
                Some(_) => {
                    call!(self.table, cuGraphExecUpdate_12000(self.handle, graph.handle(), &raw mut info))
                }
                None => call!(
                    self.table,
                    cuGraphExecUpdate_10020(
                        self.handle,
                        graph.handle(),
                        &raw mut info.errorNode,
                        &raw mut info.result
                    )
                ),
            }
        };
        let is_older = self.table.cuGraphExecUpdate_12000.is_none();
        result.map_err(|error| NotUpdated {
            error,
            reason: match info.result {
                CU_GRAPH_EXEC_UPDATE_SUCCESS => CU_GRAPH_EXEC_UPDATE_ERROR,
                // The older function names the node that it does not support; where it names none, the graphs have not the same
                // nodes (measured on 580).
                CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED if info.errorNode.is_null() && is_older => {
                    CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
                }
                reason => reason,
            },
            node: info.errorNode,
            from: info.errorFromNode,
        })
    }

    /// Has the child graph of a node take over the parameters of another graph.
    ///
    /// # Safety
    /// The node is a child graph node of the definition that this was made of, alive; what the graph's nodes use is good until this
    /// is updated again or destroyed.
    pub(crate) unsafe fn set_child(&self, node: CUgraphNode, graph: &RawGraph) -> Result<(), CallError> {
        // SAFETY: the caller vouches for the node; instance and graph are alive.
        unsafe {
            call!(self.table, cuGraphExecChildGraphNodeSetParams_11010(self.handle, node, graph.handle()))
        }
    }

    /// Whether a node takes part in launches.
    ///
    /// # Safety
    /// The node is one of the definition that this was made of, alive.
    pub(crate) unsafe fn is_enabled(&self, node: CUgraphNode) -> Result<bool, CallError> {
        let mut enabled = 0;
        // SAFETY: writes one number; the caller vouches for the node.
        unsafe { call!(self.table, cuGraphNodeGetEnabled_11060(self.handle, node, &raw mut enabled)) }?;
        Ok(enabled != 0)
    }

    /// Has a node take part in launches, or be passed over.
    ///
    /// # Safety
    /// As for [`is_enabled`](Self::is_enabled).
    pub(crate) unsafe fn set_enabled(&self, node: CUgraphNode, enabled: bool) -> Result<(), CallError> {
        // SAFETY: the caller vouches for the node.
        unsafe { call!(self.table, cuGraphNodeSetEnabled_11060(self.handle, node, u32::from(enabled))) }
    }

    /// The flags it was instantiated with; 12.0.
    pub(crate) fn flags(&self) -> Result<u64, CallError> {
        let mut flags = 0;
        // SAFETY: writes one number.
        unsafe { call!(self.table, cuGraphExecGetFlags_12000(self.handle, &raw mut flags)) }?;
        Ok(flags)
    }

    /// The number by which the driver and its profilers tell instances apart; 13.1.
    pub(crate) fn id(&self) -> Result<u32, CallError> {
        let mut id = 0;
        // SAFETY: writes one number.
        unsafe { call!(self.table, cuGraphExecGetId_13010(self.handle, &raw mut id)) }?;
        Ok(id)
    }
}
