//! The devices, and the attributes that decide what a program may do with them.

use crate::calls::{self, Failure};
use cushim::driver::Driver;
use cushim::driver::sys::{self, CUdevice, CUdevice_attribute};

/// An attribute worth reporting.
#[derive(Debug)]
pub(crate) struct Attribute {
    /// The key in JSON.
    pub(crate) key: &'static str,
    /// The words of the table.
    pub(crate) words: &'static str,
    number: CUdevice_attribute,
    pub(crate) kind: Kind,
}

/// How an attribute's value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The device has the feature or not.
    Feature,
    Number,
}

const fn feature(key: &'static str, words: &'static str, number: CUdevice_attribute) -> Attribute {
    Attribute { key, words, number, kind: Kind::Feature }
}

const fn number(key: &'static str, words: &'static str, number: CUdevice_attribute) -> Attribute {
    Attribute { key, words, number, kind: Kind::Number }
}

/// In the order in which reports list them.
#[rustfmt::skip] // one attribute a line
pub(crate) const ATTRIBUTES: &[Attribute] = &[
    feature("memory_pools", "memory pools", sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
    feature("host_memory_pools", "host memory pools", sys::CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED),
    feature("host_numa_memory_pools", "host NUMA memory pools", sys::CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED),
    feature("managed_memory", "managed memory", sys::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY),
    feature("concurrent_managed_access", "concurrent managed access", sys::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
    feature("direct_managed_access_from_host", "direct managed access from the host", sys::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
    feature("pageable_memory_access", "pageable memory access", sys::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS),
    feature("pageable_access_by_host_page_tables", "pageable access by host page tables", sys::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
    feature("unified_addressing", "unified addressing", sys::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING),
    feature("virtual_memory_management", "virtual memory management", sys::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
    feature("cooperative_launch", "cooperative launch", sys::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH),
    feature("clusters", "clusters", sys::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH),
    feature("tensor_maps", "tensor maps", sys::CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED),
    feature("stream_priorities", "stream priorities", sys::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED),
    feature("multicast", "multicast", sys::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED),
    feature("ipc_events", "IPC events", sys::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED),
    feature("file_descriptor_handles", "file descriptor handles", sys::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
    feature("fabric_handles", "fabric handles", sys::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED),
    feature("dma_buf", "DMA-BUF", sys::CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED),
    feature("gpu_direct_rdma", "GPUDirect RDMA", sys::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED),
    feature("integrated", "memory shared with the host", sys::CU_DEVICE_ATTRIBUTE_INTEGRATED),
    feature("ecc", "ECC", sys::CU_DEVICE_ATTRIBUTE_ECC_ENABLED),
    feature("mps", "MPS", sys::CU_DEVICE_ATTRIBUTE_MPS_ENABLED),
    number("multiprocessors", "multiprocessors", sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    number("host_numa_id", "host NUMA node", sys::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID),
    number("numa_id", "own NUMA node", sys::CU_DEVICE_ATTRIBUTE_NUMA_ID),
    number("compute_mode", "compute mode", sys::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE),
    number("pool_handle_types", "pool handle types", sys::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES),
];

/// What is known of one device; what its driver refused to tell is `None`.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) handle: CUdevice,
    pub(crate) name: Option<String>,
    /// `GPU-…`, as nvidia-smi writes it; `MIG-…` for a part of a device.
    pub(crate) uuid: Option<String>,
    pub(crate) pci_bus_id: Option<String>,
    pub(crate) compute_capability: Option<(i32, i32)>,
    /// In bytes.
    pub(crate) memory: Option<u64>,
    /// The values of [`ATTRIBUTES`], in their order; `None` where the driver does not know the attribute.
    pub(crate) attributes: Vec<Option<i32>>,
}

impl Device {
    /// The attributes with their values.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&'static Attribute, Option<i32>)> {
        ATTRIBUTES.iter().zip(self.attributes.iter().copied())
    }
}

/// Asks an initialised driver for its devices.
pub(crate) fn list(driver: &Driver) -> Result<Vec<Device>, Failure> {
    let devices = calls::devices(driver)?;
    Ok(devices.into_iter().map(|device| examine(driver, device)).collect())
}

fn examine(driver: &Driver, handle: CUdevice) -> Device {
    let name = calls::device_name(driver, handle).ok();
    let is_part = name.as_ref().is_some_and(|name| name.contains(" MIG "));
    let uuid = calls::uuid(driver, handle).ok();
    let ask = |attribute: &Attribute| calls::attribute(driver, handle, attribute.number).ok();
    Device {
        handle,
        uuid: uuid.map(|bytes| uuid_text(if is_part { "MIG" } else { "GPU" }, bytes)),
        name,
        pci_bus_id: calls::pci_bus_id(driver, handle).ok(),
        compute_capability: calls::compute_capability(driver, handle).ok(),
        memory: calls::total_memory(driver, handle).ok(),
        attributes: ATTRIBUTES.iter().map(ask).collect(),
    }
}

fn uuid_text(prefix: &str, bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
