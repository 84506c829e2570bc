//! What graphs have of a device's memory, and its return.

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
    CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, CUDA_ERROR_INVALID_VALUE, CUdevice,
    CUgraphMem_attribute,
};
use crate::driver::device::Device;
use crate::driver::memory::graph_memory::{GraphMemory, release_kept, with_meters};
use crate::driver::memory::table;
use std::ffi::c_void;

pub(crate) fn cuDeviceGetGraphMemAttribute(
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> Answer {
    let (device, place) = (Device::of(device)?, Out::<u64>::untyped(value));
    place.check()?;
    let bytes = with_meters(device, |meters| match attr {
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => Ok(meters.used.now),
        CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => Ok(meters.used.most),
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => Ok(meters.reserved.now),
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => Ok(meters.reserved.most),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    })?;
    place.set(bytes)
}

/// The largest numbers can be set to 0, which begins them anew from what there is.
pub(crate) fn cuDeviceSetGraphMemAttribute(
    device: CUdevice,
    attr: CUgraphMem_attribute,
    value: *mut c_void,
) -> Answer {
    let (device, bytes) = (Device::of(device)?, Out::<u64>::untyped(value).item(0)?);
    with_meters(device, |meters| {
        let meter = match attr {
            CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => &mut meters.used,
            CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => &mut meters.reserved,
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        };
        if bytes != 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        meter.most = meter.now;
        Ok(())
    })
}

pub(crate) fn cuDeviceGraphMemTrim(device: CUdevice) -> Answer {
    let device = Device::of(device)?;
    let all = table::select(|it| it.of_graph().is_some_and(|memory| memory.device() == device));
    all.iter().filter_map(|allocation| allocation.of_graph()).for_each(GraphMemory::trim);
    release_kept(device);
    Ok(())
}
