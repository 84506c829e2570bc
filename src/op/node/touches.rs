//! The addresses that a node uses, as what, and what it does there.

use super::{KeptMemory, NodeType, Parameters};
use crate::check::{Access, Deed, Deeds, Touch};
use crate::driver::sys::{CU_MEMORYTYPE_ARRAY, CUDA_MEMCPY3D};
use crate::op::memory_operations::order_by_value;

pub(crate) use crate::check::Use;

impl Parameters {
    /// Calls a function with each address that the node uses. Every argument of eight bytes may be one: what a program gives as bytes
    /// is mostly an address, and who looks has to see whether there is memory.
    pub(crate) fn each_address(&self, mut look: impl FnMut(Use, u64)) {
        match self {
            Self::Kernel(kernel) => {
                let arguments = kernel.arguments();
                for index in 0..arguments.len() {
                    let bytes = arguments.bytes(index).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
                    if let Some(bytes) = bytes {
                        look(Use::Argument(index), u64::from_ne_bytes(bytes));
                    }
                }
            }
            Self::Copy(copy) => {
                look(Use::Destination, copy.to().address());
                look(Use::Source, copy.from().address());
            }
            Self::Memset(memset) => look(Use::Memset, memset.at().address()),
            Self::MemoryOperations(operations) => {
                for (index, place) in operations.places().iter().enumerate() {
                    if let Some(address) = place.as_ref().map(KeptMemory::address) {
                        look(Use::Operation(index), address);
                    }
                }
            }
            _ => {}
        }
    }

    /// What the node does with memory, and with the order of streams, as far as it is known.
    #[cold]
    pub(crate) fn deeds(&self, deeds: &mut Deeds) {
        match self {
            Self::Kernel(kernel) => {
                let name = kernel.kernel().map(|kernel| kernel.name().to_owned());
                self.each_address(|usage, address| {
                    let Use::Argument(index) = usage else { return };
                    let mut touch = Touch::argument(index, address, name.as_deref());
                    touch.name = kernel.arguments().object_name(index);
                    deeds.touch(touch);
                });
            }
            Self::Copy(copy) => touch_ends(copy.raw(), copy.to(), copy.from(), deeds),
            Self::Memset(memset) => {
                let raw = memset.raw();
                let row = (raw.width as u64).saturating_mul(u64::from(raw.elementSize));
                let rows = (raw.height.max(1) as u64 - 1).saturating_mul(raw.pitch as u64);
                deeds.touch(Touch {
                    address: raw.dst,
                    bytes: Some(row.saturating_add(rows)),
                    access: Access::Writes,
                    usage: Use::Memset,
                    name: memset.at().name(),
                });
            }
            Self::MemoryOperations(operations) => {
                operations.raw().iter().for_each(|raw| order_by_value(raw, deeds));
            }
            Self::EventRecord(event) => deeds.push(Deed::Records(event.native().addr())),
            Self::EventWait(event) => deeds.push(match event.event() {
                Some(event) if !event.may_be_recorded_by_others() => Deed::Waits(event.raw().handle().addr()),
                _ => Deed::WaitsForOthers,
            }),
            Self::HostFunction(_) => {
                deeds.push(Deed::IsSeen);
                deeds.push(Deed::MayWait);
            }
            Self::Free(pointer) => deeds.touch(Touch {
                address: pointer.0,
                bytes: None,
                access: Access::Writes,
                usage: Use::Freed,
                name: None,
            }),
            // What those of others do, semaphores, say, nobody tells.
            Self::Plain(NodeType::Empty | NodeType::Child | NodeType::Conditional) | Self::Allocation(_) => {}
            Self::Plain(_) => {
                deeds.push(Deed::WaitsForOthers);
                deeds.push(Deed::IsSeen);
                deeds.push(Deed::MayWait);
            }
        }
    }
}

/// Both ends of a copy, but for arrays, which have no addresses. Of a box the bytes between its rows count, too.
fn touch_ends(raw: &CUDA_MEMCPY3D, to: &KeptMemory, from: &KeptMemory, deeds: &mut Deeds) {
    let (rows, slices) = (raw.Height.max(1) as u64, raw.Depth.max(1) as u64);
    let end = |memory_type, offset: [usize; 3], pitch: usize, height: usize, memory: &KeptMemory| {
        let [x, y, z] = offset.map(|offset| offset as u64);
        let slice = (pitch as u64).saturating_mul(height as u64);
        let first = x + y.saturating_mul(pitch as u64) + z.saturating_mul(slice);
        let last = (slices - 1).saturating_mul(slice) + (rows - 1).saturating_mul(pitch as u64);
        let bytes = last.saturating_add(raw.WidthInBytes as u64);
        (memory_type != CU_MEMORYTYPE_ARRAY).then(|| (memory.address().saturating_add(first), bytes))
    };
    let to_offset = [raw.dstXInBytes, raw.dstY, raw.dstZ];
    let from_offset = [raw.srcXInBytes, raw.srcY, raw.srcZ];
    let ends = [
        (
            end(raw.srcMemoryType, from_offset, raw.srcPitch, raw.srcHeight, from),
            Access::Reads,
            Use::Source,
            from,
        ),
        (
            end(raw.dstMemoryType, to_offset, raw.dstPitch, raw.dstHeight, to),
            Access::Writes,
            Use::Destination,
            to,
        ),
    ];
    for (end, access, usage, memory) in ends {
        if let Some((address, bytes)) = end {
            deeds.touch(Touch { address, bytes: Some(bytes), access, usage, name: memory.name() });
        }
    }
}
