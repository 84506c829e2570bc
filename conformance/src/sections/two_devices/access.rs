//! What devices can, and access that contexts ask for.

use super::{SIZE, Scene};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdevice_P2PAttribute};
use std::ptr::null_mut;

pub(super) fn told(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    let can = |from, to| {
        let mut can = 99;
        call!(cu, cuDeviceCanAccessPeer_4000(&raw mut can, from, to)).then(|| can)
    };
    t.line("can device 0 access device 1", || can(0, 1));
    t.line("can device 1 access device 0", || can(1, 0));
    t.line("can device 1 access device 1", || can(1, 1));
    t.line("can device -1 access device 0", || can(-1, 0));
    let attribute = |number, from, to| {
        let (mut value, which) = (99, CUdevice_P2PAttribute(number));
        call!(cu, cuDeviceGetP2PAttribute_8000(&raw mut value, which, from, to)).then(|| value)
    };
    for number in 0..=7 {
        t.line(&format!("attribute {number} of the link"), || attribute(number, 0, 1));
    }
    t.line("attribute 2 of the link back", || attribute(2, 1, 0));
    t.line("attribute 2 of device 0 and device 0", || attribute(2, 0, 0));
    t.line("attribute 2 of device 0 and device 99", || attribute(2, 0, 99));
    t.line("attribute 99 of device 0 and device 99", || attribute(99, 0, 99));
    Ok(())
}

fn enable(cu: &Cu, peer: CUcontext) -> Answer {
    call!(cu, cuCtxEnablePeerAccess_4000(peer, 0))
}

fn disable(cu: &Cu, peer: CUcontext) -> Answer {
    call!(cu, cuCtxDisablePeerAccess_4000(peer))
}

pub(super) fn changed(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, here, there) = (&s.cu, s.here.context, s.there.context);
    t.line("disable before it was enabled", || disable(cu, there));
    t.line("enable with flags 1", || call!(cu, cuCtxEnablePeerAccess_4000(there, 1)));
    t.line("enable NULL with flags 1", || call!(cu, cuCtxEnablePeerAccess_4000(null_mut(), 1)));
    t.line("enable", || enable(cu, there));
    t.line("enable twice", || enable(cu, there));
    t.line("enable twice, with flags 1", || call!(cu, cuCtxEnablePeerAccess_4000(there, 1)));
    s.enter(&s.there)?;
    t.line("disable the other way", || disable(cu, here));
    t.line("enable the other way", || enable(cu, here));
    s.enter(&s.here)?;
    t.line("disable", || disable(cu, there));
    t.line("disable twice", || disable(cu, there));
    t.line("enable again", || enable(cu, there));
    let own = cu.context()?;
    t.line("a created context enables the primary of its device", || enable(cu, here));
    t.line("a created context enables the other device's", || enable(cu, there));
    t.line("  twice", || enable(cu, there));
    t.line("  disable", || disable(cu, there));
    // The created one was put over the first.
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    need!(cu, cuCtxSetCurrent_4000(null_mut()))?;
    t.line("no context: enable", || enable(cu, there));
    t.line("no context: disable", || disable(cu, there));
    need!(cu, cuCtxDestroy_4000(own))
}

/// Access of a context that ends, and to one.
pub(super) fn ended(t: &mut Lines, s: &Scene) -> Outcome {
    let (cu, there) = (&s.cu, s.there.context);
    s.reach(&s.there)?;
    let mut other = null_mut();
    cu.create_context(&mut other, 0, 1).must("cuCtxCreate")?;
    s.enter(&s.here)?;
    t.line("enable a created context", || enable(cu, other));
    t.line("destroy it", || call!(cu, cuCtxDestroy_4000(other)));
    t.line("the peer's device is reset", || call!(cu, cuDevicePrimaryCtxReset_11000(1)));
    let mut again = null_mut();
    need!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut again, 1))?;
    t.line("  the context is the same", || crate::driver::yes(again == there));
    t.line("  disable", || disable(cu, again));
    t.line("  enable", || enable(cu, again));
    t.line("the own device is reset", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    cu.start()?;
    t.line("  disable after that", || disable(cu, again));
    t.line("  enable after that", || enable(cu, again));
    Ok(())
}

/// Access is taken away while work that needs it is under way, and after the peer's end.
pub(super) fn closed(t: &mut Lines, s: &Scene) -> Outcome {
    let cu = &s.cu;
    s.reach(&s.there)?;
    s.fill(&s.there, 5)?;
    let stream = cu.stream(NON_BLOCKING)?;
    let gate = crate::gate::Gate::close(cu, stream)?;
    t.line("a copy that waits", || {
        call!(cu, cuMemcpyDtoDAsync_3020(s.here.memory, s.there.memory, SIZE, stream))
    });
    let opener = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        gate.open();
    });
    t.line("  disable meanwhile", || disable(cu, s.there.context));
    let _ = opener.join();
    t.line("  the stream", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  it was copied", || s.first_byte(&s.here));
    Ok(())
}
