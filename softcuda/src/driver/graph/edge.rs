//! What an edge says beside which node follows which.

use crate::abi::pointer::In;
use crate::abi::sys::{
    CU_GRAPH_DEPENDENCY_TYPE_DEFAULT, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
    CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CUDA_ERROR_INVALID_VALUE,
    CUgraphDependencyType, CUgraphEdgeData, CUresult,
};

/// When the earlier kernel says so, and when all its blocks have begun.
const PROGRAMMATIC: u8 = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC as u8;
const LAUNCH_ORDER: u8 = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER as u8;

/// When the following node may begin. All zeros: when the earlier one is done.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EdgeData {
    from_port: u8,
    to_port: u8,
    kind: u8,
}

impl EdgeData {
    /// The later kernel may begin when the earlier one says so.
    pub(crate) const PROGRAMMATIC: Self =
        Self { from_port: 1, to_port: 0, kind: CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.0 as u8 };

    /// What a caller says. The older calls have no place for it.
    pub(crate) fn read(data: CUgraphEdgeData) -> Result<Self, CUresult> {
        if data.reserved != [0; 5] {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Self { from_port: data.from_port, to_port: data.to_port, kind: data.type_ })
    }

    /// Entry `index` of an array; NULL is one of zeros.
    pub(crate) fn item(array: In<CUgraphEdgeData>, index: usize) -> Result<Self, CUresult> {
        if array.address() == 0 { Ok(Self::default()) } else { Self::read(array.item(index)?) }
    }

    pub(crate) fn tell(self) -> CUgraphEdgeData {
        let Self { from_port, to_port, kind } = self;
        CUgraphEdgeData { from_port, to_port, type_: kind, reserved: [0; 5] }
    }

    pub(crate) fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// Whether an edge from a kernel node to another, or between other nodes, can be so: only kernels can begin before what
    /// they follow is done (measured).
    pub(crate) fn fits(self, from_kernel: bool, to_kernel: bool) -> bool {
        let early = match (self.from_port, CUgraphDependencyType(self.kind.into())) {
            (PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) => true,
            (LAUNCH_ORDER, kind) => {
                kind == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT || kind == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
            }
            _ => false,
        };
        self.is_plain() || early && from_kernel && to_kernel && self.to_port == 0
    }
}
