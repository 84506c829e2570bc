//! The attributes that launches and nodes of graphs have in common: which there are, and which values they take.

use crate::abi::Answer;
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE,
    CUDA_ERROR_INVALID_VALUE, CUlaunchAttributeID, CUlaunchAttributeValue,
};
use crate::driver::device::attributes;
use crate::instruments::settings::version;

/// Whether a driver of this version knows the attribute: from which version on there are those, by NVIDIA's headers.
pub(crate) fn is_known(id: CUlaunchAttributeID) -> bool {
    let since = match id.0 {
        // Older than the enumeration that has them.
        0..=8 => 0,
        9 | 10 => 12000,
        12 => 12030,
        13 => 12040,
        14 => 12050,
        11 => 12080,
        16 => 13000,
        17 | 18 => 13020,
        _ => return false,
    };
    version() >= since
}

/// All zeros are none.
pub(crate) fn some_cluster(cluster: [u32; 3]) -> Option<[u32; 3]> {
    (cluster != [0; 3]).then_some(cluster)
}

/// Refuses attributes that there are not, and values that one cannot have which says how fast a kernel starts or runs.
pub(crate) fn check_hint(id: CUlaunchAttributeID, value: &CUlaunchAttributeValue) -> Answer {
    if !is_known(id) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: every bit pattern is a valid number, with which all the small members of the union begin.
    let number = unsafe { value.priority };
    match id {
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => within(number, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE.0),
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
            // SAFETY: as above.
            let map = unsafe { value.memSyncDomainMap };
            let domains = attributes::value(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
            within(i32::from(map.default_), domains - 1)?;
            within(i32::from(map.remote), domains - 1)
        }
        CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => within(number, 2),
        CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => within(number, 100),
        _ => Ok(()),
    }
}

fn within(number: i32, most: i32) -> Answer {
    if (0..=most).contains(&number) { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
