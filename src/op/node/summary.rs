//! What a node does, in a few words.

use super::{CopyParameters, KernelParameters, Parameters};
use crate::driver::sys::{CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST};

impl Parameters {
    /// A few words for a description; `None` where the type says all of it.
    #[cold]
    pub(crate) fn summary(&self) -> Option<String> {
        Some(match self {
            Self::Plain(_) => return None,
            Self::Kernel(kernel) => of_kernel(kernel),
            Self::Copy(copy) => of_copy(copy),
            Self::Memset(memset) => {
                let raw = memset.raw();
                let rows = if raw.height > 1 { format!("{} rows of ", raw.height) } else { String::new() };
                format!("{rows}{} values of {} bytes at {:#x}", raw.width, raw.elementSize, raw.dst)
            }
            Self::HostFunction(_) => return None,
            Self::EventRecord(event) | Self::EventWait(event) => {
                event.event().map_or_else(|| "an event of others".to_owned(), |event| event.to_string())
            }
            Self::Allocation(allocation) => {
                format!("{} bytes at {}, {}", allocation.bytes(), allocation.pointer(), allocation.location())
            }
            Self::Free(pointer) => format!("the memory at {pointer}"),
            Self::MemoryOperations(operations) => match operations.raw().len() {
                1 => "1 operation".to_owned(),
                more => format!("{more} operations"),
            },
        })
    }
}

fn of_kernel(kernel: &KernelParameters) -> String {
    let name = kernel.kernel().map_or_else(|| "a kernel of others".to_owned(), |kernel| kernel.to_string());
    let ([x, y, z], [columns, rows, slices]) = (kernel.block(), kernel.grid());
    let shared = match kernel.shared() {
        0 => String::new(),
        bytes => format!(", {bytes} bytes of dynamic shared memory"),
    };
    format!("{name}, grid {columns}x{rows}x{slices}, block {x}x{y}x{z}{shared}")
}

fn of_copy(copy: &CopyParameters) -> String {
    let raw = copy.raw();
    let size = match (copy.is_range(), raw.Depth) {
        (true, _) => format!("{} bytes", raw.WidthInBytes),
        (false, 0 | 1) => format!("{} rows of {} bytes", raw.Height, raw.WidthInBytes),
        (false, depth) => format!("{depth} slices of {} rows of {} bytes", raw.Height, raw.WidthInBytes),
    };
    let place = |memory_type, address| match memory_type {
        CU_MEMORYTYPE_HOST => format!("host memory at {address:#x}"),
        CU_MEMORYTYPE_ARRAY => format!("the array {address:#x}"),
        _ => format!("device memory at {address:#x}"),
    };
    let (from, to) = (copy.from().address(), copy.to().address());
    format!("{size} from {} to {}", place(raw.srcMemoryType, from), place(raw.dstMemoryType, to))
}
