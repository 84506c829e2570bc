//! What a device may be able to do, by name.
//!
//! A feature is there if the driver has a function for it, which implies its version, and the device says yes.

use crate::driver::{Driver, sys};
use std::ffi::CStr;

/// Something that not every device or driver can do.
#[derive(Debug)]
pub struct Feature {
    /// The name to ask by: `memory-pools`.
    pub name: &'static str,
    /// The same for C.
    pub(crate) c_name: &'static CStr,
    /// What it is.
    pub text: &'static str,
    /// The functions that do it, by base name and ABI; one of them is enough. Empty if no function is its own.
    functions: &'static [(&'static str, u32)],
    /// The attribute by which a device says that it can.
    attribute: Option<sys::CUdevice_attribute>,
}

impl Feature {
    /// Every feature, in the order of the documentation; new ones are added at the end.
    #[must_use]
    pub fn all() -> &'static [Self] {
        FEATURES
    }

    /// The feature of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FEATURES.iter().find(|feature| feature.name == name)
    }

    /// Whether the driver has what the feature needs of it.
    #[must_use]
    pub fn is_in(&self, driver: &Driver) -> bool {
        let has = |&(base, abi): &(&str, u32)| {
            driver.symbol(base, abi).is_some_and(|symbol| !symbol.address.is_null())
        };
        self.functions.is_empty() || self.functions.iter().any(has)
    }

    pub(crate) fn attribute(&self) -> Option<sys::CUdevice_attribute> {
        self.attribute
    }
}

const fn c_text(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a name has no NUL"),
    }
}

macro_rules! features {
    ($($name:literal, $text:literal, [$($base:ident $abi:literal),*], $attribute:expr;)*) => {
        static FEATURES: &[Feature] = &[$(Feature {
            name: $name,
            c_name: c_text(concat!($name, "\0")),
            text: $text,
            functions: &[$((stringify!($base), $abi)),*],
            attribute: $attribute,
        }),*];
    };
}

// The doc comment of `cushim_device_supports` lists the same names; a test compares them.
features! {
    "unified-addressing", "host and device share one address space",
        [], Some(sys::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    "managed-memory", "memory that host and device share",
        [cuMemAllocManaged 6000], Some(sys::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    "concurrent-managed-access", "host and device may use managed memory at the same time",
        [], Some(sys::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    "pageable-memory-access", "the device reads and writes memory of malloc",
        [], Some(sys::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    "memory-pools", "stream-ordered allocation",
        [cuMemAllocAsync 11020], Some(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    "virtual-memory", "address ranges and the memory behind them are managed apart",
        [cuMemCreate 10020], Some(sys::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
    "multicast", "one write reaches several devices",
        [cuMulticastCreate 12010], Some(sys::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
    "dma-buf", "device memory is handed to other kernel drivers as a file descriptor",
        [cuMemGetHandleForAddressRange 11070], Some(sys::CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
    "memory-locations", "advice and prefetch name NUMA nodes of the host",
        [cuMemAdvise 12020], None;
    "batch-copy", "many copies in one call",
        [cuMemcpyBatchAsync 12080, cuMemcpyBatchAsync 13000], None;
    "batch-prefetch", "many prefetches in one call",
        [cuMemPrefetchBatchAsync 13000], None;
    "memory-discard", "managed memory is given up without a copy",
        [cuMemDiscardBatchAsync 13000], None;
    "cooperative-launch", "all blocks of a kernel run at once and synchronise",
        [cuLaunchCooperativeKernel 9000], Some(sys::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    "thread-block-clusters", "blocks are launched in clusters",
        [cuOccupancyMaxActiveClusters 11070], Some(sys::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    "tensor-maps", "tensors are copied by descriptor",
        [cuTensorMapEncodeTiled 12000], Some(sys::CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
    "libraries", "kernels are loaded without a context",
        [cuLibraryLoadData 12000], None;
    "graph-memory-nodes", "graphs allocate and free memory",
        [cuGraphAddMemAllocNode 11040], Some(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    "graph-conditional-nodes", "graphs branch and loop",
        [cuGraphConditionalHandleCreate 12030], None;
    "graph-edge-data", "edges of graphs carry data",
        [cuGraphAddDependencies 12030], None;
    "green-contexts", "a context has a share of the device",
        [cuGreenCtxCreate 12040], None;
    "context-ids", "contexts have a number that is never used again",
        [cuCtxGetId 12000], None;
    "stream-ids", "streams have a number that is never used again",
        [cuStreamGetId 12000], None;
    "driver-logs", "the driver says in words why a call failed",
        [cuLogsRegisterCallback 12090], None;
    "host-memory-pools", "stream-ordered allocation of page-locked host memory",
        [cuMemGetMemPool 13000], Some(sys::CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED);
    "managed-memory-pools", "stream-ordered allocation of managed memory",
        [cuMemGetMemPool 13000], Some(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::catalogue::Row;

    #[test]
    fn functions_are_in_the_catalogue() {
        for feature in Feature::all() {
            for (base, abi) in feature.functions {
                assert!(Row::find(base, *abi).is_some(), "{}: {base} {abi}", feature.name);
            }
            assert!(!feature.functions.is_empty() || feature.attribute.is_some(), "{}", feature.name);
        }
    }

    #[test]
    fn names_are_unique() {
        for feature in Feature::all() {
            let found = Feature::named(feature.name).expect("it is in the list");
            assert!(std::ptr::eq(found, feature), "{} is used twice", feature.name);
        }
        assert!(Feature::named("nothing").is_none());
    }

    #[test]
    fn the_c_documentation_lists_them_all() {
        let c = include_str!("capi/device.rs");
        let listed: Vec<&str> = c
            .lines()
            .filter_map(|line| line.trim().strip_prefix("/// - \"")?.split_once('"'))
            .map(|(name, _)| name)
            .collect();
        let names: Vec<&str> = Feature::all().iter().map(|feature| feature.name).collect();
        assert_eq!(listed, names);
    }
}
