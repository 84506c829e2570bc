//! User objects: what the driver keeps alive with a graph, and releases.

use super::definition::RawGraph;
use crate::driver::sys::{
    CU_GRAPH_USER_OBJECT_MOVE, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CUhostFn, CUuserObject,
};
use crate::driver::{CallError, Table, call};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A user object. Copies name the same one.
#[derive(Clone, Copy)]
pub(crate) struct RawUserObject(CUuserObject);

// SAFETY: user objects may be used from every thread.
unsafe impl Send for RawUserObject {}
// SAFETY: as above.
unsafe impl Sync for RawUserObject {}

impl RawUserObject {
    /// Creates an object with one reference, which is the caller's. When the last is released, `destroy` is called with `data`,
    /// once, on any thread, where hardly any call of the driver is allowed. If this fails, it is not called.
    ///
    /// # Safety
    /// `destroy` may be called with `data`.
    pub(crate) unsafe fn create(
        table: &Table,
        data: *mut c_void,
        destroy: CUhostFn,
    ) -> Result<Self, CallError> {
        let (mut object, flags) = (null_mut(), CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 as u32);
        // SAFETY: writes one handle; the caller vouches for the function.
        unsafe { call!(table, cuUserObjectCreate_11030(&raw mut object, data, destroy, 1, flags)) }?;
        Ok(Self(object))
    }

    /// Gives the caller's reference to a graph of the same driver; if that fails, it is released.
    pub(crate) fn retain_on(&self, graph: &RawGraph) -> Result<(), CallError> {
        let (table, graph, flags) = (graph.table(), graph.handle(), CU_GRAPH_USER_OBJECT_MOVE.0 as u32);
        // SAFETY: graph and object are alive.
        let retained = unsafe { call!(table, cuGraphRetainUserObject_11030(graph, self.0, 1, flags)) };
        if retained.is_err() {
            // SAFETY: the reference is still the caller's. There is nothing more to do if this fails, too.
            let _ = unsafe { call!(table, cuUserObjectRelease_11030(self.0, 1)) };
        }
        retained
    }

    /// Has a graph let go of a reference.
    ///
    /// # Safety
    /// The graph is alive and has the reference: the driver does not check.
    pub(crate) unsafe fn release_from(&self, graph: &RawGraph) -> Result<(), CallError> {
        // SAFETY: as the caller vouches.
        unsafe { call!(graph.table(), cuGraphReleaseUserObject_11030(graph.handle(), self.0, 1)) }
    }
}
