//! Definitions: created, cloned, destroyed; their nodes and edges.

use super::listed;
use crate::driver::calls::gone_at_exit;
use crate::driver::sys::{CUcontext, CUgraph, CUgraphEdgeData, CUgraphNode};
use crate::driver::{CallError, Table, call};
use std::collections::HashSet;
use std::ffi::CStr;
use std::ptr::null_mut;

/// A definition of the driver.
pub(crate) struct RawGraph {
    table: &'static Table,
    handle: CUgraph,
}

// SAFETY: a definition may be used from every thread, by one at a time; whoever holds this sees to that.
unsafe impl Send for RawGraph {}
// SAFETY: as above.
unsafe impl Sync for RawGraph {}

/// An edge, with its data where the driver has such.
#[derive(Clone, Copy)]
pub(crate) struct RawEdge {
    pub(crate) from: CUgraphNode,
    pub(crate) to: CUgraphNode,
    pub(crate) data: CUgraphEdgeData,
}

/// The data of a plain edge.
pub(crate) const PLAIN: CUgraphEdgeData =
    CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

fn is_plain(data: &CUgraphEdgeData) -> bool {
    data.from_port == 0 && data.to_port == 0 && data.type_ == 0
}

impl RawGraph {
    /// Creates an empty definition.
    pub(crate) fn create(table: &'static Table) -> Result<Self, CallError> {
        let mut handle = null_mut();
        // SAFETY: writes one handle.
        unsafe { call!(table, cuGraphCreate_10000(&raw mut handle, 0)) }?;
        Ok(Self { table, handle })
    }

    /// Takes in a definition of somebody else's, or one below another.
    ///
    /// # Safety
    /// The handle is one of this driver, alive for as long as this exists.
    pub(crate) unsafe fn adopt(table: &'static Table, handle: CUgraph) -> Self {
        Self { table, handle }
    }

    pub(crate) fn handle(&self) -> CUgraph {
        self.handle
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    /// Destroys the definition; what was instantiated from it goes on.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub(crate) unsafe fn destroy(&self) -> Result<(), CallError> {
        // SAFETY: as the caller vouches.
        gone_at_exit(unsafe { call!(self.table, cuGraphDestroy_10000(self.handle)) })
    }

    /// A copy of the definition.
    pub(crate) fn duplicate(&self) -> Result<Self, CallError> {
        let mut handle = null_mut();
        // SAFETY: writes one handle; the definition is alive.
        unsafe { call!(self.table, cuGraphClone_10000(&raw mut handle, self.handle)) }?;
        Ok(Self { table: self.table, handle })
    }

    /// The node of this copy that stands for a node of the definition that it was made of.
    pub(crate) fn find_copy(&self, original: CUgraphNode) -> Result<CUgraphNode, CallError> {
        let mut node = null_mut();
        // SAFETY: writes one handle; both are alive.
        unsafe { call!(self.table, cuGraphNodeFindInClone_10000(&raw mut node, original, self.handle)) }?;
        Ok(node)
    }

    /// The nodes, in the driver's order.
    pub(crate) fn nodes(&self) -> Result<Vec<CUgraphNode>, CallError> {
        listed(null_mut(), |nodes, count| {
            // SAFETY: writes as many handles as `count` says at most, or only the number.
            unsafe { call!(self.table, cuGraphGetNodes_10000(self.handle, nodes, count)) }
        })
    }

    /// The nodes that nothing comes after.
    pub(crate) fn leaves(&self) -> Result<Vec<CUgraphNode>, CallError> {
        let (mut nodes, edges) = (self.nodes()?, self.edges()?);
        let followed: HashSet<usize> = edges.into_iter().map(|edge| edge.from.addr()).collect();
        nodes.retain(|node| !followed.contains(&node.addr()));
        Ok(nodes)
    }

    /// The edges, in the driver's order.
    pub(crate) fn edges(&self) -> Result<Vec<RawEdge>, CallError> {
        let (mut from, mut to, mut data) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0;
        for is_second in [false, true] {
            let room = if is_second { count } else { 0 };
            if is_second && room == 0 {
                break;
            }
            from.resize(room, null_mut());
            to.resize(room, null_mut());
            data.resize(room, PLAIN);
            let places = |is_second, of: *mut CUgraphNode| if is_second { of } else { null_mut() };
            let (ends, starts) = (places(is_second, from.as_mut_ptr()), places(is_second, to.as_mut_ptr()));
            let datas = if is_second { data.as_mut_ptr() } else { null_mut() };
            // SAFETY: writes as many as `count` says at most, or only the number.
            unsafe {
                match self.table.cuGraphGetEdges_12030 {
                    Some(_) => call!(
                        self.table,
                        cuGraphGetEdges_12030(self.handle, ends, starts, datas, &raw mut count)
                    ),
                    None => {
                        call!(self.table, cuGraphGetEdges_10000(self.handle, ends, starts, &raw mut count))
                    }
                }
            }?;
        }
        let edge = |((from, to), data): ((&CUgraphNode, &CUgraphNode), &CUgraphEdgeData)| RawEdge {
            from: *from,
            to: *to,
            data: *data,
        };
        Ok(from.iter().zip(&to).zip(&data).take(count).map(edge).collect())
    }

    /// Adds edges, all or none.
    pub(crate) fn add_edges(&self, edges: &[RawEdge]) -> Result<(), CallError> {
        let Columns { from, to, data } = Columns::of(edges);
        // SAFETY: reads as many as there are; the driver checks the nodes against the definition.
        unsafe {
            match self.table.cuGraphAddDependencies_12030 {
                Some(_) if data.is_some() || self.table.cuGraphAddDependencies_10000.is_none() => call!(
                    self.table,
                    cuGraphAddDependencies_12030(
                        self.handle,
                        from.as_ptr(),
                        to.as_ptr(),
                        data.as_ref().map_or(std::ptr::null(), Vec::as_ptr),
                        edges.len()
                    )
                ),
                None if data.is_some() => Err(CallError::missing("cuGraphAddDependencies_12030")),
                _ => call!(
                    self.table,
                    cuGraphAddDependencies_10000(self.handle, from.as_ptr(), to.as_ptr(), edges.len())
                ),
            }
        }
    }

    /// Removes edges, all or none.
    pub(crate) fn remove_edges(&self, edges: &[RawEdge]) -> Result<(), CallError> {
        let Columns { from, to, data } = Columns::of(edges);
        // SAFETY: as above.
        unsafe {
            match self.table.cuGraphRemoveDependencies_12030 {
                Some(_) if data.is_some() || self.table.cuGraphRemoveDependencies_10000.is_none() => call!(
                    self.table,
                    cuGraphRemoveDependencies_12030(
                        self.handle,
                        from.as_ptr(),
                        to.as_ptr(),
                        data.as_ref().map_or(std::ptr::null(), Vec::as_ptr),
                        edges.len()
                    )
                ),
                None if data.is_some() => Err(CallError::missing("cuGraphRemoveDependencies_12030")),
                _ => call!(
                    self.table,
                    cuGraphRemoveDependencies_10000(self.handle, from.as_ptr(), to.as_ptr(), edges.len())
                ),
            }
        }
    }

    /// Creates a condition with this value, given again at each launch if the flags (`CU_GRAPH_COND_ASSIGN_DEFAULT`) say so; 12.3.
    pub(crate) fn create_condition(
        &self,
        context: CUcontext,
        value: u32,
        flags: u32,
    ) -> Result<u64, CallError> {
        let mut condition = 0;
        // SAFETY: writes one number; definition and context are alive.
        unsafe {
            call!(
                self.table,
                cuGraphConditionalHandleCreate_12030(&raw mut condition, self.handle, context, value, flags)
            )
        }?;
        Ok(condition)
    }

    /// Writes the definition as text for Graphviz; `flags` are `CU_GRAPH_DEBUG_DOT_FLAGS_*`.
    pub(crate) fn write_dot(&self, path: &CStr, flags: u32) -> Result<(), CallError> {
        // SAFETY: reads a string; the definition is alive.
        unsafe { call!(self.table, cuGraphDebugDotPrint_11030(self.handle, path.as_ptr(), flags)) }
    }

    /// The number by which the driver and its profilers tell definitions apart; 13.1.
    pub(crate) fn id(&self) -> Result<u32, CallError> {
        let mut id = 0;
        // SAFETY: writes one number.
        unsafe { call!(self.table, cuGraphGetId_13010(self.handle, &raw mut id)) }?;
        Ok(id)
    }
}

/// Edges as the driver takes them; without data if all are plain.
struct Columns {
    from: Vec<CUgraphNode>,
    to: Vec<CUgraphNode>,
    data: Option<Vec<CUgraphEdgeData>>,
}

impl Columns {
    fn of(edges: &[RawEdge]) -> Self {
        let has_data = edges.iter().any(|edge| !is_plain(&edge.data));
        Self {
            from: edges.iter().map(|edge| edge.from).collect(),
            to: edges.iter().map(|edge| edge.to).collect(),
            data: has_data.then(|| edges.iter().map(|edge| edge.data).collect()),
        }
    }
}
