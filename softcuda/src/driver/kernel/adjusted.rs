//! What may be set of a kernel.

use std::sync::atomic::AtomicI32;

/// What was set of a kernel for one device.
pub(crate) struct Adjusted {
    /// -1: as it is.
    pub(crate) dynamic_shared: AtomicI32,
    pub(crate) carveout: AtomicI32,
    pub(crate) wide_clusters: AtomicI32,
    pub(crate) scheduling: AtomicI32,
    pub(crate) cluster: [AtomicI32; 3],
}

impl Default for Adjusted {
    fn default() -> Self {
        let at = |value| AtomicI32::new(value);
        Self {
            dynamic_shared: at(-1),
            carveout: at(-1),
            wide_clusters: at(0),
            scheduling: at(0),
            cluster: [at(0), at(0), at(0)],
        }
    }
}
