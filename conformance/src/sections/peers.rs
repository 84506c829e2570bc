//! Access of one device to another's memory.

use super::Section;
use crate::driver::{Answer, Cu, Outcome};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::CUcontext;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "peers", parts: 1, run };

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    let own = cu.start()?;
    let (mut can, mut count) = (99, 0);
    t.line("can device 0 access device 0", || {
        call!(cu, cuDeviceCanAccessPeer_4000(&raw mut can, 0, 0)).then(|| can)
    });
    t.line("can device 0 access device 99", || call!(cu, cuDeviceCanAccessPeer_4000(&raw mut can, 0, 99)));
    t.line("enable access to the own context", || call!(cu, cuCtxEnablePeerAccess_4000(own, 0)));
    t.line("disable access to the own context", || call!(cu, cuCtxDisablePeerAccess_4000(own)));
    t.line("enable access to NULL", || call!(cu, cuCtxEnablePeerAccess_4000(null_mut(), 0)));
    need!(cu, cuDeviceGetCount_2000(&raw mut count))?;
    let peer = if count > 1 { Some(second(cu)?) } else { None };
    let with_peer = |ask: &dyn Fn(CUcontext) -> Answer| peer.map_or_else(|| "needs two devices".into(), ask);
    t.line("disable before it was enabled", || {
        with_peer(&|peer| call!(cu, cuCtxDisablePeerAccess_4000(peer)))
    });
    t.line("enable with flags 1", || with_peer(&|peer| call!(cu, cuCtxEnablePeerAccess_4000(peer, 1))));
    t.line("enable", || with_peer(&|peer| call!(cu, cuCtxEnablePeerAccess_4000(peer, 0))));
    t.line("enable twice", || with_peer(&|peer| call!(cu, cuCtxEnablePeerAccess_4000(peer, 0))));
    t.line("disable", || with_peer(&|peer| call!(cu, cuCtxDisablePeerAccess_4000(peer))));
    t.line("disable twice", || with_peer(&|peer| call!(cu, cuCtxDisablePeerAccess_4000(peer))));
    Ok(())
}

fn second(cu: &Cu) -> Outcome<CUcontext> {
    let mut context = null_mut();
    need!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 1))?;
    Ok(context)
}
