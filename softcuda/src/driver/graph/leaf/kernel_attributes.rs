//! What is said of a kernel node beside its launch.

use crate::abi::sys::{
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
    CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUgraphDeviceNode, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_deviceUpdatableKernelNode, CUlaunchMemSyncDomainMap, CUresult,
};
use crate::driver::context::config::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::driver::handle::reserve;
use crate::driver::kernel::launch_attribute::{check_hint, is_known, some_cluster};
use std::collections::BTreeMap;
use std::ffi::c_char;

/// The attributes of a kernel node that were set, by their numbers; a value is kept as its bytes.
#[derive(Clone, Default)]
pub(crate) struct Attributes(BTreeMap<i32, [c_char; 64]>);

/// Those that nodes have, with the bytes that a driver writes (measured); others are launches' and streams'.
const OF_NODES: [(CUlaunchAttributeID, usize); 11] = [
    (CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, 32),
    (CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 4),
    (CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 12),
    (CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 4),
    (CU_LAUNCH_ATTRIBUTE_PRIORITY, 4),
    (CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 2),
    (CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 4),
    (CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 16),
    (CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 4),
    (CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, 4),
    (CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE, 4),
];

/// The domain of remote operations is the second one, as long as nobody says otherwise.
const DOMAINS: CUlaunchMemSyncDomainMap = CUlaunchMemSyncDomainMap { default_: 0, remote: 1 };

/// How many bytes an attribute's value has.
fn size(id: CUlaunchAttributeID) -> Result<usize, CUresult> {
    let found = OF_NODES.iter().find(|(known, _)| *known == id && is_known(id));
    found.map(|(_, size)| *size).ok_or(CUDA_ERROR_INVALID_VALUE)
}

impl Attributes {
    /// The bytes of an attribute's value; zeros for most that nobody has set.
    pub(crate) fn get(&self, id: CUlaunchAttributeID) -> Result<Vec<c_char>, CUresult> {
        let size = size(id)?;
        // SAFETY: as in `with`.
        Ok(unsafe { self.value(id).pad }[..size].to_vec())
    }

    fn value(&self, id: CUlaunchAttributeID) -> CUlaunchAttributeValue {
        let set = self.0.get(&id.0).copied();
        let mut value = CUlaunchAttributeValue { pad: set.unwrap_or([0; 64]) };
        if set.is_none() && id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP {
            value.memSyncDomainMap = DOMAINS;
        }
        value
    }

    /// The same with another value of one.
    pub(crate) fn with(
        &self,
        id: CUlaunchAttributeID,
        mut value: CUlaunchAttributeValue,
    ) -> Result<Self, CUresult> {
        match id {
            // It can be set, and that is all (measured).
            CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING if is_known(id) => return Ok(self.clone()),
            // Of a node any number will do (measured).
            CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {}
            _ => check_hint(id, &value)?,
        }
        size(id)?;
        match id {
            CU_LAUNCH_ATTRIBUTE_PRIORITY => {
                // SAFETY: every bit pattern is a number.
                let priority = unsafe { value.priority };
                value.priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
            }
            CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => value = self.updatable(value)?,
            _ => {}
        }
        let mut changed = self.clone();
        // SAFETY: every member is of plain numbers and addresses, and so is their place as a whole.
        changed.0.insert(id.0, unsafe { value.pad });
        Ok(changed)
    }

    /// The handle by which kernels update the node, if they can.
    pub(crate) fn device_node(&self) -> Option<CUgraphDeviceNode> {
        // SAFETY: every bit pattern is a number and an address.
        let handle = unsafe {
            self.value(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE).deviceUpdatableKernelNode.devNode
        };
        (!handle.is_null()).then_some(handle)
    }

    /// The same for another node: one that kernels can update has a handle of its own.
    pub(crate) fn of_copy(&self) -> Self {
        let mut copy = self.clone();
        if self.device_node().is_some() {
            let id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE.0;
            // SAFETY: as in `with`.
            copy.0.insert(id, unsafe { updatable_by_kernels(1).pad });
        }
        copy
    }

    /// A node that kernels can update stays so, with its handle (measured).
    fn updatable(&self, asked: CUlaunchAttributeValue) -> Result<CUlaunchAttributeValue, CUresult> {
        // SAFETY: every bit pattern is a number.
        let asked = unsafe { asked.deviceUpdatableKernelNode };
        if !asked.devNode.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE); // measured
        }
        match (asked.deviceUpdatable, self.device_node()) {
            (0, Some(_)) => Err(CUDA_ERROR_NOT_SUPPORTED),
            (1, Some(_)) => Ok(self.value(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)),
            (0 | 1, None) => Ok(updatable_by_kernels(asked.deviceUpdatable)),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// What a launch in a stream was given, as far as nodes have it. It was checked there; what comes later counts.
    pub(crate) fn captured(given: &[CUlaunchAttribute]) -> Self {
        let add = |known: Self, one: &CUlaunchAttribute| known.with(one.id, one.value).unwrap_or(known);
        given.iter().fold(Self::default(), add)
    }

    pub(crate) fn priority(&self) -> i32 {
        // SAFETY: as in `with`.
        unsafe { self.value(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority }
    }

    pub(crate) fn is_cooperative(&self) -> bool {
        // SAFETY: as in `with`.
        unsafe { self.value(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative != 0 }
    }

    pub(crate) fn cluster(&self) -> Option<[u32; 3]> {
        // SAFETY: as in `with`.
        let size = unsafe { self.value(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim };
        some_cluster([size.x, size.y, size.z])
    }

    pub(crate) fn preferred_cluster(&self) -> Option<[u32; 3]> {
        // SAFETY: as in `with`.
        let size = unsafe { self.value(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION).preferredClusterDim };
        some_cluster([size.x, size.y, size.z])
    }
}

/// The value that says whether kernels can update a node, with a new handle if they can.
fn updatable_by_kernels(deviceUpdatable: i32) -> CUlaunchAttributeValue {
    let handle = if deviceUpdatable == 0 { 0 } else { reserve(1).next().unwrap_or_default() };
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.deviceUpdatableKernelNode = CUlaunchAttributeValue_deviceUpdatableKernelNode {
        deviceUpdatable,
        devNode: handle as CUgraphDeviceNode,
    };
    value
}
