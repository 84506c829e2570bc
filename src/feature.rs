//! What a device may be able to do, by name.
//!
//! A feature is there if the driver has a function for it, which implies its version, and the device says yes.

use crate::driver::{Driver, sys};
use crate::object::error::{Error, Status};
use std::ffi::CStr;
use std::fmt;
use std::str::FromStr;

struct Row {
    name: &'static str,
    /// The same for C.
    c_name: &'static CStr,
    text: &'static str,
    /// The functions that do it, by base name and ABI; one of them is enough. Empty if no function is its own.
    functions: &'static [(&'static str, u32)],
    /// The attribute by which a device says that it can.
    attribute: Option<sys::CUdevice_attribute>,
}

impl Feature {
    /// The name by which C programs ask: `memory-pools`. It parses as the feature again.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.row().text
    }

    /// The feature of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.name() == name)
    }

    /// Whether the driver has what the feature needs of it. Whether a device offers it, [`Device::supports`](crate::Device::supports) says.
    #[must_use]
    pub fn is_in(self, driver: &Driver) -> bool {
        let has = |&(base, abi): &(&str, u32)| {
            driver.symbol(base, abi).is_some_and(|symbol| !symbol.address.is_null())
        };
        let functions = self.row().functions;
        functions.is_empty() || functions.iter().any(has)
    }

    pub(crate) fn attribute(self) -> Option<sys::CUdevice_attribute> {
        self.row().attribute
    }

    #[cfg(feature = "capi")]
    pub(crate) fn c_name(self) -> &'static CStr {
        self.row().c_name
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Feature {
    type Err = Error;

    /// The feature of this name; [`Status::INVALID_ARGUMENT`], with all names, if there is none.
    fn from_str(name: &str) -> Result<Self, Error> {
        Self::named(name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|feature| feature.name()).collect();
            let refusal = format!("there is no feature {name:?}; there are {}", names.join(", "));
            Error::new(Status::INVALID_ARGUMENT, refusal)
        })
    }
}

const fn c_text(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a name has no NUL"),
    }
}

macro_rules! features {
    ($($feature:ident, $name:literal, $text:literal, [$($base:ident $abi:literal),*], $attribute:expr;)*) => {
        /// Something that not every device or driver can do. New ones are added at the end.
        ///
        /// ```
        /// # use cushim::driver::{Choice, OpenOptions};
        /// use cushim::{Device, Feature};
        ///
        /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
        /// assert!(Device::get(&driver, 0)?.supports(Feature::MemoryPools)?);
        /// assert_eq!("memory-pools".parse(), Ok(Feature::MemoryPools));
        /// # Ok::<(), cushim::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Feature {
            $(#[doc = concat!("`", $name, "`: ", $text, ".")] $feature),*
        }

        impl Feature {
            /// Every feature, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$feature),*];
        }

        /// What is known of each, in the order of the enum.
        static ROWS: &[Row] = &[$(Row {
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
    UnifiedAddressing, "unified-addressing", "host and device share one address space",
        [], Some(sys::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    ManagedMemory, "managed-memory", "memory that host and device share",
        [cuMemAllocManaged 6000], Some(sys::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    ConcurrentManagedAccess, "concurrent-managed-access", "host and device may use managed memory at the same time",
        [], Some(sys::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    PageableMemoryAccess, "pageable-memory-access", "the device reads and writes memory of malloc",
        [], Some(sys::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    MemoryPools, "memory-pools", "stream-ordered allocation",
        [cuMemAllocAsync 11020], Some(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    VirtualMemory, "virtual-memory", "address ranges and the memory behind them are managed apart",
        [cuMemCreate 10020], Some(sys::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
    Multicast, "multicast", "one write reaches several devices",
        [cuMulticastCreate 12010], Some(sys::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
    DmaBuf, "dma-buf", "device memory is handed to other kernel drivers as a file descriptor",
        [cuMemGetHandleForAddressRange 11070], Some(sys::CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
    MemoryLocations, "memory-locations", "advice and prefetch name NUMA nodes of the host",
        [cuMemAdvise 12020], None;
    BatchCopy, "batch-copy", "many copies in one call",
        [cuMemcpyBatchAsync 12080, cuMemcpyBatchAsync 13000], None;
    BatchPrefetch, "batch-prefetch", "many prefetches in one call",
        [cuMemPrefetchBatchAsync 13000], None;
    MemoryDiscard, "memory-discard", "managed memory is given up without a copy",
        [cuMemDiscardBatchAsync 13000], None;
    CooperativeLaunch, "cooperative-launch", "all blocks of a kernel run concurrently and synchronise",
        [cuLaunchCooperativeKernel 9000], Some(sys::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    ThreadBlockClusters, "thread-block-clusters", "blocks are launched in clusters",
        [cuOccupancyMaxActiveClusters 11070], Some(sys::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    TensorMaps, "tensor-maps", "tensors are copied by descriptor",
        [cuTensorMapEncodeTiled 12000], Some(sys::CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
    Libraries, "libraries", "kernels are loaded without a context",
        [cuLibraryLoadData 12000], None;
    GraphMemoryNodes, "graph-memory-nodes", "graphs allocate and free memory",
        [cuGraphAddMemAllocNode 11040], Some(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    GraphConditionalNodes, "graph-conditional-nodes", "graphs branch and loop",
        [cuGraphConditionalHandleCreate 12030], None;
    GraphEdgeData, "graph-edge-data", "edges of graphs carry data",
        [cuGraphAddDependencies 12030], None;
    GreenContexts, "green-contexts", "a context has a share of the device",
        [cuGreenCtxCreate 12040], None;
    ContextIds, "context-ids", "contexts have a number that is never used again",
        [cuCtxGetId 12000], None;
    StreamIds, "stream-ids", "streams have a number that is never used again",
        [cuStreamGetId 12000], None;
    DriverLogs, "driver-logs", "the driver says in words why a call failed",
        [cuLogsRegisterCallback 12090], None;
    HostMemoryPools, "host-memory-pools", "stream-ordered allocation of page-locked host memory",
        [cuMemGetMemPool 13000], Some(sys::CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED);
    ManagedMemoryPools, "managed-memory-pools", "stream-ordered allocation of managed memory",
        [cuMemGetMemPool 13000], Some(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::catalogue::Row;

    #[test]
    fn functions_are_in_the_catalogue() {
        for feature in Feature::ALL {
            for (base, abi) in feature.row().functions {
                assert!(Row::find(base, *abi).is_some(), "{feature}: {base} {abi}");
            }
            assert!(!feature.row().functions.is_empty() || feature.attribute().is_some(), "{feature}");
        }
    }

    #[test]
    fn names_are_unique() {
        for feature in Feature::ALL {
            assert_eq!(Feature::named(feature.name()), Some(*feature), "{feature} is used twice");
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
        let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
        assert_eq!(listed, names);
    }
}
