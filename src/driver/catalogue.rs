//! What is known of the driver's functions without asking one: names, ABI numbers, exported symbols.
//!
//! ```
//! use cushim::driver::catalogue::{ROWS, Row};
//!
//! let (_, newest) = Row::find("cuMemPrefetchAsync", 12020).expect("it is known");
//! assert_eq!((newest.exported, newest.first_header), ("cuMemPrefetchAsync_v2", "12.2"));
//! assert!(ROWS.iter().filter(|row| row.base == "cuMemPrefetchAsync").count() > 1, "one row for each ABI");
//! ```

pub use super::rows::ROWS;
use std::ffi::CStr;

/// One ABI of one driver function, as NVIDIA's headers 11.7 to 13.5 declare it.
///
/// A function keeps one *base* name for ever and gets a new *number* (1000 × major + 10 × minor of a CUDA version)
/// whenever its parameters or its meaning change; the pair is what `cuGetProcAddress` is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name to ask `cuGetProcAddress` for: `cuMemAlloc`.
    pub base: &'static str,
    /// The same name as the driver takes it.
    pub(super) c_base: &'static CStr,
    /// The number to ask with, and the driver version from which the ABI exists: 3020.
    pub abi: u32,
    /// The name under which the library exports exactly this ABI: `cuMemAlloc_v2`.
    pub exported: &'static str,
    /// Exported name and number of the variant for the per-thread default stream, where there is one.
    pub per_thread: Option<(&'static str, u32)>,
    /// The first of NVIDIA's headers that declares the ABI; `11.7` stands for that one or an older one.
    pub first_header: &'static str,
    /// The area that the function belongs to.
    pub group: Group,
}

impl Row {
    /// A row of the list, which names the function once.
    pub(super) const fn new(
        base: &'static CStr,
        abi: u32,
        exported: &'static str,
        per_thread: Option<(&'static str, u32)>,
        first_header: &'static str,
        group: Group,
    ) -> Self {
        let Ok(name) = base.to_str() else { panic!("names are ASCII") };
        Self { base: name, c_base: base, abi, exported, per_thread, first_header, group }
    }

    /// The row of the ABI `abi` of `base`, with its index in [`ROWS`] and in the table.
    #[must_use]
    pub fn find(base: &str, abi: u32) -> Option<(usize, &'static Self)> {
        ROWS.iter().enumerate().find(|(_, row)| row.abi == abi && row.base == base)
    }

    /// The row of the ABI that libraries export as `name`, and whether that is the variant for the per-thread default
    /// stream: `cuMemAlloc_v2`, `cuMemcpyAsync_ptsz`.
    #[must_use]
    pub fn exported_as(name: &str) -> Option<(&'static Self, bool)> {
        ROWS.iter().find_map(|row| match row.per_thread {
            _ if row.exported == name => Some((row, false)),
            Some((variant, _)) if variant == name => Some((row, true)),
            _ => None,
        })
    }
}

macro_rules! groups {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The area that a driver function belongs to.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Group {
            $($(#[$doc])* $variant,)*
        }

        impl Group {
            /// Every group, in the order in which reports list them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name that reports and `catalogue/abis.csv` use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

groups! {
    /// `cuGetProcAddress` and `cuGetExportTable`.
    Entry = "entry",
    /// Initialisation, versions, error names, device enumeration and attributes.
    Device = "device",
    /// Created and primary contexts, the context stack, limits.
    Context = "context",
    /// Streams, host functions, stream memory operations.
    Stream = "stream",
    /// Stream capture.
    Capture = "capture",
    /// Events.
    Event = "event",
    /// Plain and pinned memory, copies and fills.
    Memory = "memory",
    /// Managed memory: advice, prefetch, discard, range attributes.
    Managed = "managed",
    /// Memory pools and stream-ordered allocation.
    Pool = "pool",
    /// Virtual memory management.
    Vmm = "vmm",
    /// Handles shared between processes.
    Ipc = "ipc",
    /// Graphs.
    Graph = "graph",
    /// Modules, libraries, kernels, launches, linking.
    Kernel = "kernel",
    /// Occupancy.
    Occupancy = "occupancy",
    /// CUDA arrays.
    Array = "array",
    /// Texture and surface references and objects.
    Texture = "texture",
    /// Tensor maps.
    Tensor = "tensor",
    /// Memory and semaphores of other APIs.
    External = "external",
    /// OpenGL, EGL and VDPAU interoperation.
    Interop = "interop",
    /// Green contexts and device resources.
    Green = "green",
    /// Multicast objects, logical endpoints, fabric.
    Multicast = "multicast",
    /// Checkpoints, core dumps, logs, asynchronous notifications.
    Diagnostics = "diagnostics",
    /// The profiler's on/off switch.
    Profiler = "profiler",
}
