//! Virtual memory beside captures and graphs.

use super::{OPEN, UNIT, created, mapped, reserved, wanted};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::sections::managed::DEVICE;
use crate::transcript::Lines;
use cushim::driver::sys::{CU_MEM_HANDLE_TYPE_NONE, CUgraphExec, CUstream, CUstreamCaptureMode};
use std::ptr::null_mut;

const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode(0);

/// Nothing of it disturbs a capture.
pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    need!(cu, cuStreamBeginCapture_10010(stream, GLOBAL))?;
    let (mut address, mut handle, mut flags, place) = (0, 0, 0u64, DEVICE);
    let prop = wanted(DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    t.line("in a capture: reserve", || call!(cu, cuMemAddressReserve_10020(&raw mut address, UNIT, 0, 0, 0)));
    t.line("  create", || call!(cu, cuMemCreate_10020(&raw mut handle, UNIT, &raw const prop, 0)));
    t.line("  map", || call!(cu, cuMemMap_10020(address, UNIT, 0, handle, 0)));
    t.line("  set access", || call!(cu, cuMemSetAccess_10020(address, UNIT, &raw const OPEN, 1)));
    t.line("  get access", || {
        call!(cu, cuMemGetAccess_10020(&raw mut flags, &raw const place, address)).then(|| flags)
    });
    t.line("  unmap", || call!(cu, cuMemUnmap_10020(address, UNIT)));
    t.line("  release", || call!(cu, cuMemRelease_10020(handle)));
    t.line("  free", || call!(cu, cuMemAddressFree_10020(address, UNIT)));
    let mut graph = null_mut();
    t.line("  end", || call!(cu, cuStreamEndCapture_10000(stream, &raw mut graph)));
    Ok(())
}

/// What an exec uses may go and come again, at the same addresses.
pub(super) fn asleep(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let address = reserved(cu, 1)?;
    let handle = mapped(cu, address)?;
    let mut graph = null_mut();
    need!(cu, cuStreamBeginCapture_10010(stream, GLOBAL))?;
    need!(cu, cuMemsetD8Async_3020(address, 6, UNIT, stream))?;
    need!(cu, cuStreamEndCapture_10000(stream, &raw mut graph))?;
    let mut exec: CUgraphExec = null_mut();
    need!(cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0))?;
    t.line("launch", || run_once(cu, exec, stream));
    need!(cu, cuMemUnmap_10020(address, UNIT))?;
    need!(cu, cuMemRelease_10020(handle))?;
    let handle = created(cu, 1)?;
    t.line("other memory there", || call!(cu, cuMemMap_10020(address, UNIT, 0, handle, 0)));
    t.line("  access", || call!(cu, cuMemSetAccess_10020(address, UNIT, &raw const OPEN, 1)));
    t.line("  launch", || run_once(cu, exec, stream));
    let mut bytes = [0u8; 2];
    t.line("  read", || {
        call!(cu, cuMemcpyDtoH_3020(bytes.as_mut_ptr().cast(), address + UNIT as u64 - 2, 2))
            .then(|| format!("{bytes:?}"))
    });
    t.line("nothing there: instantiate", || {
        let unmapped = call!(cu, cuMemUnmap_10020(address, UNIT));
        let mut other: CUgraphExec = null_mut();
        unmapped.and(|| call!(cu, cuGraphInstantiateWithFlags_11040(&raw mut other, graph, 0)))
    });
    t.line("  launch", || run_once(cu, exec, stream));
    Ok(())
}

fn run_once(cu: &Cu, exec: CUgraphExec, stream: CUstream) -> Answer {
    Answer::all([call!(cu, cuGraphLaunch_10000(exec, stream)), call!(cu, cuStreamSynchronize_2000(stream))])
}
